"""Output spaces: centring, scaling and isometric coordinates of the targets, and their inverse."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
