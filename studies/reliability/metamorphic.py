"""Relations between two fits that must agree, over drawn configurations of all public estimators.

Run: python -m studies.reliability.metamorphic [--draws 220] [--seed 17]. Each line has the seed that draws it; with
``--seed`` this one alone is run. A relation fits the same estimator twice: on permuted rows, with weights or copies,
without rows of weight zero, on rescaled columns or targets, by a Gram matrix, with all rows as landmarks, by another
engine, from another container, and after saving and loading. Answers are compared by what does not depend on the sign
or the order of components: distances of codes, reconstructions, predictions, ends of sets, p-values.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.spatial.distance import pdist
from sklearn.base import clone

import rkhs
from rkhs.evaluation import SmoothClassifier, SmoothRegressor
from rkhs.features import Nystroem
from rkhs.kernels import DotProduct, Gaussian, Laplacian, Linear, Matern, Polynomial
from rkhs.losses import Huber

Arrays = dict[str, np.ndarray]

EXACT = 1e-6  # closed forms: rounding, also of systems with a small ridge
BITS = 0.0
ITERATIVE = 0.02  # of descents: a share of the spread of the answer
N, D, M = 60, 4, 20  # rows, columns, new rows


@dataclass(frozen=True)
class Sample:
    """Training rows, targets, weights and new rows."""

    X: Any
    y: np.ndarray | None
    new: Any
    weights: np.ndarray | None = None

    def rows(self, index: np.ndarray) -> Sample:
        """The sample of some rows, repeated or reordered."""
        y, weights = self.y, self.weights
        return replace(
            self,
            X=self.X[index],
            y=None if y is None else y[index],
            weights=None if weights is None else weights[index],
        )


@dataclass(frozen=True)
class Subject:
    """An estimator, what it is asked, and how exactly two fits agree."""

    make: Callable[[np.random.Generator], Any]
    ask: Callable[[Any, Any], Arrays]
    tolerance: float
    relations: tuple[str, ...]
    targets: str = "none"  # or "numbers", "rows", "classes", "labels", "curves"


@dataclass(frozen=True)
class Draw:
    """One comparison: two estimators, their samples, and what brings the answer of the second to the first's units."""

    first: Any
    second: Any
    sample: Sample
    other: Sample
    back: Callable[[Arrays], Arrays] = field(default=lambda answer: answer)


def kernel(rng: np.random.Generator) -> Any:
    """A kernel whose bandwidth comes from the data, or that has none."""
    return [Gaussian(), Matern(1.5), Laplacian(), Linear(offset="mean"), Polynomial(2)][rng.integers(5)]


def codes(model: Any, new: Any) -> Arrays:
    """Distances of the codes of new rows, which no sign or order of components changes."""
    return {"distances of codes": pdist(np.asarray(model.transform(new)))}


def rebuilt(model: Any, new: Any) -> Arrays:
    """Reconstructions of new rows."""
    return {"reconstructions": np.asarray(model.inverse_transform(model.transform(new)))}


def both(model: Any, new: Any) -> Arrays:
    """Codes and reconstructions."""
    return codes(model, new) | rebuilt(model, new)


def predicted(model: Any, new: Any) -> Arrays:
    """Predictions of new rows."""
    return {"predictions": np.asarray(model.predict(new), dtype=float)}


def with_sets(model: Any, new: Any) -> Arrays:
    """Predictions, and the ends of their sets."""
    sets = model.predict_set(new, coverage=0.8)
    return predicted(model, new) | {"lower": np.asarray(sets.lower), "upper": np.asarray(sets.upper)}


def p_values(model: Any, new: Any) -> Arrays:
    """p-values of new rows."""
    return {"p-values": np.asarray(model.p_values(new)), "flags": np.asarray(model.predict(new), dtype=float)}


def _columns(rng: np.random.Generator) -> str:
    return str(rng.choice(["raw", "scaled"]))


def _loss(rng: np.random.Generator) -> Any:
    return ["squared", Huber(0.5)][rng.integers(2)]


def _reg(rng: np.random.Generator) -> Any:
    return ["auto", 1e-2][rng.integers(2)]


_EXACT = ("permuted", "gram", "containers", "saved")
_WEIGHTED = ("copies", "absent")

