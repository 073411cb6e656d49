"""Changed model files, a few of some kinds; the long run is ``python -m studies.reliability.mutated_files --full``."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import rkhs
from rkhs import persistence
from rkhs._core import model_container
from rkhs._core.errors import ModelFileError
from rkhs._core.model_container import Container, pack, read_container
from rkhs.features import Nystroem
from rkhs.models import AutoencoderModel
from rkhs.persistence import FORMAT
from rkhs.spaces.features import base
from studies.reliability import mutated_files
from studies.reliability.file_kinds import CASES, made
from studies.reliability.mutated_files import bent_array, campaign, try_model

KINDS = ("kernel_pca_sparse", "kernel_pca_tables", "kernel_autoencoder_nystroem", "deep_rkm", "operator_regressor")


def test_no_changed_file_loads_as_another_model_or_raises_another_error() -> None:
    outcomes = campaign(5, 8, names=KINDS)
    assert len(outcomes) == len(KINDS)
    assert not [(outcome.line(), outcome.raw, outcome.untyped) for outcome in outcomes if not outcome.is_clean]
    assert all(outcome.files >= 5 for outcome in outcomes)


@pytest.mark.parametrize("place", [10**6, -1, 2**31 - 1])
def test_columns_of_sparse_rows_are_checked(place: int, tmp_path: Path) -> None:
    rows = csr_array(np.eye(12, 5) + np.eye(12, 5, k=1))
    rkhs.save(rkhs.KernelPCA(2, kernel="linear").fit(rows), tmp_path / "m")
    found = read_container(tmp_path / "m", FORMAT, 2**20)
    name = next(name for name, array in found.arrays.items() if array.dtype == np.int32)
    found.arrays[name][3] = place
    (tmp_path / "m").write_bytes(pack(found.content, found.arrays, FORMAT))
    with pytest.raises(ModelFileError, match="SparseRows|sparse"):
        rkhs.load(tmp_path / "m")


@pytest.mark.parametrize("name", ["output_kernel_", "train_outputs_", "_outputs_given", "reg_"])
def test_a_regressor_without_what_its_outputs_are_read_by_is_refused(name: str, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(12, 2))
    rkhs.save(rkhs.InputOutputKernelRegressor(output_kernel="gaussian").fit(rows, rows), tmp_path / "m")
    found = read_container(tmp_path / "m", FORMAT, 2**20)
    del found.content["state"][name]
    (tmp_path / "m").write_bytes(pack(found.content, found.arrays, FORMAT))
    with pytest.raises(ModelFileError, match=f"must have {name}"):
        rkhs.load(tmp_path / "m")


def test_kernels_of_regressors_have_numbers(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(12, 2))
    for model in (rkhs.OperatorKernelRegressor(), rkhs.OperatorKernelRegressor(storage=Nystroem(5))):
        rkhs.save(model.fit(rows, rows), tmp_path / "m")
        found = read_container(tmp_path / "m", FORMAT, 2**20)
        found.content["state"]["model_"]["fields"]["kernel"]["params"]["kernel"]["params"]["gamma"] = None
        (tmp_path / "m").write_bytes(pack(found.content, found.arrays, FORMAT))
        with pytest.raises(ModelFileError, match="gamma"):
            rkhs.load(tmp_path / "m")


def test_kernels_of_codes_have_numbers(tmp_path: Path) -> None:
    rkhs.save(rkhs.DeepRKM((2, 1)).fit(np.random.default_rng(0).normal(size=(12, 3))), tmp_path / "m")
    found = read_container(tmp_path / "m", FORMAT, 2**20)
    found.content["state"]["model_"]["fields"]["kernels"]["$tuple"][0]["params"]["gamma"] = None
    (tmp_path / "m").write_bytes(pack(found.content, found.arrays, FORMAT))
    with pytest.raises(ModelFileError, match="gamma"):
        rkhs.load(tmp_path / "m")


def test_a_model_of_a_gram_matrix_without_its_rows(tmp_path: Path) -> None:
    K = np.eye(12) + 1.0
    rkhs.save(rkhs.KernelPCA(2, kernel="precomputed").fit(K), tmp_path / "m")
    found = read_container(tmp_path / "m", FORMAT, 2**20)
    assert rkhs.load(tmp_path / "m").transform(K).shape == (12, 2)  # all rows, as the file says nothing else
    del found.content["state"]["reader_"]["fields"]["n_items"]
    (tmp_path / "m").write_bytes(pack(found.content, found.arrays, FORMAT))
    with pytest.raises(ModelFileError, match="n_items"):
        rkhs.load(tmp_path / "m")


def test_an_output_kernel_without_a_number_is_refused(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(12, 2))
    rkhs.save(rkhs.InputOutputKernelRegressor(output_kernel="gaussian").fit(rows, rows), tmp_path / "m")
    found = read_container(tmp_path / "m", FORMAT, 2**20)
    found.content["state"]["output_kernel_"]["params"]["gamma"] = None
    (tmp_path / "m").write_bytes(pack(found.content, found.arrays, FORMAT))
    with pytest.raises(ModelFileError, match="gamma"):
        rkhs.load(tmp_path / "m")


def _without_outputs(found: Container) -> None:
    found.arrays[found.content["state"]["_outputs_given"]["$array"]] = np.empty((0, 2))


def _in(*path: str, **changes: Any) -> Callable[[Container], None]:
    """Give parts of the description another value; what has none is left out."""

    def change(found: Container) -> None:
        part = found.content["state"]
        for name in path:
            part = part[int(name) if name.isdigit() else name]
        for name, value in changes.items():
            part.pop(name)
            part |= {} if value is None and path[-1] != "params" else {name: value}

    return change


_REBUILT = ("model_", "fields", "rebuilt", "fields", "kernel", "params")
_TERM = (*_REBUILT, "terms", "$tuple", "0", "params")
_LAYER = ("model_", "fields", "layers", "$tuple", "0", "fields")
_READER = ("reader_", "fields")
_TABLE = (*_READER, "filling", "$estimator", "state")


_FILES: dict[str, bytes] = {}


def honest(case: str, folder: Path) -> bytes:
    """The file of a model, which is fitted once for all changes of it."""
    if case not in _FILES:
        rkhs.save(made(list(CASES).index(case), case)[0], folder / "honest")
        _FILES[case] = (folder / "honest").read_bytes()
    return _FILES[case]


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("case", "change", "message"),
    [
        ("kernel_autoencoder_strings", _in(*_REBUILT, k=None), "k must be"),
        ("kernel_autoencoder_strings", _in(*_REBUILT, k=0), "k must be"),
        ("kernel_autoencoder_strings", _in(*_REBUILT, alphabet=True), "alphabet"),
        ("kernel_autoencoder_sparse", _in(*_REBUILT, width=None), "width|NoneType"),
        ("kernel_autoencoder_sparse", _in(*_REBUILT, width=0.5), "width|float"),
        ("kernel_autoencoder_spanned", _in(*_TERM, gamma=None), "gamma"),
        ("kernel_autoencoder_deep", _in(*_LAYER, coefficients=None), "layer"),
        ("kernel_autoencoder_filled", _in(*_TABLE, columns_=None), "columns_|not fitted"),
        ("kernel_autoencoder_filled", _in(*_TABLE, rows_=None), "rows_|not fitted"),
        ("kernel_autoencoder_filled", _in(*_TABLE, columns_={"$tuple": [{"$dict": []}] * 3}), "known kind"),
        ("kernel_autoencoder_filled", _in(*_TABLE, columns_={"$tuple": []}), "rows"),
        ("io_regressor", _without_outputs, "20 outputs"),
        ("io_regressor", lambda found: found.content["state"].update(_outputs_given=None), "20 outputs; got None"),
        ("operator_regressor_cv", _in("model_", "fields", loss=None), "must have loss_"),
        ("deep_rkm", _in("model_", "fields", items=None), "items"),
        (
            "kernel_pca_gram",
            _in("model_", "fields", "encoder", "fields", "map", "params", "kernel", "params", train_diag=0),
            "train_diag",
        ),
        ("kernel_pca_sparse", _in("model_", "fields", "kernel", "params", width=2), "column indices from 0 to 1"),
        ("kernel_pca_tables", _in("model_", "fields", mean_norm=10**400), "mean_norm"),
        (
            "kernel_autoencoder_gram",
            _in(*_REBUILT[:3], "fields", "output", "params", scale=1e308),
            "square of a scale",
        ),
        ("kernel_autoencoder_filled", _in("model_", "fields", "linear", "fields", mixed=None), "linear part"),
        ("kernel_pca_linear", lambda found: found.content["state"].update(transform=None), "name of a fitted"),
        ("kernel_pca_linear", _in(*_READER, dtype="0.1.0"), "Reader.dtype in a model file cannot be a str"),
        ("operator_regressor", lambda found: found.content["state"].update(transform=None), "name of a fitted"),
    ],
)
def test_what_a_model_is_used_by_is_checked_when_it_is_read(
    case: str, change: Callable[[Container], None], message: str, tmp_path: Path
) -> None:
    (tmp_path / "m").write_bytes(honest(case, tmp_path))
    found = read_container(tmp_path / "m", FORMAT, 2**20)
    change(found)
    (tmp_path / "m").write_bytes(pack(found.content, found.arrays, FORMAT))
    with pytest.raises(ModelFileError, match=message):
        rkhs.load(tmp_path / "m")


def test_layer_codes_of_half_the_digits_are_computed_with(tmp_path: Path) -> None:
    model, items = made(list(CASES).index("kernel_autoencoder_spanned"), "kernel_autoencoder_spanned")
    rkhs.save(model, tmp_path / "m")
    found = read_container(tmp_path / "m", FORMAT, 2**20)
    place = found.content["state"]["model_"]["fields"]["layers"]["$tuple"][0]["fields"]["anchors"]["$array"]
    found.arrays[place] = found.arrays[place].astype(np.float32)
    (tmp_path / "m").write_bytes(pack(found.content, found.arrays, FORMAT))
    answers = rkhs.load(tmp_path / "m").reconstruction_error(items)
    np.testing.assert_allclose(answers, model.reconstruction_error(items), rtol=1e-2)


def test_a_width_that_no_row_reaches_costs_nothing(tmp_path: Path) -> None:
    rkhs.save(made(list(CASES).index("kernel_pca_sparse"), "kernel_pca_sparse")[0], tmp_path / "m")
    found = read_container(tmp_path / "m", FORMAT, 2**20)
    _in("model_", "fields", "kernel", "params", width=2**31 - 1)(found)
    (tmp_path / "m").write_bytes(pack(found.content, found.arrays, FORMAT))
    start = time.process_time()
    with pytest.raises(ModelFileError, match="n_features_in_"):
        rkhs.load(tmp_path / "m")
    assert time.process_time() - start < mutated_files.SECONDS


@pytest.mark.slow
def test_the_campaign_sees_what_it_looks_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, items = made(list(CASES).index("kernel_autoencoder_nystroem"), "kernel_autoencoder_nystroem")
    path = tmp_path / "kernel_autoencoder_nystroem.rkhs"
    rkhs.save(model, path)
    campaign(0, 0, names=())
    mutated_files._start_watching()

    class Always:
        def __ne__(self, other: object) -> bool:
            return False

    def runs_code(*_: Any) -> Any:
        eval("1")
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(model_container, "_digest", lambda *_: Always())
        patch.setattr(Always, "__eq__", lambda self, other: True)
        assert try_model(path, tmp_path, 60, 0, 0).wrong
    with monkeypatch.context() as patch:
        patch.setattr(AutoencoderModel, "check_stored", lambda self: None)
        patch.setattr(base, "check_shape", lambda *_: None)
        patch.setattr(rkhs.KernelAutoencoder, "check_stored", lambda self: None)
        assert any(try_model(path, tmp_path, 0, 60, seed, items).raw for seed in range(9))  # sizes are bent by chance
    with monkeypatch.context() as patch:
        patch.setattr(persistence, "read_container", runs_code)
        patch.setattr(mutated_files, "SECONDS", -1.0)
        outcome = try_model(path, tmp_path, 4, 0, 0)
    assert len(outcome.untyped) == len(outcome.slow) == 4
    assert outcome.code


def test_arrays_are_bent_in_every_way() -> None:
    chance, array = random.Random(0), np.arange(6, dtype=np.int32).reshape(2, 3)
    found = [bent_array(array, chance) for _ in range(80)]
    assert {one.shape for one in found} >= {(1, 3), (2, 2), (3, 3), (2, 4), (3, 2)}
    assert any(10**6 in one for one in found)
    assert any(-1 in one for one in found)
    assert len({one.dtype for one in found}) > 3
