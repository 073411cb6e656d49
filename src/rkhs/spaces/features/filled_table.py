"""Tables of numbers, texts and gaps as rows of numbers, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from rkhs._core.arrays import column_names, in_order_of, is_frame, refuse_other_columns, table_rows
from rkhs._core.cells import DATES, read_cells, warn_of_far
from rkhs._core.checks import check_choice, check_count, real_array
from rkhs._core.config import BaseEstimator, TransformerMixin
from rkhs._core.errors import InputError, quote, warn
from rkhs._core.ownership import WholeFits
from rkhs._core.stored import check_shape

_TILE = 512  # rows whose distances to the known ones are held at once
_PARTS = {"number": ("mean", "scale"), "text": ("texts", "shares", "scale"), "none": ()}  # of a column
_KNOTS, _FAR = 1000, 1e6  # values of a column whose ranks are stored; deviations beyond its ends that are read
_MOST_LONE = 0.5  # share of cells of a column, beyond which texts in one row are names
_TRUTH = {"1": "true", "0": "false"}  # what numbers stand for in a column of these
_TYPES = {"mean": float, "scale": float, "texts": np.ndarray, "shares": np.ndarray}


class FilledTable(WholeFits, TransformerMixin, BaseEstimator):
    """Rows of numbers in place of a table of numbers, texts and gaps; gaps are filled from the nearest rows.

    Every column of numbers is standardised. A column of texts becomes one column for each text, one-hot encoded,
    centred and scaled so that the columns of a text column together have a variance of one. A new text that differs
    from one of the fit in capitals or spaces around it alone is read as this; a column of the texts True and False
    takes truth values too. A gap gets the mean of its column over the nearest training rows with a value there.
    Distances are over the columns observed in both rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Rows that fill a gap.
    max_levels : int, default=100
        Largest number of one-hot columns of a text column, for its most frequent texts. The others have no column.
    max_rows : int, default=5000
        Most training rows that gaps are filled from. Of more, a fixed random subset is used.
    min_rows : int, default=2
        Fewest rows of a text with a column. With 1 one more column holds all texts without their column, so that a row
        is encoded alike whether it is new or one of the fit that is left out: regressors need this for their intervals.
        A column has no columns if more than half of its cells hold texts of one row, such as names.
    numbers : {"standard", "ranks"}, default="standard"
        With "ranks" a number becomes the standard normal quantile of its rank, linear between the values of the fit and
        beyond them: amounts over several decades, and a few wild values, then leave differences of the others visible.

    Attributes
    ----------
    columns_ : tuple of dict
        For each column its kind ("number", "text", or "none" for one that does not vary), mean and scale, and the
        texts with their shares. Of a column of dates ``"dated"`` is true. Of ranks, ``"knots"`` are values and scores.
    rows_ : ndarray of shape (r, q)
        Training rows as numbers, NaN at gaps.
    row_counts_ : ndarray of shape (r,), or None
        How many rows each of these stands for: its weight, and at least one; None: one each.
    n_features_in_ : int
        ``d``.
    feature_names_in_ : ndarray of str, shape (d,)
        Names of the columns, if they have any.

    Raises
    ------
    InputError
        For columns that mix numbers and texts, infinities, rows of another length than in ``fit``, and new cells that
        are not of the kind of their column in ``fit``: texts and dates among numbers, truth values among numbers other
        than 0 and 1.

    Notes
    -----
    ``transform`` costs O(m r q) for m rows with gaps. On development sets with 5 and 20 % of gaps the error of the
    default autoencoder is then 0.6 times that with ``kernel="mixed_table"``, on others 0.8 (``./dev bench gaps``).

    References
    ----------
    Troyanskaya et al. (2001), "Missing value estimation methods for DNA microarrays", KNNimpute; Gower (1971), for
    columns of several kinds on one scale.

    Examples
    --------
    >>> from rkhs.features import FilledTable
    >>> rows = [(1.0, "red"), (3.0, "red"), (None, "blue"), (5.0, "blue")]
    >>> table = FilledTable(n_neighbors=1).fit(rows)
    >>> table.transform(rows).round(2)
    array([[-1.22, -0.71,  0.71],
           [ 0.  , -0.71,  0.71],
           [ 1.22,  0.71, -0.71],
           [ 1.22,  0.71, -0.71]])
    >>> table.inverse_transform(table.transform(rows))[2]
    array([5.0, 'blue'], dtype=object)
    """

    columns_: tuple[dict[str, Any], ...]
    rows_: np.ndarray
    row_counts_: np.ndarray | None
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        n_neighbors: int = 5,
        max_levels: int = 100,
        max_rows: int = 5000,
        min_rows: int = 2,
        numbers: Literal["standard", "ranks"] = "standard",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.max_levels = max_levels
        self.max_rows = max_rows
        self.min_rows = min_rows
        self.numbers = numbers

    def check_stored(self) -> None:
        """Refuse a table of a model file whose columns and rows do not belong to one fit."""
        check_is_fitted(self)
        for column in self.columns_:
            parts = _PARTS.get(column.get("kind", ""))
            if parts is None or not all(isinstance(column.get(name), _TYPES[name]) for name in parts):
                raise InputError(
                    f"a column of a table in a model file has an unknown kind or lacks parts; got {column!r:.80}"
                )
            check_shape("knots", column.get("knots"), 2, None)
            check_shape("shares", column.get("shares"), len(column.get("texts", ())) + bool(column.get("others")))
        check_shape("rows", self.rows_, None, sum(map(_width, self.columns_)))
        check_shape("row counts", self.row_counts_, len(self.rows_))

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> FilledTable:
        """Learn scales and texts, and store the training rows.

        Parameters
        ----------
        X : frame, list of n rows, or array (n, d)
            Numbers, texts, and None or NaN for gaps.
        y : None
            Not used.
        sample_weight : array of shape (n,), optional
            Positive. Means, scales, ranks and shares of texts are weighted. Where rows are counted (``min_rows``,
            ``n_neighbors``), a row counts as its weight, and as one at least: a weight of two is two equal rows.

        Returns
        -------
        FilledTable
        """
        check_count(self.n_neighbors, "n_neighbors")
        check_count(self.max_levels, "max_levels")
        check_count(self.max_rows, "max_rows")
        check_count(self.min_rows, "min_rows")
        check_choice(self.numbers, "numbers", ("standard", "ranks"))
        cells = read_cells(X, "FilledTable")
        weights = None if sample_weight is None else _read_weights(sample_weight, len(cells))
        self._learn(cells, weights)
        for column, values in zip(self.columns_, zip(*table_rows(X), strict=True), strict=True):
            if column["kind"] == "number" and any(isinstance(value, (str, *DATES)) for value in values):
                column["dated"] = True
        if (names := column_names(X)) is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        places = self._kept_places(len(cells))
        self.rows_ = self._encode([cells[i] for i in places])
        self.row_counts_ = None if weights is None else np.maximum(weights[places], 1.0)
        return self

    def _learn(self, cells: list[tuple[Any, ...]], weights: np.ndarray | None = None) -> None:
        """Learn scales and texts."""
        limits = self.max_levels, self.min_rows, self.numbers
        self.columns_ = tuple(_fit_column(column, weights, *limits) for column in zip(*cells, strict=True))
        if all(column["kind"] == "none" for column in self.columns_):
            raise InputError("FilledTable needs a column that varies; got only constant, empty and unrepeated columns")
        self.n_features_in_ = len(self.columns_)

    def _kept_places(self, count: int) -> np.ndarray:
        """Places of the rows, of so many, that gaps are filled from."""
        return np.sort(np.random.RandomState(0).permutation(count)[: self.max_rows])

    def transform(self, X: Any) -> np.ndarray:
        """Rows of numbers without gaps.

        Parameters
        ----------
        X : frame, list of m rows, or array (m, d)

        Returns
        -------
        ndarray of shape (m, q)
        """
        check_is_fitted(self)
        rows = self._encode(self._read(X))
        if (empty := np.flatnonzero(np.isnan(rows).all(1))).size:
            warn(f"rows without a known cell, such as row {empty[0]}, get the mean of each column")
        warn_of_far("", self._numbers_with_ranges(rows))
        return self._without_gaps(rows)

    def _numbers_with_ranges(self, rows: np.ndarray) -> Iterator[tuple[str, np.ndarray, float, float]]:
        """Title, values of rows and range of the fit of each column of numbers."""
        place = 0
        for j, column in enumerate(self.columns_):
            if column["kind"] == "number":
                new, known = (_numbers_of(part[:, place], column) for part in (rows, self.rows_))
                yield self._title(j), new, np.fmin.reduce(known), np.fmax.reduce(known)
            place += _width(column)

    def _without_gaps(self, rows: np.ndarray) -> np.ndarray:
        """Fill the gaps of rows of numbers, in place."""
        missing_rows = np.flatnonzero(np.isnan(rows).any(1))
        for start in range(0, len(missing_rows), _TILE):
            part = missing_rows[start : start + _TILE]
            rows[part] = self._fill(rows[part])
        return rows

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Decode rows of numbers: numbers in their units, texts by their largest one-hot column.

        Parameters
        ----------
        X : array of shape (m, q)

        Returns
        -------
        ndarray of shape (m, d), of objects
            A constant column has its value, one that has no columns among the numbers None.
        """
        check_is_fitted(self)
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.rows_.shape[1]:
            raise InputError(f"X must be an array (m, {self.rows_.shape[1]}), as transform returns; got {X.shape}")
        found, place = np.empty((len(X), len(self.columns_)), dtype=object), 0
        for j, column in enumerate(self.columns_):
            part = X[:, place : place + _width(column)]
            place += _width(column)
            if column["kind"] == "number":
                found[:, j] = _numbers_of(part[:, 0], column)
            elif column["kind"] == "text":
                best = (part * column["scale"] + column["shares"])[:, : len(column["texts"])].argmax(1)
                found[:, j] = column["texts"][best]
            else:
                found[:, j] = column.get("value")
        return found

    def known_cells(self) -> list[tuple[Any, ...]]:
        """Cells of the training rows: NaN or None at gaps, and a unique text for one that has no column."""
        cells, place = self.inverse_transform(self.rows_), 0
        for j, column in enumerate(self.columns_):
            part = self.rows_[:, place : place + _width(column)]
            place += _width(column)
            if column["kind"] == "text":
                lone = (part * column["scale"] + column["shares"])[:, : len(column["texts"])].max(1) < 0.5
                cells[lone, j] = [f"\0{i}" for i in np.flatnonzero(lone)]
                cells[np.isnan(part).any(1), j] = None
        return list(map(tuple, cells))

    def rows_among(self, cells: list[tuple[Any, ...]], count: int) -> np.ndarray:
        """Rows of numbers of a table with these parameters that is fitted to the first ``count`` of these rows."""
        table = FilledTable(**self.get_params())
        table._learn(cells[:count])
        rows = table._encode(cells)
        table.rows_, table.row_counts_ = rows[table._kept_places(count)], None
        return table._without_gaps(rows)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of numbers; those of texts are ``column=text``.

        Parameters
        ----------
        input_features : sequence of str, default=None
            Names of the columns of the table; None: those seen in ``fit``, or x0, x1, ...

        Returns
        -------
        ndarray of str, shape (q,)
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", [f"x{j}" for j in range(len(self.columns_))])
        names = list(known if input_features is None else input_features)
        if len(names) != len(self.columns_):
            raise InputError(f"input_features must be {len(self.columns_)} names; got {len(names)}")
        out: list[str] = []
        for name, column in zip(names, self.columns_, strict=True):
            texts = [f"{name}={text}" for text in column["texts"]] if column["kind"] == "text" else []
            if column.get("others"):
                texts.append(f"{name} (other texts)")
            out += [str(name)] if column["kind"] == "number" else texts
        return np.array(out, dtype=object)

    def _read(self, X: Any) -> list[tuple[Any, ...]]:
        if hasattr(self, "feature_names_in_"):
            X = in_order_of(list(self.feature_names_in_), X)
        names = column_names(X)
        if names is not None and hasattr(self, "feature_names_in_") and names != list(self.feature_names_in_):
            refuse_other_columns(list(self.feature_names_in_), names, frame=is_frame(X))
        known = [(self._title(j), _kind(c)) for j, c in enumerate(self.columns_)]
        cells = read_cells(X, "FilledTable", [j for j, (_, kind) in enumerate(known) if kind == "truth"], known)
        if len(cells[0]) != len(self.columns_):
            raise InputError(f"FilledTable was fitted on rows of {len(self.columns_)} cells; got {len(cells[0])}")
        return cells

    def _encode(self, cells: list[tuple[Any, ...]]) -> np.ndarray:
        """Cells as numbers, NaN at gaps, shape (m, q)."""
        parts = [np.empty((len(cells), 0))]
        for j, (values, column) in enumerate(zip(zip(*cells, strict=True), self.columns_, strict=True)):
            gaps = np.array([value is None or value != value for value in values])
            if column["kind"] != "none":
                parts.append(_encode_column(self._title(j), values, gaps, column))
        return np.concatenate(parts, axis=1)

    def _title(self, j: int) -> str:
        """How messages name a column: by its name, else by its position."""
        return f"column {repr(self.feature_names_in_[j]) if hasattr(self, 'feature_names_in_') else j}"

    def _fill(self, rows: np.ndarray) -> np.ndarray:
        """Rows without gaps: means over the nearest known rows, or over all where no row shares a column."""
        known, observed = ~np.isnan(rows), ~np.isnan(self.rows_)
        a, b = np.where(known, rows, 0.0), np.where(observed, self.rows_, 0.0)
        shared = known.astype(float) @ observed.T
        D = (a * a) @ observed.T + known @ (b * b).T - 2.0 * a @ b.T
        with np.errstate(divide="ignore", invalid="ignore"):
            D = np.where(shared > 0.0, np.maximum(D, 0.0) / shared, np.inf)
        filled, place = a, 0  # zero is the mean of every column
        for column in self.columns_:
            width = _width(column)
            here = slice(place, place + width)
            place += width
            missing_rows = np.flatnonzero(~known[:, here].all(1)) if width else np.arange(0)
            donor_rows = np.flatnonzero(observed[:, here].all(1)) if len(missing_rows) else missing_rows
            count = min(int(self.n_neighbors), len(donor_rows))
            if not count:
                continue
            near = D[np.ix_(missing_rows, donor_rows)]
            order = np.sort(np.argpartition(near, count - 1, axis=1)[:, :count], axis=1)
            reached = np.take_along_axis(near, order, 1)
            counts = np.isfinite(reached)[:, :, None]
            if self.row_counts_ is not None:
                counts = counts * _counts_of_nearest(reached, self.row_counts_[donor_rows[order]], count)[:, :, None]
            values = (counts * b[donor_rows[order], here]).sum(1)
            filled[missing_rows, here] = values / np.maximum(counts.sum(1), 1)
        return filled


