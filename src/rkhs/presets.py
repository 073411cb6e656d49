"""The published configurations of the four papers, as estimators; ``describe`` marks each parameter.

A parameter is ``printed``, ``from the authors' code`` where the text is silent, or ``ours, left open``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from rkhs.augment import GaussianNoise
from rkhs.estimators import (
    DeepRKM,
    FunctionalKernelRegressor,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelContrastive,
    OperatorKernelRegressor,
)
from rkhs.kernels import FunctionalLaplacian, Gaussian, GaussianOf, Kernel, Linear, Tanimoto
from rkhs.losses import Huber, Loss, SquaredEpsilonInsensitive
from rkhs.solvers import CayleyAdam, ProjectedGradient, QuadraticPenalty, Solver

__all__ = [
    "describe", "drkm_2021", "drkm_2021_denoising", "drkm_2021_table1", "dual_2020_autoencoder", "dual_2020_lip",
    "dual_2020_metabolites", "dual_2020_regression", "kae_2019", "kae_2019_molecules", "kpca_2019",
    "krl_2024_autoencoder", "krl_2024_denoising", "krl_2024_simple", "krl_2024_spectral",
]  # fmt: skip

_OPEN, _CODE, _PRINTED = "ours, left open", "from the authors' code", "printed"
_PLAIN: dict[str, Any] = {
    "center": False, "scale": False, "linear_part": "kernel", "refine": False, "code_metric": 0.0,
}  # fmt: skip
_MACHINE: dict[str, Any] = {"center": False, "code_scale": "unit", "out_of_sample": "paper", "canonical": False}
_OUTER = {100: 2, 200: 4}  # outer iterations of the penalty method up to so many points; 7 beyond
_SOLVERS: dict[str, Solver] = {
    "penalty": QuadraticPenalty("lbfgs", mu=1.0, growth=8.0, tau=1e-5, max_iter=10**5),
    "projected_gradient": ProjectedGradient(max_iter=10**6),
    "cayley_adam": CayleyAdam(5e-5, max_iter=10**6),
}
_MARKS: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {}

Preset = TypeVar("Preset", bound=Callable[..., Any])


def _marks(printed: Sequence[str], code: Sequence[str] = ()) -> Callable[[Preset], Preset]:
    """Register a preset with its parameters that are printed, and those of the authors' code."""

    def declare(make: Preset) -> Preset:
        _MARKS[make.__name__] = make, {**dict.fromkeys(printed, _PRINTED), **dict.fromkeys(code, _CODE)}
        return make

    return declare


def describe(name: str) -> str:
    """List where each parameter of a published configuration comes from.

    Parameters
    ----------
    name : str
        Name of a function of this module.

    Returns
    -------
    str
        One line per parameter, of kernels, losses and solvers too: its value at the defaults, and ``printed``, ``from
        the authors' code`` or ``ours, left open``.

    Raises
    ------
    InputError
        If there is no such configuration.

    Examples
    --------
    >>> from rkhs.presets import describe
    >>> print(describe("kae_2019").splitlines()[0])
    center = False: printed
    """
    from rkhs._core.checks import check_choice

    make, marks = _MARKS[check_choice(name, "name", tuple(_MARKS))]
    values = make().get_params()
    inner = {key.rpartition("__")[0] for key in values}  # objects whose parameters are on further lines
    texts = {key: type(value).__name__ if key in inner else repr(value) for key, value in sorted(values.items())}
    return "\n".join(f"{key} = {text}: {marks.get(key, _OPEN)}" for key, text in texts.items())


