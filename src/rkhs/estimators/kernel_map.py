"""Neighbour embeddings of items of any kind, with out-of-sample codes and a decoder."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import as_tensor, give_back
from rkhs._core.checks import check_choice, count, number
from rkhs._core.errors import InputError
from rkhs._core.threads import within_limit
from rkhs.estimators.fitted import Fitted, FittedKernel
from rkhs.estimators.given_matrices import adapted_to
from rkhs.estimators.maps.model import fit_map, map_memory
from rkhs.estimators.ranked_candidates import Ranking, rank_by_codes
from rkhs.estimators.training import RowWeights, Training, cut
from rkhs.kernels import Kernel, Linear, as_kernel
from rkhs.kernels.registry import reads_gram
from rkhs.models import NeighbourMapModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rkhs._core.arrays import Items
    from rkhs.estimators.options.arguments import Columns, Dtype, KernelLike
    from rkhs.estimators.reader import Reader


def _decodes(model: KernelMap) -> bool:
    """Whether codes can be turned into vectors."""
    if hasattr(model, "model_"):
        return model.model_.back is not None
    return not model.__sklearn_tags__().input_tags.pairwise and model._input_kernel().domain == "vectors"


def _takes_more_items(model: KernelMap) -> bool:
    """Whether ``partial_fit`` is available; the AttributeError names what is missing."""
    if reads_gram(model.kernel):
        raise AttributeError("partial_fit of KernelMap needs the items themselves; got a Gram matrix. Use fit")
    return True


@dataclass(eq=False, repr=False)
class KernelMap(FittedKernel):
    """A map of items of any kind in at most three dimensions that keeps neighbours, places new items, and decodes.

    The codes ``z_i`` minimise, with ``w_ij = 1 / (1 + ||z_i - z_j||^2)``::

        -sum_ij P_ij log w_ij + log sum_(i!=j) w_ij + weight (1 - corr(d_il, e_il))

    The first two terms are the loss of t-SNE, with ``P`` the affinities of each item's nearest neighbours by the
    squared distance of the kernel, ``k(x, x) + k(y, y) - 2 k(x, y)``. The last one has the correlation of the distances
    ``d`` to some items in the data with ``e = sqrt(1 + ||z_i - z_l||^2)`` in the map; it preserves the global
    arrangement. The code of a new item minimises its attraction and repulsion and the error of the decoder; other new
    items do not matter. Nothing is random, nor does the order of the rows matter.

    Parameters
    ----------
    n_components : {2, 3, 1}, default=2
        Dimension of the map.
    kernel : "auto", str, Kernel or callable, default="auto"
        ``"auto"``: distances of rows as they are. With ``"precomputed"``, ``fit`` takes the Gram matrix (n, n) and
        ``transform`` kernel values with the training items (m, n).
    n_neighbors : int, default=30
        Perplexity, the effective number of neighbours: at most a third of the items.
    weight : float, default=0.5
        Weight of the last term; 0 gives the loss of t-SNE.
    init : array of shape (n, n_components), optional
        Codes to start from. None: kernel principal components.
    columns : {"raw", "scaled", "integral", "filled", "ranked"}, default="raw"
        As in :class:`KernelAutoencoder`.
    device : {"cpu"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Precision of kernel values. Results have the dtype of the training data.

    Attributes
    ----------
    codes_ : ndarray of shape (n, n_components)
        The map.
    recall_ : float
        Share of ten nearest neighbours that the map keeps, measured on at most 1,000 training items that are placed as
        if they were new. For new items it is 0.02 to 0.06 lower: training items were fitted with their
        neighbours.
    row_recall_ : ndarray of shape (n,)
        The same for each training item with its code: where it is low, neighbours are separated.
    correlation_ : float
        Of the distances to at most 50 items in the data and in the map.
    held_out_error_ : float or None
        Error of the decoder on items left out, as a share of the variance; None where codes are not decoded to vectors.
    kernel_ : Kernel
        The kernel with a number for every bandwidth.
    objective_, n_iter_, n_evaluations_, converged_, reason_, history_
        What the solver reports.
    n_features_in_, feature_names_in_
        As in scikit-learn (not for objects).

    Raises
    ------
    InputError
        If a parameter is out of range or the data cannot be used.

    Notes
    -----
    Up to 1,000 distinct items the loss is over all pairs, O(n^2) a step. More items start from a map of 1,000 of them,
    and repulsion is summed on a grid: O(n) a step, after O(n^2 d) for the neighbours, O(n^(3/2) d) beyond 20,000 rows.
    Up to 3,000 objects have a Gram matrix; more are compared by the features of 500 landmarks. A new item costs O(n d).
    ``fit`` ignores ``y``.

    References
    ----------
    van der Maaten and Hinton (2008); Vladymyrov and Carreira-Perpinan (2012) for the descent; Linderman et al. (2019)
    for the grid; Damrich, Boehm, Hamprecht and Kobak (2023) for the loss as a contrastive one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelMap
    >>> X = load_iris().data[::3]
    >>> model = KernelMap().fit(X[:40])
    >>> model.transform(X[40:]).shape, model.inverse_transform(model.codes_).shape
    ((10, 2), (40, 4))
    """

    n_components: int = 2
    _: KW_ONLY
    kernel: KernelLike | Literal["auto"] = "auto"
    n_neighbors: int = 30
    weight: float = 0.5
    init: ArrayLike | None = None
    columns: Columns = "raw"
    device: Literal["cpu"] = "cpu"
    dtype: Dtype = "float64"

    model_: NeighbourMapModel = field(init=False)
    _matrices = 5.0
    _declared = {"n_components": count(at_most=3), "n_neighbors": count(), "weight": number(at_least=0.0)}
    _needs_differences = True

    recall_: ClassVar[Fitted[float]] = Fitted("quality.recall")
    row_recall_: ClassVar[Fitted[np.ndarray]] = Fitted("quality.row_recall")
    correlation_: ClassVar[Fitted[float]] = Fitted("quality.correlation")
    held_out_error_: ClassVar[Fitted[float | None]] = Fitted("quality.lost", optional=True)

    def _input_kernel(self) -> Kernel:
        automatic = isinstance(self.kernel, str) and self.kernel == "auto"
        return Linear(offset="mean") if automatic else as_kernel(self.kernel)

    def _kernel_for(self, X: Any) -> Kernel:
        if isinstance(self.kernel, str) and self.kernel == "auto" and hasattr(X, "tocsr"):
            return adapted_to(X, Linear())  # no mean, which would fill the zeros
        return super()._kernel_for(X)

    @property
    def codes_(self) -> np.ndarray:
        """Codes of the training items, shape (n, p), of the dtype of the training data."""
        check_is_fitted(self, "model_")
        codes = self._training_codes()
        codes.flags.writeable = False
        return codes

    def _training_codes(self) -> np.ndarray:
        return self._to_output(as_tensor(self.model_.codes))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.device, "device", ("cpu",))

    def fit(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> KernelMap:
        """Make the map.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
        y : ignored
        sample_weight : array of shape (n,), optional
            Not negative. Rows of weight zero are dropped; equal items are one item of more weight.

        Returns
        -------
        self
        """
        self._check_parameters()
        kernel = self._kernel_for(X)
        storage = "dense" if kernel.domain == "gram" else "blocked"  # distances tile by tile, or of landmarks
        training = self._training(X, kernel, sample_weight, storage=storage)
        if kernel.domain == "vectors":  # Gram matrices and objects are announced where they are read
            with self._running() as run:
                run.announce(map_memory(len(training), training.items.shape[1]), "Fit fewer rows")
        init = self._read_init(training)
        self._map(kernel, training, init)
        return self

    def _read_init(self, training: Training) -> Tensor | None:
        """Places to start from, of the items of positive weight."""
        if self.init is None:
            return None
        init = self._read_matrix(self.init, "init", self.n_components, "(n, {q})")
        if len(init) != training.given.n_given:
            raise InputError(f"init must have a row for each of the {training.given.n_given} items; got {len(init)}")
        return cut(init, training.kept)

    def _map(self, kernel: Kernel, training: Training, init: Tensor | None, stay: Tensor | None = None) -> None:
        self.model_, solution = fit_map(
            kernel,
            training,
            self._options,
            n_components=self.n_components,
            n_neighbors=self.n_neighbors,
            weight=self.weight,
            init=init,
            stay=stay,
        )
        self._record(solution)

    @available_if(_takes_more_items)
    @within_limit
    def partial_fit(self, X: Any, y: Any = None) -> KernelMap:
        """Add rows to the map; those that it has stay near their places. The first call is a fit.

        Parameters
        ----------
        X : array (m, d), or list of m objects
        y : ignored

        Returns
        -------
        self
            ``codes_`` are those of all rows so far, in the order in which they came.
        """
        if not hasattr(self, "model_"):
            return self.fit(X)
        self._check_parameters()
        model, new, before = self.model_, self._read_new(X), self._training_items()
        items = torch.cat([before, new.to(before)]) if isinstance(before, Tensor) else [*before, *new]
        weights = model.weights[model.kind] / np.bincount(model.kind)[model.kind]
        weights = torch.as_tensor(np.concatenate([weights, np.full(len(new), weights.mean())]))
        init = torch.cat([torch.as_tensor(model.codes), model.encode(new)])
        n = len(items)
        training = Training(items, items, True, weights / weights.sum(), float(n), RowWeights(n))
        self.reader_: Reader = replace(self.reader_, kept=None, n_items=n)
        self._map(model.kernel, training, init, (torch.arange(n) < len(before)).float())
        return self

    def fit_transform(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> Any:
        """``fit(X).codes_``, shape (n, n_components); see :meth:`fit`."""
        return give_back(self.fit(X, sample_weight=sample_weight)._training_codes(), X)

    def transform(self, X: Any) -> Any:
        """Place items in the map, each by itself.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n) for ``kernel="precomputed"``, or list of m objects

        Returns
        -------
        ndarray of shape (m, n_components)
            A tensor if ``X`` is one. An item that equals a training item has its place.
        """
        check_is_fitted(self)
        return give_back(self._in_tiles(X, self.model_.encode), X)

    @available_if(_decodes)
    def inverse_transform(self, codes: ArrayLike) -> Any:
        """Vectors of places in the map, shape (m, d), for codes of shape (m, n_components)."""
        check_is_fitted(self)
        assert self.model_.back is not None
        return give_back(self._to_rows(self.model_.back.targets(self._read_codes(codes).double())), codes)

    def decode(self, codes: ArrayLike, candidates: Items | None = None, *, n_best: int | None = None) -> Ranking:
        """Rank candidates by the squared distance of their places to given codes.

        Parameters
        ----------
        codes : array of shape (m, n_components)
        candidates : items, default=None
            As for ``transform``. None: the training items.
        n_best : int, optional
            Number of candidates to return for each code; default all.

        Returns
        -------
        Ranking
            ``indices`` and squared ``distances``, both of shape (m, n_best), nearest first.
        """
        check_is_fitted(self)
        return rank_by_codes(self, codes, candidates, n_best, self.model_.encode)