def _read_weights(sample_weight: Any, n: int) -> np.ndarray:
    """Positive weights of ``n`` rows."""
    weights = real_array(sample_weight, "sample_weight").astype(np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights <= 0.0).any():
        raise InputError(f"sample_weight must be {n} positive numbers, one for each row; got {quote(sample_weight)}")
    return weights


def _counts_of_nearest(distances: np.ndarray, counts: np.ndarray, most: int) -> np.ndarray:
    """How often each of some rows is among the nearest ``most``, if each stands for so many; all of shape (m, k)."""
    order = np.argsort(distances, axis=1, kind="stable")
    sorted_counts = np.take_along_axis(counts, order, 1)
    before = np.cumsum(sorted_counts, axis=1) - sorted_counts
    found = np.empty_like(counts)
    np.put_along_axis(found, order, np.clip(most - before, 0.0, sorted_counts), 1)
    return found


def _warn_of_unseen(title: str, values: tuple[Any, ...], gaps: np.ndarray, known: np.ndarray, *, rare: float) -> None:
    """Warn where a column holds many more texts without a column of ones than the table of the fit did."""
    unseen = np.flatnonzero(~gaps & ~known)
    if len(unseen) > 2.0 * max(rare, 1e-9) * (~gaps).sum():
        warn(
            f"{title}: {len(unseen)} of {len(values)} cells are texts that the fit has not seen, or only rarely, "
            f"such as {quote(values[unseen[0]])}: they are encoded as unlike all known texts; a gap is None"
        )


