"""Thin scikit-learn shells: validate, build a problem, solve it, store the answer."""

from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.candidates import BestCandidates, Ranking, decode_chunks
from rkhs.estimators.deep_rkm import DeepRKM
from rkhs.estimators.diagnostics import Diagnostics, diagnose
from rkhs.estimators.encode_files import encode_to_parquet
from rkhs.estimators.functional_regressor import FunctionalKernelRegressor
from rkhs.estimators.gram_transformer import GramTransformer
from rkhs.estimators.io_regressor import InputOutputKernelRegressor
from rkhs.estimators.kernel_autoencoder import KernelAutoencoder
from rkhs.estimators.kernel_autoencoder_cv import KernelAutoencoderCV
from rkhs.estimators.kernel_contrastive import KernelContrastive
from rkhs.estimators.kernel_pca import KernelPCA
from rkhs.estimators.operator_regressor import OperatorKernelRegressor
from rkhs.estimators.operator_regressor_cv import OperatorKernelRegressorCV
from rkhs.estimators.robust_fit import RobustFit, fit_robust

__all__ = [
    "BestCandidates",
    "DeepRKM",
    "Diagnostics",
    "FunctionalKernelRegressor",
    "GramTransformer",
    "InputOutputKernelRegressor",
    "KernelAutoencoder",
    "KernelAutoencoderCV",
    "KernelContrastive",
    "KernelEstimator",
    "KernelPCA",
    "OperatorKernelRegressor",
    "OperatorKernelRegressorCV",
    "Ranking",
    "RobustFit",
    "decode_chunks",
    "diagnose",
    "encode_to_parquet",
    "fit_robust",
]
