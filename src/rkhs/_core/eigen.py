"""Eigenvalues of symmetric matrices: the leading pairs, and clipping of negative ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
import torch
from torch import Tensor

from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning, warn
from rkhs._core.linalg import center_gram, divisor, fix_signs

_LANCZOS_FROM = 400  # below this size a dense eigendecomposition is faster than Lanczos
_MAX_BLOCKS = 60  # largest number of blocks of a Krylov space


def top_eigenpairs(K: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Largest ``k`` eigenvalues (descending) and eigenvectors of a symmetric matrix, with a fixed sign."""
    if prefers_lanczos(K, k):
        return lanczos(symmetric_product(K), K, k)
    values, vectors = torch.linalg.eigh(K)
    return values[-k:].flip(0), fix_signs(vectors[:, -k:].flip(1))


def prefers_lanczos(K: Tensor, k: int) -> bool:
    """Whether Lanczos finds ``k`` eigenpairs of a matrix like ``K`` sooner than a dense eigendecomposition."""
    return K.shape[0] >= _LANCZOS_FROM and k <= K.shape[0] // 8 and K.device.type == "cpu"


def symmetric_product(K: Tensor) -> Callable[[Tensor], Tensor]:
    """Product of a symmetric matrix with vectors, on the CPU by the BLAS routine that reads one triangle only."""
    if K.device.type != "cpu" or not K.is_contiguous():
        return lambda v: K @ v
    view = K.numpy().T  # in Fortran order, so that BLAS copies nothing
    (symv,) = scipy.linalg.get_blas_funcs(("symv",), (view,))
    return lambda v: torch.from_numpy(symv(1.0, view, v.numpy(), lower=1))


def lanczos(product: Callable[[Tensor], Tensor], like: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Largest ``k`` eigenpairs of a symmetric matrix known by its product with a vector."""
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


def component_eigenpairs(K: Tensor, k: int, weights: Tensor | None, *, center: bool = True) -> tuple[Tensor, Tensor]:
    """Leading eigenpairs of ``W^(1/2) C K C^T W^(1/2)``; by Lanczos, which forms no second matrix, in O(n^2 k)."""
    n = K.shape[0]
    mean = K.new_full((n,), 1.0 / n) if weights is None else weights
    root = mean.sqrt()
    if not prefers_lanczos(K, k):
        C = center_gram(K, weights) if center else K.clone()
        return top_eigenpairs(C.mul_(root[:, None]).mul_(root[None, :]), k)

    multiply = symmetric_product(K)

    def product(v: Tensor) -> Tensor:
        u = root * v
        if center:
            u = u - mean * u.sum()
        u = multiply(u)
        if center:
            u = u - (mean * u).sum()
        return root * u

    return lanczos(product, K, k)


def positive_part(K: Tensor, *, name: str) -> Tensor:
    """Return the matrix with its negative eigenvalues set to zero, and warn if there are any."""
    scale = float(K.diagonal().abs().max())
    shifted = K.clone()
    shifted.diagonal().add_(1e-8 * scale)
    if scale > 0.0 and int(torch.linalg.cholesky_ex(shifted)[1]) == 0:
        return K
    del shifted
    values, vectors = torch.linalg.eigh(K.to(torch.float64))
    smallest, largest = float(values[0]), float(values.abs().max())
    if smallest >= -1e-8 * largest:
        return K
    as_distances = bool((K.diagonal() <= K.min(1).values + 1e-12 * largest).all())  # each item is least like itself
    question = (
        "; is it a distance d? A kernel is exp(-d), or -d**2 / 2 less the means of rows and columns"
        if as_distances
        else ""
    )
    if not float(values[-1]) > 0.0:
        raise InputError(
            f"{name} must have a positive eigenvalue; its largest is {float(values[-1]):.3g}. "
            f"Check its sign: larger values mean more similar items{question}"
        )
    ratio = -smallest / largest
    warn(
        f"{name} is not positive semi-definite: its smallest eigenvalue is {-ratio:.2e} times the largest in modulus; "
        f"negative eigenvalues were set to zero{question}",
        NotPositiveSemidefiniteWarning,
    )
    keep = values > 0.0
    root = vectors[:, keep] * values[keep].sqrt()
    return (root @ root.mT).to(K.dtype)


def block_krylov(product: Callable[[Tensor], Tensor], n: int, k: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Largest ``k`` eigenpairs of a symmetric matrix by a block Krylov method without restarts."""
    width = min(n, k + 8)
    steps = torch.arange(n, dtype=torch.float64)
    start = torch.stack([torch.cos((j + 1.0) * steps * 0.7390851 + j * j) for j in range(width)], 1).to(like)
    Q, _ = torch.linalg.qr(start)
    basis, images = Q, product(Q)
    limit = max(1e-10, 50.0 * torch.finfo(like.dtype).eps)
    for _ in range(_MAX_BLOCKS):
        H = basis.mT @ images
        values, rotation = torch.linalg.eigh((H + H.mT) / 2)
        values, rotation = values.flip(0)[:k], rotation.flip(1)[:, :k]
        vectors = basis @ rotation
        residual = images @ rotation - vectors * values
        sizes = torch.linalg.vector_norm(residual, dim=0)
        if basis.shape[1] >= n or bool((sizes <= limit * float(divisor(values[0].abs()))).all()):
            break
        new = images[:, -width:]
        for _ in range(2):  # twice is enough
            new = new - basis @ (basis.mT @ new)
        new, R = torch.linalg.qr(new)
        kept = R.diagonal().abs() > 1e-12 * divisor(R.diagonal().abs().max())
        new = new[:, kept][:, : n - basis.shape[1]]
        new, _ = torch.linalg.qr(new - basis @ (basis.mT @ new))
        if not new.shape[1]:
            break
        width = new.shape[1]
        basis, images = torch.cat([basis, new], 1), torch.cat([images, product(new)], 1)
    vectors, _ = torch.linalg.qr(vectors)
    return values, fix_signs(vectors)
