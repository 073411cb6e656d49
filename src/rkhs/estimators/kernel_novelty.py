"""Novelty of items: posterior variances given the training items, with exact conformal p-values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.checks import number
from rkhs._core.config import OutlierMixin
from rkhs._core.errors import InputError, warn
from rkhs._core.linalg import constant_value
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.fitted import Fitted
from rkhs.estimators.joint_items import JointItems
from rkhs.estimators.options.arguments import Columns, Device, Dtype, KernelLike
from rkhs.kernels import Gaussian, Kernel, as_kernel
from rkhs.models import NewItems, NoveltyModel
from rkhs.spaces import whole_items
from rkhs.spaces.features import FeatureMap, WholeMap

_LOOKED_AT = 8  # training items from which the bias of their variances is estimated


@dataclass(eq=False, repr=False)
class KernelNovelty(OutlierMixin, KernelEstimator):
    """Novelty of items of any kind by their posterior variance given the training items, with exact p-values.

    The score is the posterior variance ``d(x) = k(x, x) + r - k(x, X) (K + r I)^-1 k(X, x)``. An item is compared with
    each training item left out in turn, in closed form::

        p(x) = (1 + #{i : d(x) + b_i(x)^2 / A_ii <= 1 / A_ii}) / (n + 1),    A = (K + r I)^-1,    b(x) = A k(X, x)

    If a new item is like the training items (exchangeable with them), ``p <= alpha`` has probability at most ``alpha``:
    a theorem for every kernel that was not chosen from these rows, without held-out rows. Scales of columns and
    bandwidths that are estimated from n rows depend on these and not on the new item. Where ``2.8 sqrt(d) >= 0.05 n``,
    for d columns (1 for a bandwidth alone), they are therefore estimated from the training items and the new one, for
    each new item (see Notes); with more rows the effect is negligible. Equal training items are one item of ``K``, and
    an item that equals one of them is judged without it, so that training items can be judged too.

    Parameters
    ----------
    kernel : "auto", str, Kernel or callable, default="auto"
        ``"auto"``: a Gaussian kernel ``exp(-2 ||x - y||^2 / median)``.
    alpha : float, default=0.05
        :meth:`predict` calls an item novel if its p-value is at most ``alpha``, so that an item like the training items
        is called novel with probability at most ``alpha``. It may be changed after the fit.
    reg : float, default=0.01
        The ridge ``r``, in units of the mean of ``k(x, x)``. It hardly matters.
    columns : {"auto", "raw", "scaled", "integral", "filled", "ranked"}, default="auto"
        ``"auto"``: ``"scaled"`` with ``kernel="auto"`` and rows that are not sparse, else ``"raw"``; others as in
        :class:`KernelAutoencoder`.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Precision of the kernel values.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with a number for every bandwidth.
    columns_ : str
        What ``columns="auto"`` became.
    offset_ : float
        Below this ``score_samples`` an item is novel, except where scales are estimated with each new item; with fewer
        than ``1 / alpha - 1`` training items none is.
    n_features_in_, feature_names_in_
        As in scikit-learn (not for objects).

    Raises
    ------
    InputError
        If a parameter is out of range (``reg`` also below ``1.1e-14 n``, where answers are rounding errors), or the
        data cannot be used.

    Notes
    -----
    Fit costs O(n^3) and holds n x n matrices; an item costs O(n^2). A p-value for which scales are estimated with the
    new item costs O(n^2 d + n^3): 1.4 ms for 19 rows of 100 columns, 17 ms for 500 rows. ``predict`` and the sign of
    ``decision_function`` go by it; ``score_samples`` is then in the scales of the training rows, whose variances are
    raised by the mean rise for eight of them if scales are estimated from the others alone. That serves normal noise,
    not heavy tails.

    References
    ----------
    Vovk, Gammerman and Shafer (2005), conformal p-values; Rasmussen and Williams (2006), section 5.4.2, for the
    left-out variance ``1 / A_ii``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelNovelty
    >>> X = load_iris().data
    >>> model = KernelNovelty().fit(X[:50])
    >>> bool(model.p_values(X[50:]).max() <= 0.05)
    True
    """

    kernel: KernelLike | Literal["auto"] = "auto"
    _: KW_ONLY
    alpha: float = 0.05
    reg: float = 0.01
    columns: Columns | Literal["auto"] = "auto"
    device: Device = "cpu"
    dtype: Dtype = "float64"

    model_: NoveltyModel = field(init=False)
    kernel_: ClassVar[Fitted[Kernel]] = Fitted("kernel")
    map_: ClassVar[Fitted[FeatureMap]] = Fitted("map")
    train_diag_: np.ndarray = field(init=False)
    columns_: str = field(init=False)
    _matrices = 9.5
    _declared = {"alpha": number(above=0.0, at_most=0.5), "reg": number(above=0.0)}
    _every_fit_has = ("train_diag_", "columns_")

    @property
    def offset_(self) -> float:
        """Threshold of ``score_samples`` for the present ``alpha``, which may change after the fit."""
        check_is_fitted(self)
        self._check_parameters()
        return -self.model_.limit(self.alpha)

    @property
    def _automatic(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "auto"

    @property
    def _columns(self) -> str:
        automatic = isinstance(self.columns, str) and self.columns == "auto"
        return getattr(self, "columns_", "raw") if automatic else str(self.columns)

    def _input_kernel(self) -> Kernel:
        return Gaussian("2*median") if self._automatic else as_kernel(self.kernel)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the training items and resolve the kernel on them.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
        y : ignored

        Returns
        -------
        self
        """
        self.columns_ = "scaled" if self._automatic and not hasattr(X, "tocsr") else "raw"
        self._check_parameters()
        training = self._training(X, kernel := self._kernel_for(X), at_least=3)
        features, K = whole_items(kernel.resolve(training.items), training.items, self._options)
        self.train_diag_ = K.diagonal().cpu().numpy().copy()
        ridge = self.reg * float(self.train_diag_.mean())
        if not ridge > 0.0:
            raise InputError("X must hold items with k(x, x) > 0; all are 0")
        self.model_ = NoveltyModel(features, ridge, K.cpu().numpy() if features.kernel.domain == "gram" else None)
        joint = JointItems.of(self, [kernel])
        if joint is not None:
            self.model_ = replace(self.model_, shift=self._shift(joint))
        _ = self.model_.calibration  # raises for fewer than three distinct items
        return self

    def _shift(self, joint: JointItems) -> float:
        """Mean rise of the variances of some training items if scales are estimated from the others alone."""
        places = np.unique(np.linspace(0, len(joint) - 1, _LOOKED_AT).astype(int)).tolist()
        left = [self._model(*one).new(one[1][-1:]).variance for one in joint.without_each(places)]
        now = self.model_.new(joint.kept(places)).variance
        return max(0.0, float((torch.cat(left) - now).mean()))

    def _model(self, kernels: list[Kernel], items: Any) -> NoveltyModel:
        """The model of all items but the last, with the ridge of all."""
        (kernel,) = kernels
        kept = items[:-1].numpy() if torch.is_tensor(items) else items[:-1]
        return NoveltyModel(WholeMap(kernel, kept, len(kept)), self.reg * float(kernel._diag(items).mean()))

    def _each(self, X: Any, function: Callable[[NewItems], Any], diag: ArrayLike | None = None) -> Any:
        """Apply a function to new items, tile by tile."""

        def of_tile(items: Any, diagonal: Tensor | None) -> Any:
            return function(self.model_.new(items, diagonal))

        return self._in_tiles(X, of_tile, self._new_diagonal(X, diag), width=8 * self.map_.width)

    def _gram_diagonal(self, diag: ArrayLike | None, K: Tensor) -> Tensor:
        """``k(x, x)`` of items that are rows of kernel values; without it the mean of the training items."""
        if diag is None and constant_value(self.train_diag_) is None:
            warn(
                "k(x, x) of the new items is unknown: the mean of the training items is used, and p-values are "
                "not exact; pass diag="
            )
            diag = self.train_diag_.mean()
        return super()._gram_diagonal(diag, K)

    def score_samples(self, X: Any, *, diag: ArrayLike | None = None) -> np.ndarray:
        """Minus the posterior variance of each item, shape (m,): the smaller, the stranger.

        An item whose p-value is on the other side of ``alpha`` than its score is of ``offset_`` (ties, and less than
        1 % of others) is moved to that side, except where scales are estimated with each new item.

        Parameters
        ----------
        X : items as in ``fit``, or kernel values (m, n)
        diag : float or array of shape (m,), optional
            ``k(x, x)`` with ``kernel="precomputed"``; None: the mean of the training items, with a warning where they
            differ.
        """
        check_is_fitted(self)
        self._check_parameters()
        if JointItems.of(self, [self._kernel_for(X)]) is None:
            return self._scores(*self._judged(X, diag=diag))
        return -self._each(X, lambda new: self.model_.scores(new).numpy(), diag)

    def _scores(self, p_values: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Minus the variances (m,), moved to the side of ``offset_`` that the p-values say."""
        offset = self.offset_
        novel, beyond = self._novel(p_values), np.nextafter(offset, -np.inf)
        return np.where(novel, np.minimum(-variances, beyond), np.maximum(-variances, offset))

    def p_values(self, X: Any, *, diag: ArrayLike | None = None) -> np.ndarray:
        """How like the training items each item is, shape (m,), between ``1 / (n + 1)`` and 1; see the class.

        An item that equals a training item is at most as strange as this one: its p is at least ``2 / (n + 1)``.
        """
        return self._judged(X, diag=diag)[0]

    def _judged(self, X: Any, *, diag: ArrayLike | None = None, among: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`p_values` and posterior variances of items, shape (m,) each, in one pass; ``among``: of all the rows.

        The p of one of the n training rows is its rank among these, at least ``1 / n``, not that of a new row.
        """

        def judge(new: NewItems) -> tuple[np.ndarray, ...]:
            assert new.known is not None
            return self.model_.p_values(new), self.model_.scores(new).numpy(), new.known.numpy()

        found, variances, known = self._each(X, judge, diag)
        n = len(self.train_diag_)
        if among:
            return np.where(known, (np.round(found * (n + 1)) - 1.0) / n, found), variances
        joint = JointItems.of(self, [self._kernel_for(X)])
        if joint is None:
            return found, variances
        for place, (kernels, items) in joint.with_each(X, np.flatnonzero(~known).tolist()):
            model = self._model(kernels, items)
            found[place] = model.p_values(model.new(items[-1:]))[0]
        return found, variances

    def decision_function(self, X: Any) -> np.ndarray:
        """``score_samples(X) - offset_``, shape (m,): negative for novel items.

        Where scales are estimated with each new item, scores are moved to the side of ``offset_`` that p-values say.
        """
        check_is_fitted(self)
        self._check_parameters()
        return self._scores(*self._judged(X)) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """-1 for novel items, whose p-value is at most ``alpha``, and 1 for others, shape (m,)."""
        check_is_fitted(self)
        self._check_parameters()
        return np.where(self._novel(self.p_values(X)), -1, 1)

    def _novel(self, p_values: np.ndarray) -> np.ndarray:
        return p_values <= self.alpha * (1.0 + 1e-9)

    def differences(self, X: Any) -> np.ndarray:
        """What makes each item strange, column by column, shape (m, d): the larger, the more.

        Entry (i, j) is the rise of the posterior variance of the nearest other training row, if its column j takes the
        value of item i. Only for kernels on vectors; O(d n^2) an item.
        """
        check_is_fitted(self)
        if self.kernel_.domain != "vectors":
            raise InputError(f"differences needs a kernel on vectors, whose columns it changes; got {self.kernel_!r}")
        return self._in_tiles(X, lambda items: np.stack([self.model_.differences(x) for x in items]))
