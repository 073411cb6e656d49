"""How often sets of predictions hold the truth, and how large they are beside those of a split on the same model.

Run: RKHS_DATA=... ./dev bench coverage [--splits 200] [--rows 150]. Rows for training at random, 100 others to look at,
a guarantee of 0.9. Standardised columns, a Gaussian kernel with the median bandwidth (Tanimoto for molecules), the
regulariser by leave-one-out in each split, on the rows of the fit. The split fits half of the rows and calibrates on
the others. Printed: mean coverage with its standard error over splits, and the size (the root of the volume that has
its units, the number of candidates or labels) as a share of that of the split. The last lines compare the sizes of
balls, boxes and ellipsoids, for outputs in units of their standard deviations, with that of the ball. Sets of codes
hold some of the 100 new items. They come from an autoencoder with five codes that is fitted to two thirds of the rows;
"left out" takes the errors of these rows in closed form, which the library does not offer. Nothing was chosen on the
sets marked "other"; the recipes were chosen on the sets marked "chosen on".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from rkhs import InputOutputKernelRegressor, KernelAutoencoder, OperatorKernelRegressorCV
from rkhs.kernels import ProbabilityProduct, Tanimoto
from rkhs.models import CandidateSets
from studies.bench.label_sets import read
from studies.bench.several_outputs import DEVELOPMENT, OTHERS as HALVES, Pair, halves
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script
from studies.harness.spectra import load_spectra

NEW = 100


def molecules(name: str) -> Pair:
    """Morgan bits and the measured number of a set of MoleculeACE."""
    from rkhs.data import molecular_fingerprints

    table = pd.read_csv(data_folder() / "moleculeace" / f"{name}.csv").sample(600, random_state=0)
    return np.asarray(molecular_fingerprints(table["smiles"].tolist()).bits, dtype=float), table["y"].to_numpy()[
        :, None
    ]


def of_deviation_one(load: Callable[[], Pair]) -> Pair:
    X, Y = load()
    return X, Y / Y.std(0)


NUMBERS: dict[str, tuple[str, Callable[[], Pair]]] = {
    "diabetes": ("chosen on", lambda: (load_diabetes().data, load_diabetes().target[:, None])),
    "CHEMBL204_Ki": ("other", lambda: molecules("CHEMBL204_Ki")),
    "CHEMBL214_Ki": ("other", lambda: molecules("CHEMBL214_Ki")),
    "CHEMBL233_Ki": ("other", lambda: molecules("CHEMBL233_Ki")),
}
VECTORS: dict[str, tuple[str, Callable[[], Pair]]] = {
    "tecator": ("chosen on", DEVELOPMENT["tecator"]),
    "satellite, halves": ("other", DEVELOPMENT["satellite, halves"]),
    "digits, halves": ("other", DEVELOPMENT["digits, halves"]),
    "arrowhead, halves": ("other", HALVES["arrowhead, halves"]),
    "sonar, halves": ("other", HALVES["sonar, halves"]),
}
SHAPES: dict[str, Callable[[], Pair]] = {
    "tecator": DEVELOPMENT["tecator"],
    "satellite, halves": DEVELOPMENT["satellite, halves"],
    "wine, halves": lambda: halves(load_wine().data),
    "cancer, halves": lambda: halves(load_breast_cancer().data),
    "diabetes, halves": lambda: halves(load_diabetes().data),
    "sonar, halves": HALVES["sonar, halves"],
}


def parts(X: np.ndarray, Y: np.ndarray, rows: int, count: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Training and new rows; columns that are no bits are standardised, and constant outputs are left out."""
    bits = ((X == 0) | (X == 1)).all()
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(len(X))
        size = min(rows, len(X) // 2)
        a, b = order[:size], order[size : size + NEW]
        mean, scale = (0.0, 1.0) if bits else (X[a].mean(0), np.maximum(X[a].std(0), 1e-12))
        yield (X[a] - mean) / scale, Y[a], (X[b] - mean) / scale, Y[b]


def fitted(X: np.ndarray, Y: np.ndarray) -> OperatorKernelRegressorCV:
    bits = ((X == 0) | (X == 1)).all()
    return OperatorKernelRegressorCV(Tanimoto() if bits else "gaussian", gammas=None).fit(X, Y)


def size_of(found: Any) -> float:
    """Mean over items of the root of the volume."""
    if found.radius is None:
        return float(np.exp(np.log(found.upper - found.lower).mean()))
    d = found.center.shape[1]
    return float(found.radius.mean() * np.pi**0.5 / math.gamma(d / 2 + 1) ** (1 / d))


def of_numbers(A: np.ndarray, U: np.ndarray, B: np.ndarray, V: np.ndarray, shape: str) -> tuple[float, ...]:
    """Coverage left out and by a split, and the ratio of their sizes."""
    half = len(A) // 2
    whole = fitted(A, U).predict_set(B, shape=shape)
    split = fitted(A[:half], U[:half]).predict_set(B, shape=shape, held_out=(A[half:], U[half:]))
    return whole.contains(V).mean(), split.contains(V).mean(), size_of(whole) / size_of(split)


def of_shapes(A: np.ndarray, U: np.ndarray, B: np.ndarray, V: np.ndarray) -> tuple[float, ...]:
    """Coverage of ellipsoid, ball and box, and the sizes of ellipsoid and box over that of the ball."""
    model = fitted(A, U)
    ellipsoid, ball, box = (model.predict_set(B, shape=shape) for shape in ("ellipsoid", "ball", "box"))
    sizes = size_of(ellipsoid) / size_of(ball), size_of(box) / size_of(ball)
    return *(found.contains(V).mean() for found in (ellipsoid, ball, box)), *sizes


def of_labels(A: np.ndarray, U: np.ndarray, B: np.ndarray, V: np.ndarray) -> tuple[float, ...]:
    """Mean share of the true labels that are held, and the number of labels as a share of all."""
    found = InputOutputKernelRegressor().fit(A, U).predict_set(B)
    held = np.array(
        [
            (one & (v == 1)).sum() / max(v.sum(), 1.0) if v.any() else 1.0
            for one, v in zip(found.members, V, strict=True)
        ]
    )
    return held.mean(), np.nan, found.sizes.mean() / U.shape[1]


def of_candidates(count: int) -> list[tuple[float, ...]]:
    """Spectra with 30 candidates: the exact set, and lists of known truth, of 400 test spectra, half to calibrate."""
    spectra = load_spectra(1600, 400)
    model = InputOutputKernelRegressor(ProbabilityProduct(), output_kernel=Tanimoto())
    model.fit(spectra.train, spectra.fingerprints)
    lists = [spectra.pool[row] for row in spectra.candidates]
    exact = model.predict_set(spectra.test, lists, per_sample=True)
    found: list[tuple[float, ...]] = []
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(400)
        a, b = order[:200], order[200:]
        known = ([spectra.test[i] for i in a], spectra.truth[a], [lists[i] for i in a])
        likely = model.predict_set([spectra.test[i] for i in b], [lists[i] for i in b], per_sample=True, held_out=known)
        inside = exact.contains(spectra.truth)[b]
        found.append(
            (likely.contains(spectra.truth[b]).mean(), inside.mean(), likely.sizes.mean(), exact.sizes[b].mean())
        )
    return found


def of_codes(A: np.ndarray, U: np.ndarray, B: np.ndarray, V: np.ndarray) -> tuple[float, ...]:
    """Sets of the items of codes among the new ones: errors left out in closed form, of held-out items, their sizes."""
    third, bits = len(A) * 2 // 3, ((A == 0) | (A == 1)).all()
    options = {"kernel": "tanimoto", "output_kernel": "same"} if bits else {}
    model = KernelAutoencoder(5, **options).fit(A[:third])
    codes, places = model.transform(B), np.arange(len(B))
    errors = model._left_out()[1].numpy() * model.output_.scale**2
    left_out = CandidateSets.nearest(*model.decode(codes, B, by="features"), errors, 0.9, "about")
    split = model.decode_set(codes, B, A[third:])
    inside = left_out.contains(places).mean(), split.contains(places).mean()
    return *inside, left_out.sizes.mean() / split.sizes.mean()


def line(name: str, where: str, kind: str, found: list[tuple[float, ...]]) -> None:
    values = np.array(found)
    mean, error = values.mean(0), values.std(0, ddof=1) / len(values) ** 0.5
    print(
        f"{name:20}{where:11}{kind:10}" + "".join(f"{m:9.3f} +- {e:.3f}" for m, e in zip(mean, error, strict=True)),
        flush=True,
    )


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        rows=150,
        splits=200,
        candidates={"type": int, "default": 20, "help": "halves of the spectra to calibrate on; 0: none"},
    )
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(f"{'set':20}{'':11}{'shape':10}{'left out':>17}{'split':>18}{'size over split':>18}")
    for sets, shapes in ((NUMBERS, ("box",)), (VECTORS, ("box", "ball"))):
        for name, (where, load) in sets.items():
            pairs = list(parts(*load(), arguments.rows, arguments.splits))
            for shape in shapes:
                kind = "interval" if sets is NUMBERS else shape
                line(name, where, kind, [of_numbers(*pair, shape) for pair in pairs])
    for name in ("tecator", "satellite, halves", "digits, halves", "CHEMBL204_Ki", "CHEMBL214_Ki"):
        where, load = (VECTORS | NUMBERS)[name]
        line(name, where, "codes", [of_codes(*pair) for pair in parts(*load(), arguments.rows, arguments.splits)])
    for name in ("emotions", "yeast", "cal500"):
        found = [of_labels(*pair) for pair in parts(*read(name), arguments.rows, arguments.splits // 4)]
        line(name, "chosen on", "labels", found)
    if arguments.candidates:
        print("candidates: with known lists, exact without them; their numbers")
        line("massbank_pos", "chosen on", "30 each", of_candidates(arguments.candidates))
    print("coverage of ellipsoid, ball and box; sizes of ellipsoid and box over that of the ball")
    for name, load in SHAPES.items():
        for rows in (40, 180):
            found = [of_shapes(*pair) for pair in parts(*of_deviation_one(load), rows, arguments.splits)]
            line(name, "other", f"{rows} rows", found)


if __name__ == "__main__":
    run_script(main)
