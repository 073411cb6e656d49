"""The spectral contrastive loss, in whitened parameters.

The codes of all points are ``Z = F U`` with ``F F^T`` the Gram matrix, so that ``||W||^2 = ||U||^2`` and no inverse
appears (``docs/papers/representation_learning.md``). With given negatives,

    L(U) = sum_i [ -2 z_i . mean z_i^+ + mean (z_i . z_i^-)^2 ] + reg ||U||^2,

which may be unbounded below for small ``reg`` and is minimised by zero for large ``reg``. With a pool of negatives,

    L(U) = -(2/n) sum_i z_i . mean z_i^+ + || sum_a d_a z_a z_a^T ||^2 + reg ||U||^2,

``d`` the marginal weights of anchors and positives: bounded for every ``reg >= 0``, and solved in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rkhs._core.eigen import top_eigenpairs
from rkhs._core.linalg import divisor, flips
from rkhs.problems.pairs import Links, Pairs

_RANK = 1e-10  # relative eigenvalue below which directions of a Gram matrix are dropped
_MAX_MEAN_SQUARE = 1e6  # mean squared entry of the codes above which they diverge; near one if the loss is bounded


@dataclass(frozen=True)
class SpectralOptimum:
    """Minimiser of the pooled spectral loss."""

    coefficients: Tensor  # (N, h)
    codes: Tensor  # (N, h): of the points
    eigenvalues: Tensor  # (h,): ``e``; the minimum is ``-sum max(e, 0)^2 / 4``
    value: float


@dataclass(frozen=True)
class PooledSpectral:
    """Spectral contrastive loss with all anchors and positives as negatives."""

    gram: Tensor  # (N, N): Gram matrix of the points; features (N, m) if ``factored``
    pairs: Pairs  # its negatives are not used
    n_components: int
    factored: bool = False

    @cached_property
    def _parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Basis of the codes, its spectrum, the moment of anchors and positives in it, and the basis in features."""
        root, feature_basis = self.marginal.sqrt(), None
        # Points of weight zero are no part of the loss: their rows vanish here and they get no coefficient.
        weighted = root[:, None] * self.gram
        w, U = torch.linalg.eigh(weighted.mT @ weighted if self.factored else weighted * root[None, :])
        kept = w > _RANK * max(float(w[-1]), 0.0)
        w, U = w[kept], U[:, kept]
        if self.factored:
            feature_basis = U / w.sqrt()
            scaled = self.gram @ feature_basis
        else:
            scaled = U * torch.where(root > 0.0, 1.0 / divisor(root), torch.zeros_like(root))[:, None]
        n = len(self.pairs.anchors)
        G = scaled[self.pairs.anchors].mT @ self.pairs.positives.average(scaled) / n
        return scaled, w, G + G.mT, feature_basis

    @property
    def marginal(self) -> Tensor:
        """Weights ``d`` of the points, half of them from the anchors and half from the positives; shape (N,)."""
        n = len(self.pairs.anchors)
        d = self.pairs.positives.totals().to(self.gram.dtype)
        return d.index_add(0, self.pairs.anchors, torch.ones_like(d[: len(self.pairs.anchors)])) / (2.0 * n)

    def active_regs(self) -> Tensor:
        """Values of ``reg`` at which one component after the other becomes zero, descending; shape (at most h,)."""
        _, spectrum, moment, _ = self._parts
        root = spectrum.sqrt()
        H = root[:, None] * moment * root[None, :]
        k = min(self.n_components, H.shape[0])
        return top_eigenpairs(H, k)[0].clamp_min(0.0) if k else H.new_zeros(0)

    def reg_bounds(self) -> tuple[float, float]:
        """Thresholds of ``reg``: the loss is bounded below from the first, and minimised by zero from the second on."""
        regs = self.active_regs()
        return 0.0, float(regs[0]) if len(regs) else 0.0

    def solve(self, reg: float) -> SpectralOptimum:
        """Closed form for one ``reg``: leading eigenpairs of ``moment - reg diag(1 / spectrum)``."""
        h, (basis, spectrum, moment, feature_basis) = self.n_components, self._parts
        H = moment - reg * torch.diag(1.0 / spectrum)
        k = min(h, H.shape[0])
        e, Q = top_eigenpairs(H, k) if k else (H.new_zeros(0), H.new_zeros(0, 0))
        e = torch.where(e > 1e-12 * float(moment.diagonal().abs().sum()), e, e.clamp_max(0.0))
        Y = Q * (0.5 * e.clamp_min(0.0)).sqrt()
        codes = basis @ Y
        if feature_basis is None:
            coefficients = self.marginal[:, None] * (basis @ (Y / spectrum[:, None]))
        else:
            coefficients = feature_basis @ Y
        value = -0.25 * float((e.clamp_min(0.0) ** 2).sum())
        signs = flips(codes)
        return SpectralOptimum(
            torch.nn.functional.pad(coefficients * signs, (0, h - k)),
            torch.nn.functional.pad(codes * signs, (0, h - k)),
            torch.cat([e, e.new_zeros(h - k)]),
            value,
        )


