"""Table 1 of Tonin et al. (2021) at the size of the paper: cost and iterations of three solvers from the same starts.

Run: RKHS_DATA=... ./dev reproduce drkm_table1 [--images 1000] [--starts 5] [--cells FILE]

At 1,000 images a start of the penalty takes some 15 s, of projected gradient 2 s, of Cayley Adam 6 minutes. A cell is
one solver from one start: a stopped run goes on from FILE.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from studies.harness.scripts import run_script
from studies.papers.claims.runs.drkm_figures import ALGORITHMS, solved

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Print the table; cost, infeasibility and iterations by solver, each of shape (starts, 3).

    Parameters
    ----------
    arguments : sequence of str, optional
        Of the command line.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=1000, help="of MNIST (the paper: 1,000)")
    parser.add_argument("--starts", type=int, default=5, help="from normal values (the paper: 5)")
    parser.add_argument("--cells", type=Path, help="file of finished cells; a stopped run goes on from it")
    options = parser.parse_args(arguments)
    rows: dict[str, np.ndarray] = solved(options.images, ALGORITHMS[:3], options.starts, path=options.cells)
    for name, values in rows.items():
        cost, gap, count = values.T
        steps = f"{count.mean():.0f}" if np.isfinite(count).all() else "cut"
        print(f"  {name:20s} cost {cost.mean():.4f}, infeasibility at most {gap.max():.0e}, iterations {steps}")
    return rows


if __name__ == "__main__":
    run_script(main)