def _kind(column: dict[str, Any]) -> str:
    """What new cells of a column are, as `read_cells` names it."""
    if column["kind"] == "text" and set(map(_plain, column["texts"])) == {"true", "false"}:
        return "truth"
    if column["kind"] != "number" or column.get("dated"):
        return "date" if column.get("dated") else str(column["kind"])
    return "flag" if abs(column["scale"] ** 2 - column["mean"] * (1.0 - column["mean"])) < 1e-9 else "number"


def _plain(text: str) -> str:
    """A text without spaces around it, in small letters."""
    return text.strip().casefold()


def _width(column: dict[str, Any]) -> int:
    """Number of columns that a column of the table becomes."""
    return {"number": 1, "text": len(column.get("shares", ())), "none": 0}[column["kind"]]


def _encode_column(title: str, values: tuple[Any, ...], gaps: np.ndarray, column: dict[str, Any]) -> np.ndarray:
    """Cells of a column as numbers, NaN at gaps."""
    if column["kind"] == "number":
        numbers = np.array([np.nan if gap else value for value, gap in zip(values, gaps, strict=True)])
        return ((_scores(numbers, column) - column["mean"]) / column["scale"])[:, None]
    ones = _one_hot(values, gaps, column)
    known = ones.max(axis=1)
    _warn_of_unseen(title, values, gaps, known, rare=column.get("rare", 1.0 - float(column["shares"].sum())))
    if column.get("others"):
        ones = np.column_stack([ones, ~known])
    part = (ones - column["shares"]) / column["scale"]
    part[gaps] = np.nan
    return part


