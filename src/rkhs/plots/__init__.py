"""Figures of fitted models (needs matplotlib, extra `plots`).

Displays keep the numbers of a picture and draw them by ``plot()``, as scikit-learn's do.
"""

from rkhs.plots.codes import CodeMapDisplay
from rkhs.plots.display import Display, save_figure
from rkhs.plots.predictions import (
    AtomContributionsDisplay,
    LoadingsDisplay,
    OutlierDisplay,
    PredictionDisplay,
    RankDisplay,
    RiskCoverageDisplay,
    SupportDisplay,
)
from rkhs.plots.reconstructions import ErrorDisplay, ReconstructionDisplay, TraversalDisplay
from rkhs.plots.training import SelectionDisplay, SpectrumDisplay, TrainingDisplay

__all__ = [
    "AtomContributionsDisplay",
    "CodeMapDisplay",
    "Display",
    "ErrorDisplay",
    "LoadingsDisplay",
    "OutlierDisplay",
    "PredictionDisplay",
    "RankDisplay",
    "ReconstructionDisplay",
    "RiskCoverageDisplay",
    "SelectionDisplay",
    "SpectrumDisplay",
    "SupportDisplay",
    "TrainingDisplay",
    "TraversalDisplay",
    "save_figure",
]
