"""``--drop-columns``, and columns of mixed tables that do harm: named, left out, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli.main import main

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
    assert main(["fit", "customers.csv", "--drop-columns", "customer_id,1,zone,age,churn", *FAST]) == 0
    assert "--drop-columns" not in capsys.readouterr().out
    assert main(["transform", "m.rkhs", "customers.csv", "-o", "z.npy"]) == 0
    np.testing.assert_allclose(np.load("z.npy"), rkhs.load("m.rkhs").codes_, atol=1e-9)


def test_columns_are_left_out_of_a_mixed_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "customers.csv", "--drop-columns", "signup", *FAST]) == 0
    said = capsys.readouterr().out
    assert main(["fit", "customers.csv", "--drop-columns", "signup,customer_id,churn", "--json", *FAST]) == 0
    found = json.loads(capsys.readouterr().out)["columns"]
    assert found["filled"]
    (said,) = found["notes"]
    assert "1 empty cells are filled from the nearest rows, texts become columns of zeros and ones, numbers are" in said
    assert main(["transform", "m.rkhs", "customers.csv", "-o", "z.npy"]) == 0


def test_predicted_columns_are_left_out_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--drop-columns", "signup,zone,churn,age,customer_id", "--predict", "size", "-o", "p.rkhs"]
    assert main(["fit", "customers.csv", *words]) == 2  # nothing is left
    words[1] = "signup,zone,churn,age"
    assert main(["fit", "customers.csv", *words, "--set", "regs=[0.1]"]) == 0
    assert rkhs.load("p.rkhs").n_features_in_ == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--drop-columns", "siize"], "did you mean 'size'?"),
    ],
)
def test_wrong_use_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["fit", "customers.csv", *words, *FAST]) == 2
    assert said in capsys.readouterr().err


def test_positions_do_not_count_the_column_of_names_with_or_without_a_header(folder: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(12, 4)).round(3)
    Path("named.csv").write_text("".join(f"r{i},{','.join(map(str, row))}\n" for i, row in enumerate(rows)))
    np.savetxt("plain.csv", rows, delimiter=",", fmt="%.3f")
    wanted = rkhs.KernelPCA(2).fit(rows[:, :3]).codes_
    for file in ("named.csv", "plain.csv"):
        for words in (["--drop-columns", "3"], ["--columns", "0,1,2"]):
            assert main(["fit", file, *words, "--read", "header=None", *FAST, "--codes", "z.npy"]) == 0
            np.testing.assert_array_equal(np.load("z.npy"), wanted)
        assert main(["transform", "m.rkhs", file, "--columns", "0,1,2", "-o", "z.npy"]) == 0
        np.testing.assert_allclose(np.load("z.npy"), wanted, atol=1e-9)
    assert main(["fit", "named.csv", "--read", "header=None", "--drop-columns", "9", *FAST]) == 2


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


def test_a_table_with_texts_and_gaps_needs_no_flag(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--drop-columns", "signup,churn", "--index-column", "customer_id"]
    assert main(["fit", "customers.csv", *words, *FAST, "--codes", "z.csv"]) == 0
    assert "1 empty cells are filled from the nearest rows" in capsys.readouterr().out
    assert main(["decode", "m.rkhs", "z.csv", "-o", "back.csv"]) == 0
    titles, *rows = Path("back.csv").read_text().splitlines()
    assert titles == "customer_id,zone,size,age"
    assert {row.split(",")[1] for row in rows} == {"n", "s"}
    assert main(["fit", "customers.csv", *words, *FAST, "--scale-columns", "no"]) == 2
    assert "always standardised" in capsys.readouterr().err
