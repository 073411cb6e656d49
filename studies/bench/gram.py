"""Gram matrices against their roofline: one bare product and one bare exp2 of the same shapes (goal 5).

Run: ./dev bench gram [--n 5000] [--d 50] [--repeats 7]. Every contestant runs once a round, rounds are
repeated, and ratios are taken within a round, so that a load on the machine meets all of them alike.
"""

from __future__ import annotations

import math
import statistics

import torch

from rkhs.kernels import NTK, Gaussian, Laplacian, Matern, MinMax, Tanimoto
from studies.harness.arguments import bench_arguments
from studies.harness.timing import describe, interleaved, ratio, verdict


def goal(X: torch.Tensor, repeats: int) -> None:
    gamma = 0.5 / X.shape[1]
    kernel = Gaussian(gamma)
    times = interleaved(
        {
            "bare product + exp2": lambda: (X @ X.mT).exp2_(),
            "Gaussian()": lambda: kernel._gram(X),
            "torch exp(-gamma cdist^2)": lambda: torch.exp(-gamma * torch.cdist(X, X) ** 2),
        },
        repeats,
    )
    for name, values in times.items():
        print(f"{name:28s} {describe(values)}")
    bare, ours, naive = times.values()
    print(verdict("Gram / bare", statistics.median(ratio(ours, bare)), 1.15, 1.02))
    print(verdict("torch / Gram", statistics.median(ratio(naive, ours)), 4.0, 7.0, smaller=False))


def others(n: int, d: int, repeats: int) -> None:
    X = torch.rand(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    listed = [Gaussian(0.1), Matern(1.5, 0.1), Laplacian("l1", 0.1), Tanimoto(), MinMax(), NTK(1), NTK(3)]
    times = interleaved({repr(k): (lambda k=k: k._gram(X)) for k in listed}, repeats)
    print(f"\nn = {n}, d = {d}")
    for name, values in times.items():
        print(f"{name:28s} {describe(values)}")


def main() -> None:
    arguments = bench_arguments(__doc__, n=5000, d=50, repeats=7, threads=1)
    torch.set_num_threads(arguments.threads)
    X = torch.randn(arguments.n, arguments.d, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    X /= math.sqrt(arguments.d)
    goal(X, arguments.repeats)
    others(2000, arguments.d, arguments.repeats)


if __name__ == "__main__":
    main()
