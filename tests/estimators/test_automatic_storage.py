"""``storage="auto"``: dense for few rows, landmarks for many, by the shape of the data alone, and said."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

import rkhs
from rkhs import KernelAutoencoder, fit_robust
from rkhs._core.errors import InputError
from rkhs.augment import GaussianNoise
from rkhs.cli.main import main
from rkhs.engines import as_rows
from rkhs.estimators.autoencoder import defaults
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import FromFunction, Gaussian
from rkhs.losses import Power
from studies.reliability.cluster_kills import digest

X = np.sin(np.random.default_rng(0).normal(size=(90, 2)) @ np.random.default_rng(1).normal(size=(2, 6)))
QUICK: dict[str, Any] = {"n_components": 2, "reg": 1e-3, "max_iter": 2}
FEW, MANY = X[:59], X[:60]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Landmarks from sixty rows on."""
    monkeypatch.setattr(defaults, "MANY_ROWS", 60)
    monkeypatch.setattr(defaults, "MANY_ITEMS", 75)
    monkeypatch.setattr(defaults, "LANDMARKS", 20)


def _product(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b)


def fitted(rows: Any = MANY, **options: Any) -> KernelAutoencoder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KernelAutoencoder(**{**QUICK, **options}).fit(rows)


def test_the_default_chooses_and_a_thousand_rows_are_dense() -> None:
    assert KernelAutoencoder().storage == "auto"
    assert defaults.MANY_ROWS >= defaults.LANDMARKS >= 500


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(("rows", "storage"), [(FEW, "dense"), (MANY, Nystroem(20)), (X, Nystroem(20))])
def test_the_number_of_rows_decides_and_the_model_is_that_of_the_storage(rows: np.ndarray, storage: Any) -> None:
    model = fitted(rows)
    assert model.storage_ == storage
    assert model.storage == "auto"
    np.testing.assert_array_equal(model.codes_, fitted(rows, storage=storage).codes_)
    assert digest(model) == digest(fitted(rows))


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("convert", [np.ndarray.tolist, torch.as_tensor, np.asfortranarray], ids=["list", "tensor", ""])
def test_rows_of_any_container_count(convert: Any) -> None:
    assert fitted(convert(MANY)).storage_ == Nystroem(20)
    assert fitted(convert(FEW)).storage_ == "dense"


@pytest.mark.sample(5)
@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    "options",
    [
        {"loss": Power(3.0)},
        {"linear_part": "kernel"},
        {"kernel": Gaussian(0.5)},
        {"output_kernel": Gaussian(0.5)},
        {"kernel": FromFunction(_product)},
        {"operators": (None, np.eye(6))},
        {"solver": "adam"},
        {"noise": GaussianNoise(), "constraint": "sphere"},
        {"refine": False},
        {"kernel": "precomputed"},
    ],
    ids=lambda options: ", ".join(options),
)
def test_what_landmarks_do_not_have_stays_dense(options: dict[str, Any]) -> None:
    items = MANY @ MANY.T if options.get("kernel") == "precomputed" else MANY
    assert fitted(items, **options).storage_ == "dense"


@pytest.mark.sample(2)
@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    "options", [{}, {"kernel": Gaussian(0.5)}, {"kernel": Gaussian(0.5), "loss": "huber"}], ids=repr
)
def test_features_of_many_items_take_landmarks(options: dict[str, Any]) -> None:
    model = fitted(**options, output_kernel="same")
    assert model.storage_ == Nystroem(20)
    assert model.model_.linear is not None
    words = ["acg" + "gt" * (i % 7) + "a" * (i % 5) for i in range(60)]
    assert fitted(words, **{**options, "kernel": "spectrum"}).storage_ == Nystroem(20)
    assert fitted(words[:59], **{**options, "kernel": "spectrum"}).storage_ == "dense"


@pytest.mark.sample(2)
@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(("components", "storage"), [(2, Nystroem(20)), (3, "dense"), ((3, 2), "dense")])
def test_features_in_more_than_two_components_stay_dense_for_longer(components: Any, storage: Any) -> None:
    options = {"n_components": components, "kernel": Gaussian(0.5), "output_kernel": "same"}
    assert fitted(X[:74], **options).storage_ == storage
    assert fitted(X[:75], **options).storage_ == Nystroem(20)
    assert fitted(X[:74], n_components=components).storage_ == Nystroem(20)


@pytest.mark.usefixtures("soon")
def test_other_targets_and_robust_fits_stay_dense() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert KernelAutoencoder(**QUICK).fit(MANY, targets=MANY[:, :2]).storage_ == "dense"
        assert fit_robust(KernelAutoencoder(**QUICK), MANY).model.storage_ == "dense"


@pytest.mark.usefixtures("soon")
def test_a_free_linear_part_that_was_asked_for_can_have_kernels_of_its_own() -> None:
    assert fitted(linear_part="free", kernel=Gaussian(0.5)).storage_ == Nystroem(20)


@pytest.mark.usefixtures("soon")
def test_rows_of_files_need_blocks_and_threads_do_not(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", FEW)
    assert fitted(FEW, engine="threads").storage_ == "dense"
    assert fitted(MANY, engine="threads").storage_ == Nystroem(20)
    model = fitted(as_rows(tmp_path / "x.npy"))
    assert model.storage_ == Nystroem(20)
    assert fitted(np.load(tmp_path / "x.npy", mmap_mode="r")).storage_ == "dense"
    with pytest.raises(InputError, match="constraint='sphere' beside linear_part='kernel' needs"):
        fitted(as_rows(tmp_path / "x.npy"), constraint="sphere", linear_part="kernel")


@pytest.mark.usefixtures("soon")
def test_the_storage_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, path = str(tmp_path / "m.rkhs"), str(tmp_path / "x.npy")
    model = fitted(verbose=1)
    assert "storage=Nystroem(m=20)" in capsys.readouterr().err
    rkhs.save(model, file)
    assert rkhs.load(file).storage_ == Nystroem(20)
    np.save(path, MANY)
    assert main(["fit", path, "--n-components", "2", "--set", "max_iter=2", "-o", file]) == 0
    assert "storage Nystroem(m=20)" in capsys.readouterr().out
    assert main(["info", file]) == 0
    assert re.search(r"storage +Nystroem\(.*m=20", capsys.readouterr().out)
    assert main(["fit", path, "--n-components", "2", "--stream", "--set", "max_iter=2", "-o", file]) == 0


@pytest.mark.parametrize("storage", ["blocked", "Auto", None, Nystroem, 3])
def test_what_is_no_storage_is_refused(storage: Any) -> None:
    with pytest.raises(InputError, match="must be one of 'auto', 'dense', rkhs.features.Nystroem"):
        fitted(storage=storage)
    with pytest.raises(InputError, match="must be one of 'dense', 'blocked', rkhs"):
        rkhs.KernelPCA(storage="auto").fit(X)
    assert fitted(storage=RandomFeatures(20)).storage_ == RandomFeatures(20)


def test_features_of_the_default_kernel_do_not_follow_from_the_storage() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    given = {"output_kernel": "same", "reg": 1e-2}
    dense, free, landmarks = (
        KernelAutoencoder(2, **given, **one).fit(rows)
        for one in ({}, {"linear_part": "free"}, {"storage": Nystroem(40)})
    )
    assert dense.kernel_ == free.kernel_ == landmarks.kernel_
    spread = dense._target_spread(rows)
    np.testing.assert_allclose(landmarks._target_spread(rows), spread, rtol=1e-6)
