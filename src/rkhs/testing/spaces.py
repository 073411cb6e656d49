"""What every storage guarantees: a feature map whose parts fit each other and the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Kernel
from rkhs.spaces.features import FeatureMap, Storage
from rkhs.spaces.features.base import sample_rows
from rkhs.testing.base import close, keep, require


@dataclass(frozen=True)
class Case:
    """A map that a storage built, and what it was built from."""

    storage: Storage
    kernel: Kernel
    items: Tensor
    new: Tensor
    map: FeatureMap


def check_space(storage: Storage, *, kernel: Kernel | None = None, n: int = 60, columns: int = 3) -> tuple[str, ...]:
    """Check that a storage can serve the estimators: what it builds is a feature map of the kernel.

    Parameters
    ----------
    storage : Storage
        What ``storage=`` of the estimators takes: an object with ``m``, ``random_state``, ``keeps_items``, ``check``,
        ``sample_size`` and ``build``; it needs no base class.
    kernel : Kernel, default=None
        On vectors, with numbers for its parameters; None: ``Gaussian(0.3)``.
    n, columns : int, default=60 and 3
        Size of the data that are tried.

    Returns
    -------
    tuple of str
        The guarantees that were checked, in words.

    Raises
    ------
    BrokenPromise
        Naming the first guarantee that is broken, and by how much.
    InputError
        For anything but a storage.

    References
    ----------
    Williams and Seeger (2001): features of landmarks approximate a kernel from below.

    Examples
    --------
    >>> from rkhs.features import Nystroem
    >>> from rkhs.testing import check_space
    >>> len(check_space(Nystroem(20)))
    7
    """
    if not isinstance(storage, Storage) or isinstance(storage, type):
        names = ", ".join(name for name in Storage.__annotations__ | vars(Storage) if not name.startswith("_"))
        raise InputError(f"storage must be an object with {names}; got {storage!r}")
    chosen = Gaussian(0.3) if kernel is None else kernel
    rng = np.random.default_rng(0)
    items, new = (torch.from_numpy(rng.normal(size=(size, columns))) for size in (n, 9))
    storage.check()
    case = Case(storage, chosen, items, new, _build(storage, chosen, items))
    checks: tuple[Callable[[Case], None], ...] = (
        _raw_features_have_the_width_and_are_new,
        _features_are_raw_features_whitened,
        _whitening_and_its_adjoint_belong_together,
        _raw_features_of_elements_belong_to_their_features,
        _kept_items_are_exact_and_others_lie_below,
        _rows_do_not_depend_on_their_neighbours,
        _the_same_seed_gives_the_same_features,
    )
    return keep(storage, dict.fromkeys(checks, (case,)))


def _build(storage: Storage, kernel: Kernel, items: Tensor) -> FeatureMap:
    rng = np.random.RandomState(0)
    rows = sample_rows(len(items), storage.sample_size(len(items)), rng)
    return storage.build(kernel, items if rows is None else items[torch.as_tensor(rows)], rng)


def _random(*shape: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(1).normal(size=shape))


def _raw_features_have_the_width_and_are_new(case: Case) -> None:
    raw = case.map.raw(case.new)
    expected = (len(case.new), case.map.width)
    require(tuple(raw.shape) == expected, f"raw(items) must have shape {expected}; got {tuple(raw.shape)}")
    before = case.map.raw(case.new).clone()
    raw.zero_()
    close(case.map.raw(case.new), before, 1e-15, "raw(items), after an earlier result was changed,")


def _features_are_raw_features_whitened(case: Case) -> None:
    F, V = case.map.features(case.new), _random(case.map.dim, 2)
    require(tuple(F.shape) == (9, case.map.dim), f"features(items) must have shape (9, dim); got {tuple(F.shape)}")
    close(case.map.raw(case.new) @ case.map.whiten(V), F @ V, 1e-6, "raw(items) @ whiten(V) and features(items) @ V")


def _whitening_and_its_adjoint_belong_together(case: Case) -> None:
    V, G = _random(case.map.dim, 2), _random(case.map.width, 2)
    left, right = (case.map.whiten(V) * G).sum(0), (V * case.map.whiten_adjoint(G)).sum(0)
    close(left, right, 1e-8, "<whiten(V), G> and <V, whiten_adjoint(G)>")


def _raw_features_of_elements_belong_to_their_features(case: Case) -> None:
    raw, mean = case.map.raw(case.items), case.map.features(case.items).mean(0, keepdim=True)
    close(case.map.raw_of(mean), raw.mean(0, keepdim=True), 1e-6, "raw_of(mean of features) and its raw features")


def _kept_items_are_exact_and_others_lie_below(case: Case) -> None:
    if not case.storage.keeps_items:
        require(case.map.kept is None, "keeps_items is False, but the map has kept items")
        return
    require(case.map.kept is not None, "keeps_items is True, but the map keeps no items")
    kept = case.map.support(case.items)
    require(as_numpy(case.map.kept).shape == tuple(kept.shape), "kept and support(like) must be the same items")
    raw = case.map.kept_raw()
    require(raw is not None, "keeps_items is True: kept_raw() must give the raw features of the kept items")
    assert raw is not None
    close(raw, case.map.raw(kept), 1e-8, "kept_raw() and raw(kept items)")
    F, N = case.map.features(kept), case.map.features(case.new)
    close(
        N @ F.mT, case.kernel._gram(case.new, kept), 1e-6, "features of new and of kept items and their kernel values"
    )
    excess = float(((N * N).sum(1) - case.kernel._diag(case.new)).max())
    require(excess <= 1e-6, f"|F(x)|^2 must be at most k(x, x); it is {excess:.1e} larger")


def _rows_do_not_depend_on_their_neighbours(case: Case) -> None:
    alone = torch.cat([case.map.features(case.new[i : i + 1]) for i in range(len(case.new))])
    close(alone, case.map.features(case.new), 1e-8, "features of rows one by one and together")


def _the_same_seed_gives_the_same_features(case: Case) -> None:
    rebuilt: Any = _build(case.storage, case.kernel, case.items)
    close(rebuilt.features(case.new), case.map.features(case.new), 1e-12, "features of two builds with one seed")