@_marks(["kernel", "decoder_kernel", "loss", "operators", *_PLAIN])
def kae_2019(
    n_components: int | tuple[int, ...] = 2, gamma: float = 1.0, code_gamma: float = 1.0, reg: float = 1e-3, *,
    gram: bool = False, init: Literal["kpca", "random", "uniform"] = "uniform",
) -> KernelAutoencoder:  # fmt: skip
    """Autoencoder of Laforgue et al. (2019), sections 2.1 to 2.5, figures 3 to 7.

    ``objective_`` is half of ``1/n sum ||x_i - f_2(f_1(x_i))||^2 + reg (||f_1||^2 + ||f_2||^2)``.

    Parameters
    ----------
    n_components : int or tuple of int, default=2
    gamma, code_gamma : float, default=1.0
        Of the Gaussian kernels ``exp(-gamma ||x - y||^2)`` of inputs and codes.
    reg : float, default=1e-3
        ``lambda``, of every layer.
    gram : bool, default=False
        Take a Gram matrix (n, n) in place of vectors (n, d), and rebuild its features.
    init : {"kpca", "random", "uniform"}, default="uniform"
        Printed for figure 5 alone: appendix C.1 names uniform weights.

    Returns
    -------
    KernelAutoencoder
        Not fitted.

    References
    ----------
    Laforgue, Clémençon and d'Alché-Buc (2019), (1) to (5).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs.presets import kae_2019
    >>> model = kae_2019(2, gamma=0.5)
    >>> model.kernel, model.decoder_kernel, model.reg
    (Gaussian(gamma=0.5), Gaussian(gamma=1.0), 0.001)
    """
    kernel: Kernel | Literal["precomputed"] = "precomputed" if gram else Gaussian(gamma)
    return KernelAutoencoder(
        n_components, kernel=kernel, decoder_kernel=Gaussian(code_gamma), reg=reg, init=init, **_PLAIN
    )


@_marks(["kernel", "decoder_kernel", "output_kernel", "loss", "operators", *_PLAIN])
def kae_2019_molecules(n_components: int = 10, gamma: float | str = "median", reg: float = 1e-2) -> KernelAutoencoder:
    """Autoencoder of molecules of Laforgue et al. (2019), tables 1 and 3: features of the Tanimoto kernel are rebuilt.

    ``1/2n sum ||phi(x_i) - f_2(f_1(x_i))||^2 + reg/2 (||f_1||^2 + ||f_2||^2)``.

    Parameters
    ----------
    n_components : int, default=10
        The paper has 5 to 100.
    gamma : float or "median", default="median"
        Of the Gaussian kernel of Tanimoto distances.
    reg : float, default=1e-2

    Returns
    -------
    KernelAutoencoder
        Not fitted; ``fit`` takes bits (n, d).

    References
    ----------
    Laforgue, Clémençon and d'Alché-Buc (2019), section 5.2.

    Examples
    --------
    >>> from rkhs.presets import kae_2019_molecules
    >>> model = kae_2019_molecules(5)
    >>> model.kernel, model.output_kernel
    (GaussianOf(base=Tanimoto()), Tanimoto())
    """
    inputs, features = GaussianOf(Tanimoto(), gamma), Tanimoto()
    return KernelAutoencoder(
        n_components, kernel=inputs, decoder_kernel=Gaussian(1.0), output_kernel=features, reg=reg, **_PLAIN
    )


@_marks(["kernel", "decoder_kernel", "loss", "operators", *_PLAIN])
def kpca_2019(n_components: int = 2) -> KernelAutoencoder:
    """Linear kernels of Laforgue et al. (2019), section 3.2, whose least error is that of rank ``p``.

    ``1/2n sum ||x_i - B A x_i||^2``, at a regulariser of 1e-8, because the limit 0 has no unique solution. The codes
    span those of the Kernel PCA Map: ``KernelPCA(p, center=False)``, divided by the roots of their lengths.

    Parameters
    ----------
    n_components : int, default=2

    Returns
    -------
    KernelAutoencoder
        Not fitted; ``fit`` takes a Gram matrix (n, n).

    References
    ----------
    Laforgue, Clémençon and d'Alché-Buc (2019), section 3.2.

    Examples
    --------
    >>> from rkhs.presets import kpca_2019
    >>> model = kpca_2019(2)
    >>> model.n_components, model.kernel, model.decoder_kernel, model.reg
    (2, 'precomputed', Linear(), 1e-08)
    """
    return KernelAutoencoder(n_components, kernel="precomputed", decoder_kernel=Linear(), reg=1e-8, tol=1e-10, **_PLAIN)


