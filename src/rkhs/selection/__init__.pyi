from rkhs.selection.kernel_choice import (
    KernelChoice as KernelChoice,
    RidgePath as RidgePath,
    choose_kernel as choose_kernel,
    ridge_path as ridge_path,
)
from rkhs.selection.path import held_out_parts as held_out_parts, open_end as open_end
