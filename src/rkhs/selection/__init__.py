"""Choosing settings: leave-one-out and generalised cross-validation in closed form, held-out parts, learned kernels."""

from rkhs.selection.edges import open_end
from rkhs.selection.held_out import held_out_parts
from rkhs.selection.kernel_choice import KernelChoice, choose_kernel
from rkhs.selection.learned_kernel import LearnedKernel, learn_kernel, leave_one_out_gradient
from rkhs.selection.ridge_path import RidgePath, ridge_path

__all__ = [
    "KernelChoice",
    "LearnedKernel",
    "RidgePath",
    "choose_kernel",
    "held_out_parts",
    "learn_kernel",
    "leave_one_out_gradient",
    "open_end",
    "ridge_path",
]
