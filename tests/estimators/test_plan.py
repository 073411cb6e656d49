"""What a fit would do: the words and numbers of the fit itself, and times carried over from fewer rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rkhs import KernelAutoencoder, KernelContrastive, KernelPCA, OperatorKernelRegressor
from rkhs.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Spectrum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3)) @ RNG.normal(size=(3, 4))
Y = np.tanh(X[:, :2])
TEXTS = ["".join(RNG.choice(list("acgt"), 12)) for _ in range(60)]
FIXED: dict[str, Any] = {"linear_part": "kernel", "reg": 1e-2, "tol": 1e-2}


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (KernelAutoencoder(1, **FIXED), (X,)),
        (KernelAutoencoder(1, storage=Nystroem(20)), (X,)),
        (KernelPCA(2), (X,)),
        (KernelPCA(2, storage=Nystroem(20)), (X,)),
        (OperatorKernelRegressor(), (X, Y)),
        (OperatorKernelRegressor(storage=Nystroem(20)), (X, Y)),
    ],
    ids=repr,
)
def test_a_plan_says_what_the_fit_says(estimator: Any, data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    before = dict(vars(estimator))
    plan = estimator.plan(*data)
    assert vars(estimator) == before
    assert capsys.readouterr() == ("", "")
    if hasattr(estimator, "verbose"):
        estimator.set_params(verbose=1)
    estimator.fit(*data)
    assert plan.bytes == estimator.announced_bytes_
    assert (plan.summary in capsys.readouterr().err) == hasattr(estimator, "verbose")
    assert plan.storage == str(getattr(estimator, "storage_", estimator.storage))
    assert 3 <= len(str(plan).splitlines()) <= 14
    assert str(plan).startswith(f"{plan.summary}\n")


def test_options_are_those_of_the_fit_or_rules() -> None:
    plan = KernelAutoencoder(1).plan(X)
    assert (plan.options["linear_part"], plan.options["storage"]) == ("free", "dense")
    assert plan.options["kernel"] == repr(Gaussian("4*median"))
    assert plan.options["reg"].startswith("least error on rows left out, of (")
    assert "+ linear parts without penalty" in plan.equations[0]
    plain = KernelAutoencoder((3, 1), **FIXED).plan(X)
    assert plain.options["reg"] == "(0.01, 0.01, 0.01)"
    assert "f_3(f_2(f_1(x_i)))" in plain.equations[0]
    assert "R^3 -> R^1" in plain.equations[0]
    regressor = OperatorKernelRegressor(Gaussian(0.3)).plan(X, Y)
    assert regressor.summary.endswith("(9.8 matrices of n x n)")
    assert regressor.options["reg"] == "least error of rows left out, of 17"
    assert OperatorKernelRegressor(Gaussian(0.3), loss="huber").plan(X, Y).options["reg"] == "0.001"
    assert "decoder_kernel" in KernelPCA().plan(X).options
    assert "decoder_kernel" not in KernelPCA(preimage="nearest").plan(X).options
    assert KernelPCA(reg="auto").plan(X).options["reg"] == "least leave-one-out error of 17"


def test_many_rows_are_planned_on_landmarks() -> None:
    many = np.repeat(X, 8, axis=0) + 1e-3 * RNG.normal(size=(1200, 4))
    plan = KernelAutoencoder(1).plan(many)
    assert plan.storage == "Nystroem(m=1000)"


@pytest.mark.parametrize(
    ("estimator", "data", "beside"),
    [
        (KernelPCA(2, kernel="precomputed"), np.asarray(Gaussian(0.3)(X)), {}),
        (KernelPCA(2, kernel=Spectrum(2)), TEXTS, {}),
        (KernelAutoencoder(1, **FIXED), pd.DataFrame(X, columns=list("abcd")), {"sample_weight": np.arange(150.0)}),
        (KernelAutoencoder(1, **FIXED), X, {"targets": Y}),
    ],
    ids=["Gram matrix", "texts", "frame with weights", "targets"],
)
def test_data_of_all_kinds_are_planned(estimator: Any, data: Any, beside: dict[str, Any]) -> None:
    plan = estimator.plan(data, **beside)
    assert plan.bytes > 0


def test_files_are_planned_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    KernelAutoencoder(1, storage=Nystroem(20), verbose=1).plan(rows)
    assert capsys.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npy"]


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (KernelAutoencoder(0), "n_components must be an integer >= 1"),
        (KernelPCA(200), "n_components must be"),
        (KernelPCA(2, storage="sparse"), "storage of KernelPCA must be"),
    ],
)
def test_a_plan_refuses_what_the_fit_refuses(estimator: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        estimator.plan(X)


def test_estimators_that_say_nothing_have_no_plan() -> None:
    assert not hasattr(KernelContrastive(), "plan")
