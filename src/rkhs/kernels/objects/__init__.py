"""Kernels on objects: texts, graphs, molecules, time series, sets, spectra, and tables of several types of columns."""

__all__: list[str] = []  # rkhs.kernels lists the names of all subpackages
