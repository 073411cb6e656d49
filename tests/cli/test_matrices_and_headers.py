"""Commands for matrices of distances, columns without names, and names that are typed with marks around them."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame, read_csv
from scipy.io import mmwrite
from scipy.sparse import csr_array, load_npz, save_npz
from scipy.spatial.distance import squareform

import rkhs
from rkhs.cli.main import whole_parser
from rkhs.cli.targets import read_column_of
from rkhs.data import read_table
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


def test_rows_that_are_no_distances_of_the_fit_have_a_warning(run: Run) -> None:
    """Distances in other units, and kernel values of distances; those of new and of the same points have none."""
    X = np.random.default_rng(1).uniform(size=(50, 5))
    E = 1.2 * np.sqrt(((X[:, None] - X) ** 2).mean(axis=2))
    np.save("d.npy", E[:40, :40])
    assert run("fit", "d.npy", "--gram", "--estimator", "kernel-pca", "--n-components", "2", "-o", "m.rkhs")[0] == 0
    model = rkhs.load("m.rkhs")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for good in (E[40:, :40], E[:40, :40], E[40:41, :40]):
            model.transform(good)
    with pytest.warns(UserWarning, match="farther from all of them than they are from each other"):
        model.transform(30.0 * E[40:, :40])
    with pytest.warns(UserWarning, match="which look like kernel values"):
        model.transform(np.exp(-E[40:, :40] / model.reader_.distance_scale))


def test_a_matrix_that_lacks_items_of_the_fit_has_no_command_without_them(run: Run) -> None:
    """A Gram matrix has no columns to leave out, so that the command would end in the same error."""
    names = ",".join(["", *(f"i{j}" for j in range(12))])
    table("d.csv", [names, *(",".join([f"i{i}", *map(str, row)]) for i, row in enumerate(D.tolist()))])
    table("y.csv", ["name,y", *(f"i{j},{j}" for j in range(12))])
    assert run("fit", "d.csv", "--gram", "--labels", "y.csv", "--predict", "y", "-o", "m.rkhs")[0] == 0
    table("new.csv", [names[:-4], ",".join(["a", *map(str, D[0, :11])])])
    status, said, _ = run("predict", "m.rkhs", "new.csv")
    assert status == 2
    assert "lacks 'i11', of the kernel values or distances with the items of the fit, all of which" in said
    assert "this command" not in said


def test_texts_next_to_a_matrix_of_a_npz_file_name_its_rows_and_columns(run: Run) -> None:
    """The only square matrix is printed with --key; names that are stored as Python objects are refused."""
    names, turned = np.array([f"i{j}" for j in range(10)]), [*range(9, -1, -1)]
    np.savez("e.npz", D=D[:10, :10], names=names, new=D[10:, turned[::-1]], of_new=np.array(["a", "b"]))
    table("y.csv", ["name,y", *(f"i{j},{'uv'[j % 2]}" for j in turned)])
    words = ("fit", "e.npz", "--gram", "--labels", "y.csv", "--predict", "y", "-o", "m.rkhs")
    said = run(*words)[1]
    assert printed(said) == [*words, "--key", "D"]
    data = read_table("e.npz", key="new", gram="cross")
    assert (data.row_names, data.column_names) == (("a", "b"), tuple(names))
    options = whole_parser().parse_args([*words, "--key", "D"])
    assert read_column_of(options, "y", "--predict").tolist() == [*"uvuvuvuvuv"]
    np.savez("e.npz", D=D[:10, :10], names=names.astype(object))
    assert "array 'names' may name the rows" in run(*words)[1]


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


def test_a_column_of_sequences_alone_is_read_by_the_command(run: Run) -> None:
    texts = ["".join(np.random.default_rng(i).choice([*"ACDEFGHIKL"], 9)) for i in range(20)]
    table("a.csv", ["pep,kind,y", *(f"{text},{'ab'[i % 2]},{i}" for i, text in enumerate(texts))])
    status, said, _ = run("fit", "a.csv", "--columns", "pep", "--predict", "kind", "-o", "m.rkhs")
    assert status == 2
    assert printed(said)[-2:] == ["--kind", "sequences"]
    assert run(*printed(said))[0] == 0


def test_marks_around_a_name_are_none_of_it(run: Run) -> None:
    table("a.csv", ["a b,c,y", *(f"{i % 5}.5,{i % 3},{i}" for i in range(20))])
    assert run("fit", "a.csv", "--predict", "'y'", "--drop-columns", "'a b'", "-o", "m.rkhs")[0] == 0
    table("b.csv", ["c", "1"])
    assert run("predict", "m.rkhs", "b.csv", "-o", "p.csv")[0] == 0
    assert Path("p.csv").read_text().startswith("row_from_1,y,")


def test_the_logarithms_are_written_of_the_table_below_other_rows(run: Run) -> None:
    numbers = np.exp(np.random.default_rng(2).normal(size=(30, 8)) * 3.0).round(3)
    rows = [f"g{i}," + ",".join(map(str, row)) for i, row in enumerate(numbers)]
    table("a.csv", ["by, X", "in, 2024", "gene," + ",".join(f"s{i}" for i in range(8)), *rows])
    status, said, out = run("fit", "a.csv", "--transpose", "-o", "m.rkhs")
    assert status == 0
    exec(str(re.search(r'python -c "(.*)"', said + out)[1]))  # type: ignore[index]
    np.testing.assert_allclose(read_csv("a_log.csv", index_col=0), np.log2(numbers))
