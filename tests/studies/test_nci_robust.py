"""Robust autoencoders of molecules: more epsilon, more sparsity; a huge kappa is the squared loss."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import studies.papers.nci_robust as study
from rkhs._core.errors import InputError


@pytest.mark.slow
def test_rows_on_drawn_bits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra 'plots'")
    monkeypatch.setattr(study, "EPSILONS", (0.0, 0.3, 0.9))
    monkeypatch.setattr(study, "KAPPAS", (0.2, 100.0))
    rng = np.random.default_rng(0)
    groups = rng.random((4, 60)) < 0.4
    bits = (groups[rng.integers(4, size=60)] ^ (rng.random((60, 60)) < 0.05)).astype(float)
    bits[:, 0] = 1.0
    monkeypatch.setattr(study, "load_molecules", lambda n: bits)
    result = study.main(["--splits", "2", "--figures", str(tmp_path), "--output", str(tmp_path / "numbers.json")])
    assert json.loads((tmp_path / "numbers.json").read_text()) == result
    assert (tmp_path / "nci_robust.png").stat().st_size > 10_000
    for reg in study.REGS:
        rows = [row for row in result["rows"] if row["reg"] == reg]
        squared, _, large, _, huge = rows
        assert large["sparsity"] > squared["sparsity"] == 0.0
        np.testing.assert_allclose(huge["errors"], squared["errors"], rtol=1e-3)
        assert huge["saturated"] == 0.0
        assert max(row["gap"] for row in rows) < 1e-4
        assert squared["errors"][0] < 0.6  # the four groups are found
    assert len(result["verdicts"]) == 5
    cut = ["--splits", "2", "--cells", str(tmp_path / "cells")]
    assert study.main([*cut, "--minutes", "0"])["rows"] == []  # one fit of two
    assert len((tmp_path / "cells").read_text().splitlines()) == 1
    again = study.main(cut)["rows"]
    assert [row["errors"] for row in again] == [row["errors"] for row in result["rows"]]
    printed = study.main(["--splits", "2", "--as-printed"])["rows"]
    assert [(row["loss"], row["parameter"], row["reg"]) for row in printed] == [
        ("epsilon", e, 1e-5) for e in (0, 0.3, 0.9)
    ]


@pytest.mark.data
def test_molecules_are_bits(data_dir: Path) -> None:
    bits = study.load_molecules(50)
    assert bits.shape == (50, 1024)
    assert set(np.unique(bits)) == {0.0, 1.0}


def test_without_data_the_error_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RKHS_DATA", raising=False)
    with pytest.raises(InputError, match="RKHS_DATA must name the folder"):
        study.load_molecules()
