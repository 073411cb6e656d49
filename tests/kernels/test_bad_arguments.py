# ruff: noqa: E501 (messages stand in one piece)
"""Every wrong argument meets a typed error with a known message."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

from rkhs import KernelPCA
from rkhs._core.errors import InputError, RoundingWarning
from rkhs.kernels import (
    NTK,
    ArcCosine,
    FromFunction,
    FromModule,
    FunctionalGaussian,
    Gaussian,
    GaussianOf,
    Laplacian,
    Linear,
    Matern,
    MeanEmbedding,
    MinMax,
    MixedTable,
    MoleculeTanimoto,
    Normalized,
    OnColumns,
    Polynomial,
    Precomputed,
    ProbabilityProduct,
    Product,
    Scaled,
    ScaledInputs,
    Sum,
    Tanimoto,
    Views,
    as_kernel,
    kernel_from_name,
)

X = np.arange(6.0).reshape(3, 2)
BANDWIDTHS = [-1.0, 0.0, math.nan, math.inf, None, True, "1"]


@pytest.mark.parametrize("gamma", BANDWIDTHS[:-1])
@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Matern])
def test_bandwidth(cls: Any, gamma: Any) -> None:
    message = f"{cls.__name__}.gamma must be > 0 or 'median' or 'scale' or '1/d'; got {gamma!r}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        cls(gamma=gamma)(X)


@pytest.mark.parametrize(
    "given", ["medain", "*median", "0*median", "-1*scale", "inf*median", "x*1/d", "median*4", "4*"]
)
@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Matern])
def test_bandwidth_name(cls: Any, given: str) -> None:
    message = (
        f"{cls.__name__}.gamma must be > 0 or one of 'median', 'scale', '1/d', or a multiple of these such as "
        f"'4*median'; got {given!r}"
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        cls(gamma=given)(X)


@pytest.mark.parametrize("rule", ["median", "scale", "1/d"])
@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Matern])
def test_bandwidth_of_a_multiple(cls: Any, rule: str) -> None:
    data = torch.randn(20, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert cls(gamma=f"2.5*{rule}").resolve(data).gamma == pytest.approx(2.5 * cls(gamma=rule).resolve(data).gamma)


@pytest.mark.parametrize("gamma", BANDWIDTHS)
def test_bandwidth_of_derived_gaussian(gamma: Any) -> None:
    message = f"GaussianOf.gamma must be > 0 or 'median'; got {gamma!r}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        GaussianOf(Linear(), gamma)(X)


FUNCTION = "the function of FromFunction must "
CASES: list[tuple[Any, Any, str]] = [
    (Matern(2.0), X, "Matern.nu must be 0.5, 1.5 or 2.5; got 2.0"),
    (Laplacian("l3"), X, "Laplacian.norm must be 'l1' or 'l2'; got 'l3'"),
    (Linear("big"), X, "Linear.scale must be > 0 or 'mean_norm'; got 'big'"),
    (Linear(-2.0), X, "Linear.scale must be > 0 or 'mean_norm'; got -2.0"),
    (Linear(offset="median"), X, "Linear.offset must be None, 'mean' or an array of shape (d,); got 'median'"),
    (Linear(offset=[1.0]), X, "Linear.offset must have shape (2,), one value per column; got (1,)"),
    (Polynomial(0), X, "Polynomial.degree must be an integer from 1 to 1000000000; got 0"),
    (Polynomial(1.5), X, "Polynomial.degree must be an integer from 1 to 1000000000; got 1.5"),
    (Polynomial(10**60), X, "Polynomial.degree must be an integer from 1 to 1000000000; got 1" + 39 * "0"),
    (Polynomial(2, "d"), X, "Polynomial.scale must be > 0 or '1/d'; got 'd'"),
    (Polynomial(2, 1.0, -1.0), X, "Polynomial.offset must be >= 0; got -1.0"),
    (ArcCosine(2), X, "ArcCosine.order must be 0 or 1; got 2"),
    (ArcCosine(np.ones(2)), X, "ArcCosine.order must be 0 or 1; got array([1., 1.])"),
    (Laplacian(np.ones(2)), X, "Laplacian.norm must be 'l1' or 'l2'; got array([1., 1.])"),
    (Polynomial(2, scale=np.ones(2)), X, "Polynomial.scale must be > 0 or '1/d'; got array([1., 1.])"),
    (ArcCosine("1"), X, "ArcCosine.order must be 0 or 1; got '1'"),
    (ArcCosine(1, 0), X, "ArcCosine.depth must be an integer from 1 to 10000; got 0"),
    (NTK(1.5), X, "NTK.depth must be an integer from 1 to 10000; got 1.5"),
    (NTK(1, "yes"), X, "NTK.bias must be True or False; got 'yes'"),
    (MinMax(), -X, "MinMax reads numbers >= 0; got -1 in row 0. Shift the columns to be non-negative, or use Tanimoto"),
    (Scaled(Linear(), 0.0), X, "Scaled.scale must be > 0; got 0.0"),
    (Scaled("rbf", 1.0), X, "Scaled.base must be a kernel; got 'rbf'"),
    (Sum(()), X, "Sum.terms must be a tuple of at least one kernel; got ()"),
    (Product((1,)), X, "Product.terms must be kernels; got 1"),
    (Normalized("rbf"), X, "Normalized.base must be a kernel; got 'rbf'"),
    (GaussianOf(3), X, "GaussianOf.base must be a kernel; got 3"),
    (Gaussian() + Precomputed(), X, "Sum mixes kernels on ['gram', 'vectors']; its parts must read the same data"),
    (Gaussian() * FromFunction(max), X, "Product mixes kernels on ['objects', 'vectors']; its parts must read the same data"),
    (Precomputed(-1.0), X @ X.T, "Precomputed.new_diag must be >= 0; got -1.0"),
    (Precomputed(), X, "Precomputed reads a square Gram matrix (n training items by n training items) first; got shape (3, 2)"),
    (Precomputed(train_diag=[1.0]), X @ X.T, "Precomputed.train_diag must have shape (3,), one value per training item; got (1,). Leave it out: resolve writes it down"),
    (FromFunction(3), ["a"], "FromFunction.function must be a function of two items; got 3"),
    (FromFunction(max, inputs="graphs"), ["a"], "FromFunction.inputs must be one of 'objects', 'vectors'; got 'graphs'"),
    (Gaussian() + FromFunction(max, inputs=np.ones(2)), X, "FromFunction.inputs must be one of 'objects', 'vectors'; got array([1., 1.])"),
    (FromFunction(max), "abc", "X must be a list of objects, one per item; got a str. Wrap one object in a list"),
    (FromFunction(max, differentiable=np.ones(2)), X, "FromFunction.differentiable must be True or False; got array([1., 1.])"),
    (FromFunction(lambda x, y: math.nan), ["a"], FUNCTION + "return finite numbers; got nan for items 0 and 0"),
    (FromFunction(lambda x, y: "a"), ["a"], FUNCTION + "return a number for two items; got 'a' for items 0 and 0. Use vectorized=True for a function of two lists"),
    (FromFunction(lambda x, y: [[1.0]], True), ["a", "b"], FUNCTION + "return a matrix of shape (2, 2) for 2 and 2 items; got (1, 1). Use vectorized=False for a function of two items"),
    (FromFunction(lambda x, y: x - y), [1, 2], FUNCTION + "be symmetric; got values that differ by 2 when the items are swapped. Pass lambda x, y: (f(x, y) + f(y, x)) / 2 if that is meant"),
    (Gaussian(), [1.0, 2.0], "Gaussian reads a 2-D array (n samples, d inputs); got shape (2,). Reshape one feature by X.reshape(-1, 1), one sample by X.reshape(1, -1)"),
    (Gaussian(), [["a"]], "Gaussian reads numbers; got dtype <U1. Encode the columns as numbers, or use a kernel for objects"),
    (Gaussian(), [[1.0], [1.0, 2.0]], "Gaussian reads numbers; got dtype object. Encode the columns as numbers, or use a kernel for objects"),
    (Tanimoto(), X * 1j, "Tanimoto reads numbers; got dtype complex128. Encode the columns as numbers, or use a kernel for objects"),
    (Gaussian(), X * np.nan, "Gaussian reads finite numbers; got NaN or infinity in row 0. Fill or drop such rows first"),
    (NTK(), np.empty((0, 3)), "NTK reads a 2-D array (n samples, d inputs); got shape (0, 3), which is empty"),
    (Linear(), scipy.sparse.csr_array(X), "Linear reads dense arrays; got a sparse csr_array. Pass X.toarray()"),
    (Gaussian(), np.ma.masked_equal(X, 1.0), "X must have no missing values; got a masked array with 1 masked entries. Fill or drop them first"),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "data", "message"), CASES)
def test_exact_messages(kernel: Any, data: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        kernel(data)
    assert str(caught.value) == message


def test_two_widths() -> None:
    with pytest.raises(
        InputError, match=r"^X and Y must have the same number of columns; got shapes \(3, 2\) and \(3, 1\)$"
    ):
        Gaussian(1.0)(X, X[:, :1])


def test_unresolved_kernels_do_not_compute() -> None:
    import torch

    T = torch.from_numpy(X)
    for kernel in (Gaussian(), Linear("mean_norm"), Polynomial(), GaussianOf(Linear())):
        with pytest.raises(InputError, match=r"call resolve\(X\) first"):
            kernel._gram(T)


def test_order_zero_cannot_act_on_codes() -> None:
    import torch

    with pytest.raises(InputError, match=r"^ArcCosine of order 0 has no gradient where points coincide"):
        ArcCosine(0).pullback(torch.ones(2, 2), torch.ones(2, 2))
    assert not ArcCosine(0).differentiable
    assert not (ArcCosine(0) + Linear()).differentiable


def test_names() -> None:
    for name, cls in [("gaussian", Gaussian), ("rbf", Gaussian), ("poly", Polynomial), ("precomputed", Precomputed)]:
        assert as_kernel(name) == kernel_from_name(name) == cls()
    for name in ("laplacian", "matern", "linear", "polynomial", "arccosine", "ntk", "tanimoto", "minmax"):
        assert kernel_from_name(name).domain == "vectors"
    with pytest.raises(InputError) as caught:
        kernel_from_name("gausian")
    assert re.fullmatch(
        r"kernel must be one of 'gaussian', 'rbf', .*, 'precomputed'; got 'gausian'\. Did you mean 'gaussian'\?",
        str(caught.value),
    )
    with pytest.raises(InputError, match=r"got 'zzz'\. Pass a Kernel for anything else$"):
        as_kernel("zzz")
    with pytest.raises(InputError, match=r"^kernel must be an instance; got the class Gaussian\. Write Gaussian\(\)$"):
        as_kernel(Gaussian)
    with pytest.raises(InputError, match=r"^kernel must be a Kernel, a name or a function of two items; got 3$"):
        as_kernel(3)
    kernel = Gaussian(2.0)
    assert as_kernel(kernel) == kernel
    assert as_kernel(kernel) is not kernel


def test_a_function_is_asked_for_half_of_the_pairs() -> None:
    calls: list[tuple[int, int]] = []

    def product(x: int, y: int) -> int:
        calls.append((x, y))
        return x * y

    FromFunction(product)([1, 2, 3, 4])
    assert len(calls) == 4 * 5 // 2 + 3  # and some mirror images, to find asymmetric functions


def test_an_asymmetric_function_is_found_though_most_of_its_values_are_0() -> None:
    near = FromFunction(lambda x, y: max(0.0, 2.0 - abs(x - y)) * (1 + 0.5 * (x > y)))
    with pytest.raises(InputError, match="must be symmetric; got values that differ by 0.5"):
        near(list(range(20)))


@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), MinMax(), Gaussian() * Matern(), Precomputed()])
def test_gradients_are_never_dropped_in_silence(kernel: Any) -> None:
    given = torch.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    for call in (kernel, kernel.diag):
        with pytest.raises(InputError, match=r"records no gradients.*Pass X\.detach\(\)"):
            call(given)
        with torch.no_grad():
            torch.testing.assert_close(call(given), call(given.detach()))
    with pytest.raises(InputError, match="dense tensors; got layout torch.sparse_coo"):
        kernel(given.detach().to_sparse())


def test_numbers_among_objects_are_numbers() -> None:
    pd = pytest.importorskip("pandas", reason="frames need pandas")
    values = np.array([[1.0, 2.0], [3.0, 5.0]])
    expected = Gaussian()(values)
    mixed = pd.DataFrame(
        {"a": pd.array([1, 3], dtype="Int64"), "b": pd.array([2.0, 5.0], dtype="Float64")}, index=[7, 3]
    )
    for given in (values.astype(object), mixed, mixed.astype({"b": "float64"})):
        np.testing.assert_array_equal(Gaussian()(given), expected)
    for bad in (np.array([[1.0, "2"]], dtype=object), np.array([[1.0, None]], dtype=object), mixed.mask(mixed > 4)):
        with pytest.raises(InputError, match="Gaussian reads"):
            Gaussian()(bad)


@pytest.mark.parametrize("bad", [list, np.float64(1.0), np.array(3.0), torch.tensor(1.0)])
def test_what_holds_no_items_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="X must be a list of objects"):
        FromFunction(lambda x, y: 1.0)(bad)
    with pytest.raises(InputError, match="expected"):
        MixedTable()(list)
    with pytest.raises(InputError, match="X must hold at least one row; got none"):
        MixedTable()(np.empty((0, 2)))
    with pytest.raises(InputError, match="reads bags"):
        MeanEmbedding()(scipy.sparse.csr_array(X))
    with pytest.raises(InputError, match=r"FunctionalGaussian\.gamma must be"):
        FunctionalGaussian(gamma=np.ones(2))(X)


def test_either_byte_order_is_single_precision() -> None:
    single = X.astype(">f4")
    assert Gaussian()(single).dtype == np.float32
    np.testing.assert_array_equal(Gaussian()(single), Gaussian()(X.astype("f4")))


@pytest.mark.parametrize("kernel", [NTK(10**8), ArcCosine(depth=10_001)])
def test_a_depth_that_would_take_minutes_is_refused(kernel: Any) -> None:
    with pytest.raises(InputError, match=r"depth must be an integer from 1 to 10000; got"):
        kernel(X)


def test_a_table_of_no_known_cell_in_a_row_has_an_answer() -> None:
    kernel = MixedTable().resolve(MixedTable().read([(1.0, "a"), (2.0, "b"), (None, None)]))
    K = np.asarray(kernel([(None, None)], [(1.0, "a"), (None, None)]))
    assert np.isfinite(K).all()


@pytest.mark.parametrize("columns", [0, np.int64(2), {}, "01", [0.5], [[0]], [0, 0], []])
def test_columns_of_a_kernel_are_positions(columns: Any) -> None:
    with pytest.raises(InputError, match=r"OnColumns\.columns must be"):
        OnColumns(Gaussian(1.0), columns)(X)


@pytest.mark.parametrize("bad", [np.float32(0.5), 3, "01", [0.5], [9], [-1], None])
def test_lists_of_numbers_that_are_none_are_refused_by_name(bad: Any) -> None:
    with pytest.raises(InputError, match=r"MixedTable\.categorical must be"):
        MixedTable(categorical=bad)([(1.0, 2.0)])
    if bad is not None:
        with pytest.raises(InputError, match=r"FromModule\.input_shape must"):
            FromModule(torch.nn.Identity(), Gaussian(1.0), input_shape=bad)(X)


def test_imaginary_parts_are_never_dropped() -> None:
    with pytest.raises(InputError, match="ProbabilityProduct reads pairs"):
        ProbabilityProduct()([(np.array([50.0 + 1j]), np.array([1.0]))])
    with pytest.raises(InputError, match=r"FromFunction returns must hold real numbers; got dtype complex128"):
        FromFunction(lambda A, B: np.ones((len(A), len(B))) * 1j, vectorized=True)(X)
    with pytest.raises(InputError, match=r"FromFunction returns must hold real numbers; got dtype complex64"):
        FromFunction(lambda A, B: torch.ones(len(A), len(B)) * 1j, vectorized=True)(X)


def test_numbers_that_are_none_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="Linear.offset must"):
        Linear(offset={})(X)
    with pytest.raises(InputError, match=r"item 1 has no view 'b'.*side by side with NaN.*columns='filled'"):
        Views({"a": Linear(), "b": Linear()})([{"a": [1.0], "b": [2.0]}, {"a": [1.0], "b": None}])
    with pytest.raises(InputError, match=r"an item must have one part per view.*no parts"):
        Views([Gaussian(1.0), Linear(1.0)])([scipy.sparse.csr_array(X)])
    for named in ({"radius": 101}, {"n_bits": 2**24 + 1}):
        with pytest.raises(InputError, match=f"MoleculeTanimoto.{next(iter(named))} must be an integer from"):
            MoleculeTanimoto(**named)(["CC"])


@pytest.mark.parametrize("name", ["vectorized", "differentiable"])
def test_flags_of_a_function_are_true_or_false(name: str) -> None:
    with pytest.raises(InputError, match=rf"FromFunction\.{name} must be True or False; got b''"):
        FromFunction(lambda x, y: 1.0, **{name: b""})([1, 2])


@pytest.mark.parametrize("columns", [3, "ab", [3, 4], [{}, {}]])
def test_columns_of_a_table_are_those_of_training(columns: Any) -> None:
    with pytest.raises(InputError, match=r"MixedTable\.columns must be what resolve"):
        MixedTable(columns=columns)([(1.0, "a")])


@pytest.mark.parametrize("scales", [10**400, "x", {}, [1.0], [1.0, 0.0], [1.0, math.nan], [1j, 1.0]])
def test_scales_of_columns_are_positive_numbers(scales: Any) -> None:
    with pytest.raises(InputError, match=r"ScaledInputs\.scales must"):
        ScaledInputs(Gaussian(1.0), scales)(X)


@pytest.mark.parametrize("offset", ["median", [1.0], [np.nan, 0.0, 0.0], {}])
def test_the_origin_of_scaled_columns_is_one_number_a_column(offset: Any) -> None:
    with pytest.raises(InputError, match=r"ScaledInputs[.:].*offset must"):
        ScaledInputs(Gaussian(1.0), (1.0, 2.0), offset)(X)


def test_bandwidths_of_single_precision_are_numbers() -> None:
    np.testing.assert_array_equal(Gaussian(np.float32(0.5))(X), Gaussian(0.5)(X))


def test_numbers_that_single_precision_cannot_hold() -> None:
    X = np.ones((3, 2), dtype=np.float32)
    kernel = Linear() + 1e100 * Gaussian(1.0)
    with pytest.raises(InputError, match=r"^Sum\(.*\) has a number that single precision cannot hold; pass data in"):
        kernel(X)
    assert np.isfinite(kernel(X.astype(np.float64))).all()
    with pytest.raises(InputError, match=r"^KernelPCA\((.|\n)*\) has a number that single precision cannot hold"):
        KernelPCA(2, kernel=Gaussian(1.0) + 1e100 * Linear(), dtype="float32").fit(np.eye(4))


def test_distances_that_are_rounding_are_said() -> None:
    X = 1000.0 + 1e-4 * np.random.default_rng(0).normal(size=(6, 1))
    with pytest.warns(RoundingWarning, match=r"^GaussianOf: half of the squared distances of Tanimoto\(\) are under"):
        GaussianOf(Tanimoto())(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fine in (X - 999.9, np.ones((3, 2))):
            GaussianOf(Tanimoto())(fine)


def test_how_a_mixed_table_takes_gaps_is_one_of_two_words() -> None:
    for wrong in (np.ones(2), "drop", None):
        with pytest.raises(InputError, match=r"^MixedTable\.missing must be"):
            MixedTable(missing=wrong)([(1.0, "a"), (None, "b")])


def test_items_of_a_size_near_the_smallest_number_count_as_zero() -> None:
    K = np.full((3, 3), 3e-321)
    K[2] = K[:, 2] = 0.0
    K[2, 2] = 4.0
    kernel = Normalized(Precomputed())
    np.testing.assert_array_equal(kernel(K), np.diag([0.0, 0.0, 1.0]))
    np.testing.assert_array_equal(kernel.diag(K), [0.0, 0.0, 1.0])


def test_a_mixed_table_of_strange_columns_has_a_text() -> None:
    assert "columns=1.5" in repr(MixedTable(columns=1.5))


def test_the_factor_of_a_resolved_kernel_is_checked_once_and_not_at_every_gram_matrix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, check = [], Scaled._declared["scale"]
    monkeypatch.setitem(Scaled._declared, "scale", lambda *a: (seen.append(a), check(*a))[1])
    X = torch.eye(3, dtype=torch.float64)
    kernel = (Gaussian(1.0) + 0.5 * Linear()).resolve(X)
    assert len(seen) == 1
    kernel._gram(X), kernel._diag(X), kernel.differentiable, kernel.domain, kernel.read(X)
    assert len(seen) == 1
    with pytest.raises(InputError, match=r"^Scaled\.scale must be > 0; got -1\.0"):
        Scaled(Gaussian(1.0), -1.0)(X)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([object(), object()], r"got objects, the first .*; pass kernel=rkhs.kernels.FromFunction"),
        ([{1, 2}, {2, 3}, {4}], r"got sets, the first \{1, 2\}; pass kernel=rkhs.kernels.FromFunction"),
        ([{"a": 1}, {"a": 2}, {"a": 4}], "got dicts, the first .*; pass kernel='mixed_table'"),
        ([(1, 2), (2, 3, 4), (5,)], r"got rows of different lengths, the first \(1, 2\); pass kernel='mean_embedding'"),
    ],
)
def test_the_default_kernel_names_those_of_objects(items: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        KernelPCA(2).fit(items * 5)
    with pytest.raises(InputError, match="row 0 is a set"):
        MixedTable().read([{1, 2}, {2, 3}])


def test_an_error_of_the_users_function_names_the_pair() -> None:
    own = FromFunction(lambda a, b: len(a & b))
    with pytest.raises(
        InputError, match=r"function of FromFunction raised TypeError for items 1 and 0, \[2\] and \{1\}"
    ):
        KernelPCA(1, kernel=own).fit([{1}, [2], {3}])
    whole = FromFunction(lambda A, B: A @ B, vectorized=True)
    with pytest.raises(InputError, match="raised TypeError for lists of 3 and 3 items"):
        KernelPCA(1, kernel=whole).fit(["a", "b", "c"])
