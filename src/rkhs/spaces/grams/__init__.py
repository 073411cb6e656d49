"""How a Gram matrix is stored: in memory, or as tiles that are computed again."""

from rkhs.spaces.grams.base import Gram
from rkhs.spaces.grams.blocked import Blocked
from rkhs.spaces.grams.dense import Dense

__all__ = ["Blocked", "Dense", "Gram"]
