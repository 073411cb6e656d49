"""Kernels of users: a Gram matrix, or a Python function on any objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy, tensor_like
from rkhs._core.checks import check_choice, check_flag, check_number, real_array
from rkhs._core.errors import InputError, quote
from rkhs._core.linalg import Outer
from rkhs._core.stored import check_shape
from rkhs.kernels.base import Kernel, read_matrix

_DIAG_BLOCK = 32  # items per call of a vectorised function; its small Gram matrix has the diagonal


class Precomputed(Kernel):
    """A kernel known by its Gram matrix alone.

    In place of items it reads rows of Gram matrices: the training items are the rows of the square matrix
    ``k(X, X)``, new items the rows of ``k(X_new, X)``.

    Parameters
    ----------
    new_diag : float, optional
        ``k(x, x)`` of new items, not negative. Default: the diagonal of the training Gram matrix if it is constant
        (every normalised kernel); otherwise whatever needs ``k(x, x)`` of new items raises and asks for it.
    views : {"alignment", "equal"} or sequence of float, default="alignment"
        How several Gram matrices of the same items are weighted before they are added up; see :func:`view_weights`. An
        estimator takes them as a list or an array (v, n, n). New items are then lists of v matrices (m, n).
    train_diag : array of shape (n,), optional
        Diagonal of the training Gram matrix. Left out by users, written down by :meth:`resolve`.

    Raises
    ------
    InputError
        For a training matrix that is not square, rows of another length, or a diagonal that cannot be known.

    References
    ----------
    Laforgue et al. (2019), section 4.2: K2AE reads Gram matrices only.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.kernels import GaussianOf, Precomputed
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> GaussianOf(Precomputed(), gamma=1.0)(K).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    domain = "gram"

    def __init__(self, new_diag: float | None = None, train_diag: Any = None, views: Any = "alignment") -> None:
        self.new_diag = new_diag
        self.views = views
        self.train_diag = train_diag

    def __repr__(self) -> str:
        if self.train_diag is None:
            return super().__repr__()
        short = repr(Precomputed(self.new_diag, None, self.views))  # the diagonal has a number for each training item
        diagonal = f"train_diag=<{np.size(self.train_diag)} numbers>"
        return f"{short[:-1]}{'' if short.endswith('()') else ', '}{diagonal})"

    @property
    def known_psd(self) -> bool:
        """False: nothing is known of the matrix."""
        return False

    def check_stored(self) -> None:
        """The diagonal must be numbers."""
        check_shape("train_diag", self.train_diag, None)

    def read(self, X: Any) -> Tensor:
        """Turn kernel values into a floating-point tensor; float32 stays float32."""
        return read_matrix(X, "Precomputed", "kernel values (n items, n training items)")

    def resolve(self, X: Any, weights: Tensor | None = None) -> Precomputed:
        """Write down the diagonal of the training Gram matrix; see :class:`Precomputed`."""
        if self.new_diag is not None:
            check_number(self.new_diag, "Precomputed.new_diag", at_least=0.0)
        n = X.shape[1]
        if self.train_diag is not None:
            if np.shape(self.train_diag) != (n,):
                raise InputError(
                    f"Precomputed.train_diag must have shape ({n},), one value per training item; "
                    f"got {np.shape(self.train_diag)}. Leave it out: resolve writes it down"
                )
            return self
        if X.shape[0] != n:
            raise InputError(
                "Precomputed reads a square Gram matrix (n training items by n training items) first; "
                f"got shape {tuple(X.shape)}"
            )
        return Precomputed(self.new_diag, X.diagonal().cpu().numpy().copy(), self.views)

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        n = None if self.train_diag is None else len(self.train_diag)
        n = Y.shape[0] if Y is not None else n
        if n is not None and X.shape[1] != n:
            raise InputError(
                f"Precomputed reads rows of kernel values with the {n} training items; got {X.shape[1]} columns"
            )
        return X.clone()

    def _diag(self, X: Tensor) -> Tensor:
        if self.train_diag is None:
            if X.shape[0] != X.shape[1]:
                raise InputError(
                    "Precomputed knows no diagonal yet; call resolve(K_train) with the square matrix first"
                )
            return X.diagonal().clone()
        known = self._train(X)
        if X.shape[0] == len(known) and torch.equal(X.diagonal(), known):
            return known
        if self.new_diag is not None:
            return X.new_full((X.shape[0],), float(self.new_diag))
        spread = float(known.max() - known.min())
        if spread > 1e3 * torch.finfo(X.dtype).eps * float(known.abs().max()):
            raise InputError(
                "Precomputed cannot know k(x, x) of new items from rows of kernel values: the training diagonal is not "
                "constant. Pass Precomputed(new_diag=...), or a normalised Gram matrix"
            )
        return X.new_full((X.shape[0],), float(known.mean()))

    def _column_diag(self, X: Tensor, Y: Tensor | None) -> Tensor:
        return self._train(X) if self.train_diag is not None else self._diag(X if Y is None else Y)

    def _train(self, X: Tensor) -> Tensor:
        return tensor_like(self.train_diag, X).clone()


