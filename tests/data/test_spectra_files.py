"""Files of spectra: peaks, names and tags."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.data import read_items
from rkhs.data.frames import read_frame

if find_spec("matchms") is None:
    pytest.skip("spectra need matchms (extra `spectra`)", allow_module_level=True)


def column(path: Path, name: str) -> list[Any]:
    """A tag of every record, None where it has none."""
    found = read_frame(path, {})[name]
    return [None if gap else cell for cell, gap in zip(found, found.isna(), strict=True)]


def test_a_file_of_spectra_has_peaks_tags_and_names(tmp_path: Path) -> None:
    (tmp_path / "a.msp").write_text(
        "Name: one\nPrecursorMZ: 195.0877\nSmiles: CCO\nNum Peaks: 2\n110.5 20; 138.25 100\n\n"
        "Name: two\nPrecursorMZ: 60.5\nSmiles: CCN\nNum Peaks: 1\n45.5 7\n\n"
    )
    data = read_items(tmp_path / "a.msp")
    assert (data.kind, data.row_names) == ("spectra", ("one", "two"))
    np.testing.assert_allclose(data.items[0], [[110.5, 138.25], [20.0, 100.0]])
    assert column(tmp_path / "a.msp", "smiles") == ["CCO", "CCN"]
    assert column(tmp_path / "a.msp", "precursor_mz") == [195.0877, 60.5]


@pytest.mark.parametrize("text", ["", "no spectra\n", "BEGIN IONS\nTITLE=a\nPEPMASS=1.5\nEND IONS\n"])
def test_files_without_peaks_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.mgf").write_text(text)
    with pytest.raises(InputError, match="expected"):
        read_items(tmp_path / "a.mgf")


def test_records_without_a_peak_are_left_out(tmp_path: Path) -> None:
    one = "BEGIN IONS\nTITLE={}\nPEPMASS=1.5\n{}END IONS\n\n"
    (tmp_path / "a.mgf").write_text(one.format("a", "") + one.format("b", "10.5 2\n"))
    data = read_items(tmp_path / "a.mgf")
    assert (data.row_names, data.row_numbers) == (("b",), [2])


def test_a_record_of_zero_peaks_is_refused(tmp_path: Path) -> None:
    """matchms would give its tags to the next record."""
    (tmp_path / "a.msp").write_text("Name: one\nSmiles: CCO\nNum Peaks: 0\n\nName: two\nNum peaks: 1\n45.5 7\n")
    with pytest.raises(InputError, match="got one with 'Num Peaks: 0'; remove such records"):
        read_items(tmp_path / "a.msp")


def test_records_without_names_have_none(tmp_path: Path) -> None:
    one = "BEGIN IONS\nTITLE=a\nPEPMASS=1.5\nFEATURE_ID={}\n10.5 2\nEND IONS\n\n"
    (tmp_path / "a.mgf").write_text(one.format(7) + one.format(9))
    assert read_items(tmp_path / "a.mgf").row_names == ("7", "9")  # what differs
    (tmp_path / "a.mgf").write_text(one.format(7) * 2)
    assert read_items(tmp_path / "a.mgf").row_names is None
