"""Representations with kernels in Hilbert spaces.

Public names are imported on first use, so ``import rkhs`` costs nothing and the command line starts without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rkhs import augment as augment
    from rkhs import errors as errors
    from rkhs import features as features
    from rkhs import kernels as kernels
    from rkhs import losses as losses
    from rkhs import metrics as metrics
    from rkhs import plots as plots
    from rkhs import testing as testing
    from rkhs.estimators.deep_rkm import DeepRKM as DeepRKM
    from rkhs.estimators.diagnostics import diagnose as diagnose
    from rkhs.estimators.functional_regressor import FunctionalKernelRegressor as FunctionalKernelRegressor
    from rkhs.estimators.gram_transformer import GramTransformer as GramTransformer
    from rkhs.estimators.io_regressor import InputOutputKernelRegressor as InputOutputKernelRegressor
    from rkhs.estimators.kernel_autoencoder import KernelAutoencoder as KernelAutoencoder
    from rkhs.estimators.kernel_autoencoder_cv import KernelAutoencoderCV as KernelAutoencoderCV
    from rkhs.estimators.kernel_contrastive import KernelContrastive as KernelContrastive
    from rkhs.estimators.kernel_pca import KernelPCA as KernelPCA
    from rkhs.estimators.operator_regressor import OperatorKernelRegressor as OperatorKernelRegressor
    from rkhs.estimators.operator_regressor_cv import OperatorKernelRegressorCV as OperatorKernelRegressorCV
    from rkhs.estimators.robust_fit import fit_robust as fit_robust
    from rkhs.export import to_onnx as to_onnx
    from rkhs.persistence import load as load
    from rkhs.persistence import save as save
    from rkhs.reports import make_report as make_report

__version__ = "0.1.0"

# name -> the module that defines it
_NAMES = {
    "DeepRKM": "rkhs.estimators.deep_rkm",
    "FunctionalKernelRegressor": "rkhs.estimators.functional_regressor",
    "GramTransformer": "rkhs.estimators.gram_transformer",
    "InputOutputKernelRegressor": "rkhs.estimators.io_regressor",
    "KernelAutoencoder": "rkhs.estimators.kernel_autoencoder",
    "KernelAutoencoderCV": "rkhs.estimators.kernel_autoencoder_cv",
    "KernelContrastive": "rkhs.estimators.kernel_contrastive",
    "KernelPCA": "rkhs.estimators.kernel_pca",
    "OperatorKernelRegressor": "rkhs.estimators.operator_regressor",
    "OperatorKernelRegressorCV": "rkhs.estimators.operator_regressor_cv",
    "diagnose": "rkhs.estimators.diagnostics",
    "fit_robust": "rkhs.estimators.robust_fit",
    "load": "rkhs.persistence",
    "make_report": "rkhs.reports",
    "save": "rkhs.persistence",
    "to_onnx": "rkhs.export",
}
_SUBMODULES = ("augment", "errors", "features", "kernels", "losses", "metrics", "plots", "testing")

__all__ = ["__version__", *_NAMES, *_SUBMODULES]


if not TYPE_CHECKING:  # a type checker knows the names above, and reports one that is misspelt

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first asked for, and keep it."""
        if name in _NAMES:
            value = getattr(importlib.import_module(_NAMES[name]), name)
        elif name in _SUBMODULES:
            value = importlib.import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module 'rkhs' has no attribute {name!r}; the public names are {', '.join(__all__)}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__})
