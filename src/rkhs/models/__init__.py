"""Fitted things as values: frozen objects of arrays that encode, decode, rank and measure, and know no scikit-learn."""

from rkhs.models.autoencoder import AutoencoderModel
from rkhs.models.code_metric import code_map, resting_axes
from rkhs.models.components import ComponentsModel, RobustFacts
from rkhs.models.contrastive import ContrastFacts, ContrastiveModel
from rkhs.models.deep_rkm import CodeEncoder, DeepRKMModel, DeepRKMQuality
from rkhs.models.functions import CodeRegression, Expansion, Layer, LinearPart
from rkhs.models.kept import GramModel, GramOf, KeptItems
from rkhs.models.layers import Compared, Pricing, rebuilds_rows
from rkhs.models.left_out import left_out_facts
from rkhs.models.machine import Certificates, MachineModel, path_values
from rkhs.models.other_starts import lower_start
from rkhs.models.rebuilt import Goal, Rebuilt
from rkhs.models.refined_codes import FINE, ROUGH
from rkhs.models.stored_autoencoder import with_kept_items

__all__ = [
    "FINE",
    "ROUGH",
    "AutoencoderModel",
    "Certificates",
    "CodeEncoder",
    "CodeRegression",
    "Compared",
    "ComponentsModel",
    "ContrastFacts",
    "ContrastiveModel",
    "DeepRKMModel",
    "DeepRKMQuality",
    "Expansion",
    "Goal",
    "GramModel",
    "GramOf",
    "KeptItems",
    "Layer",
    "LinearPart",
    "MachineModel",
    "Pricing",
    "Rebuilt",
    "RobustFacts",
    "code_map",
    "left_out_facts",
    "lower_start",
    "path_values",
    "rebuilds_rows",
    "resting_axes",
    "with_kept_items",
]
