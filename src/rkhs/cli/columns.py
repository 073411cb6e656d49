"""Columns of tables on the command line: which are standardised, and what is said of them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from typing import Any

import numpy as np

from rkhs import estimators, kernels
from rkhs._core.errors import InputError
from rkhs.data.columns import (
    COPIES,
    ON_BOTH_SIDES as ON_BOTH_SIDES,
    TENFOLD,
    TWINS,
    column_remarks,
    repeats_items as repeats_items,
    row_copies,
    share_a_unit,
    spreads,
    wants_scaling,
)
from rkhs.data.dataset import Dataset, titles_of
from rkhs.data.formats import is_table
from rkhs.data.molecule_files import molecule_remarks

_OF_ANY_NUMBERS = ("laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")  # of scikit-learn's kernels


def column_setting(args: argparse.Namespace, data: Dataset, kernel: Any) -> dict[str, Any]:
    """The parameter ``columns`` that the arguments and the data ask for."""
    asked = getattr(args, "scale_columns", None) or "auto"
    if data.kind == "curves" and asked == "auto":
        return {"columns": "integral"} if _unequal(data.times) and _sees_units(kernel) else {}
    if data.kind == "table":
        if asked != "auto":
            raise InputError(
                f"--scale-columns {asked} is for tables of numbers; one with texts or gaps is always standardised; "
                "leave it out"
            )
        return {"columns": "filled"} if _reads_vectors(kernel) else {}
    return {"columns": "scaled"} if _scaled(args, data, kernel, asked) else {}


def column_change(args: argparse.Namespace, known: Dataset, kernel: Any) -> Callable[[Any], Any]:
    """What the parameter ``columns`` does with rows, where no estimator does it; scales are those of known rows."""
    from rkhs.estimators.reader import ColumnScaling
    from rkhs.features import FilledTable
    from rkhs.kernels.vectors.functional import quadrature_weights

    asked = column_setting(args, known, kernel).get("columns")
    if asked == "filled":
        return FilledTable().fit(known.X).transform
    if asked == "integral":
        return ColumnScaling.of_weights(quadrature_weights(known.times, known.X.shape[1])).apply
    return (lambda X: X) if asked is None else ColumnScaling.of(known.X).apply


def _scaled(args: argparse.Namespace, data: Dataset, kernel: Any, asked: str) -> bool:
    """Whether columns of numbers are standardised: on demand, or in a table whose columns have several units."""
    in_memory = _in_memory(data) and getattr(args, "engine", None) != "dask"
    if asked == "yes":
        if not in_memory:
            block = (
                "--engine dask and --stream read a file block by block"
                if data.kind == "vectors"
                else f"got {data.kind}"
            )
            raise InputError(f"--scale-columns yes is for rows of numbers in memory; {block}; leave it out")
        return True
    return asked == "auto" and in_memory and is_table(data.source) and _sees_units(kernel) and wants_scaling(data.X)


def _in_memory(data: Dataset) -> bool:
    return data.kind == "vectors" and hasattr(data.X, "std")


def _unequal(times: np.ndarray | None) -> bool:
    """Whether curves have times that are not equally spaced."""
    return times is not None and not np.allclose(np.diff(times), np.diff(times).mean(), rtol=1e-3)


def _reads_vectors(kernel: Any) -> bool:
    return kernel == "auto" or kernels.as_kernel(kernel).domain == "vectors"


def _sees_units(kernel: Any) -> bool:
    """Whether a kernel means distances or products of rows of any numbers; one of bits, counts or curves does not."""
    parts = [kernels.as_kernel("gaussian" if kernel == "auto" else kernel)]
    for part in parts:
        known = isinstance(
            part, (kernels.ArcCosine, kernels.Composite, kernels.DotProduct, kernels.NTK, kernels.Stationary)
        )
        borrowed = (
            isinstance(part, kernels.FromSklearn) and isinstance(part.kernel, str) and part.kernel in _OF_ANY_NUMBERS
        )
        if isinstance(part, kernels.ScaledInputs) or not (known or borrowed):
            return False
        parts += getattr(part, "parts", ())
    return True


def column_sentences(estimator: estimators.KernelEstimator, data: Dataset) -> list[str]:
    """What is to know of the columns of a table: their scales, and those that say nothing of an item."""
    read = getattr(estimator, "columns", "raw")
    if read in ("filled", "ranked") and data.kind == "table":
        return [_filling_sentence(data, read), *column_notes(data)]
    found = spreads(data.X) if _in_memory(data) else None
    if found is None:
        return column_notes(data)
    if read == "scaled":
        how = "standardised; decoding gives the units of the file. --scale-columns no leaves them as they are"
    elif found.ratio > TENFOLD and not share_a_unit(data.X):
        how = "not standardised, so wide columns count most. --scale-columns yes standardises them"
    else:
        return column_notes(data)
    names = titles_of(data)
    spread = (
        f"The spread of {names[found.widest]} is {found.most:.3g}, that of {names[found.narrowest]} {found.least:.3g}"
    )
    return [f"columns: {how}. {spread}, {found.ratio:,.0f} times less", *column_notes(data)]


def _filling_sentence(data: Dataset, read: str) -> str:
    """What becomes of gaps, texts and numbers of a table."""
    gaps = sum(cell is None for cell in data.X.ravel().tolist())
    how = "are standardised" if read == "filled" else "become normal scores of their ranks"
    return (
        f"columns: {gaps} empty cells are filled from the nearest rows, texts become columns of zeros and ones, "
        f"numbers {how}; decoding gives cells of the table"
    )


def column_notes(data: Dataset) -> list[str]:
    """What is said of molecules, or of columns that may do harm, and the flag that leaves these out."""
    if data.smiles is not None:
        same = row_copies(data.items, COPIES if data.as_smiles else TWINS, least=0.0)
        return [f"note: {text}" for text in (*molecule_remarks(data.smiles, data.skipped), same) if text]
    if not is_table(data.source):
        return []
    units = _in_memory(data) and not share_a_unit(data.X)
    return _remarks(data) if units or data.kind == "table" else []


def _remarks(data: Dataset) -> list[str]:
    """What is said of the columns of a table, and the flag that leaves some out."""
    remarks, names = column_remarks(data.X, titles_of(data), data.dates)
    notes = [f"note: {text}" for text in (row_copies(data.X), *remarks) if text]
    if names:
        notes.append(f"note: --drop-columns {shlex.quote(','.join(names))} leaves them out")
    return notes