def _one_hot(values: tuple[Any, ...], gaps: np.ndarray, column: dict[str, Any]) -> np.ndarray:
    """Which text of the fit each cell is, or is but for capitals and spaces where that is one."""
    texts: np.ndarray = column["texts"]
    ones = np.array(values, dtype=object)[:, None] == texts[None, :]
    spelled, truth = {_plain(text): text for text in texts}, _TRUTH if _kind(column) == "truth" else {}
    for i in np.flatnonzero(~gaps & ~ones.any(1)) if len(spelled) == len(texts) else ():
        plain = _plain(values[i])
        ones[i] = texts == spelled.get(truth.get(plain, plain))
    return ones


def _fit_texts(known: list[Any], weights: np.ndarray, most: int, least: int) -> dict[str, Any] | None:
    """Kind and parameters of a column of texts; None if it does not vary, or no text repeats."""
    texts, place, rows = np.unique(np.array(known), return_inverse=True, return_counts=True)
    sums = np.bincount(place, weights)
    counts = np.maximum(sums, rows)  # weights may be shares of one, which count no rows
    others, lone = least == 1, float(counts[counts < 2.0].sum()) / float(counts.sum())
    if len(texts) == 1 or counts.max() < 2.0 or (others and lone > _MOST_LONE):
        return None
    order = np.argsort(-sums, kind="stable")[:most]
    order = np.sort(order[counts[order] >= least])
    shares = sums[order] / sums.sum()
    rare = 1.0 - float(shares.sum()) + lone * others  # Good-Turing: the share of texts that the fit has not seen
    shares = np.append(shares, [max(0.0, 1.0 - float(shares.sum()))] * others)
    scale = float(shares @ (1.0 - shares)) ** 0.5
    return {
        "kind": "text",
        "texts": texts[order].astype(object),
        "shares": shares,
        "scale": scale,
        "rare": rare,
        "others": others,
    }


