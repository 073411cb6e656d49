"""Leading eigenpairs of symmetric matrices, by the dense routine or by Lanczos."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
import torch
from torch import Tensor

from rkhs._core.linalg import fix_signs

__all__ = ["lanczos", "prefers_lanczos", "symmetric_product", "top_eigenpairs"]

_LANCZOS_FROM = 400  # below this size a dense eigendecomposition is faster than Lanczos


def top_eigenpairs(K: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Largest ``k`` eigenvalues (descending) and eigenvectors of a symmetric matrix, with a fixed sign.

    Dense for small matrices or a large share of the spectrum, Lanczos otherwise; both agree to rounding.

    Parameters
    ----------
    K : Tensor of shape (n, n)
        Symmetric matrix.
    k : int
        Number of pairs, ``1 <= k <= n``.

    Returns
    -------
    values : Tensor of shape (k,)
        In descending order.
    vectors : Tensor of shape (n, k)
        Orthonormal columns.
    """
    if prefers_lanczos(K, k):
        return lanczos(symmetric_product(K), K, k)
    values, vectors = torch.linalg.eigh(K)
    return values[-k:].flip(0), fix_signs(vectors[:, -k:].flip(1))


def prefers_lanczos(K: Tensor, k: int) -> bool:
    """Whether Lanczos finds ``k`` eigenpairs of a matrix like ``K`` sooner than a dense eigendecomposition."""
    return K.shape[0] >= _LANCZOS_FROM and k <= K.shape[0] // 8 and K.device.type == "cpu"


def symmetric_product(K: Tensor) -> Callable[[Tensor], Tensor]:
    """Product of a symmetric matrix with vectors, on the CPU by the BLAS routine that reads one triangle only.

    Parameters
    ----------
    K : Tensor of shape (n, n)
        Symmetric matrix.

    Returns
    -------
    callable
        Maps a vector of shape (n,) to ``K v``; half the memory traffic of a general product.
    """
    if K.device.type != "cpu" or not K.is_contiguous():
        return lambda v: K @ v
    view = K.numpy().T  # in Fortran order, so that BLAS copies nothing
    (symv,) = scipy.linalg.get_blas_funcs(("symv",), (view,))
    return lambda v: torch.from_numpy(symv(1.0, view, v.numpy(), lower=1))


def lanczos(product: Callable[[Tensor], Tensor], like: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Largest ``k`` eigenpairs of a symmetric matrix known by its product with a vector.

    Parameters
    ----------
    product : callable
        Maps a vector of shape (n,) to a vector of shape (n,).
    like : Tensor of shape (n, n)
        Gives the size and the dtype.
    k : int
        Number of pairs, less than n.

    Returns
    -------
    values : Tensor of shape (k,)
        In descending order.
    vectors : Tensor of shape (n, k)
        Orthonormal columns with a fixed sign.
    """
    n = like.shape[0]

    def multiply(v: np.ndarray) -> np.ndarray:
        return product(torch.from_numpy(np.ascontiguousarray(v).reshape(-1)).to(like.dtype)).numpy().astype(np.float64)

    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    # A fixed start makes the result a function of the matrix alone; the ramp keeps it off symmetric null directions.
    start = np.cos(np.arange(n)) + 1.0
    # Residuals of 1e-10 give eigenvalues to rounding. Kernel matrices of eight sets took 41 products or more for ten
    # pairs with 40 basis vectors and 1e-12, 33 on most with these.
    tol = 1e-10 if like.dtype == torch.float64 else 1e-6
    try:
        found = scipy.sparse.linalg.eigsh(operator, k=k, which="LA", v0=start, tol=tol, ncv=min(n, 2 * k + 12))
    except scipy.sparse.linalg.ArpackNoConvergence:  # clusters of equal eigenvalues
        columns = np.stack([multiply(column) for column in np.eye(n)], axis=1)
        found = scipy.linalg.eigh((columns + columns.T) / 2, subset_by_index=[n - k, n - 1])
    order = np.argsort(found[0])[::-1]
    values, vectors = torch.from_numpy(found[0][order]), torch.from_numpy(np.ascontiguousarray(found[1][:, order]))
    return values.to(like.dtype), fix_signs(vectors.to(like.dtype))
