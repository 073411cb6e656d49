"""The constrained deep restricted kernel machine: objective, gradient, frozen quadratic model, starts, matrices."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from rkhs._core.eigen import block_krylov, lanczos, prefers_lanczos, symmetric_product, top_eigenpairs
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer, center_gram, fix_signs
from rkhs.constraints import Stiefel
from rkhs.kernels import Gaussian, Kernel
from rkhs.kernels.combined.sums_and_products import weighted_terms
from rkhs.kernels.vectors.distances import squared_distances
from rkhs.kernels.vectors.dot_product import DotProduct, Linear
from rkhs.kernels.vectors.radial import Radial

LinearMap = Callable[[Tensor], Tensor]

_TILE_BYTES = 2**26


@dataclass(frozen=True)
class FrozenMachine:
    """A machine at one point; with its Gram matrices fixed there, the objective is ``-1/2 sum_l Tr(H_l^T F_l H_l)``."""

    value: float
    grad: Tensor  # (n, S)
    maps: tuple[Callable[[Tensor, Tensor], Tensor], ...]  # for each layer ``(V, K0 V) -> F_l V``


@dataclass(frozen=True)
class ConstrainedDRKM:
    """``min_H -sum_l 1/(2 eta_l) Tr(H_l^T K_(l-1) H_l)`` over codes with orthonormal columns."""

    # ``K_0`` is the Gram matrix of the data, ``K_l = k_l(c H_l, c H_l)`` that of the codes of layer ``l``, all of them
    # centred if ``center``. The point is ``H = [H_1, .., H_L]``, shape (n, S) with ``S = sum n_components``.

    gram: Tensor  # (n, n): ``K_0``; centred by the caller if ``center`` (:meth:`from_gram` does it)
    kernels: tuple[Kernel, ...]  # resolved kernels on the codes, one fewer than layers
    n_components: tuple[int, ...]  # widths of the layers
    eta: tuple[float, ...]  # inverse weights of the layers
    center: bool = False  # centre every Gram matrix; the paper does not
    code_scale: str = "unit"  # factor ``c``: one (paper) or ``sqrt(n)``
    factored: bool = False

    constraint: ClassVar[Stiefel] = Stiefel()
    solvers: ClassVar[tuple[str, ...]] = (  # that keep the constraint
        *("Subspace", "RiemannianLBFGS", "ProjectedGradient", "QuadraticPenalty", "CayleyAdam"),
    )

    def __post_init__(self) -> None:
        n, widths = self.gram.shape[0], self.n_components
        total, most = sum(widths), n - 1 if self.center else n
        if total > most:
            why = " (one direction is lost by centring)" if self.center else ""
            raise InputError(
                f"n_components must ask for at most {most} orthogonal codes with n_samples={n}{why}; got "
                f"{' + '.join(map(str, widths))} = {total} components. Ask for fewer components or give more samples"
            )

    @classmethod
    def from_gram(cls, K: Tensor, *, center: bool, factored: bool = False, **settings: object) -> ConstrainedDRKM:
        """Build the machine from an uncentred Gram matrix of shape (n, n), or a factor of it."""
        gram = _centred_gram(K, factored) if center else K
        return cls(gram=gram, center=center, factored=factored, **settings)  # type: ignore[arg-type]

    @property
    def scale(self) -> float:
        """The factor ``c`` of the codes inside the kernels."""
        return math.sqrt(self.gram.shape[0]) if self.code_scale == "sqrt_n" else 1.0

    @property
    def spans(self) -> tuple[slice, ...]:
        """Columns of each layer."""
        stops = torch.tensor(self.n_components).cumsum(0).tolist()
        return tuple(slice(stop - width, stop) for width, stop in zip(self.n_components, stops, strict=True))

    def split(self, H: Tensor) -> list[Tensor]:
        """The codes of each layer, shapes (n, s_l)."""
        return [H[:, span] for span in self.spans]

    def inner(self, layer: int, H_l: Tensor) -> InnerGram:
        """Gram matrix ``K_l`` of the codes of layer ``layer`` (from 1), uncentred."""
        Z, kernel = self.scale * H_l, self.kernels[layer - 1]
        return TiledGram(kernel, Z) if self.factored else ExactGram(kernel, Z)

    def fixed(self, V: Tensor) -> Tensor:
        """``K_0 V``: the part of the model that never changes, shape (n, q)."""
        return self.gram @ (self.gram.mT @ V) if self.factored else self.gram @ V

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Objective and gradient, a closed form through the pull-back of every Gram matrix."""
        blocks = self.split(point)
        grad = torch.empty_like(point)
        value, below = 0.0, None
        for layer, (span, H, eta) in enumerate(zip(self.spans, blocks, self.eta, strict=True)):
            T = self._centred(H)
            KH = self.fixed(H) if below is None else self._centred(below.times(T))
            value -= 0.5 / eta * float((H * KH).sum())
            grad[:, span] = KH / -eta
            if below is not None:
                grad[:, self.spans[layer - 1]] += below.pullback(T).mul_(-0.5 / eta * self.scale)
            below = self.inner(layer + 1, H) if layer + 1 < len(blocks) else None
        return value, grad

    def freeze(self, point: Tensor, fixed: Tensor) -> FrozenMachine | None:
        """Value, gradient and quadratic model at a point."""
        blocks = self.split(point)
        grams = [self.inner(layer + 1, H) for layer, H in enumerate(blocks[:-1])]
        pulls: list[LinearMap | None] = []
        for gram, H in zip(grams, blocks[1:], strict=True):
            pulls.append(gram.linear_pullback(self._centred(H)))
            if pulls[-1] is None:
                return None
        grad, value, maps = torch.empty_like(point), 0.0, []
        for layer, (span, H, eta) in enumerate(zip(self.spans, blocks, self.eta, strict=True)):
            KH = fixed[:, span] if layer == 0 else self._centred(grams[layer - 1].times(self._centred(H)))
            value -= 0.5 / eta * float((H * KH).sum())
            grad[:, span] = KH / -eta
            pull = pulls[layer] if layer < len(pulls) else None
            factor = 0.0 if pull is None else 0.5 / self.eta[layer + 1] * self.scale**2
            if pull is not None:
                grad[:, span] -= pull(H) * factor
            maps.append(self._map(None if layer == 0 else grams[layer - 1], eta, pull, factor))
        return FrozenMachine(value, grad, tuple(maps))

    def layer_product(self, layer: int, H: Tensor, V: Tensor) -> Tensor:
        """``K_l V`` with the matrix that layer ``layer + 1`` reads (0: the data), centred if the machine is."""
        if layer == 0:
            return self.fixed(V)
        return self._centred(self.inner(layer, H[:, self.spans[layer - 1]]).times(self._centred(V)))

    def kpca_start(self, first: Tensor | None = None) -> Tensor:
        """Layer-wise kernel PCA, each layer orthogonal to those below; shape (n, S)."""
        starts = [self._layerwise(self.gram) if first is None else first]
        if len(self.n_components) > 1 and not self.center:
            starts.append(self._layerwise(_centred_gram(self.gram, self.factored)))
        return min(starts, key=lambda H: self.value_and_grad(H)[0])

    def _layerwise(self, first: Tensor) -> Tensor:
        H = first.new_zeros(first.shape[0], 0)
        for layer in range(len(self.n_components)):
            H = self._append(H, layer, first)
        return H

    def extend(self, H: Tensor) -> Tensor:
        """Append the kernel PCA codes of the last layer to those of all layers below; shape (n, S)."""
        return self._append(H, len(self.n_components) - 1, self.gram)

    def _append(self, H: Tensor, layer: int, first: Tensor) -> Tensor:
        width = self.n_components[layer]
        if self.factored:
            machine = replace(self, gram=first)
            block = block_krylov(
                lambda V: _without(machine.layer_product(layer, H, _without(V, H)), H),
                H.shape[0],
                width,
                first[:0, :0],
            )[1]
            return torch.cat([H, _complete(block, H, self.center)], 1)
        K = first
        if layer:
            K = self.kernels[layer - 1]._gram(self.scale * H[:, self.spans[layer - 1]])
            K = center_gram(K) if self.center else K
        if H.shape[1] and prefers_lanczos(K, width):
            product = symmetric_product(K)
            block = lanczos(lambda v: _without(product(_without(v, H)), H), K, width)[1]
        else:
            block = top_eigenpairs(_deflate(K, H) if H.shape[1] else K, width)[1]
        return torch.cat([H, _complete(block, H, self.center)], 1)

    def random_start(self, generator: torch.Generator) -> Tensor:
        """A random feasible point: the orthogonal factor of a normal matrix, shape (n, S)."""
        shape = (self.gram.shape[0], sum(self.n_components))
        draw = torch.randn(shape, generator=generator, dtype=torch.float64, device=generator.device)
        return self.constraint.project(self._centred(draw.to(self.gram)))

    def canonical(self, H: Tensor) -> Tensor:
        """Rotate each block to diagonalise ``H_l^T K_(l-1) H_l``, descending, with fixed signs; shape (n, S)."""
        blocks = []
        for layer, H_l in enumerate(self.split(H)):
            if layer < len(self.kernels) and not self.kernels[layer].rotation_invariant:
                blocks.append(H_l)
                continue
            M = H_l.mT @ self.layer_product(layer, H, H_l)
            vectors = torch.linalg.eigh((M + M.mT) / 2)[1]
            blocks.append(fix_signs(H_l @ vectors.flip(1)))
        return torch.cat(blocks, 1)

    def penalty_bound(self) -> float:
        """Least penalty weight that keeps the quadratic penalty function bounded; infinite if none does."""
        worst = 0.0
        for kernel, width, eta in zip(self.kernels, self.n_components[:-1], self.eta[1:], strict=True):
            power, factor = _growth(kernel, width)
            if power > 2.01:
                return math.inf
            if power > 0.01:
                worst = max(worst, factor * self.scale**2 / (4.0 * eta))
        return worst

    def _centred(self, V: Tensor) -> Tensor:
        return V - V.mean(dim=0) if self.center else V

    def _map(
        self, gram: InnerGram | None, eta: float, pull: LinearMap | None, factor: float
    ) -> Callable[[Tensor, Tensor], Tensor]:
        def apply(V: Tensor, fixed: Tensor) -> Tensor:
            KV = fixed if gram is None else self._centred(gram.times(self._centred(V)))
            KV = KV / eta
            return KV if pull is None else KV.add_(pull(V), alpha=factor)

        return apply


