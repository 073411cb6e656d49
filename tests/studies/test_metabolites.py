"""The stand-in for the metabolite table in its reduced form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rkhs._core.errors import InputError
from studies.papers import metabolites
from studies.papers.metabolites import Spectra, load_spectra, main, study


def synthetic(n: int = 60, m: int = 20, seed: int = 0) -> Spectra:
    """Molecules are sets of parts; each part has its own peaks and its own bits."""
    rng = np.random.default_rng(seed)
    parts = rng.random((n + m, 8)) < 0.4
    parts[:, 0] = True

    def spectrum(row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        present = np.flatnonzero(row)
        return 50.0 + 10.0 * present + 0.001 * rng.normal(size=len(present)), rng.uniform(0.5, 1.0, len(present))

    bits = np.repeat(parts, 3, axis=1).astype(float)
    spectra = [spectrum(row) for row in parts]
    candidates = np.array([[i, *((i + 1 + np.arange(9)) % m)] for i in range(m)])
    return Spectra(
        spectra[:n], spectra[n:], bits[:n], rng.uniform(size=n), bits[n:], candidates, np.zeros(m, dtype=int)
    )


def test_study_finds_what_is_there() -> None:
    rows = study(synthetic(), regs=(1e-4,))
    assert set(rows) == {"search", "chance"} | {
        f"{name}, {label}" for name in ("ridge", "epsilon-ridge", "Huber") for label in ("1e-04", "selected")
    }
    assert rows["chance"]["top-1"] == 0.1
    machines = [row for name, row in rows.items() if "," in name]
    assert all(row["top-1"] > 0.4 and row["top-10"] == 1.0 for row in machines)
    assert all(row["top-1"] <= row["top-10"] <= row["top-20"] for row in rows.values())
    assert rows["Huber, 1e-04"]["parameter"] > 0.0


def test_a_stopped_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, path = synthetic(), tmp_path / "cells"
    rows = study(data, regs=(1e-4,), path=path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    assert study(data, regs=(1e-4,), path=path) == rows
    assert path.read_text().splitlines(keepends=True) == lines
    monkeypatch.setattr(metabolites, "InputOutputKernelRegressor", None)  # nothing is fitted again
    assert study(data, regs=(1e-4,), path=path) == rows


@pytest.mark.data
def test_reduced_study(data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = main(["--reduced", "--splits", "2", "--output", str(tmp_path / "numbers.json")])
    assert json.loads((tmp_path / "numbers.json").read_text()) == result
    assert "stand-in" in capsys.readouterr().out
    for rows in result["splits"]:
        assert rows["ridge, selected"]["top-10"] > 1.5 * rows["chance"]["top-10"]
    assert result["splits"][0] != result["splits"][1]
    assert sum(line.startswith("top-1, ") for line in result["lines"]) == 7


@pytest.mark.data
@pytest.mark.parametrize("split", [0, 1])
def test_loaded_candidates_contain_the_truth(data_dir: Path, split: int) -> None:
    data = load_spectra(20, 10, split)
    same = [
        (data.pool[row] == data.pool[row[t]]).all(1).sum() for row, t in zip(data.candidates, data.truth, strict=True)
    ]
    assert max(same) == 1
    assert len(data.train) == len(data.fingerprints) == len(data.masses) == 20
    assert data.candidates.shape == (10, 30)
    assert data.pool.shape[1] == data.fingerprints.shape[1] == 3380


def test_without_data_the_error_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RKHS_DATA", raising=False)
    with pytest.raises(InputError, match="RKHS_DATA must name the folder"):
        load_spectra()
