"""Operator-valued kernels of the regressors: as given, with a free intercept, and in coordinates of the targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rkhs._core.checks import check_operator
from rkhs._core.errors import InputError
from rkhs._core.ownership import private_copy
from rkhs.estimators.given_matrices import adapted_to
from rkhs.kernels import Kernel, Linear, OperatorKernel, OperatorSum, Scaled, Separable, Sum, as_kernel
from rkhs.kernels.base import Mapped
from rkhs.outputs import Euclidean, OutputSpace
from rkhs.problems.certificates import covariance_operator, restricted_operator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rkhs.estimators.options.arguments import OperatorKernelLike


def read_operator_kernel(
    kernel: OperatorKernelLike, operator: ArrayLike | None, X: Any = None, *, center: bool
) -> OperatorKernel:
    """The operator-valued kernel of the arguments; linear parts are around the mean row where targets are centred."""
    if isinstance(kernel, (list, tuple)):
        kernel = _sum_of_pairs(kernel)
    if isinstance(kernel, OperatorKernel):
        if operator is not None:
            raise InputError("operator must be None with an operator-valued kernel, which has its own")
        read = private_copy(kernel)
    else:
        read = Separable(as_kernel(kernel), private_copy(operator))
    if center:
        read = _around_mean(read)
    for term in read.pairs:
        if isinstance(term.operator, str) and term.operator != "covariance":
            raise InputError(
                f"operator must be None (the identity), 'covariance' or a positive semi-definite matrix; "
                f"got {term.operator!r}"
            )
    return adapted_to(X, read)


def _around_mean(kernel: OperatorKernel) -> OperatorKernel:
    """The kernel with :func:`around_mean` of each of its scalar kernels."""
    terms = [Separable(around_mean(term.kernel), term.operator) for term in kernel.pairs]
    if isinstance(kernel, Separable):
        return terms[0]
    return OperatorSum(tuple(terms))


def around_mean(kernel: Kernel) -> Kernel:
    """The kernel with linear parts ``(x - m)^T (x' - m)``, where m is the mean row.

    A linear function of rows has no constant. The squared loss with a free intercept b, ``sum_i w_i (y_i - b - v^T
    x_i)^2 + reg ||v||^2``, has its minimum over b at ``b = mean y - v^T m``: what is left is the problem of centred
    targets and centred rows. So the intercept is not penalised. Only kernels are changed whose functions are sums with
    a linear one.
    """
    if type(kernel) is Linear and kernel.offset is None:
        return Linear(kernel.scale, offset="mean")
    if isinstance(kernel, (Sum, Scaled, Mapped)):
        return kernel.with_parts([around_mean(part) for part in kernel.parts])
    return kernel


def _sum_of_pairs(pairs: Sequence[Any]) -> OperatorSum:
    if not pairs or any(not isinstance(pair, (list, tuple)) or len(pair) != 2 for pair in pairs):
        raise InputError(
            f"kernel must be a kernel, a name, or a list of pairs (kernel, operator); got {pairs!r}. "
            "Write [(k1, A1), (k2, None)] for k1 A1 + k2 I"
        )
    return OperatorSum(tuple(Separable(as_kernel(scalar), private_copy(operator)) for scalar, operator in pairs))


def in_coordinates(kernel: OperatorKernel, output: OutputSpace, U: Tensor, weights: Tensor | None) -> OperatorKernel:
    """The kernel with the output operators of all terms in the coordinates of the targets."""
    found: list[Tensor | None] = []
    for term in kernel.pairs:
        if term.operator is None:
            found.append(None)
        elif isinstance(term.operator, str):
            A = covariance_operator(U, weights)  # in units of its largest eigenvalue, so that reg has no unit
            found.append(A / torch.linalg.matrix_norm(A, 2).clamp_min(torch.finfo(A.dtype).tiny))
        elif not isinstance(output, Euclidean):
            raise InputError("operator must be None or 'covariance' for outputs known through a kernel; got a matrix")
        else:
            A = torch.as_tensor(check_operator(term.operator, "operator", len(output.mean))).to(U)
            basis = None if output.basis is None else torch.as_tensor(output.basis).to(U)
            found.append(restricted_operator(A, basis))
    return kernel.with_operators([None if A is None else A.cpu().numpy() for A in found])
