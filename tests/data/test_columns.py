"""What columns look like: units that they share, and those that do not describe items."""

from __future__ import annotations

import numpy as np
import pytest

from rkhs._core.dates import are_dates, day_numbers
from rkhs._core.errors import InputError
from rkhs.data.columns import (
    are_counts,
    column_remarks,
    curve_remarks,
    row_copies,
    share_a_unit,
    spreads,
    wants_scaling,
)

RNG = np.random.default_rng(0)


def curves() -> np.ndarray:
    """Smooth curves that begin near zero and end wide."""
    t = np.linspace(0.0, 1.0, 40)
    waves = np.stack([np.sin(np.pi * k * t / 2.0) for k in range(1, 5)])
    return RNG.normal(size=(60, 4)) @ waves * np.exp(4.0 * t)


def bits() -> np.ndarray:
    return (RNG.random((200, 30)) < np.geomspace(0.004, 0.5, 30)).astype(float)


def table(widths: np.ndarray) -> np.ndarray:
    return RNG.normal(size=(80, len(widths))) * widths + widths


@pytest.mark.parametrize("make", [curves, bits], ids=["curves", "bits"])
def test_columns_of_one_unit_are_left_as_they_are(make: object) -> None:
    X = make()  # type: ignore[operator]
    found = spreads(X)
    assert found is not None
    assert found.ratio > 5.0
    assert share_a_unit(X)
    assert not wants_scaling(X)


@pytest.mark.parametrize("d", [3, 6, 20])
def test_columns_of_different_units_are_standardised(d: int) -> None:
    widths = 10.0 ** RNG.permutation(np.linspace(-2.0, 3.0, d))
    assert not share_a_unit(table(widths))
    assert wants_scaling(table(widths))
    assert not wants_scaling(table(np.linspace(1.0, 2.0, d)))


def test_a_few_rows_far_out_do_not_hide_curves() -> None:
    X = curves()
    X[:2] = 1e4 * RNG.normal(size=(2, 40))
    assert share_a_unit(X)


def test_spikes_in_many_curves_do_not_hide_them() -> None:
    X = curves()
    X = np.concatenate([X, X * RNG.normal(size=(60, 1))]) + 5.0 * RNG.normal(size=(120, 40))
    hit = RNG.random(X.shape) < 0.02  # more than half of the rows have one
    X[hit] += 2e3 * RNG.normal(size=int(hit.sum())) * RNG.random(40)[np.nonzero(hit)[1]] ** 3
    assert float(hit.any(1).mean()) > 0.4
    assert share_a_unit(X)
    assert not wants_scaling(X)


def test_tails_do_not_make_units_alike() -> None:
    X = np.exp(RNG.normal(size=(200, 20)) * RNG.uniform(0.3, 2.0, 20)) * 10.0 ** RNG.uniform(-3.0, 3.0, 20)
    assert not share_a_unit(X)
    assert wants_scaling(X)


def test_constant_columns_and_small_tables_decide_nothing() -> None:
    assert spreads(np.ones((5, 3))) is None
    assert not wants_scaling(np.ones((5, 3)))
    assert not wants_scaling(np.array([[1.0, 1e6]]))
    found = spreads(np.array([[1.0, np.nan, 5.0], [2.0, 0.0, 5.0], [3.0, 4.0, 5.0]]))
    assert found is not None
    assert (found.widest, found.narrowest, found.most) == (1, 0, 2.0)


def remark(values: np.ndarray, name: str = "a", others: int = 3) -> str:
    """What is said of a column in front of measured ones."""
    X = np.column_stack([values, RNG.normal(size=(len(values), others))])
    return texts(X, [name, *(f"x{j}" for j in range(others))])


def texts(X: np.ndarray, names: list[str]) -> str:
    return " ".join(remark.text for remark in column_remarks(X, names))


def test_identifiers_are_named() -> None:
    assert "a looks like identifiers: all values differ and count the rows" in remark(np.arange(1001.0, 1031.0))
    scattered = RNG.choice(10**6, 30, replace=False).astype(float)
    assert "patient_id looks like identifiers: all values differ." in remark(scattered, "patient_id")
    assert remark(scattered, "income") == ""
    assert remark(RNG.normal(size=30), "patient_id") == ""


def test_dates_are_named() -> None:
    days = 20230100.0 + 100 * RNG.integers(0, 12, 40) + RNG.integers(1, 29, 40)
    assert "a looks like a date" in remark(days)
    assert "a looks like a date" in remark(1.6e9 + RNG.integers(0, 10**7, 40).astype(float))
    assert remark(days + 50.0) == ""  # days up to 78
    assert remark(RNG.integers(0, 10**7, 40).astype(float)) == ""


