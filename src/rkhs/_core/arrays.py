"""Conversions between users' containers and the library's tensors.

Frames and arrays come in, NumPy goes out (or what ``set_output`` asks for); torch tensors come in, tensors go out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data
from torch import Tensor

from rkhs._core.checks import check_choice, is_missing, missing_sentence, real_array
from rkhs._core.errors import ColumnWarning, InputError, quote, warn

Items: TypeAlias = "Tensor | np.ndarray | Sequence[Any]"
"""Rows of numbers, kernel values, or objects."""

TILE_BYTES = 2**26
"""Kernel values of one tile."""

_MAX_COLUMN_SHARE = 0.95  # share of the variance of one column above which a warning is given

_ONE_GRID = (
    "hold curves on one grid of times; got curves that have times of their own. Put them on one by "
    "rkhs.data.curves_on_grid"
)


def as_numpy(X: Any, name: str = "X") -> Any:
    """Turn tensors, series of frames, Dask collections and curves into arrays; refuse masked entries."""
    if type(X) is np.ndarray:  # most often
        return X
    if isinstance(X, Tensor):
        if X.layout != torch.strided:
            raise InputError(f"{name} must be a dense tensor; got layout {X.layout}. Pass its to_dense()")
        if X.is_meta:
            raise InputError(f"{name} must hold numbers; got a tensor on the device 'meta', which has none")
        small = X.detach().cpu().resolve_conj().resolve_neg()
        return (small.float() if small.dtype == torch.bfloat16 else small).numpy()
    if isinstance(X, np.ma.MaskedArray):
        masked = int(np.ma.getmaskarray(X).sum())
        if masked:
            raise InputError(
                f"{name} must have no missing values; got a masked array with {masked} masked entries. "
                "Fill or drop them first"
            )
        return X.data
    if hasattr(X, "__dask_graph__") and hasattr(X, "compute"):  # frames and arrays of Dask: training needs all rows
        return X.compute()
    if is_curves(X):
        return read_curves(X, name)[0]
    _refuse_foreign(X, name)
    return _converted(X, name) if _is_series(X) or _converts(X) else X


def _refuse_foreign(X: Any, name: str) -> None:
    """Refuse unordered or lazy containers, and curves that are not on one common grid."""
    if hasattr(X, "coefficients") and hasattr(X, "basis") and hasattr(X, "to_grid"):
        raise InputError(
            f"{name} must hold values of curves on a grid of times; got a {type(X).__name__}, the coefficients of "
            f"functions. Pass {name}.to_grid(times)"
        )
    if hasattr(X, "start_indices"):
        raise InputError(f"{name} must {_ONE_GRID}")
    bare = isinstance(X, (dict, set, frozenset)) and not is_sparse(X)  # of scipy, dok is a dict
    lazy = hasattr(X, "collect_schema") and hasattr(X, "collect")  # a query of polars
    if bare or lazy:
        way = "X.collect()" if lazy else "a frame, or a list of rows"
        raise InputError(f"{name} must be rows in memory; got a {type(X).__name__}. Pass {way.replace('X', name)}")


def _converts(X: Any) -> bool:
    """Whether X is of a foreign class that NumPy reads: a memoryview, or what has ``__array__``."""
    foreign = hasattr(X, "__array__") and not isinstance(X, (np.ndarray, np.generic)) and not hasattr(X, "columns")
    return isinstance(X, memoryview) or (foreign and not isinstance(X, type) and not is_sparse(X))


def _converted(X: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(X)
    except Exception as error:  # of foreign code
        raise InputError(
            f"{name} must be convertible to an array; its {type(X).__name__} is not ({error}). Pass an array"
        ) from error


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of scipy, of any format."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def _is_series(X: Any) -> bool:
    """Whether X is one column of pandas, polars or Arrow: some index by label where arrays index by position."""
    return hasattr(X, "to_numpy") and not is_frame(X) and getattr(X, "ndim", 1) == 1


def is_curves(X: Any) -> bool:
    """Whether X carries curves with their grid, as scikit-fda's FDataGrid does."""
    return hasattr(X, "data_matrix") and hasattr(X, "grid_points")


def is_irregular(X: Any) -> bool:
    """Whether X carries curves with times of their own, as scikit-fda's FDataIrregular does."""
    return hasattr(X, "start_indices") and hasattr(X, "points") and hasattr(X, "values")


