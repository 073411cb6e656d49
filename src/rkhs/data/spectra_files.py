"""Mass spectra in files, as matchms reads them: peaks as items, and what else the records say as columns."""

from __future__ import annotations

import logging
import re
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, optional
from rkhs.data.dataset import Dataset, keep_rows, read_text, refuse_empty
from rkhs.data.formats import SPECTRA, extension_of
from rkhs.data.molecule_files import numbers_where_all

_NO_PEAKS = re.compile(r"^num ?peaks: *0 *$", re.IGNORECASE | re.MULTILINE)
_NAMES = ("title", "compound_name", "spectrum_id", "feature_id", "scans")


def read_spectra(file: Path, encoding: str = "utf-8") -> Dataset:
    """Read spectra as pairs ``(mz, intensity)``, without those of no peak."""
    if extension_of(file) not in SPECTRA:
        raise InputError(f"{file}: spectra are read from files that end in {' or '.join(SPECTRA)}")
    records = _records(file, encoding)
    items = np.fromiter(((one.peaks.mz, one.peaks.intensities) for one in records), object)
    data = Dataset(items, "spectra", _names(records), None, str(file))
    return keep_rows(data, np.array([intensities.any() for _, intensities in items]), "no peaks")


def read_tags(file: Path, encoding: str = "utf-8") -> Any:
    """What the records say besides their peaks, as a frame; numbers where all cells of a tag are."""
    import pandas

    records = _records(file, encoding)
    texts = [
        {key: str(cell) for key, cell in one.metadata.items() if isinstance(cell, (str, int, float))} for one in records
    ]
    names = _names(records)
    return numbers_where_all(pandas.DataFrame(texts, index=None if names is None else list(names)))


def _records(file: Path, encoding: str) -> list[Any]:
    """Spectra as matchms reads them, silently."""
    reader = optional("matchms.importing")
    text = read_text(file, encoding)
    if extension_of(file) == ".msp" and _NO_PEAKS.search(text):  # whose tags matchms would give to the next record
        raise InputError(f"{file}: expected peaks in each record; got one with 'Num Peaks: 0'; remove such records")
    logging.getLogger("matchms").setLevel(logging.ERROR)
    try:
        if extension_of(file) == ".mgf":
            records = list(reader.load_from_mgf(StringIO(text)))
        else:  # of which matchms takes a name
            with TemporaryDirectory() as folder:
                Path(folder, file.name).write_text(text, "utf-8")
                records = list(reader.load_from_msp(str(Path(folder, file.name))))
    except Exception as error:  # of matchms, pyteomics and their parsers
        raise InputError(
            f"{file}: expected spectra; got a file that matchms cannot read ({error}); check it"
        ) from error
    refuse_empty(records, file, "spectra", "none")
    return records


def _names(records: list[Any]) -> tuple[str, ...] | None:
    """Names of the records: the first tag of names that differs in all of them."""
    for key in _NAMES:
        names = tuple(str(one.get(key, "")).strip() for one in records)
        if "" not in names and len(set(names)) == len(names):
            return names
    return None
