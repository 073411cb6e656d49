"""What a change of a code should cost where codes are refined, and where to start, on development sets.

Run: RKHS_DATA=... ./dev bench refine_price [--rows 300] [--seeds 2]. Sets of ``harness/development.py``. Printed: the
held-out error with another price over that of the default, geometric mean and largest, at two and at ten (or four)
components. Vectors beside free linear parts: the power function, and a third, a tenth and a hundredth of it. The same
sets as Gram matrices of the Gaussian kernel: the power function in place of ``k(x, x)``. One fit serves all prices of
a set. "Without a search": the descent starts at the code of the encoder alone, not at the best of the training codes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from rkhs import KernelAutoencoder
from rkhs.kernels import Gaussian
from rkhs.problems.refinement import CodeRefinement
from studies.bench.selection import tasks
from studies.harness.arguments import bench_arguments
from studies.harness.development import components
from studies.harness.scripts import run_script

SHARES = (0.3, 0.1, 0.01)


@contextmanager
def without_search() -> Iterator[None]:
    """Descents from the codes of the encoder."""

    def zero(problem: CodeRefinement, decoded: Tensor | None = None) -> Tensor:
        return torch.zeros_like(problem.start)

    kept = CodeRefinement.nearest
    CodeRefinement.nearest = zero
    try:
        yield
    finally:
        CodeRefinement.nearest = kept


def vector_errors(train: np.ndarray, test: np.ndarray, p: int) -> dict[str, float]:
    """Error by price, beside free linear parts."""
    model = KernelAutoencoder(p).fit(train)
    fitted, (first, last) = model.model_, model.reg_
    found = {"default": float(model.reconstruction_error(test).mean())}
    with without_search():
        found["without a search"] = float(model.reconstruction_error(test).mean())
    for share in SHARES:
        model.model_ = replace(fitted, reg=(share * first, last))  # what refining reads of it is the price
        found[f"{share} of it"] = float(model.reconstruction_error(test).mean())
    return found


def gram_errors(train: np.ndarray, test: np.ndarray, p: int) -> dict[str, float]:
    """Error by price, without free linear parts."""
    kernel = Gaussian().resolve(Gaussian().read(train))
    model = KernelAutoencoder(p, kernel="precomputed").fit(kernel(train))
    found, fitted = {}, model.model_
    for name, price in (("default", "diagonal"), ("power function", "power")):
        model.model_ = replace(fitted, penalty=replace(fitted.penalty, kind=price))
        found[name] = float(model.reconstruction_error(kernel(test, train), diag=1.0).mean())
    model.model_ = fitted
    with without_search():
        found["without a search"] = float(model.reconstruction_error(kernel(test, train), diag=1.0).mean())
    return found


def main() -> None:
    """Print both tables."""
    asked = bench_arguments(__doc__, rows=300, seeds=2)
    warnings.simplefilter("ignore")
    for what, errors_of in (("vectors, free linear parts", vector_errors), ("Gram matrices", gram_errors)):
        for level in (2, 10):
            ratios: dict[str, list[float]] = {}
            for seed in range(asked.seeds):
                for _, train, test in tasks(argparse.Namespace(unseen=False, sets=[]), asked.rows, seed):
                    found = errors_of(train, test, min(level, components(train.shape[1])))
                    for name, error in found.items():
                        ratios.setdefault(name, []).append(error / found["default"])
            for name, values in ratios.items():
                if name != "default":
                    mean = float(np.exp(np.log(values).mean()))
                    print(
                        f"{what}, {level:2d} components, {name}: {mean:.3f} of the error of the default, largest "
                        f"{max(values):.2f}, least {min(values):.2f} ({len(values)} tasks)",
                        flush=True,
                    )


if __name__ == "__main__":
    run_script(main)
