"""What fitting a kernel autoencoder is made of: settings, outputs, starts, solvers, canonical codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import Tensor

from rkhs._core.checks import check_choice, check_count, check_number, check_operator
from rkhs._core.errors import InputError
from rkhs._core.linalg import factorize, fix_signs
from rkhs.kernels.base import Kernel
from rkhs.kernels.dot_product import Linear
from rkhs.kernels.registry import as_kernel
from rkhs.kernels.stationary import Gaussian, Matern
from rkhs.outputs import RKHS, Euclidean, OutputSpace
from rkhs.problems.autoencoder import Autoencoder, Decoder
from rkhs.problems.start import kernel_pca_scores, layered_start
from rkhs.protocols import Monitor, Solution
from rkhs.solvers.lbfgs import LBFGS

__all__ = ["Fitted", "Settings", "default_kernel", "fit_outputs", "read_settings", "solve_autoencoder"]


def default_kernel() -> Kernel:
    """``Gaussian("median") + Linear("mean_norm", "mean")``: measured best on tables and images among 12 encoders."""
    return Gaussian("median") + Linear("mean_norm", "mean")


def default_decoder_kernel() -> Kernel:
    """``Matern(1.5, 2**-0.5) + 0.1 Linear()`` at the scale of the codes."""
    return Matern(1.5, 2**-0.5) + 0.1 * Linear()


@dataclass(frozen=True)
class Settings:
    """Checked parameters of an autoencoder.

    Parameters
    ----------
    widths : tuple of int
        Dimensions of the hidden codes.
    decoder_kernels : tuple of Kernel
        Kernels of the layers 2..L.
    output_kernel : Kernel or None
        Kernel whose features are rebuilt; None: vectors.
    features : bool
        Whether features are rebuilt.
    reg : tuple of float
        One a layer.
    operators : tuple of array or None
        One a layer.
    """

    widths: tuple[int, ...]
    decoder_kernels: tuple[Kernel, ...]
    output_kernel: Kernel | None
    features: bool
    reg: tuple[float, ...]
    operators: tuple[np.ndarray | None, ...]

    def check_rows(self, n: int, q: int | None) -> None:
        """Check what depends on the data: rows against components, outputs against the last operator."""
        if n < 2:
            raise InputError(f"X must have at least 2 rows of positive weight; got n_samples={n}")
        A = self.operators[-1]
        if A is not None and q is not None:
            check_operator(A, f"operators[{len(self.operators) - 1}]", q)


def read_settings(estimator: Any, kernel: Kernel) -> Settings:
    """Check the parameters of a :class:`KernelAutoencoder` before its data are touched."""
    given = estimator.n_components
    widths = tuple(given) if isinstance(given, (tuple, list, np.ndarray)) else (given,)
    if not widths:
        raise InputError("n_components must be an integer >= 1 or a tuple of such; got an empty one")
    widths = tuple(check_count(p, "n_components") for p in widths)
    layers = len(widths) + 1
    check_choice(estimator.init, "init", ("kpca", "random"))
    check_choice(estimator.psd, "psd", ("clip", "raise"))
    check_choice(estimator.solver, "solver", ("lbfgs", "adam", "gradient_descent", "alternating"))
    check_count(estimator.n_init, "n_init")
    check_count(estimator.max_iter, "max_iter")
    check_number(estimator.tol, "tol", at_least=0.0)
    output_kernel = _output_kernel(estimator.output_kernel, kernel)
    features = output_kernel is not None
    return Settings(
        widths,
        _decoder_kernels(estimator.decoder_kernel, layers),
        output_kernel,
        features,
        _read_reg(estimator.reg, layers, widths, features),
        _read_operators(estimator.operators, layers, widths, features),
    )


def _output_kernel(given: Any, kernel: Kernel) -> Kernel | None:
    if given is None:
        return None if kernel.domain == "vectors" else kernel
    return kernel if isinstance(given, str) and given == "same" else as_kernel(given)


def _decoder_kernels(given: Any, layers: int) -> tuple[Kernel, ...]:
    many = tuple(given) if isinstance(given, (tuple, list)) else (given,) * (layers - 1)
    if len(many) != layers - 1:
        raise InputError(
            f"decoder_kernel must be one kernel or {layers - 1}, one for each of the layers 2..{layers}; got {len(many)}"
        )
    kernels = []
    for one in many:
        kernel = default_decoder_kernel() if isinstance(one, str) and one == "auto" else as_kernel(one)
        if kernel.domain != "vectors" or not kernel.differentiable:
            raise InputError(f"decoder_kernel must be a differentiable kernel on vectors; got {kernel!r}")
        probe = torch.zeros(2, 1, dtype=torch.float64)
        if kernel.resolve(probe) is not kernel:
            raise InputError(
                f"decoder_kernel must have numbers for its bandwidths, since codes have no scale before fit; got {kernel!r}"
            )
        kernels.append(kernel)
    return tuple(kernels)


def _read_reg(given: Any, layers: int, widths: tuple[int, ...], features: bool) -> tuple[float, ...]:
    if given is None:
        decoder = 1e-3 if features or min(widths) <= 2 else 1e-5
        return (1e-5 if features else 1e-2, *(1e-3,) * (layers - 2), decoder)
    many = tuple(given) if isinstance(given, (tuple, list, np.ndarray)) else (given,) * layers
    if len(many) != layers:
        raise InputError(f"reg must be one number or {layers}, one a layer, encoder first; got {len(many)}")
    values = [check_number(r, "reg", at_least=0.0) for r in many]
    if values[-1] == 0.0:
        raise InputError("reg of the last layer must be > 0: its system K + n reg I is singular at 0; try 1e-8")
    return tuple(values)


def _read_operators(given: Any, layers: int, widths: tuple[int, ...], features: bool) -> tuple[np.ndarray | None, ...]:
    if given is None:
        return (None,) * layers
    if not isinstance(given, (tuple, list)) or len(given) != layers:
        raise InputError(f"operators must be a sequence of {layers} matrices or None, one a layer; got {given!r}")
    if features and given[-1] is not None:
        raise InputError(
            "operators of the last layer must be None when features are rebuilt: the output space has no finite basis"
        )
    sizes = (*widths, None)
    checked = []
    for index, (A, size) in enumerate(zip(given, sizes, strict=True)):
        rows = len(A) if A is not None and size is None else size
        checked.append(None if A is None else check_operator(A, f"operators[{index}]", rows))
    return tuple(checked)


def fit_outputs(
    estimator: Any, settings: Settings, goal: Any, K: Tensor, weights: Tensor | None
) -> tuple[Kernel | None, OutputSpace, Tensor]:
    """Resolve the output kernel and put the targets in coordinates."""
    options = {"center": bool(estimator.center), "scale": bool(estimator.scale)}
    if settings.output_kernel is None:
        space, U = Euclidean.fit(goal, weights, **options)
        return None, space, U
    own = settings.output_kernel is estimator._input_kernel() or estimator._own_targets
    resolved = settings.output_kernel.resolve(goal, weights)
    shared = own and resolved == estimator.kernel_
    gram = K if shared else estimator._training_gram(resolved, goal)
    features, U = RKHS.fit(gram, weights, **options)
    return resolved, features, U


@dataclass(frozen=True)
class Fitted:
    """A solved autoencoder.

    Parameters
    ----------
    codes : list of Tensor
        Codes of the hidden layers, of the training items.
    encoder_coefs : list of Tensor
        ``Phi_l A_l`` of the layers 1..L-1, each (n, p_l).
    decoder : Decoder
    solution : Solution
    """

    codes: list[Tensor]
    encoder_coefs: list[Tensor]
    decoder: Decoder
    solution: Solution


def solve_autoencoder(
    estimator: Any,
    settings: Settings,
    K: Tensor,
    coordinates: Tensor,
    weights: Tensor | None,
    space: OutputSpace,
    previous: list[Tensor] | None,
) -> Fitted:
    """Solve from every start and keep the lowest objective."""
    operators = [None if A is None else torch.as_tensor(A, dtype=K.dtype, device=K.device) for A in settings.operators]
    if operators[-1] is not None and isinstance(space, Euclidean):
        operators[-1] = space.operator(operators[-1])
    scores = None
    if previous is None and estimator.init == "kpca":
        scores, _ = kernel_pca_scores(K, min(max(settings.widths), K.shape[0]), weights)
    factor = factorize(K)
    problem = Autoencoder(
        factor, coordinates, settings.decoder_kernels, settings.widths, settings.reg, tuple(operators), weights
    )
    rng = check_random_state(estimator.random_state)
    best: Solution | None = None
    for attempt in range(estimator.n_init):
        start = _start(problem, scores, previous, attempt, rng)
        monitor = Monitor(
            verbose=estimator.verbose, label=f"{type(estimator).__name__} start {attempt + 1}/{estimator.n_init}"
        )
        solution = LBFGS(estimator.max_iter, estimator.tol).solve(problem, start, monitor)
        if best is None or solution.value < best.value:
            best = solution
    assert best is not None
    return _finish(problem, best, settings)


def _start(
    problem: Autoencoder, scores: Tensor | None, previous: list[Tensor] | None, attempt: int, rng: Any
) -> Tensor:
    if attempt == 0 and previous is not None:
        parts = [problem.factor.solve(previous[0])]
        if len(previous) == 1:
            return problem.pack(parts)
    if attempt == 0 and scores is not None:
        missing = max(problem.widths) - scores.shape[1]
        padded = torch.cat([scores, scores.new_zeros(scores.shape[0], max(missing, 0))], 1)
        return layered_start(problem, padded)[0]
    noise = torch.as_tensor(rng.standard_normal((problem.factor.matrix.shape[1], max(problem.widths))))
    codes = problem.factor.matrix @ noise.to(problem.target)
    return layered_start(problem, codes, search=True)[0]


def _finish(problem: Autoencoder, solution: Solution, settings: Settings) -> Fitted:
    """Rotate the codes to principal axes where the model is invariant, and turn parameters into coefficients."""
    parts = [part.clone() for part in problem.unpack(solution.point)]
    codes = problem.codes(solution.point)
    for layer, Z in enumerate(codes):
        if problem.operators[layer] is not None or not settings.decoder_kernels[layer].rotation_invariant:
            continue
        Q = principal_axes(Z, problem.weights)
        parts[layer], codes[layer] = parts[layer] @ Q, Z @ Q
    root = problem._roots[0]
    coefs = [problem.factor.coefficients(parts[0] if root is None else parts[0] @ root)]
    coefs += [P if A is None else P @ A for P, A in zip(parts[1:], problem.operators[1:], strict=False)]
    return Fitted(codes, coefs, problem.decoder(codes[-1]), solution)


def principal_axes(Z: Tensor, weights: Tensor | None = None) -> Tensor:
    """Orthogonal matrix that turns codes to principal axes: variances descending, largest entry of a column positive."""
    w = Z.new_full((Z.shape[0],), 1.0 / Z.shape[0]) if weights is None else weights
    centred = Z - w @ Z
    _, vectors = torch.linalg.eigh(centred.mT @ (w[:, None] * centred))
    Q = vectors.flip(1)
    turned = Z @ Q
    return Q * torch.sign(_pivot_entries(fix_signs(turned), turned))


def _pivot_entries(fixed: Tensor, turned: Tensor) -> Tensor:
    """+1 or -1 a column: the flips that ``fix_signs`` made."""
    flips = (fixed * turned).sum(0)
    return torch.where(flips < 0.0, -torch.ones_like(flips), torch.ones_like(flips))
