"""How good codes are: on items that were not trained on, and under learners of classes and numbers."""

from rkhs.evaluation.comparison import CodeComparison, HeadScore, Sizes, compare_codes
from rkhs.evaluation.decoding import DecodingQuality, decoding_quality
from rkhs.evaluation.reconstruction import Reconstruction, reconstruction
from rkhs.evaluation.smooth_head import SmoothClassifier, SmoothRegressor

__all__ = [
    "CodeComparison",
    "DecodingQuality",
    "HeadScore",
    "Reconstruction",
    "Sizes",
    "SmoothClassifier",
    "SmoothRegressor",
    "compare_codes",
    "decoding_quality",
    "reconstruction",
]
