"""Pipelines of scikit-learn in model files: its steps by skops, estimators of this library in their own description.

skops builds objects of named types only. Of these types a file may have those listed here. What scikit-learn's compiled
code would use unchecked (places in a sparse matrix) is compared with what a fit can make.
"""

from __future__ import annotations

import copy
import importlib
import io
import json
import zipfile
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rkhs._core.errors import InputError, ModelFileError, optional

STEPS = {
    "compose": "ColumnTransformer make_column_selector",
    "decomposition": "PCA TruncatedSVD",
    "feature_extraction.text": "CountVectorizer TfidfTransformer TfidfVectorizer",
    "feature_selection": "VarianceThreshold",
    "impute": "KNNImputer MissingIndicator SimpleImputer",
    "linear_model": "LinearRegression LogisticRegression Ridge",
    "pipeline": "FeatureUnion Pipeline",
    "preprocessing": "Binarizer FunctionTransformer MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder "
    "PowerTransformer QuantileTransformer RobustScaler StandardScaler",
    "svm": "LinearSVC",
}
_FUNCTIONS = ("cbrt", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt", "square")  # of NumPy
_MACHINE = ("memory", "n_jobs")  # parameters that say where a fit runs and not what it is
_SCHEMA = "schema.json"
_SKOPS = "keep the pipeline with skops: skops.io.dump(pipeline, path)"


class Place(BaseEstimator):
    """Where an estimator of this library stands in a pipeline."""

    def __init__(self, number: int = 0) -> None:
        self.number = number


@cache
def _allowed() -> dict[tuple[str, str], frozenset[str]]:
    """Types that a file may name, by module and name, and how skops may read them."""
    numbers = ("float64", "float32", "int64", "int32", "bool", "bool_", "number")
    types: dict[tuple[str, str], frozenset[str]] = {
        **{("builtins", name): frozenset({"JsonNode", "TypeNode"}) for name in ("str", "int", "float", "bool")},
        **{("builtins", name): frozenset({f"{name.title()}Node"}) for name in ("dict", "list", "tuple", "slice")},
        **{("builtins", name): frozenset({"TypeNode", "JsonNode"}) for name in ("object", "NoneType")},
        **{("numpy", name): frozenset({"TypeNode", "NdArrayNode"}) for name in numbers},
        **{("numpy", name): frozenset({"FunctionNode"}) for name in _FUNCTIONS},
        ("numpy", "ndarray"): frozenset({"NdArrayNode"}),
        ("numpy", "dtype"): frozenset({"DTypeNode"}),
        (Place.__module__, Place.__name__): frozenset({"ObjectNode"}),
    }
    for package, names in STEPS.items():
        module = importlib.import_module(f"sklearn.{package}")
        types |= {(getattr(module, name).__module__, name): frozenset({"ObjectNode"}) for name in names.split()}
    return types


def pack_pipeline(pipeline: Pipeline) -> tuple[np.ndarray, list[BaseEstimator]]:
    """Bytes of a pipeline with places for estimators of this library, and these estimators."""
    steps = [(name, step) for name, step in pipeline.steps if not isinstance(step, str) and step is not None]
    if not steps:
        raise InputError("save writes pipelines with a step; got one without; save a fitted estimator")
    for _, step in steps:
        check_is_fitted(step)
    ours: list[BaseEstimator] = []
    memo: dict[int, Any] = {}
    for step in _parts(pipeline):
        if type(step).__module__.startswith("rkhs."):
            memo[id(step)] = Place(len(ours))
            ours.append(step)
        elif (type(step).__module__, type(step).__name__) not in _allowed():
            raise InputError(_refusal(f"{type(step).__module__}.{type(step).__qualname__}"))
    plain, skops = copy.deepcopy(pipeline, memo), optional("skops.io")
    _check_parts(plain, InputError)
    try:
        data = skops.dumps(plain, compression=zipfile.ZIP_DEFLATED)
    except Exception as error:  # whatever skops says of what it cannot write
        raise InputError(f"the pipeline cannot be saved ({error}); use classes and functions of a module") from error
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        strange = _strange(json.loads(archive.read(_SCHEMA)))
    if strange is not None:
        raise InputError(_refusal(strange))
    return np.frombuffer(data, dtype=np.uint8), ours


def unpack_pipeline(data: np.ndarray, ours: list[Any], max_bytes: int) -> Pipeline:
    """The pipeline of what :func:`pack_pipeline` wrote."""
    raw = data.tobytes()
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > max_bytes:
            raise ModelFileError("the steps of the pipeline unfold to more than a model file may take")
        strange = _strange(json.loads(archive.read(_SCHEMA)))
    if strange is not None:
        raise ModelFileError(f"a pipeline in a model file has no {strange}")
    found = optional("skops.io").loads(raw, trusted=["numpy.dtype", *(".".join(name) for name in _allowed())])
    if type(found) is not Pipeline:
        raise ModelFileError(f"expected a pipeline in the model file; got a {type(found).__name__}")
    places = [part for part in _parts(found) if isinstance(part, Place)]
    pipeline: Pipeline = copy.deepcopy(found, {id(place): ours[place.number] for place in places})
    _check_parts(pipeline, ModelFileError)
    for _, step in pipeline.steps:
        if not isinstance(step, str) and step is not None:
            check_is_fitted(step)
    return pipeline


def _refusal(name: str) -> str:
    return (
        f"the pipeline holds a {name}, which a model file does not: it holds estimators of rkhs, scikit-learn's own "
        f"preprocessing and linear models, and np.log1p and the like; {_SKOPS}"
    )


def _strange(node: Any) -> str | None:
    """A type in the description of skops that a file must not name."""
    if isinstance(node, dict) and "__loader__" in node:
        key = (str(node.get("__module__")), str(node.get("__class__")))
        if node["__loader__"] not in _allowed().get(key, ()):
            return f"{key[0]}.{key[1]}"
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return next((found for found in map(_strange, parts) if found is not None), None)


def _parts(value: Any) -> Iterator[BaseEstimator]:
    """Every estimator in a pipeline, fitted or not; what is in estimators of this library belongs to them."""
    if isinstance(value, BaseEstimator):
        yield value
        inside = () if type(value).__module__.startswith("rkhs.") else vars(value).values()
    else:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    for part in inside:
        yield from _parts(part)


def _check_parts(pipeline: Pipeline, error: type[Exception]) -> None:
    """Forget where a fit runs, and refuse a step that no fit can have made."""
    for step in _parts(pipeline):
        name, state = type(step).__name__, vars(step)
        state.update({word: None for word in _MACHINE if word in state})
        taken = [key for key in state if callable(getattr(type(step), key, None))]
        if taken or not set(step.get_params(deep=False)) <= state.keys():
            raise error(f"a {name} in a model file has {', '.join(taken) or 'other parameters'}; {_SKOPS}")
        if state.get("input", "content") != "content":
            raise error(f"a {name} in a model file reads texts, not files that texts name; {_SKOPS}")
        if "vocabulary_" in state and not _counts_up(state["vocabulary_"]):
            raise error(f"the vocabulary of a {name} does not name its columns one by one")
        if "_n_features_outs" in state and not _columns_agree(state):
            raise error(f"the categories of a {name} do not agree with its columns")


def _counts_up(vocabulary: Any) -> bool:
    """Whether a vocabulary gives every column to one term: scikit-learn writes there without looking."""
    places = list(vocabulary.values()) if isinstance(vocabulary, dict) else [None]
    whole = all(isinstance(place, (int, np.integer)) for place in places)
    return whole and set(places) == set(range(len(places)))


def _columns_agree(state: dict[str, Any]) -> bool:
    """Whether a OneHotEncoder gives every category a column that it has."""
    categories, widths = state["categories_"], state["_n_features_outs"]
    none, is_grouped = [None] * len(categories), state["_infrequent_enabled"] is True
    rare = state["_infrequent_indices"] if is_grouped else none
    groups = state["_default_to_infrequent_mappings"] if is_grouped else none
    dropped = none if state["_drop_idx_after_grouping"] is None else state["_drop_idx_after_grouping"]
    lists = (categories, widths, rare, groups, dropped)
    if type(widths) is not list or len({state["n_features_in_"], *map(len, lists)}) > 1:
        return False
    return all(map(_has_width, *lists))


def _has_width(values: Any, width: Any, rare: Any, groups: Any, dropped: Any) -> bool:
    """Whether one column of categories becomes as many columns as are said, and every category one of them."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or not _is_sorted(values):
        return False
    n = len(values)
    if rare is not None or groups is not None:
        if not (_are_places(rare, n) and _are_places(groups, n) and len(groups) == n and len(rare) > 0):
            return False
        n -= len(rare) - 1
        if groups.max() != n - 1:
            return False
    if dropped is not None and not (isinstance(dropped, (int, np.integer)) and 0 <= dropped < n):
        return False
    return isinstance(width, (int, np.integer)) and width == n - (dropped is not None)


def _are_places(array: Any, n: int) -> bool:
    whole = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu"
    return whole and bool(((array >= 0) & (array < n)).all())


def _is_sorted(values: np.ndarray) -> bool:
    """Whether numbers ascend, a NaN last: they are found by halving. Texts and objects are found by a table."""
    if values.dtype.kind in "OU":
        return True
    return all(a < b or (a == a and b != b) for a, b in pairwise(values.tolist()))
