"""Nystroem features: kernel values with landmarks, whitened."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy, as_tensor, row_index, tensor_like
from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError
from rkhs._core.linalg import factorize, rank_tolerance
from rkhs._core.stored import check_places, check_shape, check_whole
from rkhs.engines import thread_limit
from rkhs.kernels.base import Kernel
from rkhs.spaces.features.base import Features, KernelValues, check_items_stored, pick
from rkhs.spaces.features.sampling import landmark_gram, sample_landmarks


class LandmarkMap(KernelValues):
    """Features ``F(x) = L^{-1} k(C, x)`` of landmarks ``C`` with ``k(C, C) = L L^T``.

    ``F(x) . F(y)`` is the inner product of the projections of ``phi(x)`` and ``phi(y)`` on the span of the landmarks.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    landmarks : array of shape (m, d), list of m objects, or array of m column numbers of a Gram matrix
    cholesky : array of shape (m, m) or None
        Cholesky factor ``L`` of their Gram matrix (lower triangular), in float64. None in model files where it follows
        from the landmarks: it is recomputed when it is needed.

    Raises
    ------
    InputError
        For items that the kernel cannot read; for a Cholesky factor that is neither stored nor can be recomputed.

    References
    ----------
    Williams and Seeger (2001), equation 9.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from rkhs.features import LandmarkMap
    >>> from rkhs.kernels import Gaussian
    >>> C = np.array([[0.0], [2.0]])
    >>> F = LandmarkMap(Gaussian(1.0), C, np.linalg.cholesky(Gaussian(1.0)(C)))
    >>> x = F.features(torch.tensor([[0.0], [5.0]], dtype=torch.float64))
    >>> (x @ x.T).diagonal().round(decimals=3)  # 1 at a landmark, 0 far from all
    tensor([1., 0.], dtype=torch.float64)
    """

    _cache_lower: np.ndarray

    def __init__(self, kernel: Kernel, landmarks: Any, cholesky: Any) -> None:
        self.kernel = kernel
        self.landmarks = landmarks
        self.cholesky = cholesky

    def check_stored(self) -> None:
        """Every landmark must be one that the kernel reads, or the number of a column."""
        m = len(self.landmarks)
        check_whole("number of landmarks", m, 1)
        check_shape("cholesky", self.cholesky, m, m)
        gram = isinstance(self.kernel, Kernel) and self.kernel.domain == "gram"
        check_items_stored(self.kernel, None if gram else self.landmarks, m)
        if gram:
            check_places("landmarks", self.landmarks, 2**31)

    @property
    def lower(self) -> np.ndarray:
        """The Cholesky factor, recomputed if it is not stored."""
        if self.cholesky is None and not hasattr(self, "_cache_lower"):
            found = self._recomputed_cholesky()
            if found is None:
                raise InputError("cholesky must be an array where the landmarks have no Cholesky factor; got None")
            self._cache_lower = found
        return self._cache_lower if self.cholesky is None else self.cholesky

    def in_file(self) -> LandmarkMap:
        """The map for a model file: without its Cholesky factor, where landmarks determine it to the last bit."""
        if self.cholesky is None or self.kept is None:
            return self
        lean = LandmarkMap(self.kernel, self.landmarks, None)
        found = self._recomputed_cholesky()
        if found is None or not np.array_equal(found, self.cholesky):
            return self
        lean._cache_lower = found
        return lean

    def _recomputed_cholesky(self) -> np.ndarray | None:
        """The Cholesky factor by the steps of a fit, on one core as there."""
        if self.kept is None:
            return None
        with thread_limit(1):
            vectors = self.kernel.domain == "vectors"
            return _cholesky_of(self.kernel._gram(as_tensor(self.landmarks) if vectors else self.landmarks))

    @property
    def width(self) -> int:
        """Number of landmarks."""
        return len(self.landmarks)

    @property
    def kept(self) -> Any:
        """The landmarks; None for columns of a Gram matrix, which are no items."""
        return None if self.kernel.domain == "gram" else self.landmarks

    def kept_raw(self) -> Tensor:
        """Gram matrix of the landmarks."""
        L = as_tensor(self.lower)
        return L @ L.mT

    def raw(self, items: Any) -> Tensor:
        """Kernel values with the landmarks."""
        if self.kernel.domain == "gram":
            K = self.kernel._gram(items)
            return K[:, row_index(self.landmarks, K)]
        return super().raw(items)

    def _solve(self, B: Tensor, *, transposed: bool) -> Tensor:
        """``L^{-1} B`` or ``L^{-T} B``, always in float64: a Cholesky factor loses half of the digits of its matrix."""
        wide = B.to(torch.float64)
        L = tensor_like(self.lower, wide)
        return torch.linalg.solve_triangular(L.mT if transposed else L, wide, upper=transposed).to(B.dtype)

    def whiten(self, V: Tensor) -> Tensor:
        """``L^{-T} V``."""
        return self._solve(V, transposed=True)

    def whiten_adjoint(self, G: Tensor) -> Tensor:
        """``L^{-1} G``."""
        return self._solve(G, transposed=False)

    def raw_of(self, F: Tensor) -> Tensor:
        """``F L^T``."""
        return (tensor_like(self.lower, F) @ F.mT).mT


@dataclass(eq=False, repr=False)
class Nystroem(Features):
    """Features of ``m`` landmarks: exact on their span, for every kernel.

    ``F(x) = L^{-1} k(C, x)`` with ``k(C, C) = L L^T``, so that ``F(x) . F(y)`` equals ``k(x, y)`` where ``x`` or ``y``
    is a landmark, and ``F(x) . F(x) <= k(x, x)`` everywhere: what is left is a positive semi-definite kernel.

    Parameters
    ----------
    m : int, default=500
        Number of landmarks; all training items if there are no more. Landmarks whose features depend on the others
        are left out.
    sampling : {"uniform", "kmeans++", "leverage"}, default="uniform"
        How they are drawn, see :func:`sample_landmarks`, among ``max(10 m, 10000)`` rows drawn uniformly.
    kernel : str, Kernel or None, default=None
        Of the transformer; None: ``"gaussian"``. As a ``storage`` it stays None: the estimator has a kernel.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    map_ : LandmarkMap
    kernel_ : Kernel
        Resolved, on 3000 rows at most.

    Raises
    ------
    InputError
        For parameters out of range.

    Notes
    -----
    ``m^3 / 3`` operations in fit for the Cholesky factor, and the choice of landmarks;
    ``O(d m + m^2)`` per item in transform.

    References
    ----------
    Williams and Seeger (2001); Rudi et al. (2015), theorem 1, for how many landmarks a regression needs.

    Examples
    --------
    >>> from rkhs.features import Nystroem
    >>> from sklearn.datasets import load_iris
    >>> Nystroem(20).fit_transform(load_iris().data).shape
    (150, 20)
    """

    m: int = 500
    sampling: str = "uniform"
    _: KW_ONLY
    kernel: Any = None
    random_state: Any = 0

    def check(self) -> None:
        """Check the parameters; see :meth:`Features.check`."""
        super().check()
        check_choice(self.sampling, "Nystroem.sampling", ("uniform", "kmeans++", "leverage"))

    def sample_size(self, n: int) -> int:
        """Rows that :meth:`build` draws landmarks from."""
        return min(n, max(10 * self.m, 10_000))

    def build(self, kernel: Kernel, items: Any, rng: np.random.RandomState) -> LandmarkMap:
        """Draw the landmarks and factor their Gram matrix.

        Parameters
        ----------
        kernel : Kernel
            Resolved.
        items : Tensor (n, d), Gram matrix (n, n), or list of n objects
        rng : RandomState

        Returns
        -------
        LandmarkMap

        Raises
        ------
        InputError
            If the kernel is zero on every landmark.
        """
        rows = sample_landmarks(kernel, items, self.m, sampling=self.sampling, random_state=rng)
        chosen = pick(items, rows)
        K = landmark_gram(kernel, items, rows, chosen)
        factor = factorize(K.to(torch.float64), tol=rank_tolerance(len(K), K.dtype))
        if not len(factor.pivots):
            raise InputError(f"the kernel {kernel!r} is zero on all {len(rows)} landmarks; choose another kernel")
        pivots = factor.pivots.cpu().numpy()
        if kernel.domain == "gram":
            kept: Any = rows[pivots]
        else:
            kept = [chosen[i] for i in pivots] if isinstance(chosen, list) else as_numpy(chosen)[pivots]
        # Factored from the kept landmarks alone, so that a file can recompute it: pivoting rounds otherwise.
        L = None if len(pivots) == len(K) else _cholesky_of(K[factor.pivots][:, factor.pivots])
        return LandmarkMap(kernel, kept, factor.cholesky.cpu().numpy() if L is None else L)


def _cholesky_of(K: Tensor) -> np.ndarray | None:
    """Cholesky factor of the Gram matrix of landmarks; None if it is not safely positive definite."""
    factor = factorize(K.to(torch.float64), tol=rank_tolerance(len(K), K.dtype))
    plain = torch.equal(factor.pivots.cpu(), torch.arange(len(K)))
    return factor.cholesky.cpu().numpy() if plain else None
