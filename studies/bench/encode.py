"""Encoding many new rows: ours in tiles, against scikit-learn's KernelPCA fed 10,000 rows at a time (goal 17).

Run: ./dev bench encode [--n 1000000] [--m 1000] [--repeats 3] [--threads 2]. Both models have the same supports and
components, so that they compute the same codes; d = 50, 10 components, float64.

``--refined 100000`` measures refined codes instead: so many new rows of the autoencoder with its defaults, fitted to
4,000 rows, beside its codes without refining. It prints seconds on the clock and of processor, and the share of the
variance of the rows that the codes lose.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import torch
from sklearn.decomposition import KernelPCA as TheirPCA

from rkhs import KernelAutoencoder, KernelPCA
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from studies.harness.arguments import bench_arguments
from studies.harness.rows import sines_file
from studies.harness.timing import describe, interleaved, ratio, verdict


def refined(n: int) -> None:
    """Codes of ``n`` new rows, refined and not."""
    X = np.array(np.load(sines_file(n + 4000), mmap_mode="r"), dtype=np.float64)
    model = KernelAutoencoder(10, random_state=0).fit(X[:4000])
    new, spread = X[4000:], ((X[4000:] - X[:4000].mean(0)) ** 2).sum(1).mean()
    print(f"{n} new rows, storage {model.storage_!r}")
    for name, refine in (("refined", True), ("not refined", False)):
        model.refine = refine
        clock, processor = time.perf_counter(), time.process_time()
        codes = model.transform(new)
        seconds = f"{time.perf_counter() - clock:.1f} s, {time.process_time() - processor:.1f} s of processor"
        lost = ((model.inverse_transform(codes[:2000]) - new[:2000]) ** 2).sum(1).mean() / spread
        print(f"  {name:12} {seconds}; {lost:.4f} of the variance is lost (first 2,000 rows)")


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        n=1_000_000,
        m=1000,
        repeats=3,
        threads=2,
        refined={"type": int, "metavar": "ROWS", "help": "refined codes of so many rows, and nothing else"},
    )
    torch.set_num_threads(arguments.threads)
    if arguments.refined is not None:
        refined(arguments.refined)
        return
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
