"""How a Gram matrix is stored: in memory, or as a factor."""

from rkhs.grams.base import Gram
from rkhs.grams.dense import Dense
from rkhs.grams.factored import Factored

__all__ = ["Dense", "Factored", "Gram"]
