"""Model files: fitted estimators to one safetensors file and back, without pickle.

Only classes of this library are stored, by a name that is looked up in a fixed table;
parameters pass through the constructors, which only store, so that loading a file runs no code from it. The format:
``docs/user/model_files.md``.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rkhs._core.codec import Decoder, Encoder, SizeError
from rkhs._core.config import is_concrete
from rkhs._core.errors import InputError, ModelFileError, RkhsError
from rkhs._core.memory import readable
from rkhs._core.model_container import FORMAT, LARGEST, Container, read_container, write_container
from rkhs._core.stored import Stored

__all__ = ["FORMAT", "ModelFile", "load", "read_model", "save"]

# Without max_bytes: a model may take ``_SMALL`` bytes and ``_TIMES`` times its file: bits become 64-bit numbers.
_SMALL, _TIMES = 2**25, 72

# The packages whose public classes a model may be made of.
_PACKAGES = (
    "estimators",
    "models",
    "kernels",
    "losses",
    "constraints",
    "outputs",
    "features",
    "augment",
    "solvers",
    "selection",
    "evaluation",
)


def class_name(cls: type) -> str:
    """Name under which a class is stored: ``package.Class``; for a class of other origin, its plain name."""
    module = cls.__module__.replace("rkhs.spaces.features", "rkhs.features").split(".")
    return f"{module[1]}.{cls.__name__}" if module[0] == "rkhs" and len(module) > 1 else cls.__qualname__


@cache
def registry() -> dict[str, type]:
    """Every class that a model file may name: ``package.Class`` for the public concrete classes of the library."""
    classes: dict[str, type] = {}
    for package in _PACKAGES:
        module = importlib.import_module(f"rkhs.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and issubclass(value, (BaseEstimator, Stored)) and is_concrete(value):
                classes[class_name(value)] = value
    return classes


def _stored_name(cls: type) -> str:
    name = class_name(cls)
    if registry().get(name) is not cls:
        got = f"a model file holds objects of rkhs only; got {cls.__module__}.{cls.__qualname__}. Keep such a model"
        if cls.__module__.startswith("sklearn."):
            raise InputError(f"{got} with skops: skops.io.dump(model, path); of a search, best_estimator_ can be saved")
        raise InputError(
            f"{got} with pickle or joblib, next to the code of the class, or fit on the Gram matrix with "
            "kernel='precomputed'"
        )
    return name


def _find_class(name: Any) -> type:
    found = registry().get(name) if isinstance(name, str) else None
    if found is None:
        raise ModelFileError(
            f"the model file names {name!r:.80}, which this version of rkhs does not have; install the version that "
            "wrote it"
        )
    return found


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model with what its file says about it.

    Examples
    --------
    >>> import tempfile
    >>> import rkhs
    >>> from rkhs.persistence import read_model
    >>> model = rkhs.KernelPCA(1).fit([[0.0], [1.0], [3.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rkhs.save(model, f"{folder}/model.rkhs", notes={"source": "three rows"})
    ...     found = read_model(f"{folder}/model.rkhs")
    >>> found.notes, found.format == rkhs.persistence.FORMAT, len(found.checksum)
    ({'source': 'three rows'}, True, 64)
    """

    estimator: BaseEstimator  # the fitted estimator
    notes: dict[str, Any]  # ``notes`` of :func:`save`
    format: tuple[int, int]  # major and minor version of the file's format
    library: str  # version of rkhs that wrote it
    checksum: str  # SHA-256 over what the file holds: the same for equal models


