"""Choosing regularisers: leave-one-out and generalised cross-validation in closed form, held-out parts."""

from rkhs.selection.edges import open_end
from rkhs.selection.held_out import held_out_parts
from rkhs.selection.ridge_path import RidgePath, ridge_path

__all__ = ["RidgePath", "held_out_parts", "open_end", "ridge_path"]
