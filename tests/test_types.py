"""Types for users: the typed script runs, and what is documented is visible to a type checker."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import rkhs.estimators
from rkhs.estimators.fitted import Fitted
from tests import typed_script


def test_the_typed_script_runs() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert typed_script.codes(X).shape == (30, 2)
    assert np.isfinite([typed_script.back(X), typed_script.regression(X, X[:, :1])]).all()
    with pytest.raises(AttributeError, match="KernelPAC"):
        typed_script.mistakes()


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
