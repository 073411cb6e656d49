"""One-hidden-layer networks with the contrastive losses, the counterparts of the kernel models."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from rkhs._core.checks import check_choice
from rkhs.augment import augmented

__all__ = ["NetworkContrastive"]


class NetworkContrastive(TransformerMixin, BaseEstimator):
    """Codes ``W_2 relu(W_1 x + b)`` trained on the simple or the spectral contrastive loss.

    The kernel model keeps its simple loss bounded by orthonormal functions; the network by whitening the codes of
    anchors, positives and negatives together, as ``transform`` gives them. Every epoch draws fresh views and a fresh
    permutation of negatives. Adam with a cosine decay, one run per learning rate, the best training loss wins: there
    are no labels to hold out.

    Parameters
    ----------
    n_components : int, default=2
    hidden : int, default=256
        Width of the hidden layer.
    loss : {"simple", "spectral"}, default="simple"
    augment : str, Augmentation or callable, default="gaussian_noise"
    weight_decay : float, default=1e-4
        Times the squared norm of the weights, added to the loss.
    learning_rates : tuple of float, default=(1e-3, 1e-2)
    max_epochs : int, default=300
        One full-batch step each.
    random_state : int, default=0

    References
    ----------
    Esser et al. (2024), section "Comparison to neural networks".
    """

    def __init__(
        self,
        n_components: int = 2,
        hidden: int = 256,
        *,
        loss: str = "simple",
        augment: Any = "gaussian_noise",
        weight_decay: float = 1e-4,
        learning_rates: tuple[float, ...] = (1e-3, 1e-2),
        max_epochs: int = 300,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.loss = loss
        self.augment = augment
        self.weight_decay = weight_decay
        self.learning_rates = learning_rates
        self.max_epochs = max_epochs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> NetworkContrastive:
        """Train one network per learning rate on rows of ``X``, shape (n, d), and keep the best; ``y`` is ignored."""
        check_choice(self.loss, "loss", ("simple", "spectral"))
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=4)
        self.mean_ = X.mean(0)
        self.factor_ = float(np.sqrt(X.var(0).sum())) or 1.0
        self.training_loss_ = np.inf
        for rate in self.learning_rates:
            self._train(X, rate)
        return self

    def _inputs(self, X: np.ndarray) -> Tensor:
        return torch.as_tensor((X - self.mean_) / self.factor_, dtype=torch.float32)

    def _train(self, X: np.ndarray, rate: float) -> None:
        generator = torch.Generator().manual_seed(self.random_state)
        rng = np.random.default_rng(self.random_state)
        first = nn.utils.skip_init(nn.Linear, X.shape[1], self.hidden)
        second = nn.utils.skip_init(nn.Linear, self.hidden, self.n_components, bias=False)
        for layer in (first, second):
            nn.init.xavier_uniform_(layer.weight, generator=generator)
        nn.init.zeros_(first.bias)
        network = nn.Sequential(first, nn.ReLU(), second)
        optimizer = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=0.0)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.max_epochs)
        anchors = self._inputs(X)
        recent: list[float] = []
        for epoch in range(self.max_epochs):
            positives = self._inputs(augmented(self.augment, X, self.random_state, epoch))
            negatives = anchors[torch.as_tensor(rng.permutation(len(X)))]
            optimizer.zero_grad()
            codes = tuple(network(part) for part in (anchors, positives, negatives))
            penalty = self.weight_decay * sum((layer.weight**2).sum() for layer in (first, second))
            loss = self._loss(*codes) + penalty
            loss.backward()
            optimizer.step()
            schedule.step()
            recent.append(float(loss.detach()))
        final = float(np.mean(recent[-20:]))
        if final < self.training_loss_ or not hasattr(self, "network_"):
            self.training_loss_, self.network_, self.learning_rate_ = final, network, rate
            with torch.no_grad():
                self.factors_ = self._factors(*(network(part) for part in (anchors, positives, negatives)))

    def _factors(self, *codes: Tensor) -> Tensor:
        """Cholesky factor ``L`` of the second moment of codes, whitened by ``L^-1``; the identity if spectral."""
        together = torch.cat(codes)
        one = torch.eye(together.shape[1])
        if self.loss == "spectral":
            return one
        return torch.linalg.cholesky(together.mT @ together / len(together) + 1e-4 * one)

    def _loss(self, *codes: Tensor) -> Tensor:
        L = self._factors(*codes)
        z, plus, minus = (_white(part, L) for part in codes)
        if self.loss == "spectral":
            return (-2.0 * (z * plus).sum(1) + (z * minus).sum(1) ** 2).mean()
        return (z * (minus - plus)).sum(1).mean()

    @torch.no_grad()
    def transform(self, X: Any) -> np.ndarray:
        """Codes, shape (m, p)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return _white(self.network_(self._inputs(X)), self.factors_).numpy().astype(np.float64)


def _white(codes: Tensor, L: Tensor) -> Tensor:
    """``L^-1 z`` of each row."""
    return torch.linalg.solve_triangular(L, codes.mT, upper=False).mT
