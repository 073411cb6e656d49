from rkhs.plots.codes import CodeMapDisplay as CodeMapDisplay
from rkhs.plots.display import save_figure as save_figure
from rkhs.plots.reconstructions import ReconstructionDisplay as ReconstructionDisplay
