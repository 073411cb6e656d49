"""What a command will write, looked at before its work begins, and model files, read and written."""

from __future__ import annotations

import argparse
import copy
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rkhs
from rkhs import estimators
from rkhs._core.checks import naming
from rkhs._core.errors import InputError, optional
from rkhs._core.files import check_writable
from rkhs.cli.inputs import input_notes
from rkhs.cli.options import refuse_flags
from rkhs.data import Dataset
from rkhs.data.formats import FASTA, SDF, SPECTRA, TABLES as READ

if TYPE_CHECKING:
    from rkhs.persistence import ModelFile


TABLES = (".csv", ".xlsx", ".parquet", ".npy")  # what codes and errors are written to
SHEETS = TABLES[:2]  # what texts are written to
PICTURES = (".png", ".svg", ".pdf")
_OF_CODES = ("codes", "engine", "scheduler", "jobs", "stream", "plan")
_IN_FOLDERS = (".txt", ".graphml", ".gml", ".edgelist", ".edges", ".parquet")  # what is read where a folder is named
_DATA = (*TABLES, *READ, *_IN_FOLDERS, ".npz", ".smi", *SDF, *SPECTRA, *FASTA, ".ts", ".onnx", *PICTURES)


class Outputs:
    """The files that a command will write, each checked when it is named."""

    def __init__(self, *inputs: tuple[str, str | None]) -> None:
        self._inputs = [(name, path) for name, path in inputs if path is not None]
        for name, path in self._inputs:
            if not os.path.lexists(path):
                raise InputError(
                    f"{name} must name a file or folder that exists; got {path!r}, which does not; check folder and "
                    "spelling"
                )
        self._planned: dict[str, str] = {}

    def add(self, flag: str, path: str | None, extensions: tuple[str, ...] = ()) -> None:
        """Plan a file; None is no file."""
        if path is None:
            return
        if extensions and not path.lower().endswith(extensions):
            raise InputError(f"{flag} must end in {', '.join(extensions)}; got {path!r}; change the file name")
        self._refuse_clashes(flag, path)
        with naming(flag):
            check_writable(path)
        if path.lower().endswith((".xlsx", ".parquet", ".onnx", *PICTURES)):
            _import_writer(path)
        self._planned[flag] = path

    def add_model(self, flag: str, path: str | None) -> None:
        """Plan a model file: it takes the place of another model file or of an empty one, and of nothing else."""
        if path is not None and path.lower().endswith(_DATA):
            raise InputError(
                f"{flag} names a model file, such as model.rkhs; got {path!r}, the name of other data; codes go to "
                "--codes FILE"
            )
        self.add(flag, path)
        if path is not None and os.path.exists(path) and not _may_be_replaced(path):
            raise InputError(
                f"{flag} would overwrite {path!r}, which is no model file; choose another name, or delete it first"
            )

    def _refuse_clashes(self, flag: str, path: str) -> None:
        for name, other in self._inputs:
            if _is_read(path, other):
                raise InputError(f"{flag} {path} would overwrite {name} or a part of it; choose another name")
        for name, other in self._planned.items():
            if _are_one(path, other):
                raise InputError(f"{flag} and {name} name the same file, {path!r}; choose two names")


def _is_read(path: str, source: str) -> bool:
    """Whether a file is read because a source is named: it is the source, in its folder, or one of a set next to it."""
    if _are_one(path, source):
        return True
    place, target = Path(os.path.realpath(source)), Path(os.path.realpath(path))
    if place.is_dir():
        return target.is_file() and target.suffix.lower() in _IN_FOLDERS and target.is_relative_to(place)
    stem = place.name.removesuffix("A.txt")
    return place.name.endswith("_A.txt") and target.parent == place.parent and target.name.startswith(stem)


def _are_one(path: str, other: str) -> bool:
    """Whether two names mean one file: by links of either kind, or by another spelling."""
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):  # one of them is not there yet
        return os.path.realpath(path) == os.path.realpath(other)


def _may_be_replaced(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            start = file.read(64)
    except OSError as error:
        raise InputError(f"cannot read {path!r}, which would be overwritten ({error.strerror})") from error
    return not start or b"rkhs-model " in start


def _import_writer(path: str) -> None:
    writers = {"onnx": "onnx", "parquet": "pyarrow", "xlsx": "openpyxl"}
    optional(writers.get(path.lower().rpartition(".")[2], "matplotlib.figure"))


def check_predictor(args: argparse.Namespace) -> None:
    """Look at the model that ``--predict`` writes, and nothing else; flags that go with no prediction are refused."""
    flag = _predict_flag(args)
    refuse_flags(args, (*_OF_CODES, *(["labels"] if args.targets else [])), f"does not go with {flag}; leave one out")
    if args.output is None:
        raise InputError(f"{flag} writes a model; name it with -o MODEL; got no name")
    Outputs(("INPUT", args.input), ("--targets", args.targets), ("--labels", args.labels)).add_model("-o", args.output)


def refuse_with_predict(args: argparse.Namespace, flags: Sequence[str], what: str) -> None:
    """Refuse flags that do not go with one kind of prediction."""
    refuse_flags(args, flags, f"does not go with {_predict_flag(args)}{what}; leave one out")


def _predict_flag(args: argparse.Namespace) -> str:
    return "--targets" if args.predict is None else "--predict"


def write_model(
    path: str, estimator: estimators.KernelEstimator, data: Dataset, args: argparse.Namespace, **notes: Any
) -> None:
    """Write a model with what must be remembered of its file: columns have names, by which Python checks frames."""
    names, notes = data.column_names, input_notes(data, args) | {"command": args.words} | notes
    estimator, reader = copy.copy(estimator), estimator.reader_
    if data.kind in ("vectors", "curves", "table", "gram") and names is not None and len(names) == data.X.shape[1]:
        reader = replace(reader, filling=copy.copy(reader.filling))
        for named in (estimator, reader.filling):
            if named is not None:
                named.feature_names_in_ = np.array(names, dtype=object)
    fingerprint = reader.fingerprint or notes["input"].get("fingerprint")
    estimator.reader_ = replace(reader, fingerprint=fingerprint, distance_scale=data.distance_scale)
    rkhs.save(estimator, path, notes=notes)


def read_model_file(args: argparse.Namespace) -> ModelFile:
    """Read the model that the arguments name."""
    from rkhs.persistence import read_model

    file = read_model(args.model, max_bytes=args.max_bytes, expected_sha256=args.sha256)
    _note_columns(file)
    vars(file.estimator).pop("feature_names_in_", None)  # columns are found by the names in the notes
    return file


def _note_columns(file: ModelFile) -> None:
    """Note the columns of the data frame to which Python fitted a model, as a command notes those of its file."""
    model = file.estimator
    names, domain = getattr(model, "feature_names_in_", None), getattr(getattr(model, "kernel_", None), "domain", None)
    if names is not None and domain in ("gram", "vectors") and "input" not in file.notes:
        kind = "gram" if domain == "gram" else "table" if model.reader_.filling is not None else "vectors"
        file.notes["input"] = {"kind": kind, "column_names": list(names)}


def of_class(model: object) -> str:
    """The class of a model behind its article."""
    name = type(model).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
