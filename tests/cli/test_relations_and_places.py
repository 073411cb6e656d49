"""Relations and units next to values, and columns without names by their places in the file."""

from pathlib import Path

import pytest

from tests.cli.commands import Run


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
