"""``rkhs nearest``: the known items that are most like each item, by a kernel alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np

from rkhs import kernels
from rkhs._core.checks import check_count
from rkhs._core.errors import InputError
from rkhs.cli.columns import column_change
from rkhs.cli.inputs import new_parts, read_input, user_errors
from rkhs.cli.kinds import default_kernel
from rkhs.cli.options import changed
from rkhs.cli.outputs import SHEETS, Outputs
from rkhs.cli.rows import label_columns, peeked
from rkhs.data import Dataset
from rkhs.data.writers import rounded, write_rows

_BLOCK = 2**21  # kernel values in memory at a time
_SIMILARITIES = {"Tanimoto": "tanimoto", "MinMax": "minmax"}


def run(args: argparse.Namespace) -> None:
    """Read, compare, write or print."""
    args = changed(args, input=args.known)
    Outputs(("KNOWN", args.input), ("NEW", args.new)).add("-o", args.output, SHEETS)
    top = check_count(args.top, "--top")
    known = read_input(args, args.input)
    if args.new is None and known.n_samples == 1:
        raise InputError(f"{args.input}: expected at least two items to compare; got one; give NEW too")
    with user_errors():
        kernel, numbers = _compared(args, known)
        width = {"n_features_in_": known.X.shape[1]} if known.X.ndim == 2 and not known.as_smiles else {}
        reader: Any = SimpleNamespace(kernel_=kernel, **width)
        _, parts = peeked(new_parts(args, known, reader))
        measure, items = _SIMILARITIES.get(type(kernel).__name__, "distance"), numbers(known)
        counts: list[int] = []

        def rows() -> Iterator[list[Any]]:
            for data in parts:
                found = _nearest(kernel, items, numbers(data), top, alone=args.new is None)
                yield from islice(_rows(data, known, measure, *found), 1 if counts else 0, None)
                counts.append(data.n_samples)

        write_rows(args.output, rows())
    message = f"{min(top, known.n_samples - (args.new is None))} nearest of {known.n_samples} items for each of "
    how = "the distance that belongs to the kernel" if measure == "distance" else "the similarity"
    message += (
        f"{sum(counts)}, by {'the Euclidean distance' if isinstance(kernel, kernels.Linear) else f'{how} {kernel!r}'}"
    )
    if args.output is None:
        print(f"rkhs: note: {message}", file=sys.stderr)
    else:
        print(f"{message}: {args.output}")


def _compared(args: argparse.Namespace, known: Dataset) -> tuple[kernels.Kernel, Callable[[Dataset], Any]]:
    """The kernel with its parameters, and what it reads of a file."""
    from rkhs.cli.expressions import parse_kernel

    asked = (default_kernel(known) or "linear") if args.kernel is None else parse_kernel(args.kernel)
    kernel, change = kernels.as_kernel(asked), column_change(args, known, asked)

    def numbers(data: Dataset) -> Any:
        return kernel.read(data.items if data.as_smiles else change(data.X))

    return kernel.resolve(numbers(known)), numbers


def _nearest(kernel: kernels.Kernel, known: Any, items: Any, top: int, *, alone: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (m, k) of the nearest known items, and how near they are; an item is not near itself."""
    n = len(known)
    similar, self_similarity = type(kernel).__name__ in _SIMILARITIES, kernel._diag(known).cpu().numpy()
    step, found = max(1, _BLOCK // n), []
    for start in range(0, len(items), step):
        part = items[start : start + step]
        K = kernel._gram(part, known).cpu().numpy()
        far = -K if similar else kernel._diag(part).cpu().numpy()[:, None] + self_similarity - 2.0 * K
        if alone:
            far[np.arange(len(part)), np.arange(start, start + len(part))] = np.inf
        order = far.argsort(axis=1, kind="stable")[:, : min(top, n - alone)].copy()
        found.append((order, np.take_along_axis(far, order, 1)))
    places, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return places, -values if similar else np.sqrt(values.clip(0.0))


def _rows(data: Dataset, known: Dataset, measure: str, places: np.ndarray, values: np.ndarray) -> Iterator[list[Any]]:
    names, title = label_columns(data)
    others = [label_columns(known)[0]]
    if known.smiles is not None and others[0] != known.smiles:
        others.append(known.smiles)
    yield [title or "row", "rank", *("nearest", "nearest_smiles")[: len(others)], measure]
    for name, some, near in zip(names, places.tolist(), values.tolist(), strict=True):
        for rank, (j, value) in enumerate(zip(some, near, strict=True), 1):
            yield [name, rank, *(column[j] for column in others), rounded(value)]
