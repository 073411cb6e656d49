"""Model files of autoencoders of features hold no matrix that can be computed again."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

import rkhs
from rkhs import KernelAutoencoder
from rkhs._core.errors import ModelFileError
from rkhs._core.linalg import Factor, factorize
from rkhs._core.model_container import FORMAT, Container, read_container, write_container
from rkhs.losses import Huber
from rkhs.models import completion
from rkhs.outputs import rkhs as features_as_targets
from rkhs.problems.decoder import optimal_decoder

RNG = np.random.default_rng(0)
BITS = (RNG.random((60, 64)) < 0.2).astype(float)
BITS[40:50] = BITS[:10]  # the Gram matrix has not full rank
ROWS = RNG.normal(size=(60, 5))
WORDS = ["".join(RNG.choice(list("abcd"), size=RNG.integers(3, 9))) for _ in range(40)]
SERIES = [RNG.normal(size=RNG.integers(8, 12)) for _ in range(30)]

SHORT: dict[str, Any] = {"reg": 1e-3, "max_iter": 10}  # but for molecules, which stand for the choice
CASES: dict[str, tuple[KernelAutoencoder, Any, dict[str, Any]]] = {
    "molecules": (KernelAutoencoder(2, kernel="tanimoto", output_kernel="same", max_iter=5), BITS, {}),
    "weights": (
        KernelAutoencoder(2, kernel="tanimoto", output_kernel="same", reg=(1e-4, 1e-3), max_iter=10),
        BITS,
        {"sample_weight": 1.0 + np.arange(60) % 3},
    ),
    "not centred": (KernelAutoencoder(2, output_kernel="same", center=False, scale=False, **SHORT), ROWS, {}),
    "single precision": (KernelAutoencoder(2, output_kernel="same", dtype="float32", **SHORT), ROWS, {}),
    "kernel alone": (KernelAutoencoder(2, output_kernel="same", linear_part="kernel", **SHORT), ROWS, {}),
    "two layers": (KernelAutoencoder((4, 2), output_kernel="same", linear_part="kernel", **SHORT), ROWS, {}),
    "another kernel": (KernelAutoencoder(2, kernel="laplacian", output_kernel="gaussian", **SHORT), ROWS, {}),
    "other targets": (KernelAutoencoder(2, output_kernel="tanimoto", **SHORT), ROWS, {"targets": BITS}),
    "sphere": (KernelAutoencoder(2, output_kernel="same", constraint="sphere", **SHORT), ROWS, {}),
    "texts": (KernelAutoencoder(2, kernel="spectrum", output_kernel="same", **SHORT), WORDS, {}),
    "clipped": (KernelAutoencoder(2, kernel="dtw", output_kernel="same", **SHORT), SERIES, {}),
}
pytestmark = pytest.mark.filterwarnings("ignore::Warning")


def saved(model: KernelAutoencoder, path: Path) -> tuple[KernelAutoencoder, Container]:
    rkhs.save(model, path)
    return rkhs.load(path), read_container(path, FORMAT, 2**30)


def lacks(found: Container) -> tuple[bool, bool]:
    """Whether a file lacks the Cholesky factor of the targets, and the coefficients of the last layer."""
    model = found.content["state"]["model_"]["fields"]
    output, last = model["rebuilt"]["fields"]["output"], model["layers"]["$tuple"][-1]["fields"]
    return output["params"]["cholesky"] is None, "coefficients" not in last


def answers(model: KernelAutoencoder, items: Any, targets: Any) -> list[np.ndarray]:
    ranking = model.decode(model.codes_[:5], targets[:12])
    found = [model.transform(items[:7]), ranking.distances, model.decoder_coef_, model.output_.cholesky]
    return found if targets is not items else [*found, model.reconstruction_error(items[:7])]


LATE = {"weights", "single precision"}  # test_lean_landmarks.py has them on landmarks


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.slow) if one in LATE else one for one in CASES])
def test_what_is_computed_again_is_the_same_to_the_last_bit(name: str, tmp_path: Path) -> None:
    model, items, extra = CASES[name]
    targets = extra.get("targets", items)
    model.fit(items, **extra)
    again, found = saved(model, tmp_path / "m")
    assert lacks(found) == (True, True)
    said = answers(model, items, targets)
    for before, after in zip(said, answers(again, items, targets), strict=True):
        np.testing.assert_array_equal(after, before)
    copied = answers(pickle.loads(pickle.dumps(rkhs.load(tmp_path / "m"))), items, targets)
    np.testing.assert_array_equal(copied[0], said[0])
    rkhs.save(rkhs.load(tmp_path / "m"), tmp_path / "twice")
    assert (tmp_path / "twice").read_bytes() == (tmp_path / "m").read_bytes()


def test_what_cannot_be_computed_again_is_kept(tmp_path: Path) -> None:
    robust = KernelAutoencoder(2, kernel="tanimoto", output_kernel="same", loss=Huber(0.02), reg=1e-3).fit(BITS)
    again, found = saved(robust, tmp_path / "m")
    assert lacks(found) == (True, False)  # the last layer of another loss has no closed form
    np.testing.assert_array_equal(again.transform(BITS[:5]), robust.transform(BITS[:5]))
    given = KernelAutoencoder(2, kernel="precomputed").fit(BITS @ BITS.T)
    assert lacks(saved(given, tmp_path / "m")[1]) == (False, False)


def test_numbers_that_come_out_otherwise_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = KernelAutoencoder(2, kernel="tanimoto", output_kernel="same").fit(BITS)
    monkeypatch.setattr(completion, "optimal_decoder", lambda *given: optimal_decoder(*given[:3], 0.2, *given[4:]))
    rkhs.save(model, tmp_path / "m")
    monkeypatch.undo()
    again, found = rkhs.load(tmp_path / "m"), read_container(tmp_path / "m", FORMAT, 2**30)
    assert lacks(found) == (True, False)
    np.testing.assert_array_equal(again.transform(BITS[:5]), model.transform(BITS[:5]))


def test_a_machine_that_takes_equal_items_in_another_order_gives_the_same_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of equal molecules any one may be a pivot: rounding decides."""
    model = KernelAutoencoder(2, kernel="tanimoto", output_kernel="same").fit(BITS)
    rkhs.save(model, tmp_path / "m")

    def backwards(K: Tensor) -> Factor:
        found = factorize(K.flip(0, 1))
        return Factor(found.matrix.flip(0), len(K) - 1 - found.pivots, found.residual)

    monkeypatch.setattr(features_as_targets, "factorize", backwards)
    again = rkhs.load(tmp_path / "m")
    for before, after in zip(answers(model, BITS, BITS), answers(again, BITS, BITS), strict=True):
        np.testing.assert_allclose(after, before, rtol=0.0, atol=1e-10 * np.abs(before).max())


def test_a_file_of_molecules_is_hardly_larger_than_its_bits(tmp_path: Path) -> None:
    X = (RNG.random((300, 1024)) < 0.1).astype(float)
    model = KernelAutoencoder(2, kernel="tanimoto", output_kernel="same", max_iter=3).fit(X)
    rkhs.save(model, tmp_path / "m")
    columns = 15  # of numbers: codes, coefficients, means
    assert (tmp_path / "m").stat().st_size < X.size / 8 + columns * 8 * len(X)


def test_a_file_with_neither_the_matrices_nor_the_items_is_refused(tmp_path: Path) -> None:
    rkhs.save(KernelAutoencoder(2, kernel="tanimoto", output_kernel="same").fit(BITS), tmp_path / "m")
    found = read_container(tmp_path / "m", FORMAT, 2**30)
    found.content["state"]["model_"]["fields"]["encoder"]["fields"]["map"]["params"]["items"] = None
    write_container(tmp_path / "m", found.content, found.arrays, FORMAT)
    with pytest.raises(ModelFileError, match="must hold the 60 items"):
        rkhs.load(tmp_path / "m")