@_marks(
    ["n_components", "kernel", "kernel__gamma", "decoder_kernel", "decoder_kernel__gamma", "eta", "solver",
     "solver__inner", "solver__mu", "solver__growth", "solver__tau", "solver__max_outer", "solver__max_iter",
     "solver__learning_rate", "solver__feasible", *_MACHINE],
)  # fmt: skip
def drkm_2021(
    n_components: tuple[int, ...] = (10, 5),
    eta_ratio: float = 1.0,
    n: int = 800,
    *,
    init: Literal["kpca", "random"] = "kpca",
) -> DeepRKM:
    """Deep RKM of Tonin et al. (2021), section 5.3: ``-sum_l Tr(H_l^T K_(l-1) H_l) / (2 eta_l)``, ``sigma^2 = 50``.

    Parameters
    ----------
    n_components : tuple of int, default=(10, 5)
    eta_ratio : float, default=1.0
        ``gamma = eta_1 / eta_2``: larger is less weight on layer 1.
    n : int, default=800
        Number of training points, by which appendix A.2 gives the outer iterations.
    init : {"kpca", "random"}, default="kpca"
        Both are feasible here: each layer is orthogonal to those below. The starts of section 4.1 are not.

    Returns
    -------
    DeepRKM
        Not fitted; ``fit`` takes pixels in [0, 1], shape (n, d).

    References
    ----------
    Tonin, Patrinos and Suykens (2021), section 5.3 and appendix A.2.

    Examples
    --------
    >>> from rkhs.presets import drkm_2021
    >>> model = drkm_2021(eta_ratio=2.0, n=100)
    >>> model.n_components, model.eta, model.kernel, model.solver.max_outer
    ((10, 5), (2.0, 1.0), Gaussian(gamma=0.01), 2)
    """
    outer = next((count for most, count in _OUTER.items() if n <= most), 7)
    solver = QuadraticPenalty(
        "adam", mu=1.0, growth=8.0, tau=0.1, max_outer=outer, max_iter=500, learning_rate=1e-3, feasible=False
    )
    kernel, eta = Gaussian(0.01), (eta_ratio, *[1.0] * (len(n_components) - 1))
    return DeepRKM(
        n_components, kernel=kernel, decoder_kernel=Gaussian(0.01), eta=eta, init=init, solver=solver, **_MACHINE
    )


@_marks(
    ["n_components", "kernel", "kernel__gamma", "decoder_kernel", "decoder_kernel__gamma", "solver",
     "solver__learning_rate", *_MACHINE],
)  # fmt: skip
def drkm_2021_table1(algorithm: str = "cayley_adam", random_state: int = 0) -> DeepRKM:
    """Model of table 1 of Tonin et al. (2021): 10 + 5 codes of 1000 images by one of three algorithms.

    The penalty method minimises ``J + mu/2 ||H^T H - I||^2``; the others stay on ``H^T H = I``.

    Parameters
    ----------
    algorithm : {"penalty", "projected_gradient", "cayley_adam"}, default="cayley_adam"
        Cayley Adam has the printed rate of 5e-5. The stopping rules are those of the library.
    random_state : int, default=0

    Returns
    -------
    DeepRKM
        Not fitted.

    Raises
    ------
    InputError
        For another algorithm.

    References
    ----------
    Tonin, Patrinos and Suykens (2021), section 5.1.

    Examples
    --------
    >>> from rkhs.presets import drkm_2021_table1
    >>> model = drkm_2021_table1("penalty")
    >>> model.n_components, model.solver.inner, model.solver.tau
    ((10, 5), 'lbfgs', 1e-05)
    """
    from rkhs._core.checks import check_choice

    solver = _SOLVERS[check_choice(algorithm, "algorithm", tuple(_SOLVERS))]
    options: dict[str, Any] = dict(_MACHINE, init="random", random_state=random_state, solver=solver)
    return DeepRKM((10, 5), kernel=Gaussian(0.01), decoder_kernel=Gaussian(0.01), **options)


