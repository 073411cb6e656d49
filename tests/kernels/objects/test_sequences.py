"""String kernels against two loops."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

import rkhs
from rkhs._core.errors import InputError
from rkhs.kernels import GaussianOf, Kernel, Mismatch, Positions, Spectrum
from rkhs.kernels.objects import strings as strings_module


def windows(text: str, width: int) -> Iterator[str]:
    return (text[i : i + width] for i in range(len(text) - width + 1))


def spectrum(k: int) -> Callable[[str], Counter]:
    return lambda text: Counter(windows(text, k))


def mismatch(k: int, m: int, letters: str) -> Callable[[str], Counter]:
    def count(text: str) -> Counter:
        found: Counter = Counter()
        for part in windows(text, k):
            for word in itertools.product(letters, repeat=k):
                found["".join(word)] += sum(a != b for a, b in zip(word, part, strict=True)) <= m
        return found

    return count


def positions(k: int) -> Callable[[str], Counter]:
    def count(text: str) -> Counter:
        parts = [*windows(text, k)]
        return Counter([*enumerate(parts), *((i - len(text), part) for i, part in enumerate(parts))])

    return count


def gram(count: Callable[[str], Counter], X: list[str], Y: list[str]) -> np.ndarray:
    return np.array([[sum(a[s] * b[s] for s in a) for b in map(count, Y)] for a in map(count, X)], dtype=float)


def texts(n: int, letters: str, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), size=rng.integers(6, 25))) for _ in range(n)]


CASES: list[Any] = [  # kernel, its count, letters
    (Spectrum(3, normalize=False), spectrum(3), "aäß∑🙂"),
    (Spectrum(1, "dna", normalize=False), spectrum(1), "ACGT"),
    (Spectrum(6, "protein", normalize=False), spectrum(6), "ACDEFGHIKLMNPQRSTVWY"),
    (Positions(normalize=False), positions(1), "aäß∑🙂"),
    (Positions(2, "dna", normalize=False), positions(2), "ACGT"),
    (Mismatch(3, 1, "abc", normalize=False), mismatch(3, 1, "abc"), "abc"),
    pytest.param(Mismatch(4, 2, "dna", normalize=False), mismatch(4, 2, "ACGT"), "ACGT", marks=pytest.mark.slow),
    (Mismatch(3, 0, "ab", normalize=False), mismatch(3, 0, "ab"), "ab"),
]


@pytest.mark.parametrize(("kernel", "count", "letters"), CASES, ids=lambda v: repr(v) if isinstance(v, Kernel) else "")
def test_values_are_those_of_two_loops(kernel: Kernel, count: Callable[[str], Counter], letters: str) -> None:
    X, Y = texts(9, letters), texts(6, letters, 1)
    np.testing.assert_array_equal(kernel(X), gram(count, X, X))
    np.testing.assert_array_equal(kernel(X, Y), gram(count, X, Y))
    np.testing.assert_array_equal(kernel.diag(X), np.diag(gram(count, X, X)))
    K = gram(count, X, X)
    cosine = kernel.set_params(normalize=True)(X)
    np.testing.assert_allclose(cosine, K / np.sqrt(np.outer(np.diag(K), np.diag(K))), rtol=1e-14)
    kernel.set_params(normalize=False)


def test_blocks_of_texts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X = texts(12, "ACGT")
    expected = [k(X) for k in (Spectrum(3), Mismatch(4, 1))]
    monkeypatch.setattr(strings_module, "_LETTERS", 40)
    monkeypatch.setattr(strings_module, "_BLOCK", 100)
    for k, K in zip((Spectrum(3), Mismatch(4, 1)), expected, strict=True):
        np.testing.assert_allclose(k(X), K, rtol=1e-14)


def test_words_are_a_bag_of_words() -> None:
    X = ["The cat sat on the mat.", "A dog, a cat: pets!", "mat the on", "Größe zählt"]
    counts = CountVectorizer(token_pattern=r"\w+").fit_transform(X).toarray().astype(float)
    np.testing.assert_array_equal(Spectrum(1, tokens="words", normalize=False)(X), counts @ counts.T)
    pairs = CountVectorizer(token_pattern=r"\w+", ngram_range=(2, 2)).fit_transform(X).toarray().astype(float)
    np.testing.assert_array_equal(Spectrum(2, tokens="words", normalize=False)(X), pairs @ pairs.T)


def test_case_does_not_matter_for_named_alphabets() -> None:
    np.testing.assert_array_equal(Spectrum(2, "dna")(["acGT", "ACG"]), Spectrum(2, "dna")(["ACGT", "acg"]))
    assert Spectrum(2, "acgt")(["acgt", "acg"])[0, 1] > 0


def test_unknown_letters_are_refused_or_their_substrings_left_out() -> None:
    with pytest.raises(InputError, match=r"got 'N' at position 3 of item 1\. .*unknown='skip'"):
        Spectrum(2, "dna")(["ACGT", "ACGNAC"])
    with pytest.raises(InputError, match="got 'x' at position 0"):
        Mismatch(2, 1, "ab")(["xab"])
    K = Spectrum(2, "dna", normalize=False, unknown="skip")(["ACGNAC", "AC"])
    np.testing.assert_array_equal(K, [[5.0, 2.0], [2.0, 1.0]])  # AC twice and CG


def test_strings_go_through_a_model(tmp_path) -> None:
    X = texts(20, "ACGT")
    model = rkhs.KernelAutoencoder(3, kernel=Mismatch(4, 1), reg=1e-3, max_iter=20, tol=1e-2).fit(X[:15])
    rkhs.save(model, tmp_path / "m.rkhs")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "m.rkhs").transform(X[15:]), model.transform(X[15:]))
    assert model.decode(model.codes_, X[:15]).indices.shape == (15, 15)


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (Spectrum(), ["abc", ""], r"not empty; item 1 is ''"),
        (Spectrum(), ["abc", "  "], "not empty"),
        (Spectrum(), ["abc", 3], r"reads texts \(str\); item 1 is a int"),
        (Spectrum(4), ["abcd", "abc"], "at least 4 symbols.*item 1 has 3. Lower k"),
        (Spectrum(1, tokens="words"), ["abc", "..."], "at least 1 symbols.*item 1 has 0"),
        (Spectrum(0), ["a"], "Spectrum.k must be an integer >= 1; got 0"),
        (Spectrum(tokens="syllables"), ["abc"], "Spectrum.tokens must be one of"),
        (Spectrum(1, "dna", "words"), ["abc"], "Spectrum.alphabet must be None with tokens='words'"),
        (Spectrum(1, "aa"), ["abc"], "Spectrum.alphabet must not repeat a letter"),
        (Spectrum(1, unknown="guess"), ["abc"], "Spectrum.unknown must be one of"),
        (Mismatch(2, 2, "ab"), ["ab"], r"Mismatch.m must be an integer from 0 to 1 \(k - 1\)"),
        (Mismatch(2, 1, None), ["ab"], "Mismatch.alphabet must be 'dna', 'rna', 'protein' or a string of distinct"),
        (Mismatch(9, 4, "protein"), ["A" * 9], "has .* k-mers in the mismatch.*lower m or k"),
        (Spectrum(), "abc", "list of objects"),
    ],
)
def test_bad_input_is_named(kernel: Kernel, X: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kernel(X)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("MKKLLACDEFGH", "Correct it, or pass alphabet='protein'$"),
        ("ACGTACGTNACGTACGT", "or pass unknown='skip' to leave out"),
        ("A#?!#T", "or pass alphabet='a string of the letters'$"),
    ],
)
def test_unknown_letters_are_skipped_only_where_they_are_few(text: str, advice: str) -> None:
    with pytest.raises(InputError, match=advice):
        Mismatch(5, 1)([text])


def test_places_with_unknown_letters_are_left_out() -> None:
    kernel = Positions(alphabet="dna", unknown="skip", normalize=False)
    np.testing.assert_array_equal(kernel(["ACNT", "ACGT"]), [[6.0, 6.0], [6.0, 8.0]])


def test_the_bandwidth_of_places_is_chosen_with_the_regulariser() -> None:
    """By multiples of the median, as that of any kernel with one."""
    X = texts(30, "ab")
    found = GaussianOf(Positions(), "0.25*median").resolve(X)
    assert found.gamma == GaussianOf(Positions()).resolve(X).gamma / 4
    model = rkhs.OperatorKernelRegressorCV(kernel=GaussianOf(Positions())).fit(X, np.arange(30.0))
    assert isinstance(model.kernel_.kernel, GaussianOf)
