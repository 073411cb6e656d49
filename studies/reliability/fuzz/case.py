"""One case of the fuzz: its randomness, the calls that it makes, and what went wrong in them.

A call must end in a finite answer or in an error of the library (or of scikit-learn's validation) that names what is
wrong; it must leave the caller's data as they were, and warn only where the library chose to.
"""

from __future__ import annotations

import pickle
import re
import signal
import sys
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import torch
from sklearn.exceptions import DataConversionWarning

from rkhs._core.errors import RkhsError

PATIENCE = 60  # seconds that one case may take


class Failure(NamedTuple):
    """What went wrong in a call, and how to see it again."""

    kind: str  # "raw error", "silent NaN", "disagreement"
    subject: str
    what: str
    reproducer: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}: {self.what}\n    {self.reproducer}"


@dataclass(frozen=True)
class Answer:
    """What a call came to: a value, or an error."""

    value: Any = None
    error: BaseException | None = None
    good: bool = True  # no failure was recorded

    @property
    def answered(self) -> bool:
        """Whether there is a value to compare."""
        return self.good and self.error is None

    @property
    def refused(self) -> bool:
        """Whether the library said what is wrong."""
        return self.good and self.error is not None


@dataclass
class Case:
    """Case number ``index`` of a subject under a seed, a pure function of the three."""

    subject: str
    seed: int
    index: int
    folder: Path
    calls: int = 0
    failures: list[Failure] = field(default_factory=list)
    told: bool = False  # print every call, for one case that is looked at

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, zlib.crc32(self.subject.encode()), self.index])

    # ------------------------------------------------------------ choices

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def one_of(self, options: Any) -> Any:
        options = list(options)
        return options[int(self.rng.integers(len(options)))]

    def some_of(self, options: Any, at_most: int) -> list[Any]:
        options = list(options)
        count = min(len(options), int(self.rng.integers(at_most + 1)))
        return [options[i] for i in self.rng.permutation(len(options))[:count]]

    # ------------------------------------------------------------ calls

    def fail(self, kind: str, what: str) -> None:
        command = f"python -m studies.reliability.fuzz --case {self.subject}:{self.seed}:{self.index}"
        self.failures.append(Failure(kind, self.subject, what, command))
        if self.told:
            print(f"  !! {kind}: {what}")

    def call(
        self,
        what: str,
        function: Callable[..., Any],
        *arguments: Any,
        may_name: str = "",
        must_name: str = "",
        finite: bool = True,
        **named: Any,
    ) -> Answer:
        """Call, and judge the outcome.

        ``may_name`` is a pattern of words that an error may name; ``must_name`` is what it has to name, where only one
        argument is hostile.
        """
        self.calls += 1
        before = fingerprint((arguments, named))
        try:
            with only_chosen_warnings():
                value = function(*arguments, **named)
        except TimeoutError:
            raise
        except Exception as error:
            answer = self._judged(what, error, may_name, must_name)
        else:
            answer = Answer(value)
            if finite and not all(np.isfinite(part).all() for part in numbers(value)):
                self.fail("silent NaN", f"{what} returned NaN or infinity")
                answer = Answer(value, good=False)
        if before is not None and fingerprint((arguments, named)) != before:
            self.fail("disagreement", f"{what} changed the caller's data")
            answer = Answer(answer.value, answer.error, good=False)
        if self.told:
            print(f"  {what}: {answer.error or short(answer.value)}")
        return answer

    def _judged(self, what: str, error: Exception, may_name: str, must_name: str) -> Answer:
        said = f"{type(error).__name__}: {short(error)}"
        if not is_typed(error):
            frames = traceback.extract_tb(error.__traceback__)
            ours = [f for f in frames if "/src/rkhs/" in f.filename]
            place = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
            self.fail("raw error", f"{what} raised {said}{place}")
            if self.told:
                traceback.print_exception(error)
            return Answer(error=error, good=False)
        ours = isinstance(error, RkhsError)
        if ours and must_name and not re.search(must_name, str(error)):
            self.fail("raw error", f"{what}: the error names no {must_name!r}: {said}")
            return Answer(error=error, good=False)
        if ours and may_name and not re.search(may_name, str(error)):
            self.fail("raw error", f"{what}: the error names no argument: {said}")
            return Answer(error=error, good=False)
        return Answer(error=error)

    def expect(self, holds: bool, what: str) -> bool:
        """Record a disagreement if something that must hold does not."""
        if not holds:
            self.fail("disagreement", what)
        return bool(holds)

    def agree(self, what: str, found: Any, expected: Any, rtol: float = 0.0, atol: float = 0.0) -> bool:
        """Ask that two results are equal up to ``atol + rtol * largest expected entry``."""
        left, right = numbers(found), numbers(expected)
        if [a.shape for a in left] != [b.shape for b in right]:
            self.fail("disagreement", f"{what}: shapes {[a.shape for a in left]} and {[b.shape for b in right]}")
            return False
        for a, b in zip(left, right, strict=True):
            if not a.size:
                continue
            known = np.isfinite(b)
            with np.errstate(all="ignore"):
                size = float(np.abs(b[known]).max(initial=0.0))
                far = float(np.abs(a[known] - b[known]).max(initial=0.0))
            same = np.array_equal(a[~known], b[~known], equal_nan=True)
            if not (same and (far == 0.0 or far <= atol + rtol * size)):
                limit = atol + rtol * size
                self.fail("disagreement", f"{what}: off by {far:.3g}, of {size:.3g}, allowed {limit:.2g}")
                return False
        return True


