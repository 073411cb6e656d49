"""Encoding many new rows: ours in tiles, against scikit-learn's KernelPCA fed 10,000 rows at a time (goal 17).

Run: ./dev bench encode [--n 1000000] [--m 1000] [--repeats 3] [--threads 2]. Both models have the same supports and
components, so that they compute the same codes; d = 50, 10 components, float64.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np
import torch
from sklearn.decomposition import KernelPCA as TheirPCA

from rkhs import KernelPCA
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from studies.harness.rows import sines_file
from studies.harness.timing import describe, interleaved, ratio, verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--m", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    X = np.load(sines_file(arguments.n), mmap_mode="r")
    supports = np.array(X[: arguments.m], dtype=np.float64)
    theirs = TheirPCA(10, kernel="rbf", gamma=1 / 50).fit(supports)
    ours = KernelPCA(10, kernel=Gaussian(1 / 50), preimage="nearest").fit(supports)
    landmarks = KernelPCA(
        10, kernel=Gaussian(1 / 50), preimage="nearest", storage=Nystroem(arguments.m), dtype="float32"
    ).fit(supports)

    def fed() -> np.ndarray:
        parts = [X[i : i + 10_000].astype(np.float64) for i in range(0, len(X), 10_000)]
        return np.concatenate([theirs.transform(part) for part in parts])

    codes, reference = ours.transform(X[:5000]), theirs.transform(np.array(X[:5000], dtype=np.float64))
    print(f"largest difference of codes up to sign: {np.abs(np.abs(codes) - np.abs(reference)).max():.1e}")
    times = interleaved(
        {"scikit-learn": fed, "ours": lambda: ours.transform(X), "ours, float32": lambda: landmarks.transform(X)},
        arguments.repeats,
        warm_up=False,
    )
    for name, values in times.items():
        print(f"{name:16s} {describe(values)}")
    for name in ("ours", "ours, float32"):
        faster = statistics.median(ratio(times["scikit-learn"], times[name]))
        print(verdict(f"times faster, {name}", faster, 2, 5, smaller=False))


if __name__ == "__main__":
    main()
