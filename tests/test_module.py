"""Fitted models as modules of torch: the same values, and derivatives by the pull-backs of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rkhs
from rkhs import KernelAutoencoder, KernelContrastive, KernelPCA, OperatorKernelRegressor
from rkhs.constraints import SoftSphere
from rkhs.errors import InputError
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import ArcCosine, Gaussian, Laplacian, Linear, Matern, MinMax, Polynomial

RNG = np.random.default_rng(0)
X, NEW, Y = RNG.normal(size=(24, 3)) + 5.0, RNG.normal(size=(3, 3)) + 5.0, RNG.normal(size=(24, 2))
MODELS = [
    KernelAutoencoder(2, refine=False, max_iter=5),
    KernelAutoencoder((3, 2), refine=False, max_iter=5),
    KernelAutoencoder(2, refine=False, columns="scaled", storage=Nystroem(15), max_iter=5),
    KernelAutoencoder(2, kernel="matern", reg=1e-2, refine=False, max_iter=5),
    KernelAutoencoder(2, constraint="sphere", storage=Nystroem(15), reg=1e-2, refine=False, max_iter=5),
    KernelPCA(2, kernel=Gaussian(0.1) * Polynomial(2) + 0.3 * Matern(1.5), columns="scaled"),
    KernelContrastive(2, max_iter=20),
    OperatorKernelRegressor("gaussian", reg=1e-2),
    OperatorKernelRegressor([("gaussian", None), (ArcCosine(), [[2.0, 0.5], [0.5, 1.0]])], columns="scaled", reg=1e-2),
]


def answer(model: Any, rows: Any) -> np.ndarray:
    return np.asarray(model.predict(rows) if hasattr(model, "predict") else model.transform(rows))


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_module_gives_what_the_model_gives_and_its_derivatives(model: Any) -> None:
    model.fit(X, Y)
    module, rows = rkhs.as_module(model), torch.tensor(NEW, requires_grad=True)
    np.testing.assert_allclose(module(rows).detach().numpy(), answer(model, NEW), atol=1e-10)
    assert torch.autograd.gradcheck(module, (rows,), eps=1e-6, atol=1e-6, rtol=1e-4)
    if hasattr(model, "inverse_transform"):
        codes = torch.tensor(answer(model, NEW), requires_grad=True)
        decoder = rkhs.as_module(model, part="decoder")
        np.testing.assert_allclose(
            decoder(codes).detach().numpy(), model.inverse_transform(answer(model, NEW)), atol=1e-10
        )
        assert torch.autograd.gradcheck(decoder, (codes,), eps=1e-6, atol=1e-6, rtol=1e-4)


REFINED = {
    "default": {},
    "deep": {"n_components": (3, 2), "reg": 1e-3},
    "narrow first": {"n_components": (2, 3), "reg": 1e-3},
    "landmarks": {"storage": Nystroem(20), "columns": "scaled"},
    "sphere": {"n_components": 3, "constraint": "sphere", "storage": Nystroem(20), "reg": 1e-3},
    "soft sphere": {"constraint": SoftSphere(0.1), "storage": Nystroem(20), "reg": 1e-3},
    "features": {"output_kernel": "same", "kernel": "laplacian"},
    "no linear part": {"linear_part": "kernel", "kernel": "matern"},
}


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.slow) if one == "narrow first" else one for one in REFINED]
)
def test_refined_codes_have_derivatives(name: str) -> None:
    rng = np.random.default_rng(0)
    places = rng.uniform(-1.0, 1.0, (32, 2))
    rows = np.sin(2.0 * places @ rng.normal(size=(2, 5))) * np.linspace(0.5, 2.0, 5) + 0.1 * rng.normal(size=(32, 5))
    model = KernelAutoencoder(**{"n_components": 2, "max_iter": 30, "random_state": 0, **REFINED[name]}).fit(rows[:27])
    assert model._refinement
    module, new = rkhs.as_module(model), torch.tensor(rows[27:], requires_grad=True)
    codes = module(new)
    plain = model.set_params(refine=False).transform(rows[27:])
    refined = model.set_params(refine=True).transform(rows[27:])
    assert np.median(np.abs(codes.detach().numpy() - refined)) < 0.05 * np.median(np.abs(plain - refined))
    direction, weights = torch.tensor(rng.normal(size=rows[27:].shape)), torch.tensor(rng.normal(size=codes.shape))
    (codes * weights).sum().backward()
    slopes = (new.grad * direction).sum(1)
    left = []  # of a Taylor series of first order: ten times the step, a hundred times the rest
    for step in (1e-2, 1e-3):
        moved = ((module(new.detach() + step * direction) - codes) * weights).sum(1)
        left.append(float((moved - step * slopes).abs().median()))
    assert left[1] < 0.03 * left[0]
    known = module(torch.tensor(rows[:3])).detach().numpy()
    if not model.map_.whole:
        return
    np.testing.assert_allclose(known, model.transform(rows[:3]), atol=1e-6)  # codes of training rows stay


def test_a_module_is_a_layer_whose_coefficients_are_frozen_or_free() -> None:
    model = OperatorKernelRegressor("gaussian", reg=1e-2).fit(X, Y)
    assert not list(rkhs.as_module(model).parameters())
    free = rkhs.as_module(model, trainable=True)
    (coefficients,) = free.parameters()
    assert coefficients.shape == (24, 2)
    goal = torch.tensor(Y[:3])
    losses = []
    for _ in range(60):
        loss = ((free(torch.tensor(NEW)) - goal) ** 2).mean()
        (slope,) = torch.autograd.grad(loss, coefficients)
        coefficients.data -= 0.05 * slope
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.2 * losses[0]
    np.testing.assert_array_equal(answer(model, NEW), rkhs.as_module(model)(torch.tensor(NEW)).numpy())  # not touched
    single = rkhs.as_module(model).float()(torch.tensor(NEW, dtype=torch.float32))
    assert single.dtype == torch.float32
    np.testing.assert_allclose(single.numpy(), answer(model, NEW), atol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_module_of_refined_codes_keeps_them_and_takes_any_number_of_rows() -> None:
    model = KernelAutoencoder(2, max_iter=20).fit(X)
    module = rkhs.as_module(model)
    codes = module(torch.tensor(NEW))
    model.set_params(refine=False).fit(X + RNG.normal(size=X.shape))
    np.testing.assert_array_equal(module(torch.tensor(NEW)).numpy(), codes.numpy())  # of the model as it was
    assert module(torch.zeros(0, 3, dtype=torch.float64)).shape == (0, 2)


def test_a_state_is_stored_and_read_back() -> None:
    model = KernelPCA(2).fit(X)
    state = rkhs.as_module(model, trainable=True).state_dict()
    other = rkhs.as_module(KernelPCA(2, kernel="matern").fit(X + 1.0), trainable=True)
    before = other(torch.tensor(NEW)).detach().clone()
    other.load_state_dict(state)
    assert not torch.allclose(other(torch.tensor(NEW)), before)


def test_a_kernel_without_a_gradient_gives_values_and_refuses_the_way_back() -> None:
    bits = (RNG.random((30, 12)) < 0.4).astype(float)
    model = KernelPCA(2, kernel=MinMax()).fit(bits)
    module, rows = rkhs.as_module(model), torch.tensor(bits[:3], requires_grad=True)
    np.testing.assert_allclose(module(rows).detach().numpy(), model.transform(bits[:3]))
    with pytest.raises(InputError, match="MinMax has no gradient"):
        module(rows).sum().backward()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (KernelAutoencoder(2, max_iter=5), {"trainable": True}, "set_params\\(refine=False\\)"),
        (KernelAutoencoder(2, output_kernel="laplacian", max_iter=5), {}, "features of the same kernel"),
        (KernelPCA(2, storage=RandomFeatures(10)), {}, "Use 'dense' or Nystroem"),
        (KernelPCA(2), {"part": "predictor"}, "part must be one of 'encoder', 'decoder'"),
        (OperatorKernelRegressor(), {"part": "encoder"}, "part must be one of 'predictor'"),
        (KernelPCA(2, columns="filled"), {}, "columns='filled'"),
        (rkhs.DeepRKM((2, 1), max_iter=3), {}, "got a DeepRKM"),
        (KernelPCA(2), {"trainable": "yes"}, "trainable must be"),
    ],
)
def test_what_has_no_formula_is_refused(model: Any, options: dict[str, Any], message: str) -> None:
    model.fit(X, Y)
    with pytest.raises(InputError, match=message):
        rkhs.as_module(model, **options)


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian("l2"), Matern(2.5), Linear(), Polynomial(3)], ids=repr)
def test_predictors_of_regressors_are_onnx_files_too(kernel: Any, tmp_path: Any) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    model = OperatorKernelRegressor(kernel, reg=1e-2, columns="scaled").fit(X, Y)
    assert rkhs.to_onnx(model, tmp_path / "model.onnx") == {"X": (3,), "y": (2,)}
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": NEW})[0], model.predict(NEW), atol=1e-9)


SHAPED = [
    (KernelAutoencoder(2, max_iter=5), "encoder", 3),
    (KernelAutoencoder((3, 2), reg=1e-2, max_iter=5), "decoder", 2),
    (KernelAutoencoder(2, columns="scaled", storage=Nystroem(15), max_iter=5), "encoder", 3),
    (KernelPCA(2, kernel="linear"), "encoder", 3),
    (KernelPCA(2, kernel=Gaussian(0.1) * Polynomial(2) + 0.3 * Matern(1.5)), "encoder", 3),
    (KernelContrastive(2, max_iter=5), "encoder", 3),
    (OperatorKernelRegressor("laplacian", reg=1e-2), "predictor", 3),
]


@pytest.mark.sample(4)
@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize(("model", "part", "d"), SHAPED, ids=repr)
def test_a_module_takes_rows_of_its_columns_and_dtype_alone(model: Any, part: str, d: int) -> None:
    module = rkhs.as_module(model.fit(X, Y), part=part)
    for shape in [(4, 1), (4, d + 1), (d,), (2, 4, d), ()]:
        with pytest.raises(InputError, match=rf"must be a tensor of shape \(m, {d}\); got shape"):
            module(torch.zeros(shape, dtype=torch.float64))
    with pytest.raises(InputError, match="got a ndarray"):
        module(np.zeros((4, d)))
    for dtype in (torch.float32, torch.float16, torch.int64, torch.complex128):
        with pytest.raises(InputError, match=r"must be torch.float64 .* module.to\(rows\)"):
            module(torch.zeros((4, d), dtype=dtype))
    assert module(torch.zeros((4, d), dtype=torch.float64)).dtype == torch.float64
    single = module.float()
    assert single(torch.zeros((4, d))).dtype == torch.float32
    with pytest.raises(InputError, match="must be torch.float32"):
        single(torch.zeros((4, d), dtype=torch.float64))