@_marks(["n_components", "kernel", "decoder_kernel", "eta", "solver", *_MACHINE])
def drkm_2021_denoising(sigma_squared: float = 1.0, n: int = 3000) -> DeepRKM:
    """Model of table 2 of Tonin et al. (2021): widths (2, 1); denoise with ``weighting="paper"``.

    Weights are ``beta = H H^T k(x)``; the point is a minimum of ``k(x, x) - 2 beta^T k(x)``.

    Parameters
    ----------
    sigma_squared : float, default=1.0
        Of the Gaussian kernels of both layers, to be chosen on validation points.
    n : int, default=3000
        Number of training points.

    Returns
    -------
    DeepRKM
        Not fitted; ``fit`` takes points (n, 2).

    References
    ----------
    Tonin, Patrinos and Suykens (2021), section 5.2.

    Examples
    --------
    >>> from rkhs.presets import drkm_2021_denoising
    >>> model = drkm_2021_denoising(sigma_squared=2.0)
    >>> model.n_components, model.kernel
    ((2, 1), Gaussian(gamma=0.25))
    """
    kernel = Gaussian(0.5 / sigma_squared)
    return drkm_2021((2, 1), n=n).set_params(kernel=kernel, decoder_kernel=Gaussian(0.5 / sigma_squared))


@_marks(["n_components", "loss", "negatives", "strict"])
def krl_2024_simple(n_components: int = 2, kernel: Kernel | None = None) -> KernelContrastive:
    """Simple contrastive loss of Esser et al. (2024), definition 1: ``sum <z_i, z_i^- - z_i^+>`` with ``W* W = I``.

    Parameters
    ----------
    n_components : int, default=2
    kernel : Kernel, default=None
        None: ``Gaussian(1.0)``.

    Returns
    -------
    KernelContrastive
        Not fitted; ``fit(X, positives=, negatives=)`` takes arrays (n, d).

    References
    ----------
    Esser, Fleissner and Ghoshdastidar (2024), definition 1, theorem 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs.presets import krl_2024_simple
    >>> krl_2024_simple(2).fit(load_iris().data).codes_.shape
    (150, 2)
    """
    return KernelContrastive(n_components, kernel=kernel or Gaussian(1.0), negatives="permutation", strict=True)


@_marks(["n_components", "loss", "negatives"])
def krl_2024_spectral(
    n_components: int = 2, kernel: Kernel | None = None, reg: float | Literal["auto"] = "auto"
) -> KernelContrastive:
    """Spectral contrastive loss of Esser et al. (2024), definition 2: ``-2 z_i z_i^+ + (z_i z_i^-)^2 + reg ||W||^2``.

    Parameters
    ----------
    n_components : int, default=2
    kernel : Kernel, default=None
        None: ``Gaussian(1.0)``.
    reg : float or "auto", default="auto"
        ``lambda``; below a threshold the loss has no minimum, and ``"auto"`` stays above.

    Returns
    -------
    KernelContrastive
        Not fitted; ``fit(X, positives=, negatives=)`` takes arrays (n, d).

    References
    ----------
    Esser, Fleissner and Ghoshdastidar (2024), definition 2, theorem 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs.presets import krl_2024_spectral
    >>> model = krl_2024_spectral(2).fit(load_iris().data)
    >>> model.loss, model.codes_.shape
    ('spectral', (150, 2))
    """
    return KernelContrastive(
        n_components, kernel=kernel or Gaussian(1.0), loss="spectral", negatives="permutation", reg=reg
    )


