"""Kernels on rows of sparse matrices: the values of the same rows written out, and what cannot be read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from rkhs import kernels
from rkhs._core.errors import InputError
from rkhs._core.sparse import compressed, from_items, to_items
from rkhs.kernels import Gaussian, Laplacian, Linear, Matern, MinMax, SparseRows, Tanimoto, as_kernel
from rkhs.kernels.combined.sparse_rows import on_sparse_rows

WIDTH = 40


def rows(n: int = 30, seed: int = 0, seen: float = 0.2) -> sp.csr_array:
    """Counts with an empty row and two equal rows."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(2.0, (n, WIDTH)) * (rng.random((n, WIDTH)) < seen) * 1.0
    X[1] = 0.0
    X[3] = X[2]
    return sp.csr_array(X)


KERNELS = [
    *(Linear(), Linear("mean_norm", "mean"), kernels.Polynomial(), kernels.Polynomial(2, 0.5, 1.0)),
    *(Gaussian(), Gaussian("scale"), Gaussian("1/d"), Gaussian("4*median"), Gaussian(0.3)),
    *(Matern(0.5), Matern(1.5, 0.2), Matern(2.5, "scale"), Laplacian("l2"), Laplacian("l1"), Laplacian("l1", "scale")),
    *(Tanimoto(), MinMax(), kernels.ArcCosine(), kernels.ArcCosine(0), kernels.ArcCosine(1, 2, True)),
    *(kernels.NTK(2), kernels.NTK(1, True), as_kernel("cosine"), Gaussian() + 0.5 * Linear(), Gaussian() * Tanimoto()),
    kernels.GaussianOf(Tanimoto()),
]


@pytest.mark.sample(26)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_the_rows_written_out(kernel: kernels.Kernel, weighted: bool) -> None:
    X, Y = rows(), rows(7, seed=1)
    D, E = torch.as_tensor(X.toarray()), torch.as_tensor(Y.toarray())
    w = torch.arange(1.0, len(D) + 1.0, dtype=torch.float64) if weighted else None
    w = None if w is None else w / w.sum()
    sparse, dense = on_sparse_rows(kernel, WIDTH).resolve(to_items(X), w), kernel.resolve(D, w)
    size = float(dense._gram(D).abs().max())
    # A cosine that rounds near 1 moves an angle by the root of the rounding: an order 0 and a tangent kernel show it.
    tol = (1e-7 if isinstance(kernel, (kernels.NTK, kernels.ArcCosine)) else 1e-12) * size
    assert (sparse._gram(to_items(X)) - dense._gram(D)).abs().max() <= tol
    assert (sparse._gram(to_items(Y), to_items(X)) - dense._gram(E, D)).abs().max() <= tol
    assert (sparse._diag(to_items(Y)) - dense._diag(E)).abs().max() <= tol
    assert sparse.known_psd == kernel.known_psd


def test_distances_far_from_the_origin_keep_their_digits() -> None:
    X = rows(12)
    far = sp.csr_array(np.c_[X.toarray(), np.full(12, 1e6)])
    near = SparseRows(Gaussian(0.1), WIDTH)(X)
    assert np.abs(SparseRows(Gaussian(0.1), WIDTH + 1)(far) - near).max() <= 1e-12
    assert (SparseRows(Matern(0.5, 1.0), WIDTH + 1)(far)[2, 3]) == 1.0  # equal rows are at distance zero


def test_rows_that_differ_by_a_trifle_do_not_coincide() -> None:
    X = rows(6).toarray()
    X[5] = X[4] * (1.0 + 1e-9)
    distance = np.linalg.norm(X[5] - X[4])
    found = -np.log(SparseRows(Matern(0.5, 1.0), WIDTH)(sp.csr_array(X)))[5, 4]
    assert abs(found - distance) <= 1e-6 * distance  # 1 - 1e-8 keeps so many digits of the rest


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("array", [False, True])
def test_every_format_is_read(form: str, array: bool) -> None:
    X = rows(8)
    given = X.asformat(form) if array else sp.csr_matrix(X).asformat(form)
    assert np.array_equal(SparseRows(Linear(), WIDTH)(given), SparseRows(Linear(), WIDTH)(X))


