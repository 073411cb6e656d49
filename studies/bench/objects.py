"""Kernels on objects against their peers: Tanimoto of fingerprints, Weisfeiler-Lehman features, alignment of series.

Run: ./dev bench objects [--n 3000]
"""

from __future__ import annotations

import os
import statistics

import numpy as np
import torch

from rkhs.data import load_molecules
from rkhs.kernels import DynamicTimeWarping, GlobalAlignment, MinMax, Tanimoto, WeisfeilerLehman
from studies.harness.arguments import bench_arguments
from studies.harness.timing import interleaved


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


def graphs(n: int, repeats: int) -> None:
    """Weisfeiler-Lehman Gram matrix of ``n`` drawn graphs of 20 nodes, five rounds."""
    rng = np.random.default_rng(0)
    items = []
    for _ in range(n):
        edges = rng.integers(0, 20, size=(25, 2))
        items.append((edges[edges[:, 0] != edges[:, 1]], rng.integers(0, 4, size=20)))
    kernel = WeisfeilerLehman(5, normalize=False)
    calls = {"WeisfeilerLehman": lambda: kernel(items)}
    try:
        import grakel
    except ImportError:
        print("GraKeL is not installed: left out")
    else:
        theirs = [
            grakel.Graph(
                {pair: 1 for a, b in edges.tolist() for pair in ((a, b), (b, a))},
                node_labels=dict(enumerate(labels.tolist())),
            )
            for edges, labels in items
        ]
        calls["GraKeL"] = lambda: grakel.WeisfeilerLehman(n_iter=5).fit_transform(theirs)
    report(f"Weisfeiler-Lehman kernel of {n} graphs", interleaved(calls, repeats), "WeisfeilerLehman")


def series(n: int, repeats: int) -> None:
    """All pairs of ``n`` series of length 100."""
    X = np.random.default_rng(0).normal(size=(n, 100)).cumsum(1)
    calls = {
        "DynamicTimeWarping": lambda: DynamicTimeWarping(1.0)(X),
        "GlobalAlignment": lambda: GlobalAlignment(1.0)(X),
    }
    try:
        from tslearn.metrics import cdist_dtw, cdist_gak
    except ImportError:
        print("tslearn is not installed: left out")
    else:
        calls["tslearn cdist_dtw"] = lambda: cdist_dtw(X)
        calls["tslearn cdist_gak"] = lambda: cdist_gak(X)
    report(f"alignment of {n} series of length 100, all pairs", interleaved(calls, repeats), "GlobalAlignment")


def main() -> None:
    options = bench_arguments(__doc__, n={"type": int, "default": 3000, "help": "number of molecules"}, repeats=3)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    fingerprints(options.n, options.repeats)
    graphs(options.n // 3, options.repeats)
    series(options.n // 30, options.repeats)


if __name__ == "__main__":
    main()