@_marks(["n_components", "constraint", "loss", "operators", *_PLAIN])
def krl_2024_autoencoder(n_components: int = 2, kernel: Kernel | None = None, reg: float = 1e-3) -> KernelAutoencoder:
    """Autoencoder with codes on the sphere of Esser et al. (2024), definition 3, the same kernel in both layers.

    ``sum ||x_i - f_2(z_i)||^2 + lambda (||f_1||^2 + ||f_2||^2)`` with ``||z_i|| = 1`` and ``lambda = n reg``.

    Parameters
    ----------
    n_components : int, default=2
    kernel : Kernel, default=None
        None: ``Gaussian(1.0)``.
    reg : float, default=1e-3

    Returns
    -------
    KernelAutoencoder
        Not fitted; ``fit`` takes vectors (n, d).

    References
    ----------
    Esser, Fleissner and Ghoshdastidar (2024), definition 3, theorem 5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from rkhs.presets import krl_2024_autoencoder
    >>> model = krl_2024_autoencoder(2).fit(load_iris().data)
    >>> bool(np.allclose(np.linalg.norm(model.codes_, axis=1), 1.0))
    True
    """
    kernel = kernel or Gaussian(1.0)
    return KernelAutoencoder(n_components, kernel=kernel, decoder_kernel=kernel, constraint="sphere", reg=reg, **_PLAIN)


@_marks(["constraint", "noise", "loss", *_PLAIN])
def krl_2024_denoising(
    n_components: int = 10, kernel: Kernel | None = None, reg: float = 1e-3, *, std: float = 0.1**0.5, copies: int = 1
) -> KernelAutoencoder:
    """Autoencoder of figure 3 of Esser et al. (2024): noisy inputs ``x + N(0, std^2)`` and clean targets.

    Parameters
    ----------
    n_components : int, default=10
    kernel : Kernel, default=None
        None: ``Gaussian(1.0)``.
    reg : float, default=1e-3
    std : float, default=0.1 ** 0.5
        "N(0, 0.1)" is read as a variance.
    copies : int, default=1
        Noisy copies of each row.

    Returns
    -------
    KernelAutoencoder
        Not fitted; ``fit`` takes clean vectors (n, d).

    References
    ----------
    Esser, Fleissner and Ghoshdastidar (2024), remark 2, figure 3.

    Examples
    --------
    >>> from rkhs.presets import krl_2024_denoising
    >>> krl_2024_denoising(std=0.5, copies=3).noise
    GaussianNoise(copies=3, relative=False, std=0.5)
    """
    noise = GaussianNoise(std, relative=False, copies=copies)
    return krl_2024_autoencoder(n_components, kernel, reg).set_params(noise=noise)


@_marks(["loss", "center"], ["kernel", "kernel__gamma"])
def dual_2020_regression(loss: Loss | None = None, reg: float = 1e-4) -> OperatorKernelRegressor:
    """Model of the yeast data of Laforgue et al. (2020), section 4.1: ``1/n sum loss(h(x_i) - y_i) + reg/2 ||h||^2``.

    Parameters
    ----------
    loss : Loss, default=None
        None: ``SquaredEpsilonInsensitive(0.6)``.
    reg : float, default=1e-4
        ``Lambda``.

    Returns
    -------
    OperatorKernelRegressor
        Not fitted; ``fit`` takes inputs (n, d) and labels (n, q).

    References
    ----------
    Laforgue, Lambert, Brogat-Motte and d'Alché-Buc (2020), section 4.1; the kernel is that of the authors' script.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from rkhs.presets import dual_2020_regression
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = dual_2020_regression(reg=1e-2).fit(X / X.max(0), Y)
    >>> model.predict(X[:2] / X.max(0)).shape
    (2, 3)
    """
    return OperatorKernelRegressor(Gaussian(1.0), loss=loss or SquaredEpsilonInsensitive(0.6), reg=reg, center=False)


