"""Figures of fitted models (needs matplotlib, extra `plots`)."""

from rkhs.plots.losses import loss_maps, loss_profiles
from rkhs.plots.maps import code_map, save_figure

__all__ = ["code_map", "loss_maps", "loss_profiles", "save_figure"]
