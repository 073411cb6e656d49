"""Fitted things as values: frozen objects of arrays that encode, decode, rank and measure, and know no scikit-learn."""

from rkhs.models.components import ComponentsModel
from rkhs.models.contrastive import ContrastiveModel
from rkhs.models.expansion import CodeRegression, Expansion

__all__ = ["CodeRegression", "ComponentsModel", "ContrastiveModel", "Expansion"]