def test_classes_are_named_at_an_end_or_by_their_name() -> None:
    kinds = RNG.integers(0, 3, 40).astype(float)
    assert "a looks like a class: 3 different whole numbers" in remark(kinds)
    assert remark(RNG.normal(size=40)) == ""
    counts = np.column_stack([RNG.integers(0, 3, (40, 4)).astype(float), RNG.normal(size=40)])
    assert column_remarks(counts, ["a", "b", "c", "d", "e"]) == []  # counts, like their neighbours
    assert "c_label looks like a class" in texts(counts, ["a", "b", "c_label", "d", "e"])


def test_constants_and_copies_are_named() -> None:
    x = RNG.normal(size=40)
    X = np.column_stack([x, 1.8 * x + 32.0, x, np.full(40, 7.0), x + 1e-3 * RNG.normal(size=40)])
    said = [remark.text for remark in column_remarks(X, ["c", "f", "again", "flat", "near"])]
    assert said[0] == "1 column is constant (flat)."
    assert said[1].startswith("f is a copy in another unit of c")
    assert said[2].startswith("again is a copy of c")
    assert len(said) == 3


def test_copies_of_the_first_rows_alone_are_none() -> None:
    x = RNG.normal(size=3000)
    y = x.copy()
    y[2500:] += RNG.normal(size=500)
    assert column_remarks(np.column_stack([x, y]), ["x", "y"]) == []


ROWS = 40
REGIONS = ["north", "south", "west"]


def mixed(**columns: list[object]) -> str:
    """What is said of columns of objects beside a measured one and one of texts."""
    beside = {"region": [REGIONS[i % 3] for i in range(ROWS)], "size": RNG.normal(size=ROWS).tolist()}
    cells = np.array(list((columns | beside).values()), dtype=object).T
    return texts(cells, [*columns, *beside])


