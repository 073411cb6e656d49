"""Reading tables, Gram matrices, molecules and other objects, writing codes, and a small bundled real set.

Only the ground floor of the library is needed here; pandas (parquet) and RDKit (fingerprints) are imported when asked
for.
"""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
