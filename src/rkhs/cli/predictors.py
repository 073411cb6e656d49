"""``rkhs fit --predict``: what is fitted by what is predicted."""

from __future__ import annotations

import argparse

from rkhs.cli.classification import fit_classifier, names_classes
from rkhs.cli.options import changed
from rkhs.cli.outputs import check_predictor
from rkhs.cli.regression import fit_regressor
from rkhs.cli.structures import fit_structures, names_structures
from rkhs.cli.targets import with_groups


def fit_predictor(args: argparse.Namespace) -> None:
    """Fit structures to a column of SMILES, classes to one of texts or of two whole numbers, else numbers."""
    check_predictor(args)  # what no file can change is said before one is read
    args = with_groups(args)
    if names_structures(args):
        fit_structures(args)
    elif names_classes(args):
        fit_classifier(changed(args, target_kind="classes"))
    else:
        fit_regressor(args)
