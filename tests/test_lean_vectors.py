"""Files of models that go back to wide vectors, or to zeros and ones, hold no matrix that can be computed again."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rkhs
from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import ModelFileError
from rkhs._core.model_container import FORMAT, read_container, write_container
from rkhs.losses import Huber

RNG = np.random.default_rng(0)
BITS = (RNG.random((60, 90)) < 0.2).astype(float)
BITS[40:50] = BITS[:10]  # fewer directions than rows
WIDE = RNG.normal(size=(30, 50)) + 3.0
WEIGHTS = 1.0 + np.arange(60) % 3

SHORT: dict[str, Any] = {"reg": 1e-3, "max_iter": 10}  # but for molecules, which stand for the choice
CASES: dict[str, tuple[Any, np.ndarray, dict[str, Any]]] = {
    "molecules": (KernelAutoencoder(2, kernel="tanimoto"), BITS, {}),
    "molecules, components": (KernelPCA(2, kernel="tanimoto"), BITS, {}),
    "narrow bits": (KernelAutoencoder(2, kernel="tanimoto", **SHORT), BITS[:, :50], {}),
    "wide rows": (KernelAutoencoder(2, **SHORT), WIDE, {}),
    "wide rows, components": (KernelPCA(2), WIDE, {}),
    "scaled columns": (KernelAutoencoder(2, columns="scaled", **SHORT), WIDE * np.arange(1, 51), {}),
    "scaled columns, components": (KernelPCA(2, columns="scaled"), WIDE * np.arange(1, 51), {}),
    "weights": (
        KernelAutoencoder(2, kernel="tanimoto", reg=(1e-4, 1e-3), max_iter=10),
        BITS,
        {"sample_weight": WEIGHTS},
    ),
    "not centred": (KernelAutoencoder(2, center=False, scale=False, **SHORT), WIDE, {}),
    "single precision": (KernelAutoencoder(2, dtype="float32", **SHORT), WIDE, {}),
    "single precision, components": (KernelPCA(2, dtype="float32"), WIDE.astype(np.float32), {}),
    "kernel alone": (KernelAutoencoder(2, linear_part="kernel", **SHORT), WIDE, {}),
    "two layers": (KernelAutoencoder((4, 2), linear_part="kernel", **SHORT), WIDE, {}),
}
pytestmark = pytest.mark.filterwarnings("ignore::Warning")


def lacks(path: Path) -> bool:
    """Whether a file lacks the last layer."""
    model = read_container(path, FORMAT, 2**30).content["state"]["model_"]["fields"]
    return "coefficients" not in (model["layers"]["$tuple"][-1] if "layers" in model else model["back"])["fields"]


def answers(model: Any, items: np.ndarray) -> list[np.ndarray]:
    found = [model.inverse_transform(model.codes_), model.transform(items[:7]), model.decoder_coef_]
    return found if model.output_.basis is None else [*found, model.output_.basis]


LATE = {"two layers", "kernel alone", "not centred"}  # test_lean_files.py has them for features


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.slow) if one in LATE else one for one in CASES])
def test_what_is_computed_again_is_the_same_to_the_last_bit(name: str, tmp_path: Path) -> None:
    model, items, extra = CASES[name]
    rkhs.save(model.fit(items, **extra), tmp_path / "m")
    assert lacks(tmp_path / "m")
    again, said = rkhs.load(tmp_path / "m"), answers(model, items)
    for before, after in zip(said, answers(again, items), strict=True):
        assert after.dtype == before.dtype
        np.testing.assert_array_equal(after, before)
    copied = pickle.loads(pickle.dumps(rkhs.load(tmp_path / "m")))
    np.testing.assert_array_equal(answers(copied, items)[0], said[0])
    rkhs.save(rkhs.load(tmp_path / "m"), tmp_path / "twice")
    assert (tmp_path / "twice").read_bytes() == (tmp_path / "m").read_bytes()


def test_what_has_no_closed_form_or_takes_less_room_is_kept(tmp_path: Path) -> None:
    narrow = RNG.normal(size=(60, 5))
    models: list[tuple[Any, np.ndarray, dict[str, Any]]] = [
        (KernelAutoencoder(2, loss=Huber(0.02), reg=1e-3), WIDE, {}),
        (KernelAutoencoder(2), narrow, {}),
        (KernelPCA(2), narrow, {}),
        (KernelAutoencoder(2), narrow[:30], {"targets": WIDE}),
        (KernelPCA(2), BITS, {"sample_weight": WEIGHTS}),
    ]
    for model, items, extra in models:
        rkhs.save(model.fit(items, **extra), tmp_path / "m")
        assert not lacks(tmp_path / "m")
        again = rkhs.load(tmp_path / "m")
        np.testing.assert_array_equal(again.inverse_transform(model.codes_), model.inverse_transform(model.codes_))


@pytest.mark.parametrize("model", [KernelAutoencoder(2, kernel="tanimoto"), KernelPCA(2, kernel="tanimoto")])
def test_a_machine_that_finds_other_singular_vectors_gives_the_same_answers(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rkhs.save(model.fit(BITS), tmp_path / "m")
    svd = torch.linalg.svd

    def turned(U: torch.Tensor, **options: Any) -> Any:
        left, s, right = svd(U, **options)
        signs = torch.tensor([1.0, -1.0]).to(U).repeat(len(s))[: len(s)]
        return left * signs, s, signs[:, None] * right

    monkeypatch.setattr(torch.linalg, "svd", turned)
    again = rkhs.load(tmp_path / "m")
    for before, after in zip(answers(model, BITS)[:2], answers(again, BITS)[:2], strict=True):
        np.testing.assert_allclose(after, before, rtol=0.0, atol=1e-10 * np.abs(before).max())
    assert not np.allclose(again.output_.basis, model.output_.basis)


@pytest.mark.parametrize("model", [KernelAutoencoder(2, kernel="tanimoto"), KernelPCA(2, kernel="tanimoto")])
def test_a_file_without_the_items_is_refused(model: Any, tmp_path: Path) -> None:
    path = tmp_path / "m"
    rkhs.save(model.fit(BITS), path)
    found = read_container(path, FORMAT, 2**30)
    found.content["state"]["model_"]["fields"]["encoder"]["fields"]["map"]["params"]["items"] = None
    write_container(path, found.content, found.arrays, FORMAT)
    with pytest.raises(ModelFileError, match="must hold the 60 items"):
        rkhs.load(path)


def test_a_file_of_molecules_is_hardly_larger_than_its_bits(tmp_path: Path) -> None:
    X = (RNG.random((200, 1024)) < 0.1).astype(float)
    for model in (KernelAutoencoder(2, kernel="tanimoto", max_iter=3), KernelPCA(2, kernel="tanimoto")):
        rkhs.save(model.fit(X), tmp_path / "m")
        columns = 15  # of numbers: codes, coefficients, means
        assert (tmp_path / "m").stat().st_size < X.size / 8 + columns * 8 * 1024
