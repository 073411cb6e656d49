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


def test_a_record_of_zero_peaks_is_left_out_by_name_and_lends_its_tags_to_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.msp").write_text(
        "Name: one\nSmiles: CCO\nNum Peaks: 0\n\nName: two\nNum peaks: 1\n45.5 7\n\nName: three\nNUM PEAKS: 0\n"
    )
    data = read_items(tmp_path / "a.msp")
    assert data.row_names == ("two",)
    assert [(bad.row, bad.text, bad.reason) for bad in data.skipped] == [
        (1, "one", "no peaks"),
        (3, "three", "no peaks"),
    ]
    assert column(tmp_path / "a.msp", "smiles") == ["CCO", None, None]


def test_spectra_of_intact_ions_next_to_those_of_fragments_are_left_out(tmp_path: Path) -> None:
    one = "BEGIN IONS\nFEATURE_ID={}\nPEPMASS=1.5\nMSLEVEL={}\n10.5 {}\nEND IONS\n\n"
    (tmp_path / "a.mgf").write_text("".join(one.format(i, level, level) for i in (7, 9) for level in (1, 2)))
    data = read_items(tmp_path / "a.mgf")
    assert (data.row_names, data.row_numbers) == (("7", "9"), [2, 4])
    assert [float(intensity[0]) for _, intensity in data.items] == [2.0, 2.0]
    (tmp_path / "b.mgf").write_text("".join(one.format(i, 1, 1) for i in (7, 9)))
    assert read_items(tmp_path / "b.mgf").row_names == ("7", "9")


def test_records_of_sirius_are_spectra_of_fragments_by_collision(tmp_path: Path) -> None:
    (tmp_path / "a.ms").write_text(
        ">compound one\n>parentmass 195.0877\n>smiles CCO\n#rt 725.28s\n\n>ms1\n195.1 5\n\n"
        ">collision 35\n50.5 1\n60.5 2\n>collision 20\n70.5 3\n\n>compound two\n>parentmass 60.5\n\n>ms2\n45.5 7\n"
    )
    data = read_items(tmp_path / "a.ms")
    assert data.row_numbers == [2, 3, 4]
    np.testing.assert_allclose(data.items[0], [[50.5, 60.5], [1.0, 2.0]])
    for name, cells in (
        ("smiles", ["CCO", "CCO", "CCO", None]),
        ("compound_name", ["one", "one", "one", "two"]),
        ("precursor_mz", [195.0877, 195.0877, 195.0877, 60.5]),
        ("collision", [None, 35.0, 20.0, None]),
    ):
        assert column(tmp_path / "a.ms", name) == cells
