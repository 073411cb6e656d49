"""What a command found, as tables for people or as one JSON object for programs."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rkhs.cli.options import named_columns
from rkhs.cli.wording import in_flags
from rkhs.reports.wording import readable


def reading_notes(args: argparse.Namespace, data: Any) -> list[str]:
    """Sentences about what was done to read the items."""
    left_out = [*map(str, named_columns(args.drop_columns))]
    texts = [in_flags(text).removeprefix(f"{data.source}: ") for text in args.notes]
    if left_out:
        texts.append(f"columns left out: {', '.join(left_out)}")
    if data.row_title:
        texts.append(f"items are named by {data.row_title}")
    return [f"{text[:1].upper()}{text[1:].rstrip('.')}." for text in texts]


def print_result(args: argparse.Namespace, facts: Mapping[str, Any], lines: Sequence[str]) -> None:
    """Print facts for programs with ``--json``, else lines for people, unless ``--quiet``."""
    if args.json:
        print_json(facts)
    elif not getattr(args, "quiet", False):
        print("\n".join(lines))


def print_json(facts: Mapping[str, Any]) -> None:
    """Print one JSON object: numbers as they are, what is not finite as null, other objects as text."""
    print(json.dumps(_plain(facts), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if hasattr(value, "tolist"):  # arrays and numbers of numpy
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else " ".join(repr(value).split())


def gap_sentence(gap: Any, objective: float) -> list[str]:
    """How far the objective of a convex problem can be above its minimum, where that is known."""
    if not isinstance(gap, float) or not math.isfinite(gap):
        return []
    return [f"duality gap {gap:.2g}: the objective, {readable(objective)}, is at most this far above its minimum"]


def little_sentence(baseline: str) -> str:
    """What is said of a model that hardly predicts, and what may help."""
    return f"the model hardly predicts better than {baseline} does; another kernel, columns or more rows may help"


def few(names: Sequence[str]) -> str:
    """Names with commas between them; of more than six the first two, the last, and how many there are."""
    many = len(names) > 6
    return f"{names[0]}, {names[1]}, ..., {names[-1]} ({len(names)} columns)" if many else ", ".join(names)


def table_lines(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Rows of texts with aligned columns under their names."""
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
    lines = [dict(zip(widths, widths, strict=True)), *rows]
    return ["  ".join(line[key].ljust(width) for key, width in widths.items()).rstrip() for line in lines]
