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


@pytest.mark.parametrize("center", [True, pytest.param(False, marks=pytest.mark.slow)])
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


@pytest.mark.sample(3)
@pytest.mark.parametrize("model", ["ridge", "bits", "KPCA", "K2AE", "K2AE of the paper"])
def test_a_cell_measures_its_lines_and_can_be_repeated(model: str) -> None:
    cell: dict[str, Any] = {"split": 1, "model": model.split()[0], "p": 3, "trees": 5, "first": 0, "last": 3}
    cell |= {"reg": 1e-3} if "paper" in model else {}
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


@pytest.mark.usefixtures("long_fits")
def test_the_model_of_the_paper_minimises_its_objective() -> None:
    reg, train = 1e-3, BITS[:40]
    Z, tests = heads._codes_of_the_paper(3, reg, train, BITS[40:])
    T, n = np.asarray(Tanimoto()(train)), len(train)
    distances = 2.0 - 2.0 * T
    gamma = 1.0 / np.median(distances)
    K = np.exp(-gamma * distances)

    def objective(Phi: np.ndarray) -> float:
        """Equation 5, its decoder at the optimum: features of Tanimoto, not centred; half of the paper's."""
        codes = K @ Phi
        decoder = np.linalg.inv(np.exp(-((codes[:, None] - codes) ** 2).sum(2)) + n * reg * np.eye(n))
        return 0.5 * reg * (np.trace(decoder @ T) + np.trace(Phi.T @ codes))

    Phi = np.linalg.solve(K, Z)
    least = objective(Phi)
    assert least < objective(np.zeros_like(Phi))
    rng = np.random.default_rng(0)
    for _ in range(20):  # a minimum, along any direction
        step = 0.03 * np.linalg.norm(Phi) * (direction := rng.normal(size=Phi.shape)) / np.linalg.norm(direction)
        assert objective(Phi + step) > least
    cross = np.exp(-gamma * (2.0 - 2.0 * np.asarray(Tanimoto()(BITS[40:], train))))
    np.testing.assert_allclose(tests[""], cross @ Phi, atol=1e-8)


def test_comparisons_name_the_winner() -> None:
    rng = np.random.default_rng(0)
    table = {name: 0.03 + 1e-5 * rng.normal(size=(4, 5)) for name in (*study.FIVE, "ridge")}
    table["K2AE 50 + RF"] -= 0.001
    table["ridge"] -= 0.002
    lines = study.claims(table, printed=study.PRINTED)
    assert (
        lines[0]
        == "K2AE 50 + RF is the lowest of the five on 4 of 4 lines, beside ridge, y not centred (paper: on all)"
    )
    assert lines[1] == "K2AE 50 + RF is the lowest of the five on 0 of 4 lines, beside ridge (paper: on all)"
    assert "K2AE 50 + RF against ridge: +3." in lines[3]
    assert "lower on 0 of 4 lines: higher" in lines[3]
    assert lines[4].endswith("lower on 4 of 4 lines: lower (paper: -6.4%)")
    assert "no difference beyond two standard errors" in lines[5]
    assert not any("paper" in line for line in study.claims(table))
    for few in (study.claims(table, verdict=False), study.claims({name: v[:, :1] for name, v in table.items()})):
        assert not any(word in line for line in few for word in (": lower", "higher", "no difference"))


def test_the_printed_rows_are_those_of_table_1() -> None:
    # As the paper says: K2AE 50 + RF is the lowest of the five on every line. Its 59 lines are nearly as these ten.
    rows = np.array(study.PRINTED_ROWS)
    assert rows.shape == (10, 5)
    assert (rows.argmin(1) == 4).all()
    assert tuple(rows[0]) == (2978, 3279, 3035, 3097, 2808)
    assert tuple(rows[9]) == (2987, 3291, 3111, 3170, 2910)
    np.testing.assert_allclose(1e-5 * rows.mean(0), list(study.PRINTED.values()), rtol=0.04)


def test_plans() -> None:
    plan = study.cells("table3", trees=30, n_splits=3, molecules=800)
    assert len(plan) == 3 * 6  # ridge, bits, and two models at two dimensions
    assert {(c["molecules"], c["trees"], c["first"], c["last"]) for c in plan} == {(800, 30, 10, 59)}
    assert {c["p"] for c in study.cells("figure8")} == {5, 25, 100}
    assert {c["molecules"] for c in study.cells("lipophilicity")} == {1500}
    assert len(study.cells("table1")) == 10 * 6
    paper = study.cells("table1", reg=1e-4)
    assert [c.get("reg") for c in paper[:5]] == [None, None, 1e-4, None, 1e-4]
    assert [c["model"] for c in paper[:5]] == ["ridge", "KPCA", "K2AE", "KPCA", "K2AE"]
    assert [c for c in paper if "reg" not in c] == [c for c in study.cells("table1") if c["model"] in ("ridge", "KPCA")]


@pytest.mark.slow
def test_a_reduced_run_stops_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra 'plots'")
    monkeypatch.setattr(study, "FIGURE_DIMENSIONS", (2, 10, 50))
    monkeypatch.setattr(study, "load_properties", lambda name, n: (BITS, Y, ["one", "two", "three"]))
    parts = ["--parts", "table1", "figure8", "table3"]
    command = [*parts, "--model", "ours", "--reduced", "--cells", str(tmp_path / "cells"), "--figures", str(tmp_path)]
    first = study.main([*command, "--minutes", "0"])["Table 1"]
    assert "ridge" in first["errors"]
    assert not any(word in line for line in first["verdicts"] for word in (": lower", "higher", "no difference"))
    said = capsys.readouterr().out
    assert "our defaults; this says nothing about the paper's" in said
    assert "reduced run: it shows that the script works, not what holds" in said
    assert "printed, Cancer 01   0.02978 | 0.03279 | 0.03035 | 0.03097 | 0.02808" in said
    result = study.main([*command, "--output", str(tmp_path / "numbers.json")])
    assert json.loads((tmp_path / "numbers.json").read_text()) == result
    assert (tmp_path / "nci_figure8.png").stat().st_size > 10_000
    assert np.shape(result["Table 3"]["errors"]["ridge"]) == (3, 2)
    assert result["Table 3"]["errors"]["K2AE 50 + RF"][:2] == result["Table 1"]["errors"]["K2AE 50 + RF"]


@pytest.mark.slow
def test_the_model_of_the_paper_is_the_default(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study, "load_properties", lambda name, n: (BITS, Y, ["one", "two", "three"]))
    result = study.main(["--parts", "table1", "--splits", "2", "--trees", "2", "--reg", "0.01"])["Table 1"]
    assert "model of K2AE: the paper's; its reg is ours, 0.01" in capsys.readouterr().out
    assert not any("refined" in name or "bits" in name for name in result["errors"])
    assert any(word in line for line in result["verdicts"] for word in (": lower", "higher", "no difference"))


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
