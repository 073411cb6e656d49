"""Modules of fitted models under what torch does with functions: higher derivatives, torch.func, export, compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import rkhs
from rkhs import KernelAutoencoder, KernelPCA, OperatorKernelRegressor
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Kernel, Matern, MinMax, Normalized, OnColumns, Polynomial, ScaledInputs
from rkhs.torch_module import _values
from tests.contracts.kernel_examples import SMOOTH, items
from tests.test_module import MODELS, NEW, X, Y

SMOOTH_VECTORS = [one for one in SMOOTH if one.values[0].domain == "vectors"]
ROUGH = ("Laplacian", "Matern0", "NTK", "FunctionalLaplacian", "OnColumns1")  # no second derivative at equal rows
ROWS = torch.tensor(NEW)
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's own, of its jvp


def formula(kernel: Kernel) -> tuple[Callable[[Tensor], Tensor], Kernel, Tensor, Tensor, Tensor]:
    """``rows -> sum(weights * k(rows, supports))`` as a module computes it, with its parts; one row is a support."""
    supports, rows = items(kernel, 5, 4), items(kernel, 4, 3).clone()
    rows[1] = supports[2]
    resolved = kernel.resolve(supports)
    weights = torch.from_numpy(np.random.default_rng(1).normal(size=(4, 5)))
    return lambda x: (_values(resolved, x, supports) * weights).sum(), resolved, supports, rows, weights


def second(value: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """The matrix of second derivatives, by autograd twice."""
    leaf = rows.clone().requires_grad_()
    (slope,) = torch.autograd.grad(value(leaf) + 0.0 * (leaf**2).sum(), leaf, create_graph=True)
    return torch.stack([torch.autograd.grad(one, leaf, retain_graph=True)[0].flatten() for one in slope.flatten()])


def by_differences(slope: Callable[[Tensor], Tensor], rows: Tensor, step: float = 1e-5) -> Tensor:
    """Derivatives of a gradient by central differences."""
    columns = []
    for direction in step * torch.eye(rows.numel(), dtype=rows.dtype):
        move = direction.view_as(rows)
        columns.append((slope(rows + move) - slope(rows - move)).flatten() / (2.0 * step))
    return torch.stack(columns, 1)


@pytest.mark.sample(12)
@pytest.mark.parametrize("kernel", SMOOTH_VECTORS)
def test_second_derivatives_are_those_of_the_pull_back(kernel: Kernel, request: pytest.FixtureRequest) -> None:
    value, resolved, supports, rows, weights = formula(kernel)
    found = second(value, rows)
    expected = by_differences(lambda x: resolved.cross_pullback(x, supports, weights), rows)
    size = float(expected[:3].abs().max()) + 1.0
    apart = [row for row in range(4) if row != 1]
    shape = (4, rows.shape[1], 4, rows.shape[1])
    error = (found - expected).view(shape).abs()
    assert float(error[apart].max()) < 1e-6 * size
    assert bool(torch.isfinite(found).all())
    if not any(f"[{name}" in request.node.name for name in ROUGH):
        assert float(error[1].max()) < 1e-4 * size  # at a support


@pytest.mark.sample(12)
@pytest.mark.parametrize("kernel", SMOOTH_VECTORS)
def test_every_way_to_differentiate_gives_the_same(kernel: Kernel) -> None:
    value, resolved, supports, rows, weights = formula(kernel)

    def values(x: Tensor) -> Tensor:
        return _values(resolved, x, supports)

    slope, curvature = resolved.cross_pullback(rows, supports, weights), second(value, rows)
    func, close = torch.func, {"rtol": 1e-7, "atol": 1e-9}
    for outer in (func.jacrev, func.jacfwd):
        torch.testing.assert_close(outer(value)(rows), slope, **close)
        for inner in (func.jacrev, func.jacfwd):
            torch.testing.assert_close(outer(inner(value))(rows).reshape(curvature.shape), curvature, **close)
    direction = torch.from_numpy(np.random.default_rng(2).normal(size=tuple(rows.shape)))
    torch.testing.assert_close(func.jvp(value, (rows,), (direction,))[1], (slope * direction).sum(), **close)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(rows, direction)
        moved = torch.autograd.forward_ad.unpack_dual(value(dual)).tangent
    torch.testing.assert_close(moved, (slope * direction).sum(), **close)
    torch.testing.assert_close(torch.vmap(lambda x: values(x[None])[0])(rows), values(rows), **close)
    for vectorize in (True, False):
        full = torch.autograd.functional.jacobian(values, rows, vectorize=vectorize)
        torch.testing.assert_close((full * weights[:, :, None, None]).sum((0, 1)), slope, **close)
    batch = torch.vmap(lambda Z: _values(resolved, rows, Z))(torch.stack([supports, supports.flip(0)]))
    torch.testing.assert_close(batch, torch.stack([values(rows), values(rows).flip(1)]), **close)


def test_a_sum_of_a_formula_and_another_has_the_second_derivatives_of_both() -> None:
    module = rkhs.as_module(KernelPCA(2, kernel=Gaussian(0.2)).fit(X))
    alone = second(lambda x: module(x)[:, 0].sum(), ROWS)
    both = torch.autograd.functional.hessian(lambda x: module(x)[:, 0].sum() + (x**3).sum(), ROWS)
    torch.testing.assert_close(both.view(alone.shape), alone + torch.diag(6.0 * ROWS.flatten()))
    assert float(alone.abs().max()) > 1e-3  # it was zero


PARTS = [(model, part) for model in MODELS for part in ("forth", "back") if part == "forth" or hasattr(model, "decode")]


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize(("model", "part"), PARTS, ids=repr)
def test_modules_are_differentiated_twice_mapped_exported_and_compiled(model: Any, part: str) -> None:
    model.fit(X, Y)
    rows = ROWS if part == "forth" else torch.tensor(model.transform(NEW))
    module = rkhs.as_module(model, part=None if part == "forth" else "decoder")
    expected = module(rows)
    with torch.random.fork_rng():  # it draws directions
        assert torch.autograd.gradgradcheck(module, (rows.clone().requires_grad_(),), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(torch.vmap(lambda row: module(row[None])[0])(rows), expected)
    program = torch.export.export(
        module, (rows,), dynamic_shapes=({0: torch.export.Dim("rows")},), strict=False
    ).module()
    torch.testing.assert_close(program(rows.repeat(2, 1)), expected.repeat(2, 1))
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    leaf, other = rows.clone().requires_grad_(), rows.clone().requires_grad_()
    torch.testing.assert_close(compiled(leaf), expected)
    compiled(leaf).pow(2).sum().backward()
    module(other).pow(2).sum().backward()
    torch.testing.assert_close(leaf.grad, other.grad)
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize(
    "kernel", [ScaledInputs(Gaussian(0.1), (1.0, 0.5, 2.0)), OnColumns(Matern(), [0, 2])], ids=repr
)
def test_kernels_with_arrays_are_exported_and_compiled_in_two_graphs(kernel: Kernel) -> None:
    module = rkhs.as_module(KernelPCA(2, kernel=kernel).fit(X))
    torch.testing.assert_close(torch.export.export(module, (ROWS,), strict=False).module()(ROWS), module(ROWS))
    torch.testing.assert_close(torch.compile(module, backend="eager")(ROWS), module(ROWS))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="this kernel is computed outside the graph"):
        torch.compile(module, backend="eager", fullgraph=True)(ROWS)
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore::Warning")
def test_refined_codes_refuse_what_an_iteration_does_not_have() -> None:
    model = KernelAutoencoder(2, max_iter=20).fit(X)
    module, message = rkhs.as_module(model), "refined codes have values and first derivatives alone"
    leaf = ROWS.clone().requires_grad_()
    (slope,) = torch.autograd.grad(module(leaf).sum(), leaf, create_graph=True)
    assert bool(torch.isfinite(slope).all())
    with pytest.raises(InputError, match=message):
        torch.autograd.grad(slope.sum(), leaf)
    with pytest.raises(InputError, match=message):
        torch.autograd.functional.hessian(lambda x: module(x).sum(), ROWS)
    for transformed in (torch.func.jacrev(module), torch.func.jacfwd(module), torch.func.hessian(module)):
        with pytest.raises(InputError, match=message):
            transformed(ROWS)
    with pytest.raises(InputError, match=message):
        torch.vmap(lambda row: module(row[None])[0])(ROWS)
    with pytest.raises(InputError, match=message):
        torch.autograd.functional.jacobian(module, ROWS, vectorize=True)
    with pytest.raises(InputError, match=message), torch.autograd.forward_ad.dual_level():
        module(torch.autograd.forward_ad.make_dual(ROWS, torch.ones_like(ROWS)))
    with pytest.raises(InputError, match=message):
        torch.export.export(module, (ROWS,), strict=False)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=message):
        torch.compile(module, backend="eager", fullgraph=True)(ROWS)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(module, backend="eager")(ROWS), module(ROWS))
    torch._dynamo.reset()
    for kind in (torch.float16, torch.bfloat16):
        with pytest.raises(InputError, match="refined codes are computed in float64 or float32"):
            rkhs.as_module(model).to(kind)(ROWS.to(kind))


def test_a_kernel_without_a_formula_refuses_higher_derivatives_by_name() -> None:
    class Mine(Polynomial):
        def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
            return Kernel._plain(self, X, Y)

    for kernel in (MinMax(), Normalized(Mine(2, 1.0))):
        module, name = rkhs.as_module(KernelPCA(2, kernel=kernel).fit(np.abs(X))), type(kernel).__name__
        with pytest.raises(
            InputError, match=f"{'Mine' if name == 'Normalized' else name} has no formula that torch transforms"
        ):
            torch.func.jacrev(module)(ROWS)
    leaf = ROWS.clone().requires_grad_()
    (slope,) = torch.autograd.grad(module(leaf).sum(), leaf, create_graph=True)
    with pytest.raises(InputError, match="second derivatives"):
        torch.autograd.grad(slope.sum(), leaf)


def test_trained_coefficients_have_mixed_derivatives() -> None:
    model = OperatorKernelRegressor("gaussian", reg=1e-2).fit(X, Y)
    module, leaf = rkhs.as_module(model, trainable=True), ROWS.clone().requires_grad_()
    (coefficients,) = module.parameters()
    (slope,) = torch.autograd.grad(module(leaf)[:, 0].sum(), leaf, create_graph=True)
    (mixed,) = torch.autograd.grad(slope[1, 2], coefficients)
    step = torch.zeros_like(coefficients)
    step[3, 0] = 1e-3
    coefficients.data += step
    (moved,) = torch.autograd.grad(module(leaf)[:, 0].sum(), leaf)
    assert float((moved - slope)[1, 2].detach()) / 1e-3 == pytest.approx(float(mixed[3, 0]), rel=1e-6)
