from rkhs.estimators.base import KernelEstimator as KernelEstimator
from rkhs.estimators.deep_rkm import DeepRKM as DeepRKM
from rkhs.estimators.diagnostics import Diagnostics as Diagnostics, diagnose as diagnose
from rkhs.estimators.functional_regressor import FunctionalKernelRegressor as FunctionalKernelRegressor
from rkhs.estimators.gram_transformer import GramTransformer as GramTransformer
from rkhs.estimators.io_regressor import InputOutputKernelRegressor as InputOutputKernelRegressor
from rkhs.estimators.kernel_autoencoder import KernelAutoencoder as KernelAutoencoder
from rkhs.estimators.kernel_contrastive import KernelContrastive as KernelContrastive
from rkhs.estimators.kernel_map import KernelMap as KernelMap
from rkhs.estimators.kernel_novelty import KernelNovelty as KernelNovelty
from rkhs.estimators.kernel_pca import KernelPCA as KernelPCA
from rkhs.estimators.operator_regressor import OperatorKernelRegressor as OperatorKernelRegressor
from rkhs.estimators.operator_regressor_cv import OperatorKernelRegressorCV as OperatorKernelRegressorCV
from rkhs.estimators.ranked_candidates import (
    BestCandidates as BestCandidates,
    Ranking as Ranking,
    decode_chunks as decode_chunks,
)
from rkhs.estimators.reader import ColumnScaling as ColumnScaling, Reader as Reader
from rkhs.estimators.robust_fit import RobustFit as RobustFit, fit_robust as fit_robust
from rkhs.estimators.run import Plan as Plan
