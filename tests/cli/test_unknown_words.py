"""Unknown words and names on the command line: the nearest known one is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs.cli.main import main
from rkhs.data import write_codes

X = np.random.default_rng(0).normal(size=(12, 3))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_codes("in.csv", X, column_names=["a", "b", "c"])
    return tmp_path


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["ft"], "did you mean 'fit'?"),
        (["fit", "in.csv", "--n_component", "2"], "did you mean '--n-components'?"),
        (["fit", "in.csv", "--kind", "grahps"], "did you mean 'graphs'?"),
    ],
)
def test_unknown_words_get_the_nearest_known(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--estimator", "kernel-pac"], "did you mean 'KernelPCA'?"),
        (["--set", "max_itr=3"], "did you mean 'max_iter'?"),
        (["--kernel", "gausian"], "did you mean gaussian?"),
        (["--columns", "aa"], "the columns are 'a', 'b', 'c'"),
    ],
)
def test_unknown_names_get_the_nearest_known(
    folder: Path, words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "in.csv", "--codes", "z.csv", *words]) == 2
    assert hint in capsys.readouterr().err
