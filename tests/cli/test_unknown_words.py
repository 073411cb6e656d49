"""Unknown words and names on the command line: the nearest known one is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs.cli.main import flags_of_commands, main, whole_parser
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
        ("fit x --few-labels 3", "; rkhs compare has it"),
        ("fit x --plain", "; rkhs export has it"),
        ("report x --targets y", "; rkhs fit, compare have it"),
    ],
)
def test_flags_of_other_commands_name_these(words: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(words.split())
    assert f"{hint}\n" in capsys.readouterr().err


def test_no_flag_of_another_command_is_taken_for_one_like_it() -> None:
    known = flags_of_commands()
    (commands,) = (action.choices for action in whole_parser()._actions if isinstance(action.choices, dict))
    for name, command in commands.items():
        mine = {flag for action in command._actions for flag in action.option_strings}
        assert mine > set(known[name])
        for flag in {flag for flags in known.values() for flag in flags} - mine:
            assert command._hint(flag).startswith("; rkhs "), (name, flag)


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


def test_words_for_gaps_are_gaps_of_texts_in_a_new_file_too(tmp_path: Path, monkeypatch, capsys) -> None:
    """In a column of texts a cell of --missing was a text that the fit had not seen."""
    monkeypatch.chdir(tmp_path)
    rows = [f"x{i},{'rb'[i % 2]},{'yn'[i // 2 % 2] if i % 5 else 'k.A.'},{i % 3}" for i in range(40)]
    Path("a.csv").write_text("id,colour,whole,x\n" + "\n".join(rows))
    Path("b.csv").write_text("id,colour,whole,x\nn1,r,k.A.,1\nn2,r,,1\n")
    assert main(["nearest", "a.csv", "b.csv", "--mixed", "--missing", "k.A.", "-o", "n.csv"]) == 0
    found = [line.split(",")[1:] for line in Path("n.csv").read_text().splitlines()[1:]]
    assert [cells[:-1] for cells in found[:5]] == [cells[:-1] for cells in found[5:]]
    distances = [float(cells[-1]) for cells in found]  # the last bit depends on the place of a row in the product
    assert distances[:5] == pytest.approx(distances[5:], rel=1e-12)
    assert "not seen" not in capsys.readouterr().err
    assert main(["fit", "a.csv", "--mixed", "--predict", "x", "--missing", "k.A.", "-o", "m.rkhs"]) == 0
    assert main(["predict", "m.rkhs", "b.csv", "-o", "p.csv"]) == 0
    first, second = (line.split(",", 1)[1] for line in Path("p.csv").read_text().splitlines()[1:])
    assert first == second