@dataclass(frozen=True)
class SpectralContrastive:
    """Spectral contrastive loss with given negatives, for L-BFGS."""

    factor: Tensor  # (N, r): ``F``
    pairs: Pairs  # with negatives
    n_components: int
    reg: float  # multiplies ``||W||^2``; the loss is a sum over the anchors

    @property
    def negatives(self) -> Links:
        """Negatives of each anchor."""
        assert self.pairs.negatives is not None
        return self.pairs.negatives

    def codes(self, point: Tensor) -> Tensor:
        """Codes of the points, shape (N, h)."""
        return self.factor @ point

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Loss and gradient in ``U``, shape (r, h). O(N r h)."""
        Z = self.codes(point)
        anchors, positives, negatives = self.pairs.anchors, self.pairs.positives, self.negatives
        z, mean = Z[anchors], positives.average(Z)
        z_e, n_e, w = z[negatives.rows], Z[negatives.cols], negatives.weights.to(Z.dtype)
        a = (z_e * n_e).sum(1)
        value = -2.0 * float((z * mean).sum()) + float((w * a * a).sum()) + self.reg * float((point * point).sum())
        wa = (2.0 * w * a)[:, None]
        g = (-2.0 * mean).index_add_(0, negatives.rows, wa * n_e)
        G = positives.spread(-2.0 * z)
        G.index_add_(0, negatives.cols, wa * z_e).index_add_(0, anchors, g)
        return value, (self.factor.mT @ G).add_(point, alpha=2.0 * self.reg)

    def diverged(self, point: Tensor, value: float) -> bool:
        """Whether the codes diverge: below a threshold of ``reg`` the loss is unbounded."""
        if not torch.isfinite(point).all() or value != value:
            return True
        Z = self.codes(point)
        return float((Z * Z).sum()) > _MAX_MEAN_SQUARE * Z.shape[0] * max(1, Z.shape[1])

    def positive_moment(self) -> Tensor:
        """``Q`` with ``2 sum_i z_i . mean z_i^+ = <U, Q U>``, shape (r, r)."""
        Q = self.factor[self.pairs.anchors].mT @ self.pairs.positives.average(self.factor)
        return Q + Q.mT

    def reg_bounds(self) -> tuple[float, float]:
        """Thresholds of ``reg``: the loss is unbounded below under the first, minimised by zero from the second on."""
        Q = self.positive_moment()
        if not Q.shape[0]:
            return 0.0, 0.0
        high = max(0.0, float(torch.linalg.eigvalsh(Q)[-1]))
        rows = torch.unique(self.negatives.cols)
        triangle = torch.linalg.qr(self.factor[rows], mode="r")[1]  # few columns: no N x N rotation
        _, s, Vh = torch.linalg.svd(triangle, full_matrices=True)
        rank = int((s > 1e-6 * float(s[0])).sum()) if float(s[0]) > 0.0 else 0
        free = Vh[rank:].mT
        low = float(torch.linalg.eigvalsh(free.mT @ Q @ free)[-1]) if free.shape[1] else 0.0
        return max(0.0, min(low, high)), high

    def active_regs(self) -> Tensor:
        """Leading ``h`` eigenvalues of ``Q``, descending: approximate ``reg`` at which components become zero."""
        k = min(self.n_components, self.factor.shape[1])
        return top_eigenpairs(self.positive_moment(), k)[0] if k else self.factor.new_zeros(0)

    def start(self) -> Tensor:
        """Leading eigenvectors of ``Q``, scaled to the least loss along them; shape (r, h)."""
        Q = self.positive_moment()
        h, r = self.n_components, Q.shape[0]
        E = Q.new_zeros(r, h)
        k = min(h, r)
        if k:
            E[:, :k] = top_eigenpairs(Q, k)[1]
        Z = self.codes(E)
        a = (Z[self.pairs.anchors][self.negatives.rows] * Z[self.negatives.cols]).sum(1)
        quartic = float((self.negatives.weights.to(Z.dtype) * a * a).sum())
        gain = float((E * (Q @ E)).sum()) - self.reg * float((E * E).sum())
        # The loss along s E is -gain s^2 + quartic s^4; far from zero it may have no minimum, so codes stay near one.
        largest = (float(Z.shape[0] * h) / max(float((Z * Z).sum()), 1e-300)) ** 0.5
        if gain <= 0.0:
            return E * (1e-2 * largest)
        best = (0.5 * gain / quartic) ** 0.5 if quartic > 0.0 else largest
        return E * min(best, largest)
