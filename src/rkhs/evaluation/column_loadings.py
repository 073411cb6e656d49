"""Dependence of codes on each column of the data, and of predictions on each atom of a molecule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_count, check_methods, real_array
from rkhs._core.errors import InputError, optional, quote
from rkhs._core.threads import within_limit
from rkhs.estimators import KernelEstimator, OperatorKernelRegressor
from rkhs.kernels.objects.molecules import one_molecule

_STEP = 1e-3  # of the finite differences, in standard deviations of a column
_MOST_ROWS = 5000  # of the ridge regression, whose matrices are n x n


class Loadings(NamedTuple):
    """What codes keep of each column, and how they move with it.

    Parameters
    ----------
    recovered : ndarray of shape (d,)
        Leave-one-out R^2 of kernel ridge regression from the codes to each column: 1 is all of its variance, 0 none;
        below 0 for noise.
    slopes : ndarray of shape (p, d)
        Mean square of the derivative of a code in a column, times the variance of the column over that of the code.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs import KernelPCA
    >>> from rkhs.evaluation import loadings
    >>> t = np.linspace(-1.0, 1.0, 50)
    >>> X = np.column_stack([t, t**3 - t, np.random.default_rng(0).normal(size=50) / 100])
    >>> found = loadings(KernelPCA(1, kernel="linear", columns="raw").fit(X), X)
    >>> found.recovered.round(1), found.slopes.round(1)
    (array([1. , 1. , 0.1]), array([[0.7, 0. , 0. ]]))
    """

    recovered: np.ndarray
    slopes: np.ndarray


@within_limit
def loadings(model: KernelEstimator, X: Any, *, at_most: int = 100) -> Loadings:
    """Measure how much the codes of a fitted model hold of each column, in two ways that complement each other.

    ``recovered_j = 1 - sum_i e_ij^2 / (n var x_j)`` with leave-one-out residuals ``e_ij`` of kernel ridge regression
    from codes to columns; ``slopes_kj = mean_i (dz_k / dx_j)^2 var x_j / var z_k`` by central differences.
    `recovered` says what the codes hold, `slopes` which code moves.

    Parameters
    ----------
    model : estimator with ``transform``
        Fitted on rows of numbers.
    X : array of shape (n, d)
        Rows without gaps, of the fit or new; at least 3.
    at_most : int, default=100
        Rows at which slopes are taken, evenly spaced.

    Returns
    -------
    Loadings
        Columns that do not vary have zeros.

    Raises
    ------
    InputError
        For a model without ``transform``, codes that are all equal, and rows that are no finite numbers.

    Notes
    -----
    O(n^3 + n^2 d) with ``n`` at most 5,000, and codes of all and of ``2 d at_most`` rows. The ridge of more
    rows is that of 5,000 evenly spaced ones.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs import KernelAutoencoder
    >>> from rkhs.evaluation import loadings
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, 100)
    >>> X = np.column_stack([t, t**2, rng.normal(size=100) / 50])
    >>> found = loadings(KernelAutoencoder(1).fit(X), X)
    >>> bool(found.recovered[:2].min() > 0.9 > 0.2 > found.recovered[2])
    True
    """
    import pandas as pd

    check_methods(model, "model", ("transform",))
    rows = real_array(as_numpy(X, "X"), "X").astype(np.float64)
    if rows.ndim != 2 or len(rows) < 3 or not np.isfinite(rows).all():
        raise InputError(f"X must be finite rows of numbers, at least 3; got shape {rows.shape}")
    n, d = rows.shape
    codes = np.asarray(model.transform(X), dtype=np.float64)
    spread, varies = rows.std(0), codes.std(0) > 1e-12 * np.abs(codes).max(0)
    if not varies.any():
        raise InputError("model must have codes that differ between the rows of X; all are equal")
    scale = np.where(varies, codes.std(0), np.inf)  # a component that does not vary depends on nothing
    fitted = np.unique(np.linspace(0, n - 1, min(n, _MOST_ROWS)).astype(int))
    machine = OperatorKernelRegressor().fit((codes / scale)[fitted][:, varies], rows[fitted]).model_
    residuals = machine.in_units(torch.as_tensor(machine.calibrated(None).residuals))
    varied = rows[fitted].std(0)
    divided = np.where(varied > 0.0, varied, np.inf)
    recovered = np.where(varied > 0.0, 1.0 - (residuals**2).mean(0) / divided**2, 0.0)
    some = rows[np.unique(np.linspace(0, n - 1, min(n, check_count(at_most, "at_most"))).astype(int))]
    slopes, names = np.empty((codes.shape[1], d)), getattr(model, "feature_names_in_", None)
    for j, width in enumerate(spread):
        perturbed = np.concatenate([some, some])
        perturbed[:, j] += np.repeat([_STEP * width, -_STEP * width], len(some))
        moved = perturbed if names is None else pd.DataFrame(perturbed, columns=names)
        up, down = np.split(np.asarray(model.transform(moved), dtype=np.float64), 2)
        slopes[:, j] = (((up - down) / (2.0 * _STEP * scale)) ** 2).mean(0)
    return Loadings(recovered, slopes)


# Rare elements with the bonds of common ones, by atomic number; nitrogen and others become the unknown atom, 0. Rings
# of 800 molecules all stayed aromatic: arsenic for nitrogen, and the unknown atom for carbon and oxygen, broke some.
_REPLACEMENTS = {5: 13, 6: 14, 8: 52, 9: 85, 15: 33, 16: 52, 17: 85, 35: 85, 53: 85}


def atom_contributions(function: Callable[[list[str]], Any], smiles: Any) -> np.ndarray:
    """Compute how much each atom of a molecule contributes to a predicted number.

    ``c_a = f(x) - f(x_a)``, where in ``x_a`` atom ``a`` is an element that the training molecules do not have, with the
    same bonds, hydrogens and charge: every part of the molecule with this atom is then unlike all known ones.

    Parameters
    ----------
    function : callable
        From a list of SMILES to as many numbers: ``predict`` of a regressor, ``score_samples`` of a ``KernelNovelty``.
    smiles : str or RDKit molecule
        One molecule.

    Returns
    -------
    ndarray of shape (atoms,)
        In units of the function, in the order of the atoms in ``smiles``. They do not add up to the prediction: each
        is of one atom while the others stay.

    Raises
    ------
    InputError
        For what RDKit cannot read, and a function that does not give one finite number per molecule.
    MissingExtraError
        If RDKit is not installed (extra ``chem``).

    Notes
    -----
    One call of the function, on the molecule and one changed molecule per atom; some 20 ms for 1,000 training
    molecules.

    References
    ----------
    Riniker and Landrum (2013), "Similarity maps", who leave out bits of the fingerprint instead.

    Examples
    --------
    >>> from rkhs.evaluation import atom_contributions
    >>> atom_contributions(lambda molecules: [text.count("O") for text in molecules], "CCO")
    array([0., 0., 1.])
    """
    molecule, Chem = one_molecule(smiles), optional("rdkit.Chem")
    if not callable(function):
        raise InputError(f"function must take a list of SMILES, as model.predict does; got {quote(function)}")
    changed = [Chem.RWMol(molecule) for _ in range(molecule.GetNumAtoms())]
    for number, one in enumerate(changed):
        atom = one.GetAtomWithIdx(number)
        atom.SetNumExplicitHs(atom.GetTotalNumHs())
        atom.SetNoImplicit(True)
        atom.SetAtomicNum(_REPLACEMENTS.get(atom.GetAtomicNum(), 0))
    values = real_array(function([Chem.MolToSmiles(one) for one in (molecule, *changed)]), "values of the function")
    if values.shape != (len(changed) + 1,) or not np.isfinite(values).all():
        raise InputError(
            f"function must give one finite number for each of {len(changed) + 1} SMILES; got shape {values.shape}. "
            "Of a model with several outputs, take one column"
        )
    return np.asarray(values[0] - values[1:])
