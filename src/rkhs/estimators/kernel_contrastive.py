"""Kernel contrastive learning: codes that bring positives together and keep negatives apart."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from torch import Tensor

from rkhs._core.arrays import give_back, to_tensor
from rkhs._core.checks import check_choice, check_count, check_flag, check_number, check_seed
from rkhs._core.errors import CollapseWarning, InputError
from rkhs._core.linalg import factorize, fix_signs
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.contrastive_pairs import PairBuilder
from rkhs.problems.contrastive import SimpleContrastive
from rkhs.problems.pairs import Pairs
from rkhs.problems.spectral_contrastive import PooledSpectral, SpectralContrastive
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers.lbfgs import LBFGS

__all__ = ["KernelContrastive"]

_AUTO_POOL = 0.01  # share of the reg at which the last component would vanish
_AUTO_TRIES = 6


class KernelContrastive(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Codes ``z(x) = W* phi(x)`` learned from pairs of alike and unlike items.

    ``loss="simple"``: ``sum_i <z_i, z_i^- - z_i^+>`` subject to ``W* W = I``; ``loss="spectral"``:
    ``-2 z_i . z_i^+ + (z_i . z_i^-)^2`` plus ``reg ||W||^2``. Where an anchor has several positives or negatives the
    terms are averaged. Both have closed forms but for the spectral loss with one negative an anchor.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the codes.
    kernel : str, Kernel or callable, default="gaussian"
        Acts on the inputs. ``"precomputed"``: fit takes the Gram matrix (n, n) and transform rows of kernel values with
        the training items (m, n).
    loss : {"simple", "spectral"}, default="simple"
    pairs : {"neighbors", "augment", "class"}, default="neighbors"
        Where positives come from: the nearest other items in the feature space (any data); random views by
        ``augment`` (not for Gram matrices); other items of the same class, the only mode that reads ``y`` (-1 =
        unlabelled; a class of one row is skipped with a warning).
    n_neighbors : int, default=5
        Positives an anchor for ``pairs="neighbors"``; at most n - 1 are used.
    augment : str, Augmentation or callable, default=None
        For ``pairs="augment"``: a name or object of :mod:`rkhs.augment`, or a function ``f(X, rng)``.
    n_views : int, default=1
        Positives an anchor for ``pairs="augment"``.
    negatives : {"pool", "given", "permutation"}, default="pool"
        ``"pool"``: all training items (simple) or all anchors and positives (spectral); ``"given"``: the
        paper's loss of one negative an anchor, those of ``fit(negatives=)`` or else a random cycle, which
        ``"permutation"`` names too. ``fit(negatives=)`` overrides all.
    reg : float or "auto", default="auto"
        Of the spectral loss. ``"auto"`` lies inside the useful window ``lambda_bounds_``: for the pool one hundredth of
        the value at which the last component vanishes; else half way from the lower bound to that value, moved up if
        the loss is unbounded there.
    strict : bool, default=False
        Simple loss: take the leading components whatever the sign of their eigenvalues, as the theorem is printed.
        Otherwise components without a positive eigenvalue are zero columns, with a warning.
    max_iter : int, default=1000
        Largest number of iterations, for the one case without a closed form.
    tol : float, default=1e-7
        Relative tolerance of these iterations.
    psd : {"clip", "raise"}, default="clip"
        What to do with a Gram matrix that has negative eigenvalues: set them to zero and warn, or refuse.
    random_state : int, RandomState or None, default=None
        Of the views and of the permutation.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Of the computation. The results have the dtype of the training data.
    verbose : int, default=0
        Above 0, show progress on standard error.

    Attributes
    ----------
    codes_ : ndarray of shape (n, n_components)
        Codes of the training items.
    n_components_ : int
        Components that are not zero.
    eigenvalues_ : ndarray of shape (n_components,)
        Of the closed forms. Simple loss: ``objective_`` is minus the sum of the positive ones.
    lambda_bounds_ : tuple of float, or None
        Spectral loss: unbounded below under the first ``reg``, minimised by zero from the second on.
    reg_ : float or None
        The regulariser that was used.
    representer_holds_ : bool
        Whether every optimum lies in the span of the data: Theorem 1 (penalty) or the condition of Theorem 2
        (orthonormality: as many positive eigenvalues as components).
    dual_coef_ : ndarray of shape (N, n_components)
        Codes are ``k(x, points) dual_coef_``; the points are the training items and all views and given vectors.
    map_norm_ : float
        Hilbert-Schmidt norm of ``W``, for :mod:`rkhs.metrics.bounds`.
    kernel_ : Kernel
        Resolved: every bandwidth a number.
    objective_ : float
        The loss: a sum over anchors, except a mean for the spectral loss with the pool.
    n_iter_, n_evaluations_, converged_, reason_, history_
        What the solver reports.

    Raises
    ------
    InputError
        For parameters out of range, data and pairs that cannot be used, and a ``reg`` at which the loss is unbounded.

    Notes
    -----
    ``y`` is ignored unless ``pairs="class"``, so that a Pipeline that hands over labels changes nothing. With ``N``
    points fit costs ``O(N^3)`` and transform ``O(m N (d + n_components))``.

    References
    ----------
    Esser, Fleissner and Ghoshdastidar (2024), "Non-parametric representation learning with kernels": definitions 1 and
    2, theorems 1 to 4; HaoChen et al. (2021) for the pool.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelContrastive
    >>> X = load_iris().data
    >>> model = KernelContrastive(n_components=2).fit(X)
    >>> model.transform(X[:3]).shape
    (3, 2)
    >>> model.n_components_
    2
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "gaussian",
        loss: str = "simple",
        pairs: str = "neighbors",
        n_neighbors: int = 5,
        augment: Any = None,
        n_views: int = 1,
        negatives: str = "pool",
        reg: Any = "auto",
        strict: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-7,
        psd: str = "clip",
        random_state: Any = None,
        device: str = "cpu",
        dtype: str = "float64",
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.loss = loss
        self.pairs = pairs
        self.n_neighbors = n_neighbors
        self.augment = augment
        self.n_views = n_views
        self.negatives = negatives
        self.reg = reg
        self.strict = strict
        self.max_iter = max_iter
        self.tol = tol
        self.psd = psd
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = self.pairs == "class"
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.codes_.shape[1])

    def _check_parameters(self) -> None:
        check_count(self.n_components, "n_components")
        check_choice(self.loss, "loss", ("simple", "spectral"))
        check_choice(self.pairs, "pairs", ("neighbors", "augment", "class"))
        check_choice(self.negatives, "negatives", ("pool", "given", "permutation"))
        check_choice(self.psd, "psd", ("clip", "raise"))
        check_count(self.n_neighbors, "n_neighbors")
        check_count(self.n_views, "n_views")
        check_flag(self.strict, "strict")
        check_count(self.max_iter, "max_iter")
        check_number(self.tol, "tol", at_least=0.0)
        if not (isinstance(self.reg, str) and self.reg == "auto"):
            check_number(self.reg, "reg", at_least=0.0, names=("auto",))

    def fit(self, X: Any, y: Any = None, *, positives: Any = None, negatives: Any = None) -> KernelContrastive:
        """Learn the codes.

        Parameters
        ----------
        X : array (n, d), Gram matrix (n, n), or list of n objects
            The anchors.
        y : array of shape (n,), optional
            Labels, read only with ``pairs="class"``.
        positives, negatives : array, optional
            Override ``pairs`` and the parameter ``negatives``: vectors (n, d) or (n, m, d) as floats, or integer row
            numbers of ``X``, shape (n,) or (n, m), the only form for Gram matrices and objects.

        Returns
        -------
        self
        """
        self._check_parameters()
        kernel = self._input_kernel()
        items = self._read_training(X, kernel)
        self.kernel_ = kernel.resolve(items)
        K = self._training_gram(self.kernel_, items)
        _refuse_identical(K)
        seed = int(check_seed(self.random_state).randint(2**31))
        builder = PairBuilder(items, kernel.domain, seed)
        pairs = self._build_pairs(builder, K, y, positives, negatives)
        if builder.extra:
            K = self._training_gram(self.kernel_, builder.points)
        self.reg_: float | None = None
        self.lambda_bounds_: tuple[float, float] | None = None
        self.eigenvalues_: Any = None
        if self.loss == "simple":
            coefficients, solution = self._fit_simple(K, pairs)
        elif pairs.negatives is None:
            coefficients, solution = self._fit_pooled(K, pairs)
        else:
            coefficients, solution = self._fit_given(K, pairs)
        self.dual_coef_ = coefficients.cpu().numpy()
        fitted = K @ coefficients
        self.map_norm_ = float((coefficients * fitted).sum().clamp_min(0.0).sqrt())
        self.codes_ = self._to_output(fitted[: builder.n])
        self._kept_rows, self._n_training = None, builder.n
        self._store_support(builder.points)
        self._record(solution)
        return self

    def _build_pairs(self, builder: PairBuilder, K: Tensor, y: Any, positives: Any, negatives: Any) -> Pairs:
        anchors = None
        if positives is not None:
            alike: Any = builder.given(positives, "positives")
        elif self.pairs == "class":
            anchors, alike = builder.classes(y)
        elif self.pairs == "augment":
            if self.augment is None:
                raise InputError("augment must be given for pairs='augment': a name, an augmentation or f(X, rng)")
            alike = builder.views(self.augment, self.n_views)
        else:
            alike = builder.neighbors(K, self.n_neighbors)
        unlike = None
        if negatives is not None:
            unlike = builder.given(negatives, "negatives")
        elif self.negatives in ("given", "permutation"):
            unlike = builder.permuted()
        return builder.pairs(anchors, alike, unlike)

    def _fit_simple(self, K: Tensor, pairs: Pairs) -> tuple[Tensor, Solution]:
        best = SimpleContrastive(K, _like(pairs, K), self.n_components, bool(self.strict)).solve()
        self.eigenvalues_ = best.eigenvalues.cpu().numpy()
        self.representer_holds_ = best.n_positive >= self.n_components
        self.n_components_ = self.n_components if self.strict else best.n_positive
        if not self.representer_holds_:
            what = "are taken all the same, as strict=True asks" if self.strict else "are zero columns"
            warnings.warn(
                f"the simple loss has {best.n_positive} positive eigenvalues, fewer than "
                f"n_components={self.n_components}; the other components {what}. Lower n_components or "
                "change kernel or pairs",
                CollapseWarning,
                stacklevel=3,
            )
        row = {"iteration": 0, "value": best.value, "measure": 0.0, "route": best.route}
        return best.coefficients, Solution(K, best.value, Reason.CLOSED_FORM, 1, 1, history=(row,))

    def _fit_pooled(self, K: Tensor, pairs: Pairs) -> tuple[Tensor, Solution]:
        problem = PooledSpectral(K, _like(pairs, K), self.n_components)
        bounds = problem.lambda_bounds()
        regs = problem.active_regs()
        positive = regs[regs > 1e-9 * max(bounds[1], 1e-300)]
        auto = _AUTO_POOL * float(positive[-1]) if len(positive) else 0.0
        reg = auto if isinstance(self.reg, str) else float(self.reg)
        best = problem.solve(reg)
        self.reg_, self.lambda_bounds_ = reg, bounds
        self.eigenvalues_ = best.eigenvalues.cpu().numpy()
        self._count_components(best.codes, reg, bounds[1])
        row = {"iteration": 0, "value": best.value, "measure": 0.0, "route": "pool"}
        return best.coefficients, Solution(K, best.value, Reason.CLOSED_FORM, 1, 1, history=(row,))

    def _fit_given(self, K: Tensor, pairs: Pairs) -> tuple[Tensor, Solution]:
        pairs = _like(pairs, K)
        problem = SpectralContrastive(K, pairs, self.n_components, 0.0, factorize(K))
        low, high = problem.lambda_bounds()
        self.lambda_bounds_ = low, high
        auto = isinstance(self.reg, str)
        active = problem.active_regs()
        last = float(active[-1]) if len(active) else 0.0
        reg = 0.5 * (low + (last if last > low else high)) if auto else float(self.reg)
        if not auto and reg < low:
            warnings.warn(
                f"reg={reg:g} is below {low:.4g}, under which the spectral loss is unbounded; stop early by "
                f"max_iter, or use reg between {low:.4g} and {high:.4g}, or negatives='pool'",
                UserWarning,
                stacklevel=3,
            )
        for _ in range(_AUTO_TRIES if auto else 1):
            problem = SpectralContrastive(K, pairs, self.n_components, reg, problem.factor)
            monitor = Monitor(verbose=self.verbose, label=type(self).__name__)
            solution = LBFGS(self.max_iter, self.tol).solve(problem, problem.start(), monitor)
            if solution.reason is not Reason.DIVERGED:
                break
            reg, tried = 0.5 * (reg + high), reg
        else:
            reg = tried
        if solution.reason is Reason.DIVERGED:
            raise InputError(
                f"reg={reg:g} is too small: the codes grew without limit, the spectral loss is unbounded below. Use a "
                f"reg closer to {high:.4g} (zero codes from there on; surely unbounded under {low:.4g}), or "
                "negatives='pool'"
            )
        self.reg_ = reg
        point = solution.point
        codes = problem.codes(point)
        _, _, Vh = torch.linalg.svd(codes, full_matrices=False)
        turned = point @ Vh.mT  # the loss does not see rotations: principal axes, fixed signs
        turned = turned * torch.where((fix_signs(codes @ Vh.mT) * (codes @ Vh.mT)).sum(0) < 0.0, -1.0, 1.0)
        self._count_components(problem.codes(turned), reg, high)
        return problem.factor.coefficients(turned), solution

    def _count_components(self, codes: Tensor, reg: float, high: float) -> None:
        """Report components that the penalty shrank to zero. Theorem 1: with a penalty the optimum is in the span."""
        sizes = (codes * codes).mean(0)
        self.n_components_ = int((sizes > 1e-8 * max(1e-3, float(sizes.max()))).sum())
        self.representer_holds_ = reg > 0.0
        if self.n_components_ < self.n_components:
            warnings.warn(
                f"{self.n_components - self.n_components_} of {self.n_components} components are zero: reg={reg:.4g}, "
                f"and from {high:.4g} on all are. Lower reg or n_components",
                CollapseWarning,
                stacklevel=4,
            )

    def transform(self, X: Any) -> Any:
        """Encode items.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n) for ``kernel="precomputed"``, or list of m objects

        Returns
        -------
        ndarray of shape (m, n_components)
            A tensor if ``X`` is one.
        """
        items = self._read_new(X)
        K = self._cross_gram(items)
        return give_back(self._to_output(K @ to_tensor(self.dual_coef_, **self._options)), X)

    def fit_transform(self, X: Any, y: Any = None, *, positives: Any = None, negatives: Any = None) -> Any:
        """``fit(X, y, positives=, negatives=).transform(X)``, shape (n, n_components)."""
        return self.fit(X, y, positives=positives, negatives=negatives).transform(X)


def _like(pairs: Pairs, K: Tensor) -> Pairs:
    """The pairs on the device of the Gram matrix."""
    if K.device.type == "cpu":
        return pairs
    from dataclasses import replace

    def move(links: Any) -> Any:
        if links is None:
            return None
        names = ("rows", "cols") if links.index is None else ("rows", "cols", "index")
        parts = {name: getattr(links, name).to(K.device) for name in names}
        return replace(links, weights=links.weights.to(K), **parts)

    return Pairs(pairs.anchors.to(K.device), move(pairs.positives), move(pairs.negatives), pairs.pool.to(K))


def _refuse_identical(K: Tensor) -> None:
    d = K.diagonal()
    spread = float((d[:, None] + d[None, :] - 2.0 * K).max())
    if spread <= 1e-12 * float(d.abs().max()):
        raise InputError("X must hold at least two different items: all are the same to the kernel, nothing contrasts")
