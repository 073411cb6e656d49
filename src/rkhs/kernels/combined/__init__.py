"""Kernels made of kernels: sums and products, normalised and centred ones, views, scaled columns, and their weights."""

__all__: list[str] = []  # rkhs.kernels lists the names of all rooms
