"""Hostile data beside the rows: targets, then sample weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from rkhs._core.errors import InputError
from studies.reliability.hostile_calls import MODELS, HostileCalls, N, X, ae, changed, pca, rebuilt

calls = HostileCalls()
refused, answered = calls.refused, calls.answered

# ---------------------------------------------------------------- targets


def wrong_targets(name: str, targets: Callable[[], Any], match: str, **params: Any) -> None:
    refused(f"autoencoder: {name}", lambda: ae(**params).fit(X, targets=targets()), match)


wrong_targets("targets with fewer rows", lambda: X[:5], r"targets must have one row for each row of X, 14; got 5")
wrong_targets(
    "targets with NaN", lambda: changed(np.nan), r"targets must be a finite array of shape \(n, q\).*NaN or infinity"
)
wrong_targets(
    "targets of one dimension", lambda: X[:, 0], r"targets must be a finite array of shape \(n, q\); got shape \(14,\)$"
)
wrong_targets("complex targets", lambda: X + 1j, r"targets must hold real numbers; got dtype complex128")
wrong_targets("targets of strings", lambda: np.full((N, 2), "a"), r"targets must hold real numbers; got dtype <U1")
wrong_targets(
    "targets without columns", lambda: np.empty((N, 0)), r"targets must have at least one column; got shape \(14, 0\)"
)
wrong_targets("sparse targets", lambda: scipy.sparse.csr_matrix(X), r"targets must be a dense array; got a sparse")
wrong_targets("huge targets", lambda: X * 1e200, r"targets must hold values of modulus under")
wrong_targets(
    "masked targets",
    lambda: np.ma.masked_array(X, mask=X > 1.0),
    r"targets must have no missing values; got a masked array",
)
wrong_targets("targets = 3", lambda: 3.0, r"targets must be a finite array of shape \(n, q\); got shape \(\)")
refused(
    "autoencoder: errors without targets",
    lambda: ae().fit(X, targets=X[:, :2]).reconstruction_error(X),
    r"targets must be given: the model was fitted with fit\(X, targets=...\)",
)
refused(
    "autoencoder: errors with targets of another width",
    lambda: ae().fit(X, targets=X[:, :2]).reconstruction_error(X, targets=X),
    r"targets must be a finite array of shape \(m, 2\); got shape \(14, 3\)",
)
refused(
    "autoencoder: errors with fewer targets",
    lambda: ae().fit(X).reconstruction_error(X, targets=X[:5]),
    r"targets must have one row for each row of X, 14; got 5",
)
refused(
    "autoencoder: one target for many",
    lambda: ae().fit(X).reconstruction_error(X, targets=X[:1]),
    r"targets must have one row for each row of X, 14; got 1",
)
refused(
    "autoencoder: decode without stored targets",
    lambda: ae().fit(X, targets=X[:, :2]).decode(X[:, :2]),
    r"candidates must be given",
)
refused(
    "autoencoder: constant targets",
    lambda: ae().fit(X, targets=np.ones((N, 2))),
    r"targets must hold at least two different items",
)
answered("autoencoder: integer targets", lambda: ae().fit(X, targets=np.arange(N)[:, None]).codes_)
answered(
    "autoencoder: targets at 1e9",
    lambda: ae().fit(X, targets=X + 1e9).codes_,
    lambda out: np.allclose(out, ae().fit(X, targets=X).codes_, rtol=1e-4, atol=1e-4),
)

# ---------------------------------------------------------------- sample weights

for model_name, make in MODELS.items():

    def weights(
        name: str,
        w: Any,
        match: str,
        error: type[Exception] = ValueError,
        make: Callable[..., Any] = make,
        model_name: str = model_name,
    ) -> None:
        refused(f"{model_name}: {name}", lambda: make().fit(X, sample_weight=w), match, error)

    weights(
        "negative weight",
        np.r_[-1.0, np.ones(N - 1)],
        r"sample_weight must not be negative; got a smallest weight of -1",
        InputError,
    )
    weights("NaN weight", np.r_[np.nan, np.ones(N - 1)], r"Input sample_weight contains NaN")
    weights("infinite weight", np.r_[np.inf, np.ones(N - 1)], r"Input sample_weight contains infinity")
    weights("weights of another length", np.ones(N + 1), r"sample_weight.shape == \(15,\), expected \(14,\)")
    weights("weights all zero", np.zeros(N), r"sample_weight must have a positive sum; got zeros only|zero", ValueError)
    weights("weights in two dimensions", np.ones((N, 2)), r"Sample weights must be 1D")
    weights("weights of strings", np.full(N, "a"), r"sample_weight must hold real numbers; got dtype <U1")
    answered(
        f"{model_name}: weights whose sum overflows", lambda make=make: rebuilt(make(), sample_weight=np.full(N, 1e308))
    )
    answered(
        f"{model_name}: weights over 16 orders", lambda make=make: rebuilt(make(), sample_weight=np.logspace(-8, 8, N))
    )
    answered(
        f"{model_name}: tiny weights", lambda make=make: rebuilt(make(), sample_weight=np.linspace(1e-300, 2e-300, N))
    )
    answered(
        f"{model_name}: subnormal weights",
        lambda make=make: rebuilt(make(), sample_weight=np.linspace(1e-320, 2e-320, N)),
    )
    answered(f"{model_name}: integer weights", lambda make=make: rebuilt(make(), sample_weight=np.arange(N)))
    answered(f"{model_name}: boolean weights", lambda make=make: rebuilt(make(), sample_weight=np.arange(N) > 3))
    answered(f"{model_name}: one weight", lambda make=make: rebuilt(make(), sample_weight=2.0))
    answered(
        f"{model_name}: one weight far above the others",
        lambda make=make: rebuilt(make(), sample_weight=np.r_[1e12, np.ones(N - 1)]),
    )
refused(
    "autoencoder: one row of positive weight",
    lambda: ae().fit(X, sample_weight=np.eye(N)[0]),
    r"X must have at least 2 rows of positive weight; got n_samples=1",
)
refused(
    "pca: more components than rows of positive weight",
    lambda: pca(n_components=2).fit(X, sample_weight=np.eye(N)[0]),
    r"n_components must be an integer from 1 to 1 \(the number of samples\); got 2",
)
