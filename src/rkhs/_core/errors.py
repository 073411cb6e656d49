"""The library's own errors and warnings, one typed class for each kind of trouble."""

import difflib
import importlib
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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

_NEAR = 0.75  # similarity from which a name is suggested for another
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
    """Base of every error that the library raises on purpose.

    Examples
    --------
    >>> from rkhs.errors import InputError, ModelFileError, RkhsError
    >>> issubclass(InputError, RkhsError), issubclass(ModelFileError, RkhsError)
    (True, True)
    """


class InputError(RkhsError, ValueError):
    """An argument or the data are not usable; the message names the argument, what came and what to do.

    Examples
    --------
    >>> from rkhs import KernelPCA
    >>> from rkhs.errors import InputError
    >>> try:
    ...     KernelPCA(0).fit([[1.0], [2.0], [4.0]])
    ... except InputError as error:
    ...     print(error)
    n_components must be an integer >= 1; got 0
    """


class MissingExtraError(RkhsError, ImportError):
    """An optional package is missing; the message names the extra that installs it.

    Examples
    --------
    >>> from rkhs.errors import MissingExtraError
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


class ModelFileError(RkhsError, ValueError):
    """A model file is damaged, of another kind, or written by a later version of its format.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import rkhs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.rkhs"
    ...     _ = file.write_text("not a model")
    ...     try:
    ...         rkhs.load(file)
    ...     except rkhs.errors.ModelFileError as error:
    ...         print("refused:", str(error)[-60:])
    refused: s: expected a model file of rkhs; got a file of another kind
    """


class ClusterError(RkhsError, RuntimeError):
    """A cluster cannot be reached, went away, or could not compute a block; the message says which and what to do.

    Examples
    --------
    >>> from rkhs.engines import Dask
    >>> from rkhs.errors import ClusterError
    >>> try:
    ...     Dask("tcp://127.0.0.1:9", timeout=0.1).width
    ... except ClusterError as error:
    ...     print(str(error)[:60])
    no Dask scheduler answered at 'tcp://127.0.0.1:9' within 0.1
    """


class CollapseWarning(UserWarning):
    """The fitted model carries (almost) no information: its codes shrank to a point.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rkhs import KernelAutoencoder
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = KernelAutoencoder(1, reg=1e6, linear_part="kernel").fit(X)
    >>> [one.category.__name__ for one in caught], bool(np.abs(model.codes_).max() < 0.01)
    (['CollapseWarning'], True)
    """


class ColumnWarning(UserWarning):
    """One column of a table holds nearly all the variance, so the others hardly matter.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rkhs import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(30, 3)) * [1.0, 1.0, 1000.0]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = KernelPCA(1, columns="raw").fit(X)
    >>> [one.category.__name__ for one in caught]
    ['ColumnWarning']
    """


class EdgeWarning(UserWarning):
    """A setting that was chosen is the last of those compared, and the error was still falling towards it.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rkhs import OperatorKernelRegressorCV
    >>> from rkhs.kernels import Gaussian
    >>> X, regs = np.linspace(0.0, 1.0, 24)[:, None], [1e-1, 10.0, 1e3]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = OperatorKernelRegressorCV(Gaussian(1.0), regs=regs, cv=3).fit(X, np.sin(6.0 * X))
    >>> {one.category.__name__ for one in caught}, model.at_edge_
    ({'EdgeWarning'}, {'reg': 'first'})
    """


class GapWarning(UserWarning):
    """Targets have gaps (NaN), and each output was fitted to the rows where it is known.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rkhs import OperatorKernelRegressor
    >>> X, Y = np.arange(6.0)[:, None], np.column_stack([np.arange(6.0), np.ones(6)])
    >>> Y[0, 0] = np.nan
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = OperatorKernelRegressor().fit(X, Y)
    >>> [one.category.__name__ for one in caught]
    ['GapWarning']
    """


class JitterWarning(UserWarning):
    """A matrix was not numerically positive definite and a reported amount was added to its diagonal.

    Examples
    --------
    >>> import warnings
    >>> from rkhs.errors import JitterWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", JitterWarning)  # a fit whose matrix needs help then ends with an error
    ...     issubclass(JitterWarning, UserWarning)
    True
    """


class NotPositiveSemidefiniteWarning(UserWarning):
    """A Gram matrix had negative eigenvalues, which were set to zero.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rkhs import KernelPCA
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = KernelPCA(1, kernel="precomputed").fit(np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> [one.category.__name__ for one in caught]
    ['NotPositiveSemidefiniteWarning']
    """


class OutlierWarning(UserWarning):
    """Rows that do not belong to the others were left out of a fit.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rkhs import FunctionalKernelRegressor
    >>> phases, t = np.linspace(0.0, 3.0, 30)[:, None], np.linspace(0.0, 1.0, 20)
    >>> X, Y = np.sin(6.0 * t + phases), np.cos(6.0 * t + phases)
    >>> Y += 0.1 * np.random.default_rng(0).normal(size=Y.shape)
    >>> Y[[3, 17]] += 20.0
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = FunctionalKernelRegressor().fit(X, Y)
    >>> [one.category.__name__ for one in caught], np.flatnonzero(~model.inliers_)
    (['OutlierWarning'], array([ 3, 17]))
    """


class OverfitWarning(UserWarning):
    """The fitted model rebuilds or predicts its training items, and new ones hardly better than their mean does.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rkhs import KernelAutoencoder
    >>> noise = np.random.default_rng(0).normal(size=(42, 200))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = KernelAutoencoder(2).fit(noise)
    >>> [one.category.__name__ for one in caught], bool(model.held_out_error_ > 0.9)
    (['OverfitWarning'], True)
    """


class RepeatWarning(UserWarning):
    """Rows look like repeats of a measurement, so that errors of rows that are left out are too small.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rkhs import OperatorKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, y = np.repeat(rng.normal(size=(60, 4)), 3, axis=0), np.repeat(rng.normal(size=60), 3)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = OperatorKernelRegressor().fit(X + 0.01 * rng.normal(size=X.shape), y)
    >>> [one.category.__name__ for one in caught]
    ['RepeatWarning']
    """


class RoundingWarning(UserWarning):
    """Rounding takes digits of the result: the numbers that make it are nearly equal.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rkhs.kernels import GaussianOf, Tanimoto
    >>> X = 1000.0 + 1e-4 * np.random.default_rng(0).normal(size=(6, 1))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = GaussianOf(Tanimoto())(X)
    >>> [one.category.__name__ for one in caught]
    ['RoundingWarning']
    """


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
    """Name the kernel or estimator if torch cannot represent one of its numbers in the single precision of the data."""
    try:
        yield
    except RuntimeError as error:
        if "without overflow" not in str(error):
            raise
        raise InputError(
            f"{owner!r} has a number that single precision cannot hold; pass data in double precision, or rescale them"
        ) from error


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to another, regardless of case and dashes; None if none is similar."""

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


# Filters of Python belong to the process: those that two threads set and remove can stay. These belong to a thread.
_SILENT: ContextVar[tuple[type[Warning], ...]] = ContextVar("_SILENT", default=())
_KEPT: ContextVar[list[Warning] | None] = ContextVar("_KEPT", default=None)


@contextmanager
def unwarned(*categories: type[Warning]) -> Iterator[None]:
    """Give no warnings of the library of these categories (default: all), in this thread alone."""
    before = _SILENT.set((*_SILENT.get(), *(categories or (Warning,))))
    try:
        yield
    finally:
        _SILENT.reset(before)


@contextmanager
def keeping_warnings() -> Iterator[list[Warning]]:
    """Collect the warnings of the library in a list instead of giving them, in this thread alone."""
    kept: list[Warning] = []
    before = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(before)


_FILTERS = threading.RLock()


@contextmanager
def filtering_warnings(action: Any, category: type[Warning] = Warning, message: str = "") -> Iterator[None]:
    """Filter warnings of other libraries, which belong to the process: one thread of the library at a time."""
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings(action, message, category)
        yield


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the library, also through scikit-learn, unless the thread asked for silence."""
    warning, kept = message if isinstance(message, Warning) else category(message), _KEPT.get()
    if isinstance(warning, _SILENT.get()):
        return
    if kept is not None:
        kept.append(warning)
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("rkhs", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
