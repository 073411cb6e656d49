"""Convex losses of vector residuals, with conjugates and proximal maps."""

from rkhs.losses.base import Loss, Squared

__all__ = ["Loss", "Squared"]