def read_curves(X: Any, name: str = "X") -> tuple[np.ndarray, np.ndarray]:
    """Values (n, T) and times (T,) of curves that carry their grid."""
    values, grids = np.asarray(X.data_matrix), X.grid_points
    if len(grids) != 1 or values.ndim != 3 or values.shape[2] != 1:
        raise InputError(
            f"{name} must hold real functions of one variable; got values of shape {values.shape} on {len(grids)} axes"
        )
    return values[:, :, 0], np.array(grids[0], dtype=np.float64)


def read_numbers(X: Any, name: str, *, columns: int | None = None, shape: str = "(m, {q})") -> np.ndarray:
    """Read a finite real matrix as a float64 array."""
    array = real_array(as_numpy(X, name), name)
    wanted = shape.format(q="q" if columns is None else columns)
    if array.ndim != 2 or (columns is not None and array.shape[1] != columns):
        raise InputError(f"{name} must be a finite array of shape {wanted}; got shape {array.shape}")
    if not array.size:
        missing = "row; got n_samples=0" if array.shape[0] == 0 else f"column; got shape {array.shape}"
        raise InputError(f"{name} must have at least one {missing}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be a finite array of shape {wanted}; got NaN or infinity")
    return array


def read_rows(estimator: BaseEstimator, X: Any, *, reset: bool, **options: Any) -> np.ndarray:
    """Read the rows of an estimator, with scikit-learn's checks of their number, columns and names."""
    if isinstance(X, (str, PathLike, Iterator)) or hasattr(X, "random_access"):
        raise InputError(
            f"X must be rows in memory; got an object of type {type(X).__name__}. fit of KernelPCA and "
            "KernelAutoencoder reads files and batches that rkhs.engines.as_rows opens; partial_fit takes one batch"
        )
    X = as_numpy(X)
    try:
        return _validated(estimator, X, reset=reset, **options)
    except (TypeError, ValueError):
        _refuse_objects(X)
        place = _first_text(X)
        if place is None:
            raise
        table = hasattr(estimator, "columns") and getattr(estimator, "kernel", None) != "precomputed"
        filled = "fit with columns='filled', which reads tables with texts, " if table else ""
        raise InputError(
            f"X must hold numbers; got the text {quote(place[2])} in column {place[1]!r}, row {place[0]}; {filled}"
            "leave such columns out, or encode them as numbers"
        ) from None


def _refuse_objects(X: Any) -> None:
    """Refuse sets, dicts, rows of unequal length and objects of other classes, with the kernel that reads them."""
    kinds = {type(item).__name__: item for item in reversed(X)} if isinstance(X, (list, tuple)) else {}
    kind = next(iter(kinds), "")
    unequal = kind in ("list", "tuple") and len({len(item) for item in X if hasattr(item, "__len__")}) > 1
    advice = {
        "dict": "kernel='mixed_table' for dicts with the same keys, else ",
        **dict.fromkeys(("list", "tuple"), "kernel='mean_embedding' for bags of points, else "),
    }
    if kind in ("set", "frozenset", "dict") or unequal or not _is_row(kinds.get(kind, "")):
        got = "rows of different lengths" if unequal else f"{kind}s"
        raise InputError(
            f"X must hold rows of numbers for this kernel; got {got}, the first {quote(X[0])}; pass "
            f"{advice.get(kind, '')}kernel=rkhs.kernels.FromFunction(f), where f compares two items: of sets a and b, "
            "for example, len(a & b) / len(a | b)"
        ) from None


def _is_row(item: Any) -> bool:
    """Whether an item may be a number, a text, or a row of such."""
    return any(hasattr(item, name) for name in ("__float__", "__len__", "__array__"))


def _first_text(X: Any) -> tuple[int, Any, str] | None:
    """Row, column and cell of the first text in a table that does not spell a number."""
    if is_frame(X):
        columns = [(name, np.asarray(X[name], dtype=object)) for name in X.columns]
    elif getattr(getattr(X, "dtype", None), "kind", "O") not in "OUT":
        return None
    else:
        try:
            cells = np.asarray(X, dtype=object)
        except (TypeError, ValueError):
            return None
        columns = list(enumerate(cells.T)) if cells.ndim == 2 else []
    for name, column in columns:
        for row, cell in enumerate(column):
            if isinstance(cell, str) and not _spells_number(cell):
                return row, name, cell
    return None


