"""Who computes the blocks of a plan: this thread, several threads, or a Dask cluster; the same bits from each."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
