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
def test_numbers_on_the_line_are_finite(folder: Path, capsys: pytest.CaptureFixture[str], value: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["decode", "g.rkhs", "z.csv", "-o", "new.csv", f"--diag={value}"])
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
        ((*FIT, "--kernel", f"gaussian(gamma='{'x' * 1900}')"), "(1900 characters)"),
        ((*FIT, "--set", "nothing=1"), "it has 'center', 'columns'"),
        ((*FIT, "--kernel", "precomputed"), "X (--gram) must be a square Gram matrix"),
        (("fit", "objects.npy", "--stream", "--codes", "new.csv"), "INPUT: cannot read 'objects.npy' (it holds Python"),
        (("fit", "pipe.npy", "--stream", "--codes", "new.csv"), "which is a pipe"),
        (("fit", "pipe.npy", "--codes", "new.csv"), "which is a pipe"),
        (("fit", "empty.npz", "--codes", "new.csv"), "expected edge_ptr and node_ptr to begin with 0"),
        (("fit", "falls.npz", "--codes", "new.csv"), "never to fall"),
        (("fit", "real.npz", "--codes", "new.csv"), "got edges of float64"),
        (("fit", "many.npz", "--codes", "new.csv"), "expected nodes that fit into memory"),
        ((*TRANSFORM, "--layer", "1"), "--layer is for deep autoencoders"),
        ((*DECODE, "--n-best", "0"), "--n-best must be an integer >= 1"),
        ((*DECODE, "--n-best", "2", "--diag", "1"), "--diag is for models of Gram matrices"),
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
