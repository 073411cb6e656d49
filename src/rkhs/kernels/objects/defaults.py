"""Kernels for a kind of objects: the default first, then the others that are worth a comparison."""

from __future__ import annotations

from typing import Any, Literal

from rkhs._core.arrays import check_items
from rkhs._core.checks import check_choice
from rkhs.kernels.base import Kernel
from rkhs.kernels.objects.graphs import ShortestPath, WeisfeilerLehman, read_graph
from rkhs.kernels.objects.series import ShiftInvariant, read_series
from rkhs.kernels.objects.warping import DynamicTimeWarping, GlobalAlignment

_MAX_NODES = 1000  # of a graph; shortest paths of larger ones take too long


def kernels_for(kind: Literal["graphs", "series"], items: Any) -> tuple[Kernel, ...]:
    """Kernels for graphs or time series. The first is the default of ``rkhs fit``.

    * Series of one channel and one length: all shifts.
    * Series of several channels and one length: all shifts plus global alignment.
    * Series of different lengths: global alignment.
    * Graphs: neighbourhoods up to depth 2 plus shortest paths. If a graph has more than 1000 nodes: neighbourhoods.

    Parameters
    ----------
    kind : {"graphs", "series"}
    items : sequence of n objects
        As the kernels read them.

    Returns
    -------
    tuple of two to four Kernel
        Not resolved.

    Notes
    -----
    ``./dev bench object_kernels`` has the figures that the rule was chosen by, and the sets that it was scored on.
    :func:`rkhs.selection.choose_kernel` compares the kernels by classes.

    References
    ----------
    Of the kernels: Paparrizos and Franklin (2019), Cuturi (2011), Shervashidze et al. (2011), Borgwardt and Kriegel
    (2005).

    Examples
    --------
    >>> from rkhs.kernels import kernels_for
    >>> kernels_for("series", [[[0.0, 1.0], [1.0, 3.0]], [[2.0, 1.0], [1.0, 0.0]]])[0]
    Sum(terms=(ShiftInvariant(), GlobalAlignment()))
    """
    check_choice(kind, "kind", ("graphs", "series"))
    read = check_items(items, "items")
    if kind == "graphs":
        sizes = [len(read_graph(item, "label", f"item {row}")["labels"]) for row, item in enumerate(read)]
        if max(sizes) > _MAX_NODES:
            return WeisfeilerLehman(), WeisfeilerLehman(2)
        return WeisfeilerLehman(2) + ShortestPath(), ShortestPath(), WeisfeilerLehman()
    shapes = {read_series(item, row, "kernels_for").shape for row, item in enumerate(read)}
    if len({length for length, _ in shapes}) > 1:
        return GlobalAlignment(), DynamicTimeWarping()
    both: Kernel = ShiftInvariant() + GlobalAlignment()
    if max(channels for _, channels in shapes) > 1:
        return both, ShiftInvariant(), GlobalAlignment(), DynamicTimeWarping()
    return ShiftInvariant(), both, GlobalAlignment(), DynamicTimeWarping()
