"""Tables of numbers, texts and gaps as rows of numbers."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import KNNImputer

import rkhs
from rkhs import OperatorKernelRegressor
from rkhs._core.errors import InputError
from rkhs.features import FilledTable
from rkhs.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) @ RNG.normal(size=(4, 4)) + 3.0
GAPS = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
ROWS = GAPS.astype(object)
ROWS[:, 0] = np.where(X[:, 0] > 3.0, "big", "small")
ROWS[RNG.random(X.shape) < 0.1] = None


def test_gaps_of_numbers_are_filled_as_scikit_learn_fills_them() -> None:
    standard = (GAPS - np.nanmean(GAPS, 0)) / np.nanstd(GAPS, 0)
    found = FilledTable().fit(GAPS[:40]).transform(GAPS)
    standard = (GAPS - np.nanmean(GAPS[:40], 0)) / np.nanstd(GAPS[:40], 0)
    np.testing.assert_allclose(found, KNNImputer().fit(standard[:40]).transform(standard), atol=1e-12)


def test_a_column_of_texts_counts_as_one_of_numbers() -> None:
    table = FilledTable().fit(ROWS)
    numbers = table.transform(ROWS)
    known = [row is not None for row in ROWS[:, 0]]
    assert numbers[known][:, :2].var(0).sum() == pytest.approx(1.0)
    back = table.inverse_transform(numbers)
    given = np.array([[cell is not None and cell == cell for cell in row] for row in ROWS])
    assert (back[:, 0] == ROWS[:, 0])[given[:, 0]].all()
    np.testing.assert_allclose(back[:, 1:][given[:, 1:]].astype(float), ROWS[:, 1:][given[:, 1:]].astype(float))
    assert list(table.get_feature_names_out(list("abcd"))) == ["a=big", "a=small", "b", "c", "d"]


def test_rare_texts_constants_and_empty_columns() -> None:
    rows = [(str(i), 7.0, None, "ab"[i % 2] if i else "once", float(i)) for i in range(9)]
    table = FilledTable().fit(rows)
    assert list(table.get_feature_names_out(list("ncexy"))) == ["x=a", "x=b", "y"]
    assert list(table.inverse_transform(table.transform(rows))[3]) == [None, 7.0, None, "b", pytest.approx(3.0)]
    assert FilledTable(max_levels=1).fit(rows).transform(rows).shape == (9, 2)


def test_a_row_that_shares_no_column_gets_means() -> None:
    table = FilledTable().fit(GAPS)
    with pytest.warns(UserWarning, match="without a known cell"):
        found = table.transform([[None] * 4])
    np.testing.assert_array_equal(found, np.zeros((1, 4)))


def test_a_whole_view_may_be_missing() -> None:
    rng = np.random.default_rng(1)
    a = rng.uniform(-2.0, 2.0, (240, 2))
    truth = np.hstack([a, np.sin(a[:, :1] + [0.0, 1.0]), np.cos(a[:, 1:] + [0.0, 1.0])])
    truth += 0.05 * rng.normal(size=truth.shape)
    rows, lacks = truth.copy(), rng.random(240) < 0.2
    first = lacks & (rng.random(240) < 0.5)
    rows[first, :2], rows[lacks & ~first, 2:] = np.nan, np.nan
    train, new = slice(0, 160), slice(160, None)
    model = rkhs.KernelAutoencoder(2, columns="filled", random_state=0).fit(rows[train])
    back = model.inverse_transform(model.transform(rows[new])).astype(float)
    unknown = np.isnan(rows[new]) & ~first[new, None]  # the second view is a function of the first
    error = ((back - truth[new])[unknown] ** 2).mean() / (
        (truth[new] - np.nanmean(rows[train], 0))[unknown] ** 2
    ).mean()
    assert error < 0.2
    with pytest.warns(UserWarning, match="without a known cell"):
        assert model.transform([[None] * 6]).shape == (1, 2)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1.0, "a"), ("b", "a")], "column 0 holds both"),
        ([(1.0,), (1.0,)], "needs a column that varies"),
        ([(1.0, 2.0), (1.0,)], "row 1 has 1 cells"),
        ([(np.inf,), (1.0,)], "finite numbers"),
    ],
)
def test_what_cannot_be_read_is_named(rows: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        FilledTable().fit(rows)


def test_new_rows_must_be_like_those_of_the_fit() -> None:
    table = FilledTable().fit(pd.DataFrame(ROWS, columns=list("abcd")))
    with pytest.raises(InputError, match="in their order"):
        table.transform(pd.DataFrame(ROWS, columns=list("abdc")))
    with pytest.raises(InputError, match="X must hold texts in column 'a', as in fit; got .* in row 0"):
        table.transform(GAPS)
    with pytest.raises(InputError, match="rows of 4 cells; got 3"):
        table.transform(ROWS[:, :3])
    row = dict(zip("abcd", ROWS[0], strict=True))
    with pytest.raises(InputError, match=r"it lacks \['a'\], and \['colr'\] are not among them"):
        table.transform([{"colr": 1, **{name: row[name] for name in "bcd"}}])
    with pytest.raises(InputError, match=r"row 1 and row 0 differ in \['a'\]"):
        table.transform([row, {name: row[name] for name in "bcd"}])
    for cell in ("1.0", "2024-01-01", datetime.date(2024, 1, 1), True, np.True_):
        with pytest.raises(InputError, match="X must hold numbers in column 'b', as in fit; got .* in row 1"):
            table.transform([{**row, "b": 1.0}, {**row, "b": cell}])


def test_truth_values_and_dates_are_read_where_the_fit_had_them() -> None:
    rows = [(i % 2 == 0, f"2024-01-{i + 1:02}", float(i), "x" if i % 3 else "01/2024") for i in range(9)]
    table = FilledTable().fit(rows)
    assert [column.get("dated", False) for column in table.columns_] == [False, True, False, False]
    found = table.transform([(True, "2024-01-03", 2.0, "01/2024")])  # the text is no date in a column of texts
    assert found[0, :3] == pytest.approx(table.transform(rows)[2, :3])
    with pytest.raises(InputError, match="hold dates such as 2024-01-31 in column 1, as in fit; got 'soon' in row 0"):
        table.transform([(True, "soon", 2.0, None)])
    with pytest.raises(InputError, match="hold dates such as 2024-01-31 in column 1, as in fit; got 'soon' in row 1"):
        table.transform([(True, "2024-01-03", 2.0, None), (True, "soon", 2.0, None)])


def test_a_row_without_a_known_cell_is_reported() -> None:
    table = FilledTable().fit(GAPS)
    with pytest.warns(UserWarning, match="rows without a known cell, such as row 1, get the mean of each column"):
        table.transform([list(X[0]), [None] * 4])


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", [rkhs.KernelAutoencoder, rkhs.KernelPCA, rkhs.KernelContrastive])
def test_estimators_read_them_and_files_keep_them(kind: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    model = kind(2, columns="filled").fit(frame)
    assert (model.n_features_in_, list(model.feature_names_in_)) == (4, list("abcd"))
    np.testing.assert_array_equal(model.transform(ROWS), model.transform(frame))
    plain = kind(2).fit(FilledTable().fit_transform(ROWS))
    np.testing.assert_array_equal(plain.codes_, model.codes_)
    rkhs.save(model, tmp_path / "m")
    again = rkhs.load(tmp_path / "m")
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    if hasattr(model, "inverse_transform"):
        assert set(again.inverse_transform(model.codes_)[:, 0]) == {"big", "small"}


def test_models_that_have_no_columns_refuse_them() -> None:
    with pytest.raises(InputError, match="columns='filled' is for rows in memory and a kernel on vectors"):
        rkhs.KernelAutoencoder(2, kernel="mixed_table", columns="filled").fit(ROWS)
    model = rkhs.KernelAutoencoder(2, columns="filled").fit(ROWS)
    with pytest.raises(InputError, match="use inverse_transform"):
        model.preimages(model.codes_)


def test_rows_given_as_dicts_are_read_by_their_keys() -> None:
    rows = [{"a": float(i), "s": "xy"[i % 2]} for i in range(8)]
    table = FilledTable().fit(rows)
    turned = [{"s": row["s"], "a": row["a"]} for row in rows]
    np.testing.assert_array_equal(table.transform(turned), table.transform(rows))
    with pytest.raises(InputError, match=r"it lacks \['a'\], and \['b'\] are not among them"):
        table.transform([{"b": 1.0, "s": "x"}])


def test_a_mixed_kernel_reads_dicts_by_the_names_of_the_frame() -> None:
    X = pd.DataFrame({"a": np.arange(12.0), "s": list("xyz") * 4})
    model = rkhs.KernelPCA(2, kernel="mixed_table").fit(X)
    turned, whole = X[["s", "a"]].to_dict("records"), X.to_dict("records")
    np.testing.assert_array_equal(model.transform(turned), model.transform(X))
    model = rkhs.KernelPCA(2, kernel="mixed_table").fit(whole)
    np.testing.assert_array_equal(model.transform(turned), model.transform(whole))


@pytest.mark.parametrize("other", [[1.0, "x"], 3, None])
def test_rows_as_dicts_next_to_other_rows_are_refused(other) -> None:
    """A service gets them from strangers."""
    table = FilledTable().fit([{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}, {"a": 3.0, "b": "x"}])
    with pytest.raises(InputError, match="must all be dicts; row 1 is a"):
        table.transform([{"a": 1.0, "b": "x"}, other])


def test_with_one_row_enough_an_unseen_text_is_as_far_from_all_as_a_lone_one_is() -> None:
    rows = [(text, float(i)) for i, text in enumerate("aabbcd")]
    table = FilledTable(min_rows=1).fit(rows)
    codes = table.transform([*rows, ("unseen", 0.0)])[:, :-1]
    distances = ((codes[:, None] - codes[None]) ** 2).sum(2)
    np.testing.assert_allclose(distances[6, :6], distances[5, 0])  # d stands in one row, and so far from all others
    np.testing.assert_allclose(distances[4, [0, 1, 2, 3, 5]], distances[5, 0])
    assert list(table.inverse_transform(table.transform(rows))[:, 0]) == list("aabbcd")
    assert FilledTable(min_rows=1).fit([*rows, ("g", 0.0), ("h", 1.0), ("i", 2.0)]).rows_.shape[1] == 1  # names
    assert len(table.get_feature_names_out()) == table.rows_.shape[1] == 6
    with pytest.warns(UserWarning, match="has not seen"):
        table.transform([("e", 1.0), ("f", 1.0), ("g", 1.0)])


def test_intervals_cover_new_rows_whose_texts_hardly_repeat() -> None:
    rng = np.random.default_rng(0)
    cells, effects = rng.integers(0, 90, 420), 3.0 * rng.normal(size=90)
    x = rng.normal(size=420)
    y = effects[cells] + x + 0.3 * rng.normal(size=420)
    X = np.array([[f"t{cell}", number] for cell, number in zip(cells.tolist(), x.tolist(), strict=True)], dtype=object)
    model = OperatorKernelRegressor(kernel=Gaussian(0.3), columns="filled", reg=1e-3).fit(X[:120], y[:120])
    sets = model.predict_set(X[120:], coverage=0.9)  # no warning: so many new texts are to be expected
    assert np.mean((sets.lower <= y[120:]) & (y[120:] <= sets.upper)) > 0.87


def test_ranks_leave_the_other_rows_visible_below_wild_values() -> None:
    """Numbers become normal scores, and come back; a text column, flags and gaps are as before."""
    rng = np.random.default_rng(0)
    amounts = np.exp(2.0 * rng.normal(size=400))
    rows = [(amount, i % 2, "ab"[i % 2]) for i, amount in enumerate([*amounts, 1e9])]
    ranks, plain = FilledTable(numbers="ranks").fit(rows), FilledTable().fit(rows)
    numbers = ranks.transform(rows)
    np.testing.assert_allclose(numbers[:, 1:], plain.transform(rows)[:, 1:])
    assert np.ptp(plain.transform(rows)[:400, 0]) < 0.01 < 4.0 < np.ptp(numbers[:400, 0])
    assert (np.argsort(numbers[:400, 0]) == np.argsort(amounts)).all()
    back = ranks.inverse_transform(numbers)
    np.testing.assert_allclose(back[:, 0].astype(float), [*amounts, 1e9])
    with pytest.warns(UserWarning, match="far outside of the range of the fit"):
        far = ranks.transform([(5e9, 1, "a")])
    assert far[0, 0] > numbers[:, 0].max()
    assert ranks.inverse_transform(far)[0, 0] == pytest.approx(5e9)


def test_estimators_read_tables_by_ranks() -> None:
    model = rkhs.KernelPCA(2, columns="ranked").fit(ROWS)
    assert model.reader_.filling.numbers == "ranks"
    with pytest.raises(InputError, match="numbers"):
        FilledTable(numbers="rank").fit(ROWS)


def test_a_column_of_true_and_false_takes_truth_values_and_other_spellings() -> None:
    rows = [(["True", "False"][i % 3 > 0], "ab"[i % 2], float(i)) for i in range(12)]
    table = FilledTable().fit(rows)
    numbers = table.transform([("True", "a", 1.0), ("False", "b", 2.0), (None, "b", 2.0)])
    with warnings.catch_warnings(action="error"):
        for true, false in ((True, False), (1, 0), ("true", " FALSE "), (np.True_, 0.0), (True, "false")):
            new = [(true, "A", 1.0), (false, "b ", 2.0), (None, "B", 2.0)]
            np.testing.assert_array_equal(table.transform(new), numbers)
        frame = pd.DataFrame({"t": [True, False], "s": ["a", "b"], "n": [1.0, 2.0]})
        np.testing.assert_array_equal(table.transform(frame), numbers[:2])
    with pytest.raises(InputError, match="X must hold texts in column 1, as in fit; got True in row 0"):
        table.transform([(True, True, 1.0)])
    with pytest.raises(InputError, match="X must hold truth values in column 0, as in fit; got .* in row 0"):
        table.transform([(datetime.date(2024, 1, 31), "a", 1.0)])
    cased = FilledTable().fit([("aA"[i % 2], float(i)) for i in range(8)])
    with pytest.warns(UserWarning, match="texts that the fit has not seen"):
        cased.transform([("a ", 1.0)])