def _scores(numbers: np.ndarray, column: dict[str, Any]) -> np.ndarray:
    """Take the normal scores of ranks, where a column is read by these, else the numbers."""
    return np.interp(numbers, *column["knots"]) if "knots" in column else numbers


def _numbers_of(part: np.ndarray, column: dict[str, Any]) -> np.ndarray:
    """Invert the scaling, and the ranks, of a column of numbers."""
    numbers = part * column["scale"] + column["mean"]
    return np.interp(numbers, *column["knots"][::-1]) if "knots" in column else numbers


def _knots(numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Find values of a column, and far ones at both ends, and the normal scores of their ranks, shape (2, k)."""
    values, place = np.unique(numbers, return_inverse=True)
    sums = np.bincount(place, weights)
    scores = ndtri((sums.cumsum() - 0.5 * sums) / sums.sum())
    places = np.unique(np.linspace(0, len(values) - 1, _KNOTS).astype(int))
    knots, far = np.stack([values, scores])[:, places], _FAR * np.array([[values.std()], [1.0]])
    return np.hstack([knots[:, :1] - far, knots, knots[:, -1:] + far])


def _fit_column(
    values: tuple[Any, ...], weights: np.ndarray | None, most: int, least: int, read: str
) -> dict[str, Any]:
    """Kind and parameters of a column of training cells."""
    places = [i for i, value in enumerate(values) if value is not None and value == value]
    known = [values[i] for i in places]
    w = np.ones(len(known)) if weights is None else weights[places]
    value = known[0] if known and len(set(known)) == 1 else None
    if any(isinstance(value, str) for value in known):
        return _fit_texts(known, w, most, least) or {"kind": "none", "value": value}
    if value is None and known:
        return _fit_numbers(np.array(known, dtype=np.float64), None if weights is None else w, read)
    return {"kind": "none", "value": value}


def _fit_numbers(numbers: np.ndarray, weights: np.ndarray | None, read: str) -> dict[str, Any]:
    """Kind and parameters of a column of several numbers."""
    mean, scale = _mean_and_deviation(numbers, weights)
    if not np.isfinite(scale):
        raise InputError("FilledTable reads numbers whose squares are finite; rescale the columns")
    if scale <= 1e-14 * float(np.abs(numbers).max()):
        return {"kind": "none", "value": None}
    found: dict[str, Any] = {"kind": "number", "mean": mean, "scale": scale}
    if read == "ranks" and len(np.unique(numbers)) > 2:
        found["knots"] = _knots(numbers, np.ones(len(numbers)) if weights is None else weights)
        found["mean"], found["scale"] = _mean_and_deviation(_scores(numbers, found), weights)
    return found


def _mean_and_deviation(numbers: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    if weights is None:
        return float(numbers.mean()), float(numbers.std())
    mean = float(np.average(numbers, weights=weights))
    return mean, float(np.average((numbers - mean) ** 2, weights=weights)) ** 0.5
