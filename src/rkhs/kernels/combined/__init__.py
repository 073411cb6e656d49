"""Kernels composed of kernels: sums, products, normalised ones, views, scaled columns, sparse rows; their weights."""

__all__: list[str] = []  # rkhs.kernels lists the names of all subpackages
