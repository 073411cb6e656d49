"""What every public estimator guarantees beyond the checks of scikit-learn (``test_scikit_learn_checks.py``).

The estimators are those of ``estimator_examples.py``.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import rkhs
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning
from tests.contracts.estimator_examples import (
    CHOSEN,
    QUICK,
    SHRUNK,
    configurations,
    costly_grams_last,
    fitted,
    for_estimator,
    is_pairwise,
    plain,
    transformers,
)


def quick_first(make: Callable[..., list[BaseEstimator]]) -> list[Any]:
    """Short fits, and with -m slow the defaults."""
    quick = make(QUICK)
    known = {repr(one) for one in quick}
    return [
        *costly_grams_last(quick),
        *(pytest.param(one, marks=pytest.mark.slow) for one in make() if repr(one) not in known),
    ]


def classes_first(make: Callable[..., list[BaseEstimator]]) -> list[Any]:
    """Every class, and with -m slow its other configurations, whose data go in and out by the same code."""
    known = {repr(one) for one in plain(QUICK)}
    return [
        one if hasattr(one, "marks") or repr(one) in known else pytest.param(one, marks=pytest.mark.slow)
        for one in quick_first(make)
    ]


each = pytest.mark.parametrize("estimator", quick_first(configurations), ids=repr)
each_class = pytest.mark.parametrize("estimator", classes_first(configurations), ids=repr)
each_transformer = pytest.mark.parametrize("estimator", quick_first(transformers), ids=repr)
each_class_of_transformers = pytest.mark.parametrize("estimator", classes_first(transformers), ids=repr)


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    return rng.standard_normal((18, 4)), rng.standard_normal((3, 4))


MODELS: dict[str, Any] = {}


def model_of(estimator: BaseEstimator, X: np.ndarray) -> Any:
    """The estimator fitted to ``data``, once for all tests, which look at it and leave it as it is."""
    name = repr(estimator)
    if name not in MODELS:
        MODELS[name] = fitted(estimator, X)
    return MODELS[name]


def results(model: Any, new: np.ndarray) -> dict[str, np.ndarray]:
    """What the public methods of a fitted model return on new data."""
    out = {}
    for name in ("transform", "predict", "reconstruction_error"):
        if hasattr(model, name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # k(x, x) of new items is unknown for a Gram matrix
                out[name] = np.asarray(getattr(model, name)(new))
    if hasattr(model, "inverse_transform"):
        out["inverse_transform"] = np.asarray(model.inverse_transform(out["transform"]))
    return out


def assert_same_bits(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    assert first.keys() == second.keys()
    for name in first:
        assert first[name].dtype == second[name].dtype
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@pytest.mark.sample(10)
@each
def test_fits_give_the_same_bits_and_leave_global_generators_alone(estimator: BaseEstimator, data: Any) -> None:
    X, new = for_estimator(estimator, data)
    first = results(model_of(estimator, X), new)
    before, ours = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    required = estimator.__sklearn_tags__().target_tags.required
    model = fitted(estimator, X) if required else copy.copy(model_of(estimator, X))
    with warnings.catch_warnings():
        for kind in CHOSEN:
            warnings.simplefilter("ignore", kind)
        if not required:  # of others, labels of a pipeline ask for the same bits from a fit of a new estimator
            model.fit(X)
    assert_same_bits(first, results(model, new))
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), ours)


@pytest.mark.sample(9)
@each_class
def test_pickle_joblib_and_clone(estimator: BaseEstimator, data: Any, tmp_path: Path) -> None:
    X, new = for_estimator(estimator, data)
    model = model_of(estimator, X)
    first = results(model, new)
    assert_same_bits(first, results(pickle.loads(pickle.dumps(model)), new))
    joblib.dump(model, tmp_path / "model")
    assert_same_bits(first, results(joblib.load(tmp_path / "model"), new))
    twin = clone(model)
    assert not [name for name in vars(twin) if name.endswith("_") and not name.startswith("__")]
    assert repr(twin) == repr(estimator)


@each
def test_fitted_attributes_hold_no_tensor(estimator: BaseEstimator, data: Any) -> None:
    def tensors(value: Any) -> bool:
        parts = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else ()
        return isinstance(value, torch.Tensor) or any(tensors(part) for part in parts)

    model = model_of(estimator, for_estimator(estimator, data)[0])
    assert not [name for name, value in vars(model).items() if tensors(value)]


@pytest.mark.sample(4)
@each_class
@pytest.mark.parametrize("calls", [8, pytest.param(1000, marks=pytest.mark.slow)])
def test_eight_threads_agree(estimator: BaseEstimator, calls: int, data: Any, tmp_path: Path) -> None:
    X, new = for_estimator(estimator, data)
    model = model_of(estimator, X)
    name = "transform" if hasattr(model, "transform") else "predict"

    def answer(i: int) -> Any:
        if i % 4:
            return getattr(model, name)(new)
        rkhs.save(model, tmp_path / str(i))
        return np.frombuffer((tmp_path / str(i)).read_bytes(), dtype=np.uint8)

    expected = [answer(0), answer(1)]
    with ThreadPoolExecutor(8) as pool:
        for i, result in enumerate(pool.map(answer, range(calls))):
            np.testing.assert_array_equal(result, expected[i % 4 > 0])


@pytest.mark.sample(10)
@each
def test_a_row_does_not_depend_on_the_others(estimator: BaseEstimator, data: Any) -> None:
    X, new = for_estimator(estimator, data)
    model = model_of(estimator, X)
    whole, back = results(model, new), results(model, new[::-1])
    alone = [results(model, new[i : i + 1]) for i in range(len(new))]
    for name in ("transform", "predict", "reconstruction_error"):
        if name in whole:
            rows = np.concatenate([one[name] for one in alone])
            np.testing.assert_allclose(rows, whole[name], rtol=1e-7, atol=1e-9, err_msg=name)
            np.testing.assert_allclose(back[name], whole[name][::-1], rtol=1e-7, atol=1e-9)


@pytest.mark.sample(5)
@each_class_of_transformers
def test_fit_transform_is_fit_then_transform(estimator: BaseEstimator, data: Any) -> None:
    X, _ = for_estimator(estimator, data)
    model = model_of(estimator, X)
    with warnings.catch_warnings():
        for kind in CHOSEN:
            warnings.simplefilter("ignore", kind)
        np.testing.assert_allclose(clone(estimator).fit_transform(X), model.transform(X), rtol=1e-6, atol=1e-8)
    if hasattr(model, "codes_") and type(model).__name__ not in SHRUNK:
        np.testing.assert_allclose(model.codes_, model.transform(X), rtol=1e-6, atol=1e-6)


@pytest.mark.sample(5)
@each_class_of_transformers
def test_a_pipeline_may_hand_over_labels(estimator: BaseEstimator, data: Any) -> None:
    X, _ = for_estimator(estimator, data)
    y = np.arange(len(X)) % 2
    with warnings.catch_warnings():
        for kind in CHOSEN:
            warnings.simplefilter("ignore", kind)
        pipe = Pipeline([("codes", clone(estimator)), ("model", LogisticRegression())]).fit(X, y)
    np.testing.assert_array_equal(pipe[0].transform(X), model_of(estimator, X).transform(X))
    assert pipe.predict(X).shape == y.shape


@each_class_of_transformers
def test_tensor_in_tensor_out(estimator: BaseEstimator, data: Any) -> None:
    X, new = for_estimator(estimator, data)
    model = model_of(estimator, X)
    twin = fitted(estimator, torch.from_numpy(X))
    codes = twin.transform(torch.from_numpy(new))
    assert isinstance(codes, torch.Tensor)
    np.testing.assert_array_equal(codes.numpy(), model.transform(new))
    assert isinstance(twin.transform(new), np.ndarray)
    if hasattr(model, "inverse_transform"):
        back = twin.inverse_transform(codes)
        assert isinstance(back, torch.Tensor)
        np.testing.assert_array_equal(back.numpy(), model.inverse_transform(model.transform(new)))
    with pytest.raises(InputError, match=r"without gradients.*as_module"):
        twin.transform(torch.tensor(new, requires_grad=True))
    with torch.no_grad():
        twin.transform(torch.tensor(new, requires_grad=True))


@each_class_of_transformers
@pytest.mark.parametrize("library", ["pandas", pytest.param("polars", marks=pytest.mark.slow)])
def test_frames_in_and_out(estimator: BaseEstimator, data: Any, library: str) -> None:
    frames = pytest.importorskip(library)
    X, new = for_estimator(estimator, data)
    names = [f"column {j}" for j in range(X.shape[1])]
    frame, later = (
        frames.DataFrame(dict(zip(names, X.T, strict=True))),
        frames.DataFrame(dict(zip(names, new.T, strict=True))),
    )
    model = fitted(estimator, frame)
    assert list(model.feature_names_in_) == names
    codes = model.set_output(transform=library).transform(later)
    assert isinstance(codes, frames.DataFrame)
    assert list(codes.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(codes.to_numpy(), model_of(estimator, X).transform(new))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(later[names[::-1]])


@pytest.mark.sample(5)
@each_class_of_transformers
def test_float32_in_float32_out_computed_in_float64(estimator: BaseEstimator, data: Any) -> None:
    X, new = (part.astype(np.float32) for part in for_estimator(estimator, data))
    wide = fitted(estimator, X.astype(np.float64))
    model = fitted(estimator, X)
    out = results(model, new)
    assert out["transform"].dtype == np.float32
    np.testing.assert_array_equal(out["transform"], wide.transform(new.astype(np.float64)).astype(np.float32))


@pytest.mark.sample(6)
@each_transformer
def test_integer_weights_are_repeated_rows(estimator: BaseEstimator, data: Any) -> None:
    params = estimator.get_params()
    if "sample_weight" not in inspect.signature(estimator.fit).parameters:
        return
    if params.get("n_init", 1) > 1 or isinstance(params.get("cv"), int):
        return  # random starts are drawn per coordinate of the factor, and folds per row: repeated rows permute both
    X, new = for_estimator(estimator, data)
    w = np.arange(len(X)) % 3
    rows = np.repeat(np.arange(len(X)), w)
    weighted = fitted(estimator, X, sample_weight=w)
    square = is_pairwise(estimator)
    repeated = fitted(estimator, X[np.ix_(rows, rows)] if square else X[rows])
    a, b = weighted.transform(new), repeated.transform(new[:, rows] if square else new)
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    if hasattr(weighted, "objective_"):
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)


# ---------------------------------------------------------------- Gram matrices

pairwise = pytest.mark.parametrize("estimator", [e for e in configurations(QUICK) if is_pairwise(e)], ids=repr)


@pairwise
def test_asymmetric_gram_matrix_is_refused(estimator: BaseEstimator, data: Any) -> None:
    K = for_estimator(estimator, data)[0].copy()
    K[0, 1] += 0.1
    with pytest.raises(InputError, match="must be symmetric; got entries that differ by 0.1"):
        clone(estimator).fit(K, np.arange(len(K)))


@pairwise
def test_indefinite_gram_matrix_is_clipped_with_a_warning_or_refused(estimator: BaseEstimator, data: Any) -> None:
    K, new = for_estimator(estimator, data)
    bad = K - 0.3 * np.eye(len(K))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = clone(estimator).fit(bad, np.arange(len(K)))
    said = [w for w in caught if issubclass(w.category, NotPositiveSemidefiniteWarning)]
    assert len(said) == 1
    assert "negative eigenvalues were set to zero" in str(said[0].message)
    values, vectors = np.linalg.eigh(bad)
    clipped = (vectors * values.clip(0)) @ vectors.T
    twin = fitted(estimator, (clipped + clipped.T) / 2, y=np.arange(len(K)))
    answer = "transform" if hasattr(model, "transform") else "predict"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"k\(x, x\) of the new items is unknown")
        np.testing.assert_allclose(getattr(model, answer)(new), getattr(twin, answer)(new), atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotPositiveSemidefiniteWarning)  # how a user refuses such matrices
        with pytest.raises(NotPositiveSemidefiniteWarning):
            clone(estimator).fit(bad, np.arange(len(K)))
