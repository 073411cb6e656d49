"""Texts and biological sequences: kernels that count short substrings, or words."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np

from rkhs._core.checks import Declared, check_choice, check_count, check_flag, choice
from rkhs._core.errors import InputError
from rkhs.kernels.objects.parts import Counts, PartsKernel, count_parts, mix, stack

_ALPHABETS = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}
_MOST_UNKNOWN = 0.5  # share of unknown letters from which another alphabet is advised
_BLOCK = 2**20  # occurrences of parts held at once
_LETTERS = 50_000  # letters of the texts of a block, at least one text
_WORDS = re.compile(r"\w+")


class _Symbols:
    """Symbols of consecutive texts in one array, with the text of each; unknown letters are marked."""

    def __init__(self, texts: list[np.ndarray]) -> None:
        self.n = len(texts)
        self.symbols = np.concatenate(texts)
        self.text_of_symbol = np.repeat(np.arange(self.n), [len(text) for text in texts])

    def windows(self, width: int) -> np.ndarray:
        """Starts of the windows that lie within one text and contain no unknown letter."""
        count = len(self.symbols) - width + 1
        if count <= 0:
            return np.zeros(0, dtype=np.int64)
        inside = self.text_of_symbol[:count] == self.text_of_symbol[width - 1 :]
        unknown = np.concatenate([[0], np.cumsum(self.symbols == _UNKNOWN)])
        return np.flatnonzero(inside & (unknown[width:] == unknown[:-width]))


_UNKNOWN = np.uint64(2**64 - 1)


def _hashed(columns: Iterator[np.ndarray]) -> np.ndarray:
    """Hash of the symbols of each row, in their order."""
    hashes = np.uint64(0)
    for symbols in columns:
        hashes = mix((hashes * np.uint64(0x9E3779B97F4A7C15)) ^ symbols)  # type: ignore[assignment]
    return hashes  # type: ignore[return-value]


class _StringKernel(PartsKernel):
    """Base class of the string kernels: alphabets, checks of items, and counting in blocks of texts."""

    k: int
    alphabet: str | None
    unknown: str

    _declared: ClassVar[Declared] = {
        "k": check_count,
        "normalize": check_flag,
        "unknown": choice(choices=("raise", "skip")),
    }

    def _check(self) -> None:
        super()._check()
        name = self._name
        if self.alphabet is not None:
            letters = self.alphabet
            if not isinstance(letters, str) or not letters:
                raise InputError(
                    f"{name}.alphabet must be 'dna', 'rna', 'protein', a string of distinct letters or None; got "
                    f"{letters!r}"
                )
            if letters not in _ALPHABETS and len(set(letters)) != len(letters):
                raise InputError(f"{name}.alphabet must not repeat a letter; got {letters!r}")

    def _read_item(self, item: Any, row: int) -> str:
        if not isinstance(item, str):
            raise InputError(f"{self._name} reads texts (str); item {row} is a {type(item).__name__}")
        if not item.strip():
            raise InputError(f"{self._name} needs texts that are not empty; item {row} is {item!r}: remove it")
        return str(item)

    def _letters(self) -> str | None:
        return None if self.alphabet is None else _ALPHABETS.get(self.alphabet, self.alphabet)

    def _symbols(self, text: str, row: int) -> np.ndarray:
        """Symbols as integers: positions in the alphabet, or Unicode code points."""
        letters = self._letters()
        if letters is None:
            return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
        if self.alphabet in _ALPHABETS:
            text = text.upper()
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        known = np.sort(np.frombuffer(letters.encode("utf-32-le"), dtype="<u4"))
        positions = np.minimum(np.searchsorted(known, points), len(known) - 1)
        unknown_symbols = known[positions] != points
        if unknown_symbols.any() and self.unknown == "raise":
            first = int(np.flatnonzero(unknown_symbols)[0])
            advice = "pass unknown='skip' to leave out substrings with other letters, or another alphabet"
            if unknown_symbols.mean() > _MOST_UNKNOWN:
                protein = set(text) <= set(_ALPHABETS["protein"])
                advice = f"pass alphabet={'protein' if protein else 'a string of the letters'!r}"
            raise InputError(
                f"{self._name} reads the letters {letters!r} (alphabet={self.alphabet!r}); got {text[first]!r} at "
                f"position {first} of item {row}. Correct it, or {advice}"
            )
        return np.where(unknown_symbols, _UNKNOWN, positions.astype(np.uint64))

    def _features(self, items: list[str]) -> Counts:
        symbols = [self._symbols(text, row) for row, text in enumerate(items)]
        for row, part in enumerate(symbols):
            if len(part) < self.k:
                raise InputError(
                    f"{self._name} reads texts of at least {self.k} symbols, the width of its substrings; item {row} "
                    f"has {len(part)}. Lower k or leave it out"
                )
        blocks, start = [], 0
        ends = np.cumsum([len(part) for part in symbols])
        while start < len(symbols):
            done = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + _LETTERS, side="right")))
            blocks.append(self._block(_Symbols(symbols[start:stop])))
            start = stop
        return stack(blocks)

    def _block(self, symbols: _Symbols) -> Counts:
        starts = symbols.windows(self.k)
        texts = symbols.text_of_symbol[starts]
        step = max(1, _BLOCK // max(1, len(starts)))
        parts: list[Counts] = []
        variants = self._variants(symbols.symbols, starts)
        while chunk := list(itertools.islice(variants, step)):
            windows, hashes = (np.concatenate(arrays) for arrays in zip(*chunk, strict=True))
            parts.append(count_parts(texts[windows], hashes, symbols.n))
        if len(parts) == 1:
            return parts[0]
        wide = stack(parts)  # one block of rows per chunk: sum them
        total = sum(wide.matrix[i * symbols.n : (i + 1) * symbols.n] for i in range(len(parts)))
        return Counts(wide.hashes, total.tocsr())

    def _variants(self, symbols: np.ndarray, starts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of window indices and hashes of the parts of these windows."""
        yield np.arange(len(starts)), _hashed(symbols[starts + i] for i in range(self.k))


