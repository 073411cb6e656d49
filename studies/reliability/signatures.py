"""Every parameter of every public class and function beside every value that it was not made for.

Generated from the signatures: ``calls()`` yields all pairs. A call must name the parameter, or give a finite answer.
Run ``python -m studies.reliability.signatures [PART OF A NAME ...]`` for all of them.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import rkhs.solvers
from rkhs import DeepRKM
from rkhs._core.config import is_concrete
from rkhs._core.errors import InputError
from rkhs.constraints import Stiefel, Unconstrained
from rkhs.kernels import Gaussian
from rkhs.losses import Huber, Squared
from rkhs.problems.dual import dual_problem
from rkhs.problems.preimage import Preimage
from rkhs.solvers import PreimageInBox, Solver
from studies.reliability.fuzz import estimators, functions, values
from studies.reliability.fuzz.case import Case
from studies.reliability.fuzz.items import raw_items
from studies.reliability.fuzz.schemas import BASE, own_parameters
from tests.contracts.kernel_examples import EXAMPLES as KERNELS
from tests.contracts.test_losses import EXAMPLES as LOSSES
from tests.contracts.test_solvers import Everything, X as DATA, machine

VALUES: list[Any] = [
    None,
    "a",
    True,
    -1,
    0,
    3,
    -1.5,
    0.0,
    float("nan"),
    float("inf"),
    10**400,
    (),
    (1,),
    [[]],
    {},
    object(),
    np.float32(1),
    np.array(2.0),
    np.array([1, 2]),
]
X = np.random.default_rng(0).standard_normal((8, 3))
NEW = X[:2] + 0.1


K = Gaussian(0.3)._gram(DATA)
PROBLEMS = [
    dual_problem([(K, None)], DATA, Huber(0.5), 0.1),
    dual_problem([(K, None)], DATA, Squared(), 0.1),
    machine(center=False),
    Everything(Unconstrained()),
]


class Call(NamedTuple):
    """One parameter beside one value: ``run`` makes the call and returns what is to be finite."""

    subject: str
    parameter: str
    value: Any
    run: Callable[[Case], Any]
    names: str

    def outcome(self, case: Case) -> list[str]:
        """What is wrong with the call, in words."""
        what, before = f"{self.subject}({self.parameter}={self.value!r:.40})", len(case.failures)
        with warnings.catch_warnings():
            case.call(what, lambda: self.run(case), must_name=self.names)
        return [f"{failure.kind}: {failure.what}" for failure in case.failures[before:]]


def calls() -> Iterator[Call]:
    """All of them."""
    for made in (_estimators, _kernels, _losses, _solvers, _functions):
        yield from made()


def _each(
    subject: str, parameters: list[str], run: Callable[[Case, dict[str, Any]], Any], more: str = ""
) -> Iterator[Call]:
    for name in parameters:
        for value in VALUES:
            names = rf"\b{name}\b|\b{name.rstrip('s')}\b" + (f"|{more}" if more else "")
            yield Call(subject, name, value, lambda case, name=name, value=value: run(case, {name: value}), names)


def _estimators() -> Iterator[Call]:
    for kind in estimators.kinds().values():

        def run(case: Case, given: dict[str, Any], kind: type = kind) -> Any:
            model = kind(**{**BASE.get(kind.__name__, {}), **given})
            precomputed = model.__sklearn_tags__().input_tags.pairwise
            data, new = (X @ X.T, NEW @ X.T) if precomputed else (X, NEW)
            model.fit(data, X[:, :2] if "Classifier" not in kind.__name__ else np.arange(8) % 2)
            out: list[Any] = []
            for name in ("transform", "predict", "reconstruction_error"):
                if hasattr(model, name):
                    out.append(getattr(model, name)(new))
            if hasattr(model, "inverse_transform") and out:
                out.append(model.inverse_transform(out[0]))
            return out

        yield from _each(kind.__name__, own_parameters(kind), run, r"[kK]ernel\b")


def _kernels() -> Iterator[Call]:
    for kind, examples in KERNELS.items():
        own = own_parameters(kind)

        def run(case: Case, given: dict[str, Any], kind: type = kind, example: Any = examples[0]) -> Any:
            kernel = kind(**{**example.get_params(deep=False), **given})
            items = raw_items(case, kernel, 4) if kernel.domain == "objects" else np.abs(X[:5])
            if kernel.domain == "gram":
                items = values.gram_of(X[:5])
            return kernel(items), kernel.diag(items)

        yield from _each(kind.__name__, own, run)


def _losses() -> Iterator[Call]:
    for name, examples in LOSSES.items():

        def run(case: Case, given: dict[str, Any], example: Any = examples[0]) -> Any:
            loss = type(example)(**{**example.get_params(deep=False), **given})
            R = torch.from_numpy(X[:3, :2])
            for method in (loss.value, loss.gradient, loss.prox_conjugate):  # infinite values are right for some
                method(R, *((0.5,) if method == loss.prox_conjugate else ()))

        yield from _each(name, own_parameters(type(examples[0])), run)


def _solvers() -> Iterator[Call]:
    for name in rkhs.solvers.__all__:
        kind = getattr(rkhs.solvers, name)
        if isinstance(kind, type) and is_concrete(kind) and kind is not Solver:

            def run(case: Case, given: dict[str, Any], kind: type = kind) -> Any:
                return _solved(kind(**{"max_iter": 5, **given}))

            yield from _each(name, own_parameters(kind), run)

    def constrained(case: Case, given: dict[str, Any]) -> Any:
        constraint = Stiefel(**given)
        H = torch.linalg.qr(torch.from_numpy(X[:, :2]))[0]
        return constraint.project(H), constraint.retract(H, 0.0 * H)

    yield from _each("Stiefel", own_parameters(Stiefel), constrained)

    def through(case: Case, given: dict[str, Any]) -> Any:
        return DeepRKM(2, **given).fit(X).codes_

    yield from _each("DeepRKM of a solver", ["solver"], through)


def _solved(solver: Any) -> Any:
    """The answer on the first problem that the solver takes."""
    start = torch.from_numpy(X)
    if not isinstance(solver, Solver):
        problem: Any = Preimage(Gaussian(0.5), start, torch.eye(8, dtype=torch.float64)[:2])
        box = torch.full((3,), 2.0, dtype=torch.float64)
        return solver.solve(problem, *((-box, box) if isinstance(solver, PreimageInBox) else (start[:2],)))
    refused: InputError | None = None
    for problem in PROBLEMS:
        try:
            solver.check(problem)
        except InputError as error:
            refused = error
            continue
        return solver.solve(problem, torch.ones_like(DATA)).point
    assert refused is not None
    raise refused


def _functions() -> Iterator[Call]:
    for name, function in functions.table().items():
        good = function.good(Case(f"signatures.{name}", 0, 0, Path()))
        open_names = [
            key for key, given in good.items() if key not in function.fixed and not isinstance(given, np.ndarray)
        ]

        def run(case: Case, given: dict[str, Any], function: Any = function, good: dict[str, Any] = good) -> Any:
            found = function.run(**{**good, **given})
            return found if function.finite else None

        yield from _each(name, open_names, run, function.names)


def main(words: list[str]) -> int:
    """Run all calls whose subject has one of the words in its name; print what failed."""
    wrong = count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for call in calls():
            if words and not any(word in call.subject for word in words):
                continue
            case = Case(f"signatures.{call.subject}", 0, 0, Path(folder))
            count += 1
            for said in call.outcome(case):
                wrong += 1
                print(said, flush=True)
    print(f"signatures: {count} calls, {wrong} wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