def _centred_gram(K: Tensor, factored: bool) -> Tensor:
    return K - K.mean(dim=0) if factored else center_gram(K)


def _without(v: Tensor, H: Tensor) -> Tensor:
    """``v`` less its part in the span of the columns of ``H``."""
    return v - H @ (H.mT @ v)


def _deflate(K: Tensor, H: Tensor) -> Tensor:
    """``P K P`` with ``P = I - H H^T``."""
    KH = K @ H
    cross = H @ (KH.mT - 0.5 * (H.mT @ KH) @ H.mT)
    return K - cross - cross.mT


def _complete(block: Tensor, others: Tensor, center: bool) -> Tensor:
    """Make the columns orthogonal to ``others`` (and to constants), replacing those that lie in their span."""
    fixed = others
    if center:
        ones = torch.full_like(block[:, :1], 1.0 / math.sqrt(block.shape[0]))
        fixed = torch.cat([ones, others], 1)
    n = block.shape[0]
    chosen = []
    spare = (torch.nn.functional.one_hot(torch.tensor(i, device=block.device), n).to(block) for i in range(n))
    for column in block.mT:
        while True:
            rest = column.clone()
            for _ in range(2):
                rest -= fixed @ (fixed.mT @ rest)
            if float(rest.norm()) > 1e-6 * max(float(column.norm()), 1e-300):
                break
            column = next(spare)  # the Gram matrix has too small a rank: any direction is as good
        rest /= rest.norm()
        chosen.append(rest)
        fixed = torch.cat([fixed, rest[:, None]], 1)
    return fix_signs(torch.stack(chosen, 1))