@dataclass(eq=False, repr=False)
class Spectrum(_StringKernel):
    """Spectrum kernel: texts are compared by the substrings of length ``k`` that they share.

    ``K(x, y) = sum_u c_u(x) c_u(y)`` over all substrings ``u`` of length ``k`` (k-mers), where ``c_u(x)`` counts ``u``
    in ``x``; ``normalize=True`` divides by ``sqrt(K(x, x) K(y, y))``. ``tokens="words"`` counts runs of ``k`` words
    instead; with ``k=1`` that is the bag of words.

    Parameters
    ----------
    k : int, default=3
        Length of the substrings, >= 1.
    alphabet : {"dna", "rna", "protein"}, str or None, default=None
        The symbols that occur; the named ones ignore case. None: any character, spaces and punctuation included. Not
        for words.
    tokens : {"letters", "words"}, default="letters"
        What is counted: runs of ``k`` characters or of ``k`` words. Words are runs of letters, digits and underscores,
        in lower case.
    normalize : bool, default=True
        Cosine of the counts.
    unknown : {"raise", "skip"}, default="raise"
        A letter outside the alphabet is an error, or the substrings with it are left out.

    Raises
    ------
    InputError
        For parameters out of range, items that are not texts, empty or shorter than ``k``, and unknown letters.

    Notes
    -----
    Substrings are extracted by vectorised operations and identified by 64-bit hashes: among N distinct ones a collision
    has probability about ``N^2 / 4e19``. O(total length) for the features, one sparse product for the Gram matrix.

    References
    ----------
    Leslie, Eskin and Noble (2002).

    Examples
    --------
    >>> from rkhs.kernels import Spectrum
    >>> Spectrum(2, normalize=False)(["abab", "bab"])
    array([[5., 3.],
           [3., 2.]])
    >>> Spectrum(1, tokens="words")(["The cat sat", "the dog sat", "a hen"]).round(2)
    array([[1.  , 0.67, 0.  ],
           [0.67, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    k: int = 3
    alphabet: str | None = None
    tokens: str = "letters"
    normalize: bool = True
    unknown: str = "raise"

    def _check(self) -> None:
        super()._check()
        check_choice(self.tokens, "Spectrum.tokens", ("letters", "words"))
        if self.tokens == "words" and self.alphabet is not None:
            raise InputError(f"Spectrum.alphabet must be None with tokens='words'; got {self.alphabet!r}")

    def _symbols(self, text: str, row: int) -> np.ndarray:
        if self.tokens == "letters":
            return super()._symbols(text, row)
        words = _WORDS.findall(text.lower())
        digests = b"".join(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in words)
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


@dataclass(eq=False, repr=False)
class Positions(_StringKernel):
    """Positional kernel: texts are compared by the substrings of length ``k`` that stand at the same places.

    ``K(x, y)`` counts the places, from the start and again from the end, at which the same substring begins in both
    texts; ``normalize=True`` divides by ``sqrt(K(x, x) K(y, y))``. For texts of one length and ``k=1`` that is one
    minus the Hamming distance as a share of the length: the inner product of letters coded by zeros and ones.

    Parameters
    ----------
    k : int, default=1
        Length of the substrings, >= 1.
    alphabet : {"dna", "rna", "protein"}, str or None, default=None
    normalize : bool, default=True
    unknown : {"raise", "skip"}, default="raise"
        As in :class:`Spectrum`.

    Notes
    -----
    For aligned sequences, and for peptides, whose ends are anchors. ``GaussianOf(Positions())`` sees letters that act
    together. O(total length) for the features.

    References
    ----------
    Sonnenburg, Ratsch and Rieck (2007), the fixed degree kernel, section 4.

    Examples
    --------
    >>> from rkhs.kernels import Positions
    >>> Positions()(["abc", "abd", "cab"])
    array([[1.        , 0.66666667, 0.        ],
           [0.66666667, 1.        , 0.        ],
           [0.        , 0.        , 1.        ]])
    """

    k: int = 1
    alphabet: str | None = None
    normalize: bool = True
    unknown: str = "raise"

    def _block(self, symbols: _Symbols) -> Counts:
        starts = symbols.windows(self.k)
        texts, lengths = symbols.text_of_symbol[starts], np.bincount(symbols.text_of_symbol, minlength=symbols.n)
        ends = np.cumsum(lengths)[texts]
        places = np.concatenate([starts - ends + lengths[texts], starts - ends])  # from the start, and from the end < 0
        letters = _hashed(symbols.symbols[starts + i] for i in range(self.k))
        hashes = mix(mix(mix(places.astype(np.uint64))) ^ np.tile(letters, 2))  # mixed once, a place is like a letter
        return count_parts(np.tile(texts, 2), hashes, symbols.n)


@dataclass(eq=False, repr=False)
class Mismatch(_StringKernel):
    """Mismatch kernel: as :class:`Spectrum`, but k-mers match if at most ``m`` of their letters differ.

    Each k-mer of a text adds one to the count of every k-mer over the alphabet within Hamming distance ``m`` of it.

    Parameters
    ----------
    k : int, default=5
        Length of the substrings, >= 1.
    m : int, default=1
        Largest number of differing letters, 0 <= m < k.
    alphabet : {"dna", "rna", "protein"} or str, default="dna"
        The letters that occur; the named ones ignore case.
    normalize, unknown : bool and {"raise", "skip"}, default=True and "raise"
        As in :class:`Spectrum`.

    Notes
    -----
    A substring has ``sum_{i <= m} C(k, i) (a - 1)^i`` neighbours over ``a`` letters: 16 for DNA at (5, 1), 277 at
    (8, 2), 96 for proteins at (5, 1). Features cost this number times the total length; they are computed in
    blocks, so that memory is bounded.

    References
    ----------
    Leslie, Eskin, Cohen, Weston and Noble (2004).

    Examples
    --------
    >>> from rkhs.kernels import Mismatch
    >>> Mismatch(2, 1, "ab", normalize=False)(["ab", "bb"])
    array([[3., 2.],
           [2., 3.]])
    """

    k: int = 5
    m: int = 1
    alphabet: str = "dna"
    normalize: bool = True
    unknown: str = "raise"

    def _check(self) -> None:
        super()._check()
        check_count(self.m, "Mismatch.m", at_least=0, at_most=self.k - 1, why=" (k - 1)")
        if self.alphabet is None:
            raise InputError(
                "Mismatch.alphabet must be 'dna', 'rna', 'protein' or a string of distinct letters; got None"
            )
        size = len(self._letters() or "")
        neighbours = sum(math.comb(self.k, i) * (size - 1) ** i for i in range(self.m + 1))
        if neighbours > 20_000:
            raise InputError(
                f"Mismatch with k={self.k}, m={self.m} and {size} letters has {neighbours} k-mers in the mismatch "
                "neighbourhood of each k-mer; lower m or k so that there are at most 20000"
            )

    def _variants(self, symbols: np.ndarray, starts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        size = np.uint64(len(self._letters() or ""))
        windows, every = [symbols[starts + i] for i in range(self.k)], np.arange(len(starts))
        shifts = range(1, int(size))
        for count in range(self.m + 1):
            for places in itertools.combinations(range(self.k), count):
                for change in itertools.product(shifts, repeat=count):
                    moved = dict(zip(places, change, strict=True))
                    yield (
                        every,
                        _hashed(
                            (windows[i] + np.uint64(moved[i])) % size if i in moved else windows[i]
                            for i in range(self.k)
                        ),
                    )
