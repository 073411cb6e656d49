"""Figures of fitted models (needs matplotlib, extra `plots`).

Displays keep the numbers of a picture and draw them by ``plot()``, as scikit-learn's do.
"""

from rkhs.plots.codes import CodeMapDisplay
from rkhs.plots.display import Display, save_figure
from rkhs.plots.predictions import (
    AtomContributionsDisplay,
    LoadingsDisplay,
    OutlierDisplay,
    RiskCoverageDisplay,
)
from rkhs.plots.reconstructions import ReconstructionDisplay

__all__ = [
    "AtomContributionsDisplay",
    "CodeMapDisplay",
    "Display",
    "LoadingsDisplay",
    "OutlierDisplay",
    "ReconstructionDisplay",
    "RiskCoverageDisplay",
    "save_figure",
]
