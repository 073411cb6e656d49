"""Candidates in chunks: the same ranking as at once, from iterables and files, in bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import InputError
from rkhs.estimators import decode_chunks
from rkhs.evaluation import decoding_quality
from rkhs.kernels import FromFunction, Gaussian, Linear, MeanEmbedding


def data(n: int = 60) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 3))


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [1, 7, 60, 100])
def test_chunks_rank_like_the_whole(size: int) -> None:
    X = data()
    X[50] = X[3]  # a tie goes to the earlier candidate
    for model in (KernelPCA(2).fit(X[:20]), KernelAutoencoder(2, reg=1e-3).fit(X[:20])):
        codes = model.transform(X[20:25])
        whole = model.decode(codes, X, n_best=6)
        chunks = decode_chunks(model, codes, (X[i : i + size] for i in range(0, 60, size)), n_best=6)
        np.testing.assert_array_equal(chunks.indices, whole.indices)
        np.testing.assert_allclose(chunks.distances, whole.distances, rtol=1e-9, atol=1e-12)


def test_objects_and_gram_matrices_in_chunks() -> None:
    words = ["kernel", "kennel", "matrix", "tricks", "colonel", "metric"]
    model = KernelPCA(2, kernel=FromFunction(lambda x, y: float(len(set(x) & set(y))))).fit(words[:4])
    codes = model.transform(words[4:])
    found = decode_chunks(model, codes, [words[:2], words[2:]], n_best=3)
    np.testing.assert_array_equal(found.indices, model.decode(codes, words, n_best=3).indices)
    X = data()
    views = [Gaussian()(X), Linear()(X)]
    several = KernelPCA(2, kernel="precomputed").fit([K[:20, :20] for K in views])
    joined = sum(m * K for m, K in zip(several.reader_.view_weights, views, strict=True))
    chunks = ([K[i : i + 8, :20] for K in views] for i in range(20, 60, 8))
    got = decode_chunks(several, several.codes_[:3], chunks, n_best=4, diag=float(np.diag(joined).mean()))
    whole = several.decode(
        several.codes_[:3], [K[20:, :20] for K in views], n_best=4, diag=float(np.diag(joined).mean())
    )
    np.testing.assert_array_equal(got.indices, whole.indices)
    with pytest.raises(InputError, match="at least one chunk"):
        decode_chunks(model, codes, [])


def test_candidates_that_are_matrices_are_counted_one_by_one() -> None:
    sets = [np.random.default_rng(i).normal(size=(3 + i % 3, 2)) for i in range(12)]
    model = KernelPCA(2, kernel=MeanEmbedding()).fit(sets[:8])
    codes = model.transform(sets[8:])
    found = decode_chunks(model, codes, [sets[:5], sets[5:]], n_best=3)
    np.testing.assert_array_equal(found.indices, model.decode(codes, sets, n_best=3).indices)


def test_quality_counts_ranks() -> None:
    X = data()
    model = KernelPCA(3, kernel="linear").fit(X[:30])  # loses nothing: every row finds itself
    found = decoding_quality(model, X[30:])
    assert found.top == {1: 1.0, 5: 1.0, 10: 1.0}
    library = np.concatenate([X, X[30:31]])
    again = decoding_quality(model, X[30:], library, np.arange(30, 60))
    assert again.n_candidates == 61
    assert again.ranks[0] == 2.0  # its copy ties with it
    assert (again.ranks[1:] == 1.0).all()


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (None, "candidates and truth must be given together"),
        ([70, 1], "number of candidates 60"),
        ([0], "index per sample, 2"),
    ],
)
def test_bad_truth(truth: Any, message: str) -> None:
    X = data()
    with pytest.raises(InputError, match=message):
        decoding_quality(KernelPCA(2).fit(X), X[:2], X, truth)


@pytest.mark.parametrize("model", [None, 3.0, KernelPCA, np.ones(3), Gaussian()])
def test_what_is_no_model_is_named(model: Any, tmp_path: Path) -> None:
    X = data()
    for act in (
        lambda: decoding_quality(model, X),
        lambda: decode_chunks(model, X, [X]),
    ):
        with pytest.raises(InputError, match="model must be a fitted estimator with"):
            act()
    with pytest.raises(InputError, match="ks must be a sequence of whole numbers"):
        decoding_quality(KernelPCA(2).fit(X), X, ks=5)
