from rkhs.spaces.grams.base import Gram as Gram
from rkhs.spaces.grams.blocked import Blocked as Blocked
from rkhs.spaces.grams.dense import Dense as Dense
