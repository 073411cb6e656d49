"""Abstention: the curve is the one that its formula says, and thresholds keep their guarantees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from rkhs.errors import InputError
from rkhs.evaluation import risk_coverage


def test_the_curve_is_the_mean_loss_of_the_surest() -> None:
    found = risk_coverage([0.1, 3.0, 2.0, 1.0], [4.0, 0.0, 1.0, 2.0])
    np.testing.assert_allclose(found.coverage, [0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(found.risk, [0.0, 0.5, 1.0, 1.75])
    assert found.area == pytest.approx(np.mean(found.risk))
    assert found.threshold is None
    assert found.answered is None


def test_rows_of_one_score_are_answered_together() -> None:
    found = risk_coverage([2, 1, 1, 1], [0, 1, 0, 0])
    np.testing.assert_allclose(found.coverage, [0.25, 1.0])
    np.testing.assert_allclose(found.risk, [0.0, 0.25])
    assert risk_coverage(np.ones(5), [1, 0, 0, 1, 1]).area == pytest.approx(0.6)
    tied = risk_coverage(np.repeat([2.0, 1.0], 60), np.repeat([0, 1], 60), 0.1)
    assert (tied.threshold, tied.answered) == (1.0, 0.5)


@pytest.mark.filterwarnings("ignore:the threshold is infinite")
def test_tenths_are_answered_up_to_the_first_whose_bound_is_too_high() -> None:
    losses = np.zeros(200)
    losses[[70, 90, 110, 130, 150, 155, 190]] = 1.0  # by falling score
    found = risk_coverage(-np.arange(200.0), losses, 0.06, confidence=0.9)
    # At the bound, so few mistakes or fewer have the chance 1 - confidence.
    fine = {k: binom.cdf(losses[:k].sum(), k, 0.06) <= 0.1 for k in range(40, 201, 20)}  # 20 are too few
    assert fine == {k: k != 160 for k in fine}
    assert found.answered == 140 / 200
    assert found.threshold == -140
    assert risk_coverage(-np.arange(200.0), np.zeros(200), 0.06).threshold == -np.inf
    # The surest are wrong: nothing is answered, although all together would do.
    few = np.arange(1000) < 20
    assert risk_coverage(-np.arange(1000.0), few, 0.06).answered == 0.0
    assert risk_coverage(np.arange(1000.0), few, 0.06).answered == 1.0
    assert risk_coverage(np.arange(50.0), np.ones(50), 0.5).answered == 0.0


def test_all_rows_are_the_denominator_of_the_other_promise() -> None:
    rng = np.random.default_rng(0)
    scores, losses = rng.normal(size=50), rng.uniform(size=50)
    found = risk_coverage(scores, losses, 0.2, of="all")
    limits = np.append(np.sort(scores), -np.inf)
    fine = [t for t in limits if (losses[scores > t].sum() + 1.0) / 51 <= 0.2]
    assert found.threshold == min(fine)


@pytest.mark.parametrize(("of", "rows"), [("answered", 28), ("all", 8)])
def test_too_few_rows_answer_nothing_and_say_so(of: Any, rows: int) -> None:
    with pytest.warns(UserWarning, match=f"{rows} rows, 0 of them wrong, are too few to guarantee risk=0.1"):
        found = risk_coverage(np.arange(rows), np.zeros(rows), 0.1, of=of)
    assert (found.threshold, found.answered) == (np.inf, 0.0)
    assert risk_coverage(np.arange(rows + 1), np.zeros(rows + 1), 0.1, of=of).answered == 1.0


def kept(wrong: Any, of: Any, count: int) -> tuple[float, float]:
    """How often the true risk of uniform scores, wrong with a probability, is above 0.1; and its mean."""
    grid = (np.arange(4000) + 0.5) / 4000
    risks = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        scores = rng.uniform(size=150)
        limit = risk_coverage(scores, rng.uniform(size=150) < wrong(scores), 0.1, of=of).threshold
        answered = grid > limit  # type: ignore[operator]
        mistakes = wrong(grid)[answered].sum()
        risks.append(mistakes / (max(answered.sum(), 1) if of == "answered" else 4000))
    return float(np.mean(np.array(risks) > 0.1)), float(np.mean(risks))


@pytest.mark.filterwarnings("ignore:the threshold is infinite")
@pytest.mark.parametrize("draws", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_promises_are_kept(draws: int) -> None:
    error = np.sqrt(0.05 * 0.95 / draws)
    assert 0.01 < kept(lambda s: 0.1 + 0.1 * (s < 0.5), "answered", draws)[0] <= 0.05 + 2.0 * error
    assert kept(lambda s: 0.3 * (1.0 - s), "answered", draws)[0] <= 0.05 + 2.0 * error
    # Above the guarantee at the top and again at the end: at most twice the chance.
    assert kept(lambda s: 0.12 * (s > 0.6) + 0.3 * (s < 0.2), "answered", draws)[0] <= 0.1 + 2.0 * error
    assert 0.085 <= kept(lambda s: 0.5 * (1.0 - s), "all", draws)[1] <= 0.1 + 0.002


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"losses": [0, 1]}, r"one shape \(n,\)"),
        ({"scores": [1.0, np.nan, 0.0]}, "must be finite"),
        ({"losses": [0.5, 0, 1], "risk": 0.1}, "0 or 1"),
        ({"losses": [1.5, 0, 1], "risk": 0.1, "of": "all"}, "from 0 to 1"),
        ({"losses": [-0.5, 0, 1], "risk": 0.1, "of": "all"}, "from 0 to 1"),
        ({"risk": 0.0}, "risk must be > 0"),
        ({"confidence": 2}, "confidence must be"),
        ({"of": "some"}, "of must be one of"),
    ],
)
def test_what_has_no_promise_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        risk_coverage(**{"scores": [3.0, 2.0, 1.0], "losses": [0, 0, 1], **given})


def test_answers_that_are_too_often_wrong_are_said() -> None:
    scores = np.arange(100.0)
    with pytest.warns(UserWarning, match="100 rows, 20 of them wrong, are too few to guarantee risk=0.05"):
        found = risk_coverage(scores, scores >= 80, risk=0.05)
    assert found.answered == 0.0
