"""Input output kernel regression: objects in, objects out, through kernels on both sides."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor

from rkhs._core.arrays import as_numpy, check_items, give_back, is_frame, row_count, row_index, to_tensor
from rkhs._core.checks import check_choice, check_gram, check_spread, check_squares, real_array
from rkhs._core.eigen import positive_part
from rkhs._core.errors import InputError, quote, some_rows
from rkhs._core.memory import Estimate, check_memory
from rkhs._core.ownership import private_copy
from rkhs.estimators.fitted import Fitted
from rkhs.estimators.ranked_candidates import Ranking, rank
from rkhs.estimators.regression.base import KernelMachine
from rkhs.estimators.regression.operator_kernels import in_coordinates, read_operator_kernel
from rkhs.estimators.regression.sets import LeftOutMachine, read_coverage
from rkhs.estimators.regression.terms import Regression
from rkhs.estimators.run import items_bytes
from rkhs.estimators.training import RowWeights
from rkhs.kernels.base import Kernel
from rkhs.kernels.registry import as_kernel
from rkhs.kernels.vectors.dot_product import Linear
from rkhs.losses import EpsilonHuberLoss, Squared, as_loss
from rkhs.models import CandidateSets, MachineModel
from rkhs.models.conformal import Setting, chosen_members
from rkhs.outputs import RKHS
from rkhs.selection.conformal_candidates import check_places_of, label_limit, likely_candidates
from rkhs.spaces.features.base import check_items_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import ArrayLike

    from rkhs._core.arrays import Items
    from rkhs.estimators.options.arguments import KernelLike, OperatorKernelLike
    from rkhs.estimators.run import Run
    from rkhs.estimators.training import Training
    from rkhs.kernels.operator_valued import OperatorKernel


_MATRICES_OF_SETS = 12  # of candidates by training outputs, with their distances and coordinates
_CONSTANT = 1e-14  # features that vary by a smaller share of their size are equal


@dataclass(eq=False, repr=False)
class InputOutputKernelRegressor(KernelMachine):
    """Prediction of any objects: regression to the features of an output kernel, then a search among candidates.

    It minimises ``1/n sum_i loss(h(x_i) - phi(y_i)) + reg/2 ||h||^2`` over ``h``. It predicts the candidate ``z`` whose
    feature ``phi(z)`` is nearest to ``h(x)`` (IOKR). Inputs and outputs enter by Gram matrices only.

    Parameters
    ----------
    kernel : str, Kernel, OperatorKernel, or list of pairs (kernel, operator), default="gaussian"
        Kernel of the inputs; ``"precomputed"`` as in :class:`OperatorKernelRegressor`.
    output_kernel : str, Kernel or callable, default="linear"
        Kernel of the outputs. With ``"precomputed"``, ``fit`` takes their Gram matrix, and candidates are rows of
        kernel values with the training outputs.
    operator : None or "covariance", default=None
        None is the identity. ``"covariance"`` is the empirical covariance of the output features, in units of its
        largest eigenvalue; it keeps their span (assumption 3 of the paper).
    loss : str or Loss, default="squared"
        As in :class:`OperatorKernelRegressor`, in units of the output features (1 for a normalised kernel).
    reg : float or "auto", default="auto"
        ``"auto"`` takes the value with the least leave-one-out error, in closed form. Another loss than ``"squared"``
        and a sum of kernels take 1e-3: on wrong rows the errors of the squared loss mislead.
    center : bool, default=True
        Subtract the mean of the output features and add it back.
    decoding : {"auto", "candidates", "labels", "cardinality"}, default="auto"
        How :meth:`predict` works without candidates. ``"candidates"`` searches the training outputs. For a linear
        kernel on vectors of zeros and ones, ``"labels"`` compares the predicted vector with one half, and
        ``"cardinality"`` takes its largest entries, as many as their sum says; ``"auto"`` is ``"labels"`` there.
    solver : str or GapSolver, default="auto"
    tol : float, default=1e-6
        Relative duality gap.
    max_iter : int, default=None
        These as in :class:`OperatorKernelRegressor`.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
    verbose : int or "auto", default="auto"

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n, r)
        Coefficients in the coordinates of ``output_``.
    kernel_, output_kernel_ : OperatorKernel, Kernel
        Resolved.
    reg_ : float
        The regulariser of the fit.
    leave_one_out_error_ : float or None
        Squared error of ``reg="auto"`` as a share of that of the mean output feature; None: there was no choice.
    objective_, gap_ : float
    support_, saturated_ : ndarray of shape (n_support,) and (n_saturated,)
    multilabel_ : bool
        Whether :meth:`predict` without candidates thresholds labels.
    n_iter_, n_evaluations_, converged_, reason_, history_
        What the solver reports.

    Raises
    ------
    InputError
        If a parameter is out of range, the data cannot be used, or a set of candidates is empty.

    Notes
    -----
    Fit costs two factorisations and for ``reg="auto"`` an eigendecomposition, ``O(n^3)``. A prediction among c
    candidates costs ``O(n c r)`` once for the set. Memory is 5 to 25 n x n matrices, by the rank of the output
    features.

    References
    ----------
    Laforgue et al. (2020), section 4.1, problem (10); Brouard, Szafranski and d'Alche-Buc (2016).

    Examples
    --------
    >>> from rkhs import InputOutputKernelRegressor
    >>> X, words = [[0.0], [0.1], [1.0], [1.1]], ["cat", "cats", "dog", "dogs"]
    >>> same_letters = lambda a, b: len(set(a) & set(b)) / len(set(a) | set(b))
    >>> model = InputOutputKernelRegressor("gaussian", output_kernel=same_letters).fit(X, words)
    >>> model.predict([[0.05], [1.05]], candidates=["bird", "dogs", "cat"])
    ['cat', 'dogs']
    """

    kernel: OperatorKernelLike = "gaussian"
    _: KW_ONLY
    output_kernel: KernelLike = "linear"
    operator: Literal["covariance"] | None = None
    reg: float | Literal["auto"] = "auto"
    decoding: Literal["auto", "candidates", "labels", "cardinality"] = "auto"

    train_outputs_: Any = field(init=False)
    _outputs_given: Any = field(init=False)

    output_kernel_: Kernel = field(init=False)
    output_: ClassVar[Fitted[RKHS]] = Fitted("output")
    _matrices = 5.0
    _every_fit_has = (
        "output_kernel_",
        "train_outputs_",
        "_outputs_given",
        "reg_",
        "leave_one_out_error_",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
        y : array (n,) or (n, q), Gram matrix (n, n), or list of n objects
            Outputs in the form that ``output_kernel`` reads.
        sample_weight : array of shape (n,), optional
            Not negative. Rows of weight zero are dropped before anything is estimated; their outputs are no candidates.
        groups : array of shape (n,), optional
            Labels: rows that ``reg="auto"`` leaves out together, as in :class:`OperatorKernelRegressor`.

        Returns
        -------
        self
        """
        self._check_parameters()
        kernel, loss = read_operator_kernel(self.kernel, self.operator, X, center=self.center), as_loss(self.loss)
        loss.check_isotropic()
        with self._running() as run:
            training = self._training(X, kernel, sample_weight, targets=y, at_least=1)
            weights, output_kernel = training.weights, as_kernel(self.output_kernel)
            y = training.given.of(y, "y", gram=output_kernel.domain == "gram")
            outputs = self._read_outputs(y, output_kernel, len(training))
            self.output_kernel_ = output_kernel.resolve(outputs, weights)
            self._store_outputs(outputs, y)
            run.announce_dense(len(training), self._matrices)  # at least, whatever the rank of the output features
            output, U = RKHS.fit(self._output_gram(outputs), weights, center=self.center, scale=False)
            if not U.shape[1] and not isinstance(loss, EpsilonHuberLoss):
                raise InputError(f"y must hold at least two different outputs for loss={loss!r}; all are the same")
            self._announce(run, kernel, training, U)
            fitted = in_coordinates(kernel.resolve(training.items, weights), output, U, weights)
            regression = Regression.of(self._run, fitted, training, output, U)
            self._choose_reg(regression, self._read_groups(groups, training, kernel))
            self._solve(regression)
        self.model_: MachineModel = self.model_.with_outputs(self.output_kernel_, self.train_outputs_)
        return self

    def _announce(self, run: Run, kernel: OperatorKernel, training: Training, U: Tensor) -> None:
        """Announce the memory of the fit, now that the rank of the output features is known."""
        n, columns = len(training), training.items.shape[1] if kernel.domain == "vectors" else 0
        given = not self._chooses and isinstance(as_loss(self.loss), Squared)
        matrices = self._matrices + (0.0 if given else 4.5) + (10.0 if given else 15.0) * U.shape[1] / n
        run.announce_dense(n, matrices, columns, items_bytes(kernel, training.items))

    def check_stored(self) -> None:
        """Check also that the stored outputs are those that their kernel reads."""
        super().check_stored()
        if "model_" in vars(self):
            n, given = len(self.output_.gram_mean), self._outputs_given
            check_items_stored(self.output_kernel_, self.train_outputs_, n)
            none = given is None and self.output_kernel_.domain == "gram"
            if not none and (not isinstance(given, (list, np.ndarray)) or len(given) != n):
                raise InputError(f"a model file must hold {n} outputs; got {quote(given)}")

    def _read_outputs(self, y: Any, kernel: Kernel, n: int | None) -> Any:
        """Bring the outputs of n items, or candidates, to the form that the output kernel reads."""
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if n is None:
            self.reader_.check_times(self, y, "candidates", targets=True)
        if kernel.domain == "objects":
            items: Any = private_copy(kernel.read(check_items(as_numpy(y, "y"), "y")))
        else:
            items = self._read_rows(y, gram=kernel.domain == "gram", training=n is not None)
        if n is not None and len(items) != n:
            raise InputError(f"y must have one output for each of the {n} rows of X; got {len(items)}")
        if len(items) == 0:
            raise InputError("candidates must not be empty")
        return items

    def _read_rows(self, y: Any, *, gram: bool, training: bool) -> Tensor:
        """Outputs that are vectors, or rows of their Gram matrix."""
        array = _finite_outputs(y, training=training)
        if gram:
            self._check_output_names(y, reset=training)
        if gram and training:
            array = check_gram(array, "y (output_kernel='precomputed')")
        if training and not gram:
            check_spread(array, "y", self.dtype)
        return to_tensor(check_squares(array, "y", self.dtype), **self._options)

    def _check_output_names(self, y: Any, *, reset: bool) -> None:
        """Names of training outputs next to their kernel values: remember them, or refuse others and another order."""
        if not is_frame(y):
            return
        names = [str(name) for name in y.columns]
        if reset:
            self.output_names_ = names
        known = vars(self).get("output_names_", names)
        if names != known:
            other = next(
                (pair for pair in zip(names, known, strict=False) if pair[0] != pair[1]), (len(names), len(known))
            )
            raise InputError(
                f"columns of kernel values must be the training outputs in their order; got {quote(other[0])} in place "
                f"of {quote(other[1])}; reorder them"
            )

    def _output_gram(self, outputs: Items) -> Tensor:
        K = self.output_kernel_._gram(outputs).to(**self._options)
        if not bool(torch.isfinite(K.sum())):
            raise InputError("output_kernel gives values that are not finite on these outputs; rescale them")
        return K if self.output_kernel_.known_psd else positive_part(K, name="the Gram matrix of the outputs")

    def _store_outputs(self, outputs: Items, y: Any) -> None:
        self.train_outputs_ = None if self.output_kernel_.domain == "gram" else as_numpy(outputs)
        self._outputs_given = _in_order(y) if self.output_kernel_.domain == "vectors" else self.train_outputs_
        _ = self.multilabel_  # raises if ``decoding`` does not suit these outputs

    @property
    def multilabel_(self) -> bool:
        """Whether labels are predicted without candidates; follows ``decoding``, which may change after the fit."""
        check_choice(self.decoding, "decoding", ("auto", "candidates", "labels", "cardinality"))
        outputs, linear = self.train_outputs_, self.output_kernel_ == Linear()
        binary = isinstance(outputs, np.ndarray) and bool(((outputs == 0) | (outputs == 1)).all())
        if self.decoding in ("labels", "cardinality") and not (binary and linear):
            raise InputError(f"decoding={self.decoding!r} needs output_kernel='linear' and outputs of zeros and ones")
        return binary and linear and self.decoding != "candidates"

    def predict_weights(self, X: Any) -> np.ndarray:
        """Weights ``b`` on the training outputs with ``h(x) = sum_j b_j phi(y_j)``, shape (m, n).

        With a linear output kernel, ``predict_weights(X) @ Y`` are the predicted vectors.
        """
        found = self._in_tiles(X, lambda items: self.output_.weights(self._coordinates(items)), width=self._width)
        kept = self.reader_.kept
        if kept is None:
            return found
        every = np.zeros((len(found), self.reader_.n_items), dtype=found.dtype)
        every[:, kept] = found
        return every

    def scores(
        self, X: Any, candidates: Items | None = None, *, diag: ArrayLike | None = None, per_sample: bool = False
    ) -> Any:
        """Minus the squared distances ``||phi(z) - h(x)||^2`` of the candidates; larger is better.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n), or list of m objects
        candidates : items, default=None
            Outputs, or kernel values (c, n) with the training outputs for ``output_kernel="precomputed"``; with
            ``per_sample=True`` a sequence of m such sets. None: the training outputs.
        diag : float or array of shape (c,), optional
            ``k(z, z)`` for ``output_kernel="precomputed"``; default 1, as for every normalised kernel.
        per_sample : bool, default=False
            Whether every sample has its own candidates.

        Returns
        -------
        ndarray of shape (m, c), or list of m ndarray
        """
        if not per_sample:
            return -self._of_distances(X, candidates, diag, self._finite)
        kernels, found = self._candidate_kernels(X, candidates, diag, per_sample=True), []
        for (items,) in self._tiles(X, width=self._width)[1]:
            U = self._coordinates(items)
            found += [self.output_.squared_distances(u[None], *next(kernels), paired=False)[0] for u in U]
        return [-self._finite(one) for one in found]

    def _candidate_kernels(
        self, X: Any, candidates: Items | None, diag: ArrayLike | None, *, per_sample: bool
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Kernel values of the candidates of each of m items with the training outputs, and with themselves."""
        if not per_sample:
            return repeat(self._candidate_kernel(candidates, diag))
        m = self._count_new(X)
        if candidates is None or len(candidates) != m:
            raise InputError(f"candidates must be a sequence of {m} sets, one per sample, with per_sample=True")
        diags = repeat(None) if diag is None else iter(np.asarray(diag))
        return map(self._candidate_kernel, candidates, diags)

    def predict_set(
        self,
        X: Any,
        candidates: Items | None = None,
        *,
        coverage: float = 0.9,
        held_out: tuple[Any, Any, Any] | None = None,
        diag: ArrayLike | None = None,
        per_sample: bool = False,
        gram: ArrayLike | None = None,
    ) -> CandidateSets:
        """Sets of candidates, or of labels, that hold the true one with a guaranteed probability.

        Without ``held_out`` each training row is left out in turn, in closed form. Candidates form the exact full
        conformal set of the score ``||phi(z) - h|| / sd``, also with ``reg="auto"`` for at most 500 rows without groups
        and copies (see :meth:`OperatorKernelRegressor.predict_set`); else the guarantee is "about". After
        ``fit(groups=)`` a row is left out with its group, so that sets hold for items of new groups. Labels
        (``multilabel_``, no candidates) are those whose left-out scores reach a limit at which a share of at most about
        ``1 - coverage`` of an item's true labels is missed, on average.

        Parameters
        ----------
        X, candidates, diag, per_sample
            As in :meth:`scores`.
        coverage : float, default=0.9
        held_out : tuple (X, places, lists), default=None
            Items that the fit did not see, with the index of the true output in the list of candidates of each. Then
            the scores of a list are standardised and turned into probabilities with one temperature, and sets are
            split conformal: smaller, and with the guarantee if later lists are drawn in the same way.
        gram : array of shape (n, n), optional
            The Gram matrix of the fit, with ``kernel="precomputed"``.

        Returns
        -------
        CandidateSets
            One set per item, in the order of its candidates or labels.

        Raises
        ------
        InputError
            Without ``held_out``, for a machine whose rows cannot be left out in closed form.

        Notes
        -----
        O(n^3) once for a model; then O(n^2 + n c r) an item with c candidates, O(c r) with ``held_out``.

        References
        ----------
        Vovk, Gammerman and Shafer (2005); Angelopoulos et al. (2024), conformal risk control.
        """
        check_is_fitted(self)
        coverage = read_coverage(coverage)
        if held_out is not None:
            other, places, lists = held_out
            known = self.scores(other, lists, per_sample=True)
            scores = self.scores(X, candidates, diag=diag, per_sample=per_sample)
            places = check_places_of(places, [len(one) for one in known])
            likely = likely_candidates(known, places, list(scores), coverage)
            return CandidateSets(coverage, self._guarantee_of(other), *likely)
        machine = LeftOutMachine(self, self.model_, X, gram=gram)
        if candidates is None and self.multilabel_:
            return self._label_sets(machine, coverage)
        if not per_sample:
            known = self.output_.gram_mean if candidates is None else candidates
            self._announce_candidates(len(known), _MATRICES_OF_SETS)
        kernels, distances = (
            self._candidate_kernels(X, candidates, diag, per_sample=per_sample),
            self.output_.squared_distances,
        )

        def members(settings: list[Setting]) -> np.ndarray:
            inside = np.empty(len(settings[0][1].values), dtype=object)
            for row in range(len(inside)):
                K, diagonal = (part.to(settings[0][1].values) for part in next(kernels))
                squares = [distances(new.values[row : row + 1], K, diagonal, paired=False)[0] for _, new in settings]
                E = self.output_.encode(K)
                inside[row] = chosen_members(settings, row, E, squares, coverage)
            return inside

        if machine.exact:
            found = machine.each_of_settings(members)
        else:
            found = machine.each(lambda new: members([(machine.calibration, new)]))
        return CandidateSets(coverage, "at least" if machine.exact else "about", list(found))

    def _label_sets(self, found: LeftOutMachine, coverage: float) -> CandidateSets:
        """Sets of labels by conformal risk control on leave-one-out scores."""
        Y = np.asarray(self.train_outputs_, dtype=np.float64)
        offset = self._label_scores(found.calibration.residuals[:1] * 0.0)
        residuals = self._label_scores(found.calibration.residuals) - offset
        limit = label_limit(Y - residuals, Y, coverage)
        members = list(found.each(lambda new: self._label_scores(new.values)) >= limit)
        return CandidateSets(coverage, "about", members)

    def _label_scores(self, U: Tensor) -> np.ndarray:
        """Predicted label vectors (m, q) at coordinates."""
        train = to_tensor(self.train_outputs_, dtype=U.dtype, device=U.device)
        return self._finite(self.output_.weights(U) @ train)

    def _of_distances(
        self, X: Any, candidates: Items | None, diag: ArrayLike | None, function: Callable[[Tensor], Any]
    ) -> Any:
        """Apply a function to the squared distances (m, c) of one set of candidates, tile by tile."""
        check_is_fitted(self)
        K, diagonal = self._candidate_kernel(candidates, diag)

        def of_tile(items: Items) -> Any:
            U = self._coordinates(items)
            return function(self.output_.squared_distances(U, K, diagonal, paired=False))

        return self._in_tiles(X, of_tile, width=max(self._width, len(K)))

    def _candidate_kernel(self, candidates: Items | None, diag: ArrayLike | None) -> tuple[Tensor, Tensor]:
        kernel = self.output_kernel_
        if kernel.domain == "gram":
            n = self.reader_.n_items
            if candidates is None:
                raise InputError(f"candidates must be kernel values (c, {n}) for output_kernel='precomputed'")
            K = self._read_outputs(candidates, kernel, None)
            if K.shape[1] != n:
                raise InputError(f"candidates must have {n} columns, kernel values with the training outputs")
            K = K if self.reader_.kept is None else K[:, row_index(self.reader_.kept, K)]
            values = np.broadcast_to(np.asarray(1.0 if diag is None else diag, dtype=np.float64), (len(K),))
            return K, to_tensor(values.copy(), **self._options)
        train = self.train_outputs_
        known = to_tensor(train, **self._options) if isinstance(train, np.ndarray) else train
        items = known if candidates is None else self._read_outputs(candidates, kernel, None)
        self._announce_candidates(len(items))
        if isinstance(items, Tensor) and items.shape[1] != known.shape[1]:
            raise InputError(f"candidates must have {known.shape[1]} columns, as y in fit; got {items.shape[1]}")
        return kernel._gram(items, known).to(**self._options), kernel._diag(items).to(**self._options)

    def _announce_candidates(self, count: int, matrices: int = 4) -> None:
        """Refuse more candidates than have room for their kernel values with the training outputs."""
        n = len(self.output_.gram_mean)
        what, parts = f"{type(self).__name__} with {count} candidates", f"{matrices} matrices of {count} x {n}"
        check_memory(
            Estimate(what, 8 * matrices * count * n, parts),
            "Give fewer candidates, or some for each item (per_sample=True)",
        )

    def rank(
        self, X: Any, candidates: Items | None = None, *, diag: ArrayLike | None = None, n_best: int | None = None
    ) -> Ranking:
        """Order one set of candidates for every sample, nearest first; arguments as in :meth:`scores`."""
        return Ranking(*self._of_distances(X, candidates, diag, lambda D: tuple(rank(D, n_best))))

    def _best(self, X: Any, candidates: Items | None, diag: ArrayLike | None, *, per_sample: bool) -> list[int]:
        """Indices of the best candidates."""
        if per_sample:
            scores = self.scores(X, candidates, diag=diag, per_sample=True)
            return [int(rank(torch.as_tensor(-row)[None], 1).indices[0, 0]) for row in scores]
        best = self._of_distances(X, candidates, diag, lambda D: rank(torch.as_tensor(self._finite(D)), 1).indices)
        return best[:, 0].tolist()

    def predict(
        self, X: Any, candidates: Items | None = None, *, diag: ArrayLike | None = None, per_sample: bool = False
    ) -> Any:
        """Predict the output of every item.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n), or list of m objects
        candidates : items, default=None
            One set for all samples, or with ``per_sample=True`` one set per sample. None: label vectors if
            ``multilabel_``, else the training outputs.
        diag, per_sample
            As in :meth:`scores`.

        Returns
        -------
        ndarray or list
            The chosen candidates; for ``output_kernel="precomputed"`` their row numbers.
        """
        check_is_fitted(self)
        if candidates is None and self.multilabel_:
            return give_back(self._labels(X), X)
        found = self._best(X, candidates, diag, per_sample=per_sample)
        if self.output_kernel_.domain == "gram":
            return np.asarray(found)
        read = check_items if self.output_kernel_.domain == "objects" else _in_order
        if candidates is None:
            chosen = [private_copy(self._outputs_given[i]) for i in found]
        else:
            sets: Iterable[Any] = map(read, candidates) if per_sample else repeat(read(candidates))
            chosen = [private_copy(one[i]) for one, i in zip(sets, found, strict=False)]
        return chosen if self.output_kernel_.domain == "objects" else np.asarray(chosen)

    def _labels(self, X: Any) -> np.ndarray:
        """The label vectors that are nearest to the predicted ones, or have as many labels as their entries sum to."""
        vectors = self._in_tiles(X, lambda items: self._label_scores(self._coordinates(items)), width=self._width)
        labels = vectors > 0.5
        if self.decoding == "cardinality":
            counts = np.rint(vectors.sum(1)).clip(0, vectors.shape[1])
            places = np.argsort(np.argsort(-vectors, axis=1, kind="stable"), axis=1, kind="stable")
            labels = places < counts[:, None]
        labels = labels.astype(self._outputs_given.dtype)
        return labels[:, 0] if self._outputs_given.ndim == 1 else labels

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, diag: ArrayLike | None = None) -> float:
        """Share of the variance of the output features that is predicted: larger is better, at most 1.

        It is ``1 - sum_i w_i ||phi(y_i) - h(x_i)||^2 / sum_i w_i ||phi(y_i) - m||^2`` with the mean ``m`` of the
        training features (zero with ``center=False``). A model that always predicts ``m`` scores zero. No candidates
        are searched.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n), or list of m objects
        y : array (m,) or (m, q), or list of m objects
            Outputs; kernel values (m, n) with the training outputs for ``output_kernel="precomputed"``.
        sample_weight : array of shape (m,), optional
        diag : float or array of shape (m,), optional
            As in :meth:`scores`.
        """
        check_is_fitted(self)
        self.reader_.check_times(self, y, "candidates", targets=True)
        m, y = self._count_new(X), as_numpy(y, "y")
        if row_count(y) is not None:
            check_consistent_length(np.empty(m), y)
        diagonals = None if diag is None else np.broadcast_to(np.asarray(diag, dtype=np.float64), (m,))

        def compared(items: Items, outputs: Any, given: ArrayLike | None) -> tuple[np.ndarray, ...]:
            U = self._coordinates(items)
            K, diagonal = self._candidate_kernel(outputs, given)
            check_consistent_length(U, K)
            missed = self.output_.squared_distances(U, K, diagonal, paired=True)
            return self._finite(missed), self._finite(self.output_.squared_norms(K, diagonal)), self._finite(diagonal)

        missed, spread, sizes = self._in_tiles(X, compared, y, diagonals, width=self._width)
        given = RowWeights.read(sample_weight, len(missed))
        missed, spread, sizes = (given.of(part, "y") for part in (missed, spread, sizes))
        w = np.full(len(missed), 1.0 / len(missed)) if given.shares is None else given.shares
        total = float(w @ spread)
        if total <= _CONSTANT * float(w @ np.abs(sizes)):
            raise InputError("y must hold outputs that differ from the mean of the training outputs")
        return 1.0 - float(w @ missed) / total


def _finite_outputs(y: Any, *, training: bool) -> np.ndarray:
    """Outputs as rows of finite numbers, shape (n, q)."""
    array = real_array(as_numpy(y, "y"), "y")
    if training and array.ndim in (1, 2) and np.isnan(array).any():
        raise InputError(_unknown_sentence(array.reshape(len(array), -1)))
    if array.ndim not in (1, 2) or not np.isfinite(array).all():
        raise InputError(
            "y must be a finite numeric array of shape (n,) or (n, q) for this output kernel, without NaN or "
            f"infinity; got shape {array.shape}"
        )
    if len(array) == 0:
        raise InputError("candidates must not be empty")
    return array.reshape(len(array), -1)


def _unknown_sentence(outputs: np.ndarray) -> str:
    rows = np.flatnonzero(np.isnan(outputs).any(1))
    return (
        f"y must not hold NaN: outputs with missing entries have no kernel values; got NaN in {len(rows)} of "
        f"{len(outputs)} rows, {some_rows(rows.tolist())}. Leave these rows out, or fit OperatorKernelRegressor, "
        "which reads gaps in vectors"
    )


def _in_order(outputs: Items) -> np.ndarray:
    """Copy outputs to an array, with rows in their order whatever the labels of the container."""
    return np.array(as_numpy(outputs, "y"))
