"""The beta-VAE that Constr-DRKM is compared with: convolutional, trained to a plateau of its held-out bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from rkhs._core.checks import check_count, check_number
from rkhs._core.errors import InputError

__all__ = ["BetaVAE"]

_SIDE = 64
_WIDTHS = (32, 32, 64, 64)


class BetaVAE(TransformerMixin, BaseEstimator):
    """Variational autoencoder with a weight ``beta`` on the divergence, on 64 x 64 images.

    Minimises ``E[-log p(x | z)] + beta KL(q(z | x) || N(0, I))`` with a Bernoulli likelihood. Encoder: convolutions
    4 x 4 of 32, 32, 64, 64 channels with stride 2 and of 256 with stride 4, ReLU after each, and a linear layer to the
    ``2 p`` parameters of ``q``; the decoder mirrors it. Adam, by default at the rate that the paper has for its own
    model. After each epoch the bound is taken on held-out images; the weights where it was lowest are kept, and
    training ends when it has not fallen for ``patience`` steps. Steps, not epochs: on 85 dSprites the bound stands
    still for about 200 steps before the position of the sprite is found.

    Parameters
    ----------
    n_components : int, default=10
        Dimension ``p`` of the codes; the paper's linear layer of 20 outputs.
    beta : float, default=4.0
    learning_rate : float, default=1e-3
    batch_size : int, default=16
    max_steps : int, default=3000
        Gradient steps, at most; the epoch in which they are spent is finished.
    patience : int, default=500
        In steps.
    validation_share : float, default=0.15
        Share of the images that is held out.
    refit : bool, default=False
        Train once more on all images, from the same weights, for as many steps as were best.
    random_state : int, default=0

    Attributes
    ----------
    history_ : list of float
        Held-out bound of each epoch.
    best_epoch_ : int
    converged_ : bool
        Ended by ``patience``, not by ``max_steps``.

    Raises
    ------
    InputError
        For rows that are not images of 64 x 64 with 1 or 3 channels, pixels outside [0, 1], parameters out of range.

    References
    ----------
    Higgins et al. (2017); Tonin et al. (2021), appendix A.2.
    """

    def __init__(
        self,
        n_components: int = 10,
        beta: float = 4.0,
        *,
        learning_rate: float = 1e-3,
        batch_size: int = 16,
        max_steps: int = 3000,
        patience: int = 500,
        validation_share: float = 0.15,
        refit: bool = False,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.patience = patience
        self.validation_share = validation_share
        self.refit = refit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> BetaVAE:
        """Train on images in rows, shape (n, 4096) or (n, 3 * 4096), channels first; ``y`` is ignored."""
        p = check_count(self.n_components, "n_components")
        check_number(self.beta, "beta", at_least=0.0)
        check_number(self.learning_rate, "learning_rate", above=0.0)
        for name in ("batch_size", "max_steps", "patience"):
            check_count(getattr(self, name), name)
        X = validate_data(self, X, dtype=np.float32, ensure_min_samples=8)
        images = self._images(X)
        seed = int(self.random_state)
        generator = torch.Generator().manual_seed(seed)
        order = torch.randperm(len(images), generator=generator)
        held = images[order[: max(2, round(self.validation_share * len(images)))]]
        self._start(images.shape[1], p, seed)
        best = self._train(images[order[len(held) :]], held, generator)
        if self.refit:
            self._start(images.shape[1], p, seed)
            optimiser = self._optimiser()
            steps = 0
            while steps < best:
                steps += self._epoch(images, optimiser, generator, best - steps)
        return self

    def _start(self, channels: int, p: int, seed: int) -> None:
        with torch.random.fork_rng(devices=[]):  # the layers draw their first weights from the global generator
            torch.manual_seed(seed)
            self.encoder_, self.decoder_ = _networks(channels, p)

    def _optimiser(self) -> torch.optim.Adam:
        parameters = [*self.encoder_.parameters(), *self.decoder_.parameters()]
        return torch.optim.Adam(parameters, lr=self.learning_rate)

    def _epoch(self, train: Tensor, optimiser: torch.optim.Adam, generator: torch.Generator, most: int) -> int:
        """Pass through the images by ``most`` batches at most; how many they were."""
        batches = torch.randperm(len(train), generator=generator).split(self.batch_size)[:most]
        for rows in batches:
            draw = torch.randn(len(rows), self.n_components, generator=generator)
            loss = self._bound(train[rows], draw)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return len(batches)

    def _train(self, train: Tensor, held: Tensor, generator: torch.Generator) -> int:
        """Train to the plateau; how many steps the best weights had, which are kept."""
        optimiser = self._optimiser()
        parameters = optimiser.param_groups[0]["params"]
        best, kept = np.inf, [w.detach().clone() for w in parameters]
        noise = torch.randn(len(held), self.n_components, generator=generator)  # the same for every epoch
        self.history_: list[float] = []
        self.best_epoch_, self.converged_ = 0, False
        steps = best_at = 0
        while steps < self.max_steps and not self.converged_:
            steps += self._epoch(train, optimiser, generator, len(train))
            with torch.no_grad():
                value = float(self._bound(held, noise))
            if value < best:
                best, best_at, self.best_epoch_ = value, steps, len(self.history_)
                kept = [w.detach().clone() for w in parameters]
            if not np.isfinite(value):
                raise InputError(
                    f"BetaVAE.learning_rate={self.learning_rate:g} is too large for these images: the bound is not "
                    "finite any more; lower it"
                )
            self.history_.append(value)
            self.converged_ = steps - best_at >= self.patience
        with torch.no_grad():
            for weight, value_ in zip(parameters, kept, strict=True):
                weight.copy_(value_)
        return best_at

    def _bound(self, images: Tensor, noise: Tensor) -> Tensor:
        mean, log_variance = self.encoder_(images).chunk(2, dim=1)
        codes = mean + noise * torch.exp(0.5 * log_variance)
        logits = self.decoder_(codes)
        missed = nn.functional.binary_cross_entropy_with_logits(logits, images, reduction="sum")
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1.0 - log_variance).sum()
        return (missed + self.beta * divergence) / len(images)

    def transform(self, X: Any) -> np.ndarray:
        """Means of ``q(z | x)``, shape (m, p)."""
        check_is_fitted(self)
        images = self._images(validate_data(self, X, reset=False, dtype=np.float32))
        with torch.no_grad():
            parts = [self.encoder_(part).chunk(2, dim=1)[0] for part in images.split(512)]
        return torch.cat(parts).numpy().astype(np.float64)

    def inverse_transform(self, codes: Any) -> np.ndarray:
        """Images of codes of shape (m, p): the means of the likelihood, in rows."""
        check_is_fitted(self)
        with torch.no_grad():
            images = torch.sigmoid(self.decoder_(torch.as_tensor(np.asarray(codes), dtype=torch.float32)))
        return images.flatten(1).numpy().astype(np.float64)

    @staticmethod
    def _images(X: np.ndarray) -> Tensor:
        channels, rest = divmod(X.shape[1], _SIDE * _SIDE)
        if rest or channels not in (1, 3):
            raise InputError(f"X must hold images of 64 x 64 with 1 or 3 channels in rows; got {X.shape[1]} columns")
        if float(X.min()) < 0.0 or float(X.max()) > 1.0:
            raise InputError("X must hold pixels in [0, 1]; divide by 255")
        return torch.from_numpy(np.array(X)).reshape(len(X), channels, _SIDE, _SIDE)


def _networks(channels: int, p: int) -> tuple[nn.Sequential, nn.Sequential]:
    down: list[nn.Module] = []
    for before, after in zip((channels, *_WIDTHS[:-1]), _WIDTHS, strict=True):
        down += [nn.Conv2d(before, after, 4, 2, 1), nn.ReLU()]
    encoder = nn.Sequential(*down, nn.Conv2d(64, 256, 4, 4), nn.ReLU(), nn.Flatten(), nn.Linear(256, 2 * p))
    up: list[nn.Module] = [nn.Linear(p, 256), nn.ReLU(), nn.Unflatten(1, (256, 1, 1)), nn.ConvTranspose2d(256, 64, 4)]
    for before, after in zip(_WIDTHS[::-1], (*_WIDTHS[-2::-1], channels), strict=True):
        up += [nn.ReLU(), nn.ConvTranspose2d(before, after, 4, 2, 1)]
    return encoder, nn.Sequential(*up)
