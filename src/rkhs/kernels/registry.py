"""Kernels by name, and anything that users may pass as a kernel."""

from __future__ import annotations

import sys
from typing import Any

from rkhs import kernels
from rkhs._core.errors import InputError, nearest
from rkhs._core.lazy import ByName
from rkhs._core.ownership import is_process_kernel, private_copy
from rkhs.kernels.base import Kernel

_BY_NAME = ByName(
    "rkhs.kernels",
    gaussian="Gaussian",
    rbf="Gaussian",
    laplacian="Laplacian",
    matern="Matern",
    linear="Linear",
    cosine=lambda: kernels.Normalized(kernels.Linear()),
    polynomial="Polynomial",
    poly="Polynomial",
    arccosine="ArcCosine",
    ntk="NTK",
    tanimoto="Tanimoto",
    minmax="MinMax",
    mean_embedding="MeanEmbedding",
    mixed_table="MixedTable",
    functional_gaussian="FunctionalGaussian",
    functional_laplacian="FunctionalLaplacian",
    weisfeiler_lehman="WeisfeilerLehman",
    wl="WeisfeilerLehman",
    shortest_path="ShortestPath",
    sp="ShortestPath",
    spectrum="Spectrum",
    positions="Positions",
    mass_spectrum=lambda: kernels.Normalized(kernels.ProbabilityProduct()),
    mismatch="Mismatch",
    shift_invariant="ShiftInvariant",
    sink="ShiftInvariant",
    global_alignment="GlobalAlignment",
    gak="GlobalAlignment",
    dynamic_time_warping="DynamicTimeWarping",
    dtw="DynamicTimeWarping",
    molecules="MoleculeKernel",
    molecule_tanimoto="MoleculeTanimoto",
    precomputed="Precomputed",
)


def kernels_by_name() -> dict[str, Any]:
    """Constructors of the kernels by name, without ``"precomputed"``."""
    return {name: _BY_NAME[name] for name in _BY_NAME if name != "precomputed"}


def kernel_from_name(name: str) -> Kernel:
    """Return the kernel of that name with its default parameters.

    Parameters
    ----------
    name : str
        "gaussian" or "rbf", "laplacian", "matern", "linear", "cosine", "polynomial" or "poly", "arccosine", "ntk",
        "tanimoto", "minmax", "mean_embedding", "mixed_table", "functional_gaussian", "functional_laplacian",
        "weisfeiler_lehman" or "wl", "shortest_path" or "sp", "spectrum", "positions", "mass_spectrum",
        "mismatch", "shift_invariant" or "sink", "global_alignment" or "gak", "dynamic_time_warping" or "dtw",
        "molecules", "molecule_tanimoto", "precomputed".

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
    near = nearest(name, _BY_NAME) if isinstance(name, str) else None
    hint = f". Did you mean {near!r}?" if near else ". Pass a Kernel for anything else"
    raise InputError(f"kernel must be one of {', '.join(repr(known) for known in _BY_NAME)}; got {name!r}{hint}")


def as_kernel(kernel: Any) -> Kernel:
    """Return the kernel that a user's argument means.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel is copied, so that later changes of it change nothing here. A name
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
        return private_copy(kernel)
    if isinstance(kernel, str):
        return kernel_from_name(kernel)
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InputError(f"kernel must be an instance; got the class {kernel.__name__}. Write {kernel.__name__}()")
    if is_process_kernel(kernel):
        return kernels.FromSklearn(private_copy(kernel))
    if isinstance(kernel, type):
        raise InputError(f"kernel must be a Kernel, a name or a function of two items; got the class {kernel.__name__}")
    if callable(kernel):
        pairwise = sys.modules.get("sklearn.metrics.pairwise")  # whoever has a function of it has imported it
        known = {} if pairwise is None else pairwise.PAIRWISE_KERNEL_FUNCTIONS
        names = [name for name, function in known.items() if function is kernel]
        return kernels.FromSklearn(names[0]) if names else kernels.FromFunction(kernel)
    raise InputError(f"kernel must be a Kernel, a name or a function of two items; got {kernel!r}")


def reads_gram(kernel: Any) -> bool:
    """Whether a user's argument means kernel values in place of items, as ``"precomputed"`` does."""
    return kernel == "precomputed" if isinstance(kernel, str) else getattr(kernel, "domain", None) == "gram"
