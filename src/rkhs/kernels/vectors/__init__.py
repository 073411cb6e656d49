"""Kernels on rows of numbers, curves among them, and their distances."""

__all__: list[str] = []  # rkhs.kernels lists the names of all subpackages
