"""How good codes are: on items that were not trained on, on tasks with few labels, and the demonstration."""

from rkhs.evaluation.comparison import CodeComparison, HeadScore, Sizes, compare_codes
from rkhs.evaluation.decoding import DecodingQuality, decoding_quality
from rkhs.evaluation.few_labels import FewLabelRow, choose_on_labels, few_label_methods, few_labels, split_rows
from rkhs.evaluation.reconstruction import Reconstruction, reconstruction
from rkhs.evaluation.smooth_head import SmoothClassifier, SmoothRegressor

__all__ = [
    "CodeComparison",
    "DecodingQuality",
    "FewLabelRow",
    "HeadScore",
    "Reconstruction",
    "Sizes",
    "SmoothClassifier",
    "SmoothRegressor",
    "choose_on_labels",
    "compare_codes",
    "decoding_quality",
    "few_label_methods",
    "few_labels",
    "reconstruction",
    "split_rows",
]
