"""Molecules in files: smi files, and turning SMILES into a data set of fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rkhs._core.errors import InputError
from rkhs.data.dataset import Dataset
from rkhs.data.fingerprints import OnError, molecular_fingerprints

__all__ = ["molecule_dataset", "read_smi"]


def read_smi(path: Path, *, encoding: str) -> tuple[list[str], tuple[str, ...] | None]:
    """Read a smi file: on each line a SMILES and, after white space, an optional name.

    Parameters
    ----------
    path : Path
        Blank lines and lines that start with ``#`` are left out.
    encoding : str

    Returns
    -------
    smiles : list of str
        n SMILES, not yet checked.
    names : tuple of str or None
        n names, or None if not every line has one.

    Raises
    ------
    InputError
        If the file holds no SMILES or is not text.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding).splitlines()
    except LookupError as error:
        raise InputError(
            f"`encoding` must be one that Python knows; got {encoding!r}; try 'utf-8' or 'latin-1'"
        ) from error
    except UnicodeError as error:
        raise InputError(
            f"{path}: expected text in {encoding}; got bytes that are not ({error}); pass encoding=, for example "
            "'latin-1'"
        ) from error
    parts = [line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#")]
    if not parts:
        raise InputError(f"{path}: expected one SMILES a line; got an empty file; check that it was written to the end")
    named = all(len(part) == 2 for part in parts)
    return [part[0] for part in parts], tuple(part[1].strip() for part in parts) if named else None


def molecule_dataset(
    smiles: Sequence[str], row_names: tuple[str, ...] | None, *, source: str, on_error: OnError, recipe: dict[str, Any]
) -> Dataset:
    """Turn SMILES into a data set of fingerprints.

    Parameters
    ----------
    smiles : sequence of str
        n SMILES.
    row_names : tuple of str or None
        n names.
    source : str
        Where they come from.
    on_error : {"raise", "skip"}
        What to do with a SMILES that cannot be read.
    recipe : dict
        ``fingerprint`` ("counts" is "morgan" with counts), ``radius`` and ``n_bits``.

    Returns
    -------
    Dataset
        Of kind "molecules", with `smiles` and, for "skip", the rows `skipped`.

    Raises
    ------
    InputError
        If a SMILES cannot be read and `on_error` is "raise", or none can be read.
    MissingExtraError
        If RDKit is not installed.
    """
    try:
        counts = recipe["fingerprint"] == "counts"
        options = recipe | ({"fingerprint": "morgan"} if counts else {})
        prints = molecular_fingerprints(smiles, counts=counts, on_error=on_error, **options)
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    kept = prints.kept.tolist()
    return Dataset(
        X=prints.bits,
        kind="molecules",
        row_names=None if row_names is None else tuple(row_names[i] for i in kept),
        column_names=None,
        source=source,
        smiles=tuple(smiles[i] for i in kept),
        skipped=prints.skipped,
    )
