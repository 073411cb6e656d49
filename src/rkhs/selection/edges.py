"""Whether a path of settings was long enough: a choice at its end may mean that the best lies beyond."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_number, real_array
from rkhs._core.errors import InputError

# How much worse the neighbour must be: flat ends are ends too, and moving on would gain next to nothing.
_MARGIN = 0.2


def open_end(errors: Sequence[float] | np.ndarray, margin: float = _MARGIN, least: float = 0.0) -> int | None:
    """The end of a path towards which the error was still falling when the path stopped.

    Parameters
    ----------
    errors : sequence of float
        Errors along a path of settings, in the order of the path. Those that are not finite are left out.
    margin : float, default=0.2
        The least error must be this share below that of its neighbour: ``e_end < (1 - margin) e_neighbour``.
    least : float, default=0
        And by more than so much.

    Returns
    -------
    int or None
        Index of the first or the last setting if it is the best by that much; None if the best lies inside, or the
        error is flat at the end. Two settings are no path.

    Raises
    ------
    InputError
        If no error is finite, and for numbers out of range.

    References
    ----------
    Hastie, Tibshirani and Friedman (2009), The elements of statistical learning, section 7.10, for error curves.

    Examples
    --------
    >>> from rkhs.selection import open_end
    >>> open_end([0.9, 0.5, 0.2]), open_end([0.9, 0.5, 0.45]), open_end([0.9, 0.5, 0.6])
    (2, None, None)
    """
    values = real_array(as_numpy(errors, "errors"), "errors")
    if values.ndim != 1:
        raise InputError(f"errors must be a sequence of numbers along one path; got shape {values.shape}")
    margin, least = check_number(margin, "margin", at_most=1.0), check_number(least, "least")
    known = np.flatnonzero(np.isfinite(values))
    if len(known) == 0:
        raise InputError("errors must hold at least one finite number; got none")
    place = int(np.argmin(values[known]))
    if len(known) < 3 or 0 < place < len(known) - 1:
        return None
    neighbour = known[1] if place == 0 else known[-2]
    end, beside = float(values[known[place]]), float(values[neighbour])
    return int(known[place]) if end < (1.0 - margin) * beside and beside - end > least else None
