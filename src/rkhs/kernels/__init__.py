"""Kernels on vectors and on objects, and what they are made of.

``k(X)`` and ``k(X, Y)`` give Gram matrices; ``k1 + k2``, ``k1 * k2`` and ``0.5 * k`` combine them.
"""

from rkhs.kernels.alignment import alignment, alignment_weights, view_weights
from rkhs.kernels.base import Kernel, VectorKernel
from rkhs.kernels.borrowed import FromModule, FromSklearn
from rkhs.kernels.combine import Composite, Product, Scaled, Sum
from rkhs.kernels.custom import FromFunction, Precomputed
from rkhs.kernels.derived import Centered, GaussianOf, Normalized
from rkhs.kernels.discrete import MinMax, Tanimoto
from rkhs.kernels.dot_product import DotProduct, Linear, Polynomial
from rkhs.kernels.functional import FunctionalGaussian, FunctionalLaplacian, quadrature_weights
from rkhs.kernels.gaussian_process import SklearnKernel
from rkhs.kernels.graphs import RandomWalk, ShortestPath, WeisfeilerLehman
from rkhs.kernels.laplacian import Laplacian
from rkhs.kernels.mixed import MixedTable
from rkhs.kernels.molecules import MoleculeTanimoto
from rkhs.kernels.neural import NTK, ArcCosine
from rkhs.kernels.operator_valued import OperatorKernel, OperatorSum, Separable
from rkhs.kernels.radial import Gaussian, Matern, Radial
from rkhs.kernels.registry import as_kernel, kernel_from_name
from rkhs.kernels.scaled_inputs import ScaledInputs
from rkhs.kernels.series import ShiftInvariant
from rkhs.kernels.sets import MeanEmbedding
from rkhs.kernels.spectra import ProbabilityProduct
from rkhs.kernels.stationary import Stationary
from rkhs.kernels.strings import Gappy, Mismatch, Spectrum
from rkhs.kernels.views import OnColumns, Views
from rkhs.kernels.warping import DynamicTimeWarping, GlobalAlignment

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
    "quadrature_weights",
    "view_weights",
]