def _spells_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _validated(estimator: BaseEstimator, X: Any, *, reset: bool, **options: Any) -> np.ndarray:
    """Rows checked by scikit-learn."""
    first = X[0] if isinstance(X, list) and X else None
    if isinstance(first, tuple) and len(first) == 2 and all(getattr(part, "ndim", 0) == 1 for part in first):
        raise InputError(f"X must {_ONE_GRID}")
    with reading(X, "X"):
        try:
            known = {"dtype": [np.float64, np.float32], "order": "C", **options}
            return validate_data(estimator, X, reset=reset, **known)
        except (TypeError, ValueError) as error:
            gap = "pd.NA" if is_missing(error) else "NaN"
            if gap == "NaN" and not str(error).startswith("Input X contains NaN"):
                raise
            raise InputError(f"Input X contains {gap}, which stands for a gap{_gap_advice(estimator)}") from None


def _gap_advice(estimator: BaseEstimator) -> str:
    """Advice on gaps in the rows of an estimator."""
    if hasattr(estimator, "columns") and getattr(estimator, "kernel", None) != "precomputed":
        return (
            "; fit with columns='filled', which fills gaps of tables from the nearest rows; for curves with gaps see "
            "rkhs.data.curves_on_grid; or leave such rows out"
        )
    return "; fill gaps or leave such rows out"


@contextmanager
def reading(X: Any, name: str) -> Iterator[None]:
    """Wrap a check of scikit-learn: refuse what it silently accepts, and name the argument in its errors."""
    for dtype in [X.dtype] if hasattr(X, "dtype") else list(getattr(X, "dtypes", ())):
        if getattr(dtype, "kind", "f") in "mMV":  # dates and records would silently become numbers
            raise InputError(f"{name} must hold numbers; got dtype {dtype}. Encode such columns as numbers first")
    try:
        with np.errstate(all="ignore"):  # what overflows or is not finite is refused by name
            yield
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        if is_missing(error):
            raise InputError(missing_sentence(name)) from None
        few = re.search(r"array with (\d+) sample\(s\).* minimum of (\d+)", str(error))
        if few:
            rows = "row" if few[2] == "1" else "rows"
            raise InputError(
                f"{name} must have at least {few[2]} {rows}; got n_samples={few[1]}. Give more rows"
            ) from None
        sparse = str(error).startswith("Sparse data was passed")
        if sparse and is_frame(X):
            raise InputError(f"{name} must be a dense frame; got sparse columns. Pass its sparse.to_dense()") from None
        unnamed = hasattr(X, "toarray") and not is_sparse(X)
        if is_frame(X) or unnamed or isinstance(error, OverflowError):
            real_array(X, name)
        raise


def read_values(X: Any, name: str) -> np.ndarray:
    """Read values of any kind, such as labels and row numbers, as an array."""
    try:
        return np.asarray(as_numpy(X, name))
    except ValueError as error:
        texts = "; texts need kernel='mixed_table', or leave them out" if "string to float" in str(error) else ""
        raise InputError(f"{name} must be an array; got what NumPy cannot read: {error}{texts}") from None


def give_back(result: np.ndarray, like: Any) -> Any:
    """Return ``result`` in the container of ``like``: a tensor for a tensor (same device), else the array itself."""
    if isinstance(like, Tensor):
        if like.requires_grad and torch.is_grad_enabled():
            raise InputError(
                "X and codes must be tensors without gradients: an estimator records none. Pass detach(), or take "
                "rkhs.as_module(model), whose answers have derivatives"
            )
        return torch.from_numpy(_viewable(np.asarray(result, order="C"))).to(like.device)
    return result


