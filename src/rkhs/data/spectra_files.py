"""Mass spectra in files: peaks as items, and what else the records say as columns."""

from __future__ import annotations

import logging
import re
from io import StringIO
from itertools import chain, compress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, optional, warn
from rkhs.data.dataset import Dataset, keep_rows, read_text, refuse_empty
from rkhs.data.formats import SPECTRA
from rkhs.data.molecule_files import numbers_where_all

_NAMES = ("title", "compound_name", "spectrum_id")
_ID = re.compile(r".*(?:accession|id|identifier)")  # keys of CFM-ID, MassSpecGym, MS-DIAL, mzmine and others
_COMPOUND = re.compile(r"^>compound[ \t]+(.*)\n((?:(?!>compound).*\n?)*)", re.MULTILINE)  # of SIRIUS
_TAG = re.compile(r"^[>#](?!ms|collision)(\w+)[ \t]+(.*)", re.MULTILINE)
_PEAKS = re.compile(r"^>(ms1|ms2|collision)\w*[ \t]*(.*)\n((?:[^>#\n]*\n?)*)", re.MULTILINE)
_SIRIUS = {"parentmass": "pepmass", "ionization": "adduct"}
_COMPOUNDS = ("inchikey", "inchi", "cas_number", "casno", "cas", "nistno", "nist_number")  # of several spectra, perhaps
_COUNT = re.compile(r"num\s?peaks", re.IGNORECASE)
_NO_PEAKS = re.compile(r"^(num peaks:)\s*0\s*$", re.IGNORECASE | re.MULTILINE)


def read_spectra(file: Path, encoding: str = "utf-8") -> Dataset:
    """Read spectra as pairs ``(mz, intensity)``, without those of no peak, and of intact ions beside fragments."""
    if file.suffix.lower() not in SPECTRA:
        raise InputError(f"{file}: spectra are read from files that end in {' or '.join(SPECTRA)}")
    records = _records(file, encoding)
    items = np.fromiter(((one.peaks.mz, one.peaks.intensities) for one in records), object)
    fragments = _of_fragments(records)
    data = Dataset(items, "spectra", _names(records), None, str(file), aliases=_aliases(records))
    peaks = np.array([intensities.any() for _, intensities in items])
    return keep_rows(keep_rows(data, fragments, "MS level 1: no fragments"), peaks[fragments], "no peaks")


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
    logging.getLogger("matchms").setLevel(logging.ERROR)
    try:
        if file.suffix.lower() != ".msp":
            text = text if file.suffix.lower() == ".mgf" else _as_mgf(text)
            records = list(reader.load_from_mgf(StringIO(text)))
        else:  # matchms would add the tags of a record without peaks to those of the next
            with TemporaryDirectory() as folder:
                text = _NO_PEAKS.sub(r"\1 1\n0 0\n", _of_keys(file, text))
                (whole := Path(folder, file.name)).write_text(text, "utf-8")
                records = list(reader.load_from_msp(str(whole)))
    except Exception as error:  # of matchms, pyteomics and their parsers
        raise InputError(
            f"{file}: expected spectra; got a file that matchms cannot read ({error}); check it"
        ) from error
    refuse_empty(records, file, "spectra", "none")
    return records


def _of_keys(file: Path, text: str) -> str:
    """The text of an .msp file without lines between key and peaks that have no key, as long comments have; counted."""
    lines, peaks = [*text.splitlines()], False
    for i, line in enumerate(lines):
        peaks = bool(_COUNT.match(line)) or (peaks and bool(line.strip()))
        lines[i] = line if peaks or ":" in line else ""
    kept = [line for line, old in zip(lines, text.splitlines(), strict=True) if line or not old.strip()]
    if len(kept) < len(lines):
        warn(f"{file}: lines without a key, as of comments of several lines, left out: {len(lines) - len(kept)}")
    return "\n".join(kept)


def _as_mgf(text: str) -> str:
    """The records of SIRIUS in the form of an .mgf: one for the peaks below each ``>ms2`` or ``>collision``."""
    records = []
    for name, compound in _COMPOUND.findall(text):
        tags = [("compound_name", name), *_TAG.findall(compound)]
        for level, energy, peaks in _PEAKS.findall(compound):
            found = [*tags, ("mslevel", "1" if level == "ms1" else "2"), *([("collision", energy)] if energy else ())]
            lines = (f"{_SIRIUS.get(key, key).upper()}={value}" for key, value in found)
            records.append("\n".join(("BEGIN IONS", *lines, peaks.strip(), "END IONS\n")))
    return "\n".join(records)


def _of_fragments(records: list[Any]) -> np.ndarray:
    """Whether records are spectra of fragments, as their levels say; all are where none says so."""
    levels = np.array([str(one.get("ms_level", "2")) for one in records])
    return (levels != "1") | (levels == "1").all()


def _aliases(records: list[Any]) -> tuple[tuple[str, ...], ...]:
    """What may name records in other files: each key of names, empty where a record lacks it."""
    ids = filter(_ID.fullmatch, chain.from_iterable(one.metadata for one in records))
    keys = dict.fromkeys((*_NAMES, *ids, "scans", *_COMPOUNDS))
    found = (tuple(str(one.get(key, "")).strip() for one in records) for key in keys)
    return tuple(names for names in found if any(names))


def _names(records: list[Any]) -> tuple[str, ...] | None:
    """Names of the records: what differs in all of them, or in all of fragments."""
    kept = _of_fragments(records)
    named = ((found, [*compress(found, kept)]) for found in _aliases(records))
    return next((found for found, these in named if all(these) and len({*these}) == len(these)), None)
