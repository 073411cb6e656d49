"""Figures of fitted models (needs matplotlib, extra `plots`)."""

from rkhs.plots.maps import code_map, save_figure

__all__ = ["code_map", "save_figure"]