def to_tensor(array: np.ndarray, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Copy or view an array as a contiguous tensor; read-only memory is copied, as torch cannot mark it as such."""
    return torch.from_numpy(_viewable(np.asarray(array, order="C"))).to(device=device, dtype=dtype)


def as_tensor(array: Any) -> Tensor:
    """View an array as a tensor of its dtype; read-only memory, such as a file of joblib, is copied."""
    return array if isinstance(array, Tensor) else torch.from_numpy(_viewable(np.asarray(array)))


def tensor_like(values: Any, like: Tensor, name: str = "values") -> Tensor:
    """Numbers as a tensor of the dtype and on the device of another, in the order in which they lie in memory."""
    if isinstance(values, Tensor):
        return values.to(like)
    plain = isinstance(values, np.ndarray) and values.dtype in (np.float32, np.float64)
    wide = values if plain else real_array(values, name)
    return torch.from_numpy(_viewable(wide)).to(like)


def row_index(rows: Any, like: Tensor) -> Tensor:
    """Row numbers as a tensor that indexes another."""
    return to_tensor(np.asarray(rows), torch.int64, like.device)


def _viewable(array: np.ndarray) -> np.ndarray:
    """The array if torch can view its memory and may write there, else a copy."""
    array = np.asarray(array, dtype=array.dtype.newbyteorder("="))
    array = array if array.flags.writeable else _without_lock(array)
    if array.flags.c_contiguous:  # strides of the shape alone: they decide how products of matrices round
        array = array.reshape(-1).reshape(array.shape)
    steps = all(step > 0 and step % array.itemsize == 0 for step in array.strides)
    return array if steps and array.flags.writeable and array.flags.aligned else array.copy(order="K")


def _without_lock(array: np.ndarray) -> np.ndarray:
    """The memory of a read-only view of a contiguous array that may be written; other arrays as they are."""
    base = array.base
    if type(base) is not np.ndarray or not base.flags.writeable or not base.flags.forc:
        return array
    flat, start = base.ravel(order="K"), array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, flat, start, array.strides)


def resolve_device(device: str) -> torch.device:
    """Turn the name of a device into a device."""
    check_choice(device, "device", ("auto", "cpu", "cuda", "mps"))
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if device == "auto":
        return torch.device("cuda" if cuda else "mps" if mps else "cpu")
    if (device == "cuda" and not cuda) or (device == "mps" and not mps):
        raise InputError(f"device={device!r} is not available on this machine; use device='auto' or 'cpu'")
    return torch.device(device)


def resolve_dtype(dtype: str) -> torch.dtype:
    """Turn ``"float64"`` or ``"float32"`` into a torch dtype; raises :class:`InputError` for another name."""
    check_choice(dtype, "dtype", ("float64", "float32"))
    return torch.float64 if dtype == "float64" else torch.float32


def check_items(X: Any, name: str = "X", at_least: int = 1) -> list[Any]:
    """Return a sequence of objects as a list; the items of a frame are its rows."""
    single = isinstance(X, (str, bytes, dict, set, frozenset, type)) or getattr(X, "ndim", 1) == 0
    if single or not hasattr(X, "__len__") or not hasattr(X, "__iter__"):
        raise InputError(
            f"{name} must be a list of objects, one per item; got a {type(X).__name__}. Wrap one object in a list"
        )
    items = table_rows(X) if is_frame(X) else list(X)
    if len(items) < at_least:
        raise InputError(f"{name} must hold at least {at_least} items; got n_samples={len(items)}")
    return items


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas or polars: named columns of their own types."""
    return (hasattr(X, "iloc") or hasattr(X, "iter_rows")) and hasattr(X, "columns")  # a LazyFrame has to resolve these


def table_rows(X: Any) -> list[tuple[Any, ...]]:
    """Rows of a frame, an array, or a list of rows or dicts, as tuples; categories of pandas become texts."""
    X = as_numpy(X)
    if is_frame(X):
        return _frame_rows(X) if hasattr(X, "iloc") else list(X.iter_rows())
    if isinstance(X, np.ndarray) and X.dtype == object:
        X = X.tolist()
    if isinstance(X, (str, bytes, dict, type)) or not hasattr(X, "__len__") or getattr(X, "ndim", 2) != 2:
        raise InputError(f"expected a table: a frame, an array (n, d) or a list of rows; got a {type(X).__name__}")
    rows = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if rows and isinstance(rows[0], dict):
        return _dict_rows(rows)
    for i, row in enumerate(rows):
        if isinstance(row, (str, bytes, set, frozenset)) or not hasattr(row, "__len__"):
            raise InputError(f"expected rows of cells; row {i} is a {type(row).__name__}")
    return [tuple(row) for row in rows]


def _frame_rows(X: Any) -> list[tuple[Any, ...]]:
    def cells(column: Any) -> list[Any]:
        if str(column.dtype) != "category":
            return list(column.tolist())
        return [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]

    return list(zip(*(cells(X.iloc[:, j]) for j in range(X.shape[1])), strict=True))


def _dict_rows(rows: list[Any]) -> list[tuple[Any, ...]]:
    keys = list(rows[0])
    for i, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(f"rows given as dicts must all be dicts; row {i} is a {type(row).__name__}")
        if odd := [key for key in (*keys, *row) if (key in row) != (key in rows[0])]:
            raise InputError(f"rows given as dicts must have the same keys; row {i} and row 0 differ in {odd}")
    return [tuple(row[key] for key in keys) for row in rows]


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a frame, or of rows given as dicts; None for other items."""
    if is_frame(X):
        return list(map(str, X.columns))
    return list(map(str, X[0])) if isinstance(X, (list, tuple)) and X and isinstance(X[0], dict) else None


def in_order_of(names: Sequence[str], X: Any) -> Any:
    """Rows given as dicts with their keys in this order; other items, and other keys, as they are."""
    if not len(names) or is_frame(X) or set(column_names(X) or ()) != set(names):
        return X
    return [
        {name: row[name] for name in names} if isinstance(row, dict) and row.keys() == set(names) else row for row in X
    ]


def frame_of_dicts(names: Sequence[str], X: Any) -> Any:
    """Rows given as dicts as a frame with these columns, which are their keys; other items as they are."""
    if not names or is_frame(X) or column_names(X) is None:
        return X
    import pandas

    if {*X[0]} != {*names}:
        refuse_other_columns(names, list(X[0]), frame=False)
    return pandas.DataFrame(table_rows(in_order_of(names, X)), columns=names)


def refuse_other_columns(known: Sequence[str], names: Sequence[str], *, frame: bool) -> None:
    """Say which columns of the fit are lacking, and which are none of them."""
    lacking, unknown = ([n for n in some if n not in rest] for some, rest in ((known, names), (names, known)))
    wrong = [f"it lacks {lacking}"] if lacking else []
    if unknown:
        wrong.append(f"{unknown} are not among them")
    raise InputError(
        f"X must have the columns of fit{', in their order,' * frame} {known}; {', and '.join(wrong) or f'got {names}'}"
        f"{'; X[model.feature_names_in_] chooses them' if frame and not lacking else ''}"
    )


def tile_rows(support: int) -> int:
    """Rows of a tile whose kernel values with so many supports take 64 MiB; whole lots of 64, which round alike."""
    return max(256, TILE_BYTES // (8 * max(support, 1)) // 64 * 64)


def row_count(X: Any) -> int | None:
    """Number of rows of what :func:`cut_rows` can cut; None for anything else."""
    if is_sparse(X) or isinstance(X, (np.ndarray, Tensor)):
        return int(X.shape[0]) if X.ndim else None
    return len(X) if isinstance(X, (list, tuple)) or is_frame(X) else None


def cut_rows(X: Any, rows: slice) -> Any:
    """Slice rows of a container, in its type."""
    if is_sparse(X):
        return X.tocsr()[rows]
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def pick_rows(X: Any, rows: np.ndarray) -> Any:
    """Rows of any container by their numbers, whatever their labels."""
    if is_sparse(X):
        return X.tocsr()[rows]
    if is_curves(X):
        return SimpleNamespace(data_matrix=np.asarray(X.data_matrix)[rows], grid_points=X.grid_points)
    return _safe_indexing(as_numpy(X), rows)


def pick_square(K: Any, rows: np.ndarray) -> Any:
    """Rows and columns of a square matrix by their numbers; any other matrix as it is, for its check to refuse."""
    K = np.asarray(K) if isinstance(K, (list, tuple)) else as_numpy(K)
    shape: Any = getattr(K, "shape", ())
    if len(shape) != 2 or shape[0] != shape[1]:
        return K
    if hasattr(K, "iloc"):
        return K.iloc[rows, rows]
    return K[np.ix_(rows, rows)] if isinstance(K, np.ndarray) else pick_rows(K, rows)[:, rows]


def tiles(n: int, step: int) -> Iterator[slice]:
    """Slices of at most ``step`` rows."""
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _variances(X: Any, weights: np.ndarray | None) -> np.ndarray:
    """Variances of columns, by weights (n,) that sum to one."""
    if weights is None and isinstance(X, np.ndarray):
        return np.asarray(X.var(0, dtype=np.float64))
    shares = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights
    wide = X.astype(np.float64)
    if isinstance(X, np.ndarray):
        return np.asarray(shares @ (wide - shares @ wide) ** 2)
    return np.asarray(shares @ wide.multiply(wide) - (shares @ wide) ** 2).ravel()


def warn_of_one_column(X: Any, names: np.ndarray | None, advice: str, weights: np.ndarray | None = None) -> None:
    """Warn if one column of ``X`` of shape (n, d) holds nearly all the variance: distances depend on little else."""
    if min(X.shape) < 2:
        return
    with np.errstate(over="ignore"):  # columns so wide are refused elsewhere
        variances = _variances(X, weights)
    widest, total = int(variances.argmax()), float(variances.sum())
    if not (0.0 < total < np.inf) or variances[widest] <= _MAX_COLUMN_SHARE * total:
        return
    name = f"column {widest}" if names is None else f"column {str(names[widest])!r}"
    share = np.floor(1000.0 * (variances[widest] / total)) / 10.0
    warn(
        f"{name} holds {share:.1f} % of the variance of X, so distances between rows see little else: {advice}",
        ColumnWarning,
    )
