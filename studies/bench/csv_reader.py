"""How long reading a csv file takes, beside pandas: numbers, names of rows, gaps, texts.

Run: ./dev bench csv_reader [--rows 100000] [--rounds 3]. Made tables of ten columns; the median of the rounds by the
clock, files in the cache of the system. Without pandas the reader takes the time of the column "reader" everywhere.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from rkhs.data import fast_text, read_mixed, read_table
from studies.harness.scripts import run_script
from studies.harness.timing import seconds


def tables(rows: int) -> dict[str, tuple[pd.DataFrame, bool]]:
    """Tables by what they hold, and whether they are mixed ones."""
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(rows, 10)), columns=[f"c{j}" for j in range(10)])
    named = numbers.set_axis([f"r{i}" for i in range(rows)]).rename_axis("name").reset_index()
    texts = numbers.assign(c9=rng.choice(["red", "green", "blue"], rows))
    return {
        "numbers": (numbers, False),
        "names of rows and numbers": (named, False),
        "numbers and gaps": (numbers.where(numbers < 1.5), True),
        "numbers and a column of texts": (texts, True),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'cells':32}{'pandas':>8}{'rkhs':>8}{'reader':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (table, mixed) in tables(arguments.rows).items():
            path = Path(folder) / "table.csv"
            table.to_csv(path, index=False)

            def ours(mixed: bool = mixed, path: Path = path) -> object:
                return read_mixed(path) if mixed else read_table(path)

            def median(read: object) -> float:
                return float(np.median([seconds(read) for _ in range(arguments.rounds)]))

            times = [median(lambda path=path: pd.read_csv(path)), median(ours)]
            most, fast_text._MOST = fast_text._MOST, 0
            times.append(median(ours))
            fast_text._MOST = most
            print(f"{name:32}" + "".join(f"{t:8.2f}" for t in times))


if __name__ == "__main__":
    run_script(main)
