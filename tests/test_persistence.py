"""Model files: everything comes back to the last bit, every change is noticed, nothing in a file runs."""

from __future__ import annotations

import pickle
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import rkhs
from rkhs import estimators, kernels
from rkhs._core.config import Configurable, is_concrete
from rkhs._core.errors import InputError, ModelFileError
from rkhs._core.model_container import pack, read_container, write_container
from rkhs.augment import GaussianNoise
from rkhs.engines import Threads
from rkhs.features import WholeMap
from rkhs.persistence import FORMAT, read_model, registry

X = np.random.default_rng(3).normal(size=(24, 3))


def public_estimators() -> list[type]:
    found = [getattr(estimators, name) for name in estimators.__all__]
    return [cls for cls in found if isinstance(cls, type) and issubclass(cls, BaseEstimator) and hasattr(cls, "fit")]


def fitted(cls: type, data: Any = X, **params: Any) -> Any:
    """An estimator fitted to something that it can read: predictors get targets, transformers nothing."""
    model = cls(**params)
    if hasattr(cls, "predict"):
        return model.fit(data, np.column_stack([X[:, 0] ** 2, X[:, 1]]))
    return model.fit(data)


def outputs(model: Any, data: Any) -> Iterator[np.ndarray]:
    """Everything that a model says of data."""
    for name in ("transform", "predict", "reconstruction_error"):
        if hasattr(model, name):
            yield np.asarray(getattr(model, name)(data))
    if hasattr(model, "transform") and hasattr(model, "inverse_transform"):
        yield np.asarray(model.inverse_transform(model.transform(data)))


def assert_same(model: Any, again: Any, data: Any) -> None:
    assert type(again) is type(model)
    for ours, theirs in zip(outputs(model, data), outputs(again, data), strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()
    kept = {name for name in vars(model) if not name.startswith("_cache")}  # what can be computed again stays behind
    assert vars(again).keys() == kept


@pytest.mark.filterwarnings("ignore::rkhs.errors.OutlierWarning")  # one target is far out
@pytest.mark.parametrize("cls", public_estimators(), ids=lambda cls: cls.__name__)
def test_every_estimator_comes_back_to_the_last_bit(cls: type, tmp_path: Path) -> None:
    model = fitted(cls)
    rkhs.save(model, tmp_path / "m.rkhs")
    assert_same(model, rkhs.load(tmp_path / "m.rkhs"), X[:7] + 0.1)


def test_every_concrete_kernel_of_the_library_can_be_named() -> None:
    names = {cls.__name__ for cls in registry().values()}
    wanted = {
        name
        for name in kernels.__all__
        if isinstance(getattr(kernels, name), type)
        and issubclass(getattr(kernels, name), Configurable)
        and is_concrete(getattr(kernels, name))
    }
    assert wanted <= names
    assert "Kernel" not in names


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("params", "data"),
    [
        ({"n_components": (4, 2, 4), "reg": 1e-2, "random_state": np.random.RandomState(4), "init": "random"}, X),
        ({"kernel": kernels.Tanimoto(), "output_kernel": "same"}, (X > 0).astype(float)),
        ({"kernel": "precomputed"}, kernels.Gaussian(0.2)(X)),
        (
            {
                "kernel": kernels.Gaussian("scale") + 0.5 * kernels.Matern(2.5, 0.3),
                "operators": (np.diag([1.0, 2.0]), None),
            },
            X,
        ),
        ({"dtype": "float32"}, X.astype(np.float32)),
        ({"n_components": 1, "reg": "auto"}, np.random.default_rng(0).normal(size=(12, 40))),
        ({"noise": GaussianNoise(0.1, copies=2), "random_state": 0, "reg": 1e-2}, X),
    ],
    ids=["deep", "features", "gram", "sum and operators", "float32", "more columns than rows", "noisy copies"],
)
def test_autoencoders_of_all_kinds_come_back(params: dict[str, Any], data: Any, tmp_path: Path) -> None:
    model = rkhs.KernelAutoencoder(**{"max_iter": 10, "reg": 1e-2, **params}).fit(data)
    rkhs.save(model, tmp_path / "m.rkhs")
    again = rkhs.load(tmp_path / "m.rkhs")
    assert_same(model, again, data)
    assert again.history_ == model.history_
    assert again.kernel_ == model.kernel_
    assert [repr(v) for v in again.get_params(deep=False).values() if not isinstance(v, np.random.RandomState)] == [
        repr(v) for v in model.get_params(deep=False).values() if not isinstance(v, np.random.RandomState)
    ]


