"""The generalisation bound of a fitted model, with all constants read from the model."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import torch

from rkhs._core.arrays import as_tensor
from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs.constraints import Sphere, as_constraint
from rkhs.kernels import Kernel, Linear, Radial, Scaled, Sum
from rkhs.metrics.bounds import Bound, autoencoder_terms, check_delta, stability_constants


class Bounded(Protocol):
    """Attributes of a fitted estimator that a bound reads."""

    model_: Any
    reg_: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters."""


def bound(
    model: Bounded,
    *,
    delta: float = 0.05,
    C0: float = 1.0,
    kernel_bound: float | None = None,
    output_bound: float | None = None,
) -> Bound:
    """Bound of the expected loss of a fitted model, term by term, in the units of the fit.

    Two layers: ``C0 L M s t sqrt(p K / n) + 16 sqrt(pi) M t sqrt(d k_2(0, 0) / n) + 24 M^2 sqrt(ln(2 / delta) / 2n)``
    above the best pair of layers of norms ``s = ||f_1||`` and ``t = ||f_2||``, for ``p`` components, ``d`` columns and
    ``L = sqrt(d)`` times the Lipschitz constant of the features of ``k_2``. With codes on a sphere: ``n (reg_1 s^2 +
    reg_2 t^2)``, ``t sqrt(d gamma / n)`` and ``sqrt(ln(1 / delta) / n)``, each up to an unknown constant, with
    ``gamma`` the largest ``k_2(z, z)``. Regressors: ``2 beta + (4 n beta + M) sqrt(ln(1 / delta) / (2 n))`` above the
    training loss, of :func:`stability_constants`.

    Parameters
    ----------
    model : KernelAutoencoder, or a regressor with certificates
        Fitted with equal sample weights; ``reg`` counts as a number that was known before. The theorems are for
        ``center=False`` and ``scale=False``: they do not cover a mean and a scale that depend on the data.
    delta : float, default=0.05
        Probability of failure.
    C0 : float, default=1.0
        Universal constant without a published value: the first term of an autoencoder is known up to it.
    kernel_bound : float, optional
        ``K``, the supremum of ``k_1(x, x)``; of a regressor that of the operator norm. Default: the largest value on
        the training items, exact for kernels with a constant diagonal.
    output_bound : float, optional
        ``M``, at least the norm of all targets and reconstructions. Default: their largest one in training.

    Returns
    -------
    Bound
        Terms ``complexity``, ``origin`` and ``deviation``; ``penalty``, ``complexity`` and ``deviation``; or
        ``stability`` and ``deviation``. None is tight: they compare settings and numbers of samples.

    Raises
    ------
    InputError
        Where no theorem applies: several hidden layers, free linear parts, features that are rebuilt (an identity on
        a space of infinite dimension has no trace), other losses, targets, noise, operators, weights or landmarks, a
        decoder kernel without a Lipschitz constant, and regressors without certificates.

    Notes
    -----
    O(n^2 (d + p)). The bound of the sphere is unreliable as printed: it does not see the encoder, and cannot hold as
    ``reg`` falls to zero (``docs/papers/representation_learning.md``).

    References
    ----------
    Laforgue et al. (2019), theorem 5, corrected: ``docs/papers/kernel_autoencoders.md``; Esser et al. (2024), theorem
    7; Laforgue et al. (2020), theorems 8 to 10.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder
    >>> from rkhs.kernels import Gaussian
    >>> from rkhs.metrics import bound
    >>> model = KernelAutoencoder(kernel="gaussian", decoder_kernel=Gaussian(1.0)).fit(load_iris().data)
    >>> sorted(bound(model).terms)
    ['complexity', 'deviation', 'origin']
    """
    machine: Any = getattr(model, "model_", None)
    known = getattr(machine, "certificates", None)
    if known is not None and known.shares is not None:
        given: dict[str, Any] = {"kernel_bound": kernel_bound, "output_bound": output_bound}
        given = {name: getattr(known, name) if number is None else number for name, number in given.items()}
        return stability_constants(machine.loss, len(known.shares), model.reg_, **given).bound(delta)
    if not (hasattr(machine, "layers") and hasattr(machine, "rebuilt")):
        raise InputError(
            f"model must be a fitted KernelAutoencoder, or a regressor that has certificates; got {model!r}"
        )
    asked = model.get_params(deep=False)
    _check_theorem(machine, asked)
    X = machine.map.support(torch.empty(0, dtype=torch.float64))
    K, (layer,) = machine.kernel._gram(X), machine.layers
    Z, d, n = as_tensor(layer.anchors).double(), machine.rebuilt.columns, len(machine.codes)
    s, t = _norm(K, machine.encoder.coefficients), _norm(layer.kernel._gram(Z), layer.coefficients)
    if asked["constraint"] != "none":
        terms = {
            "penalty": n * (model.reg_[0] * s * s + model.reg_[1] * t * t),
            "complexity": t * math.sqrt(d * float(layer.kernel._diag(Z).max()) / n),
            "deviation": math.sqrt(math.log(1.0 / check_delta(delta)) / n),
        }
        return Bound(terms, exact=False)
    rows = torch.cat([machine.rebuilt.output.encode(X), layer.of(Z)])
    M = _given(output_bound, "output_bound", torch.linalg.vector_norm(rows, dim=1))
    trace = Z.shape[1] * _given(kernel_bound, "kernel_bound", K.diagonal())
    L = math.sqrt(d * _squared_slope(layer.kernel))
    if not math.isfinite(L):
        raise InputError(
            "the bound needs a decoder_kernel whose features have a Lipschitz constant, such as Gaussian(1.0) or "
            f"Matern(1.5, 1.0); got {layer.kernel!r}"
        )
    origin = d * float(layer.kernel._diag(torch.zeros_like(Z[:1])))
    return autoencoder_terms(n, M, (s, t), trace, L, origin, C0=C0, delta=delta)


