"""The errors and warnings of the library: to catch them, to silence them, and to raise them in classes of your own.

Every error is also one of Python's: ``except ValueError`` catches an ``InputError`` as well.
"""

from rkhs._core.errors import (
    CheckpointError,
    ClusterError,
    CollapseWarning,
    ColumnWarning,
    ComparisonWarning,
    EdgeWarning,
    GapWarning,
    InputError,
    JitterWarning,
    MissingExtraError,
    ModelFileError,
    NotPositiveSemidefiniteWarning,
    OutlierWarning,
    OverfitWarning,
    RkhsError,
    RoundingWarning,
)

__all__ = [
    "CheckpointError",
    "ClusterError",
    "CollapseWarning",
    "ColumnWarning",
    "ComparisonWarning",
    "EdgeWarning",
    "GapWarning",
    "InputError",
    "JitterWarning",
    "MissingExtraError",
    "ModelFileError",
    "NotPositiveSemidefiniteWarning",
    "OutlierWarning",
    "OverfitWarning",
    "RkhsError",
    "RoundingWarning",
]