def save(estimator: BaseEstimator, path: str | os.PathLike[str], *, notes: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to a model file.

    The file is complete or the old one stays, also when the process is killed while it writes. Everything is stored to
    the last bit: the loaded model gives the same results. A ``RandomState`` is stored with its state.

    Parameters
    ----------
    estimator : estimator of rkhs
        Fitted. skops stores pipelines around it: ``skops.io.dump(pipeline, path)``.
    path : str or path
        By convention it ends in ``.rkhs``.
    notes : dict, default=None
        Anything that belongs to the model, such as names of rows: texts, numbers, arrays, lists and dicts of such. It
        is returned by :func:`read_model`.

    Raises
    ------
    InputError
        If the model holds something that has no description (a Python function, objects other than texts and arrays),
        or the file cannot be written.
    NotFittedError
        If the estimator is not fitted.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> import rkhs
    >>> X = load_iris().data
    >>> model = rkhs.KernelPCA(2).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rkhs.save(model, f"{folder}/iris.rkhs")
    ...     again = rkhs.load(f"{folder}/iris.rkhs")
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    if not isinstance(estimator, BaseEstimator):
        inside = "; save its .model" if hasattr(estimator, "model") else ""
        raise InputError(f"save writes estimators of rkhs; got a {type(estimator).__name__}{inside}")
    arrays: dict[str, np.ndarray] = {}
    encoder = Encoder(arrays, _stored_name)
    _stored_name(type(estimator))
    check_is_fitted(estimator)
    content = encoder.estimator(estimator)
    content |= {"library": sys.modules["rkhs"].__version__, "notes": encoder.encode(dict(notes or {}), "notes")}
    write_container(path, content, arrays, FORMAT)


def load(path: str | os.PathLike[str], *, max_bytes: int | None = None, expected_sha256: str | None = None) -> Any:
    """Read a fitted estimator from a model file.

    Nothing in a file can run code. Any change to the file is noticed before it is read.

    Parameters
    ----------
    path : str or path
        Of a regular file: pipes and devices are refused.
    max_bytes : int, default=None
        Memory that the model may take: the file, and the Python objects (texts, lists, wide arrays of texts) made from
        it, together. None: 1 GiB, and at most 32 MiB more than 72 times the file. Ask for more if you trust where the
        file comes from.
    expected_sha256 : str, default=None
        64 hexadecimal digits: SHA-256 of the bytes of the file, as ``sha256sum`` and ``rkhs info`` print it. Another
        file is refused before anything in it is read.

    Returns
    -------
    estimator
        Equal to the one that was saved.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, too large, not the expected one, of another kind, or of a later major version
        of the format.
    InputError
        If ``max_bytes`` is not a positive integer, or ``expected_sha256`` not 64 hexadecimal digits.

    Notes
    -----
    The file is read for its checksum first, and what is then read is checked again: a file that is rewritten meanwhile
    is refused. Memory is the model and a header of at most 1 MiB.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> import rkhs
    >>> model = rkhs.KernelPCA(2).fit(load_iris().data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rkhs.save(model, f"{folder}/iris.rkhs")
    ...     loaded = rkhs.load(f"{folder}/iris.rkhs")
    >>> loaded.n_components, bool((loaded.codes_ == model.codes_).all())
    (2, True)
    """
    return read_model(path, max_bytes=max_bytes, expected_sha256=expected_sha256).estimator


def read_model(
    path: str | os.PathLike[str], *, max_bytes: int | None = None, expected_sha256: str | None = None
) -> ModelFile:
    """Read a model file with its notes, version and checksum; see :func:`load`.

    Examples
    --------
    >>> import tempfile
    >>> import rkhs
    >>> from rkhs.persistence import read_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rkhs.save(rkhs.KernelPCA(1).fit([[0.0], [1.0], [3.0]]), f"{folder}/model.rkhs", notes={"unit": "cm"})
    ...     found = read_model(f"{folder}/model.rkhs")
    >>> found.estimator, found.notes
    (KernelPCA(n_components=1), {'unit': 'cm'})
    """
    container = read_container(path, FORMAT, max_bytes, expected_sha256)
    limit = min(LARGEST, _SMALL + _TIMES * container.n_bytes) if max_bytes is None else max_bytes
    try:
        return _build(container, limit - container.n_bytes)
    except SizeError:
        raise ModelFileError(
            f"{os.fspath(path)}: the model takes more than {readable(limit)} of memory, from a file of "
            f"{readable(container.n_bytes)}; if you trust it, pass a larger max_bytes"
        ) from None
    except Exception as error:  # a later minor version, or a file made by hand: the checksum alone proves no meaning
        wrote, now = container.content.get("library", "unknown"), sys.modules["rkhs"].__version__
        reason = str(error) if isinstance(error, RkhsError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(
            f"{os.fspath(path)}: the model of rkhs {wrote} cannot be built by rkhs {now} ({reason})"
        ) from error


def _build(container: Container, max_bytes: int) -> ModelFile:
    content, arrays = container.content, dict(container.arrays)
    decoder = Decoder(arrays, _find_class, max_bytes)
    estimator = decoder.estimator(content)
    check_is_fitted(estimator)
    notes = decoder.decode(content["notes"])
    return ModelFile(estimator, notes, container.version, str(content["library"]), container.checksum)
