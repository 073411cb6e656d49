"""Thin scikit-learn shells: validate, build a problem, solve it, store the answer."""

from rkhs.estimators.base import KernelEstimator, Ranking
from rkhs.estimators.kernel_autoencoder import KernelAutoencoder
from rkhs.estimators.kernel_pca import KernelPCA

__all__ = ["KernelAutoencoder", "KernelEstimator", "KernelPCA", "Ranking"]
