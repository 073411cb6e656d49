"""``rkhs decode``: codes back to vectors, or to the nearest candidates."""

from __future__ import annotations

import argparse
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rkhs import estimators, outputs
from rkhs._core.checks import check_count
from rkhs._core.errors import InputError
from rkhs.cli.inputs import chunks_for_model, user_errors
from rkhs.cli.kinds import diag_options
from rkhs.cli.outputs import SHEETS, TABLES, Outputs, of_class, read_model_file
from rkhs.cli.rows import write_number_parts
from rkhs.data import Dataset, formats
from rkhs.data.dataset import existing_path
from rkhs.data.frames import read_frame, to_dataset
from rkhs.data.items import read_objects
from rkhs.data.writers import write_rows

_CANDIDATES = 10_000  # in memory at a time
Names = Sequence[str] | dict[int, str] | None  # by number of the candidate


def run(args: argparse.Namespace) -> None:
    """Read, decode, write."""
    outputs = Outputs(("MODEL", args.model), ("CODES", args.codes), ("--candidates", args.candidates))
    outputs.add("-o", args.output, TABLES)
    file = read_model_file(args)
    model, known = file.estimator, file.notes.get("input", {})
    if not hasattr(model, "decode"):
        raise InputError(f"{args.model}: {of_class(model)} cannot decode codes")
    if args.candidates is None and args.n_best is None and _gives_vectors(model, known):
        _write_vectors(args, model, known)
        return
    if not args.output.lower().endswith(SHEETS):
        raise InputError(f"rankings are written as .csv or .xlsx; got {args.output!r}; change the file name")
    codes = _read_codes(args.codes)
    with user_errors():
        ranking, names, texts, lost = _ranked(args, model, file.notes, codes.X)
    text = "smiles" if known.get("kind") == "molecules" else "text"
    columns = {title: c for title, c in (("name", names), (text, texts)) if c is not None}
    places = _places(ranking.indices.ravel().tolist(), lost)
    write_rows(args.output, _rows(ranking, codes.row_names, columns, places))
    print(f"{ranking.indices.shape[1]} nearest candidates for each of {len(codes.X)} codes: {args.output}")


def _write_vectors(args: argparse.Namespace, model: estimators.KernelEstimator, known: dict[str, Any]) -> None:
    """Rows of numbers, or of numbers and texts, as they were before they were encoded."""
    codes = _read_codes(args.codes)
    with user_errors():
        vectors = model.inverse_transform(codes.X)
    titles = known.get("column_names") or [f"column{j}" for j in range(vectors.shape[1])]
    if vectors.dtype == object and not args.output.lower().endswith(SHEETS):
        raise InputError(
            f"rows with texts or gaps are written as .csv or .xlsx; got {args.output!r}; change the file name"
        )
    write_number_parts(args.output, [(vectors, codes)], titles)
    print(f"{len(vectors)} {'rows' if vectors.dtype == object else 'vectors'}: {args.output}")


def _ranked(
    args: argparse.Namespace, model: estimators.KernelEstimator, notes: dict[str, Any], codes: np.ndarray
) -> tuple[Any, Names, Names, list[int]]:
    """The nearest candidates, names and texts of these by number, and the rows of their file that were left out."""
    n_best = 5 if args.n_best is None else check_count(args.n_best, "--n-best")
    options = {"by": args.by, **diag_options(args, model)}
    if args.candidates is None:
        known = notes.get("input", {})
        ranking = model.decode(codes, None, n_best=n_best, **options)
        return ranking, *_training_names(model, known), known.get("skipped_rows") or []
    best = estimators.BestCandidates(n_best)
    names: dict[int, str] = {}
    texts: dict[int, str] = {}
    lost: list[int] = []
    for data in chunks_for_model(args, args.candidates, model, notes, _CANDIDATES):
        start = best.seen
        lost += [bad.row for bad in data.skipped]
        numbers = best.add(model, codes, data.items, **options).tolist()
        written = data.X.tolist() if data.kind in ("sequences", "texts") else data.smiles
        names, texts = (_kept(old, numbers, start, new) for old, new in ((names, data.row_names), (texts, written)))
    named, spelled = (column if any(column.values()) else None for column in (names, texts))
    return best.ranking, named, spelled, lost


def _gives_vectors(model: estimators.KernelEstimator, known: dict[str, Any]) -> bool:
    rows = known.get("kind", "vectors") in ("vectors", "curves") or model.reader_.filling is not None
    return rows and isinstance(getattr(model, "output_", None), outputs.Euclidean)


def _kept(old: dict[int, str], numbers: list[int], start: int, new: Sequence[str] | None) -> dict[int, str]:
    """Texts of the candidates that are still among the best; ``new`` are those from number ``start`` on."""
    return {j: old[j] if j < start else "" if new is None else new[j - start] for j in numbers}


def _places(numbers: Iterable[int], lost: Sequence[int]) -> dict[int, int]:
    """Rows of the file, from 0, of items that are counted without the rows that were left out (these count from 1)."""
    kept_before = [row - 1 - i for i, row in enumerate(sorted(lost))]
    return {j: j + bisect_right(kept_before, j) for j in numbers}


def _training_names(model: estimators.KernelEstimator, known: dict[str, Any]) -> tuple[Names, Names]:
    """Names, and SMILES or texts, of the training items that the model kept."""
    kept = model.reader_.kept
    columns = [known.get("row_names"), known.get("smiles") or known.get("texts")]
    names, texts = (c if c is None or kept is None else [c[i] for i in kept] for c in columns)
    return names, texts


def _read_codes(path: str) -> Dataset:
    """Codes of an array, or of a table that ``rkhs transform`` wrote."""
    file = existing_path(path)
    if formats.extension_of(file) not in formats.TABLES:
        return read_objects(file, None, fingerprint={})
    frame = read_frame(file, {})
    others = [name for name in frame.columns if not re.fullmatch(r"code\d+", str(name))]
    if len(others) == 1 < frame.shape[1]:
        frame = frame.set_index(others[0])
    return to_dataset(frame, path)


def _rows(
    ranking: Any,
    rows: Sequence[str] | None,
    columns: dict[str, Any],
    in_file: dict[int, int],
) -> Iterator[list[Any]]:
    """One row per code and candidate, nearest first, with the columns that there are; rows count from 1."""
    yield ["code", "rank", "candidate", *columns, "squared_distance"]
    for i, (indices, distances) in enumerate(zip(ranking.indices.tolist(), ranking.distances.tolist(), strict=True)):
        for place, (j, distance) in enumerate(zip(indices, distances, strict=True), 1):
            row, found = in_file[j], [column[j] for column in columns.values()]
            code = i + 1 if rows is None else rows[i]
            yield [code, place, row + 1, *found, distance]
