"""Every public loss, checked by definitions: slope, conjugate, prox, Fenchel-Young equality, Moreau."""

import inspect
import math

import numpy as np
import pytest
import torch
from sklearn.base import clone

import rkhs.losses as losses
from rkhs._core.errors import InputError
from rkhs.losses import Ball, InfimalConvolution, MaximumMargin, Norm, Power, Squared, as_loss

N, Q = 12, 3
TARGETS = np.random.default_rng(5).normal(size=(N, Q))

EXAMPLES = {
    "Ball": [Ball(0.7)],
    "EpsilonInsensitive": [losses.EpsilonInsensitive(0.6), losses.EpsilonInsensitive(0.0)],
    "Huber": [losses.Huber(0.8)],
    "InfimalConvolution": [
        InfimalConvolution(Norm(1.3), Power(3.0)),
        InfimalConvolution(Power(2.5, 0.7), Ball(0.4)),
        InfimalConvolution(Power(1.5), Squared()),
    ],
    "MaximumMargin": [MaximumMargin(TARGETS), MaximumMargin(0.3 * TARGETS)],
    "Norm": [Norm(1.4)],
    "Power": [Power(1.5), Power(3.0, 0.6), Power(2.0, 2.0)],
    "Squared": [Squared()],
    "SquaredEpsilonInsensitive": [losses.SquaredEpsilonInsensitive(0.6)],
}
CASES = [pytest.param(loss, id=f"{name}-{i}") for name, many in EXAMPLES.items() for i, loss in enumerate(many)]


def rows(seed, scale=1.5):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(N, Q)) * scale)


def test_every_public_loss_has_an_example():
    public = {name: getattr(losses, name) for name in losses.__all__ if inspect.isclass(getattr(losses, name))}
    assert {name for name, cls in public.items() if not _is_abstract(cls)} == set(EXAMPLES)


def _is_abstract(cls):
    return any(getattr(getattr(cls, name), "__isabstractmethod__", False) for name in dir(cls))


