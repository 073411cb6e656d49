# ruff: noqa: E501 (messages stand in one piece)
"""Checks and the exact sentences they speak."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

from rkhs._core.checks import (
    check_choice,
    check_count,
    check_gram,
    check_methods,
    check_number,
    check_numbers,
    check_operator,
    real_array,
)
from rkhs._core.errors import InputError, MissingExtraError, optional

NUMBERS: list[tuple[Any, dict[str, Any], str]] = [
    (-1.0, {"above": 0.0}, "reg must be > 0; got -1.0"),
    (0, {"above": 0.0}, "reg must be > 0; got 0"),
    (-0.5, {"at_least": 0.0}, "reg must be >= 0; got -0.5"),
    (2.0, {"at_least": 0.0, "at_most": 1.0}, "reg must be >= 0 and <= 1; got 2.0"),
    (math.nan, {"above": 0.0}, "reg must be > 0; got nan"),
    (math.inf, {"above": 0.0}, "reg must be > 0; got inf"),
    (math.nan, {}, "reg must be a number; got nan"),
    ("x", {"above": 0.0, "names": ("auto", "gcv")}, "reg must be > 0 or 'auto' or 'gcv'; got 'x'"),
    (True, {"above": 0.0}, "reg must be > 0; got True"),
    (np.True_, {"above": 0.0}, "reg must be > 0; got np.True_"),
    (1j, {"above": 0.0}, "reg must be > 0; got 1j"),
    (None, {}, "reg must be a number; got None"),
]
COUNTS: list[tuple[Any, dict[str, Any], str]] = [
    (0, {}, "n_components must be an integer >= 1; got 0"),
    (2.0, {}, "n_components must be an integer >= 1; got 2.0"),
    (True, {}, "n_components must be an integer >= 1; got True"),
    ("2", {"at_least": 0}, "n_components must be an integer >= 0; got '2'"),
    (9, {"at_most": 5, "why": " (the number of samples)"}, "n_components must be an integer from 1 to 5 (the number of samples); got 9"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "limits", "message"), NUMBERS)
def test_number(value: Any, limits: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_number(value, "reg", **limits)
    assert str(caught.value) == message


@pytest.mark.parametrize(("value", "limits", "message"), COUNTS)
def test_count(value: Any, limits: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_count(value, "n_components", **limits)
    assert str(caught.value) == message


def test_good_values_pass() -> None:
    assert check_number(np.float32(0.5), "reg", above=0.0, at_most=0.5) == 0.5
    assert check_number(0, "reg", at_least=0.0) == 0.0
    assert check_count(np.int64(3), "n", at_most=3) == 3
    assert check_choice("b", "mode", ("a", "b")) == "b"
    np.testing.assert_array_equal(check_operator([[2, 1], [1, 2]], "A", 2), [[2.0, 1.0], [1.0, 2.0]])


def test_choice() -> None:
    for value in ("c", None, 1):
        with pytest.raises(InputError) as caught:
            check_choice(value, "mode", ("a", "b"))
        assert str(caught.value) == f"mode must be one of 'a', 'b'; got {value!r}"


OPERATORS: list[tuple[Any, str]] = [
    (np.eye(3), "A must have shape (2, 2); got (3, 3)"),
    (np.full((2, 2), np.inf), "A must be finite; got NaN or infinity"),
    ([[1, 1], [0, 1]], "A must be symmetric; got a matrix that is not. Pass (A + A.T) / 2 if that is meant"),
    (np.diag([1.0, -0.25]), "A must be positive semi-definite; its smallest eigenvalue is -0.25"),
]


@pytest.mark.parametrize(("value", "message"), OPERATORS)
def test_operator(value: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_operator(value, "A", 2)
    assert str(caught.value) == message


def test_gram() -> None:
    K = np.array([[2.0, 1.0], [1.0 + 1e-12, 2.0]])
    checked = check_gram(K)
    np.testing.assert_array_equal(checked, checked.T)
    with pytest.raises(InputError) as caught:
        check_gram(np.ones((2, 3)), "X")
    assert str(caught.value) == (
        "X must be a square Gram matrix in fit (n training items by n training items); got shape (2, 3)"
    )
    with pytest.raises(InputError) as caught:
        check_gram(np.array([[1.0, 0.5], [0.0, 1.0]]))
    assert str(caught.value) == (
        "K must be symmetric; got entries that differ by 0.5 from their mirror image. "
        "Check the kernel, or pass (K + K.T) / 2 if the difference is noise"
    )


def test_a_missing_package_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(MissingExtraError) as caught:
        optional("rdkit.Chem")
    assert str(caught.value) == ("the package 'rdkit' is not installed; install it with: pip install \"rkhs[chem]\"")


def test_lists_of_numbers() -> None:
    for given in ([1, 2.0], (1, 2.0), np.array([1.0, 2.0])):
        assert check_numbers(given, "regs", above=0.0) == [1.0, 2.0]
    for bad in (3, None, "12", b"12", {1.0: 2}, {1.0}, np.float64(1.0), np.array(1.0), [], object()):
        with pytest.raises(InputError, match="regs must be a sequence of numbers, at least one; got"):
            check_numbers(bad, "regs")
    with pytest.raises(InputError, match="regs must be > 0; got -1"):
        check_numbers([1.0, -1], "regs", above=0.0)


def test_methods_of_a_model() -> None:
    class Model:
        def transform(self) -> None: ...

    check_methods(Model(), "model", ("transform",))
    for bad, said in ((3, "a int"), (Model, "Model"), (None, "a NoneType")):
        with pytest.raises(InputError, match=f"model must be a fitted estimator with transform; got {said}"):
            check_methods(bad, "model", ("transform",))


def test_what_numpy_cannot_make_a_float_is_named() -> None:
    with pytest.raises(InputError, match="X must hold real numbers; got what NumPy cannot read"):
        real_array([[10**400]], "X")
    with pytest.raises(InputError, match="n must be an integer of at most"):
        check_count(10**400, "n")
