"""How a Gram matrix is stored: in memory, or as tiles that are computed again."""

from rkhs.grams.base import Gram
from rkhs.grams.blocked import Blocked
from rkhs.grams.dense import Dense

__all__ = ["Blocked", "Dense", "Gram"]
