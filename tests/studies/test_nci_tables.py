"""Tables of molecular activities: heads against plain versions, splits that fit, verdicts that can fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

import studies.papers.molecule_heads as heads
import studies.papers.nci_tables as study
from rkhs._core.errors import InputError
from rkhs.kernels import Tanimoto
from studies.papers.molecule_heads import load_properties, ridge_predictions, run_cell

RNG = np.random.default_rng(0)
BITS = (RNG.random((60, 30)) < 0.4).astype(float)
Y = 50.0 + 5.0 * BITS[:, :4] @ RNG.normal(size=(4, 3)) + RNG.normal(size=(60, 3))


@pytest.mark.parametrize("center", [True, False])
def test_ridge_is_chosen_by_leave_one_out(center: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    regs, n = (1e-4, 1e-3, 1e-2, 1e-1), 20
    monkeypatch.setattr(heads, "REGS", regs)
    K, cross = Tanimoto()(BITS[:n]), Tanimoto()(BITS[n:], BITS[:n])
    kernels = [(K, cross), (K**3, cross**3)]
    found = ridge_predictions(kernels, Y[:n], center=center)
    for j in range(3):
        mean = Y[:n, j].mean() if center else 0.0
        y, best = Y[:n, j] - mean, (np.inf, 0, 0.0)
        for k, (gram, _) in enumerate(kernels):
            for reg in regs:
                errors = []
                for i in range(n):
                    rest = np.arange(n) != i
                    # The held-out row of the same penalty: n of all rows.
                    model = KernelRidge(alpha=n * reg, kernel="precomputed").fit(gram[np.ix_(rest, rest)], y[rest])
                    errors.append(model.predict(gram[i : i + 1, rest])[0] - y[i])
                best = min(best, (float(np.mean(np.square(errors))), k, reg))
        gram, test = kernels[best[1]]
        expected = KernelRidge(alpha=n * best[2], kernel="precomputed").fit(gram, y).predict(test) + mean
        np.testing.assert_allclose(found[:, j], expected, rtol=1e-6)


@pytest.mark.parametrize("model", ["ridge", "bits", "KPCA", "K2AE"])
def test_a_cell_measures_its_lines_and_can_be_repeated(model: str) -> None:
    cell: dict[str, Any] = {"split": 1, "model": model, "p": 3, "trees": 5, "first": 0, "last": 3}
    result = run_cell(cell, BITS, Y)
    assert result == run_cell(cell, BITS, Y)
    test = np.random.default_rng(1001).permutation(60)[:6]
    np.testing.assert_allclose(result["power"], (Y[test] ** 2).mean(0))
    null = ((Y[test] - Y[np.setdiff1d(np.arange(60), test)].mean(0)) ** 2).mean()
    for name, errors in result["errors"].items():
        assert len(errors) == 3
        assert np.mean(errors) < (30.0 if "not centred" in name else 2.0) * null
    part = run_cell({**cell, "first": 1, "last": 2}, BITS, Y)
    for name, errors in part["errors"].items():
        assert errors == pytest.approx(result["errors"][name][1:2])


def test_only_common_splits_are_compared() -> None:
    def cell(model: str, split: int, value: float, first: int = 0) -> dict[str, Any]:
        return {"first": first, "split": split, "errors": {model: [value, 2 * value]}, "power": [2.0, 2.0]}

    found = [cell("a", s, s + 1.0) for s in range(3)] + [cell("b", s, 4.0) for s in (0, 2)]
    table = study.collect(found)
    np.testing.assert_array_equal(table["a"], [[0.5, 1.5], [1.0, 3.0]])
    np.testing.assert_array_equal(study.collect(found, normalised=False)["b"], [[4.0, 4.0], [8.0, 8.0]])
    assert study.collect([]) == {}


def test_verdicts_name_the_winner() -> None:
    rng = np.random.default_rng(0)
    table = {name: 0.03 + 1e-5 * rng.normal(size=(4, 5)) for name in (*study.FIVE, "ridge")}
    table["K2AE 50 + RF"] -= 0.001
    table["ridge"] -= 0.002
    lines = study.claims(table)
    assert "against ridge, y not centred: holds (the lowest on 4 of 4)" in lines[0]
    assert "against ridge: does NOT hold (the lowest on 0 of 4)" in lines[1]
    assert "K2AE 50 + RF against ridge: +3." in lines[3]
    assert "lower on 0 of 4 lines: HIGHER" in lines[3]
    assert lines[4].endswith("lower on 4 of 4 lines: lower (paper: -6.4%)")
    assert "no difference beyond two standard errors" in lines[5]
    assert not any("paper" in line for line in study.claims(table, printed=False))


def test_plans() -> None:
    plan = study.cells("table3", trees=30, n_splits=3, molecules=800)
    assert len(plan) == 3 * 6  # ridge, bits, and two models at two dimensions
    assert {(c["molecules"], c["trees"], c["first"], c["last"]) for c in plan} == {(800, 30, 10, 59)}
    assert {c["p"] for c in study.cells("figure8")} == {5, 25, 100}
    assert {c["molecules"] for c in study.cells("lipophilicity")} == {1500}
    assert len(study.cells("table1")) == 10 * 6


@pytest.mark.slow
def test_a_reduced_run_stops_and_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra 'plots'")
    monkeypatch.setattr(study, "FIGURE_DIMENSIONS", (2, 10, 50))
    monkeypatch.setattr(study, "load_properties", lambda name, n: (BITS, Y, ["one", "two", "three"]))
    parts = ["--parts", "table1", "figure8", "table3"]
    command = [*parts, "--reduced", "--cells", str(tmp_path / "cells"), "--figures", str(tmp_path)]
    first = study.main([*command, "--minutes", "0"])["Table 1"]
    assert "ridge" in first["errors"]
    assert all("one split, no verdict" in line for line in first["verdicts"])
    result = study.main([*command, "--output", str(tmp_path / "numbers.json")])
    assert json.loads((tmp_path / "numbers.json").read_text()) == result
    assert (tmp_path / "nci_figure8.png").stat().st_size > 10_000
    assert np.shape(result["Table 3"]["errors"]["ridge"]) == (3, 2)
    assert result["Table 3"]["errors"]["K2AE 50 + RF"][:2] == result["Table 1"]["errors"]["K2AE 50 + RF"]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n", "lines"), [("nci_cancer", 1788, 59), ("esol", 1127, 1), ("lipophilicity", 4200, 1)]
)
def test_sets_have_their_sizes(data_dir: Path, name: str, n: int, lines: int) -> None:
    bits, values, names = load_properties(name)
    assert (bits.shape, values.shape, len(names)) == ((n, 1024), (n, lines), lines)
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(load_properties(name, 20)[1], values[:20])


def test_wrong_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RKHS_DATA", str(tmp_path))
    with pytest.raises(InputError, match="one of nci_cancer, esol, lipophilicity; got 'iris'"):
        load_properties("iris")
    monkeypatch.delenv("RKHS_DATA")
    with pytest.raises(InputError, match="RKHS_DATA must name the folder"):
        load_properties("esol")
