"""The code of the page that explains how to add a kernel runs, and its kernel keeps the promises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import torch

PAGE = Path(__file__).resolve().parents[2] / "docs" / "user" / "add_a_kernel.md"


def test_the_page_runs() -> None:
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(block, names)
    kernel = names["RationalQuadratic"](gamma=0.5)
    np.testing.assert_allclose(kernel([[0.0], [2.0]]), [[1.0, 1 / 3], [1 / 3, 1.0]])
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 2)))
    V = torch.ones_like(X)
    V[0] = -1.0
    S = torch.eye(6, dtype=torch.float64).roll(1, 0)
    h = 1e-6
    slope = float(((kernel._gram(X + h * V) - kernel._gram(X - h * V)) * S).sum()) / (2 * h)
    assert abs(float((kernel.pullback(X, S) * V).sum()) - slope) < 1e-8
    assert isinstance(names["RationalQuadratic"]().resolve(X).gamma, float)
