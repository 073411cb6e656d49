"""Output spaces: isometric coordinates of the targets, and the inverse map."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor

from rkhs._core.config import Configurable


class OutputSpace(Configurable):
    """A space of targets, represented by coordinates ``U`` of shape (n, r) whose Gram matrix ``U U^T`` is theirs.

    Targets are centred (``center=True``) and divided by the square root of their total variance (``scale=True``)::

        <u_i, u_j> = <y_i - m, y_j - m> / s^2,    m = sum_i w_i y_i,    s^2 = sum_i w_i ||y_i - m||^2

    with weights that sum to one. Problems and solvers see the coordinates only. The class method ``fit`` of a subclass
    returns the space and the coordinates of the training targets. The space itself is stored as a few arrays with a
    fitted model.

    References
    ----------
    Schoelkopf, Smola and Mueller (1998), Nonlinear component analysis as a kernel eigenvalue problem, for centred Gram
    matrices and coordinates.

    Examples
    --------
    >>> import torch
    >>> from rkhs.outputs import Euclidean, OutputSpace
    >>> Y = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    >>> space, U = Euclidean.fit(Y, center=False, scale=False)
    >>> isinstance(space, OutputSpace), bool(torch.allclose(U @ U.T, Y @ Y.T))
    (True, True)
    """

    scale: float
    """Standard deviation by which the centred targets were divided; 1.0 without scaling."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of coordinates."""

    @abstractmethod
    def encode(self, Y: Tensor) -> Tensor:
        """Coordinates of targets, shape (m, r); rows of kernel values where the targets are features."""
