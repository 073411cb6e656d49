from rkhs.selection.kernel_choice import KernelChoice as KernelChoice, choose_kernel as choose_kernel
from rkhs.selection.path import held_out_parts as held_out_parts, open_end as open_end
from rkhs.selection.ridge import RidgePath as RidgePath, ridge_path as ridge_path
