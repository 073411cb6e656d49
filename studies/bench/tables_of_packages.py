"""The share of the tables that public packages carry which the first command reads right.

Run: python -m studies.bench.tables_of_packages FOLDER... Folders hold installed packages. A table is read right if it
is read without a flag, and each column of numbers of ``pandas.read_csv`` holds numbers or names the rows.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import pandas as pd

from rkhs._core.errors import InputError
from rkhs.data.formats import extension_of
from rkhs.data.frames import read_frame, to_dataset, with_index

ENDS = (".csv", ".tsv", ".parquet", ".xlsx")
LARGEST, SMALLEST = 3_000_000, 200  # bytes


def tables(folder: Path) -> list[Path]:
    """The tables of installed packages, without those of their tests."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and extension_of(path) in ENDS]
    return [
        path
        for path in files
        if SMALLEST < path.stat().st_size < LARGEST and not {"tests", "test", "results"} & set(path.parts)
    ]


def wrong(path: Path) -> str:
    """What the first command says of a table that it does not read right; nothing of others."""
    try:
        data = to_dataset(with_index(read_frame(path, {}), None), str(path))
    except InputError as error:
        return str(error).removeprefix(f"{path}: ")
    if data.kind == "table" and extension_of(path) in (".csv", ".tsv"):
        frame = pd.read_csv(path, sep="\t" if extension_of(path) == ".tsv" else ",", low_memory=False)
        numbers = set(map(str, frame.select_dtypes("number").columns)) & set(data.column_names or ())
        texts = [
            name
            for name, cells in zip(data.column_names or (), data.X.T, strict=True)
            if name in numbers and any(isinstance(cell, str) for cell in cells)
        ]
        return f"texts in {texts}" if texts else ""
    return ""


def main() -> None:
    """Print each table that is not read right, and the share of those that are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    found = {}
    with warnings.catch_warnings(action="ignore"):
        for folder in parser.parse_args().folders:
            found |= {path.relative_to(folder): wrong(path) for path in tables(folder)}
    for path, said in found.items():
        if said:
            print(f"{path}: {said[:200]}")
    right = sum(not said for said in found.values())
    print(
        f"{right} of {len(found)} tables of {len({path.parts[0] for path in found})} packages: {right / len(found):.3f}"
    )


if __name__ == "__main__":
    main()
