"""``rkhs fit --robust``: rows that look wrong are named, scored and left out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rkhs.cli.outputs import TABLES, Outputs

if TYPE_CHECKING:
    from rkhs.data import Dataset
    from rkhs.estimators.base import KernelEstimator
    from rkhs.estimators.robust_fit import RobustFit

__all__ = ["add_robust_options", "fit_robustly", "plan_scores", "robust_sentence", "threshold_sentence", "write_scores"]

_SHOWN, _LARGEST = 20, 5


def add_robust_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Receives them in a group of their own.
    """
    group = parser.add_argument_group("rows that are wrong")
    group.add_argument("--robust", action="store_true", help="find rows that look wrong, and fit without them")
    group.add_argument(
        "--scores", metavar="FILE", help="with --robust: write a score for each row; above 1 the row looks wrong"
    )


def plan_scores(args: argparse.Namespace, outputs: Outputs) -> None:
    """Look at the file of scores and at flags that contradict.

    Parameters
    ----------
    args : argparse.Namespace
    outputs : Outputs

    Raises
    ------
    InputError
        If the file cannot be written, or goes with other flags.
    """
    from rkhs._core.errors import InputError

    if args.scores is not None and not args.robust:
        raise InputError("--scores goes with --robust; got it without; add --robust, or leave it out")
    if args.robust:
        given = [name for name in ("stream", "engine", "checkpoint") if getattr(args, name)]
        if given:
            raise InputError(f"--{given[0]} does not go with --robust, which fits rows in memory; leave one out")
    outputs.add("--scores", args.scores, TABLES)


def fit_robustly(estimator: KernelEstimator, data: Dataset) -> tuple[Any, Any, RobustFit]:
    """Fit in rounds; every row gets codes, also those that the fit left out.

    Parameters
    ----------
    estimator : KernelAutoencoder
        Not fitted.
    data : Dataset

    Returns
    -------
    model : KernelAutoencoder
    codes : ndarray of shape (n, p)
    found : RobustFit

    Raises
    ------
    InputError
        For an estimator that cannot be fitted robustly.
    """
    from rkhs import KernelAutoencoder, fit_robust
    from rkhs._core.errors import InputError

    if not isinstance(estimator, KernelAutoencoder):
        raise InputError(f"--robust fits a KernelAutoencoder; got {type(estimator).__name__}; leave --robust out")
    found = fit_robust(estimator, data.items)
    codes = found.model.codes_ if found.inliers.all() else found.model.transform(data.items)
    return found.model, codes, found


def robust_sentence(found: RobustFit, data: Dataset) -> str:
    """Which rows look wrong, the worst first; where none does, which come nearest to it.

    Parameters
    ----------
    found : RobustFit
    data : Dataset

    Returns
    -------
    str
    """
    import numpy as np

    score, names = found.outlier_score, data.row_names or data.smiles
    far = np.flatnonzero(score > 1.0)
    worst = np.argsort(-score, kind="stable")[: min(len(far), _SHOWN) or _LARGEST].tolist()
    each = [f"row {i + 1}" if names is None else names[i] for i in worst]
    if not len(far):
        largest = ", ".join(f"{name} ({score[i]:.2f})" for name, i in zip(each, worst, strict=True))
        return f"robust: no row looks wrong, which a score above 1 would say; the largest scores: {largest}"
    named = ", ".join(each)
    more = f" and {len(far) - len(worst)} more" if len(far) > len(worst) else ""
    done = "were left out of the fit" if not found.inliers.all() else "stayed in the fit, because they change it little"
    counted = "" if names is not None else " (rows count from 1)"
    return f"robust: {len(far)} of {len(score)} rows look wrong and {done}: {named}{more}{counted}"


def threshold_sentence(found: RobustFit) -> str:
    """From which error on a new row looks wrong.

    Parameters
    ----------
    found : RobustFit

    Returns
    -------
    str
    """
    return f"robust: a new row looks wrong if its error by rkhs evaluate --errors is above {found.threshold**2:.6g}"


def write_scores(path: str, found: RobustFit, data: Dataset) -> None:
    """One score a row, in the order of the file.

    Parameters
    ----------
    path : str
    found : RobustFit
    data : Dataset
    """
    from rkhs.data import write_codes

    names = None if path.lower().endswith(".npy") else data.row_names
    scores = found.outlier_score[:, None]
    write_codes(path, scores, row_names=names, column_names=["outlier_score"], row_title=data.row_title)
