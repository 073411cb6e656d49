"""Files as offices and instruments export them: other encodings, line breaks in cells, several units, titles."""

from __future__ import annotations

import html
import re
import warnings
from itertools import chain
from pathlib import Path

import numpy as np
import pandas
import pytest

import rkhs.plots
from rkhs.cli.columns import column_notes
from rkhs.data import Dataset
from tests.cli.commands import printed, table
from tests.tables import read_table


def test_curves_in_another_encoding(run) -> None:
    table("a.txt", ["²\t0\t1\t2", *(f"µ{i}\t{i * i % 7}\t{i % 3}.5\t{i % 5}" for i in range(20))], "cp1252")
    status, said, _ = run("novelty", "a.txt", "--kind", "curves", "-o", "b.csv")
    assert status == 2
    assert printed(said)[-2:] == ["--encoding", "cp1252"]
    assert run(*printed(said))[0] == 0


def test_only_lists_of_numbers_are_left_out(run) -> None:
    """Dates, classes and notes hold spaces as telephone numbers do."""
    rows = [f"+358 41 68{i:02},2024-01-{1 + i % 9:02} 12:54,{['Organic Search', 'Paid Ad'][i % 2]}" for i in range(40)]
    table("a.csv", ["phone,made,source,seats", *(f"{row},{i * i % 17}" for i, row in enumerate(rows))])
    status, said, _ = run("novelty", "a.csv", "--mixed", "-o", "b.csv")
    assert status == 2
    assert printed(said)[-2:] == ["--drop-columns", "phone"]
    assert run(*printed(said))[0] == 0


def test_a_page_quotes_lists_of_columns(run) -> None:
    """Its commands named one column 'b,c' in place of two."""
    table("a.csv", ["a,b,c,d", *(f"{i % 7},{i},{i * i % 5},{i * i % 11}" for i in range(20))])
    words = ["report", "a.csv", "--drop-columns", "b,c", "--missing", "77,-9"]
    assert run(*words)[0] == 0
    page = html.unescape(Path("report.html").read_text("utf-8"))
    assert "rkhs novelty a.csv new.csv --drop-columns b,c --missing 77,-9" in page


def test_the_rarer_of_two_units_is_taken_as_gaps(run) -> None:
    """The prices became classes, one a price."""
    prices = [f"{200 + 37 * i} TL" for i in range(40)] + ["30 €", "25 €", "ask us"]
    table("a.csv", ["x,p", *(f"{i % 7}.5,{price}" for i, price in enumerate(prices))])
    status, said, _ = run("fit", "a.csv", "--predict", "p", "-o", "m.rkhs")
    assert status == 2
    assert "40 of 43 cells of p are numbers in TL, 2 in €; 3 are not, the first '30 €'" in said
    assert printed(said)[-2:] == ["--missing", "30 €,25 €,ask us"]
    status, _, said = run(*printed(said))
    assert status == 0
    assert "40 items" in said


