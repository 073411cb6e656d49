"""Predictions next to the truth, ranks, risks of the surest, columns that codes hold, strange rows, parts of atoms."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.errors import InputError, optional
from rkhs.kernels.objects.molecules import one_molecule
from rkhs.plots.display import COLORS, Display, matrix, name_axes, pyplot, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RiskCoverageDisplay(Display):
    """How wrong answers are, where only the surest are given.

    Parameters
    ----------
    found : RiskCoverage
        What :func:`rkhs.evaluation.risk_coverage` gave.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.evaluation import risk_coverage
    >>> from rkhs.plots import RiskCoverageDisplay
    >>> display = RiskCoverageDisplay(risk_coverage(np.arange(100.0), np.arange(100) < 30))
    >>> display.plot().ax_.get_xlabel()
    'coverage (share of answered items)'
    """

    def __init__(self, found: Any) -> None:
        self.coverage: np.ndarray = vector(found.coverage, "coverage")
        self.risk: np.ndarray = vector(found.risk, "risk", len(self.coverage))
        self.area: float = float(found.area)
        self.answered: float | None = found.answered

    def _draw(self, ax: Axes) -> None:
        ax.step(self.coverage, self.risk, where="pre", color=COLORS[0], label=f"area {self.area:.3g}")
        ax.axhline(float(self.risk[-1]), color="#888888", linestyle="--", label="uninformative scores")
        if self.answered is not None:
            ax.axvline(self.answered, color=COLORS[1], label=f"answered: {self.answered:.0%}")
        ax.set_xlim(0.0, 1.0)
        name_axes(ax, "coverage (share of answered items)", "risk (mean loss of answered items)")


class OutlierDisplay(Display):
    """Outlier scores of the items, with the threshold of 1.

    Parameters
    ----------
    scores : array of shape (n,)
        ``RobustFit.outlier_score``.
    inliers : array of shape (n,), bool
    limits : (float, float), default=None
        Scores below and above which an item stands apart, drawn as dotted lines.

    Examples
    --------
    >>> from rkhs.plots import OutlierDisplay
    >>> display = OutlierDisplay([0.2, 0.4, 7.0], [True, True, False])
    >>> display.plot().ax_.get_xlabel(), display.inliers
    ('item', array([ True,  True, False]))
    """

    def __init__(self, scores: Any, inliers: Any, limits: tuple[float, float] | None = None) -> None:
        self.limits = limits
        self.scores: np.ndarray = vector(scores, "scores")
        self.inliers: np.ndarray = np.asarray(inliers, dtype=bool)
        if self.inliers.shape != self.scores.shape:
            raise InputError(f"inliers must have shape {self.scores.shape}, one per score; got {self.inliers.shape}")

    @classmethod
    def from_robust_fit(cls, fit: Any) -> Self:
        """Build it from what :func:`rkhs.fit_robust` returned."""
        return cls(fit.outlier_score, fit.inliers, fit.limits)

    def _draw(self, ax: Axes) -> None:
        rows = np.arange(len(self.scores))
        for name, chosen, color, marker in (
            ("in the fit", self.inliers, COLORS[0], "o"),
            ("left out", ~self.inliers, COLORS[1], "^"),
        ):
            if chosen.any():
                label = f"{name}: {int(chosen.sum())}"
                ax.scatter(rows[chosen], self.scores[chosen], s=14, color=color, marker=marker, label=label)
        ax.axhline(1.0, color="#444444", linestyle="--", linewidth=0.8)
        for limit in self.limits or ():
            if 0.0 < limit < 1.0:
                ax.axhline(limit, color="#444444", linestyle=":", linewidth=0.8)
        if self.scores.max() > 20 * max(float(np.median(self.scores)), 1e-300) and self.scores.min() > 0.0:
            ax.set_yscale("log")
        name_axes(ax, "item", "outlier score")


class LoadingsDisplay(Display):
    """What codes keep of each column, and how they move with it.

    Parameters
    ----------
    found : Loadings
        What :func:`rkhs.evaluation.loadings` gave.
    names : sequence of str, default=None
        Of the columns; None: their numbers, from 0.
    n_columns : int, default=20
        How many are shown: those of which most is recovered.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelPCA
    >>> from rkhs.evaluation import loadings
    >>> from rkhs.plots import LoadingsDisplay
    >>> iris = load_iris()
    >>> display = LoadingsDisplay(loadings(KernelPCA(2).fit(iris.data), iris.data), iris.feature_names)
    >>> [label.get_text() for label in display.plot().ax_.get_yticklabels()][:2]
    ['petal length (cm)', 'petal width (cm)']
    """

    def __init__(self, found: Any, names: Sequence[str] | None = None, *, n_columns: int = 20) -> None:
        self.recovered: np.ndarray = vector(found.recovered, "recovered")
        self.slopes: np.ndarray = matrix(found.slopes, "slopes")
        d = len(self.recovered)
        self.names: list[str] = list(map(str, range(d))) if names is None else list(map(str, names))
        if not d == self.slopes.shape[1] == len(self.names):
            raise InputError(f"names must be {d}, one per column; got {len(self.names)}")
        self.order: np.ndarray = self.recovered.argsort(kind="stable")[::-1][: check_count(n_columns, "n_columns")]

    def _draw(self, ax: Axes) -> None:
        places, total = np.arange(len(self.order)), self.slopes.sum(0)
        ax.barh(places - 0.2, self.recovered[self.order], 0.38, color=COLORS[0], label="recovered share")
        ax.barh(places + 0.2, (total / total.max())[self.order], 0.38, color=COLORS[1], label="slopes, largest 1")
        ax.set_yticks(places, [self.names[j] for j in self.order])
        ax.set_xlim(min(0.0, float(self.recovered[self.order].min())), 1.0)
        ax.invert_yaxis()
        name_axes(ax, "share of the variance of a column that the codes explain")


class AtomContributionsDisplay(Display):
    """A molecule whose atoms are coloured by how they move a prediction: red up, blue down.

    Parameters
    ----------
    smiles : str or RDKit molecule
    contributions : array of shape (atoms,)
        What :func:`rkhs.evaluation.atom_contributions` gave, in the order of the atoms in ``smiles``.

    Examples
    --------
    >>> from rkhs.evaluation import atom_contributions
    >>> from rkhs.plots import AtomContributionsDisplay
    >>> found = atom_contributions(lambda molecules: [text.count("O") for text in molecules], "CCO")
    >>> AtomContributionsDisplay("CCO", found).contributions
    array([0., 0., 1.])
    """

    def __init__(self, smiles: Any, contributions: Any) -> None:
        self.molecule: Any = one_molecule(smiles)
        self.contributions: np.ndarray = vector(contributions, "contributions", self.molecule.GetNumAtoms())

    def _draw(self, ax: Axes) -> None:
        largest = float(np.abs(self.contributions).max()) or 1.0
        scale = pyplot().cm.ScalarMappable(pyplot().Normalize(-largest, largest), "coolwarm")
        colors = {a: tuple(map(float, rgba[:3])) for a, rgba in enumerate(scale.to_rgba(self.contributions))}
        drawing = optional("rdkit.Chem.Draw.rdMolDraw2D").MolDraw2DCairo(640, 480)
        drawing.DrawMolecule(self.molecule, highlightAtoms=list(colors), highlightAtomColors=colors, highlightBonds=[])
        drawing.FinishDrawing()
        ax.imshow(pyplot().imread(io.BytesIO(drawing.GetDrawingText())))
        ax.axis("off")
        ax.figure.colorbar(scale, ax=ax, label="contribution to the prediction", shrink=0.7)
