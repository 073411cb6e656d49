"""The maximum-margin loss: a hinge on the inner product of prediction and target."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rkhs._core.arrays import read_numbers, tensor_like
from rkhs._core.errors import InputError
from rkhs.losses.base import Loss


class MaximumMargin(Loss):
    """Hinge of the inner product with the target, ``f(r) = (1 - <h, z>)_+`` at ``h = z + r``.

    It asks each prediction to reach the half space ``<h(x_i), z_i> >= 1`` and is indifferent beyond, so that dual
    variables are multiples ``v_i z_i``, ``0 <= v_i <= 1``, of the targets.

    Parameters
    ----------
    targets : array of shape (n, q), optional
        The targets ``z_i`` row by row; an estimator or problem fills them in by :meth:`bind`.

    Raises
    ------
    InputError
        If the loss is evaluated without targets, or on another number of rows.

    References
    ----------
    Laforgue et al. (2020), proposition 1, first item, with ``f(t) = max(0, 1 - t)``.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import MaximumMargin
    >>> MaximumMargin([[1.0, 0.0]]).value(torch.tensor([[-0.75, 3.0]]))
    tensor([0.7500])
    """

    isotropic = True
    of_targets = True

    def __init__(self, targets: Any = None) -> None:
        self.targets = targets

    def bind(self, Y: Tensor) -> MaximumMargin:
        """The loss for targets ``Y`` of shape (n, q)."""
        return MaximumMargin(Y)

    def _directions(self, R: Tensor) -> tuple[Tensor, Tensor]:
        if self.targets is None:
            raise InputError("MaximumMargin.targets must be given before the loss is evaluated; call bind(Y)")
        targets = self.targets
        Z = tensor_like(targets if isinstance(targets, Tensor) else read_numbers(targets, "MaximumMargin.targets"), R)
        if Z.shape != R.shape:
            raise InputError(
                f"MaximumMargin.targets must have the shape {tuple(R.shape)} of the rows; got {tuple(Z.shape)}"
            )
        return Z, (Z * Z).sum(-1)

    def value(self, R: Tensor) -> Tensor:
        """``(1 - <z_i + r_i, z_i>)_+``, shape (n,)."""
        Z, square = self._directions(R)
        return (1.0 - square - (R * Z).sum(-1)).clamp_min(0.0)

    def gradient(self, R: Tensor) -> Tensor:
        """``-z_i`` where the margin is violated, else zero, shape (n, q)."""
        Z, _ = self._directions(R)
        return torch.where((self.value(R) > 0).unsqueeze(-1), -Z, torch.zeros_like(Z))

    def conjugate(self, A: Tensor) -> Tensor:
        """``-v_i (1 - ||z_i||^2)`` for ``a_i = -v_i z_i`` with ``v_i`` in [0, 1], infinite elsewhere; shape (n,)."""
        Z, square = self._directions(A)
        positive = square > 0
        v = torch.where(positive, -(A * Z).sum(-1) / torch.where(positive, square, 1.0), 0.0)
        slack = 1e3 * torch.finfo(A.dtype).eps
        off_line = torch.linalg.vector_norm(A + v.unsqueeze(-1) * Z, dim=-1)
        inside = (v >= -slack) & (v <= 1.0 + slack) & (off_line <= slack * (1.0 + torch.linalg.vector_norm(A, dim=-1)))
        # A zero target leaves the constant loss 1, whose conjugate at zero is -1.
        finite = torch.where(positive, -v * (1.0 - square), -1.0)
        return torch.where(inside, finite, torch.inf)

    def prox_conjugate(self, A: Tensor, step: float) -> Tensor:
        """The nearest admissible multiple of ``z_i`` after the linear term, shape (n, q)."""
        Z, square = self._directions(A)
        positive = square > 0
        v = (-(A * Z).sum(-1) + step * (1.0 - square)) / torch.where(positive, square, 1.0)
        v = torch.where(positive, v.clamp(0.0, 1.0), torch.zeros_like(v))
        return -v.unsqueeze(-1) * Z
