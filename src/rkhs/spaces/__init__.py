"""Where functions of a kernel live: what a fit asks of its data, the same whatever the storage."""

from rkhs.spaces.base import Components, Space, Targets
from rkhs.spaces.held_items import HeldItems
from rkhs.spaces.mapped import MappedSpace, fit_euclidean
from rkhs.spaces.passes import Data, FeatureMoments
from rkhs.spaces.source import BLOCK, Source, gather_rows, open_source, positive_rows
from rkhs.spaces.whole import WholeSpace, training_gram

__all__ = [
    "BLOCK",
    "Components",
    "Data",
    "FeatureMoments",
    "HeldItems",
    "MappedSpace",
    "Source",
    "Space",
    "Targets",
    "WholeSpace",
    "fit_euclidean",
    "gather_rows",
    "open_source",
    "positive_rows",
    "training_gram",
]
