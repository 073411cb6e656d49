"""The library's own errors and warnings, one typed class for each kind of trouble."""

import difflib
import importlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "ClusterError",
    "CollapseWarning",
    "ColumnWarning",
    "EdgeWarning",
    "GapWarning",
    "InputError",
    "JitterWarning",
    "MissingExtraError",
    "ModelFileError",
    "NotPositiveSemidefiniteWarning",
    "OutlierWarning",
    "OverfitWarning",
    "RepeatWarning",
    "RkhsError",
    "RoundingWarning",
    "brief",
    "in_range",
    "optional",
    "quote",
    "shortened",
    "some_rows",
    "warn",
]

_NEAR = 0.75  # share of letters in common of names that are taken for each other
_EXTRAS = {
    **{
        "rdkit": "chem",
        "networkx": "graphs",
        "pyarrow": "tables",
        "openpyxl": "tables",
        "matplotlib": "plots",
        "matchms": "spectra",
    },
    **{"dask": "cluster", "distributed": "cluster", "onnx": "onnx", "skops": "skops"},
}
_SHOWN = 60
_BRIEF = 200  # characters


class RkhsError(Exception):
    """Base of every error that the library raises on purpose."""


class InputError(RkhsError, ValueError):
    """An argument or the data are not usable; the message names the argument, what came and what to do."""


class MissingExtraError(RkhsError, ImportError):
    """An optional package is missing; the message names the extra that installs it."""


class ModelFileError(RkhsError, ValueError):
    """A model file is damaged, of another kind, or written by a later version of its format."""


class ClusterError(RkhsError, RuntimeError):
    """A cluster cannot be reached, went away, or could not compute a block; the message says which and what to do."""


class CollapseWarning(UserWarning):
    """The fitted model carries (almost) no information: its codes shrank to a point."""


class ColumnWarning(UserWarning):
    """One column of a table holds nearly all the variance, so the others hardly count."""


class EdgeWarning(UserWarning):
    """A setting that was chosen is the last of those compared, and the error was still falling towards it."""


class GapWarning(UserWarning):
    """Targets have gaps (NaN), and each output was fitted to the rows where it is known."""


class JitterWarning(UserWarning):
    """A matrix was not numerically positive definite and a reported amount was added to its diagonal."""


class NotPositiveSemidefiniteWarning(UserWarning):
    """A Gram matrix had negative eigenvalues, which were set to zero."""


class OutlierWarning(UserWarning):
    """Rows that do not belong to the others were left out of a fit."""


class OverfitWarning(UserWarning):
    """The fitted model rebuilds its training items, and new ones hardly better than their mean does."""


class RepeatWarning(UserWarning):
    """Rows look like repeats of a measurement, so that errors of rows that are left out are too small."""


class RoundingWarning(UserWarning):
    """Rounding takes digits of the result: the numbers that make it are nearly equal."""


def brief(value: object) -> str:
    """Write a value on one line for a summary: a long one by its beginning, its end and its length."""
    return shortened(" ".join(repr(value).split()))


def shortened(text: str) -> str:
    """A long text by its beginning, its end and its length; see :func:`brief`."""
    return (
        text if len(text) <= _BRIEF else f"{text[: _BRIEF // 2]} ... {text[-_BRIEF // 4 :]} ({len(text):,} characters)"
    )


def quote(value: object) -> str:
    """Write a value for a message: a long text or list by its beginning and its length."""
    if isinstance(value, (list, tuple)):
        listed = ", ".join(map(_shortened, value[:10])) + (f", ... ({len(value)} in all)" if len(value) > 10 else "")
        return f"[{listed}]" if isinstance(value, list) else f"({listed}{',' if len(value) == 1 else ''})"
    return _shortened(value)


def some_rows(rows: list[int]) -> str:
    """Write numbers of rows for a message: the first ten."""
    return ", ".join(map(str, rows[:10])) + (", ..." if len(rows) > 10 else "")


def _shortened(value: object) -> str:
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{value[: _SHOWN // 2]!r}... ({len(value)} characters)"
    try:
        text = repr(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return f"a {type(value).__name__} too long to write"
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]}..."


@contextmanager
def in_range(owner: object) -> Iterator[None]:
    """Name the kernel or estimator where torch cannot turn a number of it into the single precision of the data."""
    try:
        yield
    except RuntimeError as error:
        if "without overflow" not in str(error):
            raise
        raise InputError(
            f"{owner!r} has a number that single precision cannot hold; pass data in double precision, or rescale them"
        ) from error


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that differs from another by a slip or two, without regard to case and dashes; None if none."""

    def plain(text: str) -> str:
        return text.lower().replace("_", "-").strip("-")

    spelled = {plain(each): each for each in known}
    near = difflib.get_close_matches(plain(name), spelled, 1, _NEAR)
    return spelled[near[0]] if near else None


def optional(module: str) -> Any:
    """Import a module of an optional package; where it is not there, the error names the extra that installs it."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f'the package {package!r} is not installed; install it with: pip install "rkhs[{_EXTRAS[package]}]"'
        ) from error


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the library, be it through scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("rkhs", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