def test_duplicates_are_added_up_and_written_zeros_left_out() -> None:
    data, indices, indptr = np.array([1.0, 2.0, 0.0, 5.0]), np.array([3, 3, 1, 0]), np.array([0, 3, 4])
    untidy = sp.csr_array((data, indices, indptr), shape=(2, 4))
    found = compressed(untidy)
    assert np.array_equal(found.toarray(), [[0.0, 0.0, 0.0, 3.0], [5.0, 0.0, 0.0, 0.0]])
    assert found.nnz == 2
    assert np.array_equal(untidy.data, data)  # what the user holds stays as it is
    unsorted = sp.csr_array((np.array([1.0, 2.0]), np.array([3, 0]), np.array([0, 2])), shape=(1, 4))
    assert np.array_equal(compressed(unsorted).indices, [0, 3])


def test_wide_indices_are_read() -> None:
    X = rows(8)
    wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    assert wide.indices.dtype == np.int64
    assert np.array_equal(SparseRows(MinMax(), WIDTH)(wide), SparseRows(MinMax(), WIDTH)(X))


def test_items_are_rows_and_back() -> None:
    X = rows(9)
    assert (from_items(to_items(X), WIDTH) != X).nnz == 0
    assert from_items([], WIDTH).shape == (0, WIDTH)
    assert np.array_equal(SparseRows(Linear(), WIDTH)(to_items(X)), SparseRows(Linear(), WIDTH)(X.toarray()))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (sp.csr_array(np.array([[1.0, np.nan]])), "X must hold finite numbers; got NaN or infinity in row 0"),
        (sp.csr_array(np.array([[0.0, 1.0], [np.inf, 0.0]])), "infinity in row 1"),
        (sp.csr_array(np.array([[1.0, 2.0j]])), "X must hold real numbers; got a sparse csr_array of dtype complex128"),
        (sp.csr_array((0, 2)), "must have rows and columns"),
        (sp.coo_array(np.ones(2)), r"reads rows of 2 columns; got shape \(2,\)"),
        (sp.csr_array(np.ones((2, 3))), r"reads rows of 2 columns; got shape \(2, 3\)"),
        (np.ones((2, 3)), r"reads rows of 2 columns; got shape \(2, 3\)"),
        ([(np.array([1, 0], np.int32), np.ones(2))], "SparseRows reads"),  # places that do not ascend
        ([(np.array([2], np.int32), np.ones(1))], "SparseRows reads"),  # beyond the last column
        (["a text"], "SparseRows reads numbers"),
    ],
)
def test_what_cannot_be_read_is_refused(given: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        SparseRows(Linear(), 2)(given)


def test_places_beyond_the_matrix_are_refused() -> None:
    damaged = sp.csr_array(np.eye(3))
    damaged.indices[1] = 7
    with pytest.raises(InputError, match="damaged sparse matrix"):
        compressed(damaged)


def test_negative_numbers_are_named_for_minmax() -> None:
    with pytest.raises(InputError, match="MinMax reads numbers >= 0"):
        SparseRows(MinMax(), 2)(sp.csr_array(np.array([[0.0, -1.0]])))


class Own(Gaussian):
    """A user's kernel, which may compute something else."""


@pytest.mark.parametrize(
    "kernel",
    [Own(1.0), kernels.FunctionalGaussian(1.0), kernels.ScaledInputs(Gaussian(1.0), (1.0, 2.0)), Own(1.0) + Linear()],
    ids=repr,
)
def test_other_kernels_say_what_to_do(kernel: kernels.Kernel) -> None:
    with pytest.raises(InputError, match=r"does not read sparse matrices; use one of Gaussian.*or pass X.toarray\(\)"):
        on_sparse_rows(kernel, 2)


@pytest.mark.parametrize("bad", [Gaussian("mad"), Gaussian(-1.0), Matern(7.0), Linear("x"), Linear(1.0, "x")], ids=repr)
def test_parameters_out_of_range_have_their_own_errors(bad: kernels.Kernel) -> None:
    with pytest.raises(InputError) as dense:
        bad.resolve(torch.ones(3, WIDTH, dtype=torch.float64))
    with pytest.raises(InputError) as sparse:
        on_sparse_rows(bad, WIDTH).resolve(to_items(rows(3 + 3)))
    assert str(sparse.value) == str(dense.value)


def test_squares_that_do_not_fit_are_refused_as_those_of_rows_written_out() -> None:
    X = np.diag([1e200, 1e-3, 2.0, 5.0])
    for kernel in (Gaussian("scale"), SparseRows(Gaussian("scale"), 4)):
        with pytest.raises(InputError, match=r"squares are finite: Gaussian.gamma='scale' gives 0; rescale"):
            kernel(X)
