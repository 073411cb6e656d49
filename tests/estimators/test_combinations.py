"""Every pair of options either fits a tiny data set or is refused with the sentence of the table, and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from rkhs import DeepRKM, KernelAutoencoder, KernelContrastive, KernelPCA, OperatorKernelRegressor, fit_robust
from rkhs._core.errors import InputError
from rkhs.augment import GaussianNoise
from rkhs.estimators.options.combinations import AXES, RULES, broken_rule
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian
from rkhs.losses import Power
from rkhs.protocols import Reason, Solution
from rkhs.solvers import Solver

N, D = 14, 3
ROWS = np.random.default_rng(0).normal(size=(N, D))
WORDS = ["acgt"[i % 4] * (1 + i % 3) + "ac" + "gt"[i % 2] * (i % 5) for i in range(N)]
STORAGES = {
    "dense": "dense",
    "blocked": "blocked",
    "landmarks": Nystroem(6, random_state=0),
    "random features": RandomFeatures(6, random_state=0),
}
LOSSES = {"squared": "squared", "robust": "huber", "another": Power(3.0)}


@dataclass(frozen=True)
class Case:
    """One estimator with its data, and what values of its axes mean."""

    build: Any
    fixed: dict[str, Any] = field(default_factory=dict)
    axes: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def facts(self, chosen: dict[str, str]) -> dict[str, str]:
        """The value of every axis; what is rebuilt follows from the input where it is not asked for."""
        facts = {axis: next(iter(values)) for axis, values in self.axes.items()} | chosen
        if "outputs" in facts and facts["input"] != "vectors":
            other = {"vectors": "features", "other features": "features of other items"}
            facts["outputs"] = other.get(facts["outputs"], facts["outputs"])
        return facts

    def make(self, facts: dict[str, str], file: Path) -> tuple[BaseEstimator, Any, dict[str, Any]]:
        """The estimator with its options, the items, and what else its fit is given."""
        options = {k: v for axis, value in facts.items() for k, v in self.axes[axis].get(value, {}).items()}
        if options.pop("operators", False):
            options["operators"] = (np.eye(2), *(None,) * np.size(options.get("n_components", 2)))
        X: Any = {"gram": ROWS @ ROWS.T, "objects": WORDS}.get(facts.get("input", "vectors"), ROWS)
        fit: dict[str, Any] = {"targets": X} if options.pop("targets", False) else {}
        if options.pop("file", False):
            X = np.lib.format.open_memmap(file, "w+", np.float64, (N, D))
            X[:] = ROWS
        if self.build is OperatorKernelRegressor:
            fit["y"] = ROWS
        return self.build(**{**self.fixed, **options}), X, fit


def named(axis: str, values: tuple[str, ...] | None = None) -> dict[str, dict[str, Any]]:
    """An axis whose values are those of the parameter of its name."""
    return {value: {axis: value} for value in values or AXES[axis]}


def storages(*kinds: str) -> dict[str, dict[str, Any]]:
    return {kind: {"storage": STORAGES[kind]} for kind in kinds}


class Descent(Solver):
    """A user's solver: one step against the gradient."""

    def _solve(self, problem: Any, start: Any, monitor: Any) -> Solution:
        point = start - 1e-2 * problem.value_and_grad(start)[1]
        return Solution(point, problem.value_and_grad(point)[0], Reason.SCHEDULE, 1, 2)


ENGINES = {"none": {}, "this machine": {"engine": "serial"}, "a cluster": {"engine": "dask"}}
EXACT_OR_FINITE = ("dense", "landmarks", "random features")
AUTOENCODER = {
    "storage": storages(*EXACT_OR_FINITE),
    "engine": ENGINES,
    "input": {"vectors": {}, "gram": {"kernel": "precomputed"}, "objects": {"kernel": "spectrum"}},
    "rows": {"in memory": {}, "from a file": {"file": True}},
    "targets": {"none": {}, "given": {"targets": True}},
    "outputs": {
        "vectors": {},
        "features": {"output_kernel": "same"},
        "other features": {"output_kernel": "laplacian"},
        "features of other items": {"output_kernel": "laplacian"},
    },
    "loss": {kind: {"loss": loss} for kind, loss in LOSSES.items()},
    "layers": {"one": {"n_components": 2}, "several": {"n_components": (2, 3)}},
    "linear_part": named("linear_part"),
    "constraint": named("constraint"),
    "operators": {"none": {}, "given": {"operators": True}},
    "noise": {"none": {}, "given": {"noise": GaussianNoise()}},
    "solver": {**named("solver", AXES["solver"][:-1]), "your own": {"solver": Descent()}},
    "reg": {"number": {"reg": 0.1}, "auto": {"reg": "auto"}},
}
CASES = {
    "KernelAutoencoder": Case(
        KernelAutoencoder,
        {"kernel": "gaussian", "decoder_kernel": Gaussian(1.0), "max_iter": 1, "random_state": 0, "refine": False},
        AUTOENCODER,
    ),
    "KernelPCA": Case(
        KernelPCA,
        {"n_components": 2},
        {
            "storage": storages("dense", "blocked", "landmarks", "random features"),
            "engine": ENGINES,
            "input": AUTOENCODER["input"],
            "loss": AUTOENCODER["loss"],
            "preimage": named("preimage"),
            "reg": AUTOENCODER["reg"],
        },
    ),
    "DeepRKM": Case(
        DeepRKM,
        {"n_components": (2, 2), "max_iter": 1, "random_state": 0},
        {
            "storage": storages(*EXACT_OR_FINITE),
            "out_of_sample": named("out_of_sample"),
            "bandwidths": named("bandwidths"),
        },
    ),
    "KernelContrastive": Case(
        KernelContrastive,
        {"n_components": 2, "n_neighbors": 2, "random_state": 0},
        {
            "storage": storages(*EXACT_OR_FINITE),
            "strict": {"False": {"strict": False}, "True": {"strict": True}},
        },
    ),
    "OperatorKernelRegressor": Case(
        OperatorKernelRegressor,
        {"max_iter": 3},
        {
            "storage": storages(*EXACT_OR_FINITE),
            "loss": AUTOENCODER["loss"],
            "terms": {"one": {}, "several": {"kernel": [("gaussian", None), ("linear", np.eye(D))]}},
        },
    ),
    "fit_robust": Case(
        KernelAutoencoder,
        {"kernel": "gaussian", "decoder_kernel": Gaussian(1.0), "max_iter": 1, "random_state": 0, "refine": False},
        {axis: AUTOENCODER[axis] for axis in ("layers", "loss", "constraint", "operators", "noise", "storage")},
    ),
}


