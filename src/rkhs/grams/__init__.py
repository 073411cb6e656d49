"""How a Gram matrix is stored: in memory, as tiles that are computed again, or as a factor."""

from rkhs.grams.base import Gram
from rkhs.grams.blocked import Blocked
from rkhs.grams.dense import Dense
from rkhs.grams.factored import Factored

__all__ = ["Blocked", "Dense", "Factored", "Gram"]
