"""What users give in place of a matrix: several Gram matrices of the same items, and molecules for kernels of bits."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from rkhs._core.arrays import as_numpy, to_tensor
from rkhs._core.checks import real_array
from rkhs._core.errors import InputError, shown
from rkhs._core.linalg import constant_value
from rkhs.estimators.gram_views import join_new_views, join_training_views
from rkhs.kernels.base import Kernel
from rkhs.kernels.objects.molecules import fingerprint_rows
from rkhs.kernels.vectors.discrete import MinMax, Tanimoto

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from rdkit.Chem import Mol

    from rkhs.estimators.base import KernelEstimator
    from rkhs.kernels import OperatorKernel

__all__ = ["new_matrix", "read_diagonal", "training_matrix"]

_RADIUS, _BITS = 2, 2048
_NAMED = 5


def training_matrix(model: KernelEstimator, X: Any, kernel: Kernel | OperatorKernel) -> Any:
    """Training data as a matrix; ``model`` remembers how they became one.

    Parameters
    ----------
    model : KernelEstimator
    X : array, list of Gram matrices, or list of SMILES or RDKit molecules
    kernel : Kernel or OperatorKernel
        On vectors or Gram matrices.

    Returns
    -------
    X, or array of shape (n, n) or (n, n_bits)
    """
    model.__dict__.pop("view_weights_", None)  # of an earlier fit
    model.fingerprint_ = None
    if kernel.domain == "gram":
        return join_training_views(model, X, kernel)
    molecules = _molecules(X)
    if molecules is None:
        return X
    leaves = _leaves(kernel)
    if not any(isinstance(leaf, (MinMax, Tanimoto)) for leaf in leaves):
        raise InputError(
            f"X must hold rows of numbers for this kernel; got texts or molecules, the first {shown(molecules[0])}; "
            "pass kernel='tanimoto' for SMILES, kernel='spectrum' for sequences"
        )
    counts = not any(isinstance(leaf, Tanimoto) for leaf in leaves)
    model.fingerprint_ = {"name": "counts" if counts else "morgan", "radius": _RADIUS, "n_bits": _BITS}
    return _fingerprints(model, molecules, "X")


def new_matrix(model: KernelEstimator, X: Any, name: str = "X") -> Any:
    """New data as the matrix that the training data became.

    Parameters
    ----------
    model : KernelEstimator
        Fitted.
    X : as in fit
    name : str
        The argument, for messages.
    """
    if model.kernel_.domain == "gram":
        return join_new_views(model, X, name)
    molecules = _molecules(X)
    if molecules is None:
        return X
    if model.fingerprint_ is None:
        raise InputError(
            f"{name} must hold rows of numbers, as in fit; got texts or molecules, the first {shown(molecules[0])}; "
            "make fingerprints of them as for the fit: rkhs.data.molecular_fingerprints"
        )
    return _fingerprints(model, molecules, name)


def _molecules(X: Any) -> list[Any] | None:
    """The texts or molecules of RDKit in a list, a column or an array; None for anything else."""
    X = as_numpy(X) if hasattr(X, "to_numpy") or isinstance(X, np.ndarray) else X
    if not isinstance(X, (list, tuple, np.ndarray)) or getattr(X, "ndim", 1) != 1 or len(X) == 0:
        return None
    return list(X) if isinstance(X[0], str) or type(X[0]).__module__.startswith("rdkit.") else None


def _leaves(kernel: Kernel | OperatorKernel) -> list[Kernel]:
    """The kernels that a kernel is made of."""
    found = [term.kernel for term in kernel.pairs] if hasattr(kernel, "pairs") else [kernel]
    for part in found:
        found.extend(getattr(part, "parts", ()))
    return found


def _fingerprints(model: KernelEstimator, molecules: list[str] | list[Mol], name: str) -> np.ndarray:
    recipe = model.fingerprint_
    assert recipe is not None
    counts = recipe["name"] == "counts"
    kind = "morgan" if counts else recipe["name"]
    rows, _, refused = fingerprint_rows(molecules, kind, counts, recipe["radius"], recipe["n_bits"])
    if refused:
        listed = ", ".join(f"item {number} ({shown(text)}: {reason})" for number, text, reason in refused[:_NAMED])
        more = f" and {len(refused) - _NAMED} more" if len(refused) > _NAMED else ""
        raise InputError(
            f"{name} must hold SMILES that RDKit reads; got {len(refused)} of {len(molecules)} that it does not: "
            f"{listed}{more}; correct them, or leave them out: rkhs.data.molecular_fingerprints(..., "
            'on_error="skip").kept says which can be read'
        )
    return np.stack(rows).astype(np.float64)


def read_diagonal(diag: ArrayLike | None, K: Tensor, train_diagonal: np.ndarray) -> Tensor:
    """``k(z, z)`` of the items whose kernel values are the rows of ``K``; that of training items if it is constant."""
    m = len(K)
    if diag is not None:
        values = real_array(diag, "diag")
        if values.shape not in ((), (m,)):
            raise InputError(f"diag must be one number or {m} numbers, one an item; got shape {values.shape}")
        values = np.broadcast_to(values, (m,))
        if not np.isfinite(values).all() or (values < 0).any():
            raise InputError("diag must be finite and not negative: k(z, z) of each item, or one number")
        return to_tensor(values, K.dtype, K.device)
    constant = constant_value(train_diagonal)
    if constant is not None:
        return K.new_full((m,), constant)
    warnings.warn(
        "k(x, x) of the new items is unknown and left out: errors are off by a constant for each item, good for "
        "comparing settings only; pass diag=",
        UserWarning,
        stacklevel=4,
    )
    return K.new_zeros(m)