SUBJECTS = {
    "KernelPCA": Subject(
        lambda rng: rkhs.KernelPCA(2, kernel=kernel(rng), columns=_columns(rng), reg=_reg(rng)),
        both,
        EXACT,
        (*_EXACT, *_WEIGHTED, "rescaled", "landmarks", "engines"),
    ),
    "KernelAutoencoder": Subject(
        lambda rng: rkhs.KernelAutoencoder(2, columns=_columns(rng), reg=[None, 1e-3][rng.integers(2)], verbose=0),
        rebuilt,
        ITERATIVE,
        (*_EXACT, *_WEIGHTED, "rescaled"),
    ),
    "DeepRKM": Subject(
        lambda rng: rkhs.DeepRKM((3, 2), kernel=kernel(rng), columns=_columns(rng), max_iter=3000, verbose=0),
        rebuilt,
        ITERATIVE,
        ("permuted", "containers", "saved"),
    ),
    "KernelContrastive": Subject(
        lambda rng: rkhs.KernelContrastive(2, kernel=Gaussian(), loss="spectral", columns=_columns(rng), verbose=0),
        codes,
        ITERATIVE,
        ("permuted", "containers", "saved"),
    ),
    "KernelMap": Subject(
        lambda rng: rkhs.KernelMap(2, n_neighbors=10, columns=_columns(rng)),
        codes,
        ITERATIVE,
        ("containers", "saved"),
    ),
    "KernelNovelty": Subject(
        lambda rng: rkhs.KernelNovelty(alpha=float(rng.choice([0.05, 0.2]))),
        p_values,
        EXACT,
        ("permuted", "containers", "saved"),
    ),
    "GramTransformer": Subject(
        lambda rng: rkhs.GramTransformer(kernel(rng)), codes, EXACT, ("permuted", "containers", "saved")
    ),
    "OperatorKernelRegressor": Subject(
        lambda rng: rkhs.OperatorKernelRegressor(
            kernel(rng), loss=_loss(rng), reg=_reg(rng), columns=_columns(rng), tol=1e-10, verbose=0
        ),
        predicted,
        1e-3,
        (*_EXACT, *_WEIGHTED, "rescaled", "units", "landmarks"),
        "rows",
    ),
    "OperatorKernelRegressor, sets": Subject(
        lambda rng: rkhs.OperatorKernelRegressor(kernel(rng), reg=_reg(rng), columns=_columns(rng)),
        with_sets,
        EXACT,
        ("permuted", "containers", "saved", "rescaled", "units"),
        "numbers",
    ),
    "OperatorKernelRegressorCV": Subject(
        lambda rng: rkhs.OperatorKernelRegressorCV(kernel(rng), columns=_columns(rng), verbose=0),
        predicted,
        EXACT,
        (*_EXACT, *_WEIGHTED, "rescaled", "units"),
        "rows",
    ),
    "InputOutputKernelRegressor": Subject(
        lambda rng: rkhs.InputOutputKernelRegressor(kernel(rng), reg=_reg(rng), verbose=0),
        lambda model, new: {"weights": np.asarray(model.scores(new, np.eye(3)))},
        EXACT,
        (*_EXACT, *_WEIGHTED, "rescaled"),
        "labels",
    ),
    "FunctionalKernelRegressor": Subject(
        lambda rng: rkhs.FunctionalKernelRegressor(loss=_loss(rng), reg=_reg(rng), tol=1e-10, verbose=0),
        predicted,
        1e-3,
        ("permuted", "containers", "saved", *_WEIGHTED, "units"),
        "curves",
    ),
    "SmoothRegressor": Subject(lambda rng: SmoothRegressor(), predicted, EXACT, ("permuted", "units"), "numbers"),
    "SmoothClassifier": Subject(lambda rng: SmoothClassifier(), predicted, EXACT, ("permuted",), "classes"),
}


