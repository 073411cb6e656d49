"""Commands for matrices of distances, columns without names, and names that are typed with marks around them."""

import shlex
from pathlib import Path

import numpy as np

from tests.cli.commands import Run, printed, table

POINTS = np.random.default_rng(0).normal(size=(12, 2))
D = np.sqrt(((POINTS[:, None] - POINTS) ** 2).sum(axis=2))


def test_distances_are_no_kernel_values_and_one_command_makes_them(run: Run) -> None:
    """Of one half of them too; without --gram the command that is printed adds it."""
    table("d.csv", [",".join([f"i{i}", *(f"{x:.6f}" for x in D[i, :i]), *[""] * (12 - i)]) for i in range(12)])
    status, said, _ = run("fit", "d.csv", "-o", "m.rkhs")
    assert status == 2
    assert printed(said) == ["fit", "d.csv", "-o", "m.rkhs", "--gram"]
    status, said, _ = run(*printed(said))
    assert status == 2
    assert "got zeros on its diagonal and positive numbers elsewhere, as of distances; this makes kernel values" in said
    python, _, rkhs = said.rstrip().rpartition("\n")[2].partition(" && ")
    exec(shlex.split(python)[2], {})
    K = np.genfromtxt("d_gram.csv", delimiter=",", skip_header=1)[:, 1:]
    np.testing.assert_allclose(K, np.exp(-D / np.median(D[D > 0])), atol=1e-3)
    assert run(*shlex.split(rkhs)[1:])[0] == 0


def test_columns_without_names_are_left_out_by_their_places(run: Run) -> None:
    numbers = np.random.default_rng(1).normal(size=(9, 5)).round(2)
    table("a.csv", [f"g{i % 3},{','.join(map(str, row))}" for i, row in enumerate(numbers)])
    status, said, _ = run("fit", "a.csv", "--header", "no", "--transpose", "-o", "m.rkhs")
    assert status == 2
    assert printed(said)[-2:] == ["--drop-columns", "0"]
    assert run(*printed(said))[0] == 0


def test_a_column_of_sequences_alone_is_read_by_the_command(run: Run) -> None:
    texts = ["".join(np.random.default_rng(i).choice([*"ACDEFGHIKL"], 9)) for i in range(20)]
    table("a.csv", ["pep,kind,y", *(f"{text},{'ab'[i % 2]},{i}" for i, text in enumerate(texts))])
    status, said, _ = run("fit", "a.csv", "--columns", "pep", "--predict", "kind", "-o", "m.rkhs")
    assert status == 2
    assert printed(said)[-2:] == ["--kind", "sequences"]
    assert run(*printed(said))[0] == 0


def test_marks_around_a_name_are_none_of_it(run: Run) -> None:
    table("a.csv", ["a b,c,y", *(f"{i % 5}.5,{i % 3},{i}" for i in range(20))])
    assert run("fit", "a.csv", "--predict", "'y'", "--drop-columns", "'a b'", "-o", "m.rkhs")[0] == 0
    table("b.csv", ["c", "1"])
    assert run("predict", "m.rkhs", "b.csv", "-o", "p.csv")[0] == 0
    assert Path("p.csv").read_text().startswith("row_from_1,y,")


def test_the_logarithms_are_written_of_the_table_below_other_rows(run: Run) -> None:
    numbers = np.exp(np.random.default_rng(2).normal(size=(30, 8)) * 3.0).round(3)
    rows = [f"g{i}," + ",".join(map(str, row)) for i, row in enumerate(numbers)]
    table("a.csv", ["by, X", "in, 2024", "gene," + ",".join(f"s{i}" for i in range(8)), *rows])
    status, said, out = run("fit", "a.csv", "--transpose", "-o", "m.rkhs")
    assert status == 0
    assert "skiprows=2); n = t.iloc[:, 1:9]" in said + out
