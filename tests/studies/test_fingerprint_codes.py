"""Table 2: every method rebuilds, errors are those of the codes, a stopped run goes on, verdicts can fail."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import studies.papers.fingerprint_codes as study
from rkhs._core.errors import InputError


def drawn(n: int, seed: int) -> np.ndarray:
    """Bits of five kinds of molecule, some of them flipped."""
    rng = np.random.default_rng(seed)
    kinds = np.random.default_rng(0).random((5, 40)) < 0.4
    return (kinds[rng.integers(5, size=n)] ^ (rng.random((n, 40)) < 0.03)).astype(float)


@pytest.mark.slow
def test_table_on_drawn_bits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(study, "load_fingerprints", lambda n: (drawn(60, 1), drawn(30, 2)))
    monkeypatch.setattr(study, "DIMENSIONS", (4,))
    monkeypatch.setattr(study, "_RATES", (3e-2,))
    monkeypatch.setattr(study, "STEPS", 100)
    command = ["--cells", str(tmp_path / "cells"), "--output", str(tmp_path / "numbers.json")]
    partial = study.main([*command, "--minutes", "0"])
    assert list(partial["msre"]) == ["PCA"]
    result = study.main(command)
    assert json.loads((tmp_path / "numbers.json").read_text()) == result
    null = ((drawn(30, 2) - drawn(60, 1).mean(0)) ** 2).sum(1).mean()
    assert set(result["msre"]) == {*study._MODELS, "KAE, refined", "KAE, Gaussian, refined"}
    errors = {name: values["4"] for name, values in result["msre"].items()}
    # Networks of 60 steps learn something; the others have the five kinds.
    assert all(0.0 < error < (0.95 if "AE (" in name else 0.3) * null for name, error in errors.items()), errors
    seen = drawn(60, 1)[:51]  # not the rows by which networks choose
    centred = seen - seen.mean(0)
    axes = np.linalg.svd(centred)[2][:4]
    shifted = drawn(30, 2) - seen.mean(0)
    assert errors["PCA"] == pytest.approx(((shifted - shifted @ axes.T @ axes) ** 2).sum(1).mean(), abs=1e-3)
    assert len(result["verdicts"]) == 10


@pytest.mark.usefixtures("all_candidates")
def test_the_regulariser_of_the_paper_has_the_unit_of_the_rows() -> None:
    X, new = drawn(40, 1), drawn(10, 2)
    small, large = (study._model_of_the_paper(3, 1e-3, scale * X) for scale in (1.0, 10.0))
    assert large.objective_ == pytest.approx(100.0 * small.objective_, rel=1e-3)
    errors = 100.0 * small.reconstruction_error(new)
    np.testing.assert_allclose(large.reconstruction_error(10.0 * new), errors, rtol=2e-2)
    assert (large.center, large.scale, large.refine) == (False, False, False)
    assert large.linear_part == "kernel"


def test_verdicts_need_two_standard_errors() -> None:
    noise = np.random.default_rng(0).normal(size=50)
    table = {
        "KAE": {5: np.full(50, 1.0), 10: np.full(50, 1.0)},
        "AE (relu)": {5: 2.0 + 0.1 * noise, 10: 1.001 + noise - noise.mean()},
        "PCA": {5: np.full(50, 0.5), 10: np.full(50, 0.5)},
    }
    lines = study.claims(table)
    assert lines[0].startswith("'KAE is below AE (relu)': holds at 1 of 2 dimensions (5: -50")
    assert lines[0].endswith("(not clear))")
    assert lines[1] == "'KAE is below PCA': holds at 0 of 2 dimensions (5: +100.0%, 10: +100.0%)"


@pytest.mark.data
def test_fingerprints_are_bits(data_dir: Path) -> None:
    train, test = study.load_fingerprints(50)
    assert (train.shape, test.shape) == ((50, 3380), (786, 3380))
    assert set(np.unique(train)) == {0.0, 1.0}


def test_without_data_the_error_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RKHS_DATA", raising=False)
    with pytest.raises(InputError, match="RKHS_DATA must name the folder"):
        study.load_fingerprints()
