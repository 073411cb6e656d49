"""Examples of every public kernel, and random items that each reads.

Public classes are discovered: one without an example fails ``test_kernels.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.gaussian_process.kernels import RationalQuadratic

import rkhs.kernels as kernels
from rkhs.kernels import (
    NTK,
    ArcCosine,
    DynamicTimeWarping,
    FromFunction,
    FromModule,
    FromSklearn,
    FunctionalGaussian,
    FunctionalLaplacian,
    Gaussian,
    GaussianOf,
    GlobalAlignment,
    Kernel,
    Laplacian,
    Linear,
    MappedInputs,
    Matern,
    MeanEmbedding,
    MinMax,
    Mismatch,
    MixedTable,
    MoleculeKernel,
    MoleculeTanimoto,
    Normalized,
    OnColumns,
    Polynomial,
    Positions,
    Precomputed,
    ProbabilityProduct,
    Product,
    Scaled,
    ScaledInputs,
    ShiftInvariant,
    ShortestPath,
    SparseRows,
    Spectrum,
    Stationary,
    Sum,
    Tanimoto,
    Views,
    WeisfeilerLehman,
)


def letters_in_common(x: str, y: str) -> float:
    return float(len(set(x) & set(y)))


def inverse_quadratic(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    return 1.0 / (1.0 + ((X[:, None, :] - Y[None, :, :]) ** 2).sum(-1))


def squared_product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x @ y) ** 2


def network(seed: int = 0) -> torch.nn.Module:
    """A small module with fixed weights and a layer that behaves otherwise in training."""
    made = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Tanh()).double()
    with torch.no_grad():
        generator = torch.Generator().manual_seed(seed)
        for weight in made.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.float64))
    return made


EXAMPLES: dict[type, list[Kernel]] = {
    Gaussian: [Gaussian(), Gaussian(0.3), Gaussian("scale"), Gaussian("1/d")],
    Laplacian: [Laplacian("l1"), Laplacian("l2"), Laplacian("l1", 0.4), Laplacian("l2", "scale")],
    Matern: [Matern(0.5), Matern(1.5), Matern(2.5, 0.7), Matern(1.5, "1/d")],
    Linear: [Linear(), Linear("mean_norm", "mean"), Linear(2.0)],
    Polynomial: [Polynomial(), Polynomial(2, 0.5, 0.0), Polynomial(1, 1.0, 2.0)],
    ArcCosine: [ArcCosine(), ArcCosine(0), ArcCosine(1, 3), ArcCosine(0, 2, True), ArcCosine(1, 2, True)],
    NTK: [NTK(), NTK(2), NTK(4, True)],
    Tanimoto: [Tanimoto()],
    MinMax: [MinMax()],
    Positions: [Positions(), Positions(2, "acgt", normalize=False)],
    Spectrum: [Spectrum(), Spectrum(2, "acgt", normalize=False), Spectrum(1, tokens="words")],
    Mismatch: [Mismatch(3, 1), Mismatch(4, 2, "acgt", normalize=False)],
    WeisfeilerLehman: [
        WeisfeilerLehman(),
        WeisfeilerLehman(2, normalize=False),
        WeisfeilerLehman(3, optimal_assignment=True),
    ],
    ShortestPath: [ShortestPath(), ShortestPath(normalize=False)],
    GlobalAlignment: [GlobalAlignment(), GlobalAlignment(0.3)],
    DynamicTimeWarping: [DynamicTimeWarping(), DynamicTimeWarping(0.2, window=9)],
    ShiftInvariant: [ShiftInvariant(), ShiftInvariant(2.0, "none")],
    MoleculeKernel: [MoleculeKernel()],
    MoleculeTanimoto: [
        MoleculeTanimoto(),
        MoleculeTanimoto(counts=True, n_bits=512),
        MoleculeTanimoto("path", True, formula="product"),
        MoleculeTanimoto("maccs"),
    ],
    Precomputed: [Precomputed(), Precomputed(new_diag=2.0)],
    FromFunction: [
        FromFunction(letters_in_common),
        FromFunction(inverse_quadratic, vectorized=True, differentiable=True),
        FromFunction(squared_product, differentiable=True),
        FromFunction(np.dot, inputs="vectors"),
    ],
    FromModule: [FromModule(network()), FromModule(network(1), Gaussian())],
    FromSklearn: [
        FromSklearn("rbf", {"gamma": 0.3}),
        FromSklearn("cosine"),
        FromSklearn(RationalQuadratic()),
    ],
    FunctionalLaplacian: [FunctionalLaplacian(), FunctionalLaplacian(2.0, np.array([0.0, 0.1, 2.0]), "mean")],
    FunctionalGaussian: [FunctionalGaussian(), FunctionalGaussian(0.5, np.array([0.0, 0.2, 0.5]))],
    Normalized: [Normalized(Polynomial(2)), Normalized(Linear("mean_norm")), Normalized(Precomputed())],
    GaussianOf: [
        GaussianOf(Tanimoto()),
        GaussianOf(Linear(), 0.2),
        GaussianOf(Polynomial(2, 0.1)),
        GaussianOf(Precomputed()),
        GaussianOf(FromFunction(letters_in_common), 0.1),
    ],
    MeanEmbedding: [
        MeanEmbedding(),
        MeanEmbedding(Matern(1.5, 0.5) + Linear(), max_points=20),
        MeanEmbedding(FromFunction(letters_in_common)),
    ],
    MixedTable: [MixedTable(), MixedTable(2.0, categorical=(1,))],
    ProbabilityProduct: [ProbabilityProduct(), ProbabilityProduct(0.4, 1.0)],
    OnColumns: [OnColumns(Gaussian(), [2, 0]), OnColumns(Matern() + Linear(), (1,))],
    MappedInputs: [
        MappedInputs(Gaussian(), [[1.0, 0.5], [0.0, 2.0], [0.3, 0.0]]),
        MappedInputs(Matern(1.5, 0.4) + Linear(), np.eye(3)),
    ],
    ScaledInputs: [
        ScaledInputs(Gaussian(), (1.0, 0.5, 2.0)),
        ScaledInputs(Matern(1.5, 0.4) + Linear(), [0.3] * 3),
        ScaledInputs(ArcCosine(), "mean_norm", "mean"),
    ],
    Views: [
        Views((Gaussian(), FromFunction(letters_in_common)), "equal"),
        Views({"a": Linear("mean_norm"), "b": MixedTable()}),
        Views((Gaussian(), Linear()), multipliers=np.array([0.0, 2.0])),
    ],
    SparseRows: [SparseRows(Gaussian(), 3), SparseRows(Linear("mean_norm"), 3), SparseRows(MinMax(), 3)],
    Sum: [Gaussian() + Linear("mean_norm"), Precomputed() + GaussianOf(Precomputed())],
    Product: [Gaussian() * Linear(), Matern() * Polynomial(2) * Tanimoto()],
    Scaled: [0.5 * Matern(), 3.0 * (Gaussian() + Linear())],
}
INDEFINITE = (DynamicTimeWarping,)  # said in their first lines; estimators check their Gram matrices
ALL = [pytest.param(k, id=f"{c.__name__}{i}") for c, ks in EXAMPLES.items() for i, k in enumerate(ks)]
SMOOTH = [p for p in ALL if p.values[0].differentiable]
VECTORS = [p for p in ALL if p.values[0].domain == "vectors"]
STATIONARY = [p for p in ALL if isinstance(p.values[0], Stationary)]


def is_abstract(cls: type) -> bool:
    return any(getattr(getattr(cls, name, None), "__isabstractmethod__", False) for name in dir(cls))


def public_classes(base: type) -> set[type]:
    found = (getattr(kernels, name) for name in kernels.__all__)
    return {c for c in found if isinstance(c, type) and issubclass(c, base) and not is_abstract(c)}


def items(kernel: Kernel, n: int, seed: int = 0, d: int = 3) -> Any:
    rng = np.random.default_rng(seed)
    if isinstance(kernel, ProbabilityProduct):
        sizes = rng.integers(1, 9, size=n)
        return [(rng.uniform(50.0, 53.0, p), rng.uniform(0.1, 1.0, p)) for p in sizes]
    if isinstance(kernel, MeanEmbedding):
        sizes = rng.integers(1, 9, size=n)
        if kernel.base is not None and kernel.base.domain == "objects":
            return [["".join(rng.choice(list("abcdef"), size=3)) for _ in range(s)] for s in sizes]
        return [rng.normal(size=(s, d)) for s in sizes]
    if isinstance(kernel, Views):
        kinds = kernel.kernels.values() if isinstance(kernel.kernels, dict) else kernel.kernels
        views = [items(kind, n, seed + i, d) for i, kind in enumerate(kinds)]
        rows = zip(*[view.numpy() if isinstance(view, torch.Tensor) else view for view in views], strict=True)
        return [dict(zip("ab", row, strict=True)) if isinstance(kernel.kernels, dict) else row for row in rows]
    if isinstance(kernel, MixedTable):
        gone = rng.random((n, 3)) < 0.2
        cells = zip(rng.normal(size=n), rng.integers(0, 3, size=n), rng.choice(["a", "b", "c"], size=n), strict=True)
        return [
            tuple(None if g else v for v, g in zip(row, lost, strict=True))
            for row, lost in zip(cells, gone, strict=True)
        ]
    if isinstance(kernel, (MoleculeKernel, MoleculeTanimoto)):
        pytest.importorskip("rdkit", reason="molecules need RDKit (extra `chem`)")
        parts = ["C", "CC", "O", "N", "c1ccccc1", "C(=O)", "C(Cl)", "S", "C1CC1", "OC"]
        return kernel.read(["C" + "".join(rng.choice(parts, size=rng.integers(1, 6))) for _ in range(n)])
    if isinstance(kernel, (Spectrum, Positions, Mismatch)):
        return kernel.read(["".join(rng.choice(list("acgt"), size=rng.integers(5, 12))) for _ in range(n)])
    if isinstance(kernel, (WeisfeilerLehman, ShortestPath)):
        sizes = rng.integers(2, 7, size=n)
        whole = [rng.integers(0, s, size=(s, 2)) for s in sizes]
        return kernel.read(
            [(E[E[:, 0] != E[:, 1]].tolist(), rng.integers(0, 2, size=s)) for E, s in zip(whole, sizes, strict=True)]
        )
    if isinstance(kernel, (GlobalAlignment, DynamicTimeWarping, ShiftInvariant)):
        lengths = np.full(n, 8) if isinstance(kernel, ShiftInvariant) else rng.integers(3, 9, size=n)
        return kernel.read([rng.normal(size=(length, 2)) for length in lengths])
    if isinstance(kernel, SparseRows):
        return kernel.read(np.abs(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)))
    if kernel.domain == "objects":
        return ["".join(rng.choice(list("abcdefgh"), size=rng.integers(1, 9))) for _ in range(n)]
    X = rng.normal(size=(n, d))
    if kernel.domain == "gram":
        X = np.sqrt(2.0) * X / np.linalg.norm(X, axis=1, keepdims=True)  # a constant diagonal: new items have it too
        K = torch.from_numpy(X @ X.T)
        return K.fill_diagonal_(2.0)
    return torch.from_numpy(np.abs(X) if isinstance(kernel, MinMax) else X)


def has_function(kernel: Kernel) -> bool:
    return any(name in repr(kernel) for name in ("FromFunction", "FromModule", "RationalQuadratic"))
