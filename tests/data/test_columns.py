"""What columns look like: units that they share, and those that do not describe items."""

from __future__ import annotations

import numpy as np
import pytest

from rkhs.data.columns import (
    column_remarks,
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


def test_constants_names_and_counters_are_named() -> None:
    columns = {"flat": np.full(40, 7.0), "id": np.arange(7001.0, 7041.0), "x": RNG.normal(size=40)}
    remarks, of_rows = column_remarks(np.column_stack(list(columns.values())), list(columns))
    assert [text.split(":")[0] for text in remarks] == ["1 column is constant (flat).", "id"]
    assert of_rows == ["id"]
    cells = np.array([[f"name {i}", "ab"[i % 2]] for i in range(40)], dtype=object)
    assert column_remarks(cells, ["who", "class"])[1] == ["who"]


@pytest.mark.parametrize("dtype", [float, object])
def test_copies_of_rows_are_counted(dtype: type) -> None:
    X = np.vstack([RNG.normal(size=(30, 2))] * 2)[:32].astype(dtype)
    assert row_copies(X).startswith("2 rows are copies of earlier ones")
    assert row_copies(X[:31]) == ""  # fewer than one in twenty
    assert row_copies(X[:30]) == ""


def test_columns_whose_spread_vanishes_do_not_count() -> None:
    X = np.array([[0.0, 1.0, 3.0], [5e-324, 2.0, 7.0], [0.0, 3.0, 1.0]])
    found = spreads(X)
    assert found is not None
    assert (found.narrowest, found.widest) == (1, 2)
