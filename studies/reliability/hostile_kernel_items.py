"""Hostile items handed to a kernel by itself."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch

from rkhs.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from studies.reliability.hostile_calls import HostileCalls, X, changed

calls = HostileCalls()
refused, answered = calls.refused, calls.answered

for kernel in (Gaussian(1.0), Laplacian("l1", 1.0), Matern(2.5, 1.0), Linear(), Polynomial(2, 1.0)):
    label = type(kernel).__name__
    refused(f"{label}: strings", lambda kernel=kernel: kernel([["a", "b"]]), r"reads numbers; got dtype <U1")
    refused(f"{label}: complex", lambda kernel=kernel: kernel(X + 1j), r"reads numbers; got dtype complex128")
    refused(
        f"{label}: one dimension",
        lambda kernel=kernel: kernel(X[0]),
        r"reads a 2-D array \(n samples, d inputs\); got shape \(3,\)",
    )
    refused(
        f"{label}: columns that differ",
        lambda kernel=kernel: kernel(X, X[:, :2]),
        r"X and Y must have the same number of columns; got shapes \(14, 3\) and \(14, 2\)",
    )
    refused(f"{label}: ragged", lambda kernel=kernel: kernel([[1.0, 2.0], [3.0]]), r"reads numbers; got dtype object")
    refused(
        f"{label}: NaN",
        lambda kernel=kernel: kernel(changed(np.nan)),
        r"reads finite numbers; got NaN or infinity in row 2",
    )
    refused(f"{label}: no rows", lambda kernel=kernel: kernel(X[:0]), r"got shape \(0, 3\), which is empty")
    refused(
        f"{label}: complex tensor",
        lambda kernel=kernel: kernel(torch.as_tensor(X + 1j)),
        r"reads real numbers; got dtype torch.complex128",
    )
    refused(
        f"{label}: sparse",
        lambda kernel=kernel: kernel(scipy.sparse.csr_matrix(X)),
        r"reads dense arrays; got a sparse csr_matrix",
    )
    answered(f"{label}: integers", lambda kernel=kernel: kernel(np.arange(6).reshape(3, 2)))
    answered(f"{label}: constant data", lambda kernel=kernel: kernel(np.ones((4, 2))))
    answered(f"{label}: tensors and arrays together", lambda kernel=kernel: kernel(torch.as_tensor(X), X))
