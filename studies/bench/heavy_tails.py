"""Heavy tails: radial kernels, growing kernels, and the choice between them that the default makes on held-out rows.

Run: RKHS_DATA=... ./dev bench heavy_tails [--part development | scored] [--rows 400] [--seeds 1] [--made]
[--others kernel-pca pca network]. The rule was chosen on the development sets: those of ``harness/development.py`` and
eight made ones. It is scored on others: real sets of ``usefulness`` that no choice had touched, and six made ones,
``--made`` for the made ones alone, ``--sets`` to print both lists and fit nothing. Tables standardised by their
training part.

Printed, for each set and number of components: T, the share of the squared distance to the mean that the farthest 2 %
of the training rows hold; the held-out error of radial kernels as a share of the variance; and for the others the ratio
to it with the difference of the same rows in standard errors (negative: better). "rule" is ``KernelAutoencoder(p)``;
"growing" has the kernels that it can choose, always. Wins and losses are counted beyond one and two standard errors.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

from rkhs import KernelAutoencoder
from rkhs.estimators.autoencoder.settings import default_decoder_kernel, default_kernel, unbounded_kernels
from studies.bench.usefulness.methods import network, pca, sklearn_kernel_pca
from studies.bench.usefulness.sets import all_sets
from studies.harness.arguments import bench_arguments
from studies.harness.development import components, development_sets, splits
from studies.harness.scripts import data_folder, run_script

Rng = np.random.Generator
GATED = "T > 0.1"


def _student(n: int, r: Rng) -> np.ndarray:
    scale = np.sqrt(3.0 / r.chisquare(3.0, size=(n, 1)))
    return (r.normal(size=(n, 6)) @ r.normal(size=(6, 18)) + 0.5 * r.normal(size=(n, 18))) * scale


def _rays(n: int, r: Rng) -> np.ndarray:
    z, size = r.normal(size=(n, 3)), np.exp(r.normal(size=(n, 1)))
    bent = np.maximum(z @ r.normal(size=(3, 20)) + 0.3 * r.normal(size=20), 0.0)
    return size * (bent + 0.05 * r.normal(size=(n, 20)))


def _far(n: int, r: Rng) -> np.ndarray:
    X = np.sin(r.normal(size=(n, 3)) @ r.normal(size=(3, 20)) + r.uniform(0.0, 6.0, 20)) + 0.1 * r.normal(size=(n, 20))
    return X * np.where(r.uniform(size=(n, 1)) < 0.03, r.uniform(5.0, 20.0, size=(n, 1)), 1.0)


def _spending(n: int, r: Rng) -> np.ndarray:
    shares = r.dirichlet([0.3] * 4, size=n) @ r.gamma(0.3, size=(4, 24))
    return r.uniform(size=(n, 1)) ** -0.6 * shares * np.exp(0.2 * r.normal(size=(n, 24)))


def _mixed(n: int, r: Rng) -> np.ndarray:
    A = r.normal(size=(n, 3)) @ r.normal(size=(3, 20))
    return np.hstack([np.exp(1.2 * A[:, :8]), np.sin(A[:, 8:])]) + 0.1 * r.normal(size=(n, 20))


def _latent(n: int, r: Rng, columns: int = 20) -> np.ndarray:
    return r.normal(size=(n, 3)) @ r.normal(size=(3, columns))


DEVELOPMENT: dict[str, Callable[[int, Rng], np.ndarray]] = {
    "lognormal": lambda n, r: np.exp(_latent(n, r) + 0.1 * r.normal(size=(n, 20))),
    "rays": _rays,
    "student": _student,
    "counts": lambda n, r: r.poisson(np.minimum(np.exp(_latent(n, r)), 1e5)).astype(float),
    "cubes": lambda n, r: _latent(n, r) ** 3 + 0.3 * r.normal(size=(n, 20)),
    "far rows": _far,
    "spending": _spending,
    "mixed": _mixed,
}


def _claims(n: int, r: Rng) -> np.ndarray:
    """Most cells zero, the others amounts."""
    z = r.normal(size=(n, 3))
    some = r.uniform(size=(n, 16)) < 1.0 / (1.0 + np.exp(1.0 - z @ r.normal(size=(3, 16))))
    return some * np.exp(z @ r.normal(size=(3, 16)) + 0.3 * r.normal(size=(n, 16)))


def _firms(n: int, r: Rng) -> np.ndarray:
    """Powers of one size, bent by two more latent numbers."""
    size, z = 1.2 * r.normal(size=(n, 1)), r.normal(size=(n, 2))
    return np.exp(size * r.uniform(0.5, 1.5, 14) + 0.7 * np.tanh(z @ r.normal(size=(2, 14)))) + 0.05 * r.normal(
        size=(n, 14)
    )


def _flares(n: int, r: Rng) -> np.ndarray:
    """Quiet series of 30 times; a tenth of them with a peak of Pareto height somewhere."""
    t, where = np.linspace(0.0, 1.0, 30), r.uniform(size=(n, 1))
    height = (r.uniform(size=(n, 1)) < 0.1) * r.uniform(size=(n, 1)) ** -0.5
    return 3.0 * height * np.exp(-(((t - where) / 0.1) ** 2)) + 0.2 * r.normal(size=(n, 30))


def _ratios(n: int, r: Rng) -> np.ndarray:
    z = r.normal(size=(n, 4))
    found = (z @ r.normal(size=(4, 15))) / (0.2 + np.abs(z @ r.normal(size=(4, 1))))
    return found + 0.1 * r.normal(size=(n, 15))


def _products(n: int, r: Rng) -> np.ndarray:
    z = r.standard_t(4.0, size=(n, 3))
    return (z @ r.normal(size=(3, 18))) * (z @ r.normal(size=(3, 18))) + 0.2 * r.normal(size=(n, 18))


def _clicks(n: int, r: Rng) -> np.ndarray:
    busy = r.uniform(size=(n, 1)) ** -0.7
    return r.poisson(5.0 * busy * (r.dirichlet([0.5] * 3, size=n) @ r.dirichlet([0.3] * 20, size=3))).astype(float)


SCORED: dict[str, Callable[[int, Rng], np.ndarray]] = {
    "claims": _claims,
    "firms": _firms,
    "flares": _flares,
    "ratios": _ratios,
    "products": _products,
    "clicks": _clicks,
}


def sets_of(part: str, folder: Path | None, rows: int) -> Iterator[tuple[str, np.ndarray, str]]:
    """Name, rows and kind, as ``harness/development.py`` has them."""
    made, first = (DEVELOPMENT, 1) if part == "development" else (SCORED, 101)
    for number, (name, make) in enumerate(made.items()):
        yield f"{name} (made)", make(rows + 400, np.random.default_rng(first + number)), "table"
    if folder is None:
        return
    if part == "development":
        for name, (X, kind) in development_sets(folder).items():
            yield name, X, kind
        return
    for data in all_sets(folder):
        if not (data.development or data.gram or data.sample):
            X = np.asarray(data.load()[0], dtype=float)
            if X.shape[1] <= 1500:
                yield data.name, X, "table" if data.standardise else "raw"


def tail(X: np.ndarray) -> float:
    """Share of the squared distance to the mean that the farthest 2 % of the rows hold."""
    squares = np.sort(((X - X.mean(0)) ** 2).sum(1))
    return float(squares[-int(np.ceil(0.02 * len(X))) :].sum() / squares.sum())


OTHERS = {"kernel-pca": sklearn_kernel_pca, "pca": pca, "network": network}


def methods(train: np.ndarray, p: int, others: list[str]) -> Iterator[tuple[str, Callable[[], Callable]]]:
    """Name, and what fits and returns a function of squared errors of rows."""
    radial = {"kernel": default_kernel("free"), "decoder_kernel": default_decoder_kernel("free", 2)}
    kernel, decoder = unbounded_kernels()
    growing = {"kernel": kernel, "decoder_kernel": decoder}
    for name, given in (("radial", radial), ("growing", growing)):
        yield (
            name,
            lambda given=given: KernelAutoencoder(p, linear_part="free", **given).fit(train).reconstruction_error,
        )
    yield "rule", lambda: KernelAutoencoder(p).fit(train).reconstruction_error
    task = SimpleNamespace(train=train, gram=False)
    for name in others:
        yield name, lambda method=OTHERS[name]: method.fit(task, p, 0).errors


def compared(train: np.ndarray, test: np.ndarray, p: int, others: list[str]) -> dict[str, tuple[float, float, float]]:
    """By method: error over that of radial kernels, the difference in standard errors, and the time over theirs.

    Of radial kernels themselves: their share of the variance, zero, and seconds of processor time.
    """
    found: dict[str, tuple[float, float, float]] = {}
    reference, seconds = np.empty(0), 1.0
    for name, fit in methods(train, p, others):
        started = time.process_time()
        errors = fit()
        took = time.process_time() - started
        rows = np.asarray(errors(test))
        if name == "radial":
            reference, seconds = rows, took
            found[name] = float(rows.mean() / ((test - train.mean(0)) ** 2).sum(1).mean()), 0.0, took
            continue
        d = rows - reference
        level = float(d.std()) == 0.0
        z = 0.0 if level else float(d.mean() / (d.std() / len(d) ** 0.5))
        found[name] = float(rows.mean() / reference.mean()), z, took / seconds
    return found


def summarise(what: str, tasks: list[dict[str, tuple[float, float, float]]]) -> None:
    """Geometric means over tasks, the worst, wins, level and losses, and times."""
    if not tasks:
        return
    print(f"\n{what}, {len(tasks)} tasks (ratios to radial kernels)")
    counted = "better/level/worse by 1 se"
    print(f"  {'':18}{'error':>8}{'worst':>8}  {counted:>28}{'by 2 se':>12}{'time':>8}{'all time':>10}")
    total = sum(task["radial"][2] for task in tasks)
    for name in [name for name in tasks[0] if name != "radial"]:
        ratios, zs, times = np.array([task[name] for task in tasks]).T
        counts = []
        for level in (1.0, 2.0):
            better, worse = int((zs < -level).sum()), int((zs > level).sum())
            counts.append(f"{better}/{len(zs) - better - worse}/{worse}")
        whole = sum(task[name][2] * task["radial"][2] for task in tasks) / total
        mean, typical = np.exp(np.log(ratios).mean()), np.exp(np.log(times).mean())
        print(f"  {name:18}{mean:8.3f}{max(ratios):8.2f}  {counts[0]:>28}{counts[1]:>12}{typical:8.2f}{whole:10.2f}")


def main() -> None:
    asked = bench_arguments(
        __doc__,
        part={"choices": ("development", "scored"), "nargs": "*", "default": ["development", "scored"]},
        rows=400,
        seeds=1,
        made=False,
        sets={"action": "store_true", "help": "names of the sets alone"},
        others={"choices": OTHERS, "nargs": "*", "default": ["kernel-pca", "pca"]},
    )
    if asked.sets:
        for part in asked.part:
            print(f"{part}:", "; ".join(name for name, *_ in sets_of(part, None if asked.made else data_folder(), 400)))
        return
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    KernelAutoencoder(2).fit(np.random.default_rng(0).normal(size=(60, 4)))  # the first fit imports much
    for part in asked.part:
        tasks: list[tuple[float, bool, dict[str, tuple[float, float, float]]]] = []
        print(f"\n{part} sets")
        for name, X, kind in sets_of(part, None if asked.made else data_folder(), asked.rows):
            for seed, (train, test) in enumerate(splits(X, kind, asked.seeds, asked.rows)):
                for p in (2, components(X.shape[1])):
                    if p >= min(X.shape[1], len(train)):
                        continue
                    T, found = tail(train), compared(train, test, p, asked.others)
                    tasks.append((T, name.endswith("(made)"), found))
                    said = ", ".join(f"{key} {v[0]:.3f} ({v[1]:+.1f})" for key, v in found.items() if key != "radial")
                    head = f"{name}, {len(train)} rows, {p} components, seed {seed}, T {T:.2f}"
                    print(f"{head}: radial {found['radial'][0]:.4f}, {said}", flush=True)
        summarise(f"{part}: made sets", [one for _, made, one in tasks if made])
        summarise(f"{part}: other sets with {GATED}", [one for T, made, one in tasks if not made and T > 0.1])
        summarise(f"{part}: other sets with T <= 0.1", [one for T, made, one in tasks if not made and T <= 0.1])
        summarise(f"{part}: all", [one for *_, one in tasks])


if __name__ == "__main__":
    run_script(main)
