"""Pipelines of scikit-learn's steps around our estimators in model files: the same numbers, and nothing unsafe."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import LinearSVC

import rkhs
from rkhs._core import pipelines
from rkhs._core.errors import InputError, MissingExtraError, ModelFileError
from rkhs._core.pipelines import STEPS, _parts
from rkhs.cli.main import main
from rkhs.evaluation import SmoothClassifier

pytest.importorskip("skops", reason="pipelines are stored by skops (extra `skops`)")
RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(40, 4)))
Y = (X[:, 0] > 0.6).astype(int)
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
KINDS = np.array([["a", 1.0], ["b", 2.0], ["c", float("nan")], [None, 1.0], ["a", 2.0]] * 8, dtype=object)
TEXTS = ["a cat sat here", "the dog ran", "a dog and a cat", "nobody ran"] * 10
RARE = {"min_frequency": 9, "handle_unknown": "infrequent_if_exist", "sparse_output": False}


def pca() -> rkhs.KernelPCA:
    return rkhs.KernelPCA(2)


PIPELINES: list[tuple[Any, Any]] = [
    *((make_pipeline(step, pca()), X) for step in (StandardScaler(), RobustScaler(), MinMaxScaler(clip=True))),
    *((make_pipeline(step, pca()), X) for step in (MaxAbsScaler(), Normalizer(), Binarizer(threshold=0.5))),
    *((make_pipeline(step, pca()), X) for step in (QuantileTransformer(n_quantiles=10), PowerTransformer(), PCA(2))),
    *((make_pipeline(step, pca()), X) for step in (VarianceThreshold(), FunctionTransformer(), "passthrough")),
    *((make_pipeline(SimpleImputer(add_indicator=flag), pca()), GAPS) for flag in (True, False)),
    (make_pipeline(KNNImputer(add_indicator=True), pca()), GAPS),
    (make_pipeline(OneHotEncoder(sparse_output=False, dtype=np.float32), pca()), KINDS),
    (make_pipeline(OneHotEncoder(**RARE), pca()), KINDS),
    (make_pipeline(OneHotEncoder(drop="first", **RARE), pca()), KINDS),
    (make_pipeline(OrdinalEncoder(encoded_missing_value=-1), pca()), KINDS),
    (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False), pca()), KINDS[:, :1]),
    (make_pipeline(TfidfVectorizer(ngram_range=(1, 2), stop_words=["the"]), TruncatedSVD(2), pca()), TEXTS),
    (make_pipeline(CountVectorizer(max_features=5), TfidfTransformer(), TruncatedSVD(2), pca()), TEXTS),
    (
        make_pipeline(
            ColumnTransformer(
                [
                    ("logs", make_pipeline(FunctionTransformer(np.log1p), StandardScaler()), slice(0, 2)),
                    (
                        "parts",
                        FeatureUnion([("raw", MinMaxScaler()), ("pca", PCA(1))]),
                        np.array([False, False, True, True]),
                    ),
                ],
                n_jobs=1,
            ),
            pca(),
        ),
        X,
    ),
    (make_pipeline(ColumnTransformer([("one", StandardScaler(), [1])], remainder="passthrough"), pca()), X),
    *((make_pipeline(pca(), head), X) for head in (LogisticRegression(), LinearRegression(), Ridge(), LinearSVC())),
    (make_pipeline(StandardScaler(), rkhs.KernelAutoencoder(2), SmoothClassifier()), X),
    (make_pipeline(RobustScaler(), rkhs.OperatorKernelRegressor()), X),
]


def answers(model: Any, data: Any) -> np.ndarray:
    return np.asarray(model.transform(data) if hasattr(model, "transform") else model.predict(data))


@pytest.mark.parametrize(("model", "data"), PIPELINES, ids=lambda part: " ".join(repr(part).split())[:60])
def test_pipelines_come_back_to_the_last_bit(model: Any, data: Any, tmp_path: Path) -> None:
    model.fit(data, Y)
    rkhs.save(model, tmp_path / "m.rkhs")
    again = rkhs.load(tmp_path / "m.rkhs")
    assert type(again) is Pipeline
    assert answers(again, data).tobytes() == answers(model, data).tobytes()
    assert list(again.named_steps) == list(model.named_steps)


def test_every_class_of_the_table_is_tried() -> None:
    tried = {type(step).__name__ for model, data in PIPELINES for step in _parts(model.fit(data, Y))}
    assert {name for names in STEPS.values() for name in names.split()} - tried == {"make_column_selector"}


def test_frames_keep_their_columns_and_what_steps_give_out(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(town=["x", "y"] * 20)
    numbers = make_column_selector(dtype_include=np.number)
    columns = ColumnTransformer([("n", StandardScaler(), numbers), ("t", OneHotEncoder(sparse_output=False), ["town"])])
    model = make_pipeline(columns.set_output(transform="pandas"), pca()).fit(frame)
    rkhs.save(model, tmp_path / "m.rkhs")
    again = rkhs.load(tmp_path / "m.rkhs")
    assert (again.transform(frame) == model.transform(frame)).all()
    assert list(again[0].transform(frame).columns) == ["n__a", "n__b", "n__c", "n__d", "t__town_x", "t__town_y"]
    assert (again.fit(frame).transform(frame) == model.transform(frame)).all()


def test_where_a_fit_runs_is_not_kept(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), pca(), memory=str(tmp_path / "cache")).fit(X)
    rkhs.save(model, tmp_path / "m.rkhs")
    assert rkhs.load(tmp_path / "m.rkhs").memory is None


def test_a_large_vocabulary_fits_into_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rkhs.persistence._SMALL", 2**22)  # an eighth, as the words are
    texts = [" ".join(f"word{125 * i + j}" for j in range(125)) for i in range(40)]
    model = make_pipeline(TfidfVectorizer(), TruncatedSVD(2), pca()).fit(texts)
    rkhs.save(model, tmp_path / "m.rkhs")
    assert rkhs.load(tmp_path / "m.rkhs")[0].vocabulary_ == model[0].vocabulary_


class Own(TransformerMixin, BaseEstimator):
    """A step of somebody's own."""

    def fit(self, X: Any, y: Any = None) -> Own:
        self.seen_ = len(X)
        return self

    def transform(self, X: Any) -> Any:
        return X


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(Own(), pca()).fit(X), r"holds a .*Own, .*skops\.io\.dump"),
        (make_pipeline(ColumnTransformer([("c", SplineTransformer(), [0])]), pca()).fit(X), r"SplineTransformer"),
        (make_pipeline(FunctionTransformer(abs), pca()).fit(X), r"builtins\.abs.*skops\.io\.dump"),
        (make_pipeline(FunctionTransformer(lambda X: X), pca()).fit(X), r"cannot be saved|lambda"),
        (make_pipeline(FunctionTransformer(np.sin), pca()).fit(X), r"numpy\.sin.*skops"),
        (make_pipeline(ColumnTransformer([("c", StandardScaler(), lambda X: [0])]), pca()).fit(X), r"lambda|saved"),
        (
            make_pipeline(CountVectorizer(), TruncatedSVD(2), pca())
            .fit(TEXTS)
            .set_params(countvectorizer__input="filename"),
            "reads texts, not files",
        ),
        (
            make_pipeline(TfidfVectorizer(tokenizer=str.split, token_pattern=None), pca()).fit(["a b", "b c", "a c d"]),
            "method_descriptor",
        ),
    ],
    ids=["own class", "inner step", "function", "lambda", "ufunc", "choice of columns", "names of files", "method"],
)
def test_unknown_steps_are_named_and_the_file_stays(model: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.rkhs").write_text("old")
    with pytest.raises(InputError, match=message):
        rkhs.save(model, tmp_path / "m.rkhs")
    assert (tmp_path / "m.rkhs").read_text() == "old"


def test_pipelines_that_are_not_fitted_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        rkhs.save(make_pipeline(StandardScaler(), pca()), tmp_path / "m.rkhs")
    with pytest.raises(InputError, match="pipelines with a step"):
        rkhs.save(make_pipeline("passthrough"), tmp_path / "m.rkhs")


class Anything:
    """Types that a file may name: all."""

    def __contains__(self, name: object) -> bool:
        return True


def forge(model: Any, path: Path, change: Callable[[Any], Any]) -> None:
    """Save a model whose steps no fit can have made: what refuses it when it is saved looks away."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines, "_check_parts", lambda *_: None)
        patch.setattr(pipelines, "_strange", lambda *_: None)
        patch.setattr(pipelines, "_allowed", Anything)
        change(model[0])
        rkhs.save(model, path)


def texts() -> Any:
    return make_pipeline(CountVectorizer(), TruncatedSVD(2), pca()).fit(TEXTS)


def table() -> Any:
    return make_pipeline(OneHotEncoder(drop="first", **RARE), pca()).fit(KINDS)


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (texts, lambda step: step.vocabulary_.update(cat=10**6), "vocabulary"),
        (texts, lambda step: step.set_params(input="filename"), "not files"),
        (texts, lambda step: vars(step).update(transform=1), "has transform"),
        (texts, lambda step: vars(step).pop("tokenizer"), "tokenizer"),
        (texts, lambda step: step.set_params(tokenizer=len), "has no builtins.len"),
        (texts, lambda step: vars(step).update(other_=RandomForestRegressor()), "RandomForest"),
        (texts, lambda step: vars(step).update(other_=csr_array(np.eye(2))), r"has no scipy\.sparse"),
        (texts, lambda step: vars(step).update(other_=np.random.RandomState(0)), r"RandomState"),
        (table, lambda step: vars(step).update(_n_features_outs=[1, 1]), "categories"),
        (table, lambda step: vars(step).update(_infrequent_enabled=False), "categories"),
        (table, lambda step: vars(step).update(_drop_idx_after_grouping=np.array([-9, 0], dtype=object)), "categories"),
        (table, lambda step: vars(step).update(n_features_in_=3), "categories"),
    ],
)
def test_forged_steps_are_typed_errors(make: Any, change: Any, message: str, tmp_path: Path) -> None:
    forge(make(), tmp_path / "m.rkhs", change)
    with pytest.raises(ModelFileError, match=message):
        rkhs.load(tmp_path / "m.rkhs")


def test_numbers_of_an_encoder_must_ascend(tmp_path: Path) -> None:
    model = make_pipeline(OneHotEncoder(sparse_output=False), pca()).fit(np.arange(40.0)[:, None] % 3)
    forge(model, tmp_path / "m.rkhs", lambda step: step.categories_.__setitem__(0, step.categories_[0][::-1].copy()))
    with pytest.raises(ModelFileError, match="categories"):
        rkhs.load(tmp_path / "m.rkhs")


def test_steps_that_unfold_to_more_than_the_limit_are_refused(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), pca()).fit(X)
    model[0].mean_ = np.zeros(10**7)
    rkhs.save(model, tmp_path / "m.rkhs")
    assert (tmp_path / "m.rkhs").stat().st_size < 10**6
    with pytest.raises(ModelFileError, match="unfold to more"):
        rkhs.load(tmp_path / "m.rkhs", max_bytes=2**24)


def test_estimators_of_ours_inside_steps_come_back(tmp_path: Path) -> None:
    inner = ColumnTransformer([("codes", rkhs.KernelPCA(2), [0, 1, 2])], remainder="passthrough")
    union = FeatureUnion([("ours", rkhs.KernelAutoencoder(1)), ("theirs", PCA(1))])
    model = make_pipeline(FeatureUnion([("columns", inner), ("both", union)]), LogisticRegression()).fit(X, Y)
    rkhs.save(model, tmp_path / "m.rkhs")
    again = rkhs.load(tmp_path / "m.rkhs")
    assert again[:-1].transform(X).tobytes() == model[:-1].transform(X).tobytes()
    assert (again.fit(X, Y).predict(X) == model.predict(X)).all()


def test_without_skops_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingExtraError, match=r"rkhs\[skops\]"):
        rkhs.save(make_pipeline(StandardScaler(), pca()).fit(X), tmp_path / "m.rkhs")


def test_another_version_of_scikit_learn_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_pipeline(StandardScaler(), pca()).fit(X)
    with monkeypatch.context() as patch:
        patch.setattr(sklearn.base, "__version__", "1.6.1")
        rkhs.save(model, tmp_path / "m.rkhs")
    with pytest.warns(UserWarning, match=rf"from version 1\.6\.1 when using version {sklearn.__version__}"):
        again = rkhs.load(tmp_path / "m.rkhs")
    assert (again.transform(X) == model.transform(X)).all()


def test_what_the_commands_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m.rkhs")
    rkhs.save(make_pipeline(StandardScaler(), rkhs.KernelPCA(3)).fit(X), path)
    assert main(["info", path, "--diagnosis", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["steps"] == {"standardscaler": "StandardScaler()", "kernelpca": "KernelPCA(n_components=3)"}
    assert facts["scikit-learn"] == sklearn.__version__
    assert "rkhs.diagnose" in facts["diagnosis"]
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    assert main(["transform", path, str(tmp_path / "x.csv"), "-o", str(tmp_path / "z.csv")]) == 2
    assert re.search(r"made in Python.*rkhs\.load\(", capsys.readouterr().err)


def test_other_estimators_of_scikit_learn_around_ours_go_to_skops(tmp_path: Path) -> None:
    model = TransformedTargetRegressor(rkhs.OperatorKernelRegressor()).fit(X, X[:, 0])
    with pytest.raises(InputError, match=r"TransformedTargetRegressor.*skops\.io\.dump.*best_estimator_"):
        rkhs.save(model, tmp_path / "m.rkhs")
