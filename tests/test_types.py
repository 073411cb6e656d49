"""Types for users: the typed script runs, and what is documented is visible to a type checker."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any, get_args

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import rkhs.estimators
from rkhs._core.errors import InputError
from rkhs.augment import Augmentation, as_augmentation
from rkhs.engines import make_engine
from rkhs.estimators.fitted import Fitted
from rkhs.estimators.options import arguments
from rkhs.estimators.options.combinations import AXES
from rkhs.kernels import as_kernel
from rkhs.solvers.registry import DESCENTS, DUAL_SOLVERS, STIEFEL_SOLVERS
from tests import typed_script


def test_the_typed_script_runs() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert typed_script.codes(X).shape == (30, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert typed_script.objects(X).shape == (30, 2)
    assert np.isfinite([typed_script.back(X), typed_script.regression(X, X[:, :1])]).all()
    with pytest.raises(AttributeError, match="KernelPAC"):
        typed_script.mistakes()


def literals(alias: Any) -> set[str]:
    """The names among what a type allows."""
    return {value for part in (alias, *get_args(alias)) for value in get_args(part) if isinstance(value, str)}


def test_names_of_types_are_those_that_work() -> None:
    assert literals(arguments.AutoencoderSolverLike) == set(DESCENTS)
    assert literals(arguments.StiefelSolverLike) == set(STIEFEL_SOLVERS)
    assert literals(arguments.MachineSolverLike) == {"auto", *DUAL_SOLVERS}
    assert literals(arguments.ConstraintLike) == set(AXES["constraint"])
    with pytest.raises(InputError) as refused:
        as_kernel("no kernel")
    assert set(get_args(arguments.KernelName)) == set(re.findall(r"'(\w+)'", str(refused.value)))
    for name in get_args(arguments.EngineLike)[1:]:
        assert all(make_engine(one) for one in get_args(name))
    for name in literals(arguments.AugmentLike):
        assert isinstance(as_augmentation(name), Augmentation)


def test_estimators_take_no_plain_text() -> None:
    """A misspelt name fails a type check: names of options are literals."""
    loose = []
    for name in rkhs.estimators.__all__:
        cls = getattr(rkhs.estimators, name)
        if hasattr(cls, "get_params"):
            hints = {key: str(value.annotation) for key, value in inspect.signature(cls).parameters.items()}
            loose += [f"{name}.{key}: {hint}" for key, hint in hints.items() if re.search(r"\bstr\b", hint)]
    assert loose == ["OperatorKernelRegressorCV.gammas: Sequence[float | str] | Literal['auto'] | None"]  # of any


def documented(cls: type) -> set[str]:
    """Names of the section Attributes of a docstring."""
    text = inspect.getdoc(cls) or ""
    if "Attributes\n----------\n" not in text:
        return set()
    section = re.split(r"\n\n[A-Z]\w+\n-{3}", text.split("Attributes\n----------\n")[1])[0]
    heads = [line.partition(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    return {name for head in heads for name in re.findall(r"\w+_\b", head)}


def test_documented_attributes_have_types() -> None:
    missing = []
    for name in rkhs.estimators.__all__:
        cls = getattr(rkhs.estimators, name)
        if not inspect.isclass(cls):
            continue
        known = {key for kind in cls.__mro__ for key in getattr(kind, "__annotations__", {})}
        known |= {key for key, _ in inspect.getmembers(cls, lambda member: isinstance(member, (property, Fitted)))}
        missing += [f"{name}.{attribute}" for attribute in sorted(documented(cls) - known)]
    assert documented(rkhs.KernelPCA) > {"codes_", "reg_"}
    assert not missing, f"annotate them in the class body: {missing}"
