"""The two-layer kernel autoencoder whose codes are kept on a set: sphere, ball, white, or softly near the sphere.

    J(Z) = reg_1 / 2 Tr Z^T K^-1 Z + reg_2 / 2 Tr T^T (K_Z + n reg_2 I)^-1 T,   rows of Z in the set,

the paper's objective divided by 2n, at ``reg = lambda / n``, with no inverse of ``K_Z`` left of the printed expression
(``docs/papers/representation_learning.md``). The codes are ``Z = project(L V)`` with ``L L^T = K + delta I``, so that
L-BFGS works on free parameters; ``delta`` makes
every code reachable, and is exactly the kernel ``k + delta 1[x = x']``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import Factor, cholesky
from rkhs.constraints.sphere import Ball, CodeSet, SoftSphere, Sphere
from rkhs.kernels.base import Kernel
from rkhs.problems.autoencoder import Autoencoder, Decoder

__all__ = ["CodeImage", "SphereAutoencoder", "image_of", "jittered_factor", "lifted"]

_DELTA = 1e-8


def jittered_factor(K: Tensor) -> Factor:
    """``L L^T = K + delta I`` with ``delta = 1e-8 Tr K / n``, or the least larger jitter that is positive definite."""
    delta = max(_DELTA, 10.0 * torch.finfo(K.dtype).eps) * float(K.diagonal().mean())
    L, _ = cholesky(K, name="the Gram matrix of the encoder", jitter=delta)
    return Factor(L, torch.arange(K.shape[0], device=K.device), 0.0)


@dataclass(frozen=True)
class SphereAutoencoder:
    """Objective of a constrained kernel autoencoder in free whitened parameters."""

    factor: Factor  # of :func:`jittered_factor`, n rows and columns
    target: Tensor  # (n, q): coordinates of the targets
    kernel: Kernel  # of the decoder
    n_components: int
    reg: tuple[float, float]  # of encoder and decoder
    code_set: CodeSet  # the last adds ``softness / 2 sum_i w_i (||z_i||^2 - 1)^2`` and leaves the codes free
    weights: Tensor | None = None  # (n,): sample weights that sum to one; default ``1/n``
    solvers: tuple[str, ...] = ("lbfgs",)  # that fit the problem
    inner: Autoencoder = field(init=False, repr=False)
    _set: CodeImage = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.code_set, Sphere) and self.n_components < 2:
            raise InputError(
                "n_components must be >= 2 for constraint='sphere': in one dimension the sphere is {-1, 1} and codes "
                "cannot move"
            )
        inner = Autoencoder(
            self.factor, self.target, (self.kernel,), (self.n_components,), self.reg, weights=self.weights
        )
        object.__setattr__(self, "inner", inner)
        object.__setattr__(self, "_set", image_of(self.code_set))

    def codes(self, point: Tensor) -> Tensor:
        """Feasible codes of parameters of shape (n, p)."""
        return self._set.project(self.factor.matrix @ point)

    def point(self, codes: Tensor) -> Tensor:
        """Parameters of feasible codes; inverse of :meth:`codes`."""
        return self.whiten(lifted(self._set, codes))

    def whiten(self, codes: Tensor) -> Tensor:
        """``L^-1 Z``, whose squared norm is the squared norm of the encoder; shape (n, p)."""
        return torch.linalg.solve_triangular(self.factor.matrix, codes, upper=False)

    def decoder(self, codes: Tensor) -> Decoder:
        """Best decoder at the given codes."""
        return self.inner.decoder(codes)

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Objective and gradient in ``V``, shape (n, p). O(n^3 / 3 + n^2 (q + p))."""
        L = self.factor.matrix
        Y = L @ point
        value, G = self.value_and_code_grad(self._set.project(Y))
        return value, L.mT @ self._set.pullback(Y, G)

    def value_and_code_grad(self, Z: Tensor) -> tuple[float, Tensor]:
        """Objective and its Euclidean gradient in the codes, shape (n, p)."""
        V = self.whiten(Z)
        value, back = self.inner.value_and_grad(V.reshape(-1))
        # The inner gradient is L^T G: solve once to return to codes.
        G = torch.linalg.solve_triangular(self.factor.matrix.mT, back.view_as(V), upper=True)
        if isinstance(self.code_set, SoftSphere):
            w = Z.new_full((Z.shape[0],), 1.0 / Z.shape[0]) if self.weights is None else self.weights
            penalty, slope = self.code_set.penalty(Z, w)
            return value + penalty, G + slope
        return value, G

    def start(self, codes: Tensor) -> Tensor:
        """Parameters that start from the given codes, put on the set, shape (n, p)."""
        norms = codes.norm(dim=1)
        if isinstance(self.code_set, Ball):  # well inside: on the boundary the map has no radial slope
            return self.point(0.9 * codes / norms.max().clamp_min(torch.finfo(codes.dtype).tiny))
        Z = codes / norms.mean().clamp_min(torch.finfo(codes.dtype).tiny)
        return self.point(self._set.project(Z))


class CodeImage(Protocol):
    """A set of codes as the image of all matrices."""

    def project(self, Y: Tensor) -> Tensor:
        """Codes on the set."""
        ...

    def pullback(self, Y: Tensor, G: Tensor) -> Tensor:
        """Gradient in ``Y`` of a function of ``project(Y)`` whose gradient is ``G``."""
        ...


def image_of(code_set: CodeSet) -> CodeImage:
    """The set as the image of a smooth map."""
    return _SmoothBall() if isinstance(code_set, Ball) else code_set


def lifted(image: CodeImage, Z: Tensor) -> Tensor:
    """A matrix whose image codes ``Z`` on the set are."""
    return image.lift(Z) if isinstance(image, _SmoothBall) else Z


class _SmoothBall:
    """The unit ball as the image of ``y -> 2 y / (1 + ||y||^2)``: smooth and onto, where the projection has a kink."""

    @staticmethod
    def project(Y: Tensor) -> Tensor:
        return 2.0 * Y / (1.0 + (Y * Y).sum(1, keepdim=True))

    @staticmethod
    def pullback(Y: Tensor, G: Tensor) -> Tensor:
        scale = 2.0 / (1.0 + (Y * Y).sum(1, keepdim=True))
        return scale * G - scale * scale * (Y * G).sum(1, keepdim=True) * Y

    @staticmethod
    def lift(Z: Tensor) -> Tensor:
        return Z / (1.0 + (1.0 - (Z * Z).sum(1, keepdim=True)).clamp_min(0.0).sqrt())
