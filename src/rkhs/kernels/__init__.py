"""Kernels on vectors and on objects, and what they are made of.

``k(X)`` and ``k(X, Y)`` give Gram matrices; ``k1 + k2``, ``k1 * k2`` and ``0.5 * k`` combine them.
"""

from rkhs.kernels.base import Composite, Kernel, VectorKernel
from rkhs.kernels.bridges.borrowed import FromModule, FromSklearn
from rkhs.kernels.bridges.custom import FromFunction, Precomputed
from rkhs.kernels.bridges.gaussian_process import SklearnKernel
from rkhs.kernels.combined.alignment import alignment, alignment_weights, view_weights
from rkhs.kernels.combined.derived import Centered, GaussianOf, Normalized
from rkhs.kernels.combined.scaled_inputs import ScaledInputs
from rkhs.kernels.combined.sparse_rows import SparseRows
from rkhs.kernels.combined.sums_and_products import Product, Scaled, Sum
from rkhs.kernels.combined.views import OnColumns, Views
from rkhs.kernels.objects.by_kind import kernels_for
from rkhs.kernels.objects.graphs import RandomWalk, ShortestPath, WeisfeilerLehman
from rkhs.kernels.objects.mixed import MixedTable
from rkhs.kernels.objects.molecules import MoleculeTanimoto
from rkhs.kernels.objects.series import ShiftInvariant
from rkhs.kernels.objects.sets import MeanEmbedding
from rkhs.kernels.objects.spectra import ProbabilityProduct
from rkhs.kernels.objects.strings import Gappy, Mismatch, Spectrum
from rkhs.kernels.objects.warping import DynamicTimeWarping, GlobalAlignment
from rkhs.kernels.operator_valued import OperatorKernel, OperatorSum, Separable
from rkhs.kernels.registry import as_kernel, kernel_from_name
from rkhs.kernels.vectors.discrete import MinMax, Tanimoto
from rkhs.kernels.vectors.dot_product import DotProduct, Linear, Polynomial
from rkhs.kernels.vectors.functional import FunctionalGaussian, FunctionalLaplacian, quadrature_weights
from rkhs.kernels.vectors.laplacian import Laplacian
from rkhs.kernels.vectors.neural import NTK, ArcCosine
from rkhs.kernels.vectors.radial import Gaussian, Matern, Radial
from rkhs.kernels.vectors.stationary import Stationary

__all__ = [
    "NTK",
    "ArcCosine",
    "Centered",
    "Composite",
    "DotProduct",
    "DynamicTimeWarping",
    "FromFunction",
    "FromModule",
    "FromSklearn",
    "FunctionalGaussian",
    "FunctionalLaplacian",
    "Gappy",
    "Gaussian",
    "GaussianOf",
    "GlobalAlignment",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "MeanEmbedding",
    "MinMax",
    "Mismatch",
    "MixedTable",
    "MoleculeTanimoto",
    "Normalized",
    "OnColumns",
    "OperatorKernel",
    "OperatorSum",
    "Polynomial",
    "Precomputed",
    "ProbabilityProduct",
    "Product",
    "Radial",
    "RandomWalk",
    "Scaled",
    "ScaledInputs",
    "Separable",
    "ShiftInvariant",
    "ShortestPath",
    "SklearnKernel",
    "SparseRows",
    "Spectrum",
    "Stationary",
    "Sum",
    "Tanimoto",
    "VectorKernel",
    "Views",
    "WeisfeilerLehman",
    "alignment",
    "alignment_weights",
    "as_kernel",
    "kernel_from_name",
    "kernels_for",
    "quadrature_weights",
    "view_weights",
]
