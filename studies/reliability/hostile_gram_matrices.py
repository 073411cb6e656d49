# ruff: noqa: E501 -- a case with its message is one line
"""Hostile Gram matrices in place of data, and kernel values and diagonals of new items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import torch

from rkhs._core.errors import InputError
from studies.reliability.hostile_calls import K_NEW, MODELS, HostileCalls, K, N, X, changed

calls = HostileCalls()
refused, answered = calls.refused, calls.answered

for model_name, make in MODELS.items():

    def gram(
        name: str,
        matrix: Callable[[], Any],
        match: str,
        error: type[Exception] = InputError,
        make: Callable[..., Any] = make,
        model_name: str = model_name,
        **params: Any,
    ) -> None:
        refused(f"{model_name}: {name}", lambda: make(kernel="precomputed", **params).fit(matrix()), match, error)

    def fine_gram(
        name: str,
        matrix: Callable[[], Any],
        new: Any = K_NEW,
        make: Callable[..., Any] = make,
        model_name: str = model_name,
        **params: Any,
    ) -> None:
        def act() -> Any:
            model = make(kernel="precomputed", **params).fit(matrix())
            return [
                model.codes_,
                model.transform(new),
                model.inverse_transform(model.codes_),
                model.reconstruction_error(new, diag=new.max()),
            ]

        answered(f"{model_name}: {name}", act)

    def used(
        name: str,
        use: Callable[[Any], Any],
        match: str,
        error: type[Exception] = ValueError,
        make: Callable[..., Any] = make,
        model_name: str = model_name,
    ) -> None:
        refused(f"{model_name}: {name}", lambda: use(make(kernel="precomputed").fit(K)), match, error)

    gram("rectangular Gram matrix", lambda: K[:5], r"must be a square Gram matrix in fit .*; got shape \(5, 14\)")
    gram(
        "asymmetric Gram matrix",
        lambda: changed(2.0, matrix=K),
        r"must be symmetric; got entries that differ by .* from their mirror image",
    )
    gram(
        "slightly asymmetric Gram matrix",
        lambda: changed(K[2, 1] + 1e-4, matrix=K),
        r"must be symmetric; got entries that differ by 0.0001",
    )
    gram("Gram matrix with NaN", lambda: changed(np.nan, matrix=K), r"Input X contains NaN", ValueError)
    gram("Gram matrix with infinity", lambda: changed(np.inf, matrix=K), r"Input X contains infinity", ValueError)
    gram("negative definite Gram matrix", lambda: -np.eye(N), r"must have a positive eigenvalue; its largest is -1")
    gram("sparse Gram matrix", lambda: scipy.sparse.csr_matrix(K), r"Sparse data was passed for X", TypeError)
    gram(
        "strings as a Gram matrix",
        lambda: np.full((3, 3), "CCO"),
        r"X must hold numbers; got the text 'CCO' in column 0, row 0; leave",
        ValueError,
    )
    gram("huge Gram matrix", lambda: K * 1e200, r"X must hold values of modulus under")
    fine_gram("indefinite Gram matrix", lambda: K - 0.5 * np.eye(N))
    fine_gram("negative diagonal entry", lambda: changed(-1.0, 0, 0, K))
    gram("Gram matrix of zeros", lambda: np.zeros((N, N)), r"X must hold at least two different items")
    gram("Gram matrix of ones", lambda: np.ones((N, N)), r"X must hold at least two different items")
    fine_gram("Gram matrix of rank one", lambda: np.outer(X[:, 0], X[:, 0]))
    fine_gram("identity as a Gram matrix", lambda: np.eye(N), K_NEW / N)
    # k(x, X) K^-1 k(X, x) <= k(x, x): beside an identity no item of unit length has values whose squares add up to more.
    refused(
        f"{model_name}: kernel values that no item has",
        lambda make=make: make(kernel="precomputed").fit(np.eye(N)).transform(K_NEW),
        r"X must hold kernel values with the items of the fit; got numbers such as .*, which no item has",
    )
    fine_gram("Gram matrix asymmetric by rounding", lambda: changed(K[2, 1] * (1 + 1e-15), matrix=K))
    fine_gram("tiny Gram matrix", lambda: K * 1e-100, K_NEW * 1e-100)
    gram(
        "tiny constant Gram matrix",
        lambda: np.full((N, N), 1e-200),
        r"X must hold at least two different items",
    )
    gram("subnormal Gram matrix", lambda: K * 1e-310, r"X must vary by more than 1e-151")
    fine_gram("large Gram matrix", lambda: K * 1e100, K_NEW * 1e100)
    fine_gram("integer Gram matrix", lambda: np.eye(N, dtype=int) * 3)
    fine_gram("Gram matrix as a tensor", lambda: torch.as_tensor(K))
    fine_gram("Gram matrix plus a huge constant", lambda: K + 1e9, K_NEW + 1e9)
    fine_gram("Gram matrix with a zero row", lambda: K * np.outer(np.arange(N) > 0, np.arange(N) > 0))
    used(
        "kernel values of another width",
        lambda m: m.transform(K_NEW[:, :9]),
        r"X has 9 features, but Kernel\w+ is expecting 14 features",
    )
    used("kernel values with NaN", lambda m: m.transform(changed(np.nan, matrix=K_NEW)), r"Input X contains NaN")
    used(
        "candidates missing",
        lambda m: m.decode(m.codes_, by="features"),
        r"candidates must be kernel values \(c, n\) with the training items",
    )
    used(
        "candidates of another width, Gram",
        lambda m: m.decode(m.codes_, K_NEW[:, :9]),
        r"candidates must be a finite array of shape \(c, 14\), kernel values with the training items; got shape \(5, 9\)",
    )
    used(
        "candidates with NaN, Gram",
        lambda m: m.decode(m.codes_, changed(np.nan, matrix=K_NEW)),
        r"candidates must be a finite array of shape \(c, 14\).*; got NaN or infinity",
    )
    used("candidates of strings, Gram", lambda m: m.decode(m.codes_, [["a"] * N]), r"candidates must hold real numbers")
    used("diag with NaN", lambda m: m.decode(m.codes_, K_NEW, diag=np.nan), r"diag must be finite and not negative")
    used("negative diag", lambda m: m.decode(m.codes_, K_NEW, diag=-1.0), r"diag must be finite and not negative")
    used(
        "diag of another length",
        lambda m: m.decode(m.codes_, K_NEW, diag=np.ones(3)),
        r"diag must be one number or 5 numbers, .*; got shape \(3,\)",
    )
    used(
        "diag = 'ones'",
        lambda m: m.reconstruction_error(K_NEW, diag="ones"),
        r"diag must hold real numbers; got dtype <U4",
    )
    used(
        "diag as a matrix",
        lambda m: m.reconstruction_error(K_NEW, diag=np.ones((2, 5))),
        r"diag must be one number or 5 numbers, .*; got shape \(2, 5\)",
    )
