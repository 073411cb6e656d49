"""What a solver is: hyper-parameters in the constructor, one ``solve`` that answers with a :class:`Solution`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs._core.config import Configurable
from rkhs._core.errors import InputError
from rkhs.protocols import HasValueAndGrad, Monitor, Solution

__all__ = ["Solver", "rounding"]


class Solver(Configurable):
    """An algorithm for the problems that meet the protocols it names.

    References
    ----------
    ``docs/design.md``, central abstractions.
    """

    requires: ClassVar[tuple[type, ...]] = (HasValueAndGrad,)
    """Protocols that a problem must meet."""

    def solve(self, problem: Any, start: Tensor, monitor: Monitor | None = None) -> Solution:
        """Solve the problem from a start point.

        Parameters
        ----------
        problem : object
            Meets every protocol in ``requires``.
        start : Tensor
            First point; it is not changed.
        monitor : Monitor, optional
            Receives one row an iteration.

        Returns
        -------
        Solution

        Raises
        ------
        InputError
            Before the first iteration, if the problem lacks a protocol.
        """
        self._refuse(problem)
        return self._solve(problem, start, Monitor() if monitor is None else monitor)

    def _refuse(self, problem: Any) -> None:
        """Raise if the problem lacks a protocol."""
        for protocol in self.requires:
            if not isinstance(problem, protocol):
                raise InputError(
                    f"{type(self).__name__} needs a problem that meets {protocol.__name__}; "
                    f"{type(problem).__name__} does not. "
                    f"Solvers that fit it: {', '.join(getattr(problem, 'solvers', ())) or 'see its documentation'}"
                )

    @abstractmethod
    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        """Solve a problem that fits."""


def rounding(x: Tensor) -> float:
    """Root of the precision: where a relative gradient is below it, differences of the objective are rounding."""
    return float(torch.finfo(x.dtype).eps ** 0.5)
