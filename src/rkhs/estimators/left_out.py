"""Fitted autoencoders and their training items: facts in closed form."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from torch import Tensor

from rkhs._core.arrays import to_tensor
from rkhs._core.errors import NotPositiveSemidefiniteWarning
from rkhs._core.linalg import positive_part
from rkhs.estimators.fitted_autoencoder import FittedAutoencoder
from rkhs.losses import Squared, as_loss
from rkhs.models.left_out import left_out_facts

__all__ = ["autoencoder_facts", "leave_one_out_rows"]


def leave_one_out_rows(model: FittedAutoencoder, K: np.ndarray | None = None) -> np.ndarray | None:
    """Squared leave-one-out errors of the training items, shape (n,), in units of the scaled targets.

    ``K`` is the Gram matrix of the items in the fit, for ``kernel="precomputed"``, where a model does not keep it.
    """
    known = None
    if K is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPositiveSemidefiniteWarning)  # said by the fit
            known = positive_part(
                to_tensor(K, **model._options), psd=model.psd, name="the Gram matrix of the training items"
            )
    rows = autoencoder_facts(model, known)[1]
    return None if rows is None else rows.cpu().numpy()


def autoencoder_facts(model: FittedAutoencoder, K: Tensor | None = None) -> tuple[dict[str, Any], Tensor | None]:
    """Facts by the name of the diagnostic, and the errors of :func:`leave_one_out_rows`.

    ``K`` is the Gram matrix of the training items; None: that of the model, where it knows it.
    """
    Z = to_tensor(model.model_.layers[0].anchors, **model._options)
    return left_out_facts(
        model.model_,
        Z,
        model.model_.training_gram(Z) if K is None else K,
        squared=isinstance(as_loss(model.loss), Squared),
        plain=len(model.model_.layers) == 1 and model.operators is None,
        center=model.center,
        refine=model._steps if model._refines else None,
    )
