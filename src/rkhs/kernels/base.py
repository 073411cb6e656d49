"""Base classes of kernels: Gram matrix, diagonal, pull-backs (gradients), and parameters resolved from the data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy, check_items, to_tensor
from rkhs._core.checks import Declared, refuse_undeclared
from rkhs._core.config import Configurable
from rkhs._core.devices import naming_devices
from rkhs._core.errors import InputError, in_range
from rkhs._core.lazy import ByName
from rkhs._core.linalg import Outer

# Combinations of kernels, in modules that import this one.
_JOINED = ByName("rkhs.kernels.combined.sums_and_products", sum="added", product="multiplied", multiple="Scaled")


def not_finite(kernel: Kernel, values: Tensor, *, whole: bool = True) -> InputError:
    """Return the error for kernel values that are not finite, or whose sum is not; it names the worst item."""
    bad = (~torch.isfinite(values)).sum(1)
    where = f", most with item {int(bad.argmax())} (from 0)" if whole and bool(bad.any()) else ""
    return InputError(
        f"the kernel {kernel!r} gives values that are not finite on these data{where}; rescale the data, or leave out "
        "items that the kernel cannot compare, such as rows of zeros"
    )


class Kernel(Configurable):
    """A positive semi-definite kernel ``k(x, y)`` on vectors or on any objects.

    A kernel is described by its constructor parameters alone. Parameters that depend on data (``gamma="median"``) are
    turned into numbers by :meth:`resolve`, which returns a new kernel; every other method needs a resolved kernel.

    Kernels combine by ``+``, ``*`` and multiplication with a positive number, and act as callables on NumPy arrays and
    torch tensors, so that ``sklearn.svm.SVC(kernel=k)`` works.

    To write a kernel, subclass this class (objects) or :class:`VectorKernel` (vectors) and give ``_gram`` and
    ``_diag``; a differentiable kernel adds ``_cross_pullback``.

    Every kernel raises InputError at its first use for parameters out of range, and for items that it cannot read.

    References
    ----------
    Scholkopf and Smola (2002), chapter 2.

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import Kernel
    >>> class SharedLetters(Kernel):
    ...     domain = "objects"
    ...     def _gram(self, X, Y=None):
    ...         Y = X if Y is None else Y
    ...         return torch.tensor([[float(len(set(a) & set(b))) for b in Y] for a in X])
    ...     def _diag(self, X):
    ...         return torch.tensor([float(len(set(a))) for a in X])
    >>> SharedLetters()(["cat", "cart"])
    array([[3., 3.],
           [3., 4.]], dtype=float32)
    """

    domain: ClassVar[str] = "objects"
    """``"vectors"``, ``"objects"`` or ``"gram"``: what the kernel reads."""

    @property
    def differentiable(self) -> bool:
        """Whether the kernel can act on codes, that is, has pull-backs."""
        return type(self)._cross_pullback is not Kernel._cross_pullback

    @property
    def rotation_invariant(self) -> bool:
        """Whether ``k(Qx, Qy) = k(x, y)`` for every orthogonal ``Q``."""
        return False

    @property
    def radial(self) -> Kernel | None:
        """The kernel as a function of the distance alone, else None: values and derivatives then share work."""
        return None

    @property
    def known_psd(self) -> bool:
        """Whether the kernel is positive semi-definite by construction, so that no Gram matrix needs a check."""
        return True

    row_width: int | None = None
    """Number of columns where the items are rows of a sparse matrix; None for all other items."""

    @naming_devices
    def __call__(self, X: Any, Y: Any = None) -> Any:
        """Gram matrix ``k(x_i, y_j)``, shape (n, m); for two single rows of shape (d,), the number ``k(x, y)``."""
        if self.domain == "vectors" and Y is not None and np.ndim(X) == np.ndim(Y) == 1:
            return self._of_two(X, Y)
        as_tensor = isinstance(X, Tensor)
        A = self.read(X)
        B = None if Y is None else self.read(Y)
        if isinstance(A, Tensor) and isinstance(B, Tensor):
            if self.domain == "vectors" and A.shape[1] != B.shape[1]:
                raise InputError(
                    f"X and Y must have the same number of columns; got shapes {tuple(A.shape)} and {tuple(B.shape)}"
                )
            dtype = torch.promote_types(A.dtype, B.dtype)
            A, B = A.to(dtype), B.to(dtype)
        kernel = self.resolve(A if B is None else B)
        with in_range(kernel):
            K = kernel._gram(A, B)
        if not bool(torch.isfinite(K.sum())):
            raise not_finite(kernel, K)
        return K if as_tensor else K.cpu().numpy()

    def _of_two(self, x: Any, y: Any) -> Any:
        """Value of two rows, as scikit-learn asks for them; parameters of the data would be those of two rows."""
        rows = [z[None] if isinstance(z, Tensor) else np.asarray(z)[None] for z in (x, y)]
        if self.resolve(self.read(rows[0])) is not self:
            raise InputError(
                f"{self!r} takes parameters from the training data, and was called with two single rows, as by "
                "scikit-learn's KernelRidge, KernelPCA, Nystroem and pairwise_kernels; give numbers for them, or use "
                "GramTransformer(kernel) with kernel='precomputed'"
            )
        return self(*rows)[0, 0]

    @naming_devices
    def diag(self, X: Any) -> Any:
        """Diagonal ``k(x_i, x_i)``, shape (n,); a tensor if ``X`` is one, else an array."""
        A = self.read(X)
        kernel = self.resolve(A)
        with in_range(kernel):
            d = kernel._diag(A)
        if not bool(torch.isfinite(d).all()):
            raise not_finite(kernel, d[:, None])
        return d if isinstance(X, Tensor) else d.cpu().numpy()

    def read(self, X: Any) -> Any:
        """Bring ``X`` to the form that the private methods take: a list of objects, each as it is."""
        return check_items(X)

    def resolve(self, X: Any, weights: Tensor | None = None) -> Kernel:
        """Return the kernel with every data-dependent parameter turned into a number; ``self`` if there is none.

        ``X`` holds the training items as :meth:`read` returns them, ``weights`` of shape (n,) sum to one.
        """
        self._check()
        return self

    _declared: ClassVar[Declared] = {}

    def _check(self) -> None:
        """Refuse parameters out of range; no data are needed."""
        refuse_undeclared(self, f"{type(self).__name__}.")

    def _with(self, **params: Any) -> Self:
        """Return the same kernel with other numbers for some parameters."""
        return type(self)(**{**self.get_params(deep=False), **params})

    def pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None = None) -> Tensor:
        """Gradient, shape (n, d), of a function of ``k(X, X)`` with respect to ``X``.

        With ``S = dJ/dK`` of shape (n, n) (all entries free, not necessarily symmetric):
        ``G_i = sum_j (S_ij + S_ji) grad_1 k(x_i, x_j)``. ``K`` is the Gram matrix at ``X`` if it is at hand.

        Raises
        ------
        InputError
            If the kernel is not differentiable.
        """
        return self._pullback(X, S, K)

    def gram_and_pullback(self, X: Tensor) -> tuple[Tensor, Callable[[Tensor | Outer], Tensor]]:
        """``k(X, X)``, which the caller may change, and ``S -> pullback(X, S)``; overridden where they share work."""
        return self._gram(X), lambda S: self._pullback(X, S, None)

    def cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        """Gradient with respect to ``X`` of a function of ``k(X, Y)`` with ``S = dJ/dk(X, Y)``, ``Y`` fixed.

        ``G_i = sum_j S_ij grad_1 k(x_i, y_j)``, shape (n, d), for ``S`` of shape (n, m).
        """
        return self._cross_pullback(X, Y, S)

    def diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        """Gradient with respect to ``X`` of a function of the diagonal, ``s_i = dJ/dk(x_i, x_i)``; shape (n, d)."""
        return self._diag_pullback(X, s)

    @abstractmethod
    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        """Gram matrix of items in the form of :meth:`read`; a new tensor that the caller may change."""

    @abstractmethod
    def _diag(self, X: Any) -> Tensor:
        """Diagonal of the Gram matrix."""

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        """``k(X, Y)`` in operations that torch differentiates any number of times, maps over batches and compiles."""
        raise InputError(
            f"{type(self).__name__} has no formula that torch transforms; use a Gaussian or Matern kernel for second "
            "derivatives, torch.func, torch.compile and torch.export"
        )

    def _plain_diag(self, X: Tensor) -> Tensor:
        """The diagonal in operations of :meth:`_plain`."""
        return self._diag(X)

    def _memory(self, X: Any) -> float:
        """Bytes that the features of these items take while their Gram matrix is computed, without that matrix."""
        return 0.0

    def _column_diag(self, X: Any, Y: Any) -> Tensor:
        """``k(y, y)`` of the items in the columns of ``_gram(X, Y)``; kernels that read Gram matrices differ here."""
        return self._diag(X if Y is None else Y)

    def _add_gram(self, K: Tensor, X: Any, Y: Any = None, factor: float = 1.0) -> Tensor:
        """Add ``factor`` times the Gram matrix to ``K``; overridden where no second matrix is needed."""
        return K.add_(self._gram(X, Y), alpha=factor)

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        """Compute :meth:`pullback` by :meth:`_cross_pullback`; overridden where a direct formula is faster."""
        if type(self)._cross_pullback is Kernel._cross_pullback:
            raise InputError(
                f"{type(self).__name__} has no gradient and cannot act on codes; use a Gaussian or Matern kernel"
            )
        dense = S.dense() if isinstance(S, Outer) else S
        return self._cross_pullback(X, X, dense + dense.mT)

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        raise InputError(f"{type(self).__name__} has no gradient; use a Gaussian or Matern kernel")

    def _jacobian(self, X: Tensor, Y: Tensor, C: Tensor) -> Tensor:
        """Derivatives of the rows of ``k(X, Y) C`` with respect to those of ``X``, shape (n, d, r)."""
        predicted = self._gram(X, Y) @ C
        size = float(Y.abs().max().clamp_min(1e-12)) * torch.finfo(X.dtype).eps ** (1 / 3)
        steps = size * torch.eye(X.shape[1], dtype=X.dtype, device=X.device)
        return torch.stack([self._gram(X + step, Y) @ C - predicted for step in steps], 1).div_(size)

    def _pair_pullback(self, X: Tensor, Y: Tensor, S: Tensor, K: Tensor | None) -> tuple[Tensor, Tensor]:
        """Gradients with respect to both sides of ``K = k(X, Y)``; may overwrite ``S``."""
        return self._cross_pullback(X, Y, S), self._cross_pullback(Y, X, S.mT)

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        raise InputError(f"{type(self).__name__} has no gradient; use a Gaussian or Matern kernel")

    def __add__(self, other: object) -> Kernel:
        return _JOINED["sum"](self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return _JOINED["product"](self, other)
        if isinstance(other, (int, float)) and not isinstance(other, bool):
            return _JOINED["multiple"](self, float(other))
        return NotImplemented

    __rmul__ = __mul__


def common_domain(owner: object, kernels: Iterable[Kernel], what: str) -> str:
    """Return the common domain of the kernels; refuse kernels on different domains."""
    domains = {kernel.domain for kernel in kernels}
    if len(domains) > 1:
        raise InputError(
            f"{type(owner).__name__} mixes kernels on {sorted(domains)}; its {what} must read the same data"
        )
    return domains.pop()


class Composite(Kernel):
    """A kernel composed of other kernels; it reads the items that its parts read.

    References
    ----------
    Scholkopf and Smola (2002), section 13.1.

    Examples
    --------
    >>> from rkhs.kernels import Composite, Gaussian, Linear
    >>> kernel = Gaussian(1.0) + Linear()
    >>> isinstance(kernel, Composite), kernel.parts
    (True, (Gaussian(gamma=1.0), Linear()))
    >>> kernel([[1.0]], [[1.0]])
    array([[2.]])
    """

    of_values: ClassVar[bool] = False
    """Whether it is a function of the values of its parts alone, so that the parts may read any items."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels it is made of, checked."""

    @property
    def domain(self) -> str:  # type: ignore[override]
        """Common domain of the parts."""
        return common_domain(self, self.parts, "parts")

    @property
    def differentiable(self) -> bool:
        """Whether all parts are."""
        return all(part.differentiable for part in self.parts)

    @property
    def rotation_invariant(self) -> bool:
        """Whether all parts are."""
        return all(part.rotation_invariant for part in self.parts)

    @property
    def known_psd(self) -> bool:
        """Whether all parts are."""
        return all(part.known_psd for part in self.parts)

    @property
    def row_width(self) -> int | None:  # type: ignore[override]
        """Equals that of the parts."""
        return self.parts[0].row_width

    def read(self, X: Any) -> Any:
        """Read the items by the first part; parts with different domains are refused."""
        assert self.domain
        return self.parts[0].read(X)

    def with_parts(self, parts: Sequence[Kernel]) -> Self:
        """Return a copy with other parts in its parameter ``terms`` or ``base``."""
        if all(new is old for new, old in zip(parts, self.parts, strict=True)):
            return self
        several = "terms" in self._get_param_names()
        return self._with(terms=tuple(parts)) if several else self._with(base=parts[0])

    def _memory(self, X: Any) -> float:
        return sum(part._memory(X) for part in self.parts)

    def resolve(self, X: Any, weights: Tensor | None = None) -> Kernel:
        """Resolve all parts."""
        self._check()
        return self.with_parts([part.resolve(X, weights) for part in self.parts])


