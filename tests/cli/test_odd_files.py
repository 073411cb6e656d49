"""Ten odd files of ordinary shapes: each gives a good model, or the sentence that says what is wrong with the file.

A good model loses less of new rows than principal components do, in standard deviations of the columns.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

import rkhs
from rkhs.cli.main import main
from rkhs.data import read_table, write_codes

_ORDER = np.random.default_rng(0).permutation(178)[:120]
WINE, KINDS = load_wine().data[_ORDER], load_wine().target[_ORDER]
TITLES = [f"x{j}" for j in range(13)]
N, TRAIN, NEW = 120, slice(None, 90), slice(90, None)
QUICK = ("--estimator", "kernel-pca")  # where only sentences count
UNIT, MIDDLE = WINE[TRAIN].std(0), WINE[TRAIN].mean(0)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, titles: Sequence[str], *columns: Sequence[object] | np.ndarray) -> None:
    """A table of columns and blocks of columns; None is an empty cell."""
    blocks = [np.array(c, dtype=object).reshape(len(c), -1) for c in columns]
    with open(path, "w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([titles, *np.hstack(blocks).tolist()])


def fit(capsys: pytest.CaptureFixture[str], path: str, *words: str) -> str:
    """What a fit that succeeds says of the columns."""
    assert main(["fit", path, "-o", "m.rkhs", "--seed", "0", "--json", *words]) == 0
    return "\n".join(json.loads(capsys.readouterr().out)["columns"]["notes"])


def refused(capsys: pytest.CaptureFixture[str], path: str, *words: str) -> str:
    """What a file that is refused is told, on one line."""
    assert main(["fit", path, "-o", "m.rkhs", *words]) == 2
    said = capsys.readouterr().err
    words, _, command = said.partition("\n\n  rkhs ")
    assert (words + command).count("\n") == 1
    return said


def rebuilt(capsys: pytest.CaptureFixture[str], path: str) -> np.ndarray:
    """Rows of a file, coded and decoded by the model."""
    assert main(["transform", "m.rkhs", path, "-o", "z.csv"]) == 0
    assert main(["decode", "m.rkhs", "z.csv", "-o", "back.csv"]) == 0
    capsys.readouterr()
    return read_table("back.csv", header=True).X


def lost(back: np.ndarray, truth: np.ndarray, middle: np.ndarray, unit: np.ndarray | float) -> float:
    return float((((back - truth) / unit) ** 2).sum() / (((truth - middle) / unit) ** 2).sum())


def lost_by_components(train: np.ndarray, new: np.ndarray, truth: np.ndarray) -> float:
    """The same of two principal components of standardised columns."""
    unit = train.std(0)
    pca = PCA(2).fit(train / unit)
    back = pca.inverse_transform(pca.transform(new / unit)) * unit
    return lost(back, truth, train.mean(0), unit)


def explained(Z: np.ndarray, y: np.ndarray) -> float:
    """Share of the variance of y that a line in the codes says."""
    A = np.column_stack([Z, np.ones(len(Z))])
    return 1.0 - float(((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2).mean() / y.var())


def test_identifiers_and_days_do_not_become_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    ids, days = np.arange(100001, 100121), 20210100 + np.arange(N) % 12 * 100 + 1 + np.arange(N) % 28
    accounts = np.random.default_rng(1).permutation(N) * 7919 + 10_000_000
    titles = ["customer_id", "signup", "account", *TITLES, "class"]
    write("ids.csv", titles, ids, days, accounts, WINE, KINDS)
    said = fit(capsys, "ids.csv")
    assert "customer_id, account look like identifiers: all values differ" in said
    assert "signup looks like a date" in said
    assert "class looks like a class: 3 different whole numbers" in said
    assert said.endswith("--drop-columns customer_id,account,signup,class leaves them out")
    for told in (ids, accounts):
        assert explained(rkhs.load("m.rkhs").codes_, told.astype(float)) < 0.3
    write("train.csv", titles, *(c[TRAIN] for c in (ids, days, accounts, WINE, KINDS)))
    write("new.csv", titles, *(c[NEW] for c in (ids, days, accounts, WINE, KINDS)))
    assert "note" not in fit(capsys, "train.csv", "--drop-columns", "customer_id,account,signup,class")
    assert lost(rebuilt(capsys, "new.csv"), WINE[NEW], MIDDLE, UNIT) < lost_by_components(
        WINE[TRAIN], WINE[NEW], WINE[NEW]
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "day",
    [
        *("2021-03-{:02d}", "{:02d}/03/21 10:30", "Mar {}, 2021"),
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("{:02d} Mar 2021", "{}-Mar-21")),
    ],
)
def test_dates_as_texts_are_read_as_days(capsys: pytest.CaptureFixture[str], day: str) -> None:
    write("dates.csv", [*TITLES, "when"], WINE, [day.format(1 + i % 28) for i in range(N)])
    assert "when holds dates, read as days since the first of January 1970" in fit(capsys, "dates.csv", *QUICK)
    numbers = rkhs.load("m.rkhs").codes_
    write("days.csv", [*TITLES, "when"], WINE, [1 + i % 28 for i in range(N)])
    fit(capsys, "days.csv", "--mixed", *QUICK)
    np.testing.assert_allclose(np.abs(rkhs.load("m.rkhs").codes_), np.abs(numbers), atol=1e-6)


def test_a_date_of_two_readings_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    write("dates.csv", [*TITLES, "when"], WINE, [f"0{1 + i % 9}/0{1 + i % 7}/2024" for i in range(N)])
    said = refused(capsys, "dates.csv")
    assert re.search(r"column 'when': dates must be unambiguous; got '0\d/0\d/2024'", said)
    assert "write dates as 2024-01-31" in said


def test_rows_that_hold_a_name_alone_are_left_out_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"row {i}" for i in range(N)]
    gone = [3, 17]
    cells = np.where(np.isin(np.arange(N), gone)[:, None], None, WINE)
    write("t.csv", ["id", *TITLES, "class"], names, cells, np.where(np.isin(np.arange(N), gone), "", KINDS))
    assert main(["fit", "t.csv", "--drop-columns", "class", "-o", "m.rkhs", "--codes", "z.csv", *QUICK]) == 0
    out = capsys.readouterr()
    assert "left out, because no cell is known: rows 4, 18" in out.err
    assert "118 rows of 13 columns" in out.out
    codes = read_table("z.csv")
    assert codes.row_names == tuple(name for i, name in enumerate(names) if i not in gone)
    # Rows of targets are those of the table.
    write("y.csv", ["id", *TITLES, "y"], names, cells, np.arange(N))
    assert main(["fit", "y.csv", "--predict", "y", "-o", "p.rkhs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["input"]["items"] == N - len(gone)


def test_names_and_categories_are_read_and_free_texts_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    names = [f"wine {i}" for i in range(N)]
    regions = np.array(["north", "south", "west"])[np.where(rng.random(N) < 0.8, KINDS, 0)]
    words = [" ".join(rng.choice(["dry", "old", "oak", "red", "new"], 5)) for _ in range(N)]
    write("texts.csv", ["name", *TITLES, "region"], names, WINE, regions)
    assert "texts become columns of zeros and ones (region), all are standardised" in fit(capsys, "texts.csv")
    model = rkhs.load("m.rkhs")
    assert model.n_features_in_ == 14  # the names of the rows are none of them
    write("free.csv", ["name", *TITLES, "region", "comment"], names, WINE, regions, words)
    assert "column 'comment' (120 cells" in refused(capsys, "free.csv")
    said = fit(capsys, "free.csv", *QUICK, "--mixed", "--index-column", "name")
    assert "comment holds texts that hardly repeat" in said
    assert "--drop-columns comment leaves it out" in said


def test_gaps_are_filled_and_numbers_in_place_of_gaps_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    gap = np.random.default_rng(3).random(WINE.shape) < 0.15
    cells = WINE.astype(object)
    cells[gap] = None
    write("train.csv", TITLES, cells[TRAIN])
    write("new.csv", TITLES, cells[NEW])
    assert f"{gap[TRAIN].sum()} empty cells are filled from the nearest rows" in fit(capsys, "train.csv")
    known = np.where(gap, np.nan, WINE)
    by_means = np.where(gap, np.nanmean(known[TRAIN], 0), WINE)
    pca = lost_by_components(by_means[TRAIN], by_means[NEW], WINE[NEW])
    assert lost(rebuilt(capsys, "new.csv"), WINE[NEW], MIDDLE, UNIT) < 0.9 * pca
    write("nines.csv", TITLES, np.where(gap, -999.0, WINE))
    said = fit(capsys, "nines.csv", *QUICK)
    assert "note: -999 in x0, x1, x2, x3, x4 and 8 more is far from all other values" in said
    mistyped = WINE.copy()
    mistyped[7, 0] *= 1e4
    write("typed.csv", TITLES, mistyped)
    assert "x0 holds one value far from all others, 1" in fit(capsys, "typed.csv", *QUICK)


def test_heavy_tails_get_kernels_that_follow_them(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    sources = np.exp(1.5 * rng.normal(size=(200, 1))) * np.maximum(
        rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)), 0
    )
    X = sources * 10.0 ** np.arange(6) + 0.01 * 10.0 ** np.arange(6) * rng.normal(size=(200, 6))
    write("train.csv", TITLES[:6], X[:140])
    write("new.csv", TITLES[:6], X[140:])
    assert "columns: standardised" in fit(capsys, "train.csv")
    unit, middle = X[:140].std(0), X[:140].mean(0)
    assert lost(rebuilt(capsys, "new.csv"), X[140:], middle, unit) < 0.8 * lost_by_components(X[:140], X[140:], X[140:])


def test_constant_columns_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write("plain.csv", TITLES, WINE)
    fit(capsys, "plain.csv", "--set", "reg=1e-2")
    codes = rkhs.load("m.rkhs").codes_
    write("constant.csv", ["site", *TITLES, "batch"], np.full(N, 7), WINE, np.full(N, 0.25))
    assert "2 columns are constant (site, batch)" in fit(capsys, "constant.csv", "--set", "reg=1e-2")
    np.testing.assert_allclose(rkhs.load("m.rkhs").codes_, codes, atol=1e-6 * np.abs(codes).max())
    write("texts.csv", ["site", *TITLES], ["here"] * N, WINE)
    assert "1 column is constant (site)" in fit(capsys, "texts.csv", "--mixed", *QUICK)


def test_smiles_with_salts_and_copies(capsys: pytest.CaptureFixture[str]) -> None:
    molecules = ["CC(C)O", "CC(=O)N", "CCC(=O)Cl", "c1ccc(O)cc1", "CC(=O)O", "CC(O)CC", "CC(=O)[O-].[Na+]", "CC(C)=C"]
    write("first.csv", ["structure", "y", "z"], molecules, range(8), range(8, 16))
    said = refused(capsys, "first.csv")
    assert "looks like SMILES; read molecules with --smiles COLUMN" in said
    pytest.importorskip("rdkit", reason="SMILES need the extra 'chem'")
    write("molecules.csv", ["y", "structure"], range(10), [*molecules, "OC(C)C", "C("])
    assert refused(capsys, "molecules.csv").endswith("--smiles structure --skip-bad-smiles\n")
    said = fit(capsys, "molecules.csv", "--smiles", "structure", "--skip-bad-smiles")
    assert "1 SMILES has more than one part, as salts and mixtures have" in said
    assert "1 SMILES could not be read and was left out" in said
    assert "1 molecule has the fingerprint of an earlier one: a map or model of fingerprints takes them" in said


def test_series_of_several_channels(capsys: pytest.CaptureFixture[str]) -> None:
    rng, t = np.random.default_rng(5), np.linspace(0.0, 1.0, 24)
    y = np.arange(40) % 2
    at = rng.uniform(0.2, 0.8, 40)  # one channel leads the other, or follows it
    channels = [np.exp(-(((t - at[:, None] - shift * (2 * y[:, None] - 1)) / 0.05) ** 2)) for shift in (0.1, -0.1)]
    X = np.stack(channels, axis=2) + 0.02 * rng.normal(size=(40, 24, 2))
    np.savez("series.npz", X=X)
    assert "got shape (40, 24, 2)" in refused(capsys, "series.npz")
    fit(capsys, "series.npz", "--kind", "series", "--n-components", "4")
    nearest = KNeighborsClassifier(3)
    codes, flat = rkhs.load("m.rkhs").codes_, PCA(4).fit_transform(X.reshape(40, -1))
    by_codes, by_components = (nearest.fit(Z[:26], y[:26]).score(Z[26:], y[26:]) for Z in (codes, flat))
    assert by_codes > max(0.9, by_components)


@pytest.mark.parametrize("falling", [pytest.param(False, marks=pytest.mark.slow), True])
def test_spectra_below_their_wavelengths(capsys: pytest.CaptureFixture[str], falling: bool) -> None:
    rng = np.random.default_rng(6)
    waves = np.linspace(850.0, 1048.0, 80)[:: -1 if falling else 1]
    top, height = rng.uniform(890.0, 1010.0, (90, 1)), rng.uniform(0.5, 2.0, (90, 1))
    X = 0.3 + height * np.exp(-(((waves - top) / 60.0) ** 2)) + 0.005 * rng.normal(size=(90, 80))
    titles = [f"{wave:.1f}" for wave in waves]
    write("train.csv", titles, X[:60])
    write("new.csv", titles, X[60:])
    assert "pass --header yes if these are column names" in refused(capsys, "train.csv")
    assert fit(capsys, "train.csv", "--header", "yes") == ""
    middle = X[:60].mean(0)
    pca = PCA(2).fit(X[:60])
    by_components = lost(pca.inverse_transform(pca.transform(X[60:])), X[60:], middle, 1.0)
    assert lost(rebuilt(capsys, "new.csv"), X[60:], middle, 1.0) < 0.5 * by_components
    named = [f"{wave:.0f} nm" for wave in waves]
    write("fat.csv", ["sample_id", *named, "fat"], np.arange(1, 91), X, rng.uniform(0.0, 50.0, 90))
    said = fit(capsys, "fat.csv", *QUICK)
    assert "sample_id looks like an identifier" in said
    assert "--drop-columns sample_id leaves it out" in said
    said = fit(capsys, "fat.csv", "--drop-columns", "sample_id", *QUICK)
    assert "fat holds 9" in said
    assert "--drop-columns fat leaves it out" in said


@pytest.mark.parametrize("file", ["matrix.csv", "matrix.npy"])
def test_a_matrix_of_pairs_read_as_rows_is_said(capsys: pytest.CaptureFixture[str], file: str) -> None:
    Z = (WINE[:40] - MIDDLE) / UNIT
    squares = ((Z[:, None] - Z) ** 2).sum(2)
    for values, said in (
        (np.exp(-0.05 * squares), "read kernel values of pairs of items by --gram"),
        (squares, "as dist"),
    ):
        np.save(file, values) if file.endswith("npy") else write_codes(file, values)
        assert said in fit(capsys, file, *QUICK)
    np.save("gram.npy", np.exp(-0.05 * squares))
    assert fit(capsys, "gram.npy", "--gram", *QUICK) == ""


def test_rows_that_are_there_twice_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    write("copies.csv", TITLES, np.vstack([WINE[:60], WINE[:20]]))
    assert "20 rows are copies of earlier ones: copies on both sides of a split" in fit(capsys, "copies.csv", *QUICK)


def test_decimal_commas_are_read_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [";".join(f"{v:.2f}".replace(".", ",") for v in row) for row in WINE]
    Path("decimal.csv").write_text("\n".join([";".join(TITLES), *rows]) + "\n")
    assert "file: numbers are read with decimal commas" in fit(capsys, "decimal.csv", *QUICK)
    np.testing.assert_allclose(read_table("decimal.csv").X, np.round(WINE, 2))


def test_a_parquet_file_with_texts_and_gaps_is_read_as_the_csv_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {"a": rng.normal(size=40), "n": np.arange(40) * 7 % 31, "town": ["u", "v", "v", None] * 10}
    )
    frame.loc[3, "a"] = np.nan
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet", index=False)
    for name in ("csv", "parquet"):
        assert main(["fit", f"t.{name}", "-o", f"{name}.rkhs", "--codes", f"{name}.npy"]) == 0
        assert "11 empty cells are filled from the nearest rows" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load("csv.npy"), np.load("parquet.npy"))
    assert main(["transform", "csv.rkhs", "t.parquet", "-o", "again.npy"]) == 0
    np.testing.assert_allclose(np.load("again.npy"), np.load("csv.npy"), atol=1e-9)
    assert main(["fit", "t.parquet", "--predict", "a", "-o", "y.rkhs"]) == 0
    assert "1 row without a value: left out" in capsys.readouterr().out


def test_a_target_of_numbers_with_other_cells_is_no_class(capsys: pytest.CaptureFixture[str]) -> None:
    y = [f"{value:.3f}" for value in WINE[:40, 0]]
    y[3], y[5], y[8] = "#N/A", "-", "n.d."
    write("t.csv", ["y", *TITLES[:3]], y, WINE[:40, 1:4])
    assert main(["fit", "t.csv", "--predict", "y", "-o", "m.rkhs"]) == 0
    assert "3 rows without a value: left out" in capsys.readouterr().out
    y[4] = ">6.5"
    write("t.csv", ["y", *TITLES[:3]], y, WINE[:40, 1:4])
    for words in (["--predict", "y"], []):
        assert "column 'y' (1 cells, first '>6.5' in row 5, line 6)" in refused(capsys, "t.csv", *words)
    assert main(["fit", "t.csv", "--predict", "y", "-o", "m.rkhs", "--missing", ">6.5"]) == 0
    assert "4 rows without a value: left out" in capsys.readouterr().out
    assert main(["compare", "t.csv", "--predict", "y", "--seed", "0"]) == 2
    assert "first '>6.5' in row 5" in capsys.readouterr().err
    write("u.csv", ["y", *TITLES[:3]], [f"{value} mm" for value in WINE[:40, 0]], WINE[:40, 1:4])
    assert main(["fit", "u.csv", "--predict", "y", "-o", "m.rkhs"]) == 0
    assert "numbers in 'mm'" in capsys.readouterr().err


def test_what_was_guessed_of_a_file_is_said_at_each_use(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [",".join(map(str, row)) for row in WINE[:30, :3]]
    Path("t.csv").write_text("\n".join(["Wines of 2024", "", "a,b,c", *rows[:10], ",,", *rows[10:]]) + "\n")
    said = fit(capsys, "t.csv", *QUICK)
    assert "file: rows above the table left out: 1" in said
    assert "file: rows without a known cell are left out: 1" in said
    assert main(["transform", "m.rkhs", "t.csv", "-o", "z.csv"]) == 0
    assert "rkhs: note: t.csv: rows above the table left out: 1" in capsys.readouterr().err
    assert len(read_table("z.csv").X) == 30


_COMMANDS = (
    "fit -o m.rkhs",
    "fit --predict a -o m.rkhs",
    "map -o m.png",
    "report",
    "novelty",
    "nearest",
    "compare --predict a",
)


def test_a_wrong_file_is_refused_before_torch_is_imported() -> None:
    """One process: nothing of the commands before has imported it either."""
    Path("bad.csv").write_text("a,b\n1,2\n3,x\n4,5\n6,7\n")
    code = (
        "import sys; from rkhs.cli.main import main\n"
        "for line in sys.argv[1:]: print(main(line.split()), 'torch' in sys.modules)"
    )
    lines = [words.replace(" ", " bad.csv ", 1) if " " in words else f"{words} bad.csv" for words in _COMMANDS]
    done = subprocess.run([sys.executable, "-c", code, *lines], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["2 False"] * len(lines), done.stderr
    assert done.stderr.count("error: bad.csv") == len(lines)


def test_a_model_remembers_the_encoding_of_its_file() -> None:
    Path("alt.csv").write_bytes("größe,b\n1,2\n3,1\n4,5\n6,9\n".encode("cp1252"))
    assert main(["fit", "alt.csv", "--encoding", "cp1252", "-o", "m.rkhs", *QUICK]) == 0
    assert main(["transform", "m.rkhs", "alt.csv", "-o", "z.npy"]) == 0
    np.testing.assert_allclose(np.load("z.npy"), rkhs.load("m.rkhs").codes_, atol=1e-9)
