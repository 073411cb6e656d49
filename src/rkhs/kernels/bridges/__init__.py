"""Kernels from outside and to outside: functions and Gram matrices of users, scikit-learn, torch."""

__all__: list[str] = []  # rkhs.kernels lists the names of all rooms
