"""Convex losses of vector residuals, with conjugates and proximal maps."""

from rkhs.losses.base import Loss
from rkhs.losses.canonical import (
    Ball,
    Canonical,
    EpsilonInsensitive,
    Huber,
    Norm,
    Squared,
    SquaredEpsilonInsensitive,
)
from rkhs.losses.convolution import InfimalConvolution
from rkhs.losses.margin import MaximumMargin
from rkhs.losses.radial import Power, Radial
from rkhs.losses.registry import as_loss

__all__ = [
    "Ball",
    "Canonical",
    "EpsilonInsensitive",
    "Huber",
    "InfimalConvolution",
    "Loss",
    "MaximumMargin",
    "Norm",
    "Power",
    "Radial",
    "Squared",
    "SquaredEpsilonInsensitive",
    "as_loss",
]
