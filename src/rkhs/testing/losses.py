"""What every loss guarantees: four closed forms, each checked by its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.losses import Loss
from rkhs.testing.base import close, keep, parameters_are_the_object, require


def check_loss(loss: Loss, *, n: int = 12, outputs: int = 3) -> tuple[str, ...]:
    """Check that a loss is convex and that gradient, conjugate and proximal map are those of its value.

    Parameters
    ----------
    loss : Loss
        With numbers for its parameters.
    n : int, default=12
        Rows of the residuals that are tried.
    outputs : int, default=3
        Their columns.

    Returns
    -------
    tuple of str
        The guarantees that were checked, in words.

    Raises
    ------
    BrokenPromise
        Naming the first guarantee that is broken, and by how much.
    InputError
        For anything but a loss, and one whose parameters are not numbers yet.

    References
    ----------
    Laforgue et al. (2020), section 3; Bauschke and Combettes (2017), theorem 14.3 (Moreau) and proposition 16.10
    (Fenchel-Young).

    Examples
    --------
    >>> from rkhs.losses import Huber
    >>> from rkhs.testing import check_loss
    >>> len(check_loss(Huber(0.8)))
    9
    """
    if not isinstance(loss, Loss):
        raise InputError(f"loss must be an instance of rkhs.losses.Loss; got a {type(loss).__name__}")
    if loss.automatic:
        raise InputError(f"loss must have numbers for its parameters; got {loss!r}. Call loss.resolve(size) first")

    def rows(seed: int, scale: float = 1.5) -> Tensor:
        return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, outputs)) * scale)

    checks: tuple[Callable[..., None], ...] = (
        parameters_are_the_object,
        _values_are_row_by_row_and_convex,
        _gradient_is_that_of_the_value,
        _fenchel_young_holds_with_equality,
        _proximal_map_is_the_minimiser,
        _moreau_holds,
        _single_precision_agrees,
        *((_rotations_change_nothing,) if loss.isotropic else ()),
        *((_majorizer_lies_above_and_touches,) if loss.majorized else ()),
    )
    return keep(loss, dict.fromkeys(checks, (loss, rows)))


def _inside(loss: Loss, R: Tensor) -> Tensor:
    """The residuals, drawn towards zero until their losses are finite: an indicator is finite on its set only."""
    for _ in range(60):
        outside = ~torch.isfinite(loss.value(R))
        if not bool(outside.any()):
            return R
        R = torch.where(outside[:, None], 0.8 * R, R)
    return R


def _values_are_row_by_row_and_convex(loss: Loss, rows: Any) -> None:
    A, B = _inside(loss, rows(0)), _inside(loss, rows(1))
    first, second, middle = loss.value(A), loss.value(B), loss.value(0.5 * (A + B))
    require(first.shape == (len(A),), f"value(R) must have shape ({len(A)},), one per row; got {tuple(first.shape)}")
    excess = float((middle - 0.5 * (first + second)).max())
    require(excess <= 1e-10 * float(1 + first.abs().max()), f"value is not convex: a midpoint is {excess:.1e} too high")


def _gradient_is_that_of_the_value(loss: Loss, rows: Any) -> None:
    """A subgradient lies below the loss everywhere; where the loss is smooth it has a Taylor slope of two."""
    R, other = _inside(loss, rows(2)), _inside(loss, rows(3))
    G = loss.gradient(R)
    require(G.shape == R.shape, f"gradient(R) must have the shape {tuple(R.shape)} of R; got {tuple(G.shape)}")
    gap = float((loss.value(R) + (G * (other - R)).sum(-1) - loss.value(other)).max())
    require(gap <= 1e-10 * float(1 + G.abs().max()), f"gradient is no subgradient: its plane is {gap:.1e} too high")
    V = rows(4, 1.0)
    far, near = (loss.value(R + t * V) - loss.value(R) - t * (G * V).sum(-1) for t in (1e-4, 1e-5))
    smooth = torch.isfinite(far) & torch.isfinite(near)
    falls = (near.abs() <= 0.02 * far.abs()) | (near.abs() < 1e-12)
    require(bool(falls[smooth].all()), "gradient is no gradient: remainders do not fall with the square of the step")


def _fenchel_young_holds_with_equality(loss: Loss, rows: Any) -> None:
    R = _inside(loss, rows(5))
    A = loss.gradient(R)
    inner = (A * R).sum(-1)
    close(loss.value(R) + loss.conjugate(A), inner, 1e-9, "value(R) + conjugate(gradient(R)) and <gradient(R), R>")
    others = _inside(loss, rows(6))
    gap = float(((A * others).sum(-1) - loss.value(others) - loss.conjugate(A)).max())
    require(gap <= 1e-9 * float(1 + inner.abs().max()), f"conjugate is {gap:.1e} below what it bounds")


def _proximal_map_is_the_minimiser(loss: Loss, rows: Any) -> None:
    A = rows(7, 2.0)
    for step in (0.3, 2.0):
        U = loss.prox_conjugate(A, step)

        def objective(V: Tensor, step: float = step) -> Tensor:
            return step * loss.conjugate(V) + 0.5 * ((V - A) ** 2).sum(-1)

        best = objective(U)
        require(bool(torch.isfinite(best).all()), "prox_conjugate must return points where the conjugate is finite")
        for seed in range(8):
            other = loss.prox_conjugate(U + 0.1 * rows(20 + seed), 1e-3)
            better = best + 0.5 * ((other - U) ** 2).sum(-1) - objective(other)
            require(
                float(better.max()) <= 1e-9 * float(1 + best.abs().max()),
                f"prox_conjugate(A, {step:g}) is no minimiser: another point is {float(better.max()):.1e} lower",
            )


def _moreau_holds(loss: Loss, rows: Any) -> None:
    A = rows(8, 2.0)
    for step in (0.3, 2.0):
        U = loss.prox_conjugate(A, step)
        P = (A - U) / step
        close(
            loss.value(P) + loss.conjugate(U),
            (U * P).sum(-1),
            1e-8,
            f"value and conjugate at the two parts of A for step {step:g} (Moreau's identity)",
        )


def _rotations_change_nothing(loss: Loss, rows: Any) -> None:
    R, Y = _inside(loss, rows(13)), rows(14)
    Q = torch.linalg.qr(rows(15)[: R.shape[1]])[0]
    before, after = loss.bind(Y).value(R), loss.bind(Y @ Q).value(R @ Q)
    off = float((before - after).abs().max())
    require(
        off <= 1e-10 * float(1 + before.abs().max()),
        f"isotropic is True, and a rotation of residuals and targets changes the value by {off:.1e}; let it be False",
    )


def _majorizer_lies_above_and_touches(loss: Loss, rows: Any) -> None:
    R, zero = rows(10), torch.zeros(len(rows(10)), dtype=torch.float64)
    for part in (zero, rows(11)[:, 0].abs()):
        weights, centres = loss.majorizer(R, part)
        require(weights.shape == part.shape, f"majorizer must give one weight per row; got {tuple(weights.shape)}")
        require(bool((weights >= 0.0).all()), "majorizer must give weights that are not negative")
        surrogate = loss.value(torch.cat([R, part.sqrt()[:, None]], 1))
        for seed in range(12, 24):
            other = R + rows(seed, 0.3)
            rise = 0.5 * weights * (((other - centres) ** 2).sum(1) - ((R - centres) ** 2).sum(1))
            above = float((loss.value(torch.cat([other, part.sqrt()[:, None]], 1)) - surrogate - rise).max())
            size = 1e-9 * float(1 + surrogate.abs().max())
            require(above <= size, f"majorizer is no bound: the loss is {above:.1e} above it")


def _single_precision_agrees(loss: Loss, rows: Any) -> None:
    R = rows(9).to(torch.float32)
    R[0] = 0.0
    inside = _inside(loss, 0.1 * R)
    for name, out in (("gradient", loss.gradient(inside)), ("prox_conjugate", loss.prox_conjugate(R, 0.5))):
        require(out.dtype == torch.float32, f"{name} of float32 must be float32; got {out.dtype}")
        require(bool(torch.isfinite(out).all()), f"{name} must be finite, also for a row of zeros")
    require(loss.value(inside).dtype == torch.float32, "value of float32 must be float32")
    double = loss.prox_conjugate(R.to(torch.float64), 0.5)
    close(loss.prox_conjugate(R, 0.5), double.to(torch.float32), 1e-4, "prox_conjugate in single and double precision")
