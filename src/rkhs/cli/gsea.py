"""Tables of expression (.gct) and classes of samples (.cls) as GSEA writes them."""

from __future__ import annotations

import argparse
from itertools import islice
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, quote


def as_gct(args: argparse.Namespace) -> None:
    """Read a .gct file as a table with genes in rows, whose samples are the items, without their descriptions."""
    path = getattr(args, "input", None) or getattr(args, "file", None) or ""
    if not path.lower().endswith(".gct"):
        return
    from rkhs.cli.options import named_columns
    from rkhs.data.dataset import existing_path

    with open(existing_path(path), encoding="utf-8-sig", errors="replace") as handle:
        first, _, names, *_ = [*(line.rstrip("\n").split("\t") for line in islice(handle, 3)), [""], [""], [""]]
    if not first[0].startswith("#1.") or len(names) < 4:
        what = "#1.2, numbers of genes and samples, and the names NAME, Description and those of samples, a line each"
        raise InputError(f"{path}: expected {what}; got {quote(first[0])} first; rename it if it is another table")
    found = {"transpose": True, "skip_rows": 2, "delimiter": "\t", "index_column": names[0]}
    vars(args).update(found, drop_columns=[*named_columns(getattr(args, "drop_columns", None)), names[1]])


def read_cls(path: str, name: Any, n: int | None = None) -> np.ndarray:
    """Classes of a .cls file in the order of its samples, which are ``n``."""
    from rkhs.data.dataset import existing_path, read_text

    lines = [line.split() for line in read_text(existing_path(path)).splitlines() if line.strip()]
    sizes, titles, labels = lines if len(lines) == 3 else ([], [], [])
    titles = " ".join(titles).removeprefix("#").split()
    different = dict.fromkeys(labels)
    if [*sizes[:2], len(titles)] != [str(len(labels)), str(len(different)), len(different)]:
        what = (
            "three lines: numbers of samples and classes and 1, # with the names of the classes, a class of each sample"
        )
        raise InputError(f"{path}: expected {what}; got {quote(' '.join(sizes))} and {len(lines)} lines")
    if (name, n or len(labels)) != ("class", len(labels)):
        raise InputError(f"{path} has one column, class, of {len(labels)} samples; got {name}, and {n} items")
    called = {} if different.keys() <= {*titles} else dict(zip(different, titles, strict=True))
    return np.array([called.get(label, label) for label in labels], dtype=object)
