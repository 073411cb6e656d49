"""Expressions of the command line: what they build, and that nothing in them runs."""

from __future__ import annotations

from typing import Any

import pytest

from rkhs._core.errors import InputError
from rkhs.cli.expressions import parse_kernel, parse_setting, parse_value
from rkhs.kernels import FromSklearn, Gaussian, Linear, Matern, Normalized, Tanimoto
from rkhs.losses import Squared


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("gaussian", Gaussian()),
        ("rbf", Gaussian()),
        ("Gaussian(0.5)", Gaussian(0.5)),
        ("gaussian(gamma=0.5)+0.1*linear", Gaussian(0.5) + 0.1 * Linear()),
        ("gaussian(gamma=median) * matern(nu=2.5, gamma=1e-1)", Gaussian("median") * Matern(2.5, 0.1)),
        (" 2 * (gaussian + tanimoto) ", 2.0 * (Gaussian() + Tanimoto())),
        ("normalized(linear)", Normalized(Linear())),
        ("fromsklearn(chi2)", FromSklearn("chi2")),
        ("fromsklearn(rbf, {gamma: 2})", FromSklearn("rbf", {"gamma": 2})),
        ("0.5 * fromsklearn(kernel=poly, params={'degree': 2})", 0.5 * FromSklearn("poly", {"degree": 2})),
        ("auto", "auto"),
        ("precomputed", "precomputed"),
    ],
)
def test_kernels(text: str, kernel: Any) -> None:
    assert parse_kernel(text) == kernel


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gausian", "did you mean gaussian"),
        ("ChiSquared", "not the name of a kernel or another object of rkhs; .*Gram matrix .* --gram"),
        ("fromsklearn(chi2, {**gamma})", "keys in braces are names or numbers"),
        ("", "does not parse"),
        ("gaussian(", "does not parse"),
        ("gaussian(sigma=1)", "Gaussian takes gamma"),
        ("gaussian(*[1])", "write out each parameter"),
        ("gaussian(**{'gamma': 1})", "write out each parameter"),
        ("gaussian - linear", "is not understood"),
        ("gaussian.resolve", "is not understood"),
        ("__import__('os').system('touch x')", "is not understood"),
        ("open('x', 'w')", "'open' is not the name"),
        ("(lambda: 1)()", "is not understood"),
        ("[k for k in (1,)]", "is not understood"),
        ("gaussian + 'a'", "cannot be combined"),
        ("3", "must describe a kernel"),
        ("squared", "must describe a kernel"),
        ("(" * 900 + ")" * 900, "does not parse|not understood|must describe"),
        ("gaussian+" * 900 + "gaussian", "at most 2000 characters"),
        ("[0]*999999999", "cannot be combined"),
        ("'x'*999999999", "cannot be combined"),
        ("normalized(999999999*(0,))", "cannot be combined"),
        ("10" + "*10000000" * 200 + "*gaussian", "cannot be combined|positive|finite"),
        ("-" * 1900 + "gaussian", "nested too deeply|does not parse|not understood"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_kernel(text)


def test_settings_are_literals_objects_or_texts() -> None:
    assert parse_setting("max_iter=10") == ("max_iter", 10)
    assert parse_setting("reg=(1e-3, 1e-4)") == ("reg", (1e-3, 1e-4))
    assert parse_setting("center=False") == ("center", False)
    assert parse_setting("solver=lbfgs") == ("solver", "lbfgs")
    assert parse_setting("decoder_kernel=matern(nu=1.5, gamma=2)") == ("decoder_kernel", Matern(1.5, 2))
    assert parse_setting("loss=squared()") == ("loss", Squared())
    assert parse_value("10,2,10", "x") == (10, 2, 10)
    assert parse_value("(linear, gaussian(1.0))", "x") == (Linear(), Gaussian(1.0))
    for text in ("x=[0]*999999999", "x='a'*999999999"):
        with pytest.raises(InputError, match="cannot be combined"):
            parse_setting(text)
    with pytest.raises(InputError, match="at most 2000 characters"):
        parse_setting("x=" + "[" * 10**6)
    for text in ("max_iter", "=1", "a b=1"):
        with pytest.raises(InputError, match="param=value"):
            parse_setting(text)
