"""Base class of the estimators: reading data, sample weights and kernels, and returning results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names, _num_samples, check_is_fitted
from torch import Tensor

from rkhs._core.arrays import (
    cut_rows,
    is_curves,
    is_frame,
    read_numbers,
    resolve_device,
    resolve_dtype,
    tile_rows,
    tiles,
    to_tensor,
)
from rkhs._core.checks import Declared, check_squares, refuse_undeclared
from rkhs._core.errors import InputError, brief, warn
from rkhs._core.ownership import WholeFits
from rkhs.engines.rows import Rows
from rkhs.estimators.given_matrices import (
    adapted_to,
    has_views,
    read_diagonal,
)
from rkhs.estimators.options.arguments import TABLES, check_nested
from rkhs.estimators.reader import Reader, streams, times_of
from rkhs.estimators.run import (
    EngineThreads,
    Plan,
    Planned,
    Run,
    check_dense,
    check_parameters,
    open_run,
)
from rkhs.estimators.training import RowWeights, Training
from rkhs.kernels.registry import as_kernel, reads_gram
from rkhs.spaces.rounding import refuse_equal, warn_of_rounding

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rkhs._core.arrays import Items
    from rkhs.kernels.base import Kernel
    from rkhs.kernels.operator_valued import OperatorKernel
    from rkhs.protocols import Solution
    from rkhs.spaces.features import Storage


class KernelEstimator(EngineThreads, WholeFits):
    """Base of the estimators: one kernel on the inputs, and the data in the form that it reads.

    Examples
    --------
    >>> from rkhs import KernelPCA
    >>> from rkhs.estimators import KernelEstimator
    >>> issubclass(KernelPCA, KernelEstimator), KernelPCA(2).plan([[0.0], [1.0], [3.0]]).storage
    (True, 'dense')
    """

    kernel: Any
    device: str
    dtype: str

    _declared: ClassVar[Declared] = {}  # checks of the parameters that only this class has
    _plans = False  # whether the next fit is a dry run, which stops after the announcement of its memory
    _matrices: ClassVar[float] = 3.0  # least number of n x n matrices that a fit holds

    _table_options: ClassVar[dict[str, int]] = {}  # of the FilledTable of columns="filled"
    _every_fit_has: ClassVar[tuple[str, ...]] = ()  # attributes that a model file needs besides the model
    _needs_differences: ClassVar[bool] = False  # whether nothing can be learned from items that are all equal

    reader_: Reader  # how items are read, in fit and afterwards
    groups_: np.ndarray | None = None  # (n,): group of each row, if rows of a group were left out together
    # Settings compared by leave-one-out: pairs of a kernel (None: the fitted one) and its regularisers; empty after
    # other choices, None without a choice.
    _compared: list[tuple[OperatorKernel | None, np.ndarray]] | None = None
    n_features_in_: int
    feature_names_in_: np.ndarray
    objective_: float
    n_iter_: int
    n_evaluations_: int
    converged_: bool
    reason_: str
    history_: list[dict[str, Any]]
    announced_bytes_: int

    def __getattr__(self, name: str) -> Any:
        """Other attributes are fitted ones, which may be there or not; codes predict nothing."""
        if name == "partial_fit" and hasattr(type(self), name):
            inspect.getattr_static(type(self), name).check(self)  # says what a model that takes no more rows lacks
        if name in ("predict", "predict_proba") and hasattr(type(self), "transform"):
            what = f"{type(self).__name__} has no {name}: it makes codes"
            raise AttributeError(f"{what}; rkhs.evaluation.load_classifier reads a file of rkhs fit --predict CLASS")
        return object.__getattribute__(self, name)

    def __getstate__(self) -> dict[str, Any]:
        """The state without what can be recomputed."""
        return {k: v for k, v in super().__getstate__().items() if not k.startswith("_cache")}

    def check_stored(self) -> None:
        """Refuse a model file whose parameters and attributes do not belong to a fit."""
        if any(name.endswith("_") for name in vars(self)):
            self._check_parameters()
            missing = [name for name in ("model_", "reader_", *self._every_fit_has) if not hasattr(self, name)]
            if missing:
                raise InputError(f"a {type(self).__name__} of a model file must have {', '.join(missing)}")
            self.reader_.check_model(self)

    def set_params(self, **params: Any) -> Self:
        """Change parameters; ``solver__batch_size`` is that of the object ``solver``."""
        check_nested(params, {**self.get_params(deep=False), **params})
        return super().set_params(**params)

    @available_if(lambda self: hasattr(self, "_resolved"))
    def plan(self, X: Any, y: Any = None, **data: Any) -> Plan:
        """Describe what ``fit`` would do with the same arguments; it stops before the computation.

        Returns
        -------
        Plan
            ``options``, ``storage``, ``bytes``, ``equations``; printed, a line for each.

        Raises
        ------
        InputError
            What ``fit`` refuses before it computes.
        """
        model = clone(self)
        if hasattr(model, "verbose"):
            model.verbose = 0
        options, equations = model._resolved(X, **data)
        storage = options["storage"]
        try:
            model._plans = True
            model.fit(X, y, **data)
        except Planned as stopped:
            (estimate,) = stopped.args
        option_texts = {name: now if isinstance(now, str) else brief(now) for name, now in options.items()}
        return Plan(option_texts, str(storage), estimate.n_bytes, equations, str(estimate))

    def _check_parameters(self) -> None:
        """Check what needs no data; every fit calls it first."""
        check_parameters(self.get_params(deep=False) | {"columns": self._columns})
        refuse_undeclared(self)

    def _input_kernel(self) -> Kernel:
        """The kernel that the user asked for, not yet resolved."""
        return as_kernel(self.kernel)

    @property
    def _columns(self) -> str:
        """The parameter ``columns``; "raw" for classes without it."""
        return str(getattr(self, "columns", "raw"))

    def _kernel_for(self, X: Any) -> Kernel:
        """The kernel that the user asked for, on the grid of curves or the sparse rows that X holds; not resolved."""
        return adapted_to(X, self._input_kernel())

    def _refuse_parts_of_a_fit(self) -> None:
        """Refuse ``partial_fit`` after ``fit``, which keeps nothing that more rows could be added to."""
        if "model_" in vars(self):
            name = type(self).__name__
            raise InputError(
                f"partial_fit adds rows to a {name} that began with it; this one was fitted by fit, whose rows it "
                "would forget. Take an unfitted copy (sklearn.base.clone), and give all rows to its partial_fit"
            )

    @contextmanager
    def _running(self) -> Iterator[Run]:
        """Open the context of a fit, and store the memory that it announced."""
        with open_run(type(self).__name__, self.get_params(deep=False), plans=self._plans) as run:
            yield run
            if run.announced_bytes:
                self.announced_bytes_ = run.announced_bytes

    @property
    def _run(self) -> Run:
        """The context of a computation without an engine."""
        return Run(type(self).__name__, self._options, getattr(self, "verbose", 0))

    @property
    def _options(self) -> dict[str, Any]:
        return {"dtype": resolve_dtype(self.dtype), "device": resolve_device(self.device)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = reads_gram(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        tags.input_tags.allow_nan |= isinstance(self._columns, str) and self._columns in TABLES
        return tags

    def _announce_dense(self, shape: tuple[int, int], storage: Storage | str | None = None, taken: float = 0.0) -> None:
        """Store the least memory of a dense fit; refuse too large a fit before anything of that size is allocated."""
        parameters = self.get_params(deep=False) | ({} if storage is None else {"storage": storage})
        n_bytes = check_dense(type(self).__name__, parameters, shape, self._matrices, taken)
        if n_bytes:
            self.announced_bytes_ = n_bytes

    def _to_rows(self, result: Tensor) -> np.ndarray:
        """Decoded rows in the units of the data."""
        return self.reader_.rows(self._to_output(result))

    def _read_new(self, X: Any) -> Any:
        """Check new data against what was seen in fit."""
        check_is_fitted(self)
        return self.reader_.read(self, X)

    def _tiles(self, X: Any, *parts: Any, width: int = 0) -> tuple[int, Iterator[tuple[Any, ...]]]:
        """The number of new rows, and tiles of them as the kernel reads them, with ``width`` numbers per row in memory.

        ``parts`` are arrays with a row per row of ``X``, which are cut with it; None stays None.
        """
        check_is_fitted(self)
        step = tile_rows(max(width, self.map_.row_size, getattr(self, "n_features_in_", 1)))
        n, read = self.reader_.open(self, X, step)
        return n, (
            (read(tile), *(part if part is None else cut_rows(part, tile) for part in parts)) for tile in tiles(n, step)
        )

    def _in_tiles(self, X: Any, function: Callable[..., Any], *parts: Any, width: int = 0) -> Any:
        """Results for rows of any origin, tile by tile: arrays, or tensors, which become arrays of the training dtype.

        A function with several results gives a tuple of arrays.
        """
        n, opened = self._tiles(X, *parts, width=width)
        found: list[np.ndarray] = []  # written in place: small arrays kept between large ones would split the heap
        done, several = 0, False
        for tile in opened:
            result = function(*tile)
            several = isinstance(result, tuple)
            each = [
                self._to_output(one, done) if isinstance(one, Tensor) else one
                for one in (result if several else (result,))
            ]
            count = len(each[0])
            if count == n:
                found = each
                break
            found = found or [np.empty((n, *one.shape[1:]), one.dtype) for one in each]
            for whole, part in zip(found, each, strict=True):
                whole[done : done + count] = part
            done += count
        return tuple(found) if several else found[0]

    def _count_new(self, X: Any) -> int:
        """Number of new items; views are several matrices of the same items."""
        views = self.reader_.view_weights is not None and has_views(X)
        return int(_num_samples(X.data_matrix if is_curves(X) else X[0] if views else X))

    def _new_diagonal(self, X: Any, diag: ArrayLike | None) -> Tensor | None:
        """``k(x, x)`` of new items that are rows of kernel values; None where the kernel itself gives it."""
        check_is_fitted(self)
        return self._gram_diagonal(diag, self._cross_gram(self._read_new(X))) if self.kernel_.domain == "gram" else None

    def _of_codes(self, Z: Tensor, function: Callable[[Tensor], Tensor], width: int = 0) -> Tensor:
        """Apply a function to codes (m, p), tile by tile; ``width`` as in :meth:`_tiles`."""
        step = tile_rows(max(width, self.map_.width, len(self.codes_)))
        found = [function(Z[tile]) for tile in tiles(len(Z), step)]
        return torch.cat(found) if len(found) > 1 else found[0]

    def _guarantee_of(self, held_out: Any) -> str:
        """Guarantee of split conformal sets: "about", with a warning, if held-out items equal training items."""
        items = self._read_new(held_out)
        steps = tiles(len(items), tile_rows(self.map_.width))
        known = sum(int(self.map_.holds(items[tile]).sum()) for tile in steps)
        if not known:
            return "at least"
        warn(
            f"{known} of {len(items)} items of held_out equal training items: their errors can be too small, and sets "
            "then cover less than they guarantee; pass items that the fit did not see"
        )
        return "about"

    def _read_matrix(self, X: Any, name: str, columns: int | None = None, shape: str = "(m, {q})") -> Tensor:
        """Read a finite matrix other than ``X`` (codes, targets) as a tensor."""
        array = check_squares(read_numbers(X, name, columns=columns, shape=shape), name, self.dtype)
        return to_tensor(array, **self._options)

    def _read_like(self, X: Any, name: str, columns: int, *, targets: bool = False) -> Tensor:
        """Rows with the columns of ``X``, or of ``targets``, in the units that the kernel reads."""
        if not targets:
            return self.reader_.read(self, X, name)
        self.reader_.check_times(self, X, name, targets=True)
        return self._read_matrix(X, name, columns)

    def _training(
        self,
        X: Any,
        kernel: Kernel | OperatorKernel,
        sample_weight: ArrayLike | None = None,
        *,
        targets: Any = None,
        at_least: int = 2,
        storage: Storage | str | None = None,
    ) -> Training:
        """Read items and weights. Rows of weight zero go first, as if they were not there; in a file they stay."""
        gram = kernel.domain == "gram"
        given = None if streams(X, kernel, storage) else RowWeights.of_rows(sample_weight, X, gram=gram)
        rows = X if given is None else given.of(X, "X", gram=gram)
        if given is not None and len(given) < min(at_least, given.n_given):
            raise InputError(f"X must have at least {at_least} rows of positive weight; got n_samples={len(given)}")
        reader, items = Reader.fit(self, rows, kernel, weights=given, at_least=at_least, storage=storage)
        if given is None:
            given = RowWeights.read(sample_weight, items.shape[0] if isinstance(items, Rows) else len(items)).on_all()
        if gram and given.kept is not None:  # new items come with kernel values with all that were given
            self.n_features_in_ = given.n_given
            if is_frame(X):
                _check_feature_names(self, X, reset=True)
        self.reader_ = replace(reader, kept=given.kept, n_items=given.n_given, target_grid=times_of(targets))
        if self._needs_differences and getattr(self, "center", True):
            refuse_equal(items, gram=gram)
        weights = None if given.shares is None else torch.as_tensor(given.shares, **self._options)
        return Training(items, items, True, weights, given.total, given, gram, gram)

    def _cross_gram(self, items: Items) -> Tensor:
        """``k(new items, training items)``, shape (m, n); raw features of the items for models in finite features."""
        return self.map_.raw(items).to(**self._options)

    def _support(self) -> Any:
        """The training items in the form that the kernel reads."""
        support = self.support_items_
        if isinstance(support, np.ndarray) and self.kernel_.domain != "objects":
            return to_tensor(support, **self._options)
        return support

    def _training_items(self) -> Any:
        if not self.map_.whole:
            raise InputError("candidates must be given: a model in finite features keeps no training items")
        return self._support()

    def _read_codes(self, codes: ArrayLike) -> Tensor:
        check_is_fitted(self)
        return self._read_matrix(codes, "codes", self.codes_.shape[1], "(m, {q}), as transform returns")

    def _candidate_rows(self, rows: Items) -> Tensor:
        """Read kernel values of candidates with the training items of positive weight."""
        return self.reader_.read(self, rows, "candidates")

    def _gram_diagonal(self, diag: ArrayLike | None, K: Tensor) -> Tensor:
        """``k(z, z)`` of the items whose kernel values are the rows of ``K``."""
        return read_diagonal(diag, K, self.train_diag_)

    def _to_output(self, result: Tensor, first: int = 0) -> np.ndarray:
        """A result as an array of the dtype of the training data; ``first``: index of its first row, for messages."""
        with np.errstate(over="ignore"):  # refused just below
            return self._finite(result, self.reader_.dtype, first)

    def _finite(self, result: Tensor, dtype: Any = np.float64, first: int = 0) -> np.ndarray:
        array = result.detach().cpu().numpy().astype(dtype, copy=False)
        if not np.isfinite(array).all():
            row = first + int(np.argwhere(~np.isfinite(array))[0][0]) if array.ndim else 0
            raise InputError(
                f"the result does not fit into {array.dtype}, first in row {row} (from 0): that item lies too far from "
                f"the training data of {type(self).__name__}, or its kernel gives no number for it; rescale the data, "
                "or leave that item out"
            )
        return array

    def _warn_of_rounding(self, largest: float, coefs: Tensor | np.ndarray, results: Tensor | float) -> None:
        """Warn if results lose digits by rounding; see :func:`~rkhs.spaces.rounding.warn_of_rounding`."""
        warn_of_rounding(type(self).__name__, self._options["dtype"], largest, coefs, results)

    def _record(self, solution: Solution) -> None:
        """Store the report of the solver, and warn if it did not converge."""
        if not np.isfinite(solution.value):
            raise InputError(
                f"the objective of {type(self).__name__} is not finite on these data ({solution.reason.value}); "
                "rescale the data, or raise reg"
            )
        self.objective_, self.n_iter_ = float(solution.value), max(1, int(solution.n_iter))
        self.n_evaluations_, self.converged_ = int(solution.n_evaluations), bool(solution.converged)
        self.reason_, self.history_ = solution.reason.value, list(solution.history)
        if not solution.converged:
            warn(f"{type(self).__name__}: {solution.reason.value}", ConvergenceWarning)
