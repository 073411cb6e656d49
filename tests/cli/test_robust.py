"""``rkhs fit --robust``: what ``fit_robust`` finds, in words, scores and codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs import KernelAutoencoder, fit_robust
from rkhs.cli.main import main

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2)) @ RNG.normal(size=(2, 4)) + 0.05 * RNG.normal(size=(60, 4))
X[[3, 10, 41, 50]] += np.array([8.0, -9.0, 10.0, -11.0])[:, None] * RNG.normal(size=(4, 4))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", X)
    return tmp_path


@pytest.mark.sample(1)
@pytest.mark.parametrize("scaled", ["yes", "no"])
def test_errors_of_new_rows_are_compared_with_the_error_that_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], scaled: str
) -> None:
    flags = ["--n-components", "2", "--set", "reg=0.001", "--robust", "--scale-columns", scaled, "-o", "m.rkhs"]
    assert main(["fit", "rows.npy", *flags]) == 0
    high = float(capsys.readouterr().out.partition("rkhs compare --errors is above ")[2].split()[0])
    new = X + 0.01
    np.save("new.npy", new)
    assert main(["compare", "new.npy", "--model", "m.rkhs", "--errors", "e.npy"]) == 0
    columns = "scaled" if scaled == "yes" else "raw"
    found = fit_robust(KernelAutoencoder(2, reg=1e-3, columns=columns), X)
    errors, scores = np.load("e.npy")[:, 0], found.score_items(new)
    np.testing.assert_allclose(np.sqrt(errors / high), scores / found.limits[1], rtol=1e-5)
    # The model file knows the limit: the command says which rows are beyond it.
    told = capsys.readouterr().out
    above = np.flatnonzero(scores > found.limits[1])
    assert {3, 10, 41, 50} <= set(above.tolist())
    names = ", ".join(f"row {i + 1}" for i in above[np.argsort(-scores[above])])
    assert f"rows that stand apart from those of the fit: {len(above)} with an error above {high:.6g}: {names}" in told
    assert told.rstrip().endswith("(rows count from 1)")


@pytest.mark.usefixtures("all_candidates")
def test_rows_of_the_fit_are_not_named_for_their_small_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    rows = np.tanh(rng.normal(size=(40, 2)) @ rng.normal(size=(2, 20))) + 0.5 * rng.normal(size=(40, 20))
    rows[7] += 20.0
    np.save("rows.npy", rows)
    assert main(["fit", "rows.npy", "--n-components", "3", "--set", "reg=0.001", "--robust", "-o", "m.rkhs"]) == 0
    found = fit_robust(KernelAutoencoder(3, reg=1e-3), rows)
    score = found.score_items(rows)
    assert (score < found.limits[0]).sum() > 20  # errors of rows that the model has seen are smaller
    capsys.readouterr()
    assert main(["compare", "rows.npy", "--model", "m.rkhs"]) == 0
    told = capsys.readouterr().out
    assert "rows that stand apart from those of the fit: 1 with an error above" in told
    assert "below" not in told


@pytest.mark.slow
def test_good_rows_all_stay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("good.npy", np.delete(X, [3, 10, 41, 50], axis=0))
    assert main(["fit", "good.npy", "--n-components", "2", "--robust", "-o", "m.rkhs", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    found = fit_robust(KernelAutoencoder(2), np.load("good.npy"))
    first, second, *_ = np.argsort(-found.outlier_score)
    begin = "robust: no row is wrong enough to be left out (none has a score above 1); the largest scores: row "
    assert said["robust"].startswith(f"{begin}{first + 1} ({found.outlier_score[first]:.2f}), row {second + 1} (")
    high = found.limits[1]
    assert said["largest error of a good row"] == pytest.approx((high * found.threshold) ** 2)
    good = KernelAutoencoder(2).fit(np.load("good.npy"))
    np.testing.assert_allclose(rkhs.load("m.rkhs").codes_, good.codes_, rtol=1e-12)


def test_rows_without_names_come_back_under_positions(folder: Path) -> None:
    assert main(["fit", "rows.npy", "--n-components", "2", "-o", "m.rkhs", "--codes", "z.csv", "--quiet"]) == 0
    assert main(["decode", "m.rkhs", "z.csv", "-o", "back.csv"]) == 0
    assert Path("back.csv").read_text().startswith("column0,column1,column2,column3\n")


def test_errors_keep_the_title_of_the_names(folder: Path) -> None:
    lines = [f"R{i:02d}," + ",".join(f"{value:.6f}" for value in row) for i, row in enumerate(X)]
    Path("named.csv").write_text("\n".join(["recording,a,b,c,d", *lines]))
    assert main(["fit", "named.csv", "--n-components", "2", "-o", "m.rkhs", "--quiet"]) == 0
    assert main(["compare", "named.csv", "--model", "m.rkhs", "--errors", "e.csv"]) == 0
    assert Path("e.csv").read_text().splitlines()[0] == "recording,error0"


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", [(), ("--predict", "c")])
def test_notes_on_columns_are_of_the_rows_that_are_fitted(
    target: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 30.0, 1.0]
    rows[:, 2] = rows[:, 0] + rows[:, 1] / 30.0
    rows[7] = [1.0, 9e4, 40.0]
    Path("t.csv").write_text("a,b,c\n" + "".join(f"{','.join(map(repr, row))}\n" for row in rows.tolist()))
    assert main(["fit", "t.csv", "--robust", "-o", "m.rkhs", *target]) == 0
    said = capsys.readouterr().out
    assert "row 8" in said
    spread = float(said.split("The spread of b is ")[1].split(",")[0])
    assert 20.0 < spread < 40.0  # 11,500 with the row that was left out


def test_wrong_rows_are_named_and_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "rows.npy", "--n-components", "2", "--robust", "--codes", "z.npy"]) == 0
    said = capsys.readouterr().out
    found = fit_robust(KernelAutoencoder(2), X)
    worst = np.argsort(-found.outlier_score)[: (found.outlier_score > 1.0).sum()]
    assert {3, 10, 41, 50} <= set(worst.tolist())
    names = ", ".join(f"row {i + 1}" for i in worst)
    assert (
        f"robust: {len(worst)} of 60 rows look wrong and were left out of the fit: {names} (rows count from 1)" in said
    )
    np.testing.assert_allclose(np.load("z.npy"), found.model.transform(X), rtol=1e-12)


def test_rows_that_stand_apart_are_all_named_on_both_sides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 12)) + 0.2 * rng.normal(size=(100, 12))
    rows[[20, 70], 3] += 2.5
    rows[[5, 90]] = 1e-3 * rows[[5, 90]] + rows.mean(0)
    np.save("rows.npy", rows)
    flags = ["--n-components", "2", "--set", "reg=0.001", "--robust"]
    assert main(["fit", "rows.npy", *flags, "-o", "m.rkhs", "--codes", "z.npy"]) == 0
    said = capsys.readouterr().out
    found = fit_robust(KernelAutoencoder(2, reg=1e-3), rows)
    assert found.inliers.all()
    assert (found.outlier_sign[[20, 70]] == 1).all()
    assert (found.outlier_sign[[5, 90]] == -1).all()
    score = found.outlier_score
    above = [i for i in np.argsort(-score) if found.outlier_sign[i] == 1]
    below = [i for i in np.argsort(score) if found.outlier_sign[i] == -1]
    line = next(line for line in said.splitlines() if "stand apart and are in the fit" in line)
    assert line.startswith(f"robust: {len(above) + len(below)} rows stand apart and are in the fit; look at them: ")
    assert f"{len(above)} above the others (score above {found.limits[1]:.2g}): " in line
    assert ", ".join(f"row {i + 1}" for i in above) in line
    assert ", ".join(f"row {i + 1}" for i in below) + " (rows count from 1)" in line


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--robust", "--estimator", "kernel-pca"], "--robust fits a KernelAutoencoder; got KernelPCA"),
        (["--set", "trim=2"], "KernelAutoencoder has no parameter 'trim'; it has"),
    ],
)
def test_what_does_not_go_together(
    folder: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    assert main(["fit", "rows.npy", "-o", "m.rkhs", *flags]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "m.rkhs").exists()
