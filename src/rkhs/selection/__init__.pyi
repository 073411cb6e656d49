from rkhs.selection.kernel_choice import KernelChoice as KernelChoice, choose_kernel as choose_kernel
from rkhs.selection.learned_kernel import (
    LearnedKernel as LearnedKernel,
    learn_kernel as learn_kernel,
    leave_one_out_gradient as leave_one_out_gradient,
)
from rkhs.selection.path import held_out_parts as held_out_parts, open_end as open_end
from rkhs.selection.ridge import RidgePath as RidgePath, ridge_path as ridge_path
