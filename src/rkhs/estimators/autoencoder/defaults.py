"""Default options of the kernel autoencoder as one table: the first row whose conditions hold gives the value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from rkhs._core.arrays import Items
from rkhs._core.errors import InputError
from rkhs.engines import as_rows
from rkhs.engines.sources import is_stream
from rkhs.estimators.options.combinations import check_combination, kind_of_engine, value_of_axis
from rkhs.kernels import as_kernel
from rkhs.spaces.features import Nystroem, Storage

# storage="auto": dense below so many rows (of features in more than two components MANY_ITEMS), so many landmarks from
# there on; see docs/results/defaults.md.
MANY_ROWS, MANY_ITEMS, LANDMARKS = 1000, 2000, 1000
# Candidates where features are rebuilt, with strong ones of the decoder: it overfits with few items or codes.
FEATURE_REGS = ((1e-5, 1e-1), (1e-5, 1e-2), (1e-2, 1e-3), (1e-3, 1e-3), (1e-5, 1e-3), (1e-3, 1e-4))
# The same with free linear parts and more than two components: with two, codes would be labels of clusters.
FREE_FEATURE_REGS = (
    *((1.0, 1.0), (1e-2, 1e-2), (1e-4, 1e-2), (1e-4, 1e-3), (1e-4, 1e-4)),
    *((1e-5, 1e-3), (1e-4, 1e-5), (1e-5, 1e-4), (1e-5, 1e-5)),
)
WEAKER = ((1e-5, 1e-5),)  # with free linear parts; fewer than a thousand rows overfit with such kernel parts
_FREE_REGS = ((1e-2, 1e-2), (1e-4, 1e-2), (1e-4, 1e-3), (1e-4, 1e-4), (1e-4, 1e-5))
_UNREFINED_REGS = ((1e-2, 1e-2), (1e-2, 1e-3), (1e-2, 1e-4))
_LAST_REGS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def fixed_feature_reg(p: int) -> tuple[float, float]:
    """Regularisers of encoder and decoder of features where none are chosen on held-out items."""
    return (1e-3 if p <= 5 else 1e-5), 1e-3


def _path(first: float, last: float) -> tuple[tuple[float, float], ...]:
    """The default, then one regulariser of the encoder with each of the last layer."""
    return (first, last), *((first, reg) for reg in _LAST_REGS)


@dataclass(frozen=True)
class Default:
    """A row of the table: ``option`` is ``value`` if every fact of ``when`` has one of the listed values."""

    option: str
    when: Mapping[str, tuple[str, ...]]
    value: Any

    def holds(self, facts: Facts) -> bool:
        """Compare the conditions with the facts; a fact is computed when it is first asked for."""
        return all(facts[name] in values for name, values in self.when.items())


def _row(option: str, when: str, value: str | bool | tuple[tuple[float, float], ...]) -> Default:
    """A row from a text of conditions: ``"size: few, solver: lbfgs | adam"``."""
    conditions = (condition.partition(": ") for condition in when.split(", ") if condition)
    return Default(option, {name: tuple(values.split(" | ")) for name, _, values in conditions}, value)


class Facts(dict[str, str]):
    """Facts of a fit by name: given ones of its data and resolved options, others read from its parameters."""

    def __init__(self, estimator: BaseEstimator, **known: str) -> None:
        super().__init__(known)
        self.parameters = estimator.get_params(deep=False)

    def __missing__(self, name: str) -> str:
        """Read a fact from the parameters."""
        self[name] = _READERS[name](self) if name in _READERS else value_of_axis(name, self.parameters)
        return self[name]

    def having(self, **known: str) -> Facts:
        """The facts with further ones."""
        found = copy(self)
        found.update(known)
        return found

    def resolve(self, option: str) -> Any:
        """The value of an option: that of its first row whose conditions hold."""
        return next(row.value for row in DEFAULTS if row.option == option and row.holds(self))


def _kernel(facts: Facts) -> str:
    kernel = facts.parameters["kernel"]
    return "auto" if is_auto(kernel) else as_kernel(kernel).domain


def _outputs(facts: Facts) -> str:
    """What is rebuilt, by the parameters alone: vectors, features of the kernel or other features."""
    given, kernel = facts.parameters["output_kernel"], facts.parameters["kernel"]
    if given is None:
        return "vectors" if facts["kernel"] in ("auto", "vectors") else "features"
    same = (isinstance(given, str) and given == "same") or (
        not is_auto(kernel) and as_kernel(given) == as_kernel(kernel)
    )
    return "features" if same else "other features"


def _on_landmarks(facts: Facts) -> str:
    """The linear part of a fit on landmarks; "none" if landmarks do not support the parameters."""
    parameters = facts.parameters | {"storage": Nystroem(LANDMARKS)}
    linear_part = facts.having(storage="landmarks").resolve("linear_part")
    try:
        known = {"outputs": facts["outputs"], "rows": facts["rows"]}
        check_combination("KernelAutoencoder", parameters, linear_part=linear_part, **known)
    except InputError:  # if no storage supports them, the fit raises
        return "none"
    return str(linear_part)


def _yes(condition: bool) -> str:
    return "yes" if condition else "no"


def is_auto(*given: Any) -> bool:
    """Whether all parameters are left to the library."""
    return all(isinstance(one, str) and one == "auto" for one in given)


# Facts that are no axis of the table of combinations; those of the data are given.
_READERS: dict[str, Callable[[Facts], str]] = {
    "kernel": _kernel,
    "outputs": _outputs,
    "on_landmarks": _on_landmarks,
    "positive": lambda facts: _yes(facts["kernel"] == "auto" or as_kernel(facts.parameters["kernel"]).known_psd),
    "decoder": lambda facts: "auto" if is_auto(facts.parameters["decoder_kernel"]) else "given",
    "output_kernel": lambda facts: "none" if facts.parameters["output_kernel"] is None else "given",
    "asked_linear_part": lambda facts: str(facts.parameters["linear_part"]),
    "refine": lambda facts: _yes(bool(facts.parameters["refine"])),
}

_PLAIN = "operators: none, noise: none, constraint: none, loss: squared"
_SOLVED = "decoder: auto, operators: none, solver: lbfgs"
_VECTORS = f"asked_linear_part: auto, storage: landmarks | random features, {_SOLVED}, outputs: vectors, kernel: auto"
_FEATURES = f"asked_linear_part: auto, storage: landmarks, {_SOLVED}, outputs: features | other features"
_READABLE = "kernel: auto | vectors | objects"
_FREE = "linear_part: free, hidden: one"

DEFAULTS = (
    _row("storage", "sparse: yes, output_kernel: none", "dense"),  # landmarks do not rebuild rows of a sparse matrix
    _row("storage", "blocks: yes", "landmarks"),
    _row("storage", "size: few", "dense"),
    _row("storage", "size: some, components: five | more, outputs: features | other features", "dense"),
    _row("storage", "positive: no", "dense"),  # which warns of negative eigenvalues
    _row("storage", "targets: none, refine: yes, on_landmarks: free", "landmarks"),
    _row("storage", "", "dense"),
    _row("linear_part", "asked_linear_part: free", "free"),
    _row("linear_part", f"{_VECTORS}, sparse: no, noise: none", "free"),
    _row("linear_part", f"{_VECTORS}, sparse: no, constraint: none", "free"),
    _row("linear_part", f"{_FEATURES}, {_READABLE}, noise: none", "free"),
    _row("linear_part", f"{_FEATURES}, {_READABLE}, constraint: none", "free"),
    _row(
        "linear_part",
        "asked_linear_part: auto, storage: dense, decoder: auto, kernel: auto, output_kernel: none, "
        f"solver: lbfgs | adam | your own, {_PLAIN}",
        "free",
    ),
    _row("linear_part", "", "kernel"),
    # Whether hidden layers add to the codes below them.
    _row("shortcut", "layers: one", False),
    _row("shortcut", "linear_part: free", True),
    _row("shortcut", f"asked_linear_part: auto, decoder: auto, solver: lbfgs, {_PLAIN}", True),
    _row("shortcut", "", False),
    # Whether regularisers are compared where none are given.
    _row("compares", "linear_part: free", True),
    _row("compares", "solver: lbfgs, storage: landmarks | random features", True),
    _row("compares", f"solver: lbfgs, hidden: one, rebuilds: features, {_PLAIN}", True),
    _row("compares", "", False),
    # Regularisers of encoder and last layer: the default, then those that are compared, the strongest first.
    _row("reg", f"{_FREE}, refined: no", ((1e-2, 1e-3), *_UNREFINED_REGS)),
    _row("reg", f"{_FREE}, rebuilds: features, components: five | more", ((1e-4, 1e-3), *FREE_FEATURE_REGS)),
    _row("reg", f"{_FREE}, components: two", ((1e-4, 1e-2), *_FREE_REGS)),
    # With (1, 1) the linear parts do nearly all: principal components, where the data allow no more.
    _row("reg", _FREE, ((1e-4, 1e-3), (1.0, 1.0), *_FREE_REGS)),
    _row("reg", "rebuilds: features, hidden: one, components: two | five", (fixed_feature_reg(5), *FEATURE_REGS)),
    _row("reg", "rebuilds: features, hidden: one", (fixed_feature_reg(6), *FEATURE_REGS)),
    _row("reg", "rebuilds: features, components: two | five", _path(*fixed_feature_reg(5))),
    _row("reg", "rebuilds: features", _path(*fixed_feature_reg(6))),
    _row("reg", "components: two, refine: yes, hidden: one, constraint: none, noise: none", _path(1e-2, 1e-4)),
    _row("reg", "components: two", _path(1e-2, 1e-3)),
    _row("reg", "refine: yes, hidden: one, constraint: none, noise: none", _path(1e-2, 1e-6)),
    _row("reg", "", _path(1e-2, 1e-5)),
)


def resolve_storage(facts: Facts, storage: Storage | str) -> Storage | str:
    """Resolve ``storage="auto"`` of an autoencoder from facts of its data."""
    if not is_auto(storage):
        return storage
    return "dense" if facts.resolve("storage") == "dense" else Nystroem(LANDMARKS)


def _size(X: Any) -> str:
    """How many items there are."""
    shape = getattr(X, "shape", None)
    n = int(shape[0]) if shape else len(X) if shape is None and hasattr(type(X), "__len__") else 0
    return "few" if n < MANY_ROWS else "some" if n < MANY_ITEMS else "many"


def facts_of(estimator: BaseEstimator, X: Any, targets: Items | None = None) -> Facts:
    """Facts of the data that defaults depend on."""
    streamed = is_stream(X)
    in_blocks = kind_of_engine(estimator.engine) == "a cluster" or (streamed and not isinstance(X, np.memmap))
    few = isinstance(estimator.n_components, int) and estimator.n_components <= 2
    return Facts(
        estimator,
        rows="from a file" if streamed else "in memory",
        size=_size(as_rows(X) if streamed else X),
        blocks="yes" if in_blocks else "no",
        sparse="yes" if hasattr(X, "tocsr") else "no",
        targets="none" if targets is None else "given",
        components="two" if few else "more",
    )
