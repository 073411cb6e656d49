"""Memory that fits announce, and what they take: wide, deep and structured items, storages, files.

Run: ./dev bench guard [--only "KernelPCA, wide" ...] [--limits]. Each fit runs in a process of its own, after a small
fit of the same kind. "taken" is the largest resident size during the fit above that before it, with the items in
memory. ``--limits`` fits what cannot fit under a limit of the address space: each must be refused in a sentence.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.rows import peak_bytes
from studies.harness.scripts import run_child
from studies.harness.timing import verdict

RANDOM = np.random.default_rng(0)
Make = Callable[[int], tuple[Any, ...]]  # arguments of fit for so many items


def rows(columns: int) -> Make:
    """Rows of numbers."""
    return lambda n: (RANDOM.standard_normal((n, columns)),)


def pairs(columns: int, outputs: int = 1) -> Make:
    """Rows with targets."""
    return lambda n: (RANDOM.standard_normal((n, columns)), RANDOM.standard_normal((n, outputs)))


def graphs(nodes: int) -> Make:
    """Connected graphs with three times as many edges as nodes, and five labels."""

    def make(n: int) -> tuple[Any, ...]:
        path = np.stack([np.arange(nodes - 1), np.arange(1, nodes)], 1)
        return (
            [
                (np.concatenate([path, RANDOM.integers(0, nodes, (2 * nodes, 2))]), RANDOM.integers(0, 5, nodes))
                for _ in range(n)
            ],
        )

    return make


def texts(length: int, letters: str = "ACGT") -> Make:
    """Random texts."""
    return lambda n: (["".join(RANDOM.choice(list(letters), length)) for _ in range(n)],)


def series(length: int, channels: int = 1) -> Make:
    """Random walks."""
    return lambda n: ([RANDOM.standard_normal((length, channels)).cumsum(0) for _ in range(n)],)


def bags(points: int, columns: int) -> Make:
    """Bags of points."""
    return lambda n: ([RANDOM.standard_normal((points, columns)) for _ in range(n)],)


def spectra(peaks: int) -> Make:
    """Mass spectra."""
    return lambda n: ([(RANDOM.uniform(50, 500, peaks), RANDOM.uniform(0.1, 1, peaks)) for _ in range(n)],)


def molecules(n: int) -> tuple[Any, ...]:
    """Chains and branches of carbon, nitrogen and oxygen."""
    return (["".join(RANDOM.choice(["C", "N", "O", "C(C)", "C(=O)"], 40)) for _ in range(n)],)


def sparse(columns: int, density: float) -> Make:
    """Rows of a sparse matrix."""
    import scipy.sparse

    return lambda n: (scipy.sparse.random_array((n, columns), density=density, format="csr", rng=RANDOM),)


def views(n: int) -> tuple[Any, ...]:
    """Items of a vector and a text."""
    return (list(zip(RANDOM.standard_normal((n, 200)), texts(200)(n)[0], strict=True)),)


def file_of(columns: int) -> Make:
    """Rows of a memory-mapped file."""

    def make(n: int) -> tuple[Any, ...]:
        path = Path(tempfile.mkdtemp()) / "rows.npy"
        np.save(path, RANDOM.standard_normal((n, columns)).astype(np.float32))
        return (np.load(path, mmap_mode="r"),)

    return make


def pca_cases() -> dict[str, tuple[Callable[[], Any], Make, int]]:
    """What is fitted, what it is given, and how many items."""
    import rkhs
    from rkhs import kernels as k
    from rkhs.features import Nystroem, RandomFeatures

    def pca(**options: Any) -> Callable[[], Any]:
        return lambda: rkhs.KernelPCA(2, **options)

    return {
        "KernelPCA": (pca(), rows(20), 4000),
        "KernelPCA, wide": (pca(), rows(100_000), 20),
        "KernelPCA, square": (pca(), rows(3000), 3000),
        "KernelPCA, Nystroem": (pca(storage=Nystroem(500)), rows(50), 50_000),
        "KernelPCA, Nystroem, wide": (pca(storage=Nystroem(100)), rows(20_000), 1000),
        "KernelPCA, random features": (pca(storage=RandomFeatures(1000)), rows(50), 50_000),
        "KernelPCA, blocked": (pca(storage="blocked"), rows(20), 6000),
        "KernelPCA, file": (pca(storage=Nystroem(500)), file_of(50), 200_000),
        "KernelPCA, sparse": (pca(), sparse(50_000, 0.002), 3000),
        "KernelPCA, shortest paths": (pca(kernel=k.ShortestPath()), graphs(1000), 20),
        "KernelPCA, Weisfeiler-Lehman": (pca(kernel=k.WeisfeilerLehman()), graphs(500), 200),
        "KernelPCA, graphs": (pca(kernel=k.WeisfeilerLehman(2) + k.ShortestPath()), graphs(500), 100),
        "KernelPCA, Spectrum": (pca(kernel=k.Spectrum(5)), texts(2000), 1000),
        "KernelPCA, Mismatch": (pca(kernel=k.Mismatch(5, 1)), texts(500), 300),
        "KernelPCA, all shifts": (pca(kernel=k.ShiftInvariant()), series(2000), 300),
        "KernelPCA, alignment": (pca(kernel=k.GlobalAlignment()), series(100), 200),
        "KernelPCA, warping": (pca(kernel=k.DynamicTimeWarping()), series(50), 400),
        "KernelPCA, bags": (pca(kernel=k.MeanEmbedding()), bags(100, 5), 300),
        "KernelPCA, spectra": (pca(kernel=k.ProbabilityProduct()), spectra(100), 1000),
        "KernelPCA, molecules": (pca(kernel=k.MoleculeKernel()), molecules, 1000),
        "KernelPCA, views": (pca(kernel=k.Views((k.Gaussian(), k.Spectrum(4)))), views, 2000),
    }


def other_cases() -> dict[str, tuple[Callable[[], Any], Make, int]]:
    """The same of the other estimators."""
    import rkhs
    from rkhs import kernels as k
    from rkhs.features import Nystroem

    auto, quick = rkhs.KernelAutoencoder, {"reg": (1e-3, 1e-3), "max_iter": 2}
    return {
        "KernelAutoencoder, dense": (lambda: auto(2, storage="dense", **quick), rows(20), 2500),
        "KernelAutoencoder, chosen": (lambda: auto(2, storage="dense"), rows(20), 900),
        "KernelAutoencoder, landmarks": (lambda: auto(5), rows(50), 3000),
        "KernelAutoencoder, wide": (lambda: auto(2), rows(100_000), 20),
        "KernelAutoencoder, deep, wide": (lambda: auto((8, 4), reg=1e-3, max_iter=2), rows(50_000), 20),
        "KernelAutoencoder, deep": (lambda: auto((8, 4), storage="dense", **quick), rows(20), 2500),
        "KernelAutoencoder, graphs": (lambda: auto(2, kernel=k.ShortestPath(), **quick), graphs(500), 50),
        "KernelMap": (rkhs.KernelMap, rows(20), 4000),
        "KernelMap, few": (rkhs.KernelMap, rows(20), 1000),
        "KernelMap, wide": (rkhs.KernelMap, rows(50_000), 40),
        "KernelMap, graphs": (lambda: rkhs.KernelMap(kernel=k.ShortestPath()), graphs(500), 50),
        "KernelNovelty": (rkhs.KernelNovelty, rows(20), 3000),
        "KernelNovelty, wide": (rkhs.KernelNovelty, rows(100_000), 20),
        "DeepRKM": (lambda: rkhs.DeepRKM(max_iter=3), rows(20), 1500),
        "DeepRKM, wide": (lambda: rkhs.DeepRKM(max_iter=3), rows(100_000), 20),
        "DeepRKM, Nystroem": (lambda: rkhs.DeepRKM(max_iter=3, storage=Nystroem(200)), rows(20), 20_000),
        "KernelContrastive": (rkhs.KernelContrastive, rows(20), 2500),
        "KernelContrastive, wide": (rkhs.KernelContrastive, rows(100_000), 20),
        "KernelContrastive, augment": (
            lambda: rkhs.KernelContrastive(pairs="augment", augment="jitter"),
            rows(20),
            1000,
        ),
        "KernelContrastive, Nystroem": (lambda: rkhs.KernelContrastive(storage=Nystroem(200)), rows(20), 20_000),
        "OperatorKernelRegressor": (rkhs.OperatorKernelRegressor, pairs(20), 4000),
        "OperatorKernelRegressor, wide": (rkhs.OperatorKernelRegressor, pairs(100_000), 20),
        "OperatorKernelRegressor, outputs": (rkhs.OperatorKernelRegressor, pairs(20, 2000), 2000),
        "OperatorKernelRegressor, Huber": (
            lambda: rkhs.OperatorKernelRegressor(loss="huber", reg=0.1),
            pairs(20),
            3000,
        ),
        "OperatorKernelRegressor, Nystroem": (
            lambda: rkhs.OperatorKernelRegressor(storage=Nystroem(500), reg=0.1),
            pairs(20),
            50_000,
        ),
        "OperatorKernelRegressorCV": (rkhs.OperatorKernelRegressorCV, pairs(20), 2000),
        "OperatorKernelRegressorCV, wide": (rkhs.OperatorKernelRegressorCV, pairs(100_000), 20),
    }


def cases() -> dict[str, tuple[Callable[[], Any], Make, int]]:
    """All of them."""
    return pca_cases() | other_cases()


def limited() -> dict[str, tuple[Callable[[], Any], Make, int, float]]:
    """Fits that cannot fit, and the address space in GiB that they have besides the items."""
    import rkhs
    from rkhs import kernels as k

    machines = ("OperatorKernelRegressor", "OperatorKernelRegressorCV")
    square = ("KernelPCA", "KernelNovelty", "DeepRKM", "KernelContrastive", *machines)
    wide = {
        name: (getattr(rkhs, name), pairs(1_500_000) if "Regressor" in name else rows(1_500_000), 20, 0.5)
        for name in (*square, "KernelAutoencoder", "KernelMap")
    }
    tall = {
        f"{name}, 30,000 rows": (getattr(rkhs, name), pairs(3) if "Regressor" in name else rows(3), 30_000, 2.0)
        for name in square
    }
    return {
        **wide,
        **tall,
        "shortest paths, 60,000 nodes": (lambda: rkhs.KernelPCA(kernel=k.ShortestPath()), graphs(60_000), 2, 4.0),
        "neighbourhoods, 2,000,000 nodes": (
            lambda: rkhs.KernelPCA(kernel=k.WeisfeilerLehman()),
            graphs(1_000_000),
            2,
            0.5,
        ),
        "alignment, 50,000 times": (lambda: rkhs.KernelPCA(kernel=k.ShiftInvariant()), series(3_000_000), 4, 0.5),
        "bags": (lambda: rkhs.KernelPCA(kernel=k.MeanEmbedding()), bags(2_000_000, 5), 4, 0.3),
        "texts": (lambda: rkhs.KernelPCA(kernel=k.Spectrum(10)), texts(1_000_000), 4, 0.3),
    }


def child(name: str) -> None:
    """Print what was announced, what was taken, and the seconds."""
    warnings.simplefilter("ignore")
    model, make, n = cases()[name]
    model().fit(*make(12))  # what the first fit of a process takes anyway
    given = make(n)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak starts from here
    before, start, fitted = peak_bytes(), time.perf_counter(), model()
    fitted.fit(*given)
    taken, announced = peak_bytes() - before, getattr(fitted, "announced_bytes_", 0)
    print(json.dumps({"announced": announced, "taken": taken, "seconds": time.perf_counter() - start}))


def limited_child(name: str) -> None:
    """Print what a fit says under a limit of the address space."""
    warnings.simplefilter("ignore")
    model, make, n, gib = limited()[name]
    given = make(n)
    used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(gib * 2**30),) * 2)
    try:
        model().fit(*given)
    except Exception as error:
        print(json.dumps({"error": type(error).__name__, "sentence": str(error)}))
    else:
        print(json.dumps({"error": "none", "sentence": "fitted"}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", help="cases")
    parser.add_argument("--limits", action="store_true", help="fits that cannot fit")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        (limited_child if arguments.limits else child)(arguments.child)
        return
    names = arguments.only or list(limited() if arguments.limits else cases())
    worst, extra = 1.0, ("--limits",) if arguments.limits else ()
    for name in names:
        done = run_child("studies.bench.guard", name, *extra)
        if done.returncode != 0:
            print(f"| {name} | failed |", flush=True)
        elif arguments.limits:
            found = json.loads(done.stdout)
            print(f"{name}: {found['error']}: {found['sentence']}", flush=True)
        else:
            found = json.loads(done.stdout)
            ratio = found["announced"] / found["taken"]
            line = f"| {name} | {found['announced'] / 1e6:.0f} | {found['taken'] / 1e6:.0f} | {ratio:.2f} |"
            print(f"{line} {found['seconds']:.1f} |", flush=True)
            if found["taken"] > 50e6:
                worst = max(worst, ratio, 1.0 / max(ratio, 1e-9))
    if not arguments.limits:
        print(verdict("largest factor between announced and taken", worst, 1.5, 1.2))


if __name__ == "__main__":
    main()
