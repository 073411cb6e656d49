from rkhs.spaces.base import Components as Components, Space as Space, Targets as Targets
from rkhs.spaces.mapped import MappedSpace as MappedSpace, fit_euclidean as fit_euclidean
from rkhs.spaces.source import (
    BLOCK as BLOCK,
    Source as Source,
    gather_rows as gather_rows,
    open_source as open_source,
    positive_rows as positive_rows,
)
from rkhs.spaces.sums import Data as Data, FeatureMoments as FeatureMoments
from rkhs.spaces.whole import (
    InMemoryItems as InMemoryItems,
    WholeSpace as WholeSpace,
    training_gram as training_gram,
    whole_items as whole_items,
)