class Derived(Composite):
    """A kernel derived from one base kernel."""

    base: Kernel
    of_vectors: ClassVar[bool] = False
    """Whether the base must be a kernel on vectors."""

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The base kernel, checked."""
        if not isinstance(self.base, Kernel) or (self.of_vectors and self.base.domain != "vectors"):
            what = "a kernel on vectors" if self.of_vectors else "a kernel"
            raise InputError(f"{type(self).__name__}.base must be {what}; got {self.base!r}")
        return (self.base,)


class Mapped(Derived):
    """A kernel of mapped rows, ``k(x, y) = base(m(x), m(y))``."""

    of_vectors = True

    @property
    def rotation_invariant(self) -> bool:
        """False: the map depends on the coordinates."""
        return False

    @abstractmethod
    def _mapped(self, X: Tensor) -> Tensor:
        """Return ``m(X)``, the input of the base kernel."""

    @abstractmethod
    def _back(self, G: Tensor, X: Tensor) -> Tensor:
        """Pull the gradient with respect to ``m(X)`` back to ``X``."""

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        return self.base._gram(self._mapped(X), None if Y is None else self._mapped(Y))

    def _diag(self, X: Tensor) -> Tensor:
        return self.base._diag(self._mapped(X))

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        return self.base._plain(self._mapped(X), self._mapped(Y))

    def _plain_diag(self, X: Tensor) -> Tensor:
        return self.base._plain_diag(self._mapped(X))

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        return self._back(self.base._pullback(self._mapped(X), S, K), X)

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        return self._back(self.base._cross_pullback(self._mapped(X), self._mapped(Y), S), X)

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return self._back(self.base._diag_pullback(self._mapped(X), s), X)


class VectorKernel(Kernel):
    """A kernel on the rows of a real matrix: ``K_ij = k(x_i, y_j)`` for ``x_i`` and ``y_j`` of d numbers.

    References
    ----------
    Aronszajn (1950), Theory of reproducing kernels.

    Examples
    --------
    >>> from rkhs.kernels import MoleculeTanimoto, Tanimoto, VectorKernel
    >>> isinstance(Tanimoto(), VectorKernel), isinstance(MoleculeTanimoto(), VectorKernel)
    (True, False)
    >>> Tanimoto().domain, MoleculeTanimoto().domain
    ('vectors', 'objects')
    """

    domain = "vectors"

    def read(self, X: Any) -> Tensor:
        """Turn an array of shape (n, d) into a floating-point tensor; float32 stays float32."""
        return read_matrix(X, type(self).__name__)


def read_matrix(X: Any, reader: str, what: str = "a 2-D array (n samples, d inputs)") -> Tensor:
    """Turn a finite numeric matrix into a floating-point tensor; float32 stays float32, read-only memory is copied."""
    tensor = _read_tensor(X, reader) if isinstance(X, Tensor) else _read_array(X, reader)
    if tensor.ndim != 2:
        raise InputError(
            f"{reader} reads {what}; got shape {tuple(tensor.shape)}. "
            "Reshape one feature by X.reshape(-1, 1), one sample by X.reshape(1, -1)"
        )
    if 0 in tensor.shape:
        raise InputError(f"{reader} reads {what}; got shape {tuple(tensor.shape)}, which is empty")
    if not bool(torch.isfinite(tensor).all()):
        row = int((~torch.isfinite(tensor)).any(1).nonzero()[0])
        raise InputError(
            f"{reader} reads finite numbers; got NaN or infinity in row {row}. Fill or drop such rows first"
        )
    return tensor


def _read_tensor(X: Tensor, reader: str) -> Tensor:
    """Return a real dense tensor, detached; refuse all others."""
    if X.dtype.is_complex:
        raise InputError(f"{reader} reads real numbers; got dtype {X.dtype}")
    if X.layout != torch.strided:
        raise InputError(f"{reader} reads dense tensors; got layout {X.layout}. Pass X.to_dense()")
    if X.requires_grad and torch.is_grad_enabled():
        raise InputError(
            f"{reader} records no gradients; got a tensor with requires_grad=True. Pass X.detach(), and take gradients "
            "from pullback or cross_pullback"
        )
    if X.is_meta:
        raise InputError(f"{reader} reads numbers; got a tensor on the device 'meta', which has none")
    X = X.detach()
    return X if X.dtype in (torch.float32, torch.float64) else X.to(torch.float64)


def _read_array(X: Any, reader: str) -> Tensor:
    """Convert what NumPy reads as real numbers to a tensor."""
    if hasattr(X, "toarray"):
        raise InputError(f"{reader} reads dense arrays; got a sparse {type(X).__name__}. Pass X.toarray()")
    plain = as_numpy(X)
    try:
        array = np.asarray(plain)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    array = _as_numbers(array) if array.dtype == object else array
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{reader} reads numbers; got dtype {array.dtype}. "
            "Encode the columns as numbers, or use a kernel for objects"
        )
    single = array.dtype.kind == "f" and array.dtype.itemsize == 4  # of either byte order
    wide = array if single else array.astype(np.float64, copy=False)
    return to_tensor(wide, torch.float32 if single else torch.float64, torch.device("cpu"))


def _as_numbers(array: np.ndarray) -> np.ndarray:
    """Convert an object array of numbers, as from a frame of several dtypes; return other arrays as they are."""
    if not array.size or any(isinstance(value, (str, bytes)) for value in array.ravel()):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return array
