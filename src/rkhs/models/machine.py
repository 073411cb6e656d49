"""A fitted regressor of an operator-valued kernel: coordinates of outputs from items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import Items, as_tensor, tensor_like
from rkhs._core.errors import InputError
from rkhs._core.stored import Stored, check_places, check_shape, completing, leanest
from rkhs.kernels import Kernel, OperatorKernel
from rkhs.losses import Loss, Squared
from rkhs.models.conformal import Calibration, NewItems
from rkhs.models.kept import GramOf
from rkhs.outputs import RKHS, Euclidean, Functional, OutputSpace
from rkhs.problems.dual import dual_problem
from rkhs.solvers import Direct
from rkhs.spaces.features import FeatureMap, WholeMap
from rkhs.spaces.features.base import check_items_stored, check_kernel_stored


@dataclass(frozen=True, eq=False)
class Certificates(Stored):
    """Certificates from the dual problem: duality gap, and the part of each training item."""

    gap: float  # duality gap
    support: np.ndarray  # (n_support,): rows with a non-zero dual variable
    saturated: np.ndarray  # (n_saturated,): rows where the loss is linear
    shares: np.ndarray | None = None  # (n,): part of the gap of each item; their mean is the gap
    residuals: np.ndarray | None = None  # (n,): violation of the optimality (KKT) conditions
    training_loss: float | None = None
    kernel_bound: float | None = None  # largest ``sum_t k_t(x, x) ||A_t||`` of the training items
    output_bound: float | None = None  # largest norm of their targets

    def on_rows(self, kept: np.ndarray | None, n: int) -> Certificates:
        """Return them on all ``n`` rows that were passed, of which those of ``kept`` were fitted (None: all)."""
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
class MachineModel(Stored):
    """The function ``h(x) = sum_t k_t(x, X) C A_t``, whose values are coordinates of outputs."""

    kernel: OperatorKernel  # resolved, with operators in these coordinates
    map: FeatureMap  # of the items; with all training items every term has its kernel on them
    coefficients: Any  # ``C``, (n, r): None in a file that omits it because it can be recomputed
    output: OutputSpace  # of the targets
    certificates: Certificates
    loss: Loss | None = None  # with numbers for its parameters
    one_output: bool = False  # whether targets were numbers, not rows
    gram_of_outputs: GramOf | None = None  # of outputs that are features, if the estimator stores them
    reg: float | None = None  # None with sample weights, gaps, landmarks or random features
    left_out: np.ndarray | None = None  # (n, q): with leaves, ``y_i`` less the prediction without row i
    equal_alone: bool | None = None  # whether equal rows with equal targets are left out one by one: they are no copies

    def raw(self, items: Items) -> list[Tensor]:
        """Raw features of items of shape (m, n), one per term."""
        if not self.map.whole:
            return [self.map.raw(items)]
        return self.kernel.grams(items, self.map.support(items) if isinstance(items, Tensor) else self.map.kept)

    def values(self, items: Items, C: Tensor) -> Tensor:
        """Coordinates (m, r) for coefficients of shape (n, r)."""
        if not self.map.whole:
            return self.map.times(items, self.kernel.pairs[0]._times(C))
        return self.kernel.apply(self.raw(items), C)

    def outputs(self, U: Tensor) -> Tensor:
        """Outputs (m, q) at coordinates of shape (m, r), shape (m,) where targets were numbers."""
        assert isinstance(self.output, (Euclidean, Functional))
        decoded = self.output.decode(U)
        return decoded[:, 0] if self.one_output else decoded

    @property
    def leaves_out(self) -> bool:
        """Whether leave-one-out residuals have a closed form."""
        plain = all(term.operator is None for term in self.kernel.pairs)
        return isinstance(self.loss, Squared) and plain and self.map.whole and self.reg is not None

    @property
    def has_sets(self) -> bool:
        """Whether sets need neither further rows nor the Gram matrix of the fit."""
        if self.left_out is not None:
            return self.reg is not None
        return self.leaves_out and self.map.kept is not None

    def calibrated(self, gram: Tensor | None = None) -> Calibration:
        """Leave-one-out calibration of the machine; ``gram``: Gram matrix (n, n) of a precomputed kernel."""
        if self.reg is None or not self.leaves_out:
            facts = {
                f"the loss {type(self.loss).__name__}": self.loss is not None and not isinstance(self.loss, Squared),
                "an operator on its outputs": any(term.operator is not None for term in self.kernel.pairs),
                "landmarks or random features": not self.map.whole,
                "missing targets or sample weights": self.reg is None and self.map.whole,
            }
            has = " and ".join(name for name, true in facts.items() if true)
            raise InputError(
                f"leave-one-out calibration is not implemented for this model, because it has {has}; pass rows that "
                "the fit did not see: predict_set(X, held_out=(X_other, y_other))"
            )
        if gram is None:
            return self._calibration
        return self.with_gram(gram.cpu().double(), self.targets(gram.cpu().double()))

    def with_gram(self, K: Tensor, U: Tensor, reg: float | None = None) -> Calibration:
        """Calibration with another Gram matrix (n, n) for the targets' coordinates (n, r); ``reg``: None, the same."""
        mean, n, reg = getattr(self.output, "mean", None), self.map.width, self.reg if reg is None else reg
        assert reg is not None
        free = mean is not None and bool(np.any(mean))
        groups = np.arange(n) if self.equal_alone else None
        return Calibration.from_gram(K, U, n * reg, mean=free, unit=n, dtype=self.dtype, groups=groups)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the kernel values of the fit."""
        return as_tensor(self.coefficients).dtype

    def targets(self, K: Tensor) -> Tensor:
        """Coordinates (n, r) of the targets of the fit, from its Gram matrix (n, n)."""
        assert self.reg is not None
        C = as_tensor(self.coefficients).double()
        return K @ C + self.map.width * self.reg * C

    @cached_property
    def _calibration(self) -> Calibration:
        return self.calibrated(self.gram())

    def gram(self) -> Tensor:
        """Gram matrix (n, n) of the training items, in float64."""
        if self.map.kept is None:
            raise InputError(
                "gram must be the Gram matrix (n, n) of the fit, which a model of kernel='precomputed' does not store: "
                "pass gram=K"
            )
        grams = [GramOf(term.kernel, self.map.kept, self.coefficients)() for term in self.kernel.pairs]
        return torch.stack(grams).sum(0).cpu().double()

    def with_kernel(self, kernel: OperatorKernel) -> Self:
        """The model with another resolved kernel."""
        return replace(self, kernel=kernel, map=WholeMap(kernel.pairs[0].kernel, self.map.kept, self.map.width))

    def values_of(self, items: Items, diagonal: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Kernel values (m, n) of items with the training items, and ``k(x, x)`` (m,), unless ``diagonal`` is given."""
        K = torch.stack(self.raw(items)).sum(0)
        found = (
            torch.stack([term.kernel._diag(items) for term in self.kernel.pairs]).sum(0).to(K)
            if diagonal is None
            else diagonal
        )
        return K, found

    def new_items(self, calibration: Calibration, items: Items, diagonal: Tensor | None = None) -> NewItems:
        """Predictions and posterior variances of new items; ``diagonal`` (m,): ``k(x, x)`` for a precomputed kernel."""
        return calibration.new(*self.values_of(items, diagonal))

    def in_units(self, differences: Tensor) -> np.ndarray:
        """Differences (m, r) of coordinates as differences (m, q) of outputs."""
        assert isinstance(self.output, (Euclidean, Functional))
        decoded = self.output.decode(torch.cat([differences.double(), differences.new_zeros(1, self.output.dim)]))
        return np.asarray((decoded[:-1] - decoded[-1]).cpu().numpy())

    def in_file(self) -> Self:
        """The model without arrays that can be recomputed from its outputs."""
        return leanest(replace(self, map=self.map.in_file()), self._lean(), lambda model: model._parts)

    @property
    def _parts(self) -> tuple[Any, ...]:
        """Arrays that a file may omit."""
        return self.coefficients, self.output.cholesky if isinstance(self.output, RKHS) else None

    def _lean(self) -> Iterator[Self]:
        """Models without arrays that can be recomputed, the smallest first."""
        output = self.output
        if not isinstance(output, RKHS) or self.gram_of_outputs is None:
            return
        if 2 * len(output.cholesky) <= len(output.gram_mean):  # would save hardly any memory
            return
        lean = replace(self, map=self.map.in_file(), output=output.without_cholesky())
        if self._has_closed_form:
            yield replace(lean, coefficients=None)
        yield lean

    @property
    def _has_closed_form(self) -> bool:
        """Whether the coefficients can be recomputed from the Gram matrices of items and outputs."""
        plain = isinstance(self.loss, Squared) and len(self.kernel.pairs) == 1 and self.map.whole
        return plain and self.map.kept is not None and self.reg is not None

    def check_stored(self) -> None:
        """Sizes must agree."""
        n = self.map.width
        check_shape("coefficients", self.coefficients, n, self.output.dim)
        check_places("support", self.certificates.support, 2**31)
        check_places("saturated", self.certificates.saturated, 2**31)
        for term in self.kernel.pairs:
            check_shape("operator", term.operator, self.output.dim, self.output.dim)
            if self.map.whole and self.map.kept is not None:
                WholeMap(term.kernel, self.map.kept, n).check_stored()
            else:
                check_kernel_stored(term.kernel, self.map)
        if self.gram_of_outputs is not None and isinstance(self.output, RKHS):
            check_items_stored(self.gram_of_outputs.kernel, self.gram_of_outputs.items, len(self.output.gram_mean))

    def from_file(self) -> Self:
        """The model with omitted arrays recomputed."""
        output, of, C = self.output, self.gram_of_outputs, self.coefficients
        with completing():
            if isinstance(output, RKHS) and output.cholesky is None and of is not None:
                output, U = output.recomputed(of())
                C = self._coefficients(U) if C is None and self._has_closed_form else C
        if C is None or (isinstance(output, RKHS) and output.cholesky is None):
            raise InputError("a machine must have coefficients, or outputs to recompute them; got neither")
        return replace(self, output=output, coefficients=C)

    def _coefficients(self, U: Tensor) -> np.ndarray:
        """Coefficients (n, r) of the squared loss for coordinates (n, r) of the outputs."""
        term, reg = self.kernel.pairs[0], self.reg
        assert reg is not None
        K = GramOf(term.kernel, self.map.kept, U.numpy())()
        A = None if term.operator is None else tensor_like(term.operator, U)
        return Direct().solve(dual_problem([(K, A)], U, Squared(), reg)).point.cpu().numpy()

    def with_outputs(self, kernel: Kernel, items: Any) -> Self:
        """The model with the outputs whose features it predicts."""
        output = self.output
        if not isinstance(output, RKHS) or kernel.domain == "gram":
            return self
        return replace(self, gram_of_outputs=GramOf(kernel, items, output.gram_mean))


def path_values(kernel: OperatorKernel, raw: list[Tensor], C: Tensor) -> Tensor:
    """Coordinates (m, S, r) at items for the coefficients of S machines."""
    S, n, r = C.shape
    side = C.permute(1, 0, 2).reshape(n, S * r)
    values = torch.zeros(len(raw[0]), S, r, dtype=C.dtype, device=C.device)
    for K, term in zip(raw, kernel.pairs, strict=True):
        values += term._times((K.to(C) @ side).view(-1, r)).view(-1, S, r)
    return values
