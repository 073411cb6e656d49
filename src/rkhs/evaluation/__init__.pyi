from rkhs.evaluation.abstention import RiskCoverage as RiskCoverage, risk_coverage as risk_coverage
from rkhs.evaluation.atoms import atom_contributions as atom_contributions
from rkhs.evaluation.comparison import (
    CodeComparison as CodeComparison,
    HeadScore as HeadScore,
    Sizes as Sizes,
    compare_codes as compare_codes,
)
from rkhs.evaluation.decoding import (
    DecodingQuality as DecodingQuality,
    Reconstruction as Reconstruction,
    decoding_quality as decoding_quality,
    reconstruction as reconstruction,
)
from rkhs.evaluation.smooth_head import (
    SmoothClassifier as SmoothClassifier,
    SmoothRegressor as SmoothRegressor,
    load_classifier as load_classifier,
)
