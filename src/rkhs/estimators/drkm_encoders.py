"""Encoders of a deep restricted kernel machine, from its solved codes, and the model that is made of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from rkhs._core.linalg import center_gram
from rkhs.estimators.drkm_parts import Settings
from rkhs.features import WholeMap
from rkhs.models import CodeEncoder, DeepRKMModel, DeepRKMQuality, Expansion
from rkhs.problems.code_ridge import encoder_coefs, ridge_coefs
from rkhs.problems.drkm import ConstrainedDRKM

__all__ = ["Encoder", "fit_encoders", "layer_moments", "quality_of", "whole_model"]


@dataclass(frozen=True)
class Encoder:
    """Codes of one layer from kernel rows: ``k(x, support) dual + shift``; and what it does to the training items."""

    dual: Tensor
    shift: Tensor
    support: Tensor
    ridge: float
    error: float
    defect: float


def fit_encoders(
    problem: ConstrainedDRKM, settings: Settings, K: Tensor, H: Tensor, mode: str, ridge: float | str
) -> list[Encoder]:
    """Encoders of all layers, from the bottom.

    A ridge encoder is fitted on what the encoder below gives for the training items, not on their exact codes: new
    items arrive with the same errors.
    """
    encoders: list[Encoder] = []
    blocks = problem.split(H)
    fitted, rows = K, K  # the uncentred Gram matrix that a layer is fitted on, and the rows of the encoded items
    for layer, block in enumerate(blocks):
        gram = center_gram(fitted) if problem.center else fitted
        noise = len(fitted) * torch.finfo(fitted.dtype).eps * float(fitted.diagonal().mean())
        chosen, error = math.nan, math.nan
        if mode == "ridge":
            dual, chosen, error = ridge_coefs(gram, block, ridge, problem.center, noise)
        else:
            dual = encoder_coefs(gram, block, mode, settings.multiplier[layer] * settings.eta[layer], noise)
        mean = fitted.mean(dim=0) if problem.center else fitted.new_zeros(len(fitted))
        dual = dual - dual.mean(dim=0) if problem.center else dual
        shift = -(mean @ dual)
        found = rows @ dual + shift
        support = found if mode == "ridge" else block
        encoders.append(Encoder(dual, shift, support, chosen, error, float((found - block).norm() / block.norm())))
        if layer + 1 < len(blocks):
            kernel, scale = problem.kernels[layer], problem.scale
            fitted = kernel._gram(scale * support)
            rows = fitted if mode == "ridge" else kernel._gram(scale * found, scale * support)
    return encoders


def quality_of(problem: ConstrainedDRKM, H: Tensor, found: list[Encoder]) -> DeepRKMQuality:
    """How well the encoders do."""
    return DeepRKMQuality(
        np.array([one.defect for one in found]),
        np.array([one.ridge for one in found]),
        np.array([one.error for one in found]),
        problem.constraint.violation(H),
    )


def whole_model(
    features: WholeMap,
    problem: ConstrainedDRKM,
    K: Tensor,
    H: Tensor,
    codes: np.ndarray,
    found: list[Encoder],
) -> DeepRKMModel:
    """The model of a solved machine on the Gram matrix ``K``; ``codes`` are those of ``H`` as users see them."""
    blocks, products, means = problem.split(H), [], []
    for layer, block in enumerate(blocks):
        if layer:
            below = problem.scale * blocks[layer - 1]
            gram = problem.kernels[layer - 1]._gram(below, below.clone())
        else:
            gram = K
        means.append(gram.mean(dim=0).cpu().numpy() if problem.center else None)
        products.append((center_gram(gram) if problem.center else gram) @ block)
    moments, values = layer_moments(blocks, products)
    return DeepRKMModel(
        features.kernel,
        Expansion(features, found[0].dual.cpu().numpy(), found[0].shift.cpu().numpy()),
        tuple(
            CodeEncoder(one.dual.cpu().numpy(), one.shift.cpu().numpy(), below.support.cpu().numpy(), None)
            for below, one in pairwise(found)
        ),
        problem.kernels,
        problem.scale,
        codes,
        [np.ascontiguousarray(block.cpu().numpy()) for block in blocks],
        moments,
        values,
        means,
        None,
        None,
        features.kept,
        K.diagonal().cpu().numpy().copy(),
        quality_of(problem, H, found),
    )


def layer_moments(blocks: list[Tensor], products: list[Tensor]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Moments ``H_l^T K_(l-1) H_l`` of every layer and their diagonals, from the products ``K_(l-1) H_l``."""
    moments = [block.mT @ product for block, product in zip(blocks, products, strict=True)]
    return [M.cpu().numpy() for M in moments], [torch.diagonal(M).cpu().numpy().copy() for M in moments]
