"""Compatibility of options: every refusal of a combination, as one table that fits, documentation and tests read.

A rule is data: if some axes have given values, another axis must have one of the allowed values. Estimators describe
their options by values of the axes; the first broken rule raises its message. Whether a solver fits a problem is
checked by :mod:`rkhs.protocols`, and conditions on the data are checked where the data are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs._core.errors import InputError
from rkhs.constraints import Ball, CodeSet, SoftSphere, Whitened, as_constraint
from rkhs.engines import Serial, Threads
from rkhs.kernels.registry import as_kernel
from rkhs.losses import Loss, Squared, as_loss
from rkhs.solvers.base import Solver
from rkhs.solvers.registry import DESCENTS
from rkhs.spaces.features import Leaves, Storage

FINITE = ("landmarks", "random features")

# Every axis with all of its values, the default first.
AXES: dict[str, tuple[str, ...]] = {
    "storage": ("dense", "blocked", *FINITE),
    "engine": ("none", "this machine", "a cluster"),
    "input": ("vectors", "gram", "objects"),
    "rows": ("in memory", "from a file"),
    "targets": ("none", "given"),
    "outputs": ("vectors", "features", "other features", "features of other items"),
    "loss": ("squared", "robust", "another"),
    "layers": ("one", "several"),
    "linear_part": ("kernel", "free"),
    "constraint": ("none", "sphere", "ball", "whiten", "soft"),
    "operators": ("none", "given"),
    "terms": ("one", "several"),
    "noise": ("none", "given"),
    "solver": (*DESCENTS, "your own"),
    "reg": ("number", "auto"),
    "preimage": ("ridge", "fixed_point", "nearest"),
    "out_of_sample": ("ridge", "block", "paper"),
    "bandwidths": ("fixed", "joint"),
    "strict": ("False", "True"),
}


@dataclass(frozen=True)
class Rule:
    """Where every axis of ``given`` has one of its values, ``axis`` must have one of ``allowed``."""

    given: Mapping[str, tuple[str, ...]]
    axis: str
    allowed: tuple[str, ...]
    sentence: str  # of the refusal; ``{name!r}`` is the parameter of that name


def _rule(given: str, needs: str, sentence: str = "") -> Rule:
    """A rule from texts: if ``"loss: other, storage: finite"`` holds, ``"solver: lbfgs | adam"`` must hold."""
    conditions = dict(map(_read, given.split(", "))) if given else {}
    axis, allowed = _read(needs)
    asked = next(iter(conditions), axis)
    return Rule(
        conditions, axis, allowed, sentence or f"{asked}={{{asked}!r}} needs {axis}={allowed[0]!r}; got {{{axis}!r}}"
    )


def _read(words: str) -> tuple[str, tuple[str, ...]]:
    """An axis and its values; ``other``: all but the default, ``finite``: landmarks and random features."""
    axis, _, values = words.partition(": ")
    short = {"other": AXES[axis][1:], "finite": FINITE}
    return axis, tuple(value for word in values.split(" | ") for value in short.get(word, (word,)))


def _dense(needs: str, what: str, instead: str, given: str = "") -> Rule:
    sentence = f"{what} needs storage='dense'; {instead} with storage={{storage!r}}"
    return _rule("storage: finite" + given, needs, sentence)


_ENGINE = _rule(
    "engine: a cluster",
    "storage: blocked | finite",
    "engine={engine!r} computes blocks of rows, and storage='dense' has none: use another storage, such as "
    "Nystroem(1000) of rkhs.features, or engine=None",
)
_RETURN = _rule(
    "storage: random features",
    "preimage: ridge",
    "preimage={preimage!r} needs training items to return to, which random features do not keep; use "
    "preimage='ridge', or storage=Nystroem(m)",
)
_VECTORS = "noise={noise!r} needs vectors (no sparse matrix), rebuilt as vectors (output_kernel=None); use noise=None"
_IN_MEMORY = "targets and noise need inputs in memory; got rows that are read from a file"
_FREE = "linear_part='free' needs {}; use linear_part='kernel'"
_BESIDE = "use linear_part='kernel' with storage={storage!r}"
_OF_A_GRAM = f"linear_part='free' of a Gram matrix needs storage='dense'; {_BESIDE}"
_ROBUST = "fit_robust needs a model with {}: otherwise leave-one-out errors have no closed form"

# Rules by estimator; the first violated rule raises its error.
RULES: dict[str, tuple[Rule, ...]] = {
    "KernelAutoencoder": (
        _ENGINE,
        _rule("loss: other", "solver: lbfgs | alternating | gradient_descent"),
        _rule("loss: other, storage: finite", "constraint: none"),
        _rule("linear_part: free, storage: dense", "loss: squared", _FREE.format("loss='squared', or landmarks")),
        _rule("linear_part: free, storage: dense", "constraint: none", _FREE.format("constraint='none', or landmarks")),
        _rule("linear_part: free", "operators: none", _FREE.format("operators=None")),
        _rule("linear_part: free", "solver: lbfgs | adam | your own", _FREE.format("solver='lbfgs' or 'adam'")),
        _rule("noise: given", "input: vectors", _VECTORS),
        _rule("noise: given", "outputs: vectors", _VECTORS),
        _rule("constraint: other", "solver: lbfgs"),
        _rule(
            "constraint: other, storage: finite",
            "layers: one",
            "constraint={constraint!r} with several layers needs storage='dense'; got n_components={n_components}",
        ),
        _rule("constraint: other", "operators: none", "operators must be None with constraint={constraint!r}"),
        _rule(
            "outputs: features of other items",
            "targets: given",
            "output_kernel reads {output_domain}, kernel reads {input}; pass fit(X, targets=...) that it can read",
        ),
        _dense(
            "constraint: none",
            "constraint={constraint!r} beside linear_part='kernel'",
            "use linear_part='free'",
            ", linear_part: kernel",
        ),
        _rule(
            "constraint: other, storage: finite, linear_part: free",
            "targets: none",
            "constraint={constraint!r} with targets needs storage='dense'; leave targets out",
        ),
        _dense(
            "loss: squared | robust",
            "a loss that is not isotropic, or has no majorizer, such as {loss!r},",
            "use loss='huber' or another of rkhs.losses",
        ),
        _dense("operators: none", "operators", "use operators=None"),
        _rule("linear_part: free, storage: finite", "input: vectors | objects", _OF_A_GRAM),
        _dense("solver: lbfgs", "solver={solver!r}", "use solver='lbfgs'"),
        _rule(
            "constraint: other, storage: finite, linear_part: free",
            "noise: none",
            "noise with constraint={constraint!r} needs storage='dense'; use noise=None with storage={storage!r}",
        ),
        _rule("storage: finite, rows: from a file", "targets: none", _IN_MEMORY),
        _rule("storage: finite, rows: from a file", "noise: none", _IN_MEMORY),
        _rule(
            "storage: random features",
            "outputs: vectors",
            "features as outputs need landmarks; use storage=Nystroem(m), or output_kernel=None",
        ),
        _dense(
            "outputs: vectors | features",
            "an output_kernel that is not the input kernel",
            "use output_kernel='same'",
        ),
        _dense("targets: none", "features of other targets as outputs", "leave targets out", ", outputs: features"),
    ),
    "KernelPCA": (
        _ENGINE,
        _rule(
            "storage: other",
            "loss: squared",
            "loss={loss!r} needs storage='dense'; use loss='squared' with {storage!r}",
        ),
        _RETURN,
        _rule(
            "storage: other",
            "reg: number",
            "reg='auto' needs storage='dense'; pass a number with storage={storage!r}",
        ),
        _rule(
            "storage: blocked",
            "input: vectors | objects",
            "storage='blocked' recomputes kernel values, and a Gram matrix is already computed: use 'dense'",
        ),
    ),
    "DeepRKM": (
        _rule(
            "storage: finite",
            "out_of_sample: ridge",
            "out_of_sample={out_of_sample!r} needs storage='dense'; use out_of_sample='ridge' with {storage!r}",
        ),
        _rule(
            "storage: finite",
            "bandwidths: fixed",
            "bandwidths={bandwidths!r} needs storage='dense'; use bandwidths='fixed' with {storage!r}",
        ),
    ),
    "KernelContrastive": (_dense("strict: False", "strict=True", "use strict=False"),),
    "OperatorKernelRegressor": (_dense("terms: one", "a sum of kernels with operators", "use one kernel"),),
    "OperatorKernelRegressorCV": (),
    "fit_robust": (
        _rule("", "layers: one", _ROBUST.format("one hidden layer")),
        _rule("", "loss: squared", _ROBUST.format("loss='squared'")),
        _rule("", "constraint: none", _ROBUST.format("constraint='none'")),
        _rule("", "operators: none", _ROBUST.format("no operators")),
        _rule("", "noise: none", _ROBUST.format("no noise")),
        _rule("", "storage: dense", _ROBUST.format("storage='dense'")),
    ),
}

_STORAGES = ("dense", "Nystroem", "RandomFeatures")  # of most estimators
_CHOSEN = ("auto", *_STORAGES)
_WHY = {"KernelAutoencoder": ". The encoder needs a factor of the Gram matrix, which is as large as it"}
_MORE_STORAGES = {
    "KernelAutoencoder": _CHOSEN,
    "KernelPCA": ("dense", "blocked", "Nystroem", "RandomFeatures"),
    "OperatorKernelRegressor": (*_CHOSEN, "Leaves"),
    "OperatorKernelRegressorCV": ("auto", "dense", "Leaves"),
    "fit_robust": _CHOSEN,
}


_CONSTRAINTS: dict[type, str] = {Ball: "ball", Whitened: "whiten", SoftSphere: "soft", CodeSet: "sphere"}


def kind_of_loss(given: Loss | str) -> str:
    """The value of the axis of losses: "robust" are those that have a majorizer, in any coordinates."""
    loss = as_loss(given)
    return "squared" if isinstance(loss, Squared) else "robust" if loss.majorized and loss.isotropic else "another"


def kind_of_solver(given: Solver | str) -> str:
    """The value of the axis of solvers: the name of a solver of the library, else "your own"."""
    if isinstance(given, str):
        return given
    return next((name for name, cls in DESCENTS.items() if isinstance(given, cls)), "your own")


def kind_of_constraint(given: CodeSet | str) -> str:
    """The value of the axis of constraints: other sets count as the sphere."""
    if isinstance(given, str) and given == "none":
        return given
    constraint = as_constraint(given)
    return next(name for cls, name in _CONSTRAINTS.items() if isinstance(constraint, cls))


def kind_of_engine(given: Any) -> str:
    """The value of the axis of engines."""
    if given is None:
        return "none"
    return "this machine" if given in ("serial", "threads") or isinstance(given, (Serial, Threads)) else "a cluster"


def kind_of_storage(given: Storage | str) -> str:
    """The value of the axis of storages."""
    if isinstance(given, Leaves):
        return "leaves"
    if not isinstance(given, Storage):
        return str(given)
    return "landmarks" if given.keeps_items else "random features"


def _is_none(operators: Any) -> bool:
    return operators is None or (isinstance(operators, (tuple, list)) and all(A is None for A in operators))


# How parameters read as values of the axes; other axes are parameters. Values outside an axis ("auto") break no rule.
_READ_FROM = {"input": "kernel", "layers": "n_components"}  # axes whose name is not that of their parameter
_READERS: dict[str, Callable[[Any], str]] = {
    "storage": kind_of_storage,
    "engine": kind_of_engine,
    "input": lambda kernel: "auto" if isinstance(kernel, str) and kernel == "auto" else as_kernel(kernel).domain,
    "loss": kind_of_loss,
    "layers": lambda widths: "several" if isinstance(widths, (tuple, list, np.ndarray)) and len(widths) > 1 else "one",
    "operators": lambda given: "none" if _is_none(given) else "given",
    "solver": kind_of_solver,
    "noise": lambda given: "none" if given is None else "given",
    "constraint": kind_of_constraint,
    "reg": lambda given: given if isinstance(given, str) else "number",
}


def value_of_axis(axis: str, parameters: Mapping[str, Any]) -> str:
    """Read a parameter as a value of an axis."""
    return _READERS.get(axis, str)(parameters[_READ_FROM.get(axis, axis)])


def broken_rule(rules: Iterable[Rule], facts: Mapping[str, str]) -> Rule | None:
    """The first rule that the options break; rules on options that are not known yet hold."""
    for rule in rules:
        meant = all(facts.get(axis) in values for axis, values in rule.given.items())
        if meant and facts.get(rule.axis) in AXES[rule.axis] and facts[rule.axis] not in rule.allowed:
            return rule
    return None


def check_combination(name: str, parameters: Mapping[str, Any], **known: str) -> Storage | str:
    """Refuse a storage that an estimator does not have, and a combination of options that does not go together."""
    storage = parameters["storage"]
    _check_storage(name, storage)
    facts = {}
    for axis in dict.fromkeys(axis for rule in RULES[name] for axis in (*rule.given, rule.axis)):
        with suppress(KeyError):  # the estimator has no such parameter
            facts[axis] = value_of_axis(axis, parameters)
    rule = broken_rule(RULES[name], {**facts, **known})
    if rule is not None:
        raise InputError(rule.sentence.format_map({**known, **parameters}))
    return storage


def _check_storage(name: str, storage: Storage | str) -> None:
    """Refuse a storage that an estimator does not have."""
    allowed = _MORE_STORAGES.get(name, _STORAGES)
    kind = type(storage).__name__
    if isinstance(storage, Leaves) and kind in allowed:
        storage.check()
    elif isinstance(storage, Storage) and not isinstance(storage, type) and "Nystroem" in allowed:
        storage.check()
        if getattr(storage, "kernel", None) is not None:
            raise InputError(f"storage={storage!r} must leave kernel=None: the kernel is that of {name}")
    elif not (isinstance(storage, str) and storage in allowed):
        options = ", ".join(repr(one) if one.islower() else f"rkhs.features.{one}(m)" for one in allowed)
        raise InputError(f"storage of {name} must be one of {options}; got {storage!r}{_WHY.get(name, '')}")
