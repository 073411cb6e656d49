from rkhs.spaces.features.base import (
    ConcatenatedMap as ConcatenatedMap,
    FeatureMap as FeatureMap,
    Features as Features,
    LinearMap as LinearMap,
    Storage as Storage,
)
from rkhs.spaces.features.filled_table import FilledTable as FilledTable
from rkhs.spaces.features.leaves import Leaves as Leaves, LeavesMap as LeavesMap
from rkhs.spaces.features.nystroem import LandmarkMap as LandmarkMap, Nystroem as Nystroem
from rkhs.spaces.features.random_features import (
    ArcCosineMap as ArcCosineMap,
    FourierMap as FourierMap,
    MinHashMap as MinHashMap,
    RandomFeatures as RandomFeatures,
    SparseMap as SparseMap,
)
from rkhs.spaces.features.sampling import leverage_scores as leverage_scores, sample_landmarks as sample_landmarks
from rkhs.spaces.features.whole import WholeMap as WholeMap
