"""Predictions beside the truth, ranks, risks of the surest, columns that codes hold, strange rows, parts of atoms."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_choice, check_count
from rkhs._core.errors import InputError, optional
from rkhs.kernels.objects.molecules import one_molecule
from rkhs.plots.display import COLORS, Display, matrix, name_axes, pyplot, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rkhs.estimators.base import KernelEstimator


class PredictionDisplay(Display):
    """Predicted against true outputs, or residuals against predictions.

    Parameters
    ----------
    truth, predicted : array of shape (m,) or (m, q)
    kind : {"parity", "residuals"}, default="parity"
    """

    def __init__(self, truth: Any, predicted: Any, *, kind: str = "parity") -> None:
        self.truth, self.predicted = _columns(truth, "truth"), _columns(predicted, "predicted")
        if self.truth.shape != self.predicted.shape:
            raise InputError(f"predicted must have the shape {self.truth.shape} of truth; got {self.predicted.shape}")
        self.kind = check_choice(kind, "kind", ("parity", "residuals"))

    @classmethod
    def from_estimator(cls, model: KernelEstimator, X: Any, y: Any, **options: Any) -> Self:
        """Predictions of any fitted regressor for items, beside ``y`` of shape (m,) or (m, q)."""
        return cls(y, model.predict(X), **options)

    def _draw(self, ax: Axes) -> None:
        q = self.truth.shape[1]
        across = self.truth if self.kind == "parity" else self.predicted
        up = self.predicted if self.kind == "parity" else self.predicted - self.truth
        for j in range(q):
            name = f"output {j + 1}" if 1 < q <= 10 else None
            ax.scatter(across[:, j], up[:, j], s=14, alpha=0.7, color=COLORS[j % len(COLORS)], label=name)
        if self.kind == "parity":
            low, high = float(min(across.min(), up.min())), float(max(across.max(), up.max()))
            ax.plot([low, high], [low, high], color="#444444", linewidth=0.8)
            names = ("true", "predicted")
        else:
            ax.axhline(0.0, color="#444444", linewidth=0.8)
            names = ("predicted", "predicted minus true")
        name_axes(ax, *names, legend=1 < q <= 10)


class RankDisplay(Display):
    """How often the truth is among the first k candidates.

    Parameters
    ----------
    ranks : array of shape (m,), integers
        Place of the truth among the candidates, from 1.
    n_candidates : int
        For the line of a random order.
    """

    def __init__(self, ranks: Any, n_candidates: int) -> None:
        self.ranks = vector(ranks, "ranks")
        self.n_candidates = int(n_candidates)
        if self.ranks.min() < 1 or self.ranks.max() > self.n_candidates:
            raise InputError(
                f"ranks must lie between 1 and n_candidates={self.n_candidates}; got {self.ranks.min():g} to "
                f"{self.ranks.max():g}"
            )

    @classmethod
    def from_ranking(cls, indices: Any, truth: Any) -> Self:
        """Of row numbers (m, c) of all candidates, nearest first, as ``decode`` gives them, and the true ones (m,)."""
        order = np.asarray(indices)
        found = order == np.asarray(truth)[:, None]
        if not found.any(1).all():
            raise InputError("indices must rank all candidates: some truth is not among them. Leave n_best out")
        return cls(found.argmax(1) + 1, order.shape[1])

    def _draw(self, ax: Axes) -> None:
        k = np.arange(1, self.n_candidates + 1)
        shares = np.searchsorted(np.sort(self.ranks), k, side="right") / len(self.ranks)
        ax.step(k, shares, where="post", color=COLORS[0], label="model")
        ax.plot(k, k / self.n_candidates, color="#888888", linestyle="--", label="random order")
        ax.set_xscale("log")
        ax.set_ylim(0.0, 1.02)
        name_axes(ax, "k", "truth among the first k")


class RiskCoverageDisplay(Display):
    """How wrong answers are, where only the surest are given.

    Parameters
    ----------
    found : RiskCoverage
        What :func:`rkhs.evaluation.risk_coverage` gave.
    """

    def __init__(self, found: Any) -> None:
        self.coverage = vector(found.coverage, "coverage")
        self.risk = vector(found.risk, "risk", len(self.coverage))
        self.area, self.answered = float(found.area), found.answered

    def _draw(self, ax: Axes) -> None:
        ax.step(self.coverage, self.risk, where="pre", color=COLORS[0], label=f"area {self.area:.3g}")
        ax.axhline(float(self.risk[-1]), color="#888888", linestyle="--", label="scores that say nothing")
        if self.answered is not None:
            ax.axvline(self.answered, color=COLORS[1], label=f"answered: {self.answered:.0%}")
        ax.set_xlim(0.0, 1.0)
        name_axes(ax, "share of the items that are answered", "mean loss of the answered")


class SupportDisplay(Display):
    """Length of the dual variable of each training item: zero without support, at the cap where the loss is linear.

    Parameters
    ----------
    lengths : array of shape (n,)
    saturated : array of integers, default=()
        Rows where the loss is linear.
    """

    def __init__(self, lengths: Any, saturated: Any = ()) -> None:
        self.lengths = vector(lengths, "lengths")
        self.saturated = np.asarray(saturated, dtype=int)
        if self.saturated.size and not 0 <= self.saturated.min() <= self.saturated.max() < len(self.lengths):
            raise InputError(f"saturated must be rows from 0 to {len(self.lengths) - 1}; got {self.saturated}")

    @classmethod
    def from_estimator(cls, model: KernelEstimator) -> Self:
        """Of a model with ``decoder_coef_``, the last layer of an autoencoder, or ``dual_coef_``."""
        coefficients = getattr(model, "decoder_coef_", None)
        coefficients = model.dual_coef_ if coefficients is None else coefficients
        return cls(np.linalg.norm(np.asarray(coefficients), axis=1), getattr(model, "saturated_", ()))

    def _draw(self, ax: Axes) -> None:
        order = np.argsort(self.lengths)[::-1]
        places = np.arange(1, len(order) + 1)
        ax.plot(places, self.lengths[order], color=COLORS[0], label=f"{int((self.lengths > 0).sum())} support items")
        marked = np.isin(order, self.saturated)
        if marked.any():
            lengths = self.lengths[order][marked]
            ax.scatter(places[marked], lengths, s=16, color=COLORS[1], label=f"{len(lengths)} saturated")
        name_axes(ax, "training items, by length", "length of the dual variable")


class OutlierDisplay(Display):
    """Outlier scores of the items, with the threshold of 1.

    Parameters
    ----------
    scores : array of shape (n,)
        ``RobustFit.outlier_score``.
    inliers : array of shape (n,), bool
    limits : (float, float), default=None
        Scores below and above which an item stands apart, drawn as dotted lines.
    """

    def __init__(self, scores: Any, inliers: Any, limits: tuple[float, float] | None = None) -> None:
        self.limits = limits
        self.scores = vector(scores, "scores")
        self.inliers = np.asarray(inliers, dtype=bool)
        if self.inliers.shape != self.scores.shape:
            raise InputError(f"inliers must have shape {self.scores.shape}, one a score; got {self.inliers.shape}")

    @classmethod
    def from_robust_fit(cls, fit: Any) -> Self:
        """Of what :func:`rkhs.fit_robust` returned."""
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


def _columns(y: Any, name: str) -> np.ndarray:
    array = np.asarray(as_numpy(y, name))
    return matrix(array[:, None] if array.ndim == 1 else array, name)


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
    """

    def __init__(self, found: Any, names: Sequence[str] | None = None, *, n_columns: int = 20) -> None:
        self.recovered, self.slopes = vector(found.recovered, "recovered"), matrix(found.slopes, "slopes")
        d = len(self.recovered)
        self.names = list(map(str, range(d))) if names is None else list(map(str, names))
        if not d == self.slopes.shape[1] == len(self.names):
            raise InputError(f"names must be {d}, one a column; got {len(self.names)}")
        self.order = self.recovered.argsort(kind="stable")[::-1][: check_count(n_columns, "n_columns")]

    def _draw(self, ax: Axes) -> None:
        places, total = np.arange(len(self.order)), self.slopes.sum(0)
        ax.barh(places - 0.2, self.recovered[self.order], 0.38, color=COLORS[0], label="recovered share")
        ax.barh(places + 0.2, (total / total.max())[self.order], 0.38, color=COLORS[1], label="slopes, largest 1")
        ax.set_yticks(places, [self.names[j] for j in self.order])
        ax.set_xlim(min(0.0, float(self.recovered[self.order].min())), 1.0)
        ax.invert_yaxis()
        name_axes(ax, "what codes hold of a column")


