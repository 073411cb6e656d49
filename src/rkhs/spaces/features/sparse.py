"""Random features of the rows of sparse matrices."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.sparse import SparseItem, from_items
from rkhs._core.stored import check_whole
from rkhs.spaces.features.base import FeatureMap
from rkhs.spaces.features.fourier import ArcCosineMap, FourierMap
from rkhs.spaces.features.sketch import MinHashMap


class SparseMap(FeatureMap):
    """Random features of rows of a sparse matrix: those that ``base`` gives of the rows written out in full.

    Parameters
    ----------
    base : FourierMap, ArcCosineMap or MinHashMap
    columns : int
        Number of columns of the rows.

    Raises
    ------
    ValueError
        From scipy, for rows of another width.

    References
    ----------
    Rahimi and Recht (2007), algorithm 1.
    """

    def __init__(self, base: FourierMap | ArcCosineMap | MinHashMap, columns: int) -> None:
        self.base = base
        self.columns = columns

    def check_stored(self) -> None:
        """Random features of so many columns."""
        check_whole("columns", self.columns, 1)
        if not isinstance(self.base, (FourierMap, ArcCosineMap, MinHashMap)):
            raise InputError(f"features of sparse rows must be random ones; got a {type(self.base).__name__}")

    @property
    def width(self) -> int:
        """As the base."""
        return self.base.width

    def raw(self, items: list[SparseItem]) -> Tensor:
        """The features from sparse products, or from the entries of the rows."""
        rows = from_items(items, self.columns)
        if isinstance(self.base, MinHashMap):
            entries = rows.tocoo()
            return self.base.of_entries(entries.row, entries.col, entries.data, len(items))
        given = self.base.frequencies if isinstance(self.base, FourierMap) else self.base.layer
        directions = np.asarray(given)
        products = rows @ directions[:, : self.columns].T
        products += directions[:, self.columns :].sum(1)  # of a bias coordinate, if there is one
        return self.base.of_products(torch.from_numpy(products))
