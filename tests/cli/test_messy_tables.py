"""Messy tables: prices, units, words among numbers, and the command that reads them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import rkhs
from rkhs.cli.main import main
from rkhs.data import read_table
from rkhs.data.known_columns import read_column


def cars(**cells: dict[int, str]) -> str:
    rows = []
    for i in range(30):
        row = {"id": f"c{i}", "price": str(2000 + 137 * i), "km": str(9000 + 911 * i % 7000), "colour": "rb"[i % 2]}
        rows.append(row | {name: given[i] for name, given in cells.items() if i in given})
    return "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]) + "\n"


def test_all_that_is_wrong_in_a_table_is_said_with_the_command_that_reads_it(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cars.csv").write_text(cars(price={4: "ask", 7: "12k"}, km={9: "unknown"}))
    assert main(["fit", "cars.csv", "-o", "c.rkhs"]) == 2
    said = capsys.readouterr().err
    assert "'price' (2 cells" in said
    assert "'km' (1 cells" in said
    assert "'colour'" in said
    assert said.rstrip().endswith("rkhs fit cars.csv -o c.rkhs --mixed")
    assert main(["fit", "cars.csv", "-o", "c.rkhs", "--mixed"]) == 0
    out = capsys.readouterr()
    assert "'price': 2 cells that are no numbers are read as gaps: 'ask' in row 5" in out.err
    assert "hold dates" not in out.out


def test_thousands_are_read_on_demand(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cars.csv").write_text(cars(price={4: '"12,500"'}))
    assert main(["fit", "cars.csv", "-o", "c.rkhs", "--mixed"]) == 2
    assert "--thousands ','" in capsys.readouterr().err
    assert main(["fit", "cars.csv", "-o", "c.rkhs", "--mixed", "--thousands", ","]) == 0
    assert read_table("cars.csv", columns=["price"], thousands=",").X[4, 0] == 12500.0


def test_how_dates_in_several_spellings_were_read_is_said(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cars.csv").write_text(
        cars(colour={i: (f"2024-01-{i + 1:02}", f"{i + 1:02}.01.2024")[i % 2] for i in range(30)})
    )
    assert main(["fit", "cars.csv", "-o", "c.rkhs"]) == 0
    assert "'2024-01-01' as 2024-01-01, '02.01.2024' as 2024-01-02" in capsys.readouterr().err


def test_rare_classes_are_named_alone_and_can_be_dropped(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cars.csv").write_text(cars(colour={3: "mauve"}))
    assert main(["fit", "cars.csv", "--predict", "colour", "-o", "c.rkhs"]) == 2
    said = capsys.readouterr().err
    assert "got mauve in one row; this command takes classes of one row for unknown, and keeps 2 classes:" in said
    assert main(["fit", "cars.csv", "--predict", "colour", "--drop-rare", "2", "-o", "c.rkhs"]) == 0
    said = capsys.readouterr().out
    assert "1 of 30 rows have no class" in said
    assert "left out with --drop-rare: mauve (1)" in said


def adverts(price: str, other: str = "") -> str:
    """Adverts with units, of which the price is written so, and one more cell."""
    rows = [
        f'{i % 12 + 1:02}/{2010 + i % 9},"{20 + i % 7},{100 + i} km",{"-" if i % 9 == 1 else f"{4 + i % 5}.5 l/100km"},'
        f'{"rb"[i % 2]},"{price.format(i % 7 + 3, 100 + i)}"'
        for i in range(40)
    ]
    more = [f'01/2012,"33,000 km",5.5 l/100km,r,{other}'] * bool(other)
    return "\n".join(["first,mileage,consumption,colour,price", *rows, *more]) + "\n"


@pytest.mark.sample(1)
@pytest.mark.parametrize("price", ["€ {},{}", "{},{} €", pytest.param("EUR {},{}", marks=pytest.mark.slow)])
def test_prices_and_units_are_numbers(price: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ads.csv").write_text(adverts(price))
    assert main(["fit", "ads.csv", "-o", "a.rkhs"]) == 2
    assert "--thousands" in capsys.readouterr().err
    assert main(["fit", "ads.csv", "--drop-columns", "price", "-o", "a.rkhs"]) == 2
    assert capsys.readouterr().err.endswith("fit ads.csv --drop-columns price -o a.rkhs --thousands , --mixed\n")
    fit = ["fit", "ads.csv", "-o", "a.rkhs", "--mixed", "--thousands", ",", "--predict", "price"]
    assert main(fit) == 0
    said = capsys.readouterr()
    assert "'consumption' is read as numbers in 'l/100km'" in said.err
    assert "'mileage' is read as numbers in 'km'" in said.err
    assert "zeros and ones (colour)" in said.out
    assert "first holds dates" in said.out
    Path("new.csv").write_text("\n".join(adverts(price).splitlines()[:3]) + "\n")
    assert main(["predict", "a.rkhs", "new.csv"]) == 0
    Path("ads.csv").write_text(adverts(price, "ask"))
    assert main(fit) == 2
    assert "pass --missing ask" in capsys.readouterr().err


def test_numbers_of_which_some_have_a_unit_are_named(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    units = {i: f"{9000 + i} km" for i in range(0, 30, 5)}
    Path("cars.csv").write_text(cars(km=units))
    words = ["fit", "cars.csv", "--estimator", "kernel-pca", "-o", "c.rkhs"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "column 'km' (6 cells of 30 with the unit 'km', first '9000 km' in row 1, line 2)" in said
    assert "write the unit in all cells of a column, or in none; this command reads it, and keeps texts" in said
    assert main(said.split("\n\n  rkhs ")[1].split()) == 0
    assert "6 cells of 30 with the unit 'km' are read as gaps" in capsys.readouterr().err
    Path("cars.csv").write_text(cars(km={i: f"{9000 + i} km" for i in range(30)}))
    assert main([*words, "--mixed"]) == 0  # obeyed
    assert "read as numbers in 'km'" in capsys.readouterr().err


def test_a_few_words_among_numbers_with_a_unit_are_named_with_the_flag(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    words = {4: "on request", 9: "on request"}
    Path("cars.csv").write_text(cars(price={i: f"{2000 + 137 * i} EUR" for i in range(30)} | words))
    said = "28 of 30 cells of price are numbers in EUR; 2 are not, the first 'on request': pass --missing 'on request'"
    for command in (
        ["fit", "cars.csv", "--predict", "price", "-o", "m.rkhs"],
        ["report", "cars.csv", "--predict", "price"],
    ):
        assert main(command) == 2
        assert said in capsys.readouterr().err
    command = ["fit", "cars.csv", "--predict", "price", "--missing", "on request", "-o", "m.rkhs"]
    assert main(command) == 0
    assert "2 rows without a value: left out" in capsys.readouterr().out


PRICES = {i: f'"{2000 + 137 * i:,} EUR"' for i in range(30)} | {4: "POA", 9: "POA"}


def test_prices_with_thousands_and_words_are_read_by_the_printed_command(tmp_path, monkeypatch, capsys) -> None:
    """Words of the target and of the inputs at once; a column of measurements is not left out for a few words."""
    monkeypatch.chdir(tmp_path)
    sizes = {i: f"{100 + 7 * i} m2" for i in range(30)} | dict.fromkeys([3, 8, 11, 20], "unknown")
    Path("cars.csv").write_text(cars(price=PRICES, km=sizes))
    fit = ["fit", "cars.csv", "--predict", "price", "-o", "m.rkhs"]
    assert main(fit) == 2
    said = capsys.readouterr().err
    assert "28 of 30 cells of price are numbers in EUR; 2 are not, the first 'POA': pass --thousands ',' --miss" in said
    words = shlex.split(said.partition("\n\n  rkhs ")[2])
    assert words == [*fit, "--missing", "POA,unknown", "--thousands", ","]
    assert main(words) == 0
    assert "2 rows without a value: left out" in capsys.readouterr().out
    for more in (["--thousands", ",", "--missing", "POA"], ["--thousands", ",", "--missing", "POA", "--mixed"]):
        assert main([*fit, *more]) == 2
        said = capsys.readouterr().err
        assert "26 of 30 cells of km are numbers in m2; 4 are not, the first 'unknown': pass --missing unknown" in said
        assert "got text in" not in said
        words = shlex.split(said.partition("\n\n  rkhs ")[2])
        assert sorted(words) == sorted([*fit, "--thousands", ",", "--missing", "POA,unknown", "--mixed"])
    assert main(words) == 0


def test_prices_with_thousands_of_several_targets_too(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cars.csv").write_text(cars(price=PRICES))
    assert main(["fit", "cars.csv", "--predict", "price,km", "-o", "m.rkhs"]) == 2
    words = shlex.split(capsys.readouterr().err.partition("\n\n  rkhs ")[2])
    assert words[-4:] == ["--missing", "POA", "--thousands", ","]
    assert main(words) == 0


def test_a_column_of_molecules_is_named_though_others_hold_shares(tmp_path: Path, monkeypatch, capsys) -> None:
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    smiles = [*(f"CC(=O){'C' * i}O" for i in range(20)), "C1CC(N"]
    rows = "\n".join(f"v{i};{one};{90 + i % 9}%;{300 + i}" for i, one in enumerate(smiles))
    Path("v.csv").write_text(f"number;Structure (isomeric);Purity;price\n{rows}\n")
    assert main(["fit", "v.csv", "-o", "v.rkhs"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("rkhs: error: v.csv")
    assert "v.csv: column 'Structure (isomeric)' holds SMILES: pass --smiles 'Structure (isomeric)'" in said
    words = shlex.split(said.partition("\n\n  rkhs ")[2])
    assert words[-3:] == ["--smiles", "Structure (isomeric)", "--skip-bad-smiles"]
    assert main(words) == 0


def test_a_word_for_gaps_of_a_category_is_reported(tmp_path: Path, monkeypatch, capsys) -> None:
    """Once, where it is as frequent as a category; a model in Python that is given the word says what a gap is."""
    monkeypatch.chdir(tmp_path)
    cellar = {i: ["NULL", "full", "half", "NULL"][i % 4] for i in range(30)} | {5: "NA"}
    Path("cars.csv").write_text(cars(colour=cellar))
    assert main(["fit", "cars.csv", "--predict", "price", "-o", "c.rkhs"]) == 0
    said = capsys.readouterr().err
    assert said.count("read as gaps") == 1
    assert "cars.csv: read as gaps: 15 cells 'NULL' of column 'colour'; write another word" in said
    model = rkhs.load("c.rkhs")
    with pytest.warns(UserWarning, match="such as 'NULL': .*; a gap is None"):
        model.predict([{"km": 9000.0, "colour": "NULL"}])
    Path("cars.csv").write_text(cars(colour=cellar | {i: "without" for i in cellar if cellar[i] == "NULL"}))
    assert main(["fit", "cars.csv", "--predict", "price", "-o", "c.rkhs"]) == 0
    assert "read as gaps" not in capsys.readouterr().err


def test_none_is_a_category_where_it_is_frequent(tmp_path: Path, monkeypatch, capsys) -> None:
    """Of new files too, but not with --missing, where it is rare, or where numbers have it for a gap."""
    monkeypatch.chdir(tmp_path)
    cellar = {i: ["none", "full < 2 m", "none"][i % 3] for i in range(30)} | {5: ""}
    table = cars(id=cellar).replace("id,", "cellar,")  # the first column, which names no rows

    def fit(text: str, *options: str) -> str:
        Path("cars.csv").write_text(text)
        assert main(["fit", "cars.csv", "--predict", "price", "-o", "c.rkhs", *options]) == 0
        out, err = capsys.readouterr()
        return err + out

    said = fit(table)
    assert "cars.csv: read as a category: 20 cells 'none' of column 'cellar'; --missing none takes" in said.replace(
        "19", "20"
    )
    assert "1 empty cell is filled" in said
    assert "constant" not in said
    assert rkhs.load("c.rkhs").reader_ is not None
    predict = ["predict", "c.rkhs", "new.csv", "-o"]
    for name, word in (("as.csv", "none"), ("gap.csv", ""), ("full.csv", "full < 2 m")):
        Path("new.csv").write_text(f"cellar,km,colour\n{word},9911,r\n")
        assert main([*predict, name]) == 0
    capsys.readouterr()
    values = [float(Path(name).read_text().splitlines()[1].split(",")[1]) for name in ("as.csv", "gap.csv", "full.csv")]
    assert len(set(values)) == 3
    for text, options in ((table, ["--missing", "none"]), (table.replace(",9911,", ",none,"), [])):
        assert "read as a category" not in fit(text, *options)


def test_doses_with_a_placebo_are_classes(tmp_path: Path) -> None:
    file = tmp_path / "doses.csv"
    file.write_text("size,dose\n" + "".join(f"{i},{['5 mg', '10 mg', 'none given'][i % 9 // 4]}\n" for i in range(90)))
    assert read_column(file, "dose", argument="target").tolist()[8] == "none given"


def test_a_category_that_looks_like_a_number_is_one(tmp_path: Path, monkeypatch, capsys) -> None:
    """Of a few texts that repeat; numbers among which a word stands for gaps are none."""
    monkeypatch.chdir(tmp_path)
    models = {i: ["Golf", "Polo", "500", "Panda"][i % 4] for i in range(30)}
    Path("cars.csv").write_text(cars(colour=models))
    assert main(["fit", "cars.csv", "-o", "c.rkhs"]) == 0
    capsys.readouterr()
    Path("cars.csv").write_text(cars(colour={i: str(i) if i < 13 else "unknown" for i in range(30)}))
    assert main(["fit", "cars.csv", "-o", "c.rkhs"]) == 2
    assert "--drop-columns colour" in capsys.readouterr().err
