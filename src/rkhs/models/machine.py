"""A fitted regressor of an operator-valued kernel: coordinates of outputs from items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import Items
from rkhs.kernels.operator_valued import OperatorKernel
from rkhs.losses import Loss
from rkhs.outputs import Euclidean, Functional, OutputSpace
from rkhs.spaces.features import FeatureMap, WholeMap

__all__ = ["Certificates", "MachineModel", "path_values"]


@dataclass(frozen=True, eq=False)
class Certificates:
    """What the dual says of a machine and its training items.

    Parameters
    ----------
    gap : float
        Duality gap.
    support, saturated : ndarray of shape (n_support,) and (n_saturated,)
        Rows with a non-zero dual variable; rows where the loss is linear.
    shares, residuals : ndarray of shape (n,), optional
        The part of the gap of each row, and its distance from the optimality conditions.
    training_loss : float, optional
    kernel_bound : float, optional
        Largest ``sum_t k_t(x, x) ||A_t||`` of the training items.
    output_bound : float, optional
        Largest norm of their targets.

    References
    ----------
    Laforgue et al. (2020), theorems 3, 4 and 8.
    """

    gap: float
    support: np.ndarray
    saturated: np.ndarray
    shares: np.ndarray | None = None
    residuals: np.ndarray | None = None
    training_loss: float | None = None
    kernel_bound: float | None = None
    output_bound: float | None = None

    def on_rows(self, kept: np.ndarray | None, n: int) -> Certificates:
        """Of all ``n`` rows that were given, of which those of ``kept`` were fitted (None: all)."""
        if kept is None:
            return self
        shares, residuals = (part if part is None else _spread(part, kept, n) for part in (self.shares, self.residuals))
        rows = (kept[self.support], kept[self.saturated])
        return replace(self, support=rows[0], saturated=rows[1], shares=shares, residuals=residuals)


def _spread(part: np.ndarray, kept: np.ndarray, n: int) -> np.ndarray:
    whole = np.zeros(n, part.dtype)
    whole[kept] = part
    return whole


@dataclass(frozen=True, eq=False)
class MachineModel:
    """The function ``h(x) = sum_t k_t(x, X) C A_t``, whose values are coordinates of outputs.

    Parameters
    ----------
    kernel : OperatorKernel
        Resolved, with operators in these coordinates.
    map : FeatureMap
        What items are read through; with all training items every term reads them.
    coefficients : ndarray of shape (n, r)
        ``C``.
    output : OutputSpace
        Of the targets.
    certificates : Certificates
    loss : Loss, optional
        With numbers for its parameters.
    one_output : bool, default=False
        Whether targets were numbers, not rows.

    References
    ----------
    Laforgue et al. (2020), theorem 3.
    """

    kernel: OperatorKernel
    map: FeatureMap
    coefficients: np.ndarray
    output: OutputSpace
    certificates: Certificates
    loss: Loss | None = None
    one_output: bool = False

    def raw(self, items: Items) -> list[Tensor]:
        """Raw features of items of shape (m, n), one a term."""
        if not self.map.whole:
            return [self.map.raw(items)]
        return self.kernel.grams(items, self.map.support(items) if isinstance(items, Tensor) else self.map.kept)

    def values(self, items: Items, C: Tensor) -> Tensor:
        """Coordinates (m, r) for coefficients of shape (n, r)."""
        return self.kernel.apply(self.raw(items), C)

    def outputs(self, U: Tensor) -> Tensor:
        """Outputs (m, q) at coordinates of shape (m, r), shape (m,) where targets were numbers."""
        assert isinstance(self.output, (Euclidean, Functional))
        decoded = self.output.decode(U)
        return decoded[:, 0] if self.one_output else decoded

    def state(self) -> dict[str, Any]:
        """What model files of format 1 hold, by their names."""
        found = self.certificates
        some = {
            "loss_": self.loss,
            "certificates_": found.shares,
            "kkt_residuals_": found.residuals,
            "training_loss_": found.training_loss,
            "kernel_bound_": found.kernel_bound,
            "output_bound_": found.output_bound,
        }
        return {
            "kernel_": self.kernel,
            "map_": None if self.map.whole else self.map,
            "support_items_": self.map.kept,
            "dual_coef_": self.coefficients,
            "output_": self.output,
            "gap_": found.gap,
            "support_": found.support,
            "saturated_": found.saturated,
            "_one_output": self.one_output,
        } | {name: value for name, value in some.items() if value is not None}

    @classmethod
    def take_state(cls, state: dict[str, Any]) -> Self:
        """The model of a file; takes what it needs out of ``state``."""
        # Files of choices by cross-validation once held the chosen machine one level down.
        state.update({name: value for name, value in state.pop("_fitted", {}).items() if name not in state})
        state.pop("_total_weight", None)
        kernel, features, items = state.pop("kernel_"), state.pop("map_", None), state.pop("support_items_")
        coefficients = state.pop("dual_coef_")
        whole = WholeMap(kernel.pairs[0].kernel, items, len(coefficients))
        names = ("certificates_", "kkt_residuals_", "training_loss_", "kernel_bound_", "output_bound_")
        found = Certificates(
            state.pop("gap_"),
            state.pop("support_"),
            state.pop("saturated_"),
            *(state.pop(name, None) for name in names),
        )
        return cls(
            kernel,
            whole if features is None else features,
            coefficients,
            state.pop("output_"),
            found,
            state.pop("loss_", None),
            state.pop("_one_output", False),
        )


def path_values(kernel: OperatorKernel, raw: list[Tensor], C: Tensor) -> Tensor:
    """Coordinates (m, S, r) at items for the coefficients of S machines.

    Parameters
    ----------
    kernel : OperatorKernel
        Resolved, with operators in these coordinates.
    raw : list of Tensor of shape (m, n)
        Raw features of the items, one a term.
    C : Tensor of shape (S, n, r)

    Returns
    -------
    Tensor of shape (m, S, r)

    References
    ----------
    Laforgue et al. (2020), theorem 3.
    """
    S, n, r = C.shape
    side = C.permute(1, 0, 2).reshape(n, S * r)
    values = torch.zeros(len(raw[0]), S, r, dtype=C.dtype, device=C.device)
    for K, term in zip(raw, kernel.pairs, strict=True):
        values += term._times((K.to(C) @ side).view(-1, r)).view(-1, S, r)
    return values
