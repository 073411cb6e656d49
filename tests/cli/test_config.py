"""Flags in a file, and completion: both are made from the parsers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli.main import command_parsers, main
from rkhs.data import write_codes

X = np.random.default_rng(0).normal(size=(12, 3))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_codes("in.csv", X, column_names=["a", "b", "c"])
    return tmp_path


CONFIG = """\
[fit]
seed = 3
estimator = "kernel-pca"
n_components = 1
columns = ["a", "b"]
output = "m.rkhs"
quiet = true

[fit.set]
preimage = "nearest"
center = false

[transform]
output = "z.csv"
"""


def test_a_file_stands_for_flags_and_those_on_the_line_win(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("all.toml").write_text(CONFIG)
    assert main(["fit", "in.csv", "--config", "all.toml", "--set", "center=True", "--n-components", "2"]) == 0
    assert capsys.readouterr() == ("", "")
    model = rkhs.load("m.rkhs")
    expected = rkhs.KernelPCA(2, center=True, preimage="nearest").fit(X[:, :2])
    assert (model.center, model.preimage) == (True, "nearest")
    np.testing.assert_array_equal(model.codes_, expected.codes_)
    assert main(["transform", "m.rkhs", "in.csv", "--config", "all.toml"]) == 0
    assert Path("z.csv").exists()


def test_printed_flags_are_the_same_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "fit",
        "in.csv",
        "--estimator",
        "kpca",
        "--set",
        "center=False",
        "--set",
        'preimage="nearest"',
        "--seed",
        "5",
    ]
    words += ["--columns", "a,c", "-o", 'a "b".rkhs', "--quiet", "--json", "--index-column", "0"]
    assert main([*words, "--print-config"]) == 0
    first = capsys.readouterr().out
    Path("c.toml").write_text(first)
    assert not Path('a "b".rkhs').exists()
    assert main(["fit", "in.csv", "--config=c.toml", "--print-config"]) == 0
    assert capsys.readouterr().out == first
    assert "seed = 5" in first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n-component = 2", "'n-component' is no flag of rkhs fit; did you mean 'n-components'?"),
        ("input = 'in.csv'", "'input' is no flag of rkhs fit"),
        ("config = 'in.csv'", "'config' is no flag of rkhs fit"),
        ("[fits]\nseed = 1", "[fits] is no command of rkhs; did you mean 'fit'?"),
        ("quiet = 1", "quiet must be true or false; got 1"),
        ("seed = 2020-01-01", "seed must be a text, a number or a list"),
        ("seed = ", "--config bad.toml must be a TOML file"),
        ("columns = [['a']]", "columns must be a text, a number or a list"),
    ],
)
def test_a_wrong_file_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    Path("bad.toml").write_text(text)
    assert main(["fit", "in.csv", "--codes", "z.csv", "--config", "bad.toml"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert main(["fit", "in.csv", "--codes", "z.csv", "--config", "none.toml"]) == 2
    assert "--config must name a file that can be read; got 'none.toml'" in capsys.readouterr().err
    assert not Path("z.csv").exists()


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
        (["--columns", "aa"], "did you mean 'a'?"),
    ],
)
def test_unknown_names_get_the_nearest_known(
    folder: Path, words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "in.csv", "--codes", "z.csv", *words]) == 2
    assert hint in capsys.readouterr().err


def completed(script: str, *words: str) -> list[str]:
    """What bash would offer for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    code = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _rkhs; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_completion_offers_what_the_parsers_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == 0
    zsh = capsys.readouterr().out
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert zsh.endswith(script)
    assert "bashcompinit" in zsh
    assert "bashcompinit" not in script
    if shutil.which("bash") is None:
        pytest.skip("the script is run by bash")
    assert completed(script, "rkhs", "f") == ["fit"]
    assert set(completed(script, "rkhs", "")) == {*command_parsers(), "--help", "--version"}
    assert completed(script, "rkhs", "fit", "--kern") == ["--kernel"]
    assert completed(script, "rkhs", "fit", "in.csv", "--kind", "gr") == ["graphs"]
    assert completed(script, "rkhs", "completion", "") == ["bash", "zsh"]
    assert completed(script, "rkhs", "fit", "in") == []  # files, by the shell itself
