from rkhs.kernels.base import Composite as Composite, Kernel as Kernel, VectorKernel as VectorKernel
from rkhs.kernels.bridges.borrowed import FromModule as FromModule, FromSklearn as FromSklearn
from rkhs.kernels.bridges.custom import FromFunction as FromFunction, Precomputed as Precomputed
from rkhs.kernels.combined.alignment import (
    view_weights as view_weights,
)
from rkhs.kernels.combined.derived import (
    GaussianOf as GaussianOf,
    MappedInputs as MappedInputs,
    Normalized as Normalized,
    ScaledInputs as ScaledInputs,
)
from rkhs.kernels.combined.sparse_rows import SparseRows as SparseRows
from rkhs.kernels.combined.sums_and_products import Product as Product, Scaled as Scaled, Sum as Sum
from rkhs.kernels.combined.views import OnColumns as OnColumns, Views as Views
from rkhs.kernels.objects.defaults import kernels_for as kernels_for
from rkhs.kernels.objects.graphs import (
    ShortestPath as ShortestPath,
    WeisfeilerLehman as WeisfeilerLehman,
)
from rkhs.kernels.objects.mixed import MixedTable as MixedTable
from rkhs.kernels.objects.molecules import MoleculeKernel as MoleculeKernel, MoleculeTanimoto as MoleculeTanimoto
from rkhs.kernels.objects.series import ShiftInvariant as ShiftInvariant
from rkhs.kernels.objects.sets import MeanEmbedding as MeanEmbedding
from rkhs.kernels.objects.spectra import ProbabilityProduct as ProbabilityProduct
from rkhs.kernels.objects.strings import Mismatch as Mismatch, Positions as Positions, Spectrum as Spectrum
from rkhs.kernels.objects.warping import DynamicTimeWarping as DynamicTimeWarping, GlobalAlignment as GlobalAlignment
from rkhs.kernels.operator_valued import (
    OperatorKernel as OperatorKernel,
    OperatorSum as OperatorSum,
    Separable as Separable,
)
from rkhs.kernels.registry import as_kernel as as_kernel, kernel_from_name as kernel_from_name
from rkhs.kernels.vectors.discrete import MinMax as MinMax, Tanimoto as Tanimoto
from rkhs.kernels.vectors.dot_product import DotProduct as DotProduct, Linear as Linear, Polynomial as Polynomial
from rkhs.kernels.vectors.functional import (
    FunctionalGaussian as FunctionalGaussian,
    FunctionalLaplacian as FunctionalLaplacian,
    quadrature_weights as quadrature_weights,
)
from rkhs.kernels.vectors.neural import NTK as NTK, ArcCosine as ArcCosine
from rkhs.kernels.vectors.radial import Gaussian as Gaussian, Laplacian as Laplacian, Matern as Matern, Radial as Radial
from rkhs.kernels.vectors.stationary import Stationary as Stationary
