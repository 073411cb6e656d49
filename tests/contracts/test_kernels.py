"""What every kernel promises. Public classes are discovered: one without an example fails the suite."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RationalQuadratic
from sklearn.svm import SVC

import rkhs.kernels as kernels
from rkhs._core.codec import decode, encode
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer
from rkhs.kernels import (
    NTK,
    ArcCosine,
    Centered,
    DynamicTimeWarping,
    FromFunction,
    FromModule,
    FromSklearn,
    FunctionalGaussian,
    FunctionalLaplacian,
    Gappy,
    Gaussian,
    GaussianOf,
    GlobalAlignment,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    MeanEmbedding,
    MinMax,
    Mismatch,
    MixedTable,
    MoleculeTanimoto,
    Normalized,
    OnColumns,
    OperatorKernel,
    OperatorSum,
    Polynomial,
    Precomputed,
    ProbabilityProduct,
    Product,
    RandomWalk,
    Scaled,
    ScaledInputs,
    Separable,
    ShiftInvariant,
    ShortestPath,
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
    Spectrum: [Spectrum(), Spectrum(2, "acgt", normalize=False), Spectrum(1, tokens="words")],
    Mismatch: [Mismatch(3, 1), Mismatch(4, 2, "acgt", normalize=False)],
    Gappy: [Gappy(), Gappy(2, 2, "dna", normalize=False)],
    WeisfeilerLehman: [WeisfeilerLehman(), WeisfeilerLehman(2, normalize=False)],
    ShortestPath: [ShortestPath(), ShortestPath(normalize=False)],
    RandomWalk: [RandomWalk(), RandomWalk(0.02, labels=False, normalize=False)],
    GlobalAlignment: [GlobalAlignment(), GlobalAlignment(0.3)],
    DynamicTimeWarping: [DynamicTimeWarping(), DynamicTimeWarping(0.2, window=9)],
    ShiftInvariant: [ShiftInvariant(), ShiftInvariant(2.0, "none")],
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
    Centered: [
        Centered(Gaussian()),
        Centered(NTK()),
        Centered(Precomputed()),
        Centered(GaussianOf(Precomputed())),
        Centered(FromFunction(letters_in_common)),
    ],
    MeanEmbedding: [
        MeanEmbedding(),
        MeanEmbedding(Matern(1.5, 0.5) + Linear(), max_points=20),
        MeanEmbedding(FromFunction(letters_in_common)),
    ],
    MixedTable: [MixedTable(), MixedTable(2.0, categorical=(1,))],
    ProbabilityProduct: [ProbabilityProduct(), ProbabilityProduct(0.4, 1.0)],
    OnColumns: [OnColumns(Gaussian(), [2, 0]), OnColumns(Matern() + Linear(), (1,))],
    ScaledInputs: [ScaledInputs(Gaussian(), (1.0, 0.5, 2.0)), ScaledInputs(Matern(1.5, 0.4) + Linear(), [0.3] * 3)],
    Views: [
        Views((Gaussian(), FromFunction(letters_in_common)), "equal"),
        Views({"a": Linear("mean_norm"), "b": MixedTable()}),
        Views((Gaussian(), Linear()), multipliers=np.array([0.0, 2.0])),
    ],
    Sum: [Gaussian() + Linear("mean_norm"), Precomputed() + GaussianOf(Precomputed())],
    Product: [Gaussian() * Linear(), Matern() * Polynomial(2) * Tanimoto()],
    Scaled: [0.5 * Matern(), 3.0 * (Gaussian() + Linear())],
}
INDEFINITE = (DynamicTimeWarping,)  # said in their first lines; estimators check their Gram matrices
ALL = [pytest.param(k, id=f"{c.__name__}{i}") for c, ks in EXAMPLES.items() for i, k in enumerate(ks)]
SMOOTH = [p for p in ALL if p.values[0].differentiable]
VECTORS = [p for p in ALL if p.values[0].domain == "vectors"]


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
    if isinstance(kernel, MoleculeTanimoto):
        pytest.importorskip("rdkit", reason="molecules need RDKit (extra `chem`)")
        parts = ["C", "CC", "O", "N", "c1ccccc1", "C(=O)", "C(Cl)", "S", "C1CC1", "OC"]
        return kernel.read(["C" + "".join(rng.choice(parts, size=rng.integers(1, 6))) for _ in range(n)])
    if isinstance(kernel, (Spectrum, Mismatch, Gappy)):
        return kernel.read(["".join(rng.choice(list("acgt"), size=rng.integers(5, 12))) for _ in range(n)])
    if isinstance(kernel, (WeisfeilerLehman, ShortestPath, RandomWalk)):
        sizes = rng.integers(2, 7, size=n)
        whole = [rng.integers(0, s, size=(s, 2)) for s in sizes]
        return kernel.read(
            [(E[E[:, 0] != E[:, 1]], rng.integers(0, 2, size=s)) for E, s in zip(whole, sizes, strict=True)]
        )
    if isinstance(kernel, (GlobalAlignment, DynamicTimeWarping, ShiftInvariant)):
        lengths = np.full(n, 8) if isinstance(kernel, ShiftInvariant) else rng.integers(3, 9, size=n)
        return kernel.read([rng.normal(size=(length, 2)) for length in lengths])
    if kernel.domain == "objects":
        return ["".join(rng.choice(list("abcdefgh"), size=rng.integers(1, 9))) for _ in range(n)]
    X = rng.normal(size=(n, d))
    if kernel.domain == "gram":
        X = np.sqrt(2.0) * X / np.linalg.norm(X, axis=1, keepdims=True)  # a constant diagonal: new items have it too
        K = torch.from_numpy(X @ X.T)
        return K.fill_diagonal_(2.0)
    return torch.from_numpy(np.abs(X) if isinstance(kernel, MinMax) else X)


def test_every_public_class_has_examples() -> None:
    assert set(EXAMPLES) == public_classes(Kernel)
    assert all(type(k) is c for c, ks in EXAMPLES.items() for k in ks)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kernel", ALL)
def test_gram_is_symmetric_psd_with_its_diagonal(kernel: Kernel, seed: int) -> None:
    X = items(kernel, 25, seed)
    k = kernel.resolve(X)
    K = k._gram(X)
    scale = float(K.abs().max())
    assert torch.allclose(K, K.mT, rtol=0, atol=1e-12 * scale)
    assert torch.allclose(K.diagonal(), k._diag(X), rtol=1e-11, atol=1e-12 * scale)
    if not isinstance(kernel, INDEFINITE):
        assert float(torch.linalg.eigvalsh(K)[0]) >= -1e-10 * 25 * scale
    else:
        assert not k.known_psd


@pytest.mark.parametrize("kernel", ALL)
def test_cross_gram_agrees_with_gram(kernel: Kernel) -> None:
    X = items(kernel, 20)
    k = kernel.resolve(X)
    K = k._gram(X)
    scale = float(K.abs().max())
    assert torch.allclose(k._gram(X, X), K, rtol=0, atol=3e-8 * scale)  # arc cosines near 1 lose half of the digits
    off = ~torch.eye(20, dtype=torch.bool)[:7]
    assert torch.allclose(k._gram(X[:7], X)[off], K[:7][off], rtol=0, atol=1e-11 * scale)
    if kernel.domain != "gram":
        assert torch.allclose(k._gram(X[3:12], X[:5]), k._gram(X[:5], X[3:12]).mT, rtol=0, atol=1e-11 * scale + 3e-8)
    elif not isinstance(kernel, Sum):  # rows of a Gram matrix need no support
        assert torch.equal(k._gram(X), k._gram(X, X))


@pytest.mark.parametrize("kernel", ALL)
def test_the_result_is_new_and_inputs_stay(kernel: Kernel) -> None:
    X = items(kernel, 6)
    before = X.clone() if isinstance(X, torch.Tensor) else list(X)
    k = kernel.resolve(X)
    k._gram(X).zero_()
    k._diag(X).zero_()
    assert torch.equal(X, before) if isinstance(X, torch.Tensor) else before == X


@pytest.mark.parametrize("kernel", ALL)
def test_one_item_and_duplicates(kernel: Kernel) -> None:
    one = items(kernel, 1)
    assert kernel(one).shape == (1, 1)
    assert bool(torch.isfinite(torch.as_tensor(kernel(one))).all())
    X = items(kernel, 6)
    if kernel.domain == "gram":
        index = torch.tensor([0, 0, 0, 0, 1, 2])
        X = X[index][:, index]
    elif isinstance(X, torch.Tensor):
        X = X[[0, 0, 0, 0, 1, 2]]
    else:
        X = [X[0]] * 4 + X[1:3]
    K = torch.as_tensor(kernel(X))
    assert bool(torch.isfinite(K).all())
    if not isinstance(kernel, INDEFINITE):
        assert float(torch.linalg.eigvalsh(K)[0]) >= -1e-9 * float(K.abs().max() + 1)
    if kernel.differentiable:
        S = torch.ones(6, 6, dtype=torch.float64)
        assert bool(torch.isfinite(kernel.resolve(X).pullback(X, S)).all())


@pytest.mark.parametrize("kernel", VECTORS)
def test_containers_and_precision(kernel: Kernel) -> None:
    X = items(kernel, 9)
    exact = kernel(X)
    assert isinstance(exact, torch.Tensor)
    array = kernel(X.numpy())
    assert isinstance(array, np.ndarray)
    np.testing.assert_allclose(array, exact.numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X.numpy().tolist()), array, rtol=1e-12, atol=1e-14)
    single = kernel(X.to(torch.float32))
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), exact, rtol=2e-3, atol=2e-4 * float(exact.abs().max()))
    diagonal = kernel.diag(X.numpy())
    assert isinstance(diagonal, np.ndarray)
    np.testing.assert_allclose(diagonal, np.diag(array), rtol=1e-11, atol=1e-12)
    mixed = kernel(X.numpy(), X.numpy().astype(np.float32))
    assert mixed.dtype == np.float64


@pytest.mark.parametrize("kernel", ALL)
def test_clone_parameters_and_equality(kernel: Kernel) -> None:
    twin = clone(kernel)
    assert twin == kernel
    assert type(kernel)(**kernel.get_params(deep=False)) == kernel
    assert kernel != Gaussian(123.0)
    assert repr(kernel)


@pytest.mark.parametrize("kernel", ALL)
def test_resolving_twice_changes_nothing(kernel: Kernel) -> None:
    X = items(kernel, 8)
    k = kernel.resolve(X)
    again = k.resolve(X)
    assert again is k
    assert "median" not in repr(k)


def has_function(kernel: Kernel) -> bool:
    return any(name in repr(kernel) for name in ("FromFunction", "FromModule", "RationalQuadratic"))


@pytest.mark.parametrize("kernel", ALL)
def test_resolved_kernels_survive_json(kernel: Kernel) -> None:
    X = items(kernel, 8)
    k = kernel.resolve(X)
    arrays: dict[str, np.ndarray] = {}
    if has_function(kernel):
        with pytest.raises(InputError, match="Python functions cannot be stored"):
            encode(k, arrays)
        return
    text = json.dumps(encode(k, arrays))
    back = decode(json.loads(text), arrays, lambda name: getattr(kernels, name))
    assert back == k
    assert torch.equal(back._gram(X, X), k._gram(X, X))


# ---------------------------------------------------------------- gradients


def taylor_slope(value: Any, X: torch.Tensor, G: torch.Tensor, seed: int) -> None:
    """The error of the first-order expansion must fall with the square of the step."""
    V = torch.from_numpy(np.random.default_rng(seed).normal(size=X.shape))
    f0, slope = value(X), float((G * V).sum())
    steps = (1e-3, 1e-4)
    errors = [abs(value(X + t * V) - f0 - t * slope) for t in steps]
    rounding = 1e-12 * (abs(f0) + abs(slope))
    assert errors[0] < rounding or math.log10(errors[0] / max(errors[1], 1e-300)) > 1.9, (errors, f0, slope)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kernel", SMOOTH)
def test_pullbacks_are_gradients(kernel: Kernel, seed: int) -> None:
    rng = np.random.default_rng(seed + 10)
    X, Y = items(kernel, 8, seed), items(kernel, 5, seed + 5)
    k = kernel.resolve(X)
    S = torch.from_numpy(rng.normal(size=(8, 8)))
    taylor_slope(lambda T: float((k._gram(T) * S).sum()), X, k.pullback(X, S), seed)
    C = torch.from_numpy(rng.normal(size=(8, 5)))
    taylor_slope(lambda T: float((k._gram(T, Y) * C).sum()), X, k.cross_pullback(X, Y, C), seed)
    s = torch.from_numpy(rng.normal(size=8))
    taylor_slope(lambda T: float((k._diag(T) * s).sum()), X, k.diag_pullback(X, s), seed)


@pytest.mark.parametrize("kernel", SMOOTH)
def test_jacobian_is_the_pullback_of_every_column(kernel: Kernel) -> None:
    X, Y = items(kernel, 6, 3), items(kernel, 5, 4)
    k = kernel.resolve(Y)  # where a centred kernel has its kinks
    C = torch.from_numpy(np.random.default_rng(5).normal(size=(5, 3)))
    expected = torch.stack([k.cross_pullback(X, Y, column.expand(6, 5)) for column in C.mT], 2)
    exact = isinstance(k, Stationary) and k.rotation_invariant
    bound = (1e-12 if exact else 1e-3) * max(1.0, float(expected.abs().max()))  # others by differences
    assert torch.allclose(k._jacobian(X, Y, C), expected, rtol=0, atol=bound)


@pytest.mark.parametrize("kernel", SMOOTH)
def test_pullback_takes_any_form_of_its_arguments(kernel: Kernel) -> None:
    rng = np.random.default_rng(3)
    X = items(kernel, 300) if not has_function(kernel) else items(kernel, 10)  # more than one block of rows
    k, n = kernel.resolve(X), len(X)
    left, right = (torch.from_numpy(rng.normal(size=(n, 2))) for _ in range(2))
    expected = k.pullback(X, left @ right.mT)
    scale = float(expected.abs().max())
    K = k._gram(X)
    for got in (
        k.pullback(X, Outer(left, right)),
        k.pullback(X, left @ right.mT, K),
        k.pullback(X, Outer(left, right), K),
    ):
        assert torch.allclose(got, expected, rtol=0, atol=1e-10 * scale)
    same = k.pullback(X, Outer(left, left))
    assert torch.allclose(same, k.pullback(X, left @ left.mT), rtol=0, atol=1e-10 * scale)
    assert torch.equal(K, k._gram(X))


@pytest.mark.parametrize("kernel", [p for p in ALL if not p.values[0].differentiable])
def test_kernels_without_gradient_say_so(kernel: Kernel) -> None:
    X = torch.ones(2, 2, dtype=torch.float64)
    base = kernel
    while hasattr(base, "base") and not isinstance(base, MeanEmbedding):
        base = base.base
    if isinstance(base, Sum):
        base = base.parts[0]
    with pytest.raises(InputError, match="no gradient"):
        base.pullback(X, X)
    with pytest.raises(InputError, match="no gradient"):
        base.cross_pullback(X, X, X)
    with pytest.raises(InputError, match="no gradient"):
        base.diag_pullback(X, X[0])


# ---------------------------------------------------------------- stationary kernels


STATIONARY = [p for p in ALL if isinstance(p.values[0], Stationary)]


@pytest.mark.parametrize("kernel", STATIONARY)
def test_a_huge_offset_changes_nothing(kernel: Stationary) -> None:
    X = (items(kernel, 30) * 64).round() / 64  # exact in float64 after the shift
    near, far = kernel(X), kernel(X + 2.0**20)
    assert torch.allclose(near, far, rtol=0, atol=1e-12)
    k = kernel.resolve(X)
    S = torch.ones(30, 30, dtype=torch.float64)
    assert torch.allclose(k.pullback(X, S), k.pullback(X + 2.0**20, S), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", STATIONARY)
def test_bandwidth_gradient(kernel: Stationary) -> None:
    X = items(kernel, 300)
    k = kernel.resolve(X)
    rng = np.random.default_rng(0)
    left, right = (torch.from_numpy(rng.normal(size=(300, 2))) for _ in range(2))
    S = left @ right.mT
    gamma, h = float(k.gamma), 1e-5

    def value(g: float) -> float:
        return float((clone(k).set_params(gamma=g)._gram(X) * S).sum())

    expected = (value(gamma * (1 + h)) - value(gamma * (1 - h))) / (2 * h * gamma)
    assert k.bandwidth_gradient(X, S) == pytest.approx(expected, rel=1e-6)
    assert k.bandwidth_gradient(X, Outer(left, right), k._gram(X)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), Matern(1.5), Gaussian("scale"), GaussianOf(Tanimoto())])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_weights_are_repeated_rows(kernel: Kernel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = items(kernel, 12, seed)
    counts = rng.integers(0, 4, size=12)
    counts[0] = 1
    w = torch.from_numpy(counts / counts.sum())
    repeated = X[torch.from_numpy(np.repeat(np.arange(12), counts))]
    assert kernel.resolve(X, w).gamma == pytest.approx(kernel.resolve(repeated).gamma, rel=1e-10)


@pytest.mark.parametrize("kernel", [p for p in VECTORS if p.id not in ("FromFunction1", "FromFunction2")])
def test_support_vector_machine_takes_it(kernel: Kernel) -> None:
    X = items(kernel, 40).numpy()
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    machine = SVC(kernel=kernel, C=10.0).fit(X, y)
    k = kernel.resolve(torch.from_numpy(X))
    twin = SVC(kernel="precomputed", C=10.0).fit(k(X), y)
    np.testing.assert_array_equal(machine.predict(X[:9]), twin.predict(k(X[:9], X)))


# ---------------------------------------------------------------- operator-valued kernels


def test_every_operator_kernel_is_tested() -> None:
    assert public_classes(OperatorKernel) == {Separable, OperatorSum}
