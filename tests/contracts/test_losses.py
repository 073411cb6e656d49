"""Every public loss, checked by definitions: slope, conjugate, prox, Fenchel-Young equality, Moreau."""

import inspect
import math

import numpy as np
import pytest
import torch

import rkhs.losses as losses
from rkhs._core.errors import InputError
from rkhs.losses import Ball, InfimalConvolution, MaximumMargin, Norm, Power, Squared, as_loss
from rkhs.testing import check_loss

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
def test_every_loss_keeps_its_promises(loss):
    assert loss.isotropic  # what the library has may be computed in any coordinates
    assert len(check_loss(loss, n=N, outputs=Q)) == 8 + loss.majorized


@pytest.mark.sample(8)
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
        for _ in range(6):
            t = torch.linspace(center - width, center + width, 801, dtype=torch.float64)
            R = t[:, None] * unit
            margin = (
                MaximumMargin(torch.as_tensor(loss.targets)[i].expand(801, Q))
                if isinstance(loss, MaximumMargin)
                else loss
            )
            values = R @ A[i] - margin.value(R)
            top = int(values.argmax())
            best, center, width = max(best, float(values[top])), float(t[top]), width / 200
    return best


def largest_slope(loss):
    return getattr(loss, "largest_slope", 1.0)


# Of the others the conjugate is finite everywhere.
@pytest.mark.parametrize("loss", [case for case in CASES if math.isfinite(largest_slope(case.values[0]))])
def test_conjugate_is_infinite_outside_its_domain(loss):
    cap = largest_slope(loss)
    A = rows(6)
    A = (1.01 * cap) * A / torch.linalg.vector_norm(A, dim=-1, keepdim=True)
    assert bool(torch.isinf(loss.conjugate(A)).all())


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


@pytest.mark.parametrize("eta", [1.05, 1.5, 2.0, 3.0, 20.0])
def test_powers_shrink_to_the_root_of_their_equation(eta):
    a = torch.cat([torch.zeros(1, dtype=torch.float64), torch.logspace(-9, 9, 60, dtype=torch.float64)])
    s = Power(eta, 0.7).shrink(a, 0.3)
    torch.testing.assert_close(s + 0.3 * (s / 0.7) ** (1.0 / (eta - 1.0)), a, rtol=1e-13, atol=0.0)


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


@pytest.mark.parametrize(
    "bad", ["x", b"x", 10**400, {}, object(), [["a"]], [[1.0], [1.0, 2.0]], [[torch.nan] * 2], 3.0]
)
def test_targets_of_the_maximum_margin_are_numbers(bad: object) -> None:
    for method in ("value", "gradient", "conjugate"):
        with pytest.raises(InputError, match=r"MaximumMargin\.targets must"):
            getattr(MaximumMargin(bad), method)(torch.ones(1, 2))