def draw_sample(rng: np.random.Generator, targets: str) -> Sample:
    """Rows of three clusters whose columns have units far apart, and targets that depend on them."""
    centres = rng.normal(size=(3, D))
    clusters = rng.integers(0, 3, N + M)
    rows = 2.0 * centres[clusters] + 0.5 * rng.normal(size=(N + M, D))
    signal = np.c_[np.sin(rows[:, 0]), rows[:, 1] - 0.5 * rows[:, 2]] + 0.1 * rng.normal(size=(N + M, 2))
    if targets == "curves":
        times = np.linspace(0.0, 1.0, 12)
        rows = rows[:, :1] * np.sin(6.0 * times) + rows[:, 1:2] * times + 0.01 * rng.normal(size=(N + M, 12))
        signal = signal[:, :1] * np.cos(3.0 * times) + 0.1 * rng.normal(size=(N + M, 12))
    y = {
        "none": None,
        "numbers": signal[:, 0],
        "rows": signal,
        "classes": clusters,
        "labels": np.eye(3)[clusters],
        "curves": signal,
    }[targets]
    return Sample(rows[:N], None if y is None else y[:N], rows[N:])


def _permuted(rng: np.random.Generator, model: Any, sample: Sample) -> Draw:
    return Draw(model, model, sample, sample.rows(rng.permutation(N)))


def _copies(rng: np.random.Generator, model: Any, sample: Sample) -> Draw:
    counts = rng.integers(1, 4, N)
    weighted = replace(sample, weights=counts.astype(float))
    return Draw(model, model, weighted, sample.rows(np.repeat(np.arange(N), counts)))


def _absent(rng: np.random.Generator, model: Any, sample: Sample) -> Draw:
    """Rows of weight zero, with values far from the others, and the fit without them."""
    here = rng.random(N) < 0.7
    far = np.where(here[:, None], sample.X, 1e3 * sample.X)
    return Draw(model, model, replace(sample, X=far, weights=here.astype(float)), sample.rows(np.flatnonzero(here)))


def _rescaled(rng: np.random.Generator, model: Any, sample: Sample) -> Draw:
    """Scaled columns in units of their own; raw ones in one other unit, which a bandwidth follows."""
    parameters = model.get_params()
    if "columns" in parameters and not isinstance(parameters["kernel"], (Gaussian, Laplacian, Matern, str)):
        model = clone(model).set_params(columns="scaled")
    elif "columns" not in parameters:
        model = clone(model).set_params(kernel=Gaussian())
    if model.get_params().get("columns") == "scaled":
        factors = 10.0 ** rng.uniform(-3, 3, D)
    else:
        factors = np.full(D, 10.0 ** rng.uniform(-3, 3))
    other = replace(sample, X=sample.X * factors, new=sample.new * factors)

    def back(answer: Arrays) -> Arrays:
        return {name: value / factors if name == "reconstructions" else value for name, value in answer.items()}

    return Draw(model, model, sample, other, back)


def _units(rng: np.random.Generator, model: Any, sample: Sample) -> Draw:
    """Targets in another unit: predictions and sets have it too. The kink of a loss is in units of the targets."""
    factor = 10.0 ** rng.uniform(-3, 3)
    second = clone(model)
    if isinstance(model.get_params().get("loss"), Huber):
        second.set_params(loss=Huber(factor * model.loss.kappa))
    assert sample.y is not None

    def back(answer: Arrays) -> Arrays:
        return {name: value / factor for name, value in answer.items()}

    return Draw(model, second, sample, replace(sample, y=factor * sample.y), back)


def _gram(rng: np.random.Generator, model: Any, sample: Sample) -> Draw:
    """The same items by the values of the kernel."""
    given = model.get_params()["kernel"]
    resolved = (Gaussian() if isinstance(given, str) else given).resolve(torch.from_numpy(sample.X))
    first = clone(model).set_params(kernel=resolved)
    second = clone(first).set_params(kernel="precomputed")
    for one in (first, second):
        if "columns" in one.get_params():
            one.set_params(columns="raw")
        if isinstance(one, rkhs.KernelAutoencoder):
            one.set_params(linear_part="kernel", storage="dense", output_kernel=resolved if one is first else None)
    K = replace(sample, X=resolved(sample.X), new=resolved(sample.new, sample.X))
    return Draw(first, second, sample, K)


def _landmarks(rng: np.random.Generator, model: Any, sample: Sample) -> Draw:
    """All rows as landmarks span the functions of the exact fit; a kernel of finite rank would keep fewer of them."""
    first = clone(model).set_params(reg=1e-2)
    if isinstance(first.kernel, DotProduct):
        first.set_params(kernel=Gaussian())
    return Draw(first, clone(first).set_params(storage=Nystroem(N)), sample, sample)


