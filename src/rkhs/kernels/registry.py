"""Kernels by name, and anything that users may pass as a kernel."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from sklearn.gaussian_process.kernels import Kernel as ProcessKernel
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from rkhs._core.errors import InputError
from rkhs._core.ownership import own
from rkhs.kernels.base import Kernel
from rkhs.kernels.bridges.borrowed import FromSklearn
from rkhs.kernels.bridges.custom import FromFunction, Precomputed
from rkhs.kernels.bridges.gaussian_process import from_process
from rkhs.kernels.combined.derived import Normalized
from rkhs.kernels.objects.graphs import RandomWalk, ShortestPath, WeisfeilerLehman
from rkhs.kernels.objects.mixed import MixedTable
from rkhs.kernels.objects.molecules import MoleculeTanimoto
from rkhs.kernels.objects.series import ShiftInvariant
from rkhs.kernels.objects.sets import MeanEmbedding
from rkhs.kernels.objects.spectra import ProbabilityProduct
from rkhs.kernels.objects.strings import Gappy, Mismatch, Spectrum
from rkhs.kernels.objects.warping import DynamicTimeWarping, GlobalAlignment
from rkhs.kernels.vectors.discrete import MinMax, Tanimoto
from rkhs.kernels.vectors.dot_product import Linear, Polynomial
from rkhs.kernels.vectors.functional import FunctionalGaussian, FunctionalLaplacian
from rkhs.kernels.vectors.laplacian import Laplacian
from rkhs.kernels.vectors.neural import NTK, ArcCosine
from rkhs.kernels.vectors.radial import Gaussian, Matern

__all__ = ["as_kernel", "kernel_from_name", "reads_gram"]

_BY_NAME: dict[str, Callable[[], Kernel]] = {
    "gaussian": Gaussian,
    "rbf": Gaussian,
    "laplacian": Laplacian,
    "matern": Matern,
    "linear": Linear,
    "cosine": lambda: Normalized(Linear()),
    "polynomial": Polynomial,
    "poly": Polynomial,
    "arccosine": ArcCosine,
    "ntk": NTK,
    "tanimoto": Tanimoto,
    "minmax": MinMax,
    "mean_embedding": MeanEmbedding,
    "mixed_table": MixedTable,
    "functional_gaussian": FunctionalGaussian,
    "functional_laplacian": FunctionalLaplacian,
    "weisfeiler_lehman": WeisfeilerLehman,
    "wl": WeisfeilerLehman,
    "shortest_path": ShortestPath,
    "sp": ShortestPath,
    "random_walk": RandomWalk,
    "rw": RandomWalk,
    "spectrum": Spectrum,
    "mass_spectrum": lambda: Normalized(ProbabilityProduct()),
    "mismatch": Mismatch,
    "gappy": Gappy,
    "shift_invariant": ShiftInvariant,
    "sink": ShiftInvariant,
    "global_alignment": GlobalAlignment,
    "gak": GlobalAlignment,
    "dynamic_time_warping": DynamicTimeWarping,
    "dtw": DynamicTimeWarping,
    "molecule_tanimoto": MoleculeTanimoto,
    "precomputed": Precomputed,
}


def kernel_from_name(name: str) -> Kernel:
    """Return the kernel of that name with its default parameters.

    Parameters
    ----------
    name : str
        "gaussian" or "rbf", "laplacian", "matern", "linear", "cosine", "polynomial" or "poly", "arccosine", "ntk",
        "tanimoto", "minmax", "mean_embedding", "mixed_table", "functional_gaussian", "functional_laplacian",
        "weisfeiler_lehman" or "wl", "shortest_path" or "sp", "random_walk" or "rw", "spectrum", "mass_spectrum",
        "mismatch", "gappy", "shift_invariant" or "sink", "global_alignment" or "gak", "dynamic_time_warping" or "dtw",
        "molecule_tanimoto", "precomputed".

    Returns
    -------
    Kernel

    Notes
    -----
    The names are scikit-learn's (``sklearn.metrics.pairwise.KERNEL_PARAMS``) where it has the kernel.

    Examples
    --------
    >>> from rkhs.kernels import kernel_from_name
    >>> kernel_from_name("rbf")
    Gaussian()
    """
    if isinstance(name, str) and name in _BY_NAME:
        return _BY_NAME[name]()
    near = difflib.get_close_matches(name.lower(), _BY_NAME, 1) if isinstance(name, str) else []
    hint = f". Did you mean {near[0]!r}?" if near else ". Pass a Kernel for anything else"
    raise InputError(f"kernel must be one of {', '.join(repr(known) for known in _BY_NAME)}; got {name!r}{hint}")


def as_kernel(kernel: Any) -> Kernel:
    """Return the kernel that a user's argument means.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel, or what its ``as_sklearn`` made, is copied, so that later changes of it change nothing here. A name
        goes through :func:`kernel_from_name`. A kernel of scikit-learn becomes a :class:`FromSklearn`, a plain function
        of two items a :class:`FromFunction`.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from rkhs.kernels import as_kernel
    >>> as_kernel(lambda x, y: float(x == y))(["a", "b"])
    array([[1., 0.],
           [0., 1.]])
    """
    if isinstance(kernel, Kernel):
        return own(kernel)
    if isinstance(kernel, str):
        return kernel_from_name(kernel)
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InputError(f"kernel must be an instance; got the class {kernel.__name__}. Write {kernel.__name__}()")
    if isinstance(kernel, ProcessKernel):
        made = from_process(kernel)
        return FromSklearn(own(kernel)) if made is None else own(made)
    if isinstance(kernel, type):
        raise InputError(f"kernel must be a Kernel, a name or a function of two items; got the class {kernel.__name__}")
    if callable(kernel):
        names = [name for name, function in PAIRWISE_KERNEL_FUNCTIONS.items() if function is kernel]
        return FromSklearn(names[0]) if names else FromFunction(kernel)
    raise InputError(f"kernel must be a Kernel, a name or a function of two items; got {kernel!r}")


def reads_gram(kernel: Any) -> bool:
    """Whether a user's argument means kernel values in place of items, as ``"precomputed"`` does."""
    return kernel == "precomputed" if isinstance(kernel, str) else getattr(kernel, "domain", None) == "gram"
