"""Kernels from other sources: functions and Gram matrices of users, scikit-learn, torch modules."""

__all__: list[str] = []  # rkhs.kernels lists the names of all subpackages