@dataclass(eq=False, repr=False)
class FromFunction(Kernel):
    """A kernel given by a Python function on any objects.

    Parameters
    ----------
    function : callable
        ``function(x, y)``, the kernel value of two items; or, with ``vectorized=True``, ``function(X, Y)``, the matrix
        of shape (n, m) of two whole lists. It must be symmetric; positive semi-definiteness is up to you (estimators
        check the training Gram matrix).
    vectorized : bool, default=False
        Whether the function takes whole lists; ``np.asarray(X)`` makes an array of rows of numbers.
    inputs : {"objects", "vectors"}, default="objects"
        ``"vectors"``: the data are rows of a numeric array, checked as such; the function gets arrays.
    differentiable : bool, default=False
        The function is made of differentiable torch operations on rows of numbers. It then gets tensors, and gradients
        come from automatic differentiation, so that the kernel can act on codes.

    Raises
    ------
    InputError
        If the function returns NaN or infinity, a matrix of another shape, or is not symmetric.

    Notes
    -----
    A Gram matrix of n items costs n (n + 1) / 2 + 1 calls, or one call of a vectorised function. Functions cannot
    be written to model files.

    References
    ----------
    Scholkopf and Smola (2002), definition 2.5.

    Examples
    --------
    >>> from rkhs.kernels import FromFunction
    >>> def shared_letters(x, y):
    ...     return len(set(x) & set(y))
    >>> FromFunction(shared_letters)(["kernel", "kennel"])
    array([[5., 4.],
           [4., 4.]])
    """

    function: Callable[[Any, Any], Any]
    vectorized: bool = False
    inputs: str = "objects"
    differentiable: bool = False

    @property
    def domain(self) -> str:  # type: ignore[override]
        """What the function reads."""
        read = check_choice(self.inputs, "FromFunction.inputs", ("objects", "vectors"))
        return "vectors" if check_flag(self.differentiable, "FromFunction.differentiable") else read

    @property
    def known_psd(self) -> bool:
        """False: nothing is known of the function."""
        return False

    def read(self, X: Any) -> Any:
        """A tensor for vectors; objects stay as they are, in a list."""
        return read_matrix(X, "FromFunction") if self.domain == "vectors" else super().read(X)

    def _check(self) -> None:
        check_flag(self.vectorized, "FromFunction.vectorized")
        if not callable(self.function):
            raise InputError(f"FromFunction.function must be a function of two items; got {self.function!r}")
        assert self.domain

    def _items(self, X: Any) -> Any:
        return X.detach().cpu().numpy() if isinstance(X, Tensor) and not self.differentiable else X

    def _finish(self, K: Any, n: int, m: int, like: Any) -> Tensor:
        """Check what the function returned and bring it to a new tensor."""
        if isinstance(K, Tensor) and not K.is_complex():
            K = K.detach() if K.dtype in (torch.float32, torch.float64) else K.detach().to(torch.float64)
        else:
            K = torch.as_tensor(real_array(as_numpy(K), "the matrix that the function of FromFunction returns"))
        if isinstance(like, Tensor):
            K = K.to(dtype=like.dtype, device=like.device)
        if tuple(K.shape) != (n, m):
            raise InputError(
                f"the function of FromFunction must return a matrix of shape ({n}, {m}) for {n} and {m} items; "
                f"got {tuple(K.shape)}. Use vectorized=False for a function of two items"
            )
        bad = ~torch.isfinite(K)
        if bool(bad.any()):
            i, j = (int(v) for v in bad.nonzero()[0])
            raise InputError(
                f"the function of FromFunction must return finite numbers; got {float(K[i, j])} for items {i} and {j}"
            )
        return K.clone()

    def _called(self, x: Any, y: Any, what: str) -> Any:
        """Call the function; its errors are raised as errors of the function."""
        try:
            return self.function(x, y)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(
                f"the function of FromFunction raised {type(error).__name__} for {what}: {error}; correct the function "
                "or the items"
            ) from error

    def _value(self, x: Any, y: Any, i: int, j: int) -> float:
        value = self._called(x, y, f"items {i} and {j}, {quote(x)} and {quote(y)}")
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"the function of FromFunction must return a number for two items; got {value!r:.60} for items "
                f"{i} and {j}. Use vectorized=True for a function of two lists"
            ) from None

    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        A = self._items(X)
        B = A if Y is None else self._items(Y)
        n, m = len(A), len(B)
        if self.vectorized:
            K = self._finish(self._called(A, B, f"lists of {n} and {m} items"), n, m, X)
            return self._symmetric(K) if Y is None else K
        values = np.empty((n, m))
        for i in range(n):
            for j in range(m if Y is not None else i + 1):
                values[i, j] = self._value(A[i], B[j], i, j)
                if Y is None:
                    values[j, i] = values[i, j]
        # The largest values of ten rows, in both orders, find most asymmetric functions.
        for i in {*np.linspace(1, n - 1, 10).astype(int).tolist()} if Y is None and n > 1 else ():
            j = int(np.abs(values[i, :i]).argmax())
            pair = [[values[i, i], values[i, j]], [self._value(A[j], A[i], j, i), values[j, j]]]
            self._symmetric(torch.tensor(pair, dtype=torch.float64))
        return self._finish(values, n, m, X)

    @staticmethod
    def _symmetric(K: Tensor) -> Tensor:
        gap = float((K - K.mT).abs().max()) if K.numel() else 0.0
        if gap > 1e3 * torch.finfo(K.dtype).eps * float(K.abs().max()):
            raise InputError(
                f"the function of FromFunction must be symmetric; got values that differ by {gap:.3g} when the items "
                "are swapped. Pass lambda x, y: (f(x, y) + f(y, x)) / 2 if that is meant"
            )
        return (K + K.mT) / 2

    def _diag(self, X: Any) -> Tensor:
        A = self._items(X)
        n = len(A)
        if not self.vectorized:
            values = np.array([[self._value(A[i], A[i], i, i) for i in range(n)]])
            return self._finish(values, 1, n, X)[0]
        parts = []
        for start in range(0, n, _DIAG_BLOCK):
            part = A[start : start + _DIAG_BLOCK]
            parts.append(self._finish(self.function(part, part), len(part), len(part), X).diagonal())
        return torch.cat(parts)

    def _matrix(self, X: Tensor, Y: Tensor) -> Tensor:
        """Compute the Gram matrix with its autograd graph."""
        if self.vectorized:
            return self.function(X, Y)
        return torch.stack([torch.stack([self.function(x, y).reshape(()) for y in Y]) for x in X])

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        return self._matrix(X, Y) if self.differentiable else super()._plain(X, Y)

    def _plain_diag(self, X: Tensor) -> Tensor:
        return torch.stack([self._matrix(row, row).reshape(()) for row in X.split(1)])

    def _gradient(self, X: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
        if not self.differentiable:
            raise InputError(
                "FromFunction has no gradient and cannot act on codes; write the function in torch operations on rows "
                "of numbers and pass differentiable=True"
            )
        with torch.enable_grad():
            leaf = X.detach().clone().requires_grad_()
            (gradient,) = torch.autograd.grad(value(leaf), leaf)
        if not bool(torch.isfinite(gradient).all()):
            raise InputError(
                "the function of FromFunction has a gradient that is not finite, often a square root at coincident "
                "points; add a small constant under the root"
            )
        return gradient

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        dense = S.dense() if isinstance(S, Outer) else S
        return self._gradient(X, lambda leaf: (self._matrix(leaf, leaf) * dense).sum())

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        return self._gradient(X, lambda leaf: (self._matrix(leaf, Y) * S).sum())

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return self._gradient(X, lambda leaf: self._plain_diag(leaf) @ s)