class AtomContributionsDisplay(Display):
    """A molecule whose atoms are coloured by how they move a prediction: red up, blue down.

    Parameters
    ----------
    smiles : str or RDKit molecule
    contributions : array of shape (atoms,)
        What :func:`rkhs.evaluation.atom_contributions` gave, in the order of the atoms in ``smiles``.
    """

    def __init__(self, smiles: Any, contributions: Any) -> None:
        self.molecule = one_molecule(smiles)
        self.contributions = vector(contributions, "contributions", self.molecule.GetNumAtoms())

    def _draw(self, ax: Axes) -> None:
        largest = float(np.abs(self.contributions).max()) or 1.0
        scale = pyplot().cm.ScalarMappable(pyplot().Normalize(-largest, largest), "coolwarm")
        colors = {a: tuple(map(float, rgba[:3])) for a, rgba in enumerate(scale.to_rgba(self.contributions))}
        drawing = optional("rdkit.Chem.Draw.rdMolDraw2D").MolDraw2DCairo(640, 480)
        drawing.DrawMolecule(self.molecule, highlightAtoms=list(colors), highlightAtomColors=colors, highlightBonds=[])
        drawing.FinishDrawing()
        ax.imshow(pyplot().imread(io.BytesIO(drawing.GetDrawingText())))
        ax.axis("off")
        ax.figure.colorbar(scale, ax=ax, label="part in the prediction", shrink=0.7)