def _engines(rng: np.random.Generator, model: Any, sample: Sample) -> Draw:
    """Blocks of rows summed in one thread, and in several."""
    stored = clone(model).set_params(storage=Nystroem(20, random_state=0), reg=1e-2)
    return Draw(stored, clone(stored).set_params(engine="threads"), sample, sample)


def _containers(rng: np.random.Generator, model: Any, sample: Sample) -> Draw:
    """Data frames, lists, tensors and columns in the order of Fortran are the same rows."""
    kinds: list[Callable[[np.ndarray], Any]] = [pd.DataFrame, np.asfortranarray, torch.from_numpy, list]
    wrap = kinds[rng.integers(len(kinds))]
    return Draw(model, model, sample, replace(sample, X=wrap(sample.X), new=wrap(sample.new)))


RELATIONS: dict[str, Callable[[np.random.Generator, Any, Sample], Draw]] = {
    "permuted": _permuted,
    "copies": _copies,
    "absent": _absent,
    "rescaled": _rescaled,
    "units": _units,
    "gram": _gram,
    "landmarks": _landmarks,
    "engines": _engines,
    "containers": _containers,
}


def fitted(model: Any, sample: Sample) -> Any:
    """The estimator fitted on a sample; warnings on choices at the edge of a grid are not asked about here."""
    given = () if sample.y is None else (sample.y,)
    weights = {} if sample.weights is None else {"sample_weight": sample.weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(sample.X, *given, **weights)


def difference(first: Arrays, second: Arrays) -> float:
    """Largest difference of two answers, in units of the spread of the first."""
    found = []
    for name, value in first.items():
        spread = float(np.std(value)) or 1.0
        found.append(float(np.abs(value - second[name]).max()) / spread)
    return max(found)


PAIRS = [(name, relation) for name, subject in SUBJECTS.items() for relation in subject.relations]


@dataclass(frozen=True)
class Outcome:
    """What came of one seed."""

    seed: int
    name: str
    relation: str
    size: float
    limit: float
    words: str

    @property
    def holds(self) -> bool:
        return self.size <= self.limit

    def __str__(self) -> str:
        mark = "ok" if self.holds else "NOT EQUAL"
        size = f"{self.size:.1e} (at most {self.limit:g})"
        return f"seed {self.seed}: {self.name}, {self.relation}: {size} {mark}; {self.words}"


def compare(seed: int) -> Outcome:
    """Draw a configuration and a relation by a seed, and compare the two answers."""
    name, relation = PAIRS[seed % len(PAIRS)]
    subject, rng = SUBJECTS[name], np.random.default_rng(seed)
    sample, model = draw_sample(rng, subject.targets), subject.make(rng)
    words = " ".join(repr(model).split())
    if relation == "saved":
        first = fitted(model, sample)
        with tempfile.TemporaryDirectory() as folder:
            rkhs.save(first, Path(folder) / "m.rkhs")
            second = rkhs.load(Path(folder) / "m.rkhs")
        size = difference(subject.ask(first, sample.new), subject.ask(second, sample.new))
        return Outcome(seed, name, relation, size, BITS, words)
    draw = RELATIONS[relation](rng, model, sample)
    by_codes = relation == "gram" and hasattr(model, "transform")  # a Gram matrix has no rows to reconstruct
    ask = codes if by_codes else subject.ask
    first = ask(fitted(draw.first, draw.sample), draw.sample.new)
    second = draw.back(ask(fitted(draw.second, draw.other), draw.other.new))
    limit = BITS if relation == "engines" else subject.tolerance
    return Outcome(seed, name, relation, difference(first, second), limit, words)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=220, help="how many seeds (default %(default)s)")
    parser.add_argument("--seed", type=int, help="this seed alone")
    args = parser.parse_args(argv)
    started = time.perf_counter()
    seeds = range(args.draws) if args.seed is None else [args.seed]
    wrong = 0
    for seed in seeds:
        try:
            outcome = compare(seed)
        except Exception as error:
            print(f"seed {seed}: {PAIRS[seed % len(PAIRS)]}: {type(error).__name__}: {error}", flush=True)
            wrong += 1
            continue
        wrong += not outcome.holds
        print(outcome, flush=True)
    print(f"metamorphic: {len(seeds)} pairs of fits of {len(SUBJECTS)} subjects, {wrong} differ")
    print(f"{time.perf_counter() - started:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