class InnerGram(ABC):
    """The Gram matrix ``K = k(Z, Z)`` of codes ``Z`` of shape (n, s), as a deep machine uses it."""

    @abstractmethod
    def times(self, V: Tensor) -> Tensor:
        """``K V``, shape (n, q)."""

    @abstractmethod
    def pullback(self, T: Tensor) -> Tensor:
        """Gradient of ``Tr(T^T k(Z, Z) T)`` with respect to ``Z``, shape (n, s)."""

    @abstractmethod
    def linear_pullback(self, T: Tensor) -> LinearMap | None:
        """The pull-back as ``V -> B V`` with ``B`` frozen at ``Z`` and ``B Z`` the gradient; None without that form."""


class ExactGram(InnerGram):
    """The dense matrix of any differentiable kernel."""

    def __init__(self, kernel: Kernel, Z: Tensor) -> None:
        self.kernel = kernel
        self.Z = Z
        self.K = kernel._gram(Z)

    def times(self, V: Tensor) -> Tensor:
        """See :class:`InnerGram`."""
        return self.K @ V

    def pullback(self, T: Tensor) -> Tensor:
        """See :class:`InnerGram`."""
        return self.kernel.pullback(self.Z, Outer(T, T), self.K)

    def linear_pullback(self, T: Tensor) -> LinearMap | None:
        """See :class:`InnerGram`."""
        return _linear_pullback(self.kernel, self.Z, T, self.K)