def is_typed(error: BaseException) -> bool:
    """An error of the library, or one that scikit-learn's own validation raised."""
    if isinstance(error, RkhsError):
        return True
    if not isinstance(error, (ValueError, TypeError)) or isinstance(error, np.linalg.LinAlgError):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    return "sklearn" in last and any(f in last for f in ("validation", "_array_api", "_tags", "base.py", "multiclass"))


@contextmanager
def only_chosen_warnings() -> Iterator[None]:
    """Let pass what modules of the library warn of themselves; every other warning becomes an error."""
    ordinary = warnings.warn

    def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **more: Any) -> None:
        ours = str(sys._getframe(1).f_globals.get("__name__", "")).startswith("rkhs.")
        said = "feature names" in str(message) or category is DataConversionWarning  # what scikit-learn says of frames
        if not ours and not said:
            ordinary(message, category, stacklevel + 1, source, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn = warn  # type: ignore[assignment]
        try:
            yield
        finally:
            warnings.warn = ordinary


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in a case that does not end."""

    def ring(*_: Any) -> None:
        raise TimeoutError(f"a case took more than {seconds} s")

    previous = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def fingerprint(value: Any) -> bytes | None:
    """Bytes that change when the data do; None for what cannot be pickled."""
    try:
        return pickle.dumps(_frozen(value))
    except Exception:
        return None


def _frozen(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return str(value.dtype), value.detach().to_dense().flatten().tolist() if value.numel() < 10_000 else None
    if isinstance(value, np.ndarray):
        whole = value.tobytes() if value.dtype != object else [_frozen(part) for part in value.ravel()]
        return str(value.dtype), value.shape, whole
    if isinstance(value, (np.random.RandomState, np.random.Generator)):  # made to be changed
        return None
    if isinstance(value, (tuple, list)):
        return [_frozen(part) for part in value]
    if isinstance(value, dict):
        return [(key, _frozen(part)) for key, part in value.items()]
    if hasattr(value, "iloc") or hasattr(value, "to_arrow"):  # pandas and polars
        index = list(value.index) if hasattr(value, "iloc") else None
        return index, [str(name) for name in getattr(value, "columns", ())], repr(value.to_numpy().tolist())
    if scipy.sparse.issparse(value):  # scipy writes down in the matrix what it found of the order of its entries
        entries = value.tocoo()
        return value.format, value.shape, [_frozen(part) for part in (*entries.coords, entries.data)]
    if hasattr(value, "adjacency") and hasattr(value, "nodes"):  # networkx keeps views in the graph
        return type(value).__name__, list(value.nodes(data=True)), list(value.edges(data=True))
    if hasattr(value, "get_params"):  # a model changes in fit
        return None
    return value


def numbers(value: Any) -> list[np.ndarray]:
    """Every number in a result, as arrays; texts and objects count nothing."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return [value.double().numpy()] if not value.is_complex() else []
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return [np.asarray(value, dtype=float)]
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "biuf":
            return [value.astype(float, copy=False)]
        if value.dtype == object:
            try:
                return [value.astype(float)]
            except (TypeError, ValueError):
                return [part for item in value.ravel() for part in numbers(item)]
        return []
    if isinstance(value, dict):
        return [part for item in value.values() for part in numbers(item)]
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in numbers(item)]
    if hasattr(value, "to_numpy"):
        return numbers(value.to_numpy())
    if hasattr(value, "__dataclass_fields__") and not hasattr(value, "get_params"):  # attributes of models: walked
        return [part for name in value.__dataclass_fields__ for part in numbers(getattr(value, name, None))]
    return []


def short(value: Any) -> str:
    text = " ".join(repr(value).split()) if not isinstance(value, BaseException) else " ".join(str(value).split())
    return text if len(text) <= 240 else f"{text[:200]} ... {text[-30:]}"
