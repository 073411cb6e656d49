"""A fit owns its data: what outlives it shares no memory with what the caller holds, and the caller's data stay."""

from __future__ import annotations

import inspect
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rkhs
from rkhs._core.arrays import to_tensor
from rkhs._core.ownership import private_copy
from rkhs._core.sparse import from_items
from rkhs.evaluation import SmoothClassifier, SmoothRegressor
from rkhs.features import Leaves, Nystroem, RandomFeatures
from rkhs.kernels import (
    FromFunction,
    Gaussian,
    GlobalAlignment,
    Kernel,
    Linear,
    MeanEmbedding,
    Precomputed,
    ProbabilityProduct,
    Separable,
    SparseRows,
    Views,
)
from tests.contracts.containers import LENT, Lent, arrays_in, scramble, shared, state
from tests.contracts.estimator_examples import (
    CHOSEN,
    COSTLY_GRAMS,
    QUICK,
    configurations,
    costly_grams_last,
    for_estimator,
    is_pairwise,
    plain,
)
from tests.contracts.kernel_examples import ALL, items

FEATURES = (Nystroem(8), RandomFeatures(12))
STORAGES: dict[str, tuple[Any, ...]] = {
    "DeepRKM": FEATURES,
    "KernelAutoencoder": FEATURES,
    "KernelContrastive": FEATURES,
    "KernelPCA": ("blocked", *FEATURES),
    "OperatorKernelRegressor": (*FEATURES, Leaves(16, 2)),
    "OperatorKernelRegressorCV": (Leaves(16, 2),),
}
SERIES = [np.random.default_rng(i).standard_normal((4 + i % 3, 2)) for i in range(16)]


def dot(x: Any, y: Any) -> float:
    return float(np.dot(x, y))


def estimators() -> list[BaseEstimator]:
    """All configurations, and each estimator with each storage that it takes."""
    found = configurations()
    for kind in dict.fromkeys(type(e) for e in found):
        if "storage" in kind().get_params():
            found += [kind(storage=storage) for storage in STORAGES[kind.__name__]]
    return [quick(e) for e in found]


def quick(estimator: BaseEstimator) -> BaseEstimator:
    params = estimator.get_params(deep=False)
    few = {"max_iter": 2} if "max_iter" in params else {}
    return estimator.set_params(**few, **({"reg": 1e-2} if params.get("reg", 1.0) is None else {}))


def fit(estimator: BaseEstimator, *data: Any, **more: Any) -> Any:
    with warnings.catch_warnings():
        for kind in (*CHOSEN, UserWarning):
            warnings.simplefilter("ignore", kind)
        return clone(estimator).fit(*data, **more)


def _own_targets(model: Any) -> bool:
    """Whether a model was fitted to rebuild its items."""
    rebuilt = getattr(getattr(model, "model_", None), "rebuilt", None)
    return rebuilt is None or rebuilt.self_targets


def answers(model: Any, new: Any, folder: Path | None = None, **more: Any) -> dict[str, Any]:
    """What the public methods return on new data, and the bytes of the model file."""
    out: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # k(x, x) of new items is unknown for a Gram matrix
        for name in ("transform", "predict", "reconstruction_error"):
            if hasattr(model, name) and not (name == "reconstruction_error" and not _own_targets(model)):
                out[name] = getattr(model, name)(new, **(more if name == "predict" else {}))
        codes = out.get("transform")
        if hasattr(model, "inverse_transform"):
            out["inverse_transform"] = model.inverse_transform(codes)
        if hasattr(model, "decode") and model.kernel_.domain == "gram":
            out["decode"] = model.decode(codes, new)
        elif hasattr(model, "decode") and model.map_.whole and _own_targets(model):
            out["decode"] = model.decode(codes)
    if folder is not None:
        rkhs.save(model, folder / "model.rkhs")
        out["file"] = (folder / "model.rkhs").read_bytes()
    return out


def assert_same(first: Any, second: Any) -> None:
    assert type(first) is type(second)
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for name in first:
            assert_same(first[name], second[name])
    elif isinstance(first, (tuple, list)):
        assert len(first) == len(second)
        for a, b in zip(first, second, strict=True):
            assert_same(a, b)
    else:
        np.testing.assert_array_equal(first, second)


def check(estimator: BaseEstimator, lent: Lent, given: Any, new: Any, folder: Path, **more: Any) -> None:
    """Fit on lent data, take them back, and see that nothing changed."""
    model = fit(estimator, *given, **more)
    lent.check_untouched()
    assert not shared(state(model), lent.buffers)
    saved = None if "FromFunction" in repr(estimator) else folder
    first = answers(model, new, saved)
    lent.overwrite()
    assert_same(first, answers(model, new, saved))


