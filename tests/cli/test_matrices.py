"""Commands for matrices of distances, columns without names, and names that are typed with marks around them."""

import numpy as np
import pytest
from pandas import DataFrame

import rkhs
from rkhs.errors import InputError
from tests.cli.commands import Run, table

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
    np.save("d.npy", D[:10, :10])
    assert run("fit", "d.npy", "--gram", "-o", "m.rkhs")[0] == 0
    np.save("k.npy", np.exp(-new / np.median(D)))
    assert "X must hold distances with the items of the fit" in run("transform", "m.rkhs", "k.npy", "-o", "z.csv")[1]
