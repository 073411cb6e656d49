"""A denoising network autoencoder: fresh noise every epoch, clean targets."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

__all__ = ["NetworkDenoiser"]


class NetworkDenoiser(BaseEstimator):
    """Autoencoder ``d - hidden - n_components - hidden - d`` that rebuilds clean rows from noisy ones.

    Adam with a cosine decay, one run per learning rate and weight decay; the best epoch of the best run on noisy
    copies of held-out rows.

    Parameters
    ----------
    n_components : int, default=10
    hidden : int, default=256
    noise_std : float, default=0.316
        Standard deviation of the noise it is trained on.
    learning_rates : tuple of float, default=(1e-3, 3e-3)
    weight_decays : tuple of float, default=(0.0, 1e-6, 1e-5)
        Each is tried: times the squared norm of the weights, added to the loss.
    max_epochs : int, default=400
        Full-batch steps.
    fresh : bool, default=True
        New noise in each step; False: one noisy copy of each row, as a kernel method has.
    validation_share : float, default=0.15
    random_state : int, default=0

    References
    ----------
    Esser et al. (2024), figure 3; Vincent et al. (2010).
    """

    def __init__(
        self,
        n_components: int = 10,
        hidden: int = 256,
        *,
        noise_std: float = 0.316,
        learning_rates: tuple[float, ...] = (1e-3, 3e-3),
        weight_decays: tuple[float, ...] = (0.0, 1e-6, 1e-5),
        max_epochs: int = 400,
        fresh: bool = True,
        validation_share: float = 0.15,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.noise_std = noise_std
        self.learning_rates = learning_rates
        self.weight_decays = weight_decays
        self.max_epochs = max_epochs
        self.fresh = fresh
        self.validation_share = validation_share
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> NetworkDenoiser:
        """Train on clean rows of shape (n, d); ``y`` is ignored."""
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=8)
        rng = np.random.default_rng(self.random_state)
        self.mean_ = X.mean(0)
        data = torch.as_tensor(X - self.mean_, dtype=torch.float32)
        order = rng.permutation(len(X))
        held = max(1, int(self.validation_share * len(X)))
        train, validation = data[order[held:]], data[order[:held]]
        noisy, copy = validation + self._noise(validation.shape, rng), train + self._noise(train.shape, rng)
        self.validation_error_ = np.inf
        for rate, decay in product(self.learning_rates, self.weight_decays):
            network = self._build(X.shape[1])
            optimizer = torch.optim.Adam(network.parameters(), lr=rate)
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.max_epochs)
            for _ in range(self.max_epochs):
                optimizer.zero_grad()
                seen = train + self._noise(train.shape, rng) if self.fresh else copy
                loss = ((network(seen) - train) ** 2).mean()
                if decay:
                    loss = loss + decay * sum((w**2).sum() for w in network.parameters() if w.ndim == 2)
                loss.backward()
                optimizer.step()
                schedule.step()
                with torch.no_grad():
                    error = float(((network(noisy) - validation) ** 2).mean())
                if error < self.validation_error_:
                    self.validation_error_, self.learning_rate_, self.weight_decay_ = error, rate, decay
                    best = {name: value.detach().clone() for name, value in network.state_dict().items()}
        self.network_ = self._build(X.shape[1])
        self.network_.load_state_dict(best)
        return self

    def _noise(self, shape: Any, rng: np.random.Generator) -> Tensor:
        return torch.as_tensor(self.noise_std * rng.standard_normal(tuple(shape)), dtype=torch.float32)

    def _build(self, d: int) -> nn.Sequential:
        generator = torch.Generator().manual_seed(self.random_state)
        sizes = (d, self.hidden, self.n_components, self.hidden, d)
        layers: list[nn.Module] = []
        for i, (a, b) in enumerate(pairwise(sizes)):
            layer = nn.utils.skip_init(nn.Linear, a, b)
            nn.init.xavier_uniform_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)
            layers += [layer, nn.ReLU()] if i in (0, 2) else [layer]
        return nn.Sequential(*layers)

    @torch.no_grad()
    def predict(self, X: Any) -> np.ndarray:
        """Clean rows from noisy ones, shape (m, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self.network_(torch.as_tensor(X - self.mean_, dtype=torch.float32)).numpy() + self.mean_
