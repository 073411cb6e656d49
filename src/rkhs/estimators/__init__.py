"""Thin scikit-learn shells: validate, build a problem, solve it, store the answer."""

from rkhs.estimators.base import KernelEstimator, Ranking
from rkhs.estimators.deep_rkm import DeepRKM
from rkhs.estimators.kernel_autoencoder import KernelAutoencoder
from rkhs.estimators.kernel_contrastive import KernelContrastive
from rkhs.estimators.kernel_pca import KernelPCA

__all__ = ["DeepRKM", "KernelAutoencoder", "KernelContrastive", "KernelEstimator", "KernelPCA", "Ranking"]
