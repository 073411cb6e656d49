"""Steps of scikit-learn that a model file may hold: which classes, and which of their attributes.

A file names a class of the table and attributes of its line; nothing else is looked up. What scikit-learn's compiled
code would use unchecked (places in a sparse matrix) is compared with what a fit can make.
"""

from __future__ import annotations

import importlib
from collections import UserList
from collections.abc import Callable, Iterator
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector

from rkhs._core.errors import InputError, ModelFileError

__all__ = [
    "STEPS",
    "check_step",
    "decode_special",
    "encode_special",
    "find_step",
    "fitted_steps",
    "name_of_step",
    "params_of_step",
    "state_of_step",
    "version_warning",
]

_TRANSFORMED = "n_features_in_? feature_names_in_? _sklearn_output_config?"
_LINEAR = f"{_TRANSFORMED} coef_ intercept_ n_iter_? classes_?"
_TEXTS = "_sklearn_output_config? fixed_vocabulary_ vocabulary_"
_CATEGORIES = f"{_TRANSFORMED} categories_ _infrequent_enabled _infrequent_indices? _default_to_infrequent_mappings?"
# Attributes of fitted steps, of scikit-learn 1.6 to 1.9; a question mark: not after every fit or in every version.
STEPS = {
    "compose.ColumnTransformer": f"{_TRANSFORMED} _columns _remainder _transformer_to_input_indices output_indices_ "
    "sparse_output_ transformers_ _transformers_feature_names_out?",
    "decomposition.PCA": f"{_TRANSFORMED} _fit_svd_solver components_ explained_variance_ explained_variance_ratio_ "
    "mean_ n_components_ n_samples_ noise_variance_ singular_values_",
    "decomposition.TruncatedSVD": f"{_TRANSFORMED} components_ explained_variance_ explained_variance_ratio_ "
    "singular_values_",
    "feature_extraction.text.CountVectorizer": _TEXTS,
    "feature_extraction.text.TfidfTransformer": f"{_TRANSFORMED} idf_?",
    "feature_extraction.text.TfidfVectorizer": f"{_TEXTS} _tfidf",
    "feature_selection.VarianceThreshold": f"{_TRANSFORMED} variances_",
    "impute.KNNImputer": f"{_TRANSFORMED} _fit_X _mask_fit_X _valid_mask indicator_",
    "impute.MissingIndicator": f"{_TRANSFORMED} _n_features _precomputed features_",
    "impute.SimpleImputer": f"{_TRANSFORMED} _fit_dtype _fill_dtype? indicator_ statistics_",
    "linear_model.LinearRegression": f"{_LINEAR} rank_? singular_?",
    "linear_model.LogisticRegression": _LINEAR,
    "linear_model.Ridge": f"{_LINEAR} solver_?",
    "pipeline.FeatureUnion": "_sklearn_output_config? _transformers_feature_names_out?",
    "pipeline.Pipeline": "_sklearn_output_config?",
    "preprocessing.Binarizer": _TRANSFORMED,
    "preprocessing.FunctionTransformer": _TRANSFORMED,
    "preprocessing.MaxAbsScaler": f"{_TRANSFORMED} max_abs_ n_samples_seen_ scale_",
    "preprocessing.MinMaxScaler": f"{_TRANSFORMED} data_max_ data_min_ data_range_ min_ n_samples_seen_ scale_",
    "preprocessing.Normalizer": _TRANSFORMED,
    "preprocessing.OneHotEncoder": f"{_CATEGORIES} _drop_idx_after_grouping _n_features_outs drop_idx_",
    "preprocessing.OrdinalEncoder": f"{_CATEGORIES} _missing_indices",
    "preprocessing.PowerTransformer": f"{_TRANSFORMED} lambdas_ _scaler?",
    "preprocessing.QuantileTransformer": f"{_TRANSFORMED} n_quantiles_ quantiles_ references_",
    "preprocessing.RobustScaler": f"{_TRANSFORMED} center_ scale_",
    "preprocessing.StandardScaler": f"{_TRANSFORMED} mean_ n_samples_seen_ scale_ var_",
    "svm.LinearSVC": _LINEAR,
}
_FUNCTIONS = ("cbrt", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt", "square")  # of NumPy
_KINDS = (np.float64, np.float32, np.int64, np.int32, np.bool_, np.number, float, int, bool, str, object)
_TYPES = {cls.__name__: cls for cls in _KINDS}
_MACHINE = ("memory", "n_jobs")  # parameters that say where a fit runs and not what it is
_STOP_WORDS = "_stop_words_id"  # an address in memory: scikit-learn's note that it has checked them
_SKOPS = "keep the pipeline with skops: skops.io.dump(pipeline, path)"
_SELECTOR = ("pattern", "dtype_include", "dtype_exclude")
_CELLS = (str, bool, int, float, type(None))


def name_of_step(cls: type) -> str | None:
    """Name under which a class of scikit-learn is stored, ``sklearn.package.Class``; None if it is not in the table."""
    for name in STEPS:
        if name.rpartition(".")[2] == cls.__name__ and find_step(f"sklearn.{name}") is cls:
            return f"sklearn.{name}"
    return None


def find_step(name: Any) -> type | None:
    """The class of a stored name; None if the table does not have it."""
    origin, _, known = name.partition(".") if isinstance(name, str) else ("", "", "")
    if origin != "sklearn" or known not in STEPS:
        return None
    package, _, cls = known.rpartition(".")
    found: type = getattr(importlib.import_module(f"sklearn.{package}"), cls)
    return found


def fitted_steps(estimator: BaseEstimator, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every step inside a pipeline with its name, ``columns.scaler`` if it lies deeper; not those that do nothing."""
    for attribute in ("steps", "transformer_list", "transformers_"):
        for name, step, *_ in getattr(estimator, attribute, ()):
            if not isinstance(step, str) and step is not None:
                yield f"{path}{name}", step
                yield from fitted_steps(step, f"{path}{name}.")


def params_of_step(estimator: BaseEstimator) -> dict[str, Any]:
    """Parameters that are not at their defaults, without those of the machine."""
    defaults = {name: p.default for name, p in signature(type(estimator)).parameters.items()}
    params = estimator.get_params(deep=False).items()
    return {k: v for k, v in params if k not in _MACHINE and not (v is defaults[k] or repr(v) == repr(defaults[k]))}


def state_of_step(estimator: BaseEstimator, where: str) -> dict[str, Any]:
    """Fitted attributes; one that the table does not have is refused, so that nothing is lost in silence."""
    params = estimator.get_params(deep=False)
    state = {k: v for k, v in vars(estimator).items() if k not in params and k != _STOP_WORDS}
    needed, allowed = _attributes(type(estimator))
    strange = sorted(state.keys() - needed - allowed)
    if strange:
        raise InputError(
            f"step {where!r}: {type(estimator).__name__} of scikit-learn {sklearn.__version__} has the attribute "
            f"{strange[0]!r}, which a model file does not know; {_SKOPS}"
        )
    if "vocabulary_" in state:
        state["vocabulary_"] = {term: int(place) for term, place in state["vocabulary_"].items()}
    try:
        check_step(type(estimator), params_of_step(estimator), state)
    except ModelFileError as error:
        raise InputError(f"step {where!r} cannot be saved: {error}; {_SKOPS}") from None
    return state


def _attributes(cls: type) -> tuple[set[str], set[str]]:
    """Names of the attributes that every fit makes, and of those that some make."""
    words = STEPS[(name_of_step(cls) or "").removeprefix("sklearn.")].split()
    return {word for word in words if word[-1] != "?"}, {word[:-1] for word in words if word[-1] == "?"}


def check_step(cls: type, params: dict[str, Any], state: dict[str, Any]) -> None:
    """Refuse a step of a file that no fit can have made, and add what later versions of scikit-learn need."""
    name, (needed, allowed) = cls.__name__, _attributes(cls)
    strange = sorted((state.keys() - needed - allowed) | (params.keys() & {*_MACHINE, "kw_args"}))
    if strange:
        raise ModelFileError(f"a {name} in a model file has no {strange[0]!r}")
    if params.get("input", "content") != "content":
        raise ModelFileError(f"a {name} in a model file reads texts, not files that texts name")
    missing = sorted(needed - state.keys())
    if state.keys() - {"_sklearn_output_config"} and missing:
        raise ModelFileError(f"a {name} of scikit-learn {sklearn.__version__} needs {missing[0]!r}, which is not there")
    if "_fit_dtype" in state:  # before scikit-learn 1.8 both were one
        state.setdefault("_fill_dtype", state["_fit_dtype"])
    if "vocabulary_" in state and not _counts_up(state["vocabulary_"]):
        raise ModelFileError(f"the vocabulary of a {name} does not name its columns one by one")
    if "_n_features_outs" in state and not _columns_agree(state):
        raise ModelFileError(f"the categories of a {name} do not agree with its columns")


def _counts_up(vocabulary: Any) -> bool:
    """Whether a vocabulary gives every column to one term: scikit-learn writes there without looking."""
    places = list(vocabulary.values()) if isinstance(vocabulary, dict) else [None]
    return all(type(place) is int for place in places) and set(places) == set(range(len(places)))


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
    return type(width) is int and width == n - (dropped is not None)


def _are_places(array: Any, n: int) -> bool:
    whole = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu"
    return whole and bool(((array >= 0) & (array < n)).all())


def _is_sorted(values: np.ndarray) -> bool:
    """Whether numbers ascend, a NaN last: they are found by halving. Texts and objects are found by a table."""
    if values.dtype.kind in "OU":
        return True
    return all(a < b or (a == a and b != b) for a, b in pairwise(values.tolist()))


def version_warning(wrote: Any) -> str | None:
    """What to say of a file from another minor version of scikit-learn; None for the same."""
    here, there = sklearn.__version__, str(wrote)[:20]
    if here.split(".")[:2] == there.split(".")[:2]:
        return None
    return (
        f"the pipeline was saved with scikit-learn {there} and is read with {here}: its steps may give other numbers; "
        f"compare them on rows whose results you know, or install scikit-learn {there}"
    )


def encode_special(value: Any, encode: Callable[[Any], Any], where: str = "") -> Any:
    """Describe what steps of scikit-learn have and estimators of this library do not; None for anything else."""
    if isinstance(value, slice):
        return {"$slice": [encode(part) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, UserList):  # columns of the remainder
        return encode(list(value))
    if type(value) is make_column_selector:
        return {"$columns": [encode(getattr(value, name)) for name in _SELECTOR]}
    if isinstance(value, type):
        name = value.__name__
        if _TYPES.get(name) is value:
            return {"$type": name}
    if isinstance(value, np.ufunc):
        known = [name for name in _FUNCTIONS if getattr(np, name) is value]
        if known:
            return {"$function": known[0]}
    if callable(value) and not isinstance(value, BaseEstimator):
        called = getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__name__)
        raise InputError(
            f"Python functions cannot be stored in a model file, except np.log1p and the like; got {called} ({where}). "
            f"Leave the step out and apply the function to X, or {_SKOPS}. It stores functions of a module by their "
            "names, so give a lambda one there"
        )
    if isinstance(value, np.dtype) and value.kind in "OU":
        return {"$texts_dtype": value.str}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O" and not all(type(cell) is str for cell in value.flat):
        cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in value.flat]
        if all(type(cell) in _CELLS for cell in cells):
            return {"$cells": [encode(cell) for cell in cells], "shape": list(value.shape)}
    if isinstance(value, dict) and value and all(type(key) is int for key in value):
        return {"$by_number": [[key, encode(part)] for key, part in value.items()]}
    return None


def decode_special(value: dict[str, Any], decode: Callable[[Any], Any]) -> Any:
    """Build what :func:`encode_special` described; None if it did not."""
    if "$slice" in value:
        start, stop, step = (decode(part) for part in value["$slice"])
        return slice(start, stop, step)
    if "$columns" in value:
        return make_column_selector(**dict(zip(_SELECTOR, map(decode, value["$columns"]), strict=True)))
    if "$type" in value:
        return _TYPES[value["$type"]]
    if "$function" in value and value["$function"] in _FUNCTIONS:
        return getattr(np, value["$function"])
    if "$texts_dtype" in value and value["$texts_dtype"][:2] in ("|O", "<U", ">U"):
        return np.dtype(value["$texts_dtype"])
    if "$cells" in value:
        cells = [decode(cell) for cell in value["$cells"]]
        array = np.empty(len(cells), dtype=object)
        array[:] = [cell if type(cell) in _CELLS else None for cell in cells]
        return array.reshape(value["shape"])
    if "$by_number" in value:
        return {int(key): decode(part) for key, part in value["$by_number"]}
    return None
