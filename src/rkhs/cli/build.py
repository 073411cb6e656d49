"""The estimator that the arguments of a command describe."""

from __future__ import annotations

import argparse
import sys
from argparse import Namespace
from typing import Any

from rkhs import kernels
from rkhs._core.errors import InputError
from rkhs.cli.columns import column_setting
from rkhs.cli.engines import engine_settings
from rkhs.cli.kinds import (
    OBJECTS,
    choose_for_sequences as choose_for_sequences,
    chose_kernel as chose_kernel,
    default_kernel,
    find_estimator,
    refuse_unknown,
)
from rkhs.data import Dataset

_NOT_ASKED: dict[str, Any] = {  # by a command that does not offer it
    **dict.fromkeys(("estimator", "n_components", "seed", "engine", "scheduler", "jobs", "set")),
    "quiet": False,
}


def build_estimator(
    args: argparse.Namespace, data: Dataset, cls: type | None = None, defaults: dict[str, Any] | None = None
) -> Any:
    """Make the estimator that the arguments describe, with defaults that fit the data."""
    from rkhs.cli.expressions import parse_setting, parse_value

    args = Namespace(**(_NOT_ASKED | vars(args)))
    cls = find_estimator(args.estimator or "KernelAutoencoder") if cls is None else cls
    known = cls().get_params(deep=False)
    given = {**(defaults or {}), **_kernels(args, data, known, defaults or {}), **_running(args, known)}
    if args.n_components is not None:
        given["n_components"] = parse_value(args.n_components, "--n-components")
    settings = dict(parse_setting(text) for text in args.set or ())
    if "columns" in known:
        given.update(column_setting(args, data, (given | settings).get("kernel", known["kernel"])))
    elif data.kind == "table":
        given.setdefault("kernel", "mixed_table")
    given.update(settings)
    refuse_unknown(cls, given, known)
    return cls(**given)


def _running(args: argparse.Namespace, known: dict[str, Any]) -> dict[str, Any]:
    """How the fit runs: progress, seed, engine."""
    given = engine_settings(args)
    if sys.stderr.isatty() and not args.quiet and "verbose" in known:
        given["verbose"] = 1
    if args.seed is not None and "random_state" in known:
        given["random_state"] = args.seed
    return given


def _kernels(
    args: argparse.Namespace, data: Dataset, known: dict[str, Any], defaults: dict[str, Any]
) -> dict[str, Any]:
    """The kernels that are given, or that fit the kind of the data."""
    from rkhs.cli.expressions import parse_kernel

    kernel = defaults.get("kernel", default_kernel(data)) if args.kernel is None else parse_kernel(args.kernel)
    if isinstance(kernel, kernels.MixedTable) and data.kind not in ("table", "vectors"):
        raise InputError(f"--kernel {args.kernel} compares rows of tables; got {data.kind}; leave it out")
    given = {} if kernel is None else {"kernel": kernel}
    if data.kind in ("molecules", *OBJECTS) and "output_kernel" in known and "output_kernel" not in defaults:
        given["output_kernel"] = "same"  # rebuild phi(x): reals between bits mean nothing
    return given
