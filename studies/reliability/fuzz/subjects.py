"""What is fuzzed: every subject by name, and the public names that have none, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from studies.reliability.fuzz import estimators, files, functions, kernels, pieces, units
from studies.reliability.fuzz.case import Case


@cache
def subjects() -> dict[str, Callable[[Case], None]]:
    """All subjects, each a function of a case."""
    parts = (estimators, kernels, pieces, functions, files, units)
    return {name: walk for part in parts for name, walk in part.subjects().items()}


ABSTRACT = """KernelEstimator Kernel VectorKernel Composite DotProduct Radial Stationary OperatorKernel Loss
EpsilonHuberLoss CodeSet Constraint OutputSpace Augmentation FeatureMap Features Storage"""
RESULTS = """Ranking RobustFit Diagnostics Bound Disentanglement Stability RidgePath Dataset SkippedRow
KernelChoice Curves Fingerprints Molecules DecodingQuality Reconstruction
CodeComparison HeadScore Sizes RiskCoverage Plan"""
WITH_ANOTHER = """as_augmentation as_constraint augmented ArcCosineMap ConcatenatedMap FourierMap LandmarkMap LinearMap
Leaves LeavesMap MinHashMap SparseMap WholeMap OperatorSum basis_functions leverage_scores
read_items"""
LEFT_OUT = {
    **dict.fromkeys(ABSTRACT.split(), "an abstract class: its subclasses are fuzzed"),
    **dict.fromkeys(RESULTS.split(), "what another name returns, and checks nothing"),
    **dict.fromkeys(WITH_ANOTHER.split(), "called by the walk of another subject"),
    "BestCandidates": "decode_chunks is its only caller",
    "Reader": "made by fits, from data that their subjects give",
    "ColumnScaling": "made by readers",
    "compare_codes": "takes seconds, most of them in forests and other libraries",
    "load_classifier": "takes the path of a model file; mutated model files are tried elsewhere",
    "load_molecules": "takes no argument",
}


def covered() -> set[str]:
    """The public names that subjects are called by, without the parts before a dot."""
    return {name.rpartition(".")[2] for name in subjects()}
