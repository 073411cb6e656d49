"""Codes against other inputs under the same learners: what is scored, and what the sentence says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.evaluation import HeadScore, compare_codes, comparison
from rkhs.evaluation.comparison import OURS, RAW, _difference_error, _verdict, corrected_error

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) * [1.0, 1.0, 1.0, 1000.0]
Y = X[:, 0] > 0.0


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_TREES", 5)


@pytest.mark.slow
def test_classes_and_numbers_are_told_apart() -> None:
    quick: dict[str, Any] = {"n_components": 2, "n_splits": 2}
    assert compare_codes(X[:30], np.where(Y[:30], "yes", "no"), **quick).measure == "accuracy"
    assert compare_codes(X[:30], Y[:30].astype(int), **quick).measure == "R^2"
    found = compare_codes(X, X[:, 0] + 0.1 * X[:, 1], **quick)
    assert found.measure == "R^2"
    assert {row.head for row in found.rows} == {"neighbours", "smooth", "forest"}
    assert {RAW, OURS, "PCA", "kernel PCA"} <= {row.method for row in found.rows}
    # The columns were standardised: in their own units the fourth would hide the first from neighbours.
    assert max(row.mean for row in found.rows if row.method == RAW and row.head == "neighbours") > 0.3


def test_columns_are_scaled_by_the_training_rows_alone() -> None:
    train, test = np.arange(40), np.arange(40, 60)
    inside, outside = comparison._parts(X, train, test, "table")
    np.testing.assert_allclose(inside, (X[:40] - X[:40].mean(0)) / X[:40].std(0))
    np.testing.assert_allclose(outside, (X[40:] - X[:40].mean(0)) / X[:40].std(0))


def test_learners_see_few_labels_and_codes_all_rows() -> None:
    known, targets = np.arange(10, 60), np.r_[np.zeros(40, int), np.ones(20, int)]
    splits = list(comparison._splits(targets, known, known, True, 3, 6, 0))
    for unlabelled, labelled, test in splits:
        assert sorted(np.concatenate([unlabelled, labelled, test])) == known.tolist()
        assert (len(labelled), len(test), targets[labelled].sum()) == (6, 13, 2)
    assert set(splits[0][1]) != set(splits[1][1])
    sizes = comparison._sizes(splits, 60, 50)
    assert (sizes.codes, sizes.learners, sizes.test) == (47, 6, 13)
    (none, labelled, _), *_ = comparison._splits(targets, known, known, True, 3, 1000, 0)
    assert (len(none), len(labelled)) == (0, 37)


@pytest.mark.slow
def test_a_gram_matrix_is_scored_as_its_vectors_are() -> None:
    spread = X / X.std(0)
    vectors = compare_codes(spread, Y, n_components=2, n_splits=2, kind="series", kernel="linear")
    gram = compare_codes(spread @ spread.T, Y, n_components=2, n_splits=2, kind="gram")
    for name in (RAW, "kernel PCA"):
        first, second = (
            [row for row in f.rows if (row.method, row.head) == (name, "neighbours")] for f in (vectors, gram)
        )
        np.testing.assert_allclose(first[0].scores, second[0].scores)


@pytest.mark.slow
def test_many_rows_are_thinned_and_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = compare_codes(np.tile(X, (5, 1)), np.tile(Y, 5), n_components=2, n_splits=2, at_most=40, progress=True)
    said = capsys.readouterr().err
    assert said.startswith(f"\rsplit 1 of 2: {RAW}, 0.0 s\x1b[K")
    assert said.endswith("\r\x1b[K")
    assert {len(row.scores) for row in found.rows} == {2}


def made(ours: list[float], raw: list[float], pca: list[float]) -> str:
    spread = np.array([-0.01, 0.0, 0.01, 0.0])
    rows = [
        HeadScore(name, head, mean + spread * (1 + 0.1 * i), 1.0)
        for i, (name, means) in enumerate(((OURS, ours), (RAW, raw), ("PCA", pca)))
        for head, mean in zip(("neighbours", "smooth", "forest"), means, strict=True)
    ]
    return _verdict(rows, "accuracy", 10, 64)


@pytest.mark.parametrize(
    ("ours", "raw", "pca", "said"),
    [
        (
            [0.9, 0.9, 0.9],
            [0.8, 0.8, 0.9],
            [0.7, 0.7, 0.7],
            "Use the codes: they are better than the raw input with nearest",
        ),
        (
            [0.9, 0.9, 0.9],
            [0.9, 0.9, 0.9],
            [0.9, 0.9, 0.9],
            "as good as the raw input within the error .*could not be detected.*not significantly better than PCA",
        ),
        ([0.8, 0.8, 0.8], [0.9, 0.9, 0.9], [0.7, 0.7, 0.7], "Do not use the codes to predict this"),
        (
            [0.9, 0.8, 0.9],
            [0.8, 0.9, 0.9],
            [0.7, 0.7, 0.7],
            "with nearest neighbours and a random forest, not with a smooth",
        ),
    ],
)
def test_the_sentence_follows_the_scores(ours: list[float], raw: list[float], pca: list[float], said: str) -> None:
    import re

    sentence = made(ours, raw, pca)
    assert re.search(said, sentence), sentence
    assert ("simpler" in sentence) == (pca[0] == ours[0])


def test_the_error_of_splits_that_share_rows() -> None:
    scores = np.array([0.1, 0.2, 0.3, 0.2])
    assert corrected_error(scores) == pytest.approx(scores.std(ddof=1) * (0.25 + 1 / 3) ** 0.5)
    assert corrected_error(scores[:1]) == np.inf


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: compare_codes(X[:9], Y[:9]), "known in at least 20 rows; got 9 of 9"),
        (lambda: compare_codes(X, Y[:5]), "one value per item"),
        (lambda: compare_codes(X, np.where(np.arange(60) < 19, Y, np.nan)), "got 19 of 60"),
        (lambda: compare_codes(X, np.full(60, np.inf)), "y must be finite, or NaN"),
        (lambda: compare_codes(X, np.ones(60)), "two different values"),
        (lambda: compare_codes(X, Y, n_components=9), "n_components must be at most 4"),
        (lambda: compare_codes(X, Y, kind="gram"), "square Gram matrix"),
        (lambda: compare_codes(X, np.arange(60) == 59, n_components=1), "at least two rows"),
        (lambda: compare_codes(np.full((30, 2), np.nan), Y[:30]), "X must be finite"),
    ],
)
def test_what_cannot_be_compared_is_said(call: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        call()


@pytest.mark.slow
def test_rows_without_a_target_help_to_make_the_codes_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    parts = comparison._parts

    def spy(items: np.ndarray, train: np.ndarray, test: np.ndarray, kind: str) -> Any:
        seen.append((len(train), len(test)))
        assert not set(train) & set(test)
        assert set(range(60)) - set(known) <= set(train)  # those without a target
        assert set(test) <= set(known)
        return parts(items, train, test, kind)

    monkeypatch.setattr(comparison, "_parts", spy)
    known = np.arange(0, 60, 2)
    for gap in (np.nan, None):
        y = np.array(["yes" if v else "no" for v in Y], dtype=object)
        y[np.arange(1, 60, 2)] = gap
        found = compare_codes(X, y, n_components=2, n_splits=2)
        assert found.measure == "accuracy"
        assert found.sizes is not None
        assert (found.sizes.used, found.sizes.known, found.sizes.codes, found.sizes.learners) == (60, 30, 52, 22)
        assert (found.sizes.test, {row.n_tested for row in found.rows}) == (8, {found.sizes.tested})
        assert 8 <= found.sizes.tested <= 16
    assert set(seen) == {(52, 8)}


def test_known_rows_are_kept_first_where_rows_are_thinned() -> None:
    y = np.where(np.arange(60) % 2, np.nan, Y)
    items, targets, known, *_ = comparison._read(X, y, "table", 40, 0)
    assert (len(items), len(known)) == (40, 30)
    np.testing.assert_array_equal(items[known], X[::2])
    np.testing.assert_array_equal(targets[known], Y[::2])
    items, _, known, *_ = comparison._read(X, y, "table", 25, 0)
    assert (len(items), len(known)) == (25, 25)


def test_equal_scores_of_few_rows_are_no_certainty() -> None:
    few = HeadScore(OURS, "smooth", np.full(5, 15 / 16), 1.0, 16)
    assert few.error == pytest.approx((0.85 * 0.15 / 20) ** 0.5)
    assert HeadScore(OURS, "smooth", np.full(5, 15 / 16), 1.0).error == 0.0  # not counted: numbers
    apart = np.array([0.2, 0.3, 0.1, 0.2])
    assert HeadScore(OURS, "smooth", apart, 1.0, 10**6).error == corrected_error(apart)
    # One row in 16, five times the same: nothing is shown; six rows of 60 are.
    assert 2.0 * _difference_error(np.full(5, 1 / 16), 16) > 1 / 16
    assert 2.0 * _difference_error(np.full(5, 6 / 60), 60) < 6 / 60
    assert _difference_error(np.zeros(5), 0) == 0.0


@pytest.mark.slow
def test_a_mixed_table_is_compared() -> None:
    rng = np.random.default_rng(1)
    cells = np.empty((40, 3), dtype=object)
    cells[:, 0], cells[:, 1] = rng.normal(size=40), rng.choice(["a", "b"], 40)
    cells[:, 2] = np.where(rng.random(40) < 0.2, None, rng.normal(size=40))
    y = cells[:, 0].astype(float) > 0
    found = compare_codes(cells, y, kind="mixed", n_components=2, n_splits=2)
    assert {RAW, OURS, "PCA", "kernel PCA"} <= {row.method for row in found.rows}
    assert found.n_columns == 3
