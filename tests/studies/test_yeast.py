"""The yeast study in its reduced form: certified, at its known limits, and written to files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rkhs._core.errors import InputError
from studies.harness.figures import path_figure
from studies.papers.yeast import LOSSES, load_yeast, main


@pytest.mark.slow
@pytest.mark.data
def test_reduced_study(data_dir: Path, tmp_path: Path) -> None:
    result = main(["--reduced", "--output", str(tmp_path / "numbers.json"), "--figures", str(tmp_path)])
    assert json.loads((tmp_path / "numbers.json").read_text()) == result
    assert len(list(tmp_path.glob("yeast_*.png"))) == 3
    grids = result["grids"]
    assert set(grids) == set(result["hamming"]) == set(LOSSES)
    assert all(grid["gap"] <= 1e-6 for grid in grids.values())
    ridge = np.array(grids["ridge"]["error"])[:, :, 0]
    # The smallest epsilon is nearly none, and the largest kappa of this grid exceeds the residuals at small reg.
    np.testing.assert_allclose(np.array(grids["epsilon-ridge"]["error"])[:, :, 0], ridge, rtol=2e-3)
    sparsity = np.array(grids["epsilon-ridge"]["sparsity"])[0]
    assert (np.diff(sparsity, axis=1) >= 0.0).all()  # more epsilon, fewer supports
    assert sparsity[0, -1] > 0.05
    saturated = np.array(grids["Huber"]["saturated"])[0]
    assert (np.diff(saturated, axis=1) <= 0.0).all()
    assert all(0.15 < row["hamming"] < 0.25 for row in result["hamming"].values())
    assert result["hamming"]["ridge"]["difference"] == 0.0


@pytest.mark.data
def test_random_splits_go_on_where_they_stopped(data_dir: Path, tmp_path: Path) -> None:
    command = ["--reduced", "--splits", "2", "--cells", str(tmp_path / "cells")]
    first = main([*command, "--minutes", "0"])
    both = main(command)
    assert {name: values[:1] for name, values in both.items()} == first
    assert len(set(both["Huber"])) == 2  # another split, another difference


def test_without_data_the_error_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RKHS_DATA", raising=False)
    with pytest.raises(InputError, match="RKHS_DATA must name the folder"):
        load_yeast()


@pytest.mark.slow
def test_figure_of_a_grid(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra 'plots'")
    rng = np.random.default_rng(0)
    grid = {name: rng.uniform(size=(3, 4, 2)).tolist() for name in ("error", "sparsity", "saturated")}
    grid |= {"regs": [1e-3, 1e-2, 0.1, 1.0], "parameters": [0.1, 0.2]}
    path = path_figure(grid, grid, "Huber", "kappa", tmp_path / "new" / "huber.png")
    assert path.stat().st_size > 5_000
