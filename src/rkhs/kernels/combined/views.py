"""Several views of one object: a weighted sum of kernels, each on its own part of the item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import check_items
from rkhs._core.checks import check_list, real_array
from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel, Mapped
from rkhs.kernels.combined.alignment import view_weights


class Views(Kernel):
    """Weighted sum of one kernel per view, ``k(x, y) = sum_v m_v k_v(x_v, y_v)``.

    An item is a tuple with one part per view, ``(vector, text, graph)``, or a dict with the keys of ``kernels``. Views
    may be of any kind that a kernel reads; the multipliers ``m_v`` put them on one scale.

    Parameters
    ----------
    kernels : sequence or dict of Kernel
        One per view.
    weights : {"alignment", "equal"} or sequence of float, default="alignment"
        How the views, each divided by its total variance in feature space, are weighted; see :func:`view_weights`.
    multipliers : array of shape (v,), default=None
        ``m_v``; None: :meth:`resolve` sets them from ``weights``.

    Raises
    ------
    InputError
        For items that do not have one part per view, for a view that is None, and what the kernels refuse; the message
        names item and view.

    References
    ----------
    Lavit et al. (1994), STATIS; Cortes, Mohri and Rostamizadeh (2012); Scholkopf and Smola (2002), proposition 13.1.

    Examples
    --------
    >>> from rkhs.kernels import Linear, Views
    >>> Views((Linear(), Linear()), weights="equal")([([1.0], [10.0]), ([-1.0], [30.0])])
    array([[1., 1.],
           [1., 5.]])
    """

    def __init__(self, kernels: Any, weights: Any = "alignment", multipliers: Any = None) -> None:
        self.kernels = kernels
        self.weights = weights
        self.multipliers = multipliers

    @property
    def _named(self) -> list[tuple[Any, Kernel]]:
        """Keys and kernels of the views, checked."""
        if isinstance(self.kernels, Mapping):
            pairs = list(self.kernels.items())
        elif isinstance(self.kernels, (tuple, list)):
            pairs = list(enumerate(self.kernels))
        else:
            pairs = []
        if not pairs:
            raise InputError(f"Views.kernels must be a sequence or dict of kernels; got {self.kernels!r}")
        for name, kernel in pairs:
            if not isinstance(kernel, Kernel) or kernel.domain == "gram":
                raise InputError(
                    f"Views.kernels[{name!r}] must be a kernel on vectors or objects; got {kernel!r}. For Gram "
                    "matrices pass a list of them to an estimator with kernel='precomputed'"
                )
        return pairs

    @property
    def known_psd(self) -> bool:
        """Whether the kernels of all views are known to be positive semi-definite."""
        return all(kernel.known_psd for _, kernel in self._named)

    def read(self, X: Any) -> list[tuple[Any, ...]]:
        """Items as tuples with one part per view, each in the form that its kernel reads."""
        return list(zip(*(_rows(part) for part in self._parts(X)), strict=True))

    def _parts(self, X: Any) -> list[Any]:
        """The items of each view, read by its kernel."""
        pairs = self._named
        keys = [name for name, _ in pairs]
        found: list[list[Any]] = [[] for _ in pairs]
        for i, item in enumerate(check_items(X)):
            for column, cell in zip(found, _cells(item, i, keys), strict=True):
                column.append(cell)
        parts = []
        for (name, kernel), column in zip(pairs, found, strict=True):
            try:
                parts.append(kernel.read(column))
            except InputError as error:
                raise InputError(f"view {name!r}: {error}") from None
        return parts

    def resolve(self, X: Any, weights: Tensor | None = None) -> Views:
        """Resolve the kernels of the views and write down their multipliers; see :class:`Views`."""
        parts = self._parts(X)
        kernels = [kernel for _, kernel in self._named]
        resolved = [kernel.resolve(part, weights) for kernel, part in zip(kernels, parts, strict=True)]
        m = self.multipliers
        if m is None:
            grams = [kernel._gram(part) for kernel, part in zip(resolved, parts, strict=True)]
            m = view_weights(grams, self.weights, sample_weights=weights)
        elif not _are_multipliers(real_array(m, "Views.multipliers"), len(kernels)):
            raise InputError(
                f"Views.multipliers must be {len(kernels)} finite numbers >= 0, one per view and not all zero; "
                f"got {m!r}"
            )
        elif all(new is old for new, old in zip(resolved, kernels, strict=True)):
            return self
        names = [name for name, _ in self._named]
        members: Any = dict(zip(names, resolved, strict=True)) if isinstance(self.kernels, Mapping) else tuple(resolved)
        return Views(members, self.weights, m)

    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        left = self._parts(X)
        right: Sequence[Any] = [None] * len(left) if Y is None else self._parts(Y)
        triples = zip(self._named, left, right, strict=True)
        return _combined((kernel._gram(a, b) for (_, kernel), a, b in triples), self._multipliers)

    def _diag(self, X: Any) -> Tensor:
        pairs = zip(self._named, self._parts(X), strict=True)
        return _combined((kernel._diag(part) for (_, kernel), part in pairs), self._multipliers)

    def _memory(self, X: Any) -> float:
        return 32.0 * len(X) ** 2  # the Gram matrices of the views are compared before they are added

    @property
    def _multipliers(self) -> list[float]:
        if self.multipliers is None:
            raise InputError("Views knows no multipliers yet; call resolve(items) with the training items first")
        return [float(m) for m in self.multipliers]


def _combined(values: Iterator[Tensor], multipliers: list[float]) -> Tensor:
    total = next(values).to(torch.float64) * multipliers[0]
    for value, m in zip(values, multipliers[1:], strict=True):
        total.add_(value.to(torch.float64), alpha=m)
    return total


def _rows(part: Any) -> list[Any]:
    """Items of a view one by one: rows of a matrix as arrays."""
    return list(part.cpu().numpy()) if isinstance(part, Tensor) else list(part)


def _cells(item: Any, i: int, keys: list[Any]) -> list[Any]:
    if isinstance(item, Mapping):
        cells, got = [item[key] for key in keys if key in item], f"the keys {list(item)}"
    else:
        cells = list(item) if isinstance(item, (tuple, list)) else []
        got = f"{len(cells)} parts" if cells else "no parts"
    if len(cells) != len(keys):
        raise InputError(
            f"an item must have one part per view, {keys}, as a tuple or dict; item {i}, of type "
            f"{type(item).__name__}, has {got}"
        )
    missing = next((key for key, cell in zip(keys, cells, strict=True) if cell is None), None)
    if missing is not None:
        raise InputError(
            f"Views reads items with all views; item {i} has no view {missing!r}. Leave it out, or fit a model to each "
            "view, put the codes side by side with NaN where a view is missing, and fit "
            "KernelAutoencoder(columns='filled') to these"
        )
    return cells


class OnColumns(Mapped):
    """A kernel that reads some columns of a table, ``k(x, y) = base(x[columns], y[columns])``.

    Sums of these are several views of one row: ``OnColumns(Gaussian(), range(5)) + OnColumns(Tanimoto(), range(5,
    80))``.

    Parameters
    ----------
    base : Kernel
        On vectors.
    columns : sequence of int
        Positions of the columns, not repeated.

    References
    ----------
    Durrande, Ginsbourger and Roustant (2012), section 2.

    Examples
    --------
    >>> from rkhs.kernels import Linear, OnColumns
    >>> OnColumns(Linear(), [1])([[1.0, 2.0]], [[3.0, 4.0]])
    array([[8.]])
    """

    def __init__(self, base: Kernel, columns: Any) -> None:
        self.base = base
        self.columns = columns

    def resolve(self, X: Tensor, weights: Tensor | None = None) -> Kernel:
        """Resolve the base kernel on its columns."""
        return super().resolve(self._mapped(X), weights)

    def _index(self, width: int) -> Tensor:
        index = np.asarray(check_list(self.columns, "OnColumns.columns", "positions"))
        if index.ndim != 1 or index.dtype.kind not in "iu" or len(set(index.tolist())) < len(index):
            raise InputError(f"OnColumns.columns must be positions, none twice; got {self.columns!r}")
        if index.min() < 0 or index.max() >= width:
            raise InputError(f"OnColumns.columns must be positions from 0 to {width - 1}; got {self.columns!r}")
        return torch.as_tensor(index)

    def _mapped(self, X: Tensor) -> Tensor:
        return X[:, self._index(X.shape[1]).to(X.device)].contiguous()

    def _back(self, G: Tensor, X: Tensor) -> Tensor:
        full = torch.zeros_like(X)
        full[:, self._index(X.shape[1]).to(X.device)] = G
        return full


def _are_multipliers(m: np.ndarray, count: int) -> bool:
    """Whether ``m`` holds ``count`` finite numbers >= 0, not all zero."""
    return m.shape == (count,) and bool(np.isfinite(m).all() and (m >= 0.0).all() and m.any())
