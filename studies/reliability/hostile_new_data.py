"""Hostile data handed to a fitted model: new rows, codes to go back from, candidates to decode to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import NotFittedError

from studies.reliability.hostile_calls import MODELS, NEW, HostileCalls, X, changed, rebuilt

calls = HostileCalls()
refused, answered = calls.refused, calls.answered

for model_name, make in MODELS.items():

    def after(
        name: str,
        use: Callable[[Any], Any],
        match: str,
        error: type[Exception] = ValueError,
        make: Callable[..., Any] = make,
    ) -> None:
        refused(f"{model_name}: {name}", lambda: use(make().fit(X)), match, error)

    for method in ("transform", "inverse_transform", "reconstruction_error", "score", "decode"):
        refused(
            f"{model_name}: {method} before fit",
            lambda make=make, method=method: getattr(make(), method)(X),
            r"not fitted yet",
            NotFittedError,
        )
    after(
        "transform of more columns",
        lambda m: m.transform(np.c_[X, X]),
        r"X has 6 features, but Kernel\w+ is expecting 3 features",
    )
    after(
        "transform of fewer columns",
        lambda m: m.transform(X[:, :2]),
        r"X has 2 features, but Kernel\w+ is expecting 3 features",
    )
    after("transform of one dimension", lambda m: m.transform(X[0]), r"Expected 2D array, got 1D array")
    after("transform of NaN", lambda m: m.transform(changed(np.nan)), r"Input X contains NaN")
    after("transform of no rows", lambda m: m.transform(X[:0]), r"X must have at least 1 row; got n_samples=0")
    after("transform of huge values", lambda m: m.transform(X * 1e200), r"X must hold values of modulus under")
    after("transform of complex", lambda m: m.transform(X + 1j), r"Complex data not supported")
    after("errors of more columns", lambda m: m.reconstruction_error(np.c_[X, X]), r"X has 6 features")
    after(
        "codes of another width",
        lambda m: m.inverse_transform(np.zeros((4, 5))),
        r"codes must be a finite array of shape \(m, 2\).*got shape \(4, 5\)",
    )
    after(
        "codes with NaN",
        lambda m: m.inverse_transform([[np.nan, 0.0]]),
        r"codes must be a finite array of shape \(m, 2\).*NaN or infinity",
    )
    after(
        "codes of one dimension",
        lambda m: m.inverse_transform([0.0, 0.0]),
        r"codes must be a finite array of shape \(m, 2\).*got shape \(2,\)",
    )
    after(
        "codes of strings", lambda m: m.inverse_transform([["a", "b"]]), r"codes must hold real numbers; got dtype <U1"
    )
    after(
        "complex codes",
        lambda m: m.inverse_transform(np.zeros((1, 2)) + 1j),
        r"codes must hold real numbers; got dtype complex128",
    )
    after(
        "ragged codes",
        lambda m: m.inverse_transform([[1.0], [1.0, 2.0]]),
        r"codes must hold real numbers; got .*inhomogeneous",
    )
    after(
        "sparse codes",
        lambda m: m.inverse_transform(scipy.sparse.csr_matrix(np.zeros((2, 2)))),
        r"codes must be a dense array; got a sparse",
    )
    after(
        "no codes",
        lambda m: m.inverse_transform(np.empty((0, 2))),
        r"codes must have at least one row; got n_samples=0",
    )
    after(
        "huge codes", lambda m: m.inverse_transform(np.full((1, 2), 1e200)), r"codes must hold values of modulus under"
    )
    after(
        "candidates of another width",
        lambda m: m.decode(m.codes_, np.zeros((4, 5))),
        r"candidates must .*\(m, 3\); got shape \(4, 5\)|X has 5 features",
    )
    after(
        "candidates with NaN",
        lambda m: m.decode(m.codes_, changed(np.nan)),
        r"candidates must be .*finite|Input X contains NaN",
    )
    after(
        "no candidates",
        lambda m: m.decode(m.codes_, X[:0]),
        r"candidates must have at least one row; got n_samples=0|0 sample",
    )
    after(
        "candidates of strings",
        lambda m: m.decode(m.codes_, [["a", "b", "c"]]),
        r"candidates must hold real numbers|could not convert string",
    )
    after("n_best = 0", lambda m: m.decode(m.codes_, X, n_best=0), r"n_best must be an integer >= 1; got 0")
    after("n_best = 1.5", lambda m: m.decode(m.codes_, X, n_best=1.5), r"n_best must be an integer >= 1; got 1.5")
    answered(
        f"{model_name}: n_best above the candidates",
        lambda make=make: make().fit(X).decode(X[:2, :2], X, n_best=99).distances,
    )
    answered(f"{model_name}: far new rows", lambda make=make: rebuilt(make(), X, NEW * 1e50))
    answered(f"{model_name}: far codes", lambda make=make: make().fit(X).inverse_transform(np.full((2, 2), 1e30)))
