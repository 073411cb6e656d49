"""Targets of a kernel autoencoder, as a user gives them to fit."""

from __future__ import annotations

from typing import Any

from rkhs._core.arrays import check_items, to_tensor
from rkhs._core.checks import check_gram
from rkhs._core.errors import InputError
from rkhs._core.ownership import own
from rkhs.estimators.autoencoder_settings import Settings
from rkhs.kernels.base import Kernel

__all__ = ["read_targets"]


def read_targets(model: Any, targets: Any, items: Any, kernel: Kernel, settings: Settings) -> Any:
    """The targets in the form that the output reads; the items themselves if none are given."""
    n, output_kernel = len(items), settings.output_kernel
    domain = kernel.domain if output_kernel is None else output_kernel.domain
    if targets is None:
        if settings.features and output_kernel is not None and output_kernel.domain != kernel.domain:
            raise InputError(
                f"output_kernel reads {domain}, kernel reads {kernel.domain}; pass fit(X, targets=...) that it can read"
            )
        return items
    if model.column_scales_ is not None:
        raise InputError(
            "columns='scaled' scales the rows that are rebuilt; with targets= scale both before fit, and use "
            "columns='raw'"
        )
    if settings.features and domain == "objects":
        assert output_kernel is not None
        read: Any = own(output_kernel.read(check_items(targets, "targets")))
    else:
        read = model._read_matrix(targets, "targets", shape="(n, {q})")
        if settings.features and domain == "gram":
            read = to_tensor(check_gram(read.cpu().numpy(), "targets (kernel='precomputed')"), **model._options)
    if len(read) != n:
        raise InputError(f"targets must have one row a row of X, {n}; got {len(read)}")
    return read
