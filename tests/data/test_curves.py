"""Curves with gaps and with times of their own on one grid."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rkhs import FunctionalKernelRegressor, KernelAutoencoder
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


def written(file: Path, X: np.ndarray, names: list[str] | None = None) -> Path:
    """A table of curves below their times, with empty cells for gaps and perhaps a column of names."""
    rows = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in [T, *X]]
    if names is not None:
        rows = [f"{name},{row}" for name, row in zip(["id", *names], rows, strict=True)]
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.mark.parametrize("names", [None, [f"c{i}" for i in range(20)]])
def test_the_first_row_of_a_table_of_curves_is_their_times(tmp_path: Path, names: list[str] | None) -> None:
    data = read_items(written(tmp_path / "curves.csv", FULL, names), kind="curves")
    np.testing.assert_array_equal(data.X, FULL)
    np.testing.assert_array_equal(data.items.grid_points[0], T)
    assert data.row_names == (None if names is None else tuple(names))


@pytest.mark.parametrize("end", ["csv", "tsv", "xlsx"])
def test_the_first_row_is_a_curve_on_demand_and_times_that_do_not_rise_are_refused(tmp_path: Path, end: str) -> None:
    pandas = pytest.importorskip("pandas", reason="tables need pandas (extra `tables`)")
    file, frame = tmp_path / f"curves.{end}", pandas.DataFrame(FULL, columns=T)
    if end == "xlsx":
        pytest.importorskip("openpyxl", reason="xlsx needs openpyxl (extra `tables`)")
        write = frame.to_excel
    else:
        write = partial(frame.to_csv, sep="," if end == "csv" else "\t")
    write(file, index=False)
    np.testing.assert_allclose(read_items(file, kind="curves").times, T, rtol=1e-15, atol=0.0)
    data = read_items(file, kind="curves", read={"header": None})
    np.testing.assert_allclose(data.X, [T, *FULL])
    assert data.times is None
    frame.columns = FULL[0]
    write(file, index=False)
    with pytest.raises(InputError, match="--read header=None if the first row is a curve"):
        read_items(file, kind="curves")


def test_times_that_occur_twice_are_refused(tmp_path: Path) -> None:
    """pandas would name the second 1.1, which is a time."""
    (tmp_path / "curves.csv").write_text("0,1,1,2\n1,2,3,4\n2,3,4,5\n")
    with pytest.raises(InputError, match="'1' more than once"):
        read_items(tmp_path / "curves.csv", kind="curves")


def test_empty_cells_of_a_table_are_filled_and_counted(tmp_path: Path) -> None:
    X = gapped()
    with pytest.warns(UserWarning, match=f"{np.isnan(X).sum()} empty cells of curves are filled by straight lines"):
        data = read_items(written(tmp_path / "curves.csv", X), kind="curves")
    np.testing.assert_array_equal(data.X, curves_on_grid(X, T).data_matrix[:, :, 0])


def test_gaps_at_an_end_infinite_values_and_empty_curves(tmp_path: Path) -> None:
    names, file = [f"c{i}" for i in range(20)], tmp_path / "curves.csv"
    X = FULL.copy()
    X[3, 0] = np.nan
    with pytest.raises(
        InputError, match="curves.csv: curves must cover the grid from 0 to 2; curve 3 is known from 0.1"
    ):
        read_items(written(file, X), kind="curves")
    X[3, 0] = np.inf
    with pytest.raises(InputError, match="expected a finite number in every cell; got inf in row 4"):
        read_items(written(file, X), kind="curves")
    X[3] = np.nan
    data = read_items(written(file, X, names), kind="curves")
    np.testing.assert_array_equal(data.X, np.delete(FULL, 3, axis=0))
    assert [(bad.row, bad.text) for bad in data.skipped] == [(4, "c3")]
