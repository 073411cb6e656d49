"""Sparse matrices in every estimator and storage: the model of the same rows written out, or a refusal in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

import rkhs
from studies.reliability.fuzz import values
from studies.reliability.fuzz.case import Answer, Case

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
READS = ("transform", "predict", "reconstruction_error")
# Rounding decides where an iteration stops, so that machines of one formula alone are compared with rows written out.
CLOSED_FORM = ("KernelPCA", "GramTransformer", "Nystroem", "OperatorKernelRegressor", "OperatorKernelRegressorCV")


def with_zeros(case: Case, X: np.ndarray) -> np.ndarray:
    """Rows of which a drawn share of the entries is zero."""
    return np.where(case.rng.random(X.shape) < case.one_of([0.0, 0.5, 0.9]), 0.0, X)


def stored(case: Case, X: np.ndarray) -> Any:
    """The rows as a sparse matrix of some format, whose entries may be in any order, written twice, or stored zeros."""
    rows, columns = np.nonzero(X) if case.chance(0.7) else np.indices(X.shape).reshape(2, -1)
    entries = X[rows, columns]
    order = case.rng.permutation(len(entries))
    rows, columns, entries = rows[order], columns[order], entries[order]
    if case.chance(0.4):  # halves are exact, but for the smallest numbers of all
        whole = np.abs(entries) < 1e-300
        first, second = np.where(whole, entries, entries / 2), np.where(whole, 0.0, entries / 2)
        rows, columns, entries = np.r_[rows, rows], np.r_[columns, columns], np.r_[first, second]
    if case.chance(0.5):  # CSR keeps the order and what is written twice, other formats are made from sums
        order = np.argsort(rows, kind="stable")
        starts = np.searchsorted(rows[order], np.arange(len(X) + 1))
        return scipy.sparse.csr_array((entries[order], columns[order], starts), shape=X.shape)
    kind = case.one_of([scipy.sparse.coo_array, scipy.sparse.coo_matrix])
    return kind((entries, (rows, columns)), shape=X.shape).asformat(case.one_of(FORMATS))


def sparse_rows(case: Case, kind: type, params: dict[str, Any], X: np.ndarray, new: np.ndarray, named: Any) -> None:
    """One fit on a sparse matrix beside one on the same rows written out, and what the model reads afterwards."""
    X, new = with_zeros(case, X), with_zeros(case, new)
    plain, model = kind(**params), kind(**params)
    expected = case.call("fit(rows written out)", plain.fit, X, may_name=r"\w", **named)
    found = case.call("fit(sparse)", model.fit, stored(case, X), may_name=r"\w", **named)
    if not expected.good or not found.good:
        return
    if found.refused:
        told = "sparse" in str(found.error).lower() or "scikit-learn" in str(found.error)
        case.expect(expected.refused or told, f"fit(sparse): {found.error}, written out: answered")
        return
    if case.expect(expected.answered, f"fit(sparse): answered, written out: {expected.error}"):
        _reads_all_forms(case, model, plain, new)
        # Kernels of sparse rows are of double precision; random directions of dense rows are orthogonal to each other.
        like = getattr(model, "dtype", "float64") != "float32" and "RandomFeatures" not in repr(model)
        if like and values.is_tame(X) and kind.__name__ in CLOSED_FORM:
            _like_written_out(case, kind(**params), plain, model, X, new, named)
    _refuses(case, model, new)


def _like_written_out(
    case: Case, twin: Any, plain: Any, model: Any, X: np.ndarray, new: np.ndarray, named: Any
) -> None:
    """The model of sparse rows answers as that of rows written out, up to a hundred times what the last digit does."""
    if not case.call("fit(moved by a digit)", twin.fit, X * (1.0 + np.finfo(float).eps), **named).answered:
        return
    for name in (one for one in READS if hasattr(model, one)):
        # kernel PCA measures sparse rows, as all items that are not vectors, among features
        space = {"space": "feature"} if name == "reconstruction_error" else {}
        a, b, c = (case.call(name, getattr(one, name), new, may_name=r"\w", **space) for one in (model, plain, twin))
        if a.answered and b.answered and c.answered and not isinstance(b.value, list):
            size = values.typical(np.asarray(b.value, dtype=float))
            far = float(np.abs(np.asarray(b.value, dtype=float) - np.asarray(c.value, dtype=float)).max(initial=0.0))
            case.agree(f"{name} of the model of sparse rows", a.value, b.value, atol=1e-6 * size + 100.0 * far + 1e-12)


def _reads_all_forms(case: Case, model: Any, plain: Any, new: np.ndarray) -> None:
    """A model of sparse rows gives one answer to new rows in every form, also after it was saved."""
    for name in (one for one in READS if hasattr(model, one)):
        first = case.call(f"{name}(sparse)", getattr(model, name), stored(case, new), may_name=r"\w")
        written = case.call(f"{name}(written out)", getattr(model, name), new, may_name=r"\w")
        beside = case.call(f"{name} of the model of rows written out", getattr(plain, name), new, may_name=r"\w")
        if not first.good or not written.good:
            continue
        if first.answered != written.answered:
            case.fail("disagreement", f"{name}(sparse): {first.error}, written out: {written.error}")
        elif first.answered:
            _same(case, f"{name}(sparse)", first, written, 1e-9)
            if beside.refused:
                case.fail("disagreement", f"{name}(sparse): answered, the model of rows written out: {beside.error}")
            if type(model).__name__ not in ("SmoothClassifier", "SmoothRegressor") and case.chance(0.3):
                _saved(case, model, name, new, first)


def _same(case: Case, what: str, found: Answer, expected: Answer, rtol: float) -> None:
    if isinstance(expected.value, list):
        case.expect(str(found.value) == str(expected.value), what)
        return
    a, b = np.asarray(found.value), np.asarray(expected.value)
    if b.dtype.kind in "fiu":
        case.agree(what, a, b, atol=rtol * values.typical(b.astype(float)))
    else:
        case.expect(np.array_equal(a, b), what)


def _saved(case: Case, model: Any, name: str, new: np.ndarray, first: Answer) -> None:
    path = case.folder / "sparse.rkhs"
    if case.call("save", rkhs.save, model, path, may_name=r"\w").answered:
        read = case.call("load", rkhs.load, path)
        if read.answered:
            again = case.call(f"{name} of the loaded model", getattr(read.value, name), stored(case, new))
            if again.answered:
                _same(case, f"{name} of the loaded model", again, first, 1e-12)


def _refuses(case: Case, model: Any, new: np.ndarray) -> None:
    """Sparse matrices that no model can read."""
    d = new.shape[1]
    bad = {
        "one more column": scipy.sparse.csr_array((3, d + 1)),
        "not a number": scipy.sparse.csr_array(np.full((2, d), np.nan)),
        "infinite": scipy.sparse.csc_array(np.full((2, d), np.inf)),
        "complex": scipy.sparse.csr_array(np.full((2, d), 1j)),
        "no rows": scipy.sparse.csr_array((0, d)),
    }
    label = case.one_of(bad)
    for name in (one for one in READS if hasattr(model, one)):
        found = case.call(f"{name}(sparse, {label})", getattr(model, name), bad[label], may_name=r"\w")
        case.expect(found.error is not None, f"{name}(sparse, {label}) is refused")
