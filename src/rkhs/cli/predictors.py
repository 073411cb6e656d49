"""``rkhs fit --predict``: what is fitted by what is predicted."""

from __future__ import annotations

import argparse

from rkhs.cli.classification import fit_classifier
from rkhs.cli.outputs import check_predictor
from rkhs.cli.regression import fit_regressor
from rkhs.cli.robust import check_robust
from rkhs.cli.targets import read_with_targets


def fit_predictor(args: argparse.Namespace) -> None:
    """Fit classes to one column of texts, truth values, or with ``--classes`` of numbers; else numbers."""
    check_predictor(args)  # what no file can change is refused before one is read
    check_robust(args)
    rows, values = read_with_targets(args)
    if values.ndim == 1:
        fit_classifier(args, rows, values)
    else:
        fit_regressor(args, rows, values)
