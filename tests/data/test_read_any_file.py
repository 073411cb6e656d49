"""Every file of the page "Read any file" is read as the page says, by the line that stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse
import sklearn.datasets

from rkhs.cli.main import main, whole_parser
from rkhs.cli.options import read_options
from rkhs.data import formats, read_items
from rkhs.data.frames import read_frame

TEXT = (Path(__file__).resolve().parents[2] / "docs/user/read_any_file.md").read_text()
SECTIONS = dict(re.findall(r"^### ([^\n]+)\n(.*?)(?=^##)", TEXT, flags=re.MULTILINE | re.DOTALL))
PLAIN = {"weight": [1.5, 2.5, 3.5], "price": [3.25, 4.75, 5.0]}
DAYS = pd.to_datetime(["2024-01-03", "2024-03-17", "2025-06-01"])
# What each file means, and, where the flags of the page are left out, the start of the error or the columns of texts.
MEANT: dict[str, dict[str, Any]] = {
    "Semicolons and decimal commas": {"name": ["Ulm", "Bonn", "Kiel"], **PLAIN},
    "Titles above the header": PLAIN,
    "Notes below the table": PLAIN,
    "Lines of comments": PLAIN,
    "Another encoding": {"city": ["Köln", "Zürich", "Malmö"], **PLAIN},
    "Thousands separators": {"weight": [1.5, 2.5, 3.5], "price": [1250, 12400, 9800]},
    "Words for gaps": {"weight": [1.5, np.nan, 3.5, 4.5], "price": [3.25, 4.75, np.nan, 6]},
    "A row of units below the names": PLAIN,
    "Dates in words": {"day": DAYS, "price": [3.25, 4.75, 5.0]},
    "Another sheet of a workbook": PLAIN,
    "Units and currencies in cells": PLAIN,
    "Several header rows": {"dry weight": PLAIN["weight"], "dry price": PLAIN["price"], "wet weight": [1.7, 2.9, 3.8]},
    "Long form": {"sample": ["s1", "s2", "s3"], "alanine": [1.5, 2.5, 3.5], "serine": [3.25, 4.75, np.nan]},
    "Rows shorter than the header": {**PLAIN, "height": [7, np.nan, 9]},
}


def write_file(section: str) -> Path:
    """Write the file that a section shows, and the workbook that one describes."""
    path = Path(re.search(r"`(\w+\.\w+)`", section)[1])  # type: ignore[index]
    if path.suffix == ".xlsx":
        with pd.ExcelWriter(path) as book:
            pd.DataFrame({"note": ["none"]}).to_excel(book, sheet_name="Notes", index=False)
            pd.DataFrame(PLAIN).to_excel(book, sheet_name="Results", index=False, startrow=1)
        return path
    text = re.search(r"```text\n(.*?)```", section, flags=re.DOTALL)[1]  # type: ignore[index]
    path.write_bytes(text.encode("cp1252" if "cp1252" in section else "utf-8"))
    return path


def line_of(section: str) -> tuple[str, str]:
    """The language and the line that reads the file."""
    return re.findall(r"```(sh|python)\n(.*)\n```", section)[0]


def test_every_mess_of_the_page_is_tried() -> None:
    assert SECTIONS.keys() == {*MEANT, "One long series"}


@pytest.mark.parametrize("title", MEANT)
def test_the_line_of_the_page_reads_its_file(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_file(SECTIONS[title])
    language, line = line_of(SECTIONS[title])
    if language == "python":
        names = {"pandas": pd}
        exec(line, names)
        frame: Any = names["frame"]
    else:
        words = shlex.split(line)[1:]
        args = whole_parser().parse_args(words)
        frame = read_frame(path, read_options(args))
        assert main([*words, "--quiet"]) == 0
    expected = pd.DataFrame(MEANT[title])
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False, check_names=False, check_column_type=False)


@pytest.mark.parametrize("title", [title for title in MEANT if line_of(SECTIONS[title])[0] == "sh"])
def test_without_the_flags_the_file_is_not_read_so(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the page would advise flags that do nothing."""
    monkeypatch.chdir(tmp_path)
    path = write_file(SECTIONS[title])
    try:
        frame = read_frame(path, {})
    except ValueError:
        return
    assert not frame.astype(str).equals(pd.DataFrame(MEANT[title]).astype(str))


def test_short_rows_are_refused_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_file(SECTIONS["Rows shorter than the header"])
    assert main(["fit", str(path), "-o", "model.rkhs"]) == 2
    assert "line 3" in capsys.readouterr().err


