"""No message on the command line teaches a Python argument."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs import data, estimators
from rkhs.cli.main import main, whole_parser
from rkhs.cli.wording import FLAGS, in_flags

SOURCES = Path(rkhs.__file__).parent
READERS = (data.read_items, data.molecular_fingerprints)
ARGUMENTS = {name for read in READERS for name in inspect.signature(read).parameters} | set(FLAGS)
PARAMETERS = {
    name
    for each in estimators.__all__
    if hasattr(getattr(estimators, each), "get_params")
    for name in getattr(estimators, each)._get_param_names()
}


def python_words(text: str) -> list[str]:
    """Python arguments that a message names: ``name=`` outside of quotation marks and ``--set``, or in backticks."""
    plain = re.sub(
        r"""(?<![\w=])('(\\.|[^'\\])*'|"(\\.|[^"\\])*")|--(?:set|read) '[^']*'|--(?:set|read) \S+""", "", text
    )
    plain = re.sub(r"[A-Za-z]\w*\([^()]*\)", "", plain)  # a kernel: the same on the command line
    named = re.findall(r"(?<![\w-])([a-z]\w*)=", plain)
    return [name for name in named if name in ARGUMENTS | PARAMETERS] + re.findall(r"`(\w+)`", plain)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pass index_column= for row names", "pass --index-column COLUMN for row names"),
        ("or index_column=0 to use it", "or --index-column 0 to use it"),
        ("columns=['a', 'b'] and columns=[...]", "--columns a,b and --columns A,B,..."),
        ("`smiles_column` makes", "--smiles makes"),
        ("use storage='dense'", "use --set storage=dense"),
        ("use storage=Nystroem(10)", "use --set 'storage=Nystroem(10)'"),
        ("n_components must be an integer", "--n-components must be an integer"),
        ("got 'header=True' and \"key=3\"", "got 'header=True' and \"key=3\""),
        ("pass --read index_column=a", "pass --read index_column=a"),
        ("`encoding` must be known", "--read encoding must be known"),
        ("--set reg=3 and gaussian(gamma=0.5)", "--set reg=3 and gaussian(gamma=0.5)"),
        ("Spectrum(k=3, tokens='words')", "Spectrum(k=3, tokens='words')"),
        ("got SMILES C=C=O and CC(=O)C", "got SMILES C=C=O and CC(=O)C"),
    ],
)
def test_arguments_become_flags_and_quotations_stay(text: str, expected: str) -> None:
    assert in_flags(text) == expected


def messages(tree: ast.AST) -> Iterator[str]:
    """Every text in a file, with the values that f-strings insert as X."""
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            parts = [str(v.value) if isinstance(v, ast.Constant) else "X" for v in node.values]
            yield "".join(parts).replace("`X`", "`columns`").replace("X=X", "X")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.value


def without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            node.body = [
                each for each in node.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
            ] or [ast.Pass()]
    return tree


@pytest.mark.parametrize(
    "package", ["data", "estimators", "engines", "_core", "problems", "solvers", "spaces", "export.py"]
)
def test_every_message_of_the_library_can_be_worded_in_flags(package: str) -> None:
    place = SOURCES / package
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    # Arguments of functions that no command reaches with them; n_bits is the word of --fingerprint too.
    elsewhere = {"smiles", "codes", "column_names", "row_names", "n_bits"}
    left = [
        (path.name, text)
        for path in files
        for text in messages(without_docstrings(ast.parse(path.read_text())))
        if set(python_words(in_flags(text))) - elsewhere
    ]
    assert not left


def flags_of_parsers() -> set[str]:
    (commands,) = (action for action in whole_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return {
        flag for parser in commands.choices.values() for action in parser._actions for flag in action.option_strings
    }


def test_every_flag_that_a_text_of_the_commands_names_exists() -> None:
    """A message that names a flag of the past sends its reader astray."""
    known = flags_of_parsers() | {"--version"}
    found = [
        (path.name, flag)
        for path in sorted((SOURCES / "cli").glob("*.py"))
        for text in messages(ast.parse(path.read_text()))
        for flag in re.findall(r"(?<![\w-])--[a-z][a-z\d-]*", text)
    ]
    assert len(found) > 200
    assert [each for each in found if each[1] not in known] == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


CONTENTS = {
    "empty.csv": "",
    "names.csv": "a,b\n",
    "mixed_first_row.csv": "a,1\n2,3\n",
    "grid.csv": "0,1,2\n1,2,4\n",
    "text.csv": "a,b,c\nx,1,2\nx,2,3\n",
    "holes.csv": "a,b\n1,\n2,NA\n",
    "ragged.csv": "a,b\n1,2\n3\n",
    "twice.csv": "a,a\n1,2\n",
    "unnamed.csv": "a,,b\n1,2,3\n",
    "half.csv": "n,a\nx,1\n2,3\n",
    "latin.csv": b"a,b\n\xe9,1\n",
    "quotes.csv": 'a,b\n"1,2\n',
    "smiles.csv": "id,s\n1,CC\n2,C(\n",
    "bad.smi": "CC a\nC( b\n",
    "bad.txt": "1 1:2\n3 2:4\n",
    "one.csv": "a\n1\n2\n3\n",
    "wide.csv": "a,b,c\n1,2,3\n4,5,7\n1,1,2\n8,9,1\n",
}
FITS = [
    *((name,) for name in CONTENTS if name not in ("one.csv", "wide.csv", "text.csv", "holes.csv")),
    ("text.csv", "--kind", "vectors"),
    ("holes.csv", "--kind", "vectors"),
    ("smiles.csv", "--smiles", "s"),
    ("smiles.csv", "--smiles", "q"),
    ("bad.smi", "--columns", "a"),
    ("wide.csv", "--smiles", "a", "--columns", "b"),
    ("wide.csv", "--fingerprint", "path"),
    ("wide.csv", "--columns", "a,a"),
    ("wide.csv", "--columns", ""),
    ("wide.csv", "--columns", "9"),
    ("wide.csv", "--index-column", "q"),
    ("wide.csv", "--index-column", "a", "--columns", "a"),
    ("wide.csv", "--gram"),
    ("wide.csv", "--kind", "graphs"),
    ("wide.csv", "--kind", "curves"),
    ("wide.csv", "--kind", "sequences"),
    ("wide.csv", "--kind", "sequences", "--columns", "a,b"),
    ("wide.csv", "--kind", "series", "--columns", "a"),
    ("one.csv", "--kernel", "wl"),
    ("wide.csv", "--n-components", "two"),
    ("wide.csv", "--n-components", "0"),
    ("wide.csv", "--n-components", "2,2", "--set", "constraint=sphere", "--set", "storage=nystroem(2)"),
    ("wide.csv", "--set", "reg=0"),
    ("wide.csv", "--set", "solver=adam", "--set", "storage=nystroem(2)"),
    ("wide.csv", "--set", "storage=blocked", "--set", "loss=huber(0.1)"),
    ("wide.csv", "--set", "linear_part=free", "--set", "solver=fista"),
    ("wide.csv", "--estimator", "kpca", "--set", "preimage=wrong"),
    ("wide.csv", "--estimator", "kpca", "--set", "storage=nystroem(2)", "--set", "reg=auto"),
    ("wide.csv", "--estimator", "deep-rkm", "--n-components", "9,9"),
    ("wide.csv", "--jobs", "0"),
    ("arrays.npz",),
    ("arrays.npz", "--read", "key=q"),
    ("wide.csv", "--read", "wrong=1"),
    ("wide.csv", "--read", "encoding=klingon"),
    ("cube.npy",),
    ("text.npy",),
    ("missing.csv",),
]


def test_no_message_names_a_python_argument(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in CONTENTS.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    np.savez("arrays.npz", a=np.ones((3, 2)), b=np.ones((3, 2)))
    np.save("cube.npy", np.ones((2, 2, 2)))
    np.save("text.npy", np.array([["a"]]))
    wrong = []
    for words in FITS:
        status = main(["fit", *words, "-o", "m.rkhs", "--quiet"])
        printed = capsys.readouterr().err
        if status != 2 or printed.count("rkhs: error: ") != 1 or python_words(printed):
            wrong.append((words, status, printed))
    assert wrong == []
