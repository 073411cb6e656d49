"""The reduced objective of many rows: own codes beside finite features, a decoder on anchors."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import factorize
from rkhs.constraints import Ball, SoftSphere, Sphere, Whitened
from rkhs.engines import Threads
from rkhs.kernels import Gaussian, Linear, Matern
from rkhs.kernels.base import Kernel
from rkhs.losses import EpsilonInsensitive, Huber, Loss, Power, SquaredEpsilonInsensitive
from rkhs.problems.autoencoder import Autoencoder, items_autoencoder
from rkhs.problems.coordinates import PerRowCodes
from rkhs.problems.encoders import ConstrainedCodes, DeepCodes, Encoder, SmoothBall, UnconstrainedCodes
from rkhs.problems.last_layers import AnchoredDecoder, AnchorsLayer
from rkhs.problems.semiparametric import semiparametric_decoder, slope_penalty

N, P, R, K, M = 40, 2, 3, 2, 6
REG_1 = 1e-3


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def problem(
    kernel: Kernel, anchors: int, *, weighted: bool = False, own: bool = True, strip: int = 64, ridge: float = 1e-7
) -> Autoencoder:
    w = random(N, seed=0).exp() if weighted else None
    T = random(N, R, seed=1)
    factor = PerRowCodes(random(N, K, seed=2), random(N, M, seed=3), random(N, seed=4).exp() if own else None)
    w = None if w is None else w / w.sum()
    decoder = AnchorsLayer(T, kernel, anchors, 1e-2, 1e-4, ridge, w, None, strip)
    return Autoencoder(UnconstrainedCodes(factor, REG_1), decoder)


def factor_of(whole: Autoencoder) -> PerRowCodes:
    assert isinstance(whole.encoder, UnconstrainedCodes)
    return whole.encoder.factor


KERNELS = [Matern(1.5, 0.7) * 0.8 + 0.2 * Matern(0.5, 0.7), Gaussian(0.5) + Linear()]


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=["radial", "sum"])
def test_the_gradient_is_that_of_the_value(kernel: Kernel, weighted: bool, own: bool) -> None:
    whole = problem(kernel, 15, weighted=weighted, own=own)
    point, step = random(factor_of(whole).dim, P, seed=5), random(factor_of(whole).dim, P, seed=6)
    value, grad = whole.value_and_grad(point)
    slope, rest = float((grad * step).sum()), []
    assert value == pytest.approx(whole.value(point), rel=1e-12)
    for h in (1e-3, 5e-4):
        rest.append(abs(whole.value(point + h * step) - value - h * slope))
    assert 3.5 < rest[0] / rest[1] < 4.5  # what is left is quadratic


@pytest.mark.parametrize("weighted", [True, False])
def test_the_value_is_that_of_the_definition(weighted: bool) -> None:
    kernel, a = KERNELS[0], 15
    whole = problem(kernel, a, weighted=weighted)
    factor, decoder = factor_of(whole), whole.last_layer
    assert factor.spread is not None
    point = random(factor.dim, P, seed=5)
    A, V, U = point.split([K, M, N])
    Z = factor.linear @ A + factor.features @ V + factor.spread[:, None] * U
    w = torch.full((N,), 1.0 / N, dtype=torch.float64) if decoder.weights is None else decoder.weights
    G, D = kernel._gram(Z[:a]), torch.cat([kernel._gram(Z, Z[:a]), Z, torch.ones_like(Z[:, :1])], 1)
    penalty = torch.zeros(a + P + 1, a + P + 1, dtype=torch.float64)
    penalty[:a, :a] = decoder.reg * G + decoder.ridge * torch.eye(a)
    penalty[a : a + P, a : a + P] = decoder.slope * torch.eye(P)
    B = torch.linalg.solve(D.mT @ (w[:, None] * D) + penalty, D.mT @ (w[:, None] * decoder.target))
    loss = 0.5 * float(w @ ((decoder.target - D @ B) ** 2).sum(1)) + 0.5 * float((B * (penalty @ B)).sum())
    assert whole.value(point) == pytest.approx(loss + 0.5 * REG_1 * float((point**2).sum()), rel=1e-10)


@pytest.mark.parametrize("weighted", [True, False])
def test_all_rows_as_anchors_are_the_dense_autoencoder(weighted: bool) -> None:
    kernel = KERNELS[0]
    whole = problem(kernel, N, weighted=weighted, ridge=0.0)
    factor, T, w = factor_of(whole), whole.last_layer.target, whole.last_layer.weights
    assert factor.spread is not None
    whole = replace(whole, last_layer=replace(whole.last_layer, slope=slope_penalty(T, w)))
    H = torch.cat([factor.linear, factor.features], 1)
    gram = H @ H.mT + torch.diag(factor.spread**2)
    dense = items_autoencoder(
        factorize(gram), T, (kernel,), (P,), (REG_1, whole.last_layer.reg), (), w, semiparametric_decoder
    )
    Z = random(N, P, seed=7)
    point = factor.solve(Z)
    torch.testing.assert_close(factor.codes(point), Z)
    assert whole.value(point) == pytest.approx(dense.value(dense.encoder.factor.solve(Z)), rel=1e-8)
    torch.testing.assert_close(
        whole.last_layer.gradient(Z, whole.last_layer.solve(Z)),
        torch.linalg.solve(
            gram,
            dense.encoder.factor.codes(
                dense.value_and_grad(dense.encoder.factor.solve(Z))[1] - REG_1 * dense.encoder.factor.solve(Z)
            ),
        ),
        rtol=1e-5,
        atol=1e-8,
    )


def test_strips_and_threads_change_nothing() -> None:
    one, many = (problem(KERNELS[0], 15, weighted=True, strip=strip) for strip in (64, 7))
    point = random(factor_of(one).dim, P, seed=5)
    value, grad = one.value_and_grad(point)
    again, other = many.value_and_grad(point)
    assert again == pytest.approx(value, rel=1e-12)
    torch.testing.assert_close(other, grad, rtol=1e-9, atol=1e-12)
    with Threads(2) as engine:
        threaded = replace(many, last_layer=replace(many.last_layer, engine=engine)).value_and_grad(point)
    assert threaded[0] == again
    assert torch.equal(threaded[1], other)


def test_codes_without_room_of_their_own_come_near() -> None:
    factor = factor_of(problem(KERNELS[0], 15, own=False))
    V = random(factor.dim, P, seed=8)
    torch.testing.assert_close(factor.solve(factor.codes(V)), V, rtol=1e-5, atol=1e-6)


def test_an_indefinite_decoder_is_infinite_on_the_way_and_refused_at_the_end() -> None:
    whole = problem(KERNELS[0], 15)
    broken = replace(whole, last_layer=replace(whole.last_layer, ridge=-1e3))
    point = random(factor_of(whole).dim, P, seed=5)
    assert broken.value_and_grad(point)[0] == float("inf")
    with pytest.raises(InputError, match="use a larger reg"):
        broken.value(point)


ROBUST = [Huber(0.6), SquaredEpsilonInsensitive(0.5), EpsilonInsensitive(0.4), Power(1.5)]


def objective(decoder: AnchorsLayer, layer: AnchoredDecoder, Z: Tensor, loss: Loss, beside: Tensor) -> float:
    """Of a robust loss at a layer, written out."""
    R, C, b = decoder.residuals(Z, layer), layer.coefficients, layer.linear
    w = torch.full((N,), 1.0 / N, dtype=torch.float64) if decoder.weights is None else decoder.weights
    penalty = decoder.reg * float((C * (layer.gram @ C)).sum()) + decoder.ridge * float((C * C).sum())
    penalty += decoder.slope * float((b[:-1] ** 2).sum())
    return float(w @ loss.value(torch.cat([R, beside.sqrt()[:, None]], 1))) + 0.5 * penalty


@pytest.mark.sample(4)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("loss", ROBUST, ids=repr)
def test_touching_losses_touch_and_their_turns_end_at_the_robust_layer(loss: Loss, weighted: bool) -> None:
    decoder = problem(KERNELS[0], 15, weighted=weighted).last_layer
    Z, beside = random(N, P, seed=5), random(N, seed=9).square() * 0.1
    first = decoder.solve(Z)
    touched = decoder.majorise(loss, Z, first, beside)
    R = touched.residuals(Z, first)
    assert touched.weights is not None
    quadratic = 0.5 * float(touched.weights @ (R * R).sum(1)) + touched.offset
    plain = decoder.weights if decoder.weights is not None else torch.full((N,), 1.0 / N, dtype=torch.float64)
    true = float(plain @ loss.value(torch.cat([decoder.residuals(Z, first), beside.sqrt()[:, None]], 1)))
    assert quadratic == pytest.approx(true, rel=1e-12)
    _, layer = decoder.robust(loss, Z, beside, 400, tol=0.0)
    best = objective(decoder, layer, Z, loss, beside)
    assert layer.value == pytest.approx(best, rel=1e-6 if not isinstance(loss, EpsilonInsensitive) else 2e-2)
    assert best <= objective(decoder, first, Z, loss, beside)
    slack = 1e-9 if not isinstance(loss, EpsilonInsensitive) else 2e-3  # its corner is rounded
    for seed in range(10, 20):
        other = replace(
            layer,
            coefficients=layer.coefficients + 1e-3 * random(*layer.coefficients.shape, seed=seed),
            linear=layer.linear + 1e-3 * random(*layer.linear.shape, seed=seed + 10),
        )
        assert objective(decoder, other, Z, loss, beside) >= best - slack * abs(best)


def test_no_cut_is_the_squared_layer() -> None:
    decoder, Z, none = problem(KERNELS[0], 15).last_layer, random(N, P, seed=5), torch.zeros(N, dtype=torch.float64)
    plain = decoder.solve(Z)
    for loss in (Huber(1e6), SquaredEpsilonInsensitive(0.0)):
        _, layer = decoder.robust(loss, Z, none, 3)
        torch.testing.assert_close(layer.coefficients, plain.coefficients, rtol=1e-9, atol=1e-12)
        assert layer.value == pytest.approx(plain.value, rel=1e-12)


def checked(encoder: Encoder, point: Tensor, kernel: Kernel, *, weighted: bool) -> None:
    """The gradient of a whole problem against differences of its value."""
    whole = Autoencoder(encoder, problem(kernel, 15, weighted=weighted).last_layer)
    step, rest = random(*point.shape, seed=6), []
    value, grad = whole.value_and_grad(point)
    assert value == pytest.approx(whole.value(point), rel=1e-12)
    slope = float((grad * step).sum())
    for h in (2e-4, 1e-4):
        rest.append(abs(whole.value(point + h * step) - value - h * slope))
    assert 3.5 < rest[0] / rest[1] < 4.5


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=["radial", "sum"])
@pytest.mark.parametrize("code_set", [Sphere(), Ball(), Whitened()], ids=repr)
def test_codes_on_a_set_have_the_gradient_and_the_least_price(
    code_set: Sphere | Ball | Whitened, kernel: Kernel, weighted: bool
) -> None:
    factor = factor_of(problem(kernel, 15))
    encoder = ConstrainedCodes(factor, REG_1, SmoothBall() if isinstance(code_set, Ball) else code_set)
    point = random(factor.dim, P, seed=5)
    checked(encoder, point, kernel, weighted=weighted)
    Z, price, _ = encoder.forward(point)
    assert code_set.violation(Z) < 1e-12
    H = torch.cat([factor.linear, factor.features], 1)
    assert factor.spread is not None
    gram = H @ H.mT + torch.diag(factor.spread**2)
    assert price == pytest.approx(0.5 * REG_1 * float((Z * torch.linalg.solve(gram, Z)).sum()), rel=1e-9)
    torch.testing.assert_close(encoder.forward(encoder.resume(Z, []))[0], Z)
    W = encoder.parts(point)[0]
    torch.testing.assert_close(factor.codes(W), Z)
    assert 0.5 * REG_1 * float((W * W).sum()) == pytest.approx(price, rel=1e-9)


@pytest.mark.parametrize("weighted", [True, False])
def test_a_soft_sphere_adds_its_penalty_with_its_gradient(weighted: bool) -> None:
    whole = problem(KERNELS[0], 15, weighted=weighted)
    free, w = whole.encoder, whole.last_layer.weights
    assert isinstance(free, UnconstrainedCodes)
    soft = replace(free, soft=SoftSphere(0.7), weights=w)
    point = random(free.factor.dim, P, seed=5)
    checked(soft, point, KERNELS[0], weighted=weighted)
    squares = (soft.layers(point)[0] ** 2).sum(1)
    w = torch.full((N,), 1.0 / N, dtype=torch.float64) if w is None else w
    penalty = 0.35 * float(w @ (squares - 1.0) ** 2)
    assert soft.forward(point).encoder_penalty - free.forward(point).encoder_penalty == pytest.approx(
        penalty, rel=1e-12
    )


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    ("kernel", "shortcut"),
    [(KERNELS[0], False), (KERNELS[1], False), (KERNELS[0], True)],
    ids=["radial", "sum", "short"],
)
def test_hidden_layers_have_the_gradient(kernel: Kernel, weighted: bool, shortcut: bool) -> None:
    factor = factor_of(problem(kernel, 15, own=False))
    deep = DeepCodes(
        UnconstrainedCodes(factor, 1e-3),
        (kernel, Gaussian(0.3)),
        (3, P, P),
        (1e-2, 1e-2),
        12,
        strip=7,
        shortcut=shortcut,
    )
    W, hidden = random(factor.dim, 3, seed=5), [random(12, P, seed=7), random(12, P, seed=8)]
    point = deep.pack(W, hidden)
    checked(deep, point, kernel, weighted=weighted)
    again, parts = deep.parts(point)
    torch.testing.assert_close(again, W)
    torch.testing.assert_close(parts[1], hidden[1])
    with Threads(2) as engine:
        grad = Autoencoder(replace(deep, engine=engine), problem(kernel, 15).last_layer).value_and_grad(point)[1]
    plain = Autoencoder(replace(deep, strip=64), problem(kernel, 15).last_layer).value_and_grad(point)[1]
    torch.testing.assert_close(grad, plain, rtol=1e-8, atol=1e-12)


def test_a_shortcut_is_the_identity_where_there_are_no_coefficients() -> None:
    first = UnconstrainedCodes(factor_of(problem(KERNELS[0], 15, own=False)), 1e-3)
    W = random(first.factor.dim, 3, seed=5)
    deep = DeepCodes(first, (Gaussian(0.5), Gaussian(0.3)), (3, P, 4), (1e-2, 1e-2), 12, shortcut=True)
    point = deep.pack(W, [torch.zeros(12, p, dtype=torch.float64) for p in (P, 4)])
    one, two, three = deep.layers(point)
    torch.testing.assert_close(two, one[:, :P])
    torch.testing.assert_close(three, torch.nn.functional.pad(two, (0, 2)))
    assert deep.forward(point).encoder_penalty == pytest.approx(first.forward(W).encoder_penalty, rel=1e-12)
    again = deep.start([one, two, three], 1.0)
    torch.testing.assert_close(deep.layers(again), deep.layers(point), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weighted", [True, False])
def test_all_items_as_anchors_with_shortcuts_have_the_gradient(weighted: bool) -> None:
    w = random(N, seed=0).exp()
    w = w / w.sum() if weighted else None
    H, kernels = random(N, M, seed=3), (Gaussian(0.5) + 0.1 * Linear(), KERNELS[0])
    made = (factorize(H @ H.mT), random(N, R, seed=1), kernels, (P, 4), (1e-3, 1e-2, 1e-2), (), w)
    whole = items_autoencoder(*made, semiparametric_decoder, shortcut=True)
    point = whole.encoder.pack(random(M, P, seed=5), [random(N, 4, seed=6)])
    step, (value, grad), rest = random(len(point), seed=8), whole.value_and_grad(point), []
    for h in (2e-4, 1e-4):
        rest.append(abs(whole.value(point + h * step) - value - h * float(grad @ step)))
    assert 3.5 < rest[0] / rest[1] < 4.5


def test_all_rows_as_anchors_of_every_layer_are_the_dense_deep_autoencoder() -> None:
    kernel, hidden = Gaussian(0.5), Gaussian(0.3)
    whole = problem(kernel, N, own=False, ridge=1e-11)
    T = whole.last_layer.target
    whole = replace(whole, last_layer=replace(whole.last_layer, slope=slope_penalty(T, None)))
    factor = factor_of(whole)
    H = torch.cat([factor.linear, factor.features], 1)
    dense = items_autoencoder(
        factorize(H @ H.mT), T, (hidden, kernel), (3, P), (1e-3, 1e-2, 1e-2), rule=semiparametric_decoder
    )
    deep = DeepCodes(UnconstrainedCodes(factor, 1e-3), (hidden,), (3, P), (1e-2,), N)
    W, Phi = random(factor.dim, 3, seed=5), random(N, P, seed=7) * 0.1
    ours = Autoencoder(deep, whole.last_layer).value(deep.pack(W, [Phi]))
    theirs = dense.value(dense.encoder.pack(dense.encoder.factor.solve(factor.codes(W)), [Phi]))
    norm = 0.5e-3 * float((W * W).sum() - dense.encoder.factor.solve(factor.codes(W)).square().sum())
    assert ours - norm == pytest.approx(theirs, rel=1e-6)


def without_linear_parts(*, weighted: bool, strip: int = 64) -> Autoencoder:
    """The decoder of the paper: kernel parts alone."""
    whole = problem(KERNELS[1], 15, weighted=weighted, own=False, strip=strip)
    factor = replace(factor_of(whole), linear=torch.empty(N, 0, dtype=torch.float64))
    return Autoencoder(UnconstrainedCodes(factor, REG_1), replace(whole.last_layer, linear=False))


@pytest.mark.parametrize("weighted", [True, False])
def test_without_linear_parts_it_is_the_penalised_model_written_out(weighted: bool) -> None:
    whole = without_linear_parts(weighted=weighted, strip=7)
    factor, layer = factor_of(whole), whole.last_layer
    V, w = random(M, P, seed=5).requires_grad_(True), layer.weights
    w = torch.full((N,), 1.0 / N, dtype=torch.float64) if w is None else w
    Z = factor.features @ V
    A = Z[:15]
    K, G = (torch.exp(-0.5 * torch.cdist(one, A).square()) + one @ A.mT for one in (Z, A))
    C = torch.linalg.solve(
        K.mT @ (w[:, None] * K) + layer.reg * G + layer.ridge * torch.eye(15), K.mT @ (w[:, None] * layer.target)
    )
    value = 0.5 * w @ (layer.target - K @ C).square().sum(1) + 0.5 * layer.reg * (C * (G @ C)).sum()
    value = value + 0.5 * layer.ridge * (C * C).sum() + 0.5 * REG_1 * (V * V).sum()
    value.backward()
    found, grad = whole.value_and_grad(V.detach())
    assert found == pytest.approx(value.item(), rel=1e-10)
    torch.testing.assert_close(grad, V.grad, rtol=1e-6, atol=1e-9)
    assert layer.solve(Z.detach()).linear is None
