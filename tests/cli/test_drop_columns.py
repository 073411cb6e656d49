"""``--drop-columns``, and columns of mixed tables that do harm: named, left out, or refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli.main import main
from tests.tables import read_table

RNG = np.random.default_rng(1)
N = 30
SIZES, AGES = RNG.normal(size=N).round(3).tolist(), RNG.normal(50.0, 9.0, N).round(1).tolist()
FAST = ["--estimator", "kernel-pca", "-o", "m.rkhs"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ids = RNG.choice(10**6, N, replace=False)
    rows = [
        [ids[i], f"2024-01-{1 + i % 28:02d}", "ns"[i % 2], SIZES[i], "" if i == 3 else AGES[i], "yes" if i < 4 else ""]
        for i in range(N)
    ]
    lines = [",".join(map(str, row)) for row in rows]
    Path("customers.csv").write_text("\n".join(["customer_id,signup,zone,size,age,churn", *lines]) + "\n")
    return tmp_path


def test_columns_are_left_out_of_a_table_of_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "customers.csv", "--drop-columns", "signup,zone,age,churn", *FAST]) == 0
    said = capsys.readouterr().out
    assert "30 rows of 2 columns" in said
    assert "note: --drop-columns customer_id leaves it out" in said
    assert main(["fit", "customers.csv", "--drop-columns", "customer_id,1,zone,age,churn", *FAST]) == 0
    assert "--drop-columns" not in capsys.readouterr().out
    assert main(["transform", "m.rkhs", "customers.csv", "-o", "z.npy"]) == 0
    np.testing.assert_allclose(np.load("z.npy"), rkhs.load("m.rkhs").codes_, atol=1e-9)


def test_columns_are_left_out_of_a_mixed_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "customers.csv", "--drop-columns", "signup", *FAST]) == 0
    said = capsys.readouterr().out
    assert "customer_id looks like identifiers" in said
    assert "churn is mostly empty: 26 of 30 cells" in said
    assert "note: --drop-columns customer_id,churn leaves them out" in said
    assert main(["fit", "customers.csv", "--drop-columns", "signup,customer_id,churn", "--json", *FAST]) == 0
    found = json.loads(capsys.readouterr().out)["columns"]
    assert found["filled"]
    (said,) = found["notes"]
    assert "1 empty cell is filled from the nearest rows, texts become columns of zeros and ones (zone)" in said
    assert main(["transform", "m.rkhs", "customers.csv", "-o", "z.npy"]) == 0


def test_a_report_leaves_out_columns_and_the_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["report", "customers.csv", "--drop-columns", "signup", "--predict", "churn", "--json"]
    assert main([*words, "--estimator", "kernel-pca"]) == 0
    audit = " ".join(json.loads(capsys.readouterr().out)["audit"])
    assert "30 items with 4 columns each" in audit
    assert "customer_id looks like identifiers" in audit
    assert "standard deviation" not in audit  # MixedTable has a scale of its own for each column


def test_predicted_columns_are_left_out_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--drop-columns", "signup,zone,churn,age,customer_id", "--predict", "size", "-o", "p.rkhs"]
    assert main(["fit", "customers.csv", *words]) == 2  # nothing is left
    assert "expected a column besides" in capsys.readouterr().err
    words[1] = "signup,zone,churn,age"
    assert main(["fit", "customers.csv", *words, "--set", "regs=[0.1]"]) == 0
    assert rkhs.load("p.rkhs").n_features_in_ == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--drop-columns", "signup", "--columns", "size"], "got both; pass one of them"),
        (["--drop-columns", "siize"], "did you mean 'size'?"),
        (["--drop-columns", "size,size"], "must name each column once"),
        (["--drop-columns", "customer_id,signup,zone,size,age,churn"], "got none; check --drop-columns"),
        (["--index-column", "zone", "--drop-columns", "zone"], "must not be among the columns read or left out"),
    ],
)
def test_wrong_use_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["fit", "customers.csv", *words, *FAST]) == 2
    assert said in capsys.readouterr().err


def test_a_first_column_of_names_may_be_left_out(folder: Path) -> None:
    Path("named.csv").write_text("name,a\nx,1\ny,2\n")
    assert read_table("named.csv").row_names == ("x", "y")
    assert read_table("named.csv", drop_columns=["name"]).row_names is None
    pandas = pytest.importorskip("pandas", reason="parquet files need the extra 'tables'")
    pandas.DataFrame({"name": ["x", "y"], "a": [1.0, 2.0], "b": ["u", "u"]}).to_parquet("named.parquet")
    found = read_table("named.parquet", drop_columns=["name", "b"])
    assert (found.row_names, found.column_names) == (None, ("a",))
    assert read_table("named.parquet", drop_columns=["b"]).row_names == ("x", "y")


def test_names_of_rows_keep_the_title_of_their_column(folder: Path) -> None:
    words = ["--drop-columns", "signup,churn", "--index-column", "customer_id"]
    assert main(["fit", "customers.csv", *words, *FAST, "--codes", "z.csv"]) == 0
    lines = Path("z.csv").read_text().splitlines()
    ids = [line.split(",")[0] for line in Path("customers.csv").read_text().splitlines()]
    assert [line.split(",")[0] for line in lines] == ids
    # The model remembers the column, and a file without it is read all the same.
    assert main(["transform", "m.rkhs", "customers.csv", "-o", "again.csv"]) == 0
    assert Path("again.csv").read_text().splitlines()[0] == lines[0]
    assert [line.split(",")[0] for line in Path("again.csv").read_text().splitlines()] == ids
    Path("new.csv").write_text("zone,size,age\nn,0.5,41\n")
    assert main(["transform", "m.rkhs", "new.csv", "-o", "new_codes.csv"]) == 0
    assert Path("new_codes.csv").read_text().startswith("code0,code1\n")
    # Names that are numbers are no codes.
    assert main(["decode", "m.rkhs", "z.csv", "--n-best", "1", "-o", "back.csv"]) == 0
    assert [line.split(",")[0] for line in Path("back.csv").read_text().splitlines()[1:]] == ids[1:]


def test_a_ranking_of_a_table_holds_the_rows_that_it_found(folder: Path) -> None:
    words = ["--drop-columns", "signup,churn", "--index-column", "customer_id"]
    assert main(["fit", "customers.csv", *words, *FAST, "--codes", "z.csv"]) == 0
    assert main(["decode", "m.rkhs", "z.csv", "--candidates", "customers.csv", "--n-best", "2", "-o", "back.csv"]) == 0
    with open("back.csv", newline="") as handle:
        found = list(csv.DictReader(handle))
    with open("customers.csv", newline="") as handle:
        table = list(csv.DictReader(handle))
    assert list(found[0]) == ["code", "rank", "candidate", "name", "squared_distance", *table[0]]
    for row in found:
        own = table[int(row["candidate"]) - 1]
        assert {title: row[title] for title in own} == own
        assert row["name"] == own["customer_id"]
    assert {row["rank"] for row in found} == {"1", "2"}


def test_columns_of_candidates_that_have_names_of_rankings(folder: Path) -> None:
    Path("odd.csv").write_text("rank,a\n" + "".join(f"{i * i},{3 * i % 7}\n" for i in range(12)))
    assert main(["fit", "odd.csv", *FAST, "--codes", "z.csv"]) == 0
    assert main(["decode", "m.rkhs", "z.csv", "--candidates", "odd.csv", "-o", "back.csv"]) == 0
    assert Path("back.csv").read_text().splitlines()[0] == "code,rank,candidate,squared_distance,row.rank,a"


def test_rows_that_were_left_out_count_among_the_candidates(folder: Path) -> None:
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    smiles = ["CCO", "no molecule", "CCN", "CCCC", "nor this", "c1ccccc1", "CC(=O)O", "CCOC"]
    lines = [f"m{i},{text},{i}.5" for i, text in enumerate(smiles)]
    Path("m.csv").write_text("\n".join(["id,smiles,value", *lines]) + "\n")
    flags = ["--smiles", "smiles", "--fingerprint", "morgan(on_error=skip)", "--index-column", "id"]
    assert main(["fit", "m.csv", *flags, "-o", "m.rkhs", "--codes", "z.csv", "--set", "reg=1e-4"]) == 0
    for more in ([], ["--candidates", "m.csv", *flags], ["--candidates", "m.csv", *flags, "--chunk-rows", "2"]):
        assert main(["decode", "m.rkhs", "z.csv", "--n-best", "3", *more, "-o", "near.csv"]) == 0
        found = list(csv.DictReader(Path("near.csv").read_text().splitlines()))
        assert len(found) == 18
        for row in found:
            assert row["name"] == f"m{int(row['candidate']) - 1}"
            assert row["smiles"] == smiles[int(row["candidate"]) - 1]
            assert not more or row["value"] == f"{int(row['candidate']) - 1}.5"
        if more:
            assert list(found[0])[-3:] == ["id", "row.smiles", "value"]


def test_a_table_with_texts_and_gaps_needs_no_flag(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--drop-columns", "signup,churn", "--index-column", "customer_id"]
    assert main(["fit", "customers.csv", *words, *FAST, "--codes", "z.csv"]) == 0
    assert "1 empty cell is filled from the nearest rows" in capsys.readouterr().out
    assert main(["decode", "m.rkhs", "z.csv", "-o", "back.csv"]) == 0
    titles, *rows = Path("back.csv").read_text().splitlines()
    assert titles == "customer_id,zone,size,age"
    assert {row.split(",")[1] for row in rows} == {"n", "s"}
    assert main(["fit", "customers.csv", *words, *FAST, "--scale-columns", "no"]) == 2
    assert "always standardised" in capsys.readouterr().err
