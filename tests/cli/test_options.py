"""Arguments are declared as ``--help`` prints them."""

from __future__ import annotations

import argparse

import pytest

from rkhs.cli.main import whole_parser
from rkhs.cli.options import declare, flags_in

TEXT = """
INPUT  a file
[NEW]  another
-o, --output FILE  (required) what to write
--top K [5]  how many,
    for each
--by {codes,features} [codes]  by what
--plain  as it is
how it is read:
--missing A,B,...  gaps; may be given several times
"""


def test_a_line_says_names_type_default_and_group() -> None:
    parser = argparse.ArgumentParser()
    declare(parser, TEXT)
    args = parser.parse_args(["x", "-o", "y"])
    given = {"input": "x", "new": None, "output": "y"}
    assert vars(args) == given | {"top": 5, "by": "codes", "plain": False, "missing": None}
    words = ["x", "z", "--output", "y", "--top", "7", "--by", "features", "--plain", "--missing", "a", "--missing", "b"]
    args = parser.parse_args(words)
    assert (args.new, args.top, args.by, args.plain, args.missing) == ("z", 7, "features", True, ["a", "b"])
    assert "how it is read:\n  --missing A,B,..." in parser.format_help()
    assert "how many, for each" in " ".join(parser.format_help().split())
    assert flags_in(TEXT) == ["output", "top", "by", "plain", "missing"]


@pytest.mark.parametrize("words", [["x"], ["x", "-o", "y", "--top", "a"], ["x", "-o", "y", "--by", "other"]])
def test_what_is_required_of_another_type_or_no_choice_is_refused(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    declare(parser, TEXT)
    with pytest.raises(SystemExit):
        parser.parse_args(words)


def test_defaults_that_a_help_promises_are_those_that_hold() -> None:
    (commands,) = whole_parser()._subparsers._group_actions
    for name, parser in commands.choices.items():
        for action in parser._actions:
            if "%(default)s" in (action.help or ""):
                assert action.default is not None, f"rkhs {name} {action.dest}"