def test_weights_dropped_rows_and_feature_names_come_back(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = rkhs.KernelPCA(2).fit(frame, sample_weight=np.arange(24.0))
    rkhs.save(model, tmp_path / "m.rkhs")
    again = rkhs.load(tmp_path / "m.rkhs")
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert again.feature_names_in_.dtype == object
    assert again.reader_.kept.tolist() == list(range(1, 24))
    assert_same(model, again, frame)


class Letters(kernels.Kernel):
    """Counts of shared letters."""

    def _gram(self, X: Any, Y: Any = None) -> Any:
        raise AssertionError

    def _diag(self, X: Any) -> Any:
        raise AssertionError


def with_parts(items: Any = None, kernel: Any = None, **params: Any) -> rkhs.KernelPCA:
    """A fitted model that keeps other items, or has another kernel."""
    model = rkhs.KernelPCA(2).fit(X).set_params(**params)
    inner = model.model_
    if items is not None:
        inner = replace(inner, encoder=replace(inner.encoder, map=WholeMap(inner.kernel, items, len(items))))
    model.model_ = inner if kernel is None else replace(inner, kernel=kernel)
    return model


def test_items_that_are_texts_or_arrays_come_back(tmp_path: Path) -> None:
    for items in (["ab", "ba", ""], ["ab"] * 30, [np.ones(2), np.ones(3)], [np.ones((i, 2)) for i in range(9)]):
        rkhs.save(rkhs.KernelPCA(2).fit(X), tmp_path / "m", notes={"items": items})
        back = read_model(tmp_path / "m").notes["items"]
        assert [np.asarray(item).tolist() for item in back] == [np.asarray(item).tolist() for item in items]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (with_parts([{1, 2}]), r"got a set \(model_\.encoder\.map\.items\[0\]\)"),
        (with_parts(decoder_kernel=lambda a, b: 1.0), r"Python functions cannot be stored.*\(decoder_kernel\)"),
        (with_parts(kernel=kernels.FromFunction(max)), r"Python function.*model_\.kernel\.\w+"),
        (with_parts(kernel=Letters()), r"objects of rkhs only; got .*Letters"),
        ("model", "estimators of rkhs; got a str"),
    ],
    ids=["sets", "function", "kernel of a function", "own class", "no estimator"],
)
def test_what_cannot_be_stored_is_refused_before_the_file_changes(model: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.rkhs").write_text("old")
    with pytest.raises(InputError, match=message):
        rkhs.save(model, tmp_path / "m.rkhs")
    assert (tmp_path / "m.rkhs").read_text() == "old"


def test_foreign_and_unfitted_estimators_are_refused(tmp_path: Path) -> None:
    from sklearn.decomposition import PCA

    with pytest.raises(InputError, match=r"objects of rkhs only; got sklearn\..*PCA"):
        rkhs.save(PCA(1).fit(X), tmp_path / "m")
    with pytest.raises(NotFittedError):
        rkhs.save(rkhs.KernelPCA(), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written_are_typed_errors(tmp_path: Path) -> None:
    model = rkhs.KernelPCA(2).fit(X)
    for path in (tmp_path / "no" / "m", tmp_path, "\0"):
        with pytest.raises((InputError, ValueError)):
            rkhs.save(model, path)
    if sys.platform == "linux":
        with pytest.raises(InputError, match="cannot write"):
            rkhs.save(model, "/proc/self/m.rkhs")  # refused even to the administrator


def test_notes_travel_with_the_model(tmp_path: Path) -> None:
    notes = {"rows": [f"row {i}" for i in range(50)], "recipe": {"radius": 2}, "nothing": None}
    rkhs.save(rkhs.KernelPCA(2).fit(X), tmp_path / "m", notes=notes)
    found = read_model(tmp_path / "m")
    assert found.notes == notes
    assert found.format == FORMAT
    assert found.library == rkhs.__version__


# ---------------------------------------------------------------- damage


class Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("code from a file was run",))


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    for data in (pickle.dumps(Bomb()), struct.pack("<Q", 40) + b"{" + pickle.dumps(Bomb())):
        (tmp_path / "m").write_bytes(data)
        with pytest.raises(ModelFileError):
            rkhs.load(tmp_path / "m")


def test_a_missing_file_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="check folder and spelling"):
        rkhs.load(tmp_path / "m")


