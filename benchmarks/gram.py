"""Gram matrices against their roofline: one bare product and one bare exp2 of the same shapes (goal 5).

Run: python benchmarks/gram.py [--n 5000] [--d 50] [--repeats 7]. Every contestant runs once a round, rounds are
repeated, and ratios are taken within a round, so that a load on the machine meets all of them alike.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable

import torch

from rkhs.kernels import NTK, Gaussian, Laplacian, Matern, MinMax, Tanimoto


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def interleaved(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            times[name].append(seconds(call))
    return times


def quartiles(values: list[float]) -> tuple[float, float, float]:
    low, middle, high = statistics.quantiles(values, n=4)
    return low, middle, high


def verdict(value: float, must: float, stretch: float, *, smaller: bool) -> str:
    better = (lambda a, b: a <= b) if smaller else (lambda a, b: a >= b)
    return "stretch met" if better(value, stretch) else "met" if better(value, must) else "MISSED"


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
        low, middle, high = quartiles(values)
        print(f"{name:28s} median {middle:.4f} s, quartiles {low:.4f} to {high:.4f}")
    bare, ours, naive = times.values()
    over = statistics.median(o / b for o, b in zip(ours, bare, strict=True))
    gain = statistics.median(v / o for v, o in zip(naive, ours, strict=True))
    print(f"Gram / bare: {over:.3f} (must 1.15, stretch 1.02): {verdict(over, 1.15, 1.02, smaller=True)}")
    print(f"torch / Gram: {gain:.2f} (must 4, stretch 7): {verdict(gain, 4.0, 7.0, smaller=False)}")


def others(n: int, d: int, repeats: int) -> None:
    X = torch.rand(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    listed = [Gaussian(0.1), Matern(1.5, 0.1), Laplacian("l1", 0.1), Tanimoto(), MinMax(), NTK(1), NTK(3)]
    times = interleaved({repr(k): (lambda k=k: k._gram(X)) for k in listed}, repeats)
    print(f"\nn = {n}, d = {d}")
    for name, values in times.items():
        low, middle, high = quartiles(values)
        print(f"{name:28s} median {middle:.4f} s, quartiles {low:.4f} to {high:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--d", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    X = torch.randn(arguments.n, arguments.d, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    X /= math.sqrt(arguments.d)
    goal(X, arguments.repeats)
    others(2000, arguments.d, arguments.repeats)


if __name__ == "__main__":
    main()
