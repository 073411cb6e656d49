"""Unknown words and names on the command line: the nearest known one is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs.cli.main import main, whole_parser
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
        ("fit x --errors 3", "; it is a flag of rkhs compare"),
        ("fit x --plain", "; it is a flag of rkhs export"),
        ("report x --targets y", "; it is a flag of rkhs fit, compare"),
    ],
)
def test_flags_of_other_commands_name_these(words: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(words.split())
    assert f"{hint}\n" in capsys.readouterr().err


def test_no_flag_of_another_command_is_taken_for_one_like_it() -> None:
    (commands,) = (action.choices for action in whole_parser()._actions if isinstance(action.choices, dict))
    flags = {name: {f for action in one._actions for f in action.option_strings} for name, one in commands.items()}
    for name, command in commands.items():
        for flag in {flag for flags in flags.values() for flag in flags if flag.startswith("--")} - flags[name]:
            assert command._hint(flag).startswith("; it is a flag of rkhs "), (name, flag)


def test_a_command_has_few_flags() -> None:
    (commands,) = (action.choices for action in whole_parser()._actions if isinstance(action.choices, dict))
    for name, command in commands.items():
        actions = [action for action in command._actions if action.option_strings and action.dest != "help"]
        assert len(actions) <= (32 if name == "fit" else 20), name


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