@pytest.mark.parametrize("loss", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_has_taylor_slope_two(loss, seed):
    if isinstance(loss, Ball):
        pytest.skip("an indicator has no slope")
    R, V = rows(seed), rows(seed + 10, 1.0)
    G = loss.gradient(R)
    errors = []
    for t in (1e-4, 1e-5):
        remainder = (loss.value(R + t * V) - loss.value(R) - t * (G * V).sum(-1)).abs()
        errors.append(remainder)
    # Slope two: ten times closer is a hundred times better, or already at rounding (piecewise linear).
    assert bool(((errors[1] <= 0.02 * errors[0]) | (errors[1] < 1e-12)).all())


@pytest.mark.parametrize("loss", CASES)
def test_fenchel_young_holds_with_equality_at_the_gradient(loss):
    R = rows(2)
    if isinstance(loss, Ball):
        R = 0.69 * R / torch.linalg.vector_norm(R, dim=-1, keepdim=True)
    A = loss.gradient(R)
    torch.testing.assert_close(loss.value(R) + loss.conjugate(A), (A * R).sum(-1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", CASES)
def test_conjugate_is_the_supremum(loss):
    inner = rows(3)
    A = loss.prox_conjugate(rows(4), 0.7)  # a point of the domain
    conjugate = loss.conjugate(A)
    assert bool(torch.isfinite(conjugate).all())
    assert bool(((A * inner).sum(-1) - loss.value(inner) <= conjugate + 1e-10).all())
    for i in range(0, N, 3):
        best = _supremum(loss, A, i)
        assert abs(best - float(conjugate[i])) <= 1e-9 * (1 + abs(best))


def _supremum(loss, A, i):
    """Search lines through the origin: the direction of the row, its target (margin losses), and a random one."""
    best = -math.inf
    for direction in (A[i], torch.from_numpy(TARGETS[i]), rows(33)[i]):
        unit = direction / torch.linalg.vector_norm(direction).clamp_min(1e-12)
        center, width = 0.0, 40.0
        for _ in range(5):
            t = torch.linspace(center - width, center + width, 4001, dtype=torch.float64)
            R = t[:, None] * unit
            margin = (
                MaximumMargin(torch.as_tensor(loss.targets)[i].expand(4001, Q))
                if isinstance(loss, MaximumMargin)
                else loss
            )
            values = R @ A[i] - margin.value(R)
            top = int(values.argmax())
            best, center, width = max(best, float(values[top])), float(t[top]), width / 1000
    return best


@pytest.mark.parametrize("loss", CASES)
def test_conjugate_is_infinite_outside_its_domain(loss):
    cap = getattr(loss, "largest_slope", 1.0)
    if math.isinf(cap):
        pytest.skip("the conjugate is finite everywhere")
    A = rows(6)
    A = (1.01 * cap) * A / torch.linalg.vector_norm(A, dim=-1, keepdim=True)
    assert bool(torch.isinf(loss.conjugate(A)).all())


@pytest.mark.parametrize("loss", CASES)
@pytest.mark.parametrize("step", [0.3, 2.0])
def test_prox_is_the_minimiser(loss, step):
    A = rows(7, 2.0)
    U = loss.prox_conjugate(A, step)

    def objective(V):
        return step * loss.conjugate(V) + 0.5 * ((V - A) ** 2).sum(-1)

    best = objective(U)
    assert bool(torch.isfinite(best).all())
    for seed in range(8):
        other = loss.prox_conjugate(U + 0.1 * rows(20 + seed), 1e-3)  # another point of the domain
        distance = ((other - U) ** 2).sum(-1)
        # the objective is 1-strongly convex: a minimiser is better by half of the squared distance
        assert bool((objective(other) >= best + 0.5 * distance - 1e-10).all())


@pytest.mark.parametrize("loss", CASES)
@pytest.mark.parametrize("step", [0.3, 2.0])
def test_moreau(loss, step):
    """``a = prox_{step f*}(a) + step p`` with ``p = prox_{f/step}(a/step)``: ``p`` must be in the subdifferential."""
    A = rows(8, 2.0)
    U = loss.prox_conjugate(A, step)
    P = (A - U) / step
    torch.testing.assert_close(loss.value(P) + loss.conjugate(U), (U * P).sum(-1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", CASES)
def test_float32_and_zero_rows(loss):
    R = rows(9).to(torch.float32)
    R[0] = 0.0
    inside = 0.1 * R if isinstance(loss, Ball) else R
    for out in (loss.gradient(inside), loss.prox_conjugate(R, 0.5)):
        assert out.dtype == torch.float32
        assert bool(torch.isfinite(out).all())
    assert loss.value(R).dtype == torch.float32
    double = loss.prox_conjugate(R.to(torch.float64), 0.5)
    torch.testing.assert_close(loss.prox_conjugate(R, 0.5).to(torch.float64), double, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", CASES)
def test_clone_keeps_the_loss(loss):
    assert clone(loss) == loss


def test_convolutions_that_have_names():
    R = rows(11)
    for left, right in [
        (InfimalConvolution(Norm(0.8), Squared()), losses.Huber(0.8)),
        (InfimalConvolution(Norm(), Ball(0.6)), losses.EpsilonInsensitive(0.6)),
        (InfimalConvolution(Ball(0.6), Squared()), losses.SquaredEpsilonInsensitive(0.6)),
        (Power(2.0), Squared()),
    ]:
        torch.testing.assert_close(left.value(R), right.value(R))
        torch.testing.assert_close(left.prox_conjugate(R, 0.4), right.prox_conjugate(R, 0.4))


def test_names_and_errors():
    assert as_loss("epsilon_insensitive") == losses.EpsilonInsensitive("auto")
    assert as_loss(losses.Huber(2.0)).kappa == 2.0
    for bad in ("hinge", None, 3):
        with pytest.raises(InputError, match="must be one of 'squared'"):
            as_loss(bad)
    for bad_loss, match in [
        (losses.Huber(0.0), "Huber.kappa must be > 0; got 0.0"),
        (losses.EpsilonInsensitive(-1.0), "EpsilonInsensitive.epsilon must be >= 0; got -1.0"),
        (Power(1.0), "Power.eta must be > 1; got 1.0"),
        (InfimalConvolution(Norm(), MaximumMargin()), "InfimalConvolution.second must be a loss of the norm"),
        (MaximumMargin(), "MaximumMargin.targets must be given"),
        (MaximumMargin([[1.0]]), "must have the shape"),
    ]:
        with pytest.raises(InputError, match=match):
            bad_loss.value(rows(0))
