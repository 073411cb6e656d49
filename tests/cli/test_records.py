"""Files of several kinds of records, and columns without names by their places in the file."""

from pathlib import Path

import pytest

from tests.cli.commands import Run

VALUES = [",".join(f"{(7 * i + 3 * j) % 11 + i % 5}.25" for j in range(6)) for i in range(24)]


def meter() -> list[str]:
    """Records of meters: a head, two meters with days, events of some days, an end."""
    rows = ["100,NEM12,200506081149,UNITEDDP,NEMMCO"]
    for i, values in enumerate(VALUES):
        rows += ["200,VABD000163,E1Q1,1,E1,N1,METSER123,kWh,30,20050610"] * (i % 12 == 0)
        rows.append(f"300,200503{i + 1:02},{values},{'AES'[i % 3]},,,20050310121004,20050310182204")
        rows += ["400,1,48,E52,,"] * (i % 3 == 1)
    return [*rows, "900"]


def test_one_kind_of_records_is_read_by_the_printed_command(run: Run) -> None:
    Path("m.csv").write_text("\n".join(meter()) + "\n")
    status, err, _ = run("map", "m.csv", "-o", "m.png")
    assert status == 2
    assert "'300' in 24 rows, '400' in 8 rows, '200' in 2 rows, '100' in 1 row, '900' in 1 row" in err
    assert err.endswith("this command reads these:\n\n  rkhs map m.csv -o m.png --records 300\n")
    status, err, out = run("novelty", "m.csv", "--records", "300")
    assert status == 0
    assert "because no cell is known: column 9, column 10\n" in err
    assert "of 24 rows of m.csv" in out
    assert "column 1 looks like" in out
    assert "2 columns are constant (column 11, column 12)" in out
    assert "\nnote: --drop-columns 1 leaves it out\n" in out
    words = ("--records", "300", "--drop-columns", "1,11,12")
    status, err, out = run("fit", "m.csv", *words, "--estimator", "kernel-pca", "-o", "m.rkhs")
    assert (status, "constant" in out) == (0, False)
    assert run("transform", "m.rkhs", "m.csv", "-o", "codes.csv")[0] == 0
    assert len(Path("codes.csv").read_text().splitlines()) == 25
    assert "'300' in 24 rows" in run("map", "m.csv", "-o", "m.png", "--records", "301")[1]


def test_a_kind_whose_first_record_is_names(run: Run) -> None:
    """As brokers write them; a code may begin as comments do, and rows of it come late."""
    above = [f"Info,{i}" for i in range(250)]
    Path("b.csv").write_text("\n".join([*above, "#T,a,b,c", *(f"#T,{values[:14]}" for values in VALUES)]) + "\n")
    status, err, _ = run("novelty", "b.csv", "--records", "#T", "--json")
    assert (status, err) == (0, "")
    assert run("fit", "b.csv", "--records", "#T", "--predict", "b", "-o", "m.rkhs")[0] == 0


@pytest.mark.parametrize(
    "rows",
    [
        ["kind,x,y", *(f"{'ab'[i % 2]},{i % 7}.5,{i}.25" for i in range(20))],
        [f"{i % 3},{i % 7}.5,{i}.25" for i in range(20)],
        ["kind,x,y", *(f"a,{i % 7}.5,{i}.25" for i in range(20)), "a,1.5"],
        [*(f"{i % 2},{i % 7}.5,{i}.25" for i in range(20)), "2,1.5"],
    ],
)
def test_ordinary_tables_are_no_records(run: Run, rows: list[str]) -> None:
    """With codes in the first column, and one row that is short or long."""
    Path("t.csv").write_text("\n".join(rows) + "\n")
    assert "--records" not in run("novelty", "t.csv")[1]


def test_units_and_relations_of_known_values_alone(run: Run) -> None:
    """Relations next to empty values say nothing of a value; two units are counted where values are known."""
    head = "a,Relation,Value,Standard Units"
    rows = [f"{i * i % 7}.5,{'>' * (i == 3)},{i}.25,{'ug.mL-1' if i % 4 == 0 else 'nM'}" for i in range(16)]
    empty = ["1.5,>,,%", "2.5,>,,nM"]
    words = ("compare", "v.csv", "--predict", "Value", "--columns", "a", "--seed", "0")
    Path("v.csv").write_text("\n".join([head, *rows, *empty]) + "\n")
    err = run(*words)[1]
    assert "column 'Relation' says > or < in 1 of 16 rows: bounds" in err
    assert (
        err.count("column 'Standard Units' says 'nM' in 12 rows, 'ug.mL-1' in 4 rows: values in different units") == 1
    )
    Path("v.csv").write_text("\n".join([head, *(row.replace(">", "") for row in rows[1::2]), *empty]) + "\n")
    err = run(*words)[1]
    assert "says" not in err
    classes = [f"{i * i % 7}.5,>,{'ab'[i % 3 == 0]},{'%' if i % 4 else 'nM'}" for i in range(16)]
    Path("v.csv").write_text("\n".join([head, *classes]) + "\n")
    assert "says" not in run(*words)[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("lacking", [(), (3,)])
def test_a_table_without_names_is_predicted_by_the_places_of_the_fit(run: Run, lacking: tuple[int, ...]) -> None:
    """The file of the fit, whose empty columns the model does not read, and a file of the columns that it reads."""
    third = "x" if lacking else ""
    rows = [[f"{7 * i % 11}.5", "abc"[i % 3], third, f"{i % 5}.5", f"{i % 7}.5"] for i in range(20)]
    Path("t.csv").write_text("".join(f"{','.join(cells)}\n" for cells in rows))
    known = [[cell for j, cell in enumerate(cells) if j not in lacking] for cells in rows]
    Path("n.csv").write_text("".join(f"{','.join(cells)}\n" for cells in known))
    words = ("--header", "no", "--mixed")
    assert run("fit", "t.csv", *words, "--predict", "3", "-o", "m.rkhs")[0] == 0
    whole, part = (run("predict", "m.rkhs", name, "--header", "no") for name in ("t.csv", "n.csv"))
    assert whole[0] == 0
    assert whole[2] == part[2]