def test_windows_of_a_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_file(SECTIONS["One long series"])
    names: dict[str, Any] = {"pandas": pd, "numpy": np}
    exec(line_of(SECTIONS["One long series"])[1], names)
    assert names["windows"].tolist() == [[1.5, 2.5, 3.5], [2, 1, 2.25]]
    frame = pd.DataFrame(np.arange(60).reshape(30, 2))
    several = np.lib.stride_tricks.sliding_window_view(frame, 24, axis=0)
    assert several.shape == (7, 2, 24)


def test_new_files_are_read_with_the_options_of_the_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_file(SECTIONS["Titles above the header"])
    assert main([*shlex.split(line_of(SECTIONS["Titles above the header"])[1])[1:], "--quiet"]) == 0
    assert main(["transform", "model.rkhs", "titled.csv", "-o", "codes.csv"]) == 0
    assert len(pd.read_csv("codes.csv")) == 3


def write_other(name: str, frame: pd.DataFrame) -> None:
    """Write a frame of numbers to a format that is not read."""
    rows = [" ".join(map(repr, row)) for row in frame.to_numpy().tolist()]
    names = list(frame.columns)
    lines = {
        "old.dat": [" ".join(names), *rows],
        "old.gct": [
            "#1.2",
            "2\t2",
            "\t".join(["Name", "Description", *names]),
            "g1\tnone\t1.5\t3.25",
            "g2\tnone\t2.5\t4.75",
        ],
        "old.arff": [
            "@relation r",
            *(f"@attribute {n} numeric" for n in names),
            "@data",
            *(r.replace(" ", ",") for r in rows),
        ],
    }
    if name == "old.json":
        frame.to_json(name)
    elif name == "old.dta":
        frame.to_stata(name, write_index=False)
    elif name == "old.mtx":
        scipy.io.mmwrite(name, scipy.sparse.coo_array(frame.to_numpy()))
    elif name == "old.svm":
        sklearn.datasets.dump_svmlight_file(frame.to_numpy(), np.zeros(len(frame)), name)
    else:
        Path(name).write_text("\n".join(lines[name]))


@pytest.mark.parametrize("name", ["old.json", "old.dta", "old.dat", "old.gct", "old.arff", "old.mtx", "old.svm"])
def test_the_line_that_converts_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"weight": [1.5, 2.5], "price": [3.25, 4.75]})
    write_other(name, frame)
    (line,) = (span for span in re.findall(r"`([^`]+)`", TEXT.split("## Files that are not read")[1]) if name in span)
    if ".csv" not in line and "new." not in line:
        line += '.to_csv("new.csv", index=False)'  # as the page says of both in this row
    exec(line, {"pandas": pd, "numpy": np, "scipy": scipy, "sklearn": sklearn})
    if name == "old.mtx":
        found = np.load("new.npy")
    elif name == "old.svm":
        found = np.load("new.npz")["X"]
    else:
        read = read_frame(Path("new.csv"), {})
        found = (read.set_index("Name") if name == "old.gct" else read).to_numpy(float)
    np.testing.assert_array_equal(found, frame.to_numpy())


def test_the_lines_for_sparse_matrices_distances_and_folders_of_curves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    X = np.array([[0.0, 1.5], [2.5, 0.0], [0.0, 3.5]])
    distances = scipy.spatial.distance.pdist(X)
    files = ["c1.csv", "c2.csv"]
    for i, file in enumerate(files):
        Path(file).write_text(f"t,c{i}\n0,1.5\n1,{i}.5\n2,3.25\n")
    scipy.sparse.save_npz("sparse.npz", scipy.sparse.csr_array(X))
    np.save("distances.npy", distances)
    found = []
    for start, old, new in (
        ("load_npz", "sparse.npz", "new.npy"),
        ("squareform", "distances.npy", "new.npy"),
        ("concat", "", "new.csv"),
    ):
        (line,) = (
            span for span in re.findall(r"`([^`]+)`", TEXT.split("## Files that are not read")[1]) if start in span
        )
        line = re.sub(r"old\.np[yz]", old, line)
        exec(line, {"pandas": pd, "numpy": np, "scipy": scipy, "files": files})
        found.append(read_items(new, kind="curves") if start == "concat" else np.load(new))
    np.testing.assert_array_equal(found[0], X)
    np.testing.assert_array_equal(found[1], scipy.spatial.distance.squareform(distances))
    assert (found[2].row_names, found[2].times.tolist()) == (("c0", "c1"), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(found[2].X, [[1.5, 0.5, 3.25], [1.5, 1.5, 3.25]])


def test_the_page_has_every_file_that_is_read_or_converted() -> None:
    named = {name.lower() for name in re.findall(r"`(\.\w+)", TEXT)}
    read = {*formats.TABLES, *formats.SDF, *formats.SPECTRA, *formats.FASTA}
    assert named >= read | set(formats._CONVERT)
