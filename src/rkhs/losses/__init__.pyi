from rkhs.losses.base import Loss as Loss
from rkhs.losses.epsilon_and_huber import (
    Ball as Ball,
    EpsilonHuberLoss as EpsilonHuberLoss,
    EpsilonInsensitive as EpsilonInsensitive,
    Huber as Huber,
    Norm as Norm,
    Squared as Squared,
    SquaredEpsilonInsensitive as SquaredEpsilonInsensitive,
    as_loss as as_loss,
)
from rkhs.losses.maximum_margin import MaximumMargin as MaximumMargin
from rkhs.losses.radial import InfimalConvolution as InfimalConvolution, Power as Power, Radial as Radial
