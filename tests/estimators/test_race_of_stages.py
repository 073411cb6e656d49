"""Where a path of regularisers ends near principal components, a stage of many rows compares free codes too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rkhs import KernelAutoencoder
from rkhs.estimators.autoencoder import choice_on_landmarks, finished_rows, opened_rows, staged_rows
from rkhs.features import Nystroem
from rkhs.models import LocalLayer, local_layer
from rkhs.solvers.row_newton import descend

pytestmark = pytest.mark.usefixtures("all_candidates")

PRINCIPAL, FREE = (1.0, 1.0), ((1e-4, 1e-4), (1e-4, 1e-5))


@pytest.fixture(autouse=True)
def small_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages of 60, 120, 240 and all rows, in place of a thousand and so on."""
    for module in (staged_rows, choice_on_landmarks, finished_rows):
        monkeypatch.setattr(module, "FIRST", 60)
    monkeypatch.setattr(choice_on_landmarks, "_COMPARED", 120)
    monkeypatch.setattr(choice_on_landmarks, "_FREE_FROM", 240)


def edges(n: int) -> np.ndarray:
    """Sums of three steps of random places, heights and widths on thirty points; few rows do not show their shape."""
    rng, t, X = np.random.default_rng(1), np.linspace(-1.0, 1.0, 30), np.zeros((n, 30))
    for _ in range(3):
        heights, places = rng.normal(size=(n, 1)), rng.uniform(-1.0, 1.0, (n, 1))
        X += heights * np.tanh((t - places) * np.exp(rng.normal(1.0, 1.0, (n, 1))))
    return X / X.std()


def curved(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.sin(rng.normal(size=(n, 4)) @ rng.normal(size=(4, 12))) + 0.05 * rng.normal(size=(n, 12))


def linear(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 4)) @ rng.normal(size=(4, 30)) + rng.normal(size=(n, 30))


def fitted(X: np.ndarray) -> KernelAutoencoder:
    return KernelAutoencoder(4, storage=Nystroem(60), random_state=0).fit(X)


def without_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice_on_landmarks, "_FREE_FROM", 0)


def share(model: Any, rows: np.ndarray) -> float:
    errors = (model.inverse_transform(model.transform(rows)) - rows) ** 2
    return float(errors.sum() / ((rows - rows.mean(0)) ** 2).sum())


def test_a_fit_leaves_principal_components_where_free_codes_rebuild_held_out_rows_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = edges(900)
    found = fitted(X[:500])
    assert found.candidates_[np.nanargmin(found.candidate_errors_)].tolist() == list(PRINCIPAL)
    assert found.reg_ in FREE
    without_the_rule(monkeypatch)
    today = fitted(X[:500])
    assert today.reg_ == PRINCIPAL
    assert share(found, X[500:]) < 0.97 * share(today, X[500:])


@pytest.mark.parametrize(
    ("rows", "tried"),
    [(curved(500), 0), (edges(300), 0), (linear(500), 1)],
    ids=["free codes", "few rows", "principal components"],
)
def test_elsewhere_the_fit_is_the_same_bit_for_bit(
    rows: np.ndarray, tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, compare = [], choice_on_landmarks._free_codes

    def counted(stages: Any, stage: Any, error: float) -> Any:
        asked.append(stage.reg)
        return compare(stages, stage, error)

    monkeypatch.setattr(choice_on_landmarks, "_free_codes", counted)
    found = fitted(rows)
    assert len(asked) == tried
    without_the_rule(monkeypatch)
    today = fitted(rows)
    assert found.reg_ == today.reg_
    np.testing.assert_array_equal(found.codes_, today.codes_)
    np.testing.assert_array_equal(found.inverse_transform(found.codes_), today.inverse_transform(today.codes_))


def test_leaves_are_used_where_they_decode_held_out_rows_better_than_one_decoder() -> None:
    assert isinstance(fitted(curved(500)).model_.last, LocalLayer)
    one = fitted(linear(900)[:500])
    assert not isinstance(one.model_.last, LocalLayer)
    assert one.decoder_reg_ == 1.0
    assert one.held_out_error_ == pytest.approx(share(one, linear(900)[500:]), rel=0.05)


def test_held_out_rows_are_coded_in_leaves_with_the_steps_of_new_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    for module in (finished_rows, local_layer):

        def watched(problem: Any, start: Any, *limits: Any) -> Any:
            asked.append(limits)
            return descend(problem, start, *limits)

        monkeypatch.setattr(module, "descend", watched)
    model = fitted(curved(500))
    held_out = set(asked)
    asked.clear()
    model.transform(curved(20))
    assert held_out == set(asked) == {(30, 1e-5)}


def test_codes_of_rows_beyond_the_last_stage_have_the_penalty_of_new_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, code = [], staged_rows.RowStages.code

    def counted(self: Any, stage: Any, rows: slice, count: float) -> Any:
        counts.append(count)
        return code(self, stage, rows, count)

    monkeypatch.setattr(staged_rows.RowStages, "code", counted)
    for module in (staged_rows, opened_rows):
        monkeypatch.setattr(module, "MAX_ENCODER_ROWS", 130)
    model = fitted(curved(500))
    assert max(counts) == model.model_.penalty.total == 130.0
