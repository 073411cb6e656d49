from rkhs import (
    augment as augment,
    errors as errors,
    features as features,
    kernels as kernels,
    losses as losses,
    metrics as metrics,
    plots as plots,
    presets as presets,
    testing as testing,
)
from rkhs.estimators.deep_rkm import DeepRKM as DeepRKM
from rkhs.estimators.diagnostics import diagnose as diagnose
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
from rkhs.estimators.robust_fit import fit_robust as fit_robust
from rkhs.evaluation import SmoothClassifier as SmoothClassifier, SmoothRegressor as SmoothRegressor
from rkhs.export import as_module as as_module, to_onnx as to_onnx
from rkhs.persistence import load as load, save as save
from rkhs.reports import make_report as make_report

__version__: str
