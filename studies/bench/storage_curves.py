"""Time, memory and error against n for every storage: cost curves, fitted exponents, and the table of the guide.

Run: ./dev bench storage_curves [--largest 100000] [--estimators pca,autoencoder] [--output FILE] [--plot FILE.png].
Every fit runs in a process of its own with one thread, on the test problem of the benchmarks (d = 50, 10 components);
finished ones are kept in the output file, so that a run that is cut off goes on from there. The error is that of 1,000
held-out rows over their variance.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from pathlib import Path

import numpy as np

from studies.harness.arguments import bench_arguments
from studies.harness.rows import peak_bytes, sines_file
from studies.harness.scripts import run_child

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
# What a size is tried with: exact storages up to where a fit takes minutes.
LIMITS = {"dense": 10_000, "blocked": 20_000, "Nystroem(500)": 1_000_000, "RandomFeatures(1000)": 1_000_000}


def child(n: int, storage: str, kind: str) -> None:
    import torch

    from rkhs import KernelAutoencoder, KernelPCA
    from rkhs.features import Nystroem, RandomFeatures
    from rkhs.kernels import Gaussian

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    chosen = {"Nystroem(500)": Nystroem(500), "RandomFeatures(1000)": RandomFeatures(1000)}.get(storage, storage)
    rows = np.load(sines_file(max(SIZES[-1], n) if n > 100_000 else 101_000), mmap_mode="r")
    X, test = rows[1000 : 1000 + n], np.array(rows[:1000], dtype=np.float64)
    if isinstance(chosen, str):
        X = np.array(X, dtype=np.float64)
    if kind == "pca":
        model = KernelPCA(10, kernel=Gaussian(1 / 50), storage=chosen)
    else:
        model = KernelAutoencoder(
            10, kernel=Gaussian(1 / 50), decoder_kernel=Gaussian(1 / 10), reg=1e-3, storage=chosen, tol=1e-4
        )
    before = peak_bytes()
    clock = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - clock
    error = float(model.reconstruction_error(test).mean() / test.var(0).sum())
    taken = {"seconds": seconds, "MB": (peak_bytes() - before) / 1e6, "announced MB": model.announced_bytes_ / 1e6}
    print(json.dumps({"n": n, "storage": storage, "estimator": kind, **taken, "error": error}))


def exponents(rows: list[dict[str, float]], key: str) -> float:
    """Slope of log cost against log n over the upper half of the sizes."""
    upper = rows[len(rows) // 2 - (len(rows) < 4) :]
    if len(upper) < 2:
        return math.nan
    return float(np.polyfit(np.log([r["n"] for r in upper]), np.log([max(r[key], 1e-3) for r in upper]), 1)[0])


def table(found: list[dict[str, float]]) -> str:
    """The measurements as a Markdown table."""
    lines = ["| estimator | storage | n | seconds | peak MB | announced MB | error |", "|---|---|---|---|---|---|---|"]
    for r in sorted(found, key=lambda r: (r["estimator"], r["storage"], r["n"])):
        lines.append(
            f"| {r['estimator']} | {r['storage']} | {r['n']:,} | {r['seconds']:.1f} | {r['MB']:.0f} | "
            f"{r['announced MB']:.0f} | {r['error']:.3f} |"
        )
    lines += ["", "| estimator | storage | exponent of time | exponent of memory |", "|---|---|---|---|"]
    for kind in ("pca", "autoencoder"):
        for storage in LIMITS:
            rows = sorted((r for r in found if (r["estimator"], r["storage"]) == (kind, storage)), key=lambda r: r["n"])
            if len(rows) > 2:
                lines.append(f"| {kind} | {storage} | {exponents(rows, 'seconds'):.2f} | {exponents(rows, 'MB'):.2f} |")
    return "\n".join(lines)


def plot(found: list[dict[str, float]], path: str) -> None:
    """Time and memory against n, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4.2), constrained_layout=True)
    for axis, key, name in zip(axes, ("seconds", "MB"), ("fit, s", "peak memory of the fit, MB"), strict=True):
        for kind, style in (("pca", "-"), ("autoencoder", "--")):
            for colour, storage in zip(("C0", "C1", "C2", "C3"), LIMITS, strict=True):
                rows = sorted(
                    (r for r in found if (r["estimator"], r["storage"]) == (kind, storage) and r[key] > 0.0),
                    key=lambda r: r["n"],
                )
                if rows:
                    label = f"{kind}, {storage}"
                    axis.loglog(
                        [r["n"] for r in rows], [r[key] for r in rows], style + "o", color=colour, ms=3, label=label
                    )
        axis.set(xlabel="n", title=name)
        axis.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=7, handlelength=4)
    figure.savefig(path, dpi=120)


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        largest=100_000,
        estimators="pca,autoencoder",
        minutes={"type": float, "default": 1e9, "help": "start no other fit after so many minutes"},
        output="storage_curves.json",
        plot={},
        child={"nargs": 3, "help": argparse.SUPPRESS},
    )
    if arguments.child:
        child(int(arguments.child[0]), arguments.child[1], arguments.child[2])
        return
    place, clock = Path(arguments.output), time.perf_counter()
    found = json.loads(place.read_text(encoding="utf-8")) if place.exists() else []
    known = {(r["n"], r["storage"], r["estimator"]) for r in found}
    for n in SIZES:
        for kind in arguments.estimators.split(","):
            for storage, limit in LIMITS.items():
                late = time.perf_counter() - clock > 60 * arguments.minutes
                skip = kind == "autoencoder" and (storage == "blocked" or (storage == "dense" and n > limit / 2))
                if n > min(limit, arguments.largest) or skip or (n, storage, kind) in known or late:
                    continue
                done = run_child("studies.bench.storage_curves", str(n), storage, kind)
                if done.returncode == 0:
                    found.append(json.loads(done.stdout))
                    place.write_text(json.dumps(found), encoding="utf-8")
    print(table(found))
    if arguments.plot:
        plot(found, arguments.plot)


if __name__ == "__main__":
    main()
