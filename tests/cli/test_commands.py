"""The commands from file to file."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli import decode, main as entry
from rkhs.cli.main import main
from rkhs.data import load_molecules
from tests.tables import read_table

SRC = Path(__file__).resolve().parents[2] / "src"
# What a terminal has: a process that a script starts in the background inherits from its shell that Ctrl-C is ignored.
TERMINAL = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
PROGRAM = TERMINAL + "from rkhs.cli.main import main; sys.exit(main())"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(5).normal(size=(30, 3))
    write("train.csv", "name,a,b,c", [[f"r{i}", *row] for i, row in enumerate(rows[:20].tolist())])
    write("test.csv", "name,c,label,b,a", [[f"t{i}", r[2], "x", r[1], r[0]] for i, r in enumerate(rows[20:].tolist())])
    np.save("rows.npy", rows)
    return tmp_path


def write(path: str, header: str, rows: list[list[object]]) -> None:
    Path(path).write_text("\n".join([header, *(",".join(str(cell) for cell in row) for row in rows)]) + "\n")


def run(*words: str) -> int:
    return main(list(words))


def table(path: str) -> list[dict[str, str]]:
    with open(path, newline="") as handle:
        return list(csv.DictReader(handle))


def test_a_plan_is_printed_and_nothing_is_fitted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", "train.csv", "--plan", "--n-components", "1") == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "KernelAutoencoder on n=20 rows with storage='dense': about 32 MiB (4.5 matrices of n x n)\n"
    )
    assert "\n  linear_part = free\n" in said
    assert not Path("model.rkhs").exists()
    assert run("fit", "train.csv", "--plan", "--estimator", "KernelPCA", "-o", "m.rkhs", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["storage"], facts["options"]["loss"]) == ("dense", "Squared()")
    assert not Path("m.rkhs").exists()


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["--predict", "a", "-o", "m.rkhs"], "--plan does not go with --predict"),
        (["--estimator", "DeepRKM"], "--plan is for KernelAutoencoder and KernelPCA; got DeepRKM; leave it out"),
        (["--n-components", "0"], "--n-components must be an integer >= 1"),
    ],
)
def test_plans_that_cannot_be_made_are_refused(
    folder: Path, words: list[str], match: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("fit", "train.csv", "--plan", *words) == 2
    assert match in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # arrays, not frames
def test_a_table_goes_to_codes_and_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", "train.csv", "-o", "m.rkhs", "--codes", "z.csv", "--seed", "3", "--set", "max_iter=200") == 0
    assert "20 rows of 3 columns, codes of 2 components" in capsys.readouterr().out
    model = rkhs.load("m.rkhs")
    assert model.random_state == 3
    assert model.max_iter == 200
    assert read_table("z.csv").row_names == tuple(f"r{i}" for i in range(20))
    # Columns are found by name, whatever their order, and others are left alone.
    assert run("transform", "m.rkhs", "test.csv", "-o", "z2.csv", "--index-column", "name") == 0
    expected = model.transform(np.load("rows.npy")[20:])
    np.testing.assert_array_equal(read_table("z2.csv").X, expected)
    assert run("transform", "m.rkhs", "rows.npy", "-o", "z3.npy") == 0
    np.testing.assert_allclose(np.load("z3.npy")[20:], expected, atol=1e-5)  # refined in another batch
    assert run("decode", "m.rkhs", "z2.csv", "-o", "back.csv") == 0
    back = read_table("back.csv")
    assert back.column_names == ("a", "b", "c")
    np.testing.assert_array_equal(back.X, model.inverse_transform(expected))
    assert run("decode", "m.rkhs", "z2.csv", "--n-best", "2", "-o", "near.csv") == 0
    near = table("near.csv")
    assert len(near) == 20
    assert near[0]["code"] == "t0"
    assert near[0]["name"] == f"r{int(near[0]['candidate']) - 1}"
    assert run("decode", "m.rkhs", "z2.csv", "--candidates", "test.csv", "--index-column", "name", "-o", "own.csv") == 0
    assert {row["name"] for row in table("own.csv")} <= {f"t{i}" for i in range(10)}


def test_the_same_seed_gives_the_same_file(folder: Path) -> None:
    for name in ("a", "b"):
        assert (
            run(
                "fit",
                "train.csv",
                "-o",
                f"{name}.rkhs",
                "--seed",
                "1",
                "--set",
                "init=random",
                "--set",
                "max_iter=30",
                "--quiet",
            )
            == 0
        )
    first, second = rkhs.load("a.rkhs"), rkhs.load("b.rkhs")
    np.testing.assert_array_equal(first.codes_, second.codes_)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # arrays, not frames
def test_models_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", "train.csv", "-o", "m.rkhs", "--quiet", "--kernel", "gaussian(gamma=0.2) + 0.1*linear") == 0
    assert run("fit", "train.csv", "-o", "p.rkhs", "--quiet", "--estimator", "kernel-pca", "--n-components", "2") == 0
    capsys.readouterr()
    assert run("compare", "train.csv", "--model", "m.rkhs", "--model", "p.rkhs", "--errors", "e.csv") == 0
    printed = capsys.readouterr().out
    assert "KernelAutoencoder" in printed
    assert "KernelPCA" in printed
    rows = np.load("rows.npy")[:20]
    errors = read_table("e.csv").X
    for column, name in enumerate(("m.rkhs", "p.rkhs")):
        model = rkhs.load(name)
        np.testing.assert_allclose(errors[:, column], model.reconstruction_error(rows))
        share = 1 - model.reconstruction_error(rows).mean() / rows.var(axis=0).sum()
        assert f"{share:.1%}" in printed


def test_molecules(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    smiles = load_molecules().smiles[:40]
    Path("m.smi").write_text("".join(f"{s} mol{i}\n" for i, s in enumerate(smiles[:30])))
    write("m.csv", "id,structure", [[f"m{i}", s] for i, s in enumerate(smiles[30:])])
    assert run("fit", "m.smi", "-o", "m.rkhs", "--codes", "z.csv", "--quiet") == 0
    model = rkhs.load("m.rkhs")
    assert repr(model.kernel_) == "Tanimoto()"
    assert run("transform", "m.rkhs", "m.csv", "--smiles", "structure", "-o", "z2.csv") == 0
    expected = model.transform(load_molecules().fingerprints[30:40].astype(float))
    np.testing.assert_array_equal(read_table("z2.csv").X, expected)
    assert run("decode", "m.rkhs", "z.csv", "-o", "near.csv", "--n-best", "1") == 0
    near = table("near.csv")
    assert [row["smiles"] for row in near] == [smiles[int(row["candidate"]) - 1] for row in near]
    capsys.readouterr()
    assert run("compare", "m.csv", "--model", "m.rkhs", "--smiles", "structure") == 0
    assert "feature" in capsys.readouterr().out
    assert run("transform", "m.rkhs", "m.csv", "-o", "z3.csv") == 2
    assert "--smiles COLUMN" in capsys.readouterr().err


def test_a_model_saved_from_python_works_without_notes(folder: Path) -> None:
    rkhs.save(rkhs.KernelPCA(2).fit(np.load("rows.npy")), "plain.rkhs")
    assert run("transform", "plain.rkhs", "train.csv", "-o", "z.csv") == 0
    assert run("decode", "plain.rkhs", "z.csv", "-o", "back.csv") == 0
    assert run("info", "plain.rkhs") == 0


def test_warnings_are_lines_on_standard_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", "train.csv", "-o", "m.rkhs", "--set", "max_iter=1", "--quiet") == 0
    assert capsys.readouterr().err.startswith("rkhs: warning: KernelAutoencoder: ")


def test_unexpected_errors_are_status_1_and_interrupts_130(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rkhs.cli import info

    def fails(error: BaseException) -> None:
        def run_it(args: object) -> int:
            raise error

        monkeypatch.setattr(info, "run", run_it)

    fails(ZeroDivisionError("by\nzero"))
    assert run("info", "x") == 1
    assert capsys.readouterr().err == ("rkhs: unexpected error: ZeroDivisionError: by zero (--traceback shows where)\n")
    assert run("info", "x", "--traceback") == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err
    fails(KeyboardInterrupt())
    assert run("info", "x") == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize("command", sorted(entry.COMMANDS))
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"usage: rkhs {command}" in capsys.readouterr().out


def program(*words: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )


def test_help_of_a_command_imports_nothing_heavy() -> None:
    code = "import sys\ntry: from rkhs.cli.main import main; main(['fit', '--help'])\nfinally: print(*sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert not {"torch", "sklearn", "scipy", "pandas"} & set(done.stdout.split())


def test_a_missing_file_is_said_before_anything_heavy_is_imported(folder: Path) -> None:
    """One process: nothing of the commands before has imported it either."""
    lines = [
        "fit no.csv -o m.rkhs",
        "fit no.csv -o m.rkhs --predict 1",
        "map no.csv -o m.png",
        "report no.csv",
        "predict no.csv no.csv",
        "transform no.csv no.csv -o z.csv",
        "decode no.csv no.csv -o z.csv",
        "compare no.csv --model no.csv",
        "export no.csv -o m.onnx",
    ]
    code = "import sys; from rkhs.__main__ import main\nfor a in sys.argv[1:]: print(main(a.split()), *sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-c", code, *lines], capture_output=True, text=True, env=env, check=False)
    found = [line.split() for line in done.stdout.splitlines()]
    assert [number for number, *_ in found] == ["2"] * len(lines), done.stderr
    heavy = {"torch", "sklearn", "scipy"}
    assert not [line for line, (_, *names) in zip(lines, found, strict=True) if heavy & {*names}]
    said = done.stderr.splitlines()
    assert len(said) == len(lines)
    assert all("must name a file or folder that exists; got 'no.csv'" in line for line in said), said


@pytest.mark.slow
def test_the_program_fits(folder: Path) -> None:
    with program("fit", "train.csv", "-o", "m.rkhs") as fit:
        out, err = fit.communicate(timeout=200)
    assert (fit.returncode, err) == (0, "")
    assert "model: m.rkhs" in out


def test_ctrl_c_leaves_no_half_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The signal comes with the first line of progress of a fit, and when the file is about to get its name."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for place in ("rkhs.protocols.show", "os.replace"):
            with monkeypatch.context() as patch:
                patch.setattr(place, lambda *_: os.kill(os.getpid(), signal.SIGINT))
                assert run("fit", "rows.npy", "-o", "x.rkhs", "--set", "verbose=1", "--set", "reg=0.01") == 130
            assert capsys.readouterr().err.endswith("rkhs: interrupted; nothing was left half written\n")
            assert not [name for name in os.listdir() if name.startswith(("x", ".x"))]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_ctrl_c_ends_a_process_that_leaves_no_half_file(folder: Path) -> None:
    np.save("large.npy", np.random.default_rng(0).normal(size=(200, 5)))
    with program(
        "fit", "large.npy", "-o", "x.rkhs", "--set", "tol=0.0", "--set", "n_init=999", "--set", "verbose=1"
    ) as fit:
        assert fit.stderr is not None
        fit.stderr.read(1)  # the first progress line: the fit runs
        fit.send_signal(signal.SIGINT)
        _, err = fit.communicate(timeout=200)
    assert fit.returncode == 130, err
    assert err.endswith("rkhs: interrupted; nothing was left half written\n")
    assert not [name for name in os.listdir() if name.startswith(("x", ".x"))]


def test_molecules_are_streamed_with_their_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit", reason="fingerprints need the extra 'chem'")
    smiles = [f"C{'C' * i}O" for i in range(12)] + ["c1ccccc1", "CCN"]
    Path("train.smi").write_text("".join(f"{s} m{i}\n" for i, s in enumerate(smiles[:9])))
    Path("library.smi").write_text("".join(f"{s} m{i}\n" for i, s in enumerate(smiles)))
    assert run("fit", "train.smi", "-o", "m.rkhs", "--codes", "z.csv") == 0
    assert run("decode", "m.rkhs", "z.csv", "-o", "b.csv", "--candidates", "library.smi") == 0
    monkeypatch.setattr(decode, "_CANDIDATES", 3)
    assert run("decode", "m.rkhs", "z.csv", "-o", "a.csv", "--candidates", "library.smi") == 0
    chunked, whole = table("a.csv"), table("b.csv")
    assert [row["name"] for row in chunked] == [row["name"] for row in whole]
    assert all(row["smiles"] == smiles[int(row["candidate"]) - 1] for row in chunked)


def test_gram_matrices(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.load("rows.npy")
    K = np.exp(-0.3 * ((rows[:, None] - rows[None]) ** 2).sum(2))
    np.save("K.npy", K[:20, :20])
    np.save("cross.npy", K[20:, :20])
    assert run("fit", "K.npy", "--gram", "-o", "g.rkhs", "--codes", "z.npy") == 0
    assert run("transform", "g.rkhs", "cross.npy", "-o", "z2.npy") == 0
    np.testing.assert_array_equal(np.load("z2.npy"), rkhs.load("g.rkhs").transform(K[20:, :20]))
    assert run("decode", "g.rkhs", "z2.npy", "--candidates", "cross.npy", "-o", "near.csv", "--n-best", "1") == 0
    assert len(table("near.csv")) == 10
    assert run("compare", "cross.npy", "--model", "g.rkhs") == 0
    capsys.readouterr()
    assert run("decode", "g.rkhs", "z2.npy", "-o", "near.csv", "--by", "features") == 2
    assert "candidates must be kernel values" in capsys.readouterr().err
    assert run("transform", "g.rkhs", "rows.npy", "-o", "z3.npy") == 2
    assert run("fit", "K.npy", "--gram", "--kernel", "linear", "-o", "x.rkhs") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "none.csv", "-o", "x.rkhs"], "got 'none.csv', which does not"),
        (["fit", "train.csv", "-o", "no/x.rkhs"], "whose folder does not exist"),
        (["fit", "train.csv", "-o", "x.rkhs", "--estimator", "kernal"], "--estimator must be one of "),
        (["fit", "train.csv", "-o", "x.rkhs", "--set", "nothing=1"], "has no parameter 'nothing'"),
        (["fit", "train.csv", "-o", "x.rkhs", "--kernel", "gaussian(gamma=-1)"], "Gaussian.gamma must be > 0"),
        (["fit", "train.csv", "-o", "x.rkhs", "--columns", "a,q"], "got 'q', which is not there"),
        (["info", "train.csv"], "expected a model file"),
        (["info", "none.rkhs"], "cannot read the model file"),
        (["transform", "m.rkhs", "rows2.npy", "-o", "z.csv"], "needs 3 columns; got 2"),
        (
            ["transform", "m.rkhs", "wrong.csv", "-o", "z.csv"],
            "lacks 'c', of the columns of the training file; it has 'a', 'b', 'd'",
        ),
        (["transform", "m.rkhs", "train.csv", "-o", "z.txt"], "must end in"),
        (["transform", "m.rkhs", "train.csv", "-o", "z.csv", "--layer", "2"], "layer must be"),
        (["decode", "m.rkhs", "rows2.npy", "-o", "z.npy", "--n-best", "1"], "rankings are written as .csv"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    rkhs.save(rkhs.KernelPCA(2).fit(np.load("rows.npy")), "plain.rkhs")
    assert run("fit", "train.csv", "-o", "m.rkhs", "--quiet", "--set", "reg=0.01", "--set", "max_iter=2") == 0
    np.save("rows2.npy", np.load("rows.npy")[:, :2])
    write("wrong.csv", "a,b,d", [[1, 2, 3], [4, 5, 6]])
    before = sorted(os.listdir())
    capsys.readouterr()
    assert run(*words) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("rkhs: error: ")
    assert printed.err.count("\n") == 1
    assert sorted(os.listdir()) == before


def test_several_gram_matrices_in_one_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X = np.load("rows.npy")
    views = [X @ X.T, np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))]
    np.savez("views.npz", first=views[0][:20, :20], second=views[1][:20, :20])
    np.savez("new.npz", first=views[0][20:, :20], second=views[1][20:, :20])
    assert run("fit", "views.npz", "--gram", "--estimator", "kernel-pca", "-o", "v.rkhs") == 0
    assert "20 items" in capsys.readouterr().out
    assert run("transform", "v.rkhs", "new.npz", "-o", "z.npy") == 0
    model = rkhs.KernelPCA(2, kernel="precomputed").fit([K[:20, :20] for K in views])
    np.testing.assert_allclose(np.load("z.npy"), model.transform([K[20:, :20] for K in views]))
    assert run("fit", "views.npz", "--gram", "--read", "key=first", "-o", "one.rkhs") == 0
    np.savez("odd.npz", first=views[0], second=views[1][:20, :20])
    assert run("fit", "odd.npz", "--gram", "-o", "odd.rkhs") == 2
    assert run("fit", "train.csv", "--estimator", "GramTransformer", "-o", "odd.rkhs") == 2


def test_candidates_are_streamed_from_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "_CANDIDATES", 7)
    assert run("fit", "train.csv", "-o", "m.rkhs", "--codes", "z.csv") == 0
    model = rkhs.load("m.rkhs")
    library = np.load("rows.npy")
    write("library.csv", "name,c,a,b", [[f"c{i}", r[2], r[0], r[1]] for i, r in enumerate(library.tolist())])
    for name in ("library.csv", "rows.npy"):
        words = ["decode", "m.rkhs", "z.csv", "-o", "best.csv", "--candidates", name, "--n-best", "4"]
        assert run(*words) == 0
        found = table("best.csv")
        expected = model.decode(read_table("z.csv").X, library, n_best=4)
        assert [int(row["candidate"]) - 1 for row in found] == expected.indices.ravel().tolist()
        np.testing.assert_allclose([float(row["squared_distance"]) for row in found], expected.distances.ravel())
        if name == "library.csv":
            assert all(row["name"] == f"c{int(row['candidate']) - 1}" for row in found)
    Path("bad.csv").write_text("name,a,b,c\n" + "x,1,2,3\n" * 9 + "y,1,2,oops\n")
    assert run("decode", "m.rkhs", "z.csv", "-o", "best.csv", "--candidates", "bad.csv") == 2


def test_engines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    landmarks = ("--estimator", "kpca", "--set", "storage=nystroem(8)", "--quiet")
    assert run("fit", "rows.npy", "-o", "a.rkhs", *landmarks) == 0
    assert run("fit", "rows.npy", "-o", "b.rkhs", *landmarks, "--engine", "threads", "--jobs", "2") == 0
    a, b = rkhs.load("a.rkhs"), rkhs.load("b.rkhs")
    np.testing.assert_array_equal(a.codes_, b.codes_)
    capsys.readouterr()
    assert run("fit", "rows.npy", "-o", "a.rkhs", "--scheduler", "tcp://h:1") == 2
    assert "--scheduler is the address of a Dask cluster; it needs --engine dask" in capsys.readouterr().err
    assert run("fit", "rows.npy", "-o", "c.rkhs", *landmarks[:2], "--quiet", "--jobs", "2") == 0
    assert rkhs.load("c.rkhs").engine is None  # a file names no engine


def test_a_mixed_table_goes_to_codes_and_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    rows = [[f"p{i}", round(rng.normal(), 3), rng.choice(["a", "b"]), i % 4] for i in range(24)]
    rows[3][1], rows[5][2] = "NA", ""
    write("mixed.csv", "name,size,kind,zone", rows)
    write("later.csv", "kind,name,size,zone", [[row[2], row[0], row[1], row[3]] for row in rows[:6]])
    words = ["--index-column", "name", "-o", "m.rkhs", "--codes", "z.csv"]
    assert run("fit", "mixed.csv", *words) == 0
    assert "24 rows of 3 columns" in capsys.readouterr().out
    assert run("transform", "m.rkhs", "later.csv", "--index-column", "name", "-o", "later_codes.csv") == 0
    model = rkhs.load("m.rkhs")
    cells = [[None if cell in ("NA", "") else cell for cell in row[1:]] for row in rows]
    np.testing.assert_allclose(read_table("later_codes.csv").X, model.transform(cells[:6]), atol=1e-9)
    assert run("decode", "m.rkhs", "z.csv", "-o", "best.csv", "--n-best", "1") == 0
    assert table("best.csv")[0]["name"] == "p0"
    assert (
        run("decode", "m.rkhs", "z.csv", "-o", "best.csv", "--candidates", "later.csv", "--index-column", "name") == 0
    )
    write("bad.csv", "name,size,kind,zone", [["q", "tall", "a", 1]])
    assert run("transform", "m.rkhs", "bad.csv", "--index-column", "name", "-o", "bad_codes.csv") == 2
    assert "column 'size': expected numbers; got 'tall'" in capsys.readouterr().err
    assert run("fit", "mixed.csv", "--gram", "-o", "m.rkhs") == 2