def chosen_pairs(name: str) -> Iterator[dict[str, str]]:
    """Every pair of values of two axes, and every way to break a rule, which may take a third."""
    axes = CASES[name].axes
    for one, other in combinations(axes, 2):
        yield from ({one: a, other: b} for a, b in product(axes[one], axes[other]))
    for rule in RULES[name]:
        names = [*rule.given, rule.axis]
        values = [*rule.given.values(), tuple(value for value in AXES[rule.axis] if value not in rule.allowed)]
        yield from (dict(zip(names, each, strict=True)) for each in product(*values))


def possible(name: str, facts: dict[str, str]) -> bool:
    """Whether such a call can be written; which kernels random features know is theirs to say."""
    if any(
        value not in CASES[name].axes[axis] for axis, value in facts.items() if (axis, value) != ("outputs", "features")
    ):
        return False
    if facts.get("outputs") == "features of other items" and facts["input"] == "vectors":
        return False
    vectors = facts.get("rows") == "from a file" or facts.get("storage") == "random features"
    return not vectors or facts.get("input", "vectors") == "vectors"


@cache
def groups() -> dict[tuple[str, str], dict[str, dict[str, str]]]:
    """All calls by what they change, under their estimator and the first axis that is changed."""
    found: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for name, case in CASES.items():
        seen = {tuple(sorted(case.facts(chosen).items())): case.facts(chosen) for chosen in chosen_pairs(name)}
        for facts in seen.values():
            if possible(name, facts):
                changed = [axis for axis, value in facts.items() if value != next(iter(case.axes[axis]))]
                called = ", ".join(f"{axis}={facts[axis]}" for axis in changed)
                found.setdefault((name, next(iter(changed), "nothing")), {})[called] = facts
    return found


def test_every_rule_speaks_somewhere() -> None:
    spoken = [broken_rule(RULES[name], facts) for (name, _), every in groups().items() for facts in every.values()]
    silent = [(name, rule.sentence) for name, rules in RULES.items() for rule in rules if rule not in spoken]
    assert not silent, f"no pair of options meets these rules first: {silent}"


@pytest.mark.sample(14)
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "axis"), groups())
def test_options_fit_or_are_refused_as_the_table_says(name: str, axis: str, step: int, tmp_path: Path) -> None:
    """All refusals, and of the fits every fifth by default: each value of an option is in many of them."""
    calls = enumerate(groups()[name, axis].items())
    few = {called: facts for i, (called, facts) in calls if i % step == 0 or broken_rule(RULES[name], facts)}
    found = {called: said_and_expected(name, facts, tmp_path) for called, facts in few.items()}
    assert not {called: pair for called, pair in found.items() if pair[0] != pair[1]}


def said_and_expected(name: str, facts: dict[str, str], folder: Path) -> tuple[str, str]:
    """What a fit is told, and what the table says: nothing where it fits."""
    model, X, fit = CASES[name].make(facts, folder / "rows.npy")
    rule, said = broken_rule(RULES[name], facts), ""
    if rule is None and facts.get("engine") == "a cluster":  # a cluster is slow to start; tests/engines fits on one
        return "", ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit_robust(model, X) if name == "fit_robust" else model.fit(X, **fit)
    except InputError as refused:
        said = str(refused)
    words = {"output_domain": "vectors", **facts, **model.get_params(deep=False)}
    return said, "" if rule is None else rule.sentence.format_map(words)
