"""Finite features whose inner products are, or approximate, a kernel: landmarks and random features.

Both are scikit-learn transformers, and the ``storage=`` of the estimators. ``FilledTable`` makes numbers of tables with
texts and gaps.
"""

from rkhs.spaces.features.base import ConcatenatedMap, FeatureMap, Features, LinearMap, Storage
from rkhs.spaces.features.filled_table import FilledTable
from rkhs.spaces.features.fourier import ArcCosineMap, FourierMap
from rkhs.spaces.features.nystroem import LandmarkMap, Nystroem
from rkhs.spaces.features.random_features import RandomFeatures
from rkhs.spaces.features.sampling import leverage_scores, sample_landmarks
from rkhs.spaces.features.sketch import MinHashMap
from rkhs.spaces.features.sparse import SparseMap
from rkhs.spaces.features.whole import WholeMap

__all__ = [
    "ArcCosineMap",
    "ConcatenatedMap",
    "FeatureMap",
    "Features",
    "FilledTable",
    "FourierMap",
    "LandmarkMap",
    "LinearMap",
    "MinHashMap",
    "Nystroem",
    "RandomFeatures",
    "SparseMap",
    "Storage",
    "WholeMap",
    "leverage_scores",
    "sample_landmarks",
]