class TiledGram(InnerGram):
    """The exact matrix of any differentiable kernel, one tile of rows at a time."""

    def __init__(self, kernel: Kernel, Z: Tensor, rows: int | None = None) -> None:
        self.kernel = kernel
        self.Z = Z
        n = Z.shape[0]
        step = max(1, _TILE_BYTES // (8 * n)) if rows is None else rows
        self.tiles = [slice(start, min(start + step, n)) for start in range(0, n, step)]

    def times(self, V: Tensor) -> Tensor:
        """See :class:`InnerGram`."""
        return torch.cat([self.kernel._gram(self.Z[tile], self.Z) @ V for tile in self.tiles])

    def pullback(self, T: Tensor) -> Tensor:
        """See :class:`InnerGram`."""
        parts = [self.kernel._cross_pullback(self.Z[tile], self.Z, T[tile] @ T.mT) for tile in self.tiles]
        return torch.cat(parts).mul_(2.0)

    def linear_pullback(self, T: Tensor) -> LinearMap | None:
        """See :class:`InnerGram`; the tiles are recomputed at every application."""
        edges = _edges(self.kernel)
        if edges is None:
            return None

        def apply(V: Tensor) -> Tensor:
            out = torch.empty_like(V)
            for tile in self.tiles:
                outer, total = T[tile] @ T.mT, torch.zeros_like(V[tile])
                for values, factor, laplacian in edges:
                    W = outer * values(self.Z[tile], self.Z)
                    part = W.sum(1, keepdim=True) * V[tile] - W @ V if laplacian else W @ V
                    total.add_(part, alpha=factor)
                out[tile] = total
            return out

        return apply


def _growth(kernel: Kernel, s: int) -> tuple[float, float]:
    """Power ``q`` and factor ``a`` of the growth ``k(z, z) ~ a |z|^q`` far from the origin."""
    z = torch.full((2, s), 1.0 / math.sqrt(s), dtype=torch.float64)
    near, far = (float(v) for v in kernel._diag(z * torch.tensor([[1e5], [1e6]], dtype=torch.float64)))
    power = math.log10(far / near) if near > 0.0 and far > 0.0 else 0.0
    return power, far / 10.0 ** (6.0 * round(power))


Edges = tuple[Callable[..., Tensor], float, bool]
"""Weights ``w(X, Y)`` of shape (m, n) of the pairs, a factor, and whether they act as a graph Laplacian."""


def _edges(kernel: Kernel) -> list[Edges] | None:
    """Weights of pairs in the pull-back of ``Tr(T^T K T)``, one entry per term of a sum; None without that form."""
    found = [_edge(term, factor) for term, factor in weighted_terms(kernel)]
    known = [edge for edge in found if edge is not None]
    return known if len(known) == len(found) else None


def _edge(kernel: Kernel, factor: float) -> Edges | None:
    if isinstance(kernel, Gaussian):
        return kernel._gram, -4.0 * kernel._gamma * factor, True
    if isinstance(kernel, Radial) and kernel.radial is not None:
        return lambda X, Y=None: kernel._slope(squared_distances(X, Y)), 4.0 * factor, True
    if isinstance(kernel, DotProduct) and not (isinstance(kernel, Linear) and kernel.offset is not None):
        return lambda X, Y=None: kernel._slope(X @ (X if Y is None else Y).mT), 2.0 * factor, False
    return None


def _linear_pullback(kernel: Kernel, Z: Tensor, T: Tensor, K: Tensor) -> LinearMap | None:
    edges = _edges(kernel)
    if edges is None:
        return None
    maps = []
    for values, factor, laplacian in edges:
        W = (T @ T.mT).mul_(K if isinstance(kernel, Gaussian) else values(Z))
        maps.append(_edge_map(W, factor, W.sum(1, keepdim=True) if laplacian else None))
    return maps[0] if len(maps) == 1 else lambda V: torch.stack([one(V) for one in maps]).sum(0)


def _edge_map(W: Tensor, factor: float, degrees: Tensor | None) -> LinearMap:
    if degrees is None:
        return lambda V: (W @ V).mul_(factor)
    return lambda V: torch.addmm(degrees * V, W, V, alpha=-1.0).mul_(factor)
