"""Kernels on objects against their peers: Tanimoto of fingerprints, Weisfeiler-Lehman features, alignment of series.

Run: ./dev bench objects [--n 3000]
"""

from __future__ import annotations

import argparse
import os

import numpy as np
import torch

try:
    from _timing import interleaved
except ImportError:
    from benchmarks._timing import interleaved

import statistics

from rkhs.data import load_molecules
from rkhs.kernels import MinMax, Tanimoto


def report(title: str, times: dict[str, list[float]], ours: str) -> None:
    print(title)
    for name, values in times.items():
        ratio = statistics.median(v / o for v, o in zip(values, times[ours], strict=True))
        print(f"  {name:34s} {statistics.median(values):8.3f} s   {ratio:6.1f} x ours")


def fingerprints(n: int, repeats: int) -> None:
    """Bits and counts of ``n`` molecules with 2048 bits, all pairs."""
    bits = load_molecules().fingerprints
    X = np.concatenate([bits] * -(-n // len(bits)))[:n]
    wide = X.astype(np.float64)

    def product(dtype: torch.dtype) -> torch.Tensor:
        T = torch.from_numpy(X).to(dtype)
        P, a = T @ T.mT, T.sum(1)
        return (P / (a[:, None] + a - P)).to(torch.float64)

    calls = {
        "Tanimoto (packed words)": lambda: Tanimoto()(wide),
        "product, float64": lambda: product(torch.float64),
        "product, float32": lambda: product(torch.float32),
    }
    try:
        from rdkit import DataStructs
    except ImportError:
        print("RDKit is not installed: left out")
    else:
        vectors = [DataStructs.CreateFromBitString("".join(map(str, row))) for row in X]

        def bulk() -> np.ndarray:
            K = np.empty((n, n))
            for i, one in enumerate(vectors):  # RDKit returns lists; the lower triangle, mirrored
                K[i, : i + 1] = K[: i + 1, i] = DataStructs.BulkTanimotoSimilarity(one, vectors[: i + 1])
            return K

        calls["RDKit BulkTanimotoSimilarity"] = bulk
    report(f"Tanimoto of {n} fingerprints, all pairs", interleaved(calls, repeats), "Tanimoto (packed words)")
    counts = wide * np.random.default_rng(0).integers(1, 6, size=wide.shape)[:, :]
    few = torch.from_numpy(counts[: n // 4])
    rough = few + 0.0
    rough[0, 0] = 0.5  # not a whole number: the general route
    times = interleaved(
        {"MinMax (packed words)": lambda: MinMax()(few), "MinMax (general)": lambda: MinMax()(rough)}, 1
    )
    report(f"MinMax of {n // 4} count fingerprints, all pairs", times, "MinMax (packed words)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=3000, help="number of molecules")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    fingerprints(options.n, options.repeats)


if __name__ == "__main__":
    main()
