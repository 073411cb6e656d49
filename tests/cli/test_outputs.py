"""What a command writes is looked at before its work: nothing is overwritten by mistake, and no work is thrown away."""

from __future__ import annotations

import os
import resource
import stat
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs.cli.main import main
from rkhs.cli.outputs import Outputs
from rkhs.data import write_codes, writers
from tests.tables import read_table

FIT = ("fit", "in.csv", "--estimator", "kpca", "--quiet")
X = np.random.default_rng(0).normal(size=(12, 3))
MODEL = rkhs.KernelPCA(2).fit(X)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Inputs under several names, and everything that an output must not replace."""
    monkeypatch.chdir(tmp_path)
    write_codes("in.csv", X, column_names=["a", "b", "c"])
    write_codes("z.csv", MODEL.codes_)
    rkhs.save(MODEL, "m.rkhs")
    os.link("in.csv", "hard.csv")
    os.link("in.csv", "hard.rkhs")
    Path("soft.csv").symlink_to("in.csv")
    Path("soft.rkhs").symlink_to("in.csv")
    Path("null.csv").symlink_to("/dev/null")
    os.mkfifo("pipe.csv")
    Path("made.csv").mkdir()
    Path("notes").write_text("of years")
    Path("set").mkdir()
    Path("set/g1.edgelist").write_text("1 2\n")
    Path("other.rkhs").symlink_to("m.rkhs")
    Path("kept.csv").write_text("a,b\n1,2\n")
    Path("kept.csv").chmod(0o444)
    return tmp_path


def run(*words: str) -> int:
    return main(list(words))


def everything(folder: Path) -> dict[str, Any]:
    """Kind, identity and content of all that is there."""
    found = {}
    for path in [*folder.rglob("*"), Path("/dev/null"), Path("/dev/full")]:
        kind = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(kind.st_mode) else None
        found[str(path)] = (kind.st_mode, kind.st_ino, kind.st_size, content)
    return found


REFUSED = [
    (("-o", "no/m.rkhs"), "-o: expected a file in an existing folder"),
    (("-o", "m.rkhs", "--codes", "z.txt"), "--codes must end in .csv, .xlsx, .parquet, .npy"),
    (("-o", "/dev/null"), "-o: expected the name of a file"),
    (("-o", "/dev/full"), "-o: expected the name of a file"),
    (("--codes", "null.csv"), "--codes: expected the name of a file"),
    (("--codes", "pipe.csv"), "which is a pipe; give the name of a file"),
    (("--codes", "made.csv"), "got the folder 'made.csv'"),
    (("--codes", "kept.csv"), "protected against writing"),
    (("--codes", "in.csv"), "--codes in.csv would overwrite INPUT"),
    (("--codes", "./set/../in.csv"), "would overwrite INPUT"),
    (("--codes", "hard.csv"), "would overwrite INPUT"),
    (("--codes", "soft.csv"), "would overwrite INPUT"),
    (("-o", "hard.rkhs"), "would overwrite INPUT"),
    (("-o", "soft.rkhs"), "would overwrite INPUT"),
    (("-o", "in.csv"), "the name of other data; codes go to --codes FILE"),
    (("-o", "notes"), "which is no model file"),
    (("-o", "new/"), "which is none; give a file name"),
    (("-o", ""), "which is none; give a file name"),
    ((), "a model with -o MODEL, codes with --codes FILE, or both; got neither"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_a_fit_refuses_outputs_before_it_begins(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.setattr(rkhs.KernelPCA, "fit", lambda *_, **__: pytest.fail("the fit began"))
    before = everything(folder)
    assert run(*FIT, *words) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert everything(folder) == before


def test_files_of_an_input_folder_are_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("link.parquet").symlink_to("set/g1.edgelist")
    Path("DS_A.txt").write_text("1, 2\n")
    Path("DS_graph_labels.txt").write_text("1\n")
    for source, target in (("set", "link.parquet"), (".", "set/g1.edgelist"), ("DS_A.txt", "DS_graph_labels.txt")):
        with pytest.raises(rkhs._core.errors.InputError, match="would overwrite INPUT or a part of it"):
            Outputs(("INPUT", source)).add("-o", target)
    Outputs(("INPUT", ".")).add("-o", "m.rkhs")  # a model beside what was read may be written again


def test_codes_alone_are_enough(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", "in.csv", "--estimator", "kpca", "--codes", "new.csv") == 0
    printed = capsys.readouterr().out
    assert "codes: new.csv" in printed
    assert "model:" not in printed
    np.testing.assert_allclose(read_table("new.csv").X, MODEL.codes_)


def full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_the_model_comes_first_and_stays_when_the_codes_cannot_be_written(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(writers, "write_parts", partial(_with_small_files, writers.write_parts))
    assert run(*FIT, "-o", "new.rkhs", "--codes", "new.csv") == 2
    printed = capsys.readouterr().err
    assert "cannot write 'new.csv' (File too large)" in printed
    np.testing.assert_array_equal(rkhs.load("new.rkhs").codes_, MODEL.codes_)
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
    assert not list(folder.glob(".*"))


def _with_small_files(function: Any, *args: Any, **options: Any) -> None:
    """Call a function while no file may grow beyond 100 bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        function(*args, **options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_keeps_its_permissions(folder: Path) -> None:
    for name in ("m.rkhs", "z.csv"):
        Path(name).chmod(0o600)
    assert run(*FIT, "-o", "m.rkhs", "--codes", "z.csv") == 0
    assert {stat.S_IMODE(os.stat(name).st_mode) for name in ("m.rkhs", "z.csv")} == {0o600}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("transform", "m.rkhs", "in.csv", "-o", "soft.csv"), "would overwrite INPUT"),
        (("transform", "m.rkhs", "in.csv", "-o", "z.xls"), "-o must end in"),
        (("transform", "m.rkhs", "in.csv", "-o", "no/z.npy"), "existing folder"),
        (("decode", "m.rkhs", "z.csv", "-o", "z.csv"), "would overwrite CODES"),
        (("decode", "m.rkhs", "z.csv", "--candidates", "in.csv", "-o", "hard.csv"), "would overwrite --candidates"),
        (("decode", "m.rkhs", "z.csv", "-o", "made.csv"), "got the folder"),
        (("compare", "in.csv", "--model", "m.rkhs", "--errors", "hard.csv"), "would overwrite INPUT"),
        (("compare", "in.csv", "--model", "m.rkhs", "--errors", "e.txt"), "--errors must end in"),
        (("compare", "in.csv", "--model", "m.rkhs", "--errors", "null.csv"), "--errors: expected the name of a file"),
        (("export", "m.rkhs", "-o", "other.rkhs"), "-o must end in .onnx"),
        (("export", "m.rkhs", "-o", "no/m.onnx"), "existing folder"),
    ],
)
def test_other_commands_refuse_outputs_before_they_read(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
) -> None:
    for name in ("load", "read_model"):
        monkeypatch.setattr(rkhs.persistence, name, lambda *_, **__: pytest.fail("the model was read"))
    before = everything(folder)
    assert run(*words) == 2
    assert message in capsys.readouterr().err
    assert everything(folder) == before


def test_a_missing_extra_is_named_before_the_fit(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setattr(rkhs.KernelPCA, "fit", lambda *_, **__: pytest.fail("the fit began"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert run(*FIT, "--codes", "z.parquet") == 2
    assert 'pip install "rkhs[tables]"' in capsys.readouterr().err
    assert run("transform", "m.rkhs", "in.csv", "-o", "codes/") == 2
    assert run("export", "m.rkhs", "-o", "m.onnx") == 2
    assert 'pip install "rkhs[onnx]"' in capsys.readouterr().err