def test_columns_of_objects_are_read_like_columns_of_numbers() -> None:
    assert mixed() == ""
    ids: list[object] = RNG.choice(10**6, ROWS, replace=False).astype(float).tolist()
    assert "customer_id looks like identifiers: all values differ. They" in mixed(customer_id=ids)
    assert "name looks like identifiers" in mixed(name=[f"n{i}" for i in range(ROWS)])
    both = mixed(customer_id=ids, name=[f"n{i}" for i in range(ROWS)])
    assert "customer_id, name look like identifiers" in both
    assert "diagnosis looks like a class: 2 different texts" in mixed(diagnosis=["yes", "no"] * (ROWS // 2))


def test_dates_are_said_as_texts_and_as_days() -> None:
    days = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(ROWS)]
    said = "day holds dates, read as days since the first of January 1970"
    assert said in mixed(day=days)
    (remark,) = column_remarks(np.arange(19000.0, 19000.0 + ROWS)[:, None], ["day"], ["day"])
    assert said in remark.text
    assert not remark.leave_out
    assert "identifiers" not in mixed(day=[f"2024-01-{1 + i:02d}" for i in range(31)] + ["2023-01-01"] * (ROWS - 31))
    assert "dates" not in mixed(day=[*days[:-1], "never"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31", True),
        ("2024/1/31", True),
        ("31.01.2024", True),
        ("1/31/2024", True),
        ("2024-01-31 12:30", True),
        ("2024-01-31T12:30:01Z", True),
        ("31 Jan 2024", True),
        ("31-jan-24", True),
        ("January 31, 2024", True),
        ("31/01/24 12:30", True),
        ("31 Jam 2024", False),
        ("31/13/24", False),
        ("2024-13-31", False),
        ("32.01.2024", False),
        ("01/2024", True),
        ("Jan 2024", True),
        ("13/2024", False),
        ("2024-01", True),
        ("2024-01/31", False),
        ("2024-01-31-7", False),
        ("1.2.3", False),
    ],
)
def test_what_a_date_is(text: str, expected: bool) -> None:
    assert are_dates([text]) is expected
    assert are_dates(["2023-05-05", text]) is expected


def test_no_text_is_no_date() -> None:
    assert not are_dates([])


def test_dates_of_one_form_say_which_number_is_the_month_and_dates_of_several_do_not() -> None:
    first = day_numbers(["2024-02-01", "2024-02-13"])
    for texts in (["01/02/2024", "13/02/2024"], ["02/01/2024", "02/13/2024"], ["2024-02-01", "13.02.2024"]):
        assert day_numbers(texts) == day_numbers(texts[::-1])[::-1] == first
    for texts in (["2024-01-31", "01/02/2024"], ["13/02/2024", "01/02/2024", "2024-01-31"]):
        with pytest.raises(InputError, match="dates must be unambiguous; got '01/02/2024'"):
            day_numbers(texts)


@pytest.mark.parametrize("gap", [None, float("nan")])
def test_columns_that_are_mostly_empty_are_named(gap: object) -> None:
    few = ["yes", "no", *[gap] * (ROWS - 2)]
    assert "churn looks like a class that is known for few rows: 38 of 40 cells are empty" in mixed(churn=few)
    one = ["yes", *[gap] * (ROWS - 1)]
    assert "churn is mostly empty: 39 of 40 cells are empty" in mixed(churn=one)
    assert mixed(churn=[gap if i % 2 else "no" if i % 4 else "yes" for i in range(ROWS)]) == ""


def test_numbers_far_from_all_others_are_named() -> None:
    x = RNG.normal(size=ROWS)
    gaps = np.where(np.arange(ROWS) % 9 == 0, -99.0, x)
    assert "-99 in a is far from all other values" in remark(gaps)
    assert "-999 in a is the only value below zero" in remark(np.append(x**2 * 1e5, -999.0))
    both = remark(np.where(np.arange(ROWS) == 5, -999.0, gaps))
    assert "-99 in a is far" in both
    assert "-999 in a is far" in both
    assert "-99" not in remark(np.append(np.arange(-118.0, -80.0), -99.0))  # among others like it
    assert remark(np.append(np.linspace(0.0, 98.0, ROWS - 1), 99.0)) == ""  # a share in percent
    assert "a holds one value far from all others, 1,000,000" in remark(np.append(x, 1e6))
    assert remark(np.append(x, 20.0)) == ""
    many = np.random.default_rng(5).normal(size=400)
    assert "far from all others, 20:" in remark(np.append(many, 20.0))
    assert "far from all others, 1e-06:" in remark(np.append(1e3 * np.exp(many), 1e-6))
    assert remark(np.append(many, 7.0)) == remark(np.exp(many)) == ""


def test_what_is_no_value_of_curves_is_named() -> None:
    X = curves()
    names = [f"t{j}" for j in range(X.shape[1])]
    assert curve_remarks(X, names) == []
    kinds = RNG.integers(0, 3, len(X)).astype(float)
    beside = np.column_stack([np.arange(1.0, 1.0 + len(X)), kinds, X, 1e4 * RNG.normal(size=len(X))])
    found = curve_remarks(beside, ["nr", "label", *names, "fat"])
    assert [remark.leave_out for remark in found] == [("nr",), ("label",), ("fat",)]


@pytest.mark.parametrize("dtype", [float, object])
def test_copies_of_rows_are_counted(dtype: type) -> None:
    X = np.vstack([RNG.normal(size=(30, 2))] * 2)[:32].astype(dtype)
    assert row_copies(X).startswith("2 rows are copies of earlier ones")
    assert row_copies(X[:31]) == ""  # fewer than one in twenty
    assert row_copies(X[:30]) == ""


def test_what_may_be_left_out_is_listed() -> None:
    x = RNG.normal(size=ROWS)
    found = column_remarks(np.column_stack([np.arange(7.0, 7.0 + ROWS), x, x, np.ones(ROWS)]), ["n", "a", "b", "c"])
    assert [remark.leave_out for remark in found] == [("n",), (), ("b",)]


def test_columns_whose_spread_vanishes_do_not_count() -> None:
    X = np.array([[0.0, 1.0, 3.0], [5e-324, 2.0, 7.0], [0.0, 3.0, 1.0]])
    found = spreads(X)
    assert found is not None
    assert (found.narrowest, found.widest) == (1, 2)


def test_wide_tables_of_counts_are_named() -> None:
    X = np.random.default_rng(0).poisson(3.0, (20, 60)).astype(float)
    X[3, 0], X[:, 1] = 5000.0, np.where(np.arange(20) == 4, 99.0, X[:, 1])
    names = [f"g{j}" for j in range(60)]
    said = " ".join(remark.text for remark in column_remarks(X, names))
    assert "99" not in said
    assert are_counts(X, names)
    for pixels in ("", "column {}", "pixel{}", "V{}", "{}x7", "{}"):
        assert not are_counts(X, [pixels.format(j) for j in range(60)])
    white = np.where(RNG.random(X.shape) < 0.01, 5000.0, X)
    for other in (white, X - 1.0, X / 3.0, np.minimum(X, 900.0), np.vstack([X] * 4)):
        assert not are_counts(other, names)