CASES: list[Any] = [
    pytest.param(estimator, "rows in order", marks=pytest.mark.slow)
    if is_pairwise(estimator) and type(estimator).__name__ in COSTLY_GRAMS
    else (estimator, "rows in order")
    for estimator in estimators()
]
CASES += [  # a Gram matrix in another form is read by one class as by all, and so are rows by classes that take long;
    # every class meets two of the other forms, and with -m slow all
    pytest.param(estimator, form, marks=pytest.mark.slow)
    if (is_pairwise(estimator) and not isinstance(estimator, rkhs.KernelPCA))
    or type(estimator).__name__ in COSTLY_GRAMS
    or (i + j) % 3
    else (estimator, form)
    for i, form in enumerate(list(LENT)[1:])
    for j, estimator in enumerate(plain(QUICK))
]


@pytest.mark.sample(12)
@pytest.mark.parametrize(("estimator", "form"), CASES, ids=repr)
def test_models_do_not_see_what_becomes_of_the_data(estimator: BaseEstimator, form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, new = for_estimator(estimator, (rng.standard_normal((16, 4)), rng.standard_normal((5, 4))))
    lent, more = Lent(form, tmp_path), {}
    if "sample_weight" in inspect.signature(estimator.fit).parameters:
        more["sample_weight"] = lent(np.arange(16.0) % 5 + 1.0)
    y = lent(rng.standard_normal((16, 2))) if hasattr(estimator, "predict") else None
    check(estimator, lent, (lent(X), y), new, tmp_path, **more)


GRAM = Gaussian(0.3)(np.random.default_rng(1).standard_normal((16, 3)))
FLOATS = np.random.default_rng(2).standard_normal((16, 3))
PEAKS = [(100.0 + np.arange(3.0 + i % 2), np.arange(3.0 + i % 2) + i + 1.0) for i in range(16)]
RIGHT = np.roll(np.arange(16), 1)
OBJECTS: dict[str, tuple[BaseEstimator, Any, dict[str, Any]]] = {
    "vectors, regulariser chosen": (rkhs.KernelAutoencoder(2, max_iter=4), FLOATS, {}),
    "series": (rkhs.KernelPCA(2, kernel=GlobalAlignment(0.5)), SERIES, {}),
    "sets": (rkhs.KernelPCA(2, kernel=MeanEmbedding()), SERIES, {}),
    "sets, landmarks": (rkhs.KernelPCA(2, kernel=MeanEmbedding(), storage=Nystroem(8)), SERIES, {}),
    "views": (
        rkhs.KernelPCA(2, kernel=Views((Gaussian(), GlobalAlignment(0.5)))),
        list(zip(FLOATS, SERIES, strict=True)),
        {},
    ),
    "spectra": (rkhs.KernelPCA(2, kernel=ProbabilityProduct(1.0)), PEAKS, {}),
    "arrays": (rkhs.KernelAutoencoder(2, kernel=FromFunction(dot), reg=1e-2), list(FLOATS), {}),
    "dicts": (
        rkhs.GramTransformer(FromFunction(lambda a, b: dot(a["x"], b["x"]))),
        [{"x": row} for row in FLOATS],
        {},
    ),
    "Gram matrices": (rkhs.KernelPCA(2, kernel="precomputed"), [GRAM, GRAM**2], {}),
    "targets": (rkhs.KernelAutoencoder(2, reg=1e-2, max_iter=4), FLOATS, {"targets": FLOATS**2}),
    "targets of features": (
        rkhs.KernelAutoencoder(2, reg=1e-2, output_kernel=Gaussian(0.5)),
        FLOATS,
        {"targets": FLOATS**2},
    ),
    "targets that are sets": (
        rkhs.KernelAutoencoder(2, reg=1e-2, output_kernel=MeanEmbedding()),
        FLOATS,
        {"targets": SERIES},
    ),
    "targets that are a Gram matrix": (
        rkhs.KernelAutoencoder(2, reg=1e-2, kernel=Precomputed()),
        GRAM,
        {"targets": GRAM**2},
    ),
    "pairs": (rkhs.KernelContrastive(2), FLOATS, {"positives": FLOATS + 0.1, "negatives": FLOATS[::-1]}),
    "numbers of pairs": (rkhs.KernelContrastive(2), FLOATS, {"positives": RIGHT, "negatives": RIGHT[::-1]}),
    "classes": (rkhs.KernelContrastive(1, pairs="class"), FLOATS, {"y": np.arange(16) % 2}),
    "outputs": (rkhs.InputOutputKernelRegressor(output_kernel=Gaussian(0.5)), FLOATS, {"y": FLOATS**2}),
    "labels": (rkhs.InputOutputKernelRegressor(), FLOATS, {"y": (FLOATS > 0).astype(int)}),
    "outputs that are sets": (rkhs.InputOutputKernelRegressor(output_kernel=MeanEmbedding()), FLOATS, {"y": SERIES}),
    "features": (Nystroem(16), FLOATS, {}),
    "features of sets": (Nystroem(16, kernel=MeanEmbedding()), SERIES, {}),
    "random features": (RandomFeatures(8), FLOATS, {}),
    "regression on codes": (SmoothRegressor(), FLOATS, {"y": FLOATS[:, 0]}),
    "classes on codes": (SmoothClassifier(), FLOATS, {"y": np.arange(16) % 2}),
}


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", OBJECTS)
def test_lists_of_arrays_and_data_beside_the_inputs_are_copied(name: str, tmp_path: Path) -> None:
    estimator, X, more = OBJECTS[name]
    lent = Lent("rows in order", tmp_path)
    new = [K[:4] for K in X] if name == "Gram matrices" else private_copy(X[:4])
    model = fit(estimator, lent(X), **lent(more))
    lent.check_untouched()
    assert not shared(state(model), lent.buffers)
    saved = None if "FromFunction" in repr(estimator) or name.startswith(("reg", "classes on")) else tmp_path
    first = answers(model, new, saved)
    lent.overwrite()
    assert_same(first, answers(model, new, saved))


def test_a_scaler_that_works_in_place_does_not_change_the_model() -> None:
    X, new = FLOATS.copy(), FLOATS[:4] ** 2
    pipe = make_pipeline(StandardScaler(copy=False), rkhs.KernelPCA(2)).fit(X)
    first = pipe.transform(new.copy())
    pipe.transform(X)
    np.testing.assert_array_equal(pipe.transform(new.copy()), first)


VARIANTS = {repr(quick(one)) for one in configurations()[len(plain()) :]}


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    "estimator",
    [
        one if hasattr(one, "marks") or repr(one) not in VARIANTS else pytest.param(one, marks=pytest.mark.slow)
        for one in costly_grams_last(estimators())
    ],
    ids=repr,
)
def test_answers_belong_to_the_caller_and_models_may_be_read_only(
    estimator: BaseEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X, new = for_estimator(estimator, (rng.standard_normal((16, 4)), rng.standard_normal((5, 4))))
    y = rng.standard_normal((16, 2)) if hasattr(estimator, "predict") else None
    model = fit(estimator, X, y)
    before, first = new.copy(), answers(model, new)
    kept = pickle.loads(pickle.dumps(first))
    found = list(arrays_in(first))
    if hasattr(model, "fit_transform"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = clone(estimator)
            found.append(other.fit_transform(X))
            assert not shared(state(other), found)
            tensor = clone(estimator).fit_transform(torch.from_numpy(X))
            assert not shared(tensor, [X])
    assert not shared(state(model), found)
    for array in found:
        array *= 0
    assert_same(answers(model, new), kept)
    np.testing.assert_array_equal(new, before)
    for array in arrays_in(state(model)):
        array.flags.writeable = False
    for name in ("from_numpy", "as_tensor"):  # torch warns of read-only memory once in a process
        monkeypatch.setattr(torch, name, _strict(getattr(torch, name)))
    assert_same(answers(model, new), kept)


def _strict(function: Any) -> Any:
    def checked(array: Any, *args: Any, **options: Any) -> torch.Tensor:
        assert not isinstance(array, np.ndarray) or array.flags.writeable, "torch cannot mark memory as read-only"
        return function(array, *args, **options)

    return checked


# ---------------------------------------------------------------- parameters


@pytest.mark.sample(40)
@pytest.mark.parametrize("kernel", ALL)
def test_a_model_owns_its_kernel(kernel: Kernel) -> None:
    kernel = private_copy(kernel)
    X = items(kernel, 12)
    if isinstance(kernel, SparseRows):
        X = from_items(X, kernel.width)  # estimators read the matrix
    given = X.numpy() if isinstance(X, torch.Tensor) else X
    new = list(given[:3]) if isinstance(given, list) else given[:3]
    twin = private_copy(kernel)
    makers = (rkhs.GramTransformer, lambda kernel: Nystroem(6, kernel=kernel))
    for make in makers[len(repr(kernel)) % 2 :: 2]:  # each of the two for half of the kernels
        estimator = make(kernel)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator.fit(given)
            assert estimator.kernel is kernel
            assert kernel == twin
            assert not [name for name in vars(kernel) if name.startswith("_cache")]
            first = model.transform(new)
            scramble(kernel)
            np.testing.assert_array_equal(model.transform(new), first)
        kernel = private_copy(twin)


OFFSET, TIMES = np.array([0.5, 1.0, 2.0]), np.array([0.0, 0.2, 0.5])
PSD = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.5]])
PARAMETERS: dict[str, Any] = {
    "kernel": lambda p: rkhs.KernelPCA(2, kernel=Linear(1.0, p(OFFSET))),
    "kernel that is a fixed number": lambda p: rkhs.KernelPCA(2, kernel=p(Gaussian(0.3))),
    "decoder_kernel of components": lambda p: rkhs.KernelPCA(2, decoder_kernel=p(Gaussian(0.3))),
    "decoder_kernel": lambda p: rkhs.KernelAutoencoder(2, decoder_kernel=p(Gaussian(0.3)), reg=1e-2),
    "decoder_kernel of a machine": lambda p: rkhs.DeepRKM((2, 1), decoder_kernel=p(Gaussian(0.3))),
    "output_kernel": lambda p: rkhs.KernelAutoencoder(2, output_kernel=p(Gaussian(0.3)), reg=1e-2),
    "operators": lambda p: rkhs.KernelAutoencoder((3, 2), operators=(p(PSD), None, p(PSD)), reg=1e-2),
    "loss": lambda p: rkhs.OperatorKernelRegressor(loss=p(rkhs.losses.Huber(0.5))),
    "operator": lambda p: rkhs.OperatorKernelRegressor(operator=p(PSD)),
    "pairs": lambda p: rkhs.OperatorKernelRegressor([(p(Gaussian(0.3)), p(PSD)), (Linear(1.0, p(OFFSET)), None)]),
    "operator-valued kernel": lambda p: rkhs.OperatorKernelRegressor(p(Separable(Gaussian(0.3), PSD.copy()))),
    "gammas": lambda p: rkhs.OperatorKernelRegressorCV(gammas=p(np.array([0.1, 0.2])), operator=p(PSD)),
    "times": lambda p: rkhs.FunctionalKernelRegressor(input_times=p(TIMES), output_times=p(TIMES), n_basis=2),
    "basis": lambda p: rkhs.FunctionalKernelRegressor(basis=p(Gaussian(3.0)), n_basis=2),
    "output kernel of outputs": lambda p: rkhs.InputOutputKernelRegressor(output_kernel=p(Gaussian(0.3))),
    "kernel of pairs": lambda p: rkhs.KernelContrastive(2, kernel=p(Gaussian(0.3))),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_model_owns_its_parameters(name: str) -> None:
    given: list[Any] = []

    def keep(value: Any) -> Any:
        given.append(private_copy(value))
        return given[-1]

    estimator = PARAMETERS[name](keep)
    before = private_copy(given)
    y = FLOATS**2 if hasattr(estimator, "predict") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = quick(estimator).fit(FLOATS, y)
    assert all(np.all(a == b) for a, b in zip(given, before, strict=True))
    new = FLOATS[:4] + 0.1
    first, kept = answers(model, new), pickle.dumps(state(model))
    scramble(given)
    assert_same(answers(model, new), first)
    assert pickle.dumps(state(model)) == kept


def test_an_augmentation_that_writes_in_place_does_not_change_the_anchors() -> None:
    def careless(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        X += rng.standard_normal(X.shape)
        return X

    def careful(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return X + rng.standard_normal(X.shape)

    models = [
        rkhs.KernelContrastive(2, pairs="augment", augment=f, random_state=0).fit(FLOATS) for f in (careless, careful)
    ]
    np.testing.assert_array_equal(models[0].transform(FLOATS), models[1].transform(FLOATS))


def test_own_copies_arrays_at_any_depth_and_nothing_else() -> None:
    token = object()
    array = np.arange(3.0)
    value = {"a": [array, (array, token)], "b": np.array([array, None], dtype=object)}
    copied = private_copy(value)
    assert not shared(copied, [array])
    assert copied["a"][1][1] is token
    array += 1.0
    np.testing.assert_array_equal(copied["b"][0], [0.0, 1.0, 2.0])


def test_a_memory_map_is_viewed_not_copied_on_the_way_to_torch(tmp_path: Path) -> None:
    array = np.memmap(tmp_path / "rows", np.float64, "w+", shape=(8, 2))
    assert shared(to_tensor(array, torch.float64, torch.device("cpu")), [array])
