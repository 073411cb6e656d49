"""Model files on the command line: what may be asked of one before it is read."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rkhs.persistence import ModelFile


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
