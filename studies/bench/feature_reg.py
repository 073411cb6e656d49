"""The default regularisers of autoencoders of features: fixed pairs against the choice on held-out items.

Run: RKHS_DATA=... ./dev bench feature_reg [--seeds 2]. Gram matrices of eight development sets (molecules, images as
bits, tables, and strings and texts made here), 40, 80 and 300 items fitted, 100 measured. Printed for each number of
items and components: the held-out error of each choice over that of the fixed pair (geometric mean, largest), the
largest over kernel PCA, and the median of seconds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from rkhs import KernelAutoencoder, KernelPCA
from rkhs.estimators.autoencoder.defaults import FEATURE_REGS, fixed_feature_reg
from rkhs.kernels import Gaussian, Matern, Tanimoto
from studies.harness.arguments import bench_arguments
from studies.harness.development import development_sets
from studies.harness.scripts import data_folder, run_script

SIZES, COMPONENTS, MEASURED = (40, 80, 300), (2, 5, 10), 100


def _cosine(counts: np.ndarray) -> np.ndarray:
    rows = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return rows @ rows.T


def _strings(n: int, seed: int) -> np.ndarray:
    """Random strings of four letters with some of six motifs, as counts of triples."""
    rng = np.random.default_rng(seed)
    motifs = rng.integers(0, 4, (6, 8))
    counts = np.zeros((n, 64))
    for row in counts:
        letters = rng.choice(4, 60, p=rng.dirichlet([3.0] * 4))
        for motif in motifs[rng.random(6) < 0.4]:
            start = rng.integers(0, 52)
            letters[start : start + 8] = motif
        np.add.at(row, letters[:-2] * 16 + letters[1:-1] * 4 + letters[2:], 1.0)
    return _cosine(counts)


def _texts(n: int, seed: int) -> np.ndarray:
    """Eighty words of a few of fifteen topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet([0.02] * 400, size=15)
    counts = np.stack([rng.multinomial(80, rng.dirichlet([0.2] * 15) @ topics) for _ in range(n)])
    return _cosine(np.log1p(counts))


def grams(folder: Path, count: int, seed: int) -> Iterator[np.ndarray]:
    """One Gram matrix a set that has enough items."""
    rng = np.random.default_rng(1000 + seed)
    sets = {name: X for name, (X, _) in development_sets(folder).items()}
    bits = np.unpackbits(np.load(folder / "nci_cancer" / "fingerprints.npz")["fp2"], axis=1)
    yield Tanimoto()(bits[rng.permutation(len(bits))[:count]].astype(float))
    for name in ("mnist", "coil20"):
        X = sets[name][rng.permutation(len(sets[name]))[:count]]
        yield Tanimoto()((X.max() / 3.0 < X).astype(float))
    for name, kernel in (("sonar", Matern(0.5)), ("heavy tails", Matern(0.5)), ("surface", Gaussian())):
        if len(sets[name]) >= count:
            X = sets[name][rng.permutation(len(sets[name]))[:count]]
            yield kernel((X - X.mean(0)) / np.where(X.std(0) > 0.0, X.std(0), 1.0))
    yield _strings(count, seed)
    yield _texts(count, seed)


def measured(model: KernelAutoencoder | KernelPCA, K: np.ndarray, n: int) -> tuple[float, float]:
    """Held-out error of a model of the first ``n`` items, and the seconds of its fit."""
    start = time.process_time()
    model.fit(K[:n, :n])
    seconds = time.process_time() - start
    return float(model.reconstruction_error(K[n:, :n], diag=K.diagonal()[n:]).mean()), seconds


def main() -> None:
    seeds = range(bench_arguments(__doc__, seeds=2).seeds)
    folder = data_folder()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for n in SIZES:
        tasks = [K for seed in seeds for K in grams(folder, n + MEASURED, seed)]
        for p in COMPONENTS:
            fixed = fixed_feature_reg(p)
            regs = {"fixed": fixed, "chosen": None, **{f"({a:g}, {b:g})": (a, b) for a, b in FEATURE_REGS}}
            found = {
                name: np.array([measured(KernelAutoencoder(p, kernel="precomputed", reg=reg), K, n) for K in tasks])
                for name, reg in regs.items()
            }
            pca = np.array([measured(KernelPCA(p, kernel="precomputed"), K, n)[0] for K in tasks])
            print(f"{n} items, {p} components, {len(tasks)} tasks")
            for name, values in found.items():
                ratio = values[:, 0] / found["fixed"][:, 0]
                print(
                    f"  {name:16s} {np.exp(np.log(ratio).mean()):.3f}, {ratio.max():.3f}; over kernel PCA "
                    f"{(values[:, 0] / pca).max():.3f}; {np.median(values[:, 1]):.2f} s",
                    flush=True,
                )


if __name__ == "__main__":
    run_script(main)