@pytest.mark.sample(1)
@pytest.mark.parametrize("mixed", [False, True])
def test_titles_and_encodings_of_new_files(run, mixed: bool) -> None:
    """A model reads the file of its fit, files without titles, and names what another file needs."""
    rows = [f"{i * i % 7},{['Şişli', 'Kadıköy'][i % 2]},{i % 5}.5" for i in range(20)]
    names = "Başlık,İlçe,Oda"
    table("a.csv", ["Araç ilanları, döküm", "", names, *rows], "cp1254")
    table("plain.csv", [names, *rows])
    table("other.csv", [names, *rows], "cp1254")
    flags = ["--mixed"] if mixed else ["--columns", "Başlık,Oda"]
    fit = ["fit", "a.csv", *flags, "--n-components", "1", "--encoding", "cp1254", "--skip-rows", "2", "-o", "m.rkhs"]
    assert run(*fit)[0] == 0
    codes = []
    for name in ("a.csv", "plain.csv"):
        status, said, _ = run("transform", "m.rkhs", name, "-o", "c.csv")
        assert (status, said) == (0, "")
        codes.append(Path("c.csv").read_text("utf-8"))
    assert codes[0] == codes[1]
    assert run("fit", "plain.csv", *flags, "--n-components", "1", "-o", "p.rkhs")[0] == 0
    status, said, _ = run("transform", "p.rkhs", "other.csv", "-o", "c.csv")
    assert status == 2
    assert printed(said)[-2:] == ["--encoding", "cp1254"]
    assert run(*printed(said))[0] == 0


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "form", ["{0:02}.01.2024 {1:02}:00 - {2:02}.01.2024 {3:02}:00", "2024-01-{0:02}T{1:02}:00/2024-01-{2:02}T{3:02}:00"]
)
def test_intervals_are_read_by_their_start(run, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """A single row of a long series is computed only where its time is left out."""
    hours = [form.format(1 + i // 24, i % 24, 1 + (i + 1) // 24, (i + 1) % 24) for i in range(20 * 24)]
    table("a.csv", ["time,load", *(f"{hour},{i * i % 17}" for i, hour in enumerate(hours))])
    assert run("novelty", "a.csv", "--window", "24", "-o", "b.csv")[0] == 0
    first = form.format(1, 0, 1, 1)
    assert Path("b.csv").read_text("utf-8").splitlines()[1].split(",")[0] == first[:16]
    monkeypatch.setattr("rkhs.cli.columns._MANY_TIMES", 400)
    status, said, _ = run("novelty", "a.csv", "-o", "b.csv")
    assert status == 2
    assert printed(said.rpartition("\n\n")[0])[-2:] == ["--window", "24"]


def test_a_map_of_days_is_no_strip(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of days are written without midnight, and the picture is at most twice as wide as high."""
    drawn = []
    plot = rkhs.plots.CodeMapDisplay.plot

    def noted(self, ax):
        drawn.append((self, ax))
        return plot(self, ax)

    monkeypatch.setattr(rkhs.plots.CodeMapDisplay, "plot", noted)
    days = [f"2024-0{1 + i // 28}-{1 + i % 28:02} 00:00" for i in range(60)]
    table("a.csv", ["day,x,y", *(f"{day},{i * 50 + (i == 59) * 90000},{i * i % 17}" for i, day in enumerate(days))])
    assert run("map", "a.csv", "--index-column", "day", "--method", "autoencoder", "-o", "a.png")[0] == 0
    display, ax = drawn[0]
    assert display.names[0] == "2024-01-01"
    assert display.far
    width, height = np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
    assert 0.45 < height / width < 2.2


def test_rules_of_a_printed_list_are_no_rows(run) -> None:
    """A rule was a row of another width."""
    rule, names = "-" * 30, "| x | y |kind|"
    rows = [[f"| {i * i % 7},5|{i % 3},5|{'ab'[i % 2]}|", *[rule] * (i % 12 == 11)] for i in range(36)]
    table("a.txt", ["List of 1 May", "", rule, names, rule, *chain(*rows)])
    status, err, _ = run("fit", "a.txt", "--predict", "kind", "--kernel", "rbf", "-o", "m.rkhs")
    assert status == 0, err
    data = read_table("a.txt")
    assert [*map(len, (data.X, {*data.X[:, -1]}))] == [36, 2]


def test_a_model_of_columns_keeps_the_rows_above_its_file(run) -> None:
    """A new file of spectra in columns has other names of these."""
    of_all = [what + f"\t{value}" * 12 for what, value in (("Samples", 8), ("Unit", "AU"), ("X0", "8,5"))]
    above = ["Measurement\t", *map("Version\t{}".format, range(3)), "***\t", *of_all]
    for name in "ab":
        rows = ["\t".join([f"{850 + i},5", *(f"{i * (j + 3) % 11},25" for j in range(12))]) for i in range(8)]
        table(f"{name}.txt", [*above, "\t".join(["X_Value", *(f"{name}{j}" for j in range(12))]), *rows])
    assert run("fit", "a.txt", "--skip-rows", "8", "--transpose", "--n-components", "2", "-o", "m.rkhs")[0] == 0
    status, said, _ = run("transform", "m.rkhs", "b.txt", "-o", "b.csv")
    assert status == 0, said


@pytest.mark.parametrize("columns", [["load"], ["load", "heat"]])
def test_no_flag_leaves_a_column_of_windows_out(columns: list[str]) -> None:
    """The command left a column out that the file does not have."""
    names = tuple(f"{name}+{t}" for name in columns for t in range(14))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) + rng.normal(size=(60, len(names))) / 4
    X[:, 13] *= 9.0
    said = "\n".join(column_notes(Dataset(X, "vectors", None, names, "a.csv")))
    assert "load+13 holds" in said
    assert "--drop-columns" not in said


def test_the_line_that_writes_logarithms_takes_words_for_gaps(run) -> None:
    """Columns with a word were texts to pandas, and kept as they were."""
    sizes = np.exp2(np.random.default_rng(0).normal(size=(60, 8)) * 3 + 12).round(4)
    rows = [
        [f"p{i}", *("Filtered" if (i + j) % 7 == 0 else f"{sizes[i, j]:.4f}".replace(".", ",") for j in range(8))]
        for i in range(60)
    ]
    names = "\t".join(["protein", *(f"S{j}" for j in range(8))])
    pages = [["-" * 9, *map("\t".join, rows[start : start + 20])] for start in (0, 20, 40)]
    table("a.tsv", ["Printed", names, *chain(*pages)])
    _, said, _ = run("novelty", "a.tsv", "--transpose", "-o", "n.csv")
    line = re.search(r'python -c "(.*)"', said)
    assert line is not None, said
    with warnings.catch_warnings(action="ignore"):
        exec(line[1])
    logs = pandas.read_csv("a_log.csv", index_col=0)
    np.testing.assert_allclose(logs, np.where(np.add.outer(range(60), range(8)) % 7, np.log2(sizes), np.nan))
