"""Tables of expression as GSEA writes them (.gct)."""

from __future__ import annotations

import argparse
from itertools import islice

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
