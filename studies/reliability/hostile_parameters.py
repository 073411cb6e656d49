"""Hostile parameters of estimators and of the kernels they are given: of both models, then of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rkhs import KernelAutoencoder, KernelContrastive, KernelPCA, OperatorKernelRegressor, OperatorKernelRegressorCV
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Product, Scaled, Spectrum, Sum
from studies.reliability.hostile_calls import MODELS, NEW, HostileCalls, K, N, X, ae, pca, rebuilt

calls = HostileCalls()
refused, answered = calls.refused, calls.answered

# ---------------------------------------------------------------- of both

for model_name, make in MODELS.items():

    def wrong(
        name: str,
        match: str,
        make: Callable[..., Any] = make,
        model_name: str = model_name,
        data: Any = X,
        error: type[Exception] = InputError,
        **params: Any,
    ) -> None:
        refused(f"{model_name}: {name}", lambda: make(**params).fit(data), match, error)

    wrong("n_components = 0", r"n_components must be an integer .*; got 0", n_components=0)
    wrong("n_components = -1", r"n_components must be an integer .*; got -1", n_components=-1)
    wrong("n_components = '2'", r"n_components must be .*; got '2'", n_components="2")
    wrong("n_components = True", r"n_components must be .*; got True", n_components=True)
    wrong("n_components = NaN", r"n_components must be .*; got nan", n_components=float("nan"))
    wrong("n_components = 2.5", r"n_components must be .*; got 2.5", n_components=2.5)
    wrong("kernel by a wrong name", r"kernel must be .*; got 'gausian'", kernel="gausian")
    wrong("kernel = 3", r"kernel must be .*; got 3", kernel=3)
    wrong("kernel = None", r"kernel must be .*; got None", kernel=None)
    wrong(
        "kernel class instead of an object",
        r"kernel must be an instance; got the class Gaussian. Write Gaussian\(\)",
        kernel=Gaussian,
    )
    wrong(
        "negative gamma", r"Gaussian.gamma must be > 0 or 'median' or 'scale' or '1/d'; got -1.0", kernel=Gaussian(-1.0)
    )
    wrong("gamma = 0", r"Gaussian.gamma must be > 0 .*; got 0", kernel=Gaussian(0))
    wrong("gamma = NaN", r"Gaussian.gamma must be > 0 .*; got nan", kernel=Gaussian(float("nan")))
    wrong("gamma = infinity", r"Gaussian.gamma must be > 0 .*; got inf", kernel=Gaussian(float("inf")))
    wrong("gamma by a wrong name", r"Gaussian.gamma must be > 0 or one of .*; got 'auto'", kernel=Gaussian("auto"))
    wrong("gamma = None", r"Gaussian.gamma must be > 0 .*; got None", kernel=Gaussian(None))
    wrong("gamma = True", r"Gaussian.gamma must be > 0 .*; got True", kernel=Gaussian(True))
    wrong("gamma a list", r"Gaussian.gamma must be > 0 .*; got \[1.0\]", kernel=Gaussian([1.0]))
    wrong(
        "gamma that overflows",
        r"Matern.gamma must be at most 1e\+150; got 1.0e\+200. Rescale",
        kernel=Matern(0.5, 1e200),
    )
    wrong("nu = 1", r"Matern.nu must be 0.5, 1.5 or 2.5; got 1", kernel=Matern(1))
    wrong("nu = array", r"Matern.nu must be 0.5, 1.5 or 2.5; got array", kernel=Matern(np.array([0.5, 1.5])))
    wrong("norm = 'l3'", r"Laplacian.norm must be 'l1' or 'l2'; got 'l3'", kernel=Laplacian("l3"))
    wrong("degree = 0", r"Polynomial.degree must be an integer from 1 to 1000000000; got 0", kernel=Polynomial(0))
    wrong("degree = 2.5", r"Polynomial.degree must be an integer from 1 to 1000000000; got 2.5", kernel=Polynomial(2.5))
    wrong(
        "negative offset of a polynomial", r"Polynomial.offset must be >= 0; got -1.0", kernel=Polynomial(2, 1.0, -1.0)
    )
    wrong(
        "scale of a polynomial by a wrong name",
        r"Polynomial.scale must be > 0 or '1/d'; got 'x'",
        kernel=Polynomial(2, "x"),
    )
    wrong("scale of a linear kernel = 0", r"Linear.scale must be > 0 or 'mean_norm'; got 0.0", kernel=Linear(0.0))
    wrong(
        "offset of another length",
        r"Linear.offset must have shape \(3,\).*got \(2,\)",
        kernel=Linear(offset=np.zeros(2)),
    )
    wrong(
        "offset with NaN", r"Linear.offset must be finite; got NaN", kernel=Linear(offset=np.array([0.0, np.nan, 0.0]))
    )
    wrong(
        "offset of strings",
        r"Linear.offset must hold real numbers; got dtype <U1",
        kernel=Linear(offset=["a", "b", "c"]),
    )
    wrong("scaled by zero", r"Scaled.scale must be > 0; got 0.0", kernel=Scaled(Gaussian(), 0.0))
    wrong("scaled by minus one", r"Scaled.scale must be > 0; got -1.0", kernel=-1.0 * Gaussian())
    wrong("scaled nothing", r"Scaled.base must be a kernel; got 'gaussian'", kernel=Scaled("gaussian", 1.0))
    wrong("empty sum", r"Sum.terms must be a tuple of at least one kernel; got \(\)", kernel=Sum(()))
    wrong("sum with a number", r"Sum.terms must be kernels; got 1.0", kernel=Sum((Gaussian(), 1.0)))
    wrong("product with a name", r"Product.terms must be kernels; got 'linear'", kernel=Product((Gaussian(), "linear")))
    wrong(
        "values that overflow",
        r"the kernel Polynomial.*gives values that are not finite on these data.*; rescale",
        kernel=Polynomial(9),
        data=X * 1e60,
    )
    wrong("device by a wrong name", r"device must be one of 'auto', 'cpu', 'cuda', 'mps'; got 'tpu'", device="tpu")
    wrong("device an object", r"device must be one of .*; got device\(type='cpu'\)", device=torch.device("cpu"))
    wrong("dtype by a wrong name", r"dtype must be one of 'float64', 'float32'; got 'float16'", dtype="float16")
    wrong("dtype an object", r"dtype must be one of .*; got torch.float32", dtype=torch.float32)
    wrong("center = 'yes'", r"center must be True or False; got 'yes'", center="yes")
    wrong("center = None", r"center must be True or False; got None", center=None)
    wrong("center = array", r"center must be True or False; got array", center=np.array([True, False]))
    wrong("float32 overflow", r"X must hold values of modulus under", dtype="float32", data=X * 1e20)

# ---------------------------------------------------------------- of one

refused(
    "pca: n_components above the rows",
    lambda: pca(n_components=99).fit(X),
    r"n_components must be an integer from 1 to 14 \(the number of samples\); got 99",
)
refused(
    "pca: n_components = 1.0",
    lambda: pca(n_components=1.0).fit(X),
    r"n_components must be an integer >= 1, a share in \(0, 1\) or None; got 1.0",
)
refused("pca: n_components = 0.0", lambda: pca(n_components=0.0).fit(X), r"a share in \(0, 1\) or None; got 0.0")
refused("pca: n_components = -0.5", lambda: pca(n_components=-0.5).fit(X), r"a share in \(0, 1\) or None; got -0.5")
refused(
    "pca: n_components a tuple",
    lambda: pca(n_components=(2, 3)).fit(X),
    r"n_components must be an integer >= 1.*; got \(2, 3\)",
)
refused(
    "pca: preimage by a wrong name",
    lambda: pca(preimage="mika").fit(X),
    r"preimage must be one of 'ridge', 'fixed_point', 'nearest'; got 'mika'",
)
refused("pca: reg = 0", lambda: pca(reg=0.0).fit(X), r"reg must be > 0; got 0.0")
refused("pca: reg = -1", lambda: pca(reg=-1.0).fit(X), r"reg must be > 0; got -1.0")
refused("pca: reg = NaN", lambda: pca(reg=np.nan).fit(X), r"reg must be > 0; got nan")
refused("pca: reg a tuple", lambda: pca(reg=(1.0, 1.0)).fit(X), r"reg must be > 0; got \(1.0, 1.0\)")
refused(
    "pca: decoder_kernel by a wrong name",
    lambda: pca(decoder_kernel="x").fit(X),
    r"decoder_kernel: kernel must be one of .*; got 'x'",
)
refused(
    "pca: decoder_kernel of Gram matrices",
    lambda: pca(decoder_kernel="precomputed").fit(X),
    r"decoder_kernel: decoder_kernel must be a kernel on vectors; got",
)
refused(
    "pca: space by a wrong name",
    lambda: pca().fit(X).reconstruction_error(X, space="x"),
    r"space must be one of 'auto', 'input', 'feature'; got 'x'",
)
refused(
    "pca: input space of a Gram matrix",
    lambda: pca(kernel="precomputed").fit(K).reconstruction_error(K, space="input"),
    r"space='input' needs vector inputs",
)
answered("pca: all components of duplicated rows", lambda: rebuilt(pca(n_components=None), np.r_[X, X]))
answered("pca: as many components as rows", lambda: rebuilt(pca(n_components=N)))
refused(
    "pca: constant data, a share of the variance",
    lambda: rebuilt(pca(n_components=0.9), np.ones((6, 3))),
    r"X must hold at least two different items",
)
answered("pca: one row", lambda: pca(n_components=1).fit(X[:1]).transform(NEW))
for preimage in ("fixed_point", "nearest"):
    answered(f"pca: {preimage} of far rows", lambda preimage=preimage: rebuilt(pca(preimage=preimage), X, NEW * 1e6))
    answered(
        f"pca: {preimage} at tiny scale",
        lambda preimage=preimage: rebuilt(pca(preimage=preimage), X * 1e-8, NEW * 1e-8),
    )
    answered(
        f"pca: {preimage} at huge scale", lambda preimage=preimage: rebuilt(pca(preimage=preimage), X * 1e8, NEW * 1e8)
    )
    answered(
        f"pca: {preimage} of a polynomial",
        lambda preimage=preimage: rebuilt(pca(preimage=preimage, kernel=Polynomial(3))),
    )


def wrong_ae(name: str, match: str, error: type[Exception] = InputError, **params: Any) -> None:
    refused(f"autoencoder: {name}", lambda: ae(**params).fit(X), match, error)


wrong_ae(
    "n_components = ()", r"n_components must be an integer >= 1 or a tuple of such; got an empty one", n_components=()
)
wrong_ae("n_components = (3, 0)", r"n_components must be an integer >= 1; got 0", n_components=(3, 0))
wrong_ae("n_components = (3, 2.0)", r"n_components must be an integer >= 1; got 2.0", n_components=(3, 2.0))
wrong_ae("n_components = None", r"n_components must be an integer >= 1; got None", n_components=None)
wrong_ae("n_components a matrix", r"n_components must be an integer >= 1; got", n_components=np.ones((2, 2), dtype=int))
wrong_ae("reg = -1", r"reg must be >= 0; got -1.0", reg=-1.0)
wrong_ae("reg = 0", r"reg of the last layer must be at least 1e-24.*; try 1e-8", reg=0.0)
wrong_ae("reg of the last layer = 0", r"reg of the last layer must be at least 1e-24", reg=(1.0, 0.0))
wrong_ae("reg = NaN", r"reg must be >= 0; got nan", reg=np.nan)
wrong_ae("reg = infinity", r"reg must be >= 0; got inf", reg=np.inf)
wrong_ae("reg = '1'", r"reg must be >= 0, one number or one per layer, or 'auto'; got '1'", reg="1")
wrong_ae(
    "reg of three layers", r"reg must be one number or 2, one per layer, encoder first; got 3", reg=(1.0, 1.0, 1.0)
)
wrong_ae("reg empty", r"reg must be one number or 2, one per layer, encoder first; got 0", reg=())
wrong_ae("solver by a wrong name", r"solver must be .*; got 'sgd'", solver="sgd")
wrong_ae("init by a wrong name", r"init must be one of 'kpca', 'random', 'uniform'; got 'pca'", init="pca")
wrong_ae("n_init = 0", r"n_init must be an integer >= 1; got 0", n_init=0)
wrong_ae("max_iter = 0", r"max_iter must be an integer >= 1; got 0", max_iter=0)
wrong_ae("max_iter = 1.5", r"max_iter must be an integer >= 1; got 1.5", max_iter=1.5)
wrong_ae("tol = -1", r"tol must be >= 0; got -1", tol=-1)
wrong_ae("tol = NaN", r"tol must be >= 0; got nan", tol=np.nan)
wrong_ae("tol = 'tight'", r"tol must be >= 0; got 'tight'", tol="tight")
wrong_ae("random_state = 'a'", r"random_state must be .*; got 'a'", random_state="a", n_init=2)
wrong_ae("random_state = -1", r"random_state must be .*; got -1", random_state=-1, n_init=2)
wrong_ae("scale = 'std'", r"scale must be True or False; got 'std'", scale="std")
wrong_ae("warm_start = 'no'", r"warm_start must be True or False; got 'no'", warm_start="no")
wrong_ae("verbose = 'loud'", r"verbose must be .*; got 'loud'", verbose="loud")
wrong_ae("decoder_kernel by a wrong name", r"decoder_kernel: kernel must be one of .*; got 'x'", decoder_kernel="x")
wrong_ae("decoder_kernel = 3", r"decoder_kernel: kernel must be .*; got 3", decoder_kernel=3)
wrong_ae(
    "decoder_kernel with a bandwidth from data",
    r"decoder_kernel must have numbers for its bandwidths.*; got Gaussian",
    decoder_kernel=Gaussian("median"),
)
wrong_ae(
    "two decoder kernels for one layer",
    r"decoder_kernel must be one kernel or 1.*; got 2",
    decoder_kernel=(Gaussian(1.0), Gaussian(1.0)),
)
wrong_ae(
    "decoder_kernel of Gram matrices",
    r"decoder_kernel must be a differentiable kernel on vectors; got",
    decoder_kernel="precomputed",
)
wrong_ae(
    "negative gamma in the decoder",
    r"decoder_kernel: Gaussian.gamma must be > 0 .*; got -1.0",
    decoder_kernel=Gaussian(-1.0),
)
wrong_ae("output_kernel by a wrong name", r"output_kernel: kernel must be one of .*; got 'x'", output_kernel="x")
wrong_ae("output_kernel = 3", r"output_kernel: kernel must be .*; got 3", output_kernel=3)
wrong_ae(
    "output_kernel of other data",
    r"output_kernel reads gram, kernel reads vectors; pass fit\(X, targets=",
    output_kernel="precomputed",
)
wrong_ae(
    "operators = 'identity'",
    r"operators must be a list with one per layer, or None; got 'identity'",
    operators="identity",
)
wrong_ae("three operators", r"operators must be a sequence of 2 matrices or None", operators=(None, None, None))
wrong_ae(
    "operator of another shape", r"operators\[0\] must have shape \(2, 2\); got \(3, 3\)", operators=(np.eye(3), None)
)
wrong_ae(
    "output operator of another shape",
    r"operators\[1\] must have shape \(3, 3\); got \(4, 4\)",
    operators=(None, np.eye(4)),
)
wrong_ae("operator not square", r"operators\[1\] must have shape .*; got \(3, 2\)", operators=(None, np.ones((3, 2))))
wrong_ae("operator a number", r"operators\[1\] must have shape .*; got \(\)", operators=(None, 2.0))
wrong_ae(
    "asymmetric operator", r"operators\[0\] must be symmetric", operators=(np.array([[1.0, 0.5], [0.0, 1.0]]), None)
)
wrong_ae(
    "indefinite operator",
    r"operators\[0\] must be positive semi-definite; its smallest eigenvalue is -1",
    operators=(np.diag([1.0, -1.0]), None),
)
wrong_ae(
    "operator with NaN",
    r"operators\[0\] must be finite; got NaN or infinity",
    operators=(np.full((2, 2), np.nan), None),
)
wrong_ae(
    "complex operator", r"operators\[0\] must hold real numbers; got dtype complex128", operators=(np.eye(2) * 1j, None)
)
wrong_ae(
    "operator of strings",
    r"operators\[0\] must hold real numbers; got dtype <U1",
    operators=([["a", "b"], ["c", "d"]], None),
)
answered("autoencoder: operator of zeros", lambda: rebuilt(ae(operators=(np.zeros((2, 2)), None))))
refused(
    "autoencoder: output operator of features",
    lambda: ae(output_kernel="same", operators=(None, np.eye(3))).fit(X),
    r"operators of the last layer must be None when features are rebuilt",
)
refused(
    "autoencoder: layer = 0", lambda: ae().fit(X).transform(X, layer=0), r"layer must be an integer from 1 to 1; got 0"
)
refused(
    "autoencoder: layer = 2 of 1",
    lambda: ae().fit(X).transform(X, layer=2),
    r"layer must be an integer from 1 to 1; got 2",
)
answered("autoencoder: encoder reg = 0", lambda: rebuilt(ae(reg=(0.0, 1e-3))))
answered("autoencoder: huge reg", lambda: rebuilt(ae(reg=1e50)))
refused("autoencoder: overflowing reg", lambda: ae(reg=1e100).fit(X), r"reg must be at most 1e\+60, .*; got 1e\+100")
answered("autoencoder: tiny reg", lambda: rebuilt(ae(reg=1e-24)))
refused("autoencoder: no reg at all", lambda: ae(reg=1e-300).fit(X), r"reg of the last layer must be at least 1e-24")
refused(
    "autoencoder: more components than rows", lambda: ae(n_components=40).fit(X), r"n_components must be at most 13"
)
answered("autoencoder: components as numpy integer", lambda: rebuilt(ae(n_components=np.int64(2))))
answered(
    "autoencoder: singular operator", lambda: rebuilt(ae(operators=(np.diag([1.0, 0.0]), np.diag([1.0, 0.0, 2.0]))))
)
answered("autoencoder: tiny operator", lambda: rebuilt(ae(operators=(np.eye(2) * 1e-200, None))))
answered("autoencoder: tol = 0", lambda: rebuilt(ae(tol=0.0)))
answered("autoencoder: linear kernels", lambda: rebuilt(ae(kernel="linear", decoder_kernel="linear")))
answered(
    "autoencoder: linear kernels, huge data",
    lambda: rebuilt(ae(kernel="linear", decoder_kernel="linear"), X * 1e70, NEW * 1e70),
)
refused(
    "autoencoder: three layers of constant data",
    lambda: rebuilt(ae(n_components=(3, 2)), np.ones((6, 3))),
    r"X must hold at least two different items",
)
answered("autoencoder: three layers of duplicates", lambda: rebuilt(ae(n_components=(3, 2)), np.r_[X, X]))
answered("autoencoder: features of duplicates", lambda: rebuilt(ae(output_kernel="same"), np.r_[X, X]))
answered("autoencoder: without centring or scaling", lambda: rebuilt(ae(center=False, scale=False), np.zeros((6, 3))))

# ---------------------------------------------------------------- of kernels of objects in single precision, and folds

WORDS = ["ab", "abc", "bca", "cab", "aab", "bbc"]
for words_model in (KernelPCA, KernelAutoencoder, KernelContrastive):
    answered(
        f"{words_model.__name__}: words in single precision",
        lambda words_model=words_model: [
            words_model(1, kernel=Spectrum(2), dtype="float32").fit(WORDS).transform(WORDS[:2])
        ],
    )
answered(
    "operator regressor: words in single precision",
    lambda: OperatorKernelRegressor(Spectrum(2), dtype="float32").fit(WORDS, np.arange(6.0)).predict(WORDS[:2]),
)
for wrong_folds in (1, 7, {}, [([0], [9])], [([], [1])], "many"):
    refused(
        f"folds: {wrong_folds!r}",
        lambda wrong_folds=wrong_folds: OperatorKernelRegressorCV(cv=wrong_folds).fit(X[:6], X[:6, 0]),
        r"cv must be",
    )
refused("kernel: a class", lambda: KernelPCA(kernel=int).fit(X), r"kernel must be .*; got the class int")
