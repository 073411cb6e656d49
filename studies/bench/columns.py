"""Columns of tables: which sets share a unit by the rule, and what standardising costs or saves.

Run: RKHS_DATA=... ./dev bench columns [--rows 400] [--seeds 2]. First every set of rows of numbers: what ``rkhs fit``
decides for its file, beside what people do (tables are standardised; images, curves, spectra and bits are not). Then
held-out errors in standard deviations of the columns, as ``rkhs fit`` scales over ``columns="raw"``: of tables as they
come, and of the same tables in made-up units, each column multiplied by ``10**u`` with u between -3 and 3.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch

from rkhs import KernelAutoencoder
from rkhs.data.columns import share_a_unit, spreads, wants_scaling
from studies.bench.usefulness.sets import DataSet, all_sets
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script


def rows_of(data: DataSet, most: int) -> np.ndarray:
    X = np.asarray(data.load()[0], dtype=float)
    return X[np.random.default_rng(0).permutation(len(X))[:most]]


def error(X: np.ndarray, units: np.ndarray, p: int, columns: str) -> float:
    """Share of the held-out variance that is lost, in standard deviations of the columns, of data in some units."""
    cut = len(X) // 4
    test, train = X[:cut], X[cut:]
    model = KernelAutoencoder(p, columns=columns).fit(train * units)
    back = model.inverse_transform(model.transform(test * units)) / units
    sd = train.std(0)
    sd[sd == 0.0] = 1.0
    return float((((back - test) / sd) ** 2).sum() / (((test - train.mean(0)) / sd) ** 2).sum())


def ratio_of(X: np.ndarray, seed: int, made: bool) -> float:
    """Error with the columns that ``rkhs fit`` would take over that with raw ones, of one shuffle."""
    rng = np.random.default_rng(seed)
    X = X[rng.permutation(len(X))]
    units = 10.0 ** rng.uniform(-3.0, 3.0, X.shape[1]) if made else np.ones(X.shape[1])
    if not wants_scaling(X * units):
        return 1.0
    p = 2 if X.shape[1] < 13 else 4
    return error(X, units, p, "scaled") / error(X, units, p, "raw")


def main() -> None:
    arguments = bench_arguments(__doc__, rows=400, seeds=2)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    sets = [data for data in all_sets(data_folder()) if not data.gram and data.sample is None]
    tables: list[tuple[DataSet, np.ndarray]] = []
    print(f"{'set':22}{'family':12}{'development':13}{'spreads':>10}  shares a unit  as people do  standardised")
    for data in sets:
        X = rows_of(data, 2000)
        found = spreads(X)
        ratio = "" if found is None else f"{found.ratio:.1f}"
        shared = share_a_unit(X)
        agrees = "yes" if shared != data.standardise else "NO"
        print(
            f"{data.name:22}{data.family:12}{data.development!s:13}{ratio:>10}  {shared!s:13}  {agrees:12}  "
            f"{wants_scaling(X)}"
        )
        if data.standardise:
            tables.append((data, X[: arguments.rows]))
    for made in (False, True):
        print("tables in units of powers of ten" if made else "tables as they come", "(what rkhs fit does / raw)")
        ratios: dict[bool, list[float]] = {True: [], False: []}
        for data, X in tables:
            if X.shape[1] < 3:
                continue
            found = [ratio_of(X, seed, made) for seed in range(arguments.seeds)]
            ratios[data.development] += found
            print(f"  {data.name}: {', '.join(f'{ratio:.2f}' for ratio in found)}")
        for development, found in ratios.items():
            kind = "development" if development else "other"
            print(f"  {kind} sets, {len(found)} tasks: geometric mean {np.exp(np.log(found).mean()):.3f}")


if __name__ == "__main__":
    run_script(main)