@_marks(["kernel", "output_kernel", "loss", "reg", "center"])
def dual_2020_metabolites(loss: Loss | None = None, reg: float = 1e-6) -> InputOutputKernelRegressor:
    """Model of table 1 of Laforgue et al. (2020): ``1/n sum loss(h(x_i) - phi(y_i)) + reg/2 ||h||^2``.

    Parameters
    ----------
    loss : Loss, default=None
        None: ``Huber(0.5)``.
    reg : float, default=1e-6
        The paper has 1e-6 and 1e-4.

    Returns
    -------
    InputOutputKernelRegressor
        Not fitted; ``fit`` takes Gram matrices (n, n) of spectra and of molecules. The latter is
        ``GaussianOf(Tanimoto(), 0.72)`` of fingerprints.

    References
    ----------
    Laforgue, Lambert, Brogat-Motte and d'Alché-Buc (2020), section 4.1.

    Examples
    --------
    >>> from rkhs.losses import SquaredEpsilonInsensitive
    >>> from rkhs.presets import dual_2020_metabolites
    >>> model = dual_2020_metabolites(SquaredEpsilonInsensitive(0.1))
    >>> model.kernel, model.output_kernel, model.loss
    ('precomputed', 'precomputed', SquaredEpsilonInsensitive())
    """
    return InputOutputKernelRegressor(
        "precomputed", output_kernel="precomputed", loss=loss or Huber(0.5), reg=reg, center=False
    )


@_marks(["loss", *_PLAIN])
def dual_2020_autoencoder(epsilon: float = 0.4, n_components: int = 10, reg: float = 1e-5) -> KernelAutoencoder:
    """Robust autoencoder of figure 7 of Laforgue et al. (2020): squared excess over ``epsilon`` in the feature space.

    ``1/2n sum max(||phi(x_i) - f_2(f_1(x_i))|| - epsilon, 0)^2 + reg/2 (||f_1||^2 + ||f_2||^2)``.

    Parameters
    ----------
    epsilon : float, default=0.4
    n_components : int, default=10
    reg : float, default=1e-5

    Returns
    -------
    KernelAutoencoder
        Not fitted; ``fit`` takes a Gram matrix (n, n).

    References
    ----------
    Laforgue, Lambert, Brogat-Motte and d'Alché-Buc (2020), (11).

    Examples
    --------
    >>> from rkhs.presets import dual_2020_autoencoder
    >>> dual_2020_autoencoder(epsilon=0.2).loss
    SquaredEpsilonInsensitive(epsilon=0.2)
    """
    loss = SquaredEpsilonInsensitive(epsilon)
    return KernelAutoencoder(
        n_components, kernel="precomputed", decoder_kernel=Gaussian(1.0), loss=loss, reg=reg, **_PLAIN
    )


@_marks(["loss", "center"], ["kernel", "kernel__gamma", "kernel__rule", "basis", "n_basis"])
def dual_2020_lip(
    n_basis: int = 5, kappa: float = 1.0, reg: float = 1e-3, *, text: bool = False
) -> FunctionalKernelRegressor:
    """Model of figure 8 of Laforgue et al. (2020): ``1/n sum huber(h(x_i) - y_i) + reg/2 ||h||^2`` on curves.

    Parameters
    ----------
    n_basis : int, default=5
        The authors' script has 4, 5, 6, 7 and 15.
    kappa : float, default=1.0
    reg : float, default=1e-3
    text : bool, default=False
        The kernel and the orthonormal basis of the text, in place of those of the authors' script, which made the
        figure: ``exp(-7 |x(t) - x'(t)|)``, the mean over the grid, and pairs of cosine and sine.

    Returns
    -------
    FunctionalKernelRegressor
        Not fitted; ``fit`` takes curves (n, T) twice.

    References
    ----------
    Laforgue, Lambert, Brogat-Motte and d'Alché-Buc (2020), section 4.3.

    Examples
    --------
    >>> from rkhs.presets import dual_2020_lip
    >>> model = dual_2020_lip(n_basis=3)
    >>> model.n_basis, model.loss
    (3, Huber())
    """
    kernel = FunctionalLaplacian(1.0) if text else FunctionalLaplacian(7.0, None, "mean")
    basis: Literal["fourier", "cosine_sine"] = "fourier" if text else "cosine_sine"
    return FunctionalKernelRegressor(
        kernel, basis=basis, n_basis=n_basis, loss=Huber(kappa), reg=reg, center=False, trim=None
    )
