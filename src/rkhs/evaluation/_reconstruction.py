"""Reconstruction of items by a fitted model, as errors and as a share of variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs._core.errors import InputError
from rkhs._core.threads import within_limit
from rkhs.estimators import KernelAutoencoder, KernelEstimator, KernelPCA
from rkhs.outputs import Euclidean


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Squared reconstruction errors, next to those of predicting the mean of the training items.

    Parameters
    ----------
    errors : ndarray of shape (m,)
        Squared distance of each item from its reconstruction.
    spread : ndarray of shape (m,)
        Squared distance of each item from the mean of the training items.
    space : {"input", "feature"}
        Where distances are taken: between vectors, or between features ``phi(x)``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelPCA
    >>> from rkhs.evaluation import reconstruction
    >>> X = load_iris().data
    >>> found = reconstruction(KernelPCA(2, kernel="linear", columns="raw").fit(X), X)
    >>> found.space, found.errors.shape, bool(found.share > 0.97)
    ('input', (150,), True)
    """

    errors: np.ndarray
    spread: np.ndarray
    space: str

    @property
    def share(self) -> float:
        """Share of the variance around the training mean that is rebuilt; 1 is perfect, 0 as bad as the mean."""
        total = float(self.spread.mean())
        return 1.0 - float(self.errors.mean()) / total if total > 0.0 else float("nan")


@within_limit
def reconstruction(
    model: KernelEstimator, X: Any, *, space: str = "auto", diag: Any = None, codes: Any = None
) -> Reconstruction:
    """Rebuild items from their codes and measure the errors.

    Parameters
    ----------
    model : KernelAutoencoder or KernelPCA
        Fitted without ``targets``.
    X : array (m, d), kernel values (m, n), or list of m objects
    space : {"auto", "input", "feature"}, default="auto"
        Kernel PCA on vectors can be measured in both spaces; "auto" is its pre-image in the space of inputs. An
        autoencoder is measured where it was trained.
    diag : float or array of shape (m,), optional
        ``k(x, x)`` of the items, for ``kernel="precomputed"``.
    codes : array of shape (m, p), optional
        Codes of the items where they are known, which saves an autoencoder most of the time.

    Returns
    -------
    Reconstruction

    Raises
    ------
    InputError
        If the model cannot be measured that way.

    References
    ----------
    Laforgue et al. (2019), section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder
    >>> from rkhs.evaluation import reconstruction
    >>> X = load_iris().data
    >>> found = reconstruction(KernelAutoencoder(2).fit(X[::2]), X[1::2])
    >>> found.space, bool(found.share > 0.9)
    ('input', True)
    """
    if isinstance(model, KernelPCA):
        return _of_kernel_pca(model, X, space, diag)
    if not isinstance(model, KernelAutoencoder):
        raise InputError(f"model must be a KernelAutoencoder or a KernelPCA; got a {type(model).__name__}")
    native = "input" if isinstance(model.output_, Euclidean) else "feature"
    if space not in ("auto", native):
        raise InputError(f"space={space!r}: this autoencoder rebuilds in the {native} space; use 'auto' or {native!r}")
    errors = model.reconstruction_error(X, diag=diag, codes=codes)
    if not model.model_.rebuilt.self_targets:
        raise InputError("the model rebuilds targets of its own; use its reconstruction_error(X, targets=...)")
    return Reconstruction(errors, model._target_spread(X, diag=diag), native)


def _of_kernel_pca(model: KernelPCA, X: Any, space: str, diag: Any) -> Reconstruction:
    native = "input" if model.kernel_.domain == "vectors" and space != "feature" else "feature"
    errors = model.reconstruction_error(X, space=native, diag=diag)

    def spread(items: Any, diagonal: Any) -> np.ndarray:
        if native == "input":
            return np.asarray(((items.cpu().numpy() - np.asarray(model.output_.mean)) ** 2).sum(axis=1))
        known = model.kernel_._diag(items) if diagonal is None else diagonal
        return np.asarray(model.model_.norms(model._cross_gram(items), known).cpu().numpy())

    return Reconstruction(errors, model._in_tiles(X, spread, model._new_diagonal(X, diag)), native)
