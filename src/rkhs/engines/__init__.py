"""Engines that compute blocks of rows: this thread, several threads, or a Dask cluster, with the same bits."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
