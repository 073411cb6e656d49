"""The kernel autoencoder with regularisers, and kernels if several are given, chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rkhs._core.checks import check_folds, check_list, naming
from rkhs._core.errors import ColumnWarning, ComparisonWarning, InputError, warn
from rkhs.estimators.autoencoder.base import BaseAutoencoder
from rkhs.estimators.autoencoder.choice import path_errors
from rkhs.estimators.choice_report import open_ends, warn_of_edges
from rkhs.estimators.kernel_autoencoder import KernelAutoencoder
from rkhs.kernels import as_kernel
from rkhs.selection.path import weighted_sum

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.model_selection import BaseCrossValidator

    from rkhs._core.arrays import Items
    from rkhs.estimators.options.arguments import KernelLike
    from rkhs.kernels import Kernel


@dataclass(eq=False, repr=False)
class KernelAutoencoderCV(BaseAutoencoder):
    """A :class:`KernelAutoencoder` with parameters chosen by cross-validation, and the whole curve of errors.

    In every fold the regularisers are fitted from strong to weak, and each fit starts at the one before it. The best
    setting is then fitted to all rows. ``KernelAutoencoder(reg="auto")`` makes a similar choice among fewer settings,
    for the price of about two fits.

    Parameters
    ----------
    n_components : int or tuple of int, default=2
    kernel, decoder_kernel, output_kernel : default="auto", "auto" and None
        As in :class:`KernelAutoencoder`.
    linear_part : {"auto", "kernel", "free"}, default="auto"
        As in :class:`KernelAutoencoder`: kernels that are given make ``"auto"`` ``"kernel"``.
    kernels, decoder_kernels : sequence, default=None
        Kernels that are compared in place of ``kernel`` and ``decoder_kernel``, such as ``[Gaussian("2*median"),
        Gaussian("8*median")]``. Every pair is compared with every regulariser. Where features are rebuilt, give
        ``output_kernel`` too: errors in the features of different kernels cannot be compared (``ComparisonWarning``).
    regs : sequence of float or of tuple of float, default=None
        Regularisers, the strongest first: numbers, or tuples with one number for each layer, encoder first. None: those
        of ``reg="auto"``.
    cv : int, splitter or iterable, default=5
        As in scikit-learn. A number means that many folds of shuffled rows, always the same.
    center, scale : bool, default=True
    columns : {"raw", "scaled", "integral", "filled"}, default="raw"
    loss : str or Loss, default="squared"
    refine : bool, default=True
    code_metric : float, default=0.75
    constraint : {"none", "sphere", "ball", "whiten", "soft"} or Constraint, default="none"
    noise : Augmentation, default=None
    init : {"kpca", "random"}, default="kpca"
    n_init : int, default=1
        Of the final fit; those that are compared have one start.
    max_iter : int, default=500
    tol : float, default=1e-4
        The fits that are compared stop at 1e-3 if it is smaller.
    random_state : int, RandomState or None, default=None
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
    verbose : int, default=0
        These as in :class:`KernelAutoencoder`.

    Attributes
    ----------
    settings_ : list of dict
        ``kernel``, ``decoder_kernel`` and ``reg`` of everything that was compared.
    regs_ : ndarray of shape (settings, L)
    errors_ : ndarray of shape (settings, folds)
        Held-out mean squared reconstruction errors; infinite where a system was singular.
    best_index_ : int
        Of the least mean error.
    reg_ : tuple of float
    held_out_error_ : float or None
        That error as a share of the variance; None with ``scale=False``.
    at_edge_ : dict
        ``{"reg": "weakest"}`` or ``"strongest"`` if the path ended while the error still fell clearly, with an
        ``EdgeWarning`` if ``regs`` were given.
    codes_, kernel_, decoder_kernels_, objective_, ...
        As in :class:`KernelAutoencoder`, of the fit to all rows, which ``estimator_`` is.

    Raises
    ------
    InputError
        If a parameter is out of range or the data cannot be used. The message names the argument.

    Notes
    -----
    The cost is less than ``folds * settings`` fits, because each fit starts at the one before it.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions; Laforgue et al. (2019).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoderCV
    >>> model = KernelAutoencoderCV(1, regs=[1e-1, 1e-2, 1e-3, 1e-4], cv=2).fit(load_iris().data[::3])
    >>> model.errors_.shape, model.reg_ == tuple(model.regs_[model.best_index_])
    ((4, 2), True)
    """

    _: KW_ONLY
    kernels: Sequence[KernelLike] | None = None
    decoder_kernels: Sequence[KernelLike | tuple[KernelLike, ...]] | None = None
    regs: Sequence[float | Sequence[float]] | None = None
    cv: int | Sequence[tuple[ArrayLike, ArrayLike]] | BaseCrossValidator = 5

    operators = None  # as KernelAutoencoder has them by default

    settings_: list[dict[str, Any]] = field(init=False)
    regs_: np.ndarray = field(init=False)
    errors_: np.ndarray = field(init=False)
    best_index_: int = field(init=False)

    def fit(
        self, X: Any, y: Any = None, *, targets: Items | None = None, sample_weight: ArrayLike | None = None
    ) -> KernelAutoencoderCV:
        """Choose the parameters, then fit on all data; arguments as in :meth:`KernelAutoencoder.fit`.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
        y : ignored
        targets : same kind as X, optional
        sample_weight : array of shape (n,), optional
            Weighs the held-out errors too.

        Returns
        -------
        self
        """
        self._check_parameters()
        pairs = list(product(_given(self, "kernel"), _given(self, "decoder_kernel")))
        self.settings_, errors, rebuilt = [], [], []
        for kernel, decoder in pairs:
            model = self._model(kernel=kernel, decoder_kernel=decoder)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ColumnWarning)  # said by the fit on all rows
                n, path, found, outputs = self._errors(model, X, targets, sample_weight)
            rebuilt += [outputs] if outputs not in rebuilt else []
            self.settings_ += [{"kernel": kernel, "decoder_kernel": decoder, "reg": reg} for reg in path]
            errors.append(found)
        if len(rebuilt) > 1:
            warn(
                "the features of different kernels are different spaces, so that their errors cannot be compared; fix "
                "output_kernel, or choose the kernel by a task, such as the labels or the nearest items",
                ComparisonWarning,
            )
        self.errors_ = np.concatenate(errors)
        self.regs_ = np.array([setting["reg"] for setting in self.settings_])
        mean = self.errors_.mean(1)
        self.best_index_ = int(np.argmin(mean))
        final = self._model(**self.settings_[self.best_index_])
        final.fit(X, targets=targets, sample_weight=sample_weight)  # says what is wrong with the data, if anything is
        if not np.isfinite(mean[self.best_index_]):
            warn(
                f"no setting could be fitted and measured on every part that cv={self.cv!r} makes of "
                f"n_samples={n}, so the first was taken; give more items, fewer folds, or other "
                "settings",
                ConvergenceWarning,
            )
        own = {name: value for name, value in vars(final).items() if name not in final.get_params(deep=False)}
        self.__dict__.update(own)
        size, spread = len(path), float(self.output_.factor) ** 2 if self.scale else float(mean.max())
        known = self.scale and spread > 0.0 and np.isfinite(mean[self.best_index_])
        compared = replace(
            final.model_.compared,
            held_out=float(mean[self.best_index_]) / spread if known else None,
            open_ends=open_ends(mean[self.best_index_ // size * size :][:size], spread),
        )
        self.model_ = replace(final.model_, compared=compared)
        if self.regs is not None:  # nobody has chosen the ends of the default path
            warn_of_edges(self)
        return self

    def _model(self, **chosen: Any) -> KernelAutoencoder:
        own = KernelAutoencoder().get_params(deep=False)
        shared = {name: value for name, value in self.get_params(deep=False).items() if name in own}
        return KernelAutoencoder(**{**shared, "reg": "auto", "storage": "dense", **chosen})

    @property
    def estimator_(self) -> KernelAutoencoder:
        """The autoencoder with the chosen parameters, fitted on all data."""
        check_is_fitted(self)
        model = self._model(**self.settings_[self.best_index_])
        names = self.get_params(deep=False)
        model.__dict__.update({k: v for k, v in vars(self).items() if k not in names and k not in _CHOICE})
        return model

    def _errors(
        self, model: KernelAutoencoder, X: Any, targets: Items | None, sample_weight: ArrayLike | None
    ) -> tuple[int, list[tuple[float, ...]], np.ndarray, Kernel | None]:
        """Number of rows, the path of regularisers, held-out errors (regs, folds), and whose features are rebuilt."""
        settings = model._read_settings(X, targets)
        path = list(settings.candidates)
        if self.regs is not None:
            given = check_list(self.regs, "regs", "regularisers")
            with naming("regs"):
                path = [model.set_params(reg=reg)._read_settings(X, targets).reg for reg in given]
        if not path:
            raise InputError("regs must not be empty; pass one regulariser or more, or None")
        with model._running() as run:
            training = model._read(settings, X, targets, sample_weight, drop=False)
            folds = check_folds(self.cv, len(training))
            found = [path_errors(settings, training, run, path, [fold]) for fold in folds]
        means = [weighted_sum(rows, training.weights_of(test)) for rows, (_, test) in zip(found, folds, strict=True)]
        errors = np.stack(means, 1)
        return len(training), path, np.where(np.isnan(errors), np.inf, errors), settings.output_kernel


_CHOICE = ("settings_", "regs_", "errors_", "best_index_")


def _given(model: KernelAutoencoderCV, name: str) -> list[Any]:
    many = getattr(model, f"{name}s")
    if many is None:
        return [getattr(model, name)]
    found = check_list(many, f"{name}s", "kernels")
    for one in found:
        for kernel in one if isinstance(one, tuple) else (one,):
            with naming(f"{name}s"):
                as_kernel("linear" if isinstance(kernel, str) and kernel == "auto" else kernel)
    return found
