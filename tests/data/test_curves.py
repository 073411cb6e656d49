"""Curves with gaps and with times of their own on one grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rkhs import FunctionalKernelRegressor, KernelAutoencoder
from rkhs.cli.main import main
from rkhs.data import curves_on_grid, read_items
from rkhs.errors import InputError

RNG = np.random.default_rng(0)
T = np.linspace(0.0, 2.0, 21)
FULL = np.sin(T + RNG.uniform(0.0, 3.0, (20, 1)))


def gapped() -> np.ndarray:
    X = FULL.copy()
    X[:, 1:-1][RNG.random((20, 19)) < 0.3] = np.nan
    return X


def test_known_values_stay_and_gaps_are_on_the_line_between_their_neighbours() -> None:
    X = gapped()
    found = curves_on_grid(X, T)
    values = found.data_matrix[:, :, 0]
    np.testing.assert_array_equal(values[~np.isnan(X)], X[~np.isnan(X)])
    np.testing.assert_array_equal(found.grid_points[0], T)
    row, column = np.argwhere(np.isnan(X))[0]
    a = np.flatnonzero(~np.isnan(X[row, :column]))[-1]
    b = column + np.flatnonzero(~np.isnan(X[row, column:]))[0]
    share = (T[column] - T[a]) / (T[b] - T[a])
    assert values[row, column] == pytest.approx((1.0 - share) * X[row, a] + share * X[row, b])


def test_pairs_arrays_and_scikit_fda_agree() -> None:
    X = gapped()
    pairs = [(T[~np.isnan(x)], x[~np.isnan(x)]) for x in X]
    same = curves_on_grid(X, T).data_matrix
    np.testing.assert_array_equal(curves_on_grid(pairs, at=T).data_matrix, same)
    assert len(curves_on_grid(pairs).grid_points[0]) == 100
    skfda = pytest.importorskip("skfda", reason="scikit-fda is not installed")
    starts = np.cumsum([0, *(len(t) for t, _ in pairs[:-1])])
    points, values = (np.concatenate([pair[i] for pair in pairs])[:, None] for i in (0, 1))
    irregular = skfda.FDataIrregular(starts, points, values)
    np.testing.assert_array_equal(curves_on_grid(irregular, at=T).data_matrix, same)
    with pytest.raises(InputError, match=r"rkhs\.data\.curves_on_grid"):
        KernelAutoencoder(1).fit(irregular)
    with pytest.raises(InputError, match=r"rkhs\.data\.curves_on_grid"):
        FunctionalKernelRegressor().fit(irregular, FULL)
    with pytest.raises(InputError, match=r"rkhs\.data\.curves_on_grid"):
        KernelAutoencoder(1, kernel="functional_gaussian").fit(pairs)


def test_estimators_take_them_with_their_grid() -> None:
    found = curves_on_grid(gapped(), T)
    model = KernelAutoencoder(2, columns="integral").fit(found)
    assert model.reconstruction_error(FULL).mean() < 0.1 * (FULL - FULL.mean(0)).var(0).sum() * 0.1
    FunctionalKernelRegressor(reg=1e-3).fit(found, found)
    kernel = KernelAutoencoder(1, kernel="functional_gaussian").fit(found).kernel_
    np.testing.assert_array_equal(kernel.times, T)


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ([([0.0, 1.0], [1.0, 2.0]), ([0.5, 1.0], [1.0, 2.0])], {"at": [0.0, 1.0]}, "curve 1 is known from 0.5 to 1"),
        ([([0.0, 1.0], [1.0, 2.0]), ([2.0, 3.0], [1.0, 2.0])], {}, "share an interval"),
        ([([1.0, 0.0], [1.0, 2.0])], {}, "increasing times; curve 0"),
        ([([0.0, 1.0], [1.0, 2.0]), 3.0], {}, "item 1 is not one"),
        ([([0.0, 1.0], [1.0])], {}, "as many times as values"),
        ([[np.nan, 1.0, np.nan]], {}, "has 1 known values"),
        ([[np.nan, 1.0, 2.0]], {}, "curve 0 is known from 0.5 to 1"),
        ([[0.0, 1.0, 2.0]], {"times": [0.0, 1.0]}, "times must be 3 numbers"),
        ([([0.0, 1.0], [1.0, 2.0])], {"at": [1.0, 0.0]}, "at must hold two or more increasing"),
    ],
)
def test_what_is_refused(given: Any, options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        curves_on_grid(given, **options)


def test_files_with_empty_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X = gapped()
    file = tmp_path / "curves.csv"
    cells = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in X]
    file.write_text("\n".join([",".join(map(repr, T.tolist())), *cells]) + "\n")
    data = read_items(file, kind="curves")
    np.testing.assert_array_equal(data.X, curves_on_grid(X, T).data_matrix[:, :, 0])
    assert data.filled == np.isnan(X).sum()
    model = str(tmp_path / "m.rkhs")
    assert main(["fit", str(file), "--kind", "curves", "-o", model]) == 0
    assert f"{data.filled} empty cells of curves are filled by straight lines" in capsys.readouterr().err
    assert main(["transform", model, str(file), "-o", str(tmp_path / "z.csv")]) == 0
    cells[3] = cells[3].replace(cells[3].split(",")[0], "", 1)
    file.write_text("\n".join([",".join(map(repr, T.tolist())), *cells]) + "\n")
    assert main(["fit", str(file), "--kind", "curves", "-o", model]) == 2
    said = capsys.readouterr().err
    assert "got 1 curves with gaps at an end: row 4; take these curves out of the file; or pass --header yes" in said
    assert "--header yes in place of --kind curves, which fills gaps from the nearest rows" in said
    assert main(["fit", str(file), "-o", model]) == 0
    capsys.readouterr()
    # An infinite value is no gap, whatever gaps there are beside it.
    cells[3], cells[5] = cells[2], cells[5].replace(cells[5].split(",")[0], "inf", 1)
    file.write_text("\n".join([",".join(map(repr, T.tolist())), *cells]) + "\n")
    assert main(["fit", str(file), "--kind", "curves", "-o", model]) == 2
    assert "got 'inf' in row 6 (line 7), column '0.0' (1 such cells in all)" in capsys.readouterr().err
    # A curve without any value is left out and counted.
    cells[5] = "," * (X.shape[1] - 1)
    named = [f"c{i},{row}" for i, row in enumerate(cells)]
    file.write_text("\n".join(["id," + ",".join(map(repr, T.tolist())), *named]) + "\n")
    assert main(["fit", str(file), "--kind", "curves", "-o", model]) == 0
    assert "left out, because no cell is known: row 6" in capsys.readouterr().err
    assert main(["report", model, str(file), "-o", str(tmp_path / "page.html")]) == 0
    out = capsys.readouterr()
    assert "cells were empty: filled by straight lines between known values" in out.out
    assert "empty cells of curves are filled" in out.err  # of new curves too


@pytest.mark.parametrize("moved", [0.0, 0.4])
def test_a_folder_holds_a_curve_a_file(tmp_path: Path, moved: float) -> None:
    """Curves on the axis of the first file, which falls, by the names of their files."""
    axis = np.arange(40.0, 10.0, -1.0)
    for i, end in enumerate(("dpt", "asc", "csv", "xy")):
        at = axis + moved * i
        Path(tmp_path, f"milk_{i}.0.{end}").write_text("".join(f"{x:.5f},{i + x / 10:.6f}\n" for x in at))
    found = read_items(tmp_path)
    assert (found.kind, found.row_names) == ("curves", ("milk_0.0", "milk_1.0", "milk_2.0", "milk_3.0"))
    assert found.times is not None
    assert found.times.tolist() == sorted(axis[axis >= 11.0 + 3 * moved] if moved else axis)
    np.testing.assert_allclose(found.X, np.arange(4.0)[:, None] + found.times / 10.0)
    assert any("straight lines" in note for note in found.guessed) == (moved > 0.0)
    Path(tmp_path, "notes.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(InputError, match=r"notes.csv: expected two columns, an axis that rises or falls, and values"):
        read_items(tmp_path)
