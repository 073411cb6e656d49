"""Commands for matrices of distances, columns without names, and names that are typed with marks around them."""

import numpy as np
import pytest
from pandas import DataFrame
from scipy.io import mmwrite
from scipy.sparse import csr_array, load_npz, save_npz
from scipy.spatial.distance import squareform

import rkhs
from rkhs.errors import InputError
from tests.cli.commands import Run, printed, table

POINTS = np.random.default_rng(0).normal(size=(12, 2))
D = np.sqrt(((POINTS[:, None] - POINTS) ** 2).sum(axis=2))


def test_distances_are_fitted_as_such_and_new_rows_are_distances(run: Run) -> None:
    rows = [",".join([f"i{i}", *(f"{x:.6f}" for x in D[i])]) for i in range(12)]
    table("d.csv", [",".join(["", *(f"i{i}" for i in range(12))]), *rows])
    scale = np.median(D[D > 0])
    status, said, _ = run("fit", "d.csv", "-o", "m.rkhs", "--gram", "--codes", "fit.csv")
    assert status == 0
    assert f"are distances d, read as exp(-d / {scale:.4g}), with their median; new rows are then distances" in said
    table("new.csv", ["," + ",".join(f"i{j}" for j in range(12)), "a," + ",".join(map(str, D[4]))])
    assert run("transform", "m.rkhs", "new.csv", "-o", "z.csv")[0] == 0
    model = rkhs.load("m.rkhs")
    codes = model.transform(DataFrame(D[4:5], columns=model.feature_names_in_))
    np.testing.assert_allclose(np.genfromtxt("z.csv", delimiter=",")[1, 1:], codes[0], rtol=1e-4)
    np.testing.assert_allclose(codes, model.codes_[4:5], atol=1e-3)
    assert run("novelty", "d.csv", "new.csv", "--gram", "-o", "p.csv")[0] == 0


def test_distances_are_told_from_kernel_values(run: Run) -> None:
    """The Schur complement of a kernel is positive; a matrix of kernel values of new items has one."""
    K, new = np.exp(-D[:10, :10]), D[10:, :10]
    model = rkhs.KernelPCA(2, kernel="precomputed").fit(K)
    assert model.transform(np.exp(-new)).shape == (2, 2)
    with pytest.raises(InputError, match=r"X must hold kernel values with the items of the fit; got numbers such as"):
        model.transform(new)
    np.save("d.npy", squareform(D[:10, :10], checks=False))
    assert run("fit", "d.npy", "--gram", "-o", "m.rkhs")[0] == 0
    np.save("k.npy", np.exp(-new / np.median(D)))
    assert "X must hold distances with the items of the fit" in run("transform", "m.rkhs", "k.npy", "-o", "z.csv")[1]


def test_a_sparse_gram_matrix_is_one_matrix(run: Run) -> None:
    save_npz("k.npz", csr_array(np.exp(-D) * (D < 1.0)))
    assert run("fit", "k.npz", "--gram", "-o", "m.rkhs")[0] == 0
    mmwrite("k.mtx", csr_array(np.exp(-D)))
    line = run("fit", "k.mtx", "--gram", "-o", "m.rkhs")[1].partition("convert it with Python: ")[2]
    exec(line, {})
    np.testing.assert_allclose(load_npz("k.npz").toarray(), np.exp(-D))


def test_columns_without_names_are_left_out_by_their_places(run: Run) -> None:
    numbers = np.random.default_rng(1).normal(size=(9, 5)).round(2)
    table("a.csv", [f"g{i % 3},{','.join(map(str, row))}" for i, row in enumerate(numbers)])
    status, said, _ = run("fit", "a.csv", "--header", "no", "--transpose", "-o", "m.rkhs")
    assert status == 2
    assert printed(said)[-2:] == ["--drop-columns", "0"]
    assert run(*printed(said))[0] == 0
