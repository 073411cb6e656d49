"""What a user writes, as a type checker sees it; ``./dev lint`` checks it and ``test_types.py`` runs it.

An expected error stands behind ``type: ignore`` with its code: a checker that no longer finds it reports the comment.
"""

from __future__ import annotations

import numpy as np

import rkhs
from rkhs import DeepRKM, KernelAutoencoder, KernelContrastive, KernelPCA, OperatorKernelRegressor
from rkhs.augment import GaussianNoise
from rkhs.constraints import Sphere, Stiefel
from rkhs.engines import Threads
from rkhs.estimators import Ranking
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Kernel, Linear, Matern
from rkhs.losses import Huber, Loss
from rkhs.solvers import Adam


def kernels() -> list[Kernel]:
    """Sums, products and multiples of kernels are kernels."""
    narrow: Kernel = 0.5 * Gaussian(0.1)
    both: Kernel = Gaussian() + 0.1 * Linear()
    product: Kernel = Matern(1.5) * Gaussian()
    return [narrow, both, product]


def codes(X: np.ndarray) -> np.ndarray:
    """Estimators keep their type through fit, and documented attributes have types."""
    model: KernelPCA = KernelPCA(2, kernel=kernels()[1]).fit(X)
    shares: np.ndarray = model.explained_variance_ratio_
    count: int = model.n_components_
    assert len(shares) == count
    kernel: Kernel = model.kernel_
    assert kernel == model.kernel_
    deep: DeepRKM = DeepRKM((2, 1)).fit(X)
    layers: list[np.ndarray] = deep.layer_codes_
    assert len(layers) == 2
    pairs: KernelContrastive = KernelContrastive(2).fit(X)
    return model.codes_ + pairs.codes_


def back(X: np.ndarray) -> float:
    """From codes back to items, with what the solver said."""
    model: KernelAutoencoder = KernelAutoencoder(2, reg=1e-3).fit(X)
    ranking: Ranking = model.decode(model.transform(X[:3]), X, n_best=1)
    nearest: np.ndarray = ranking.indices
    regs: tuple[float, ...] = model.reg_
    reason: str = model.reason_
    assert reason
    assert len(regs) == 2
    assert nearest.shape == (3, 1)
    return model.score(X) + model.objective_


def objects(X: np.ndarray) -> np.ndarray:
    """Options that are objects."""
    model = KernelAutoencoder(
        2,
        storage=Nystroem(10),
        linear_part="kernel",
        solver="lbfgs",
        noise=GaussianNoise(0.1, copies=2),
        engine=Threads(1),
        max_iter=2,
    )
    return model.fit(X).codes_ + KernelAutoencoder(2, constraint=Sphere(), max_iter=2).fit(X).codes_


def regression(X: np.ndarray, Y: np.ndarray) -> float:
    """A machine with its certificate."""
    loss: Loss = Huber(0.5)
    model = OperatorKernelRegressor(loss=loss).fit(X, Y)
    return model.gap_


def mistakes() -> None:
    """What a checker must find."""
    rkhs.KernelPAC(2)  # type: ignore[attr-defined]
    rkhs.KernelPCA(n_component=2)  # type: ignore[call-arg]
    rkhs.KernelPCA(2, preimage=3)  # type: ignore[arg-type]
    rkhs.KernelPCA(2, preimage="rigde")  # type: ignore[arg-type]
    rkhs.KernelPCA(2, kernel="gausian")  # type: ignore[arg-type]
    rkhs.DeepRKM(2, out_of_sample="rigde")  # type: ignore[arg-type]
    rkhs.KernelContrastive(2, pairs="neighbours")  # type: ignore[arg-type]
    rkhs.KernelAutoencoder(2, solver="lbgfs")  # type: ignore[arg-type]
    rkhs.KernelAutoencoder(2, solver=Adam)  # type: ignore[arg-type]
    rkhs.KernelAutoencoder(2, constraint=Stiefel())  # type: ignore[arg-type]
    rkhs.KernelAutoencoder(2, noise=0.1)  # type: ignore[arg-type]
    rkhs.OperatorKernelRegressor(solver=Adam())  # type: ignore[arg-type]
    rkhs.FunctionalKernelRegressor(basis=3)  # type: ignore[arg-type]
    rkhs.GramTransformer(dtype="double")  # type: ignore[arg-type]
    wrong: Loss = Gaussian()  # type: ignore[assignment]
    assert wrong is not None
