from rkhs.models.autoencoder import FINE as FINE, ROUGH as ROUGH, AutoencoderModel as AutoencoderModel
from rkhs.models.autoencoder_left_out import leave_one_out_facts as leave_one_out_facts, lower_start as lower_start
from rkhs.models.code_metric import code_map as code_map, inactive_axes as inactive_axes
from rkhs.models.components import ComponentsModel as ComponentsModel, RobustFacts as RobustFacts
from rkhs.models.conformal import (
    Calibration as Calibration,
    CandidateSets as CandidateSets,
    NewItems as NewItems,
    PredictionSets as PredictionSets,
)
from rkhs.models.contrastive import ContrastFacts as ContrastFacts, ContrastiveModel as ContrastiveModel
from rkhs.models.deep_rkm import (
    DeepRKMModel as DeepRKMModel,
    DeepRKMQuality as DeepRKMQuality,
)
from rkhs.models.fold_machines import FoldMachines as FoldMachines
from rkhs.models.functions import (
    CodeRegression as CodeRegression,
    Expansion as Expansion,
    Layer as Layer,
    LinearPart as LinearPart,
)
from rkhs.models.kept import GramModel as GramModel, GramOf as GramOf, KeptItems as KeptItems
from rkhs.models.layers import (
    CodePenalty as CodePenalty,
    Compared as Compared,
    Rebuilt as Rebuilt,
    Targets as Targets,
    rebuilds_rows as rebuilds_rows,
)
from rkhs.models.local_layer import LocalLayer as LocalLayer, codes_in_leaves as codes_in_leaves
from rkhs.models.machine import Certificates as Certificates, MachineModel as MachineModel, path_values as path_values
from rkhs.models.neighbour_map import MapQuality as MapQuality, NeighbourMapModel as NeighbourMapModel
from rkhs.models.novelty import NoveltyModel as NoveltyModel
from rkhs.models.stored_autoencoder import with_kept_items as with_kept_items
