"""Drawn data of the papers: the four plane figures of the denoising study, circles, clusters.

Coordinates were never published; these are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["SHAPES", "circles", "clusters", "sample_shape"]

_RADII = (1.0, 2.0, 3.0)


def _square(n: int, rng: np.random.Generator, centre: tuple[float, float], side: float) -> np.ndarray:
    t, edge = rng.uniform(-0.5, 0.5, n), rng.integers(0, 4, n)
    corner = np.where(edge < 2, edge - 0.5, 0.0), np.where(edge >= 2, edge - 2.5, 0.0)
    return np.asarray(centre) + side * np.c_[np.where(edge < 2, corner[0], t), np.where(edge < 2, t, corner[1])]


def _arc(n: int, rng: np.random.Generator, centre: tuple[float, float], radius: float, turn: float) -> np.ndarray:
    angle = rng.uniform(0.0, 2.0 * np.pi * turn, n)
    return np.asarray(centre) + radius * np.c_[np.cos(angle), np.sin(angle)]


def _spiral(n: int, rng: np.random.Generator, centre: tuple[float, float], radius: float) -> np.ndarray:
    t = np.sqrt(rng.uniform(0.02, 1.0, n))  # even along the curve
    angle = 4.0 * np.pi * t
    return np.asarray(centre) + radius * t[:, None] * np.c_[np.cos(angle), np.sin(angle)]


def _in_parts(n: int, count: int) -> list[int]:
    return [n // count + (part < n % count) for part in range(count)]


def _figure_two(n: int, rng: np.random.Generator) -> np.ndarray:
    a, b = _in_parts(n, 2)
    return np.vstack([_square(a, rng, (-1.5, 0.0), 2.0), _spiral(b, rng, (1.5, 0.0), 1.2)])


def _figure_three(n: int, rng: np.random.Generator) -> np.ndarray:
    a, b, c, d = _in_parts(n, 4)
    return np.vstack(
        [
            _square(a, rng, (-1.5, 1.5), 2.0),
            _square(b, rng, (1.5, -1.5), 2.0),
            _spiral(c, rng, (1.5, 1.5), 1.2),
            _arc(d, rng, (-1.5, -1.5), 1.0, 1.0),
        ]
    )


SHAPES = {
    "square": lambda n, rng: _square(n, rng, (0.0, 0.0), 2.0),
    "half circle": lambda n, rng: _arc(n, rng, (0.0, 0.0), 1.0, 0.5),
    "square and spiral": _figure_two,
    "squares, spiral and ring": _figure_three,
}


def sample_shape(name: str, n: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points on a figure, clean and with Gaussian noise.

    Parameters
    ----------
    name : str
        A key of ``SHAPES``.
    n : int
    noise : float
        Standard deviation in each coordinate.
    seed : int

    Returns
    -------
    clean, noisy : ndarray of shape (n, 2)
    """
    rng = np.random.default_rng(seed)
    clean = SHAPES[name](n, rng)
    return clean, clean + noise * rng.normal(size=clean.shape)


def circles(n: int, seed: int, noise: float = 0.08) -> tuple[np.ndarray, np.ndarray]:
    """Three noisy concentric circles, shape (n, 2), and the circle of each point."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 3
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    radius = np.asarray(_RADII)[label] + noise * rng.normal(size=n)
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], label


def clusters(n: int, centres: Any, seed: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian clusters of one standard deviation around the rows of ``centres``."""
    rng = np.random.default_rng(seed)
    centres = np.atleast_2d(np.asarray(centres, dtype=float))
    label = np.arange(n) % len(centres)
    return centres[label] + spread * rng.normal(size=(n, centres.shape[1])), label