def _check_theorem(machine: Any, asked: dict[str, Any]) -> None:
    """Refuse autoencoders that the theorems do not cover."""
    given = asked.get("constraint")
    holds = {
        "one hidden layer": len(machine.layers) == 1,
        "linear_part='kernel', since a free one has no norm": machine.linear is None and machine.last.linear is None,
        "rows that are rebuilt, since the identity on features has no trace": machine.rebuilt.vectors,
        "no targets and no noise": machine.rebuilt.self_targets and asked.get("noise") is None,
        "the squared loss": machine.is_squared,
        "storage='dense'": machine.map.whole,
        "no operators": asked.get("operators") is None,
        "equal weights": machine.row_weights is None,
        "constraint 'none' or 'sphere'": given == "none" or isinstance(as_constraint(given), Sphere),
    }
    lacking = [name for name, there in holds.items() if not there]
    if lacking:
        raise InputError(f"the bound of an autoencoder needs {'; '.join(lacking)}; got other settings, {asked}")


def _given(number: float | None, name: str, values: torch.Tensor) -> float:
    """Check a number that was given, else take the largest of these values."""
    return float(values.max()) if number is None else check_number(number, name, at_least=0.0)


def _norm(K: torch.Tensor, coefficients: np.ndarray) -> float:
    """``||f||`` of ``f = sum_i k(., x_i) c_i``."""
    C = as_tensor(coefficients).to(K)
    return float((C * (K @ C)).sum().clamp_min(0.0).sqrt())


def _squared_slope(kernel: Kernel) -> float:
    """Squared Lipschitz constant of the features, ``||phi(z) - phi(z')||^2 / ||z - z'||^2``; infinite if unknown."""
    if isinstance(kernel, Sum):
        return math.fsum(map(_squared_slope, kernel.parts))
    if isinstance(kernel, Scaled):
        return kernel.scale * _squared_slope(kernel.base)
    if isinstance(kernel, Linear):
        return float(kernel.scale)
    radial = kernel.radial
    slope = float(radial._slope(torch.zeros(1, 1, dtype=torch.float64))) if isinstance(radial, Radial) else 0.0
    return -2.0 * slope or math.inf  # k(z, z') falls by L^2 |z - z'|^2 / 2; zero stands for an infinite slope
