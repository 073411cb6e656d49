"""How good codes are: reconstruction on items that were not trained on, and the demonstration."""

from rkhs.evaluation.reconstruction import Reconstruction, reconstruction

__all__ = ["Reconstruction", "reconstruction"]
