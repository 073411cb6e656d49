"""Wrong arguments and strange files: one line that names the flag, and status 2."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli.main import main
from rkhs.data import write_codes

X = np.random.default_rng(0).normal(size=(12, 3))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_codes("in.csv", X, column_names=["a", "b", "c"])
    model = rkhs.KernelPCA(2).fit(X)
    rkhs.save(model, "m.rkhs")
    write_codes("z.csv", model.codes_)
    rkhs.save(rkhs.KernelPCA(2, kernel="precomputed").fit(X @ X.T), "g.rkhs")
    np.save("K.npy", X @ X.T)
    np.save("objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    write_npz("empty.npz", edges=np.zeros((0, 2), int), edge_ptr=np.zeros(0, int), node_ptr=np.zeros(0, int))
    write_npz("falls.npz", edges=np.zeros((1, 2), int), edge_ptr=np.array([0, 1, 0]), node_ptr=np.array([0, 2, 4]))
    write_npz("real.npz", edges=np.zeros((1, 2)), edge_ptr=np.array([0, 1]), node_ptr=np.array([0, 2]))
    write_npz("many.npz", edges=np.zeros((0, 2), int), edge_ptr=np.array([0, 0]), node_ptr=np.array([0, 10**13]))
    os.mkfifo("pipe.npy")
    return tmp_path


def write_npz(path: str, **arrays: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    Path(path).write_bytes(buffer.getvalue())


FIT = ("fit", "in.csv", "--estimator", "kpca", "--codes", "new.csv")
TRANSFORM = ("transform", "m.rkhs", "in.csv", "-o", "new.csv")
DECODE = ("decode", "m.rkhs", "z.csv", "-o", "new.csv")
MODELS = ("compare", "in.csv", "--model", "m.rkhs")


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "one"])
@pytest.mark.parametrize(
    "command", [("decode", "g.rkhs", "z.csv", "-o", "new.csv"), ("compare", "K.npy", "--model", "g.rkhs")]
)
def test_numbers_on_the_line_are_finite(
    folder: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], value: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*command, f"--diag={value}"])
    assert stop.value.code == 2
    assert f"argument --diag: invalid real value: '{value}'" in capsys.readouterr().err


def test_a_name_that_begins_with_a_dash_is_a_path_like_another(folder: Path) -> None:
    Path("-x.csv").write_text(Path("in.csv").read_text())
    assert main(["fit", "--estimator", "kpca", "--quiet", "--output=-m.rkhs", "--", "-x.csv"]) == 0
    assert main(["transform", "./-m.rkhs", "./-x.csv", "-o", "./-z.csv"]) == 0
    np.testing.assert_allclose(np.genfromtxt("-z.csv", delimiter=",", skip_header=1), rkhs.load("-m.rkhs").codes_)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*FIT, "--n-components", "[]"), "--n-components must be"),
        ((*FIT, "--encoding", "\0"), "--encoding must be one that Python knows"),
        ((*FIT, "--encoding", "klingon"), "--encoding must be one that Python knows"),
        ((*FIT, "--kernel", f"gaussian(gamma='{'x' * 1900}')"), "(1900 characters)"),
        ((*FIT, "--set", "nothing=1"), "it has 'center', 'columns'"),
        ((*FIT, "--kernel", "precomputed"), "X (--gram) must be a square Gram matrix"),
        ((*FIT, "--fingerprint", "maccs"), "error: --fingerprint maccs is for SMILES"),
        ((*FIT, "--kind", "curves"), "name the other columns with --columns"),
        (("fit", "objects.npy", "--stream", "--codes", "new.csv"), "INPUT: cannot read 'objects.npy' (it holds Python"),
        (("fit", "pipe.npy", "--stream", "--codes", "new.csv"), "which is a pipe"),
        (("fit", "pipe.npy", "--codes", "new.csv"), "which is a pipe"),
        (("fit", "empty.npz", "--codes", "new.csv"), "expected edge_ptr and node_ptr to begin with 0"),
        (("fit", "falls.npz", "--codes", "new.csv"), "never to fall"),
        (("fit", "real.npz", "--codes", "new.csv"), "got edges of float64"),
        (("fit", "many.npz", "--codes", "new.csv"), "expected nodes that fit into memory"),
        ((*TRANSFORM, "--layer", "1"), "--layer is for deep autoencoders"),
        (("transform", "m.rkhs", "in.csv", "--stream", "-o", "new.npy"), "INPUT must name a .npy file"),
        ((*DECODE, "--n-best", "0"), "--n-best must be an integer >= 1"),
        ((*DECODE, "--n-best", "2", "--chunk-rows", "0"), "--chunk-rows must be an integer >= 1"),
        ((*DECODE, "--n-best", "2", "--diag", "1"), "--diag is for models of Gram matrices"),
        ((*MODELS, "--diag", "1"), "--diag is for models of Gram matrices"),
        ((*MODELS, "--top-k", "0"), "--top-k must be whole numbers from 1"),
        ((*MODELS, "--top-k", "²"), "--top-k must be whole numbers from 1"),
        (("compare", "in.csv", "--targets", "objects.npy"), "objects.npy"),
        (("compare", "in.csv", "--targets", "pipe.npy"), "which is a pipe"),
        (("info", "a" * 5000), "File name too long"),
    ],
)
def test_one_line_names_the_flag(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert main(list(words)) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.startswith("rkhs: error: ")
    assert printed.count("\n") == 1
    assert len(printed) < 1500
    assert "pickle" not in printed or "unpickled" in printed
    assert not Path("new.csv").exists()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfa,b\n1,2\n3,5\n4,4\n",
        b"a,b\r\n1,2\r\n3,5\r\n4,4\r\n",
        b"a,b\r1,2\r3,5\r4,4\r",
        "é,日本\n1,2\n3,5\n4,4\n".encode(),
        "a,b\n١,٢\n3,5\n4,4\n".encode(),
    ],
)
def test_files_of_other_systems_hold_the_same_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    Path("other.csv").write_bytes(content)
    assert main(["fit", "other.csv", "--estimator", "kpca", "--quiet", "--codes", "new.csv"]) == 0
    expected = rkhs.KernelPCA(2).fit([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]]).codes_
    np.testing.assert_array_equal(np.genfromtxt("new.csv", delimiter=",", skip_header=1), expected)


def test_a_file_unlike_that_of_the_model_is_refused_in_words_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.csv").write_text("p,q\n1,x\n2,y\n")
    Path("mixed.csv").write_text("a,b\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(12)))
    Path("s.fasta").write_text("".join(f">n{i}\n{'ACGTAC'[i % 3 :]}{'GT' * i}\n" for i in range(8)))
    Path("m.csv").write_text("name,Smiles\n" + "".join(f"m{i},{'C' * i}O\n" for i in range(1, 9)))
    fits = {
        "in.csv": ([], "other.csv lacks 'a', 'b', 'c', of the columns of the training file; it has 'p', 'q', which"),
        "mixed.csv": (["--mixed"], "other.csv lacks 'a', 'b', of the columns of the training file"),
        "s.fasta": ([], "other.csv is a table: name the column of sequences, which the model reads, with --columns"),
        "m.csv": (["--smiles", "Smiles"], "other.csv lacks 'Smiles', the column of molecules of the training file; it"),
    }
    for name, (flags, message) in fits.items():
        assert main(["fit", name, *flags, "--estimator", "kpca", "--n-components", "1", "-o", "o.rkhs"]) == 0
        capsys.readouterr()
        assert main(["transform", "o.rkhs", "other.csv", "-o", "z2.csv"]) == 2
        assert message in capsys.readouterr().err


def test_too_few_classes_are_refused_before_the_items_are_read(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("names.csv").write_text("a,b,who\n" + "".join(f"{i},{i * i},p{i}q\n" for i in range(12)))
    monkeypatch.setattr("rkhs.cli.predictors.read_with_targets", lambda *_: pytest.fail("the items were read"))
    assert main(["fit", "names.csv", "--predict", "who", "-o", "o.rkhs"]) == 2
    assert "needs two classes, and two rows of each" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ("fit t.csv --predict y -o m.rkhs", "labels"),
        ("fit t.csv --predict y -o m.rkhs", "targets"),
        ("map t.csv --color y -o m.png", "labels"),
        ("report t.csv --predict y", "labels"),
        ("compare t.csv --predict y", "labels"),
        ("compare t.csv --predict y", "targets"),
        ("predict m.rkhs t.csv", "candidates"),
        ("predict m.rkhs t.csv", "known"),
    ],
)
def test_a_file_that_is_missing_is_named_before_others_are_read(tmp_path, monkeypatch, capsys, command, flag) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "m.rkhs"):
        Path(name).write_text("no table and no model")
    assert main([*command.split(), f"--{flag}", "no.csv"]) == 2
    assert f"--{flag} must name a file or folder that exists; got 'no.csv'" in capsys.readouterr().err