def rewritten(path: Path, version: tuple[int, int] = FORMAT, **changes: Any) -> None:
    """Write a file with a right checksum whose content is wrong."""
    found = read_container(path, FORMAT, 2**30)
    write_container(path, {**found.content, **changes}, found.arrays, version)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class": "estimators.Nothing"}, "'estimators.Nothing', which this version"),
        ({"class": "os.system"}, "'os.system', which this version"),
        ({"class": ["estimators.KernelPCA"]}, "cannot be built"),
        ({"class": "kernels.Gaussian"}, "cannot be built"),
        ({"params": {"unknown": 1}}, "cannot be built by rkhs"),
        ({"state": {"transform": 1}}, "not the name of a fitted attribute"),
        ({"state": {"__class__": 1}}, "not the name of a fitted attribute"),
        ({"state": {}}, "cannot be built"),
        ({"state": {"codes_": {"$object": "os.system", "params": {}}}}, "'os.system', which this version"),
        ({"state": [1]}, "cannot be built"),
    ],
)
def test_files_with_a_right_checksum_and_wrong_content_are_typed_errors(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    rkhs.save(rkhs.KernelPCA(2).fit(X), tmp_path / "m")
    rewritten(tmp_path / "m", **changes)
    with pytest.raises(ModelFileError, match=message):
        rkhs.load(tmp_path / "m")


def test_a_file_does_not_say_where_a_fit_runs(tmp_path: Path) -> None:
    model = rkhs.KernelPCA(2, engine=Threads(1)).fit(X)
    rkhs.save(model, tmp_path / "m")
    assert rkhs.load(tmp_path / "m").engine is None
    params = read_container(tmp_path / "m", FORMAT, 2**30).content["params"]
    assert "engine" not in params
    rewritten(tmp_path / "m", params={**params, "engine": "dask"})
    with pytest.raises(ModelFileError, match="has no parameters engine, which the model file sets"):
        rkhs.load(tmp_path / "m")


def test_a_model_of_a_graphics_card_loads_where_there_is_none(tmp_path: Path) -> None:
    model = rkhs.KernelPCA(2).fit(X)
    expected = model.transform(X[:3])
    model.device = "cuda"  # as if it had been fitted on one
    rkhs.save(model, tmp_path / "m")
    loaded = rkhs.load(tmp_path / "m")
    assert loaded.device == "cpu"
    np.testing.assert_array_equal(loaded.transform(X[:3]), expected)


def test_no_object_of_a_file_names_a_cluster(tmp_path: Path) -> None:
    assert not [name for name in registry() if name.startswith("engines.")]
    rkhs.save(rkhs.KernelPCA(2).fit(X), tmp_path / "m")
    params = read_container(tmp_path / "m", FORMAT, 2**30).content["params"]
    for inside in ("engines.Dask", "estimators.KernelPCA"):
        rewritten(tmp_path / "m", params={**params, "storage": {"$object": inside, "params": {}}})
        with pytest.raises(ModelFileError, match="does not have|where none is allowed"):
            rkhs.load(tmp_path / "m")


def test_an_array_in_two_places_is_held_once(tmp_path: Path) -> None:
    model = rkhs.DeepRKM((3, 2), random_state=0).fit(X)
    assert model.model_.items is model.model_.map.kept
    rkhs.save(model, tmp_path / "m")
    again = rkhs.load(tmp_path / "m")
    assert again.model_.items is again.model_.map.kept


def test_versions(tmp_path: Path) -> None:
    rkhs.save(rkhs.KernelPCA(2).fit(X), tmp_path / "m")
    found = read_container(tmp_path / "m", FORMAT, 2**30)
    (tmp_path / "minor").write_bytes(pack({**found.content, "news": 1}, found.arrays, (2, 99)))
    assert read_model(tmp_path / "minor").format == (2, 99)
    for major in (1, 3):
        (tmp_path / "major").write_bytes(pack(found.content, found.arrays, (major, 0)))
        with pytest.raises(ModelFileError, match=rf"format {major}\.0"):
            rkhs.load(tmp_path / "major")


def test_a_model_of_fingerprints_holds_bits(tmp_path: Path) -> None:
    bits = (np.random.default_rng(0).random((60, 1024)) < 0.1).astype(float)
    model = rkhs.KernelPCA(2, kernel="tanimoto", preimage="nearest").fit(bits)
    rkhs.save(model, tmp_path / "m.rkhs")
    assert (tmp_path / "m.rkhs").stat().st_size < bits.size / 8 + 20_000
    again = rkhs.load(tmp_path / "m.rkhs")
    np.testing.assert_array_equal(again.support_items_, model.support_items_)
    assert again.support_items_.dtype == model.support_items_.dtype
    np.testing.assert_array_equal(again.transform(bits), model.transform(bits))
