"""Model files of models on landmarks hold no matrix that follows from the landmarks or from small items."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rkhs
from rkhs import DeepRKM, KernelAutoencoder, KernelPCA, OperatorKernelRegressor
from rkhs._core.errors import ModelFileError
from rkhs._core.model_container import FORMAT, Container, read_container, write_container
from rkhs.features import Nystroem
from rkhs.losses import Huber
from rkhs.models import completion
from rkhs.spaces.features import nystroem

RNG = np.random.default_rng(0)
BITS = (RNG.random((120, 64)) < 0.2).astype(float)
BITS[60:80] = BITS[:20]  # some landmarks are the same
ROWS = RNG.normal(size=(120, 5))
WORDS = ["".join(RNG.choice(list("abcd"), size=RNG.integers(3, 9))) for _ in range(90)]
W = {"sample_weight": 1.0 + np.arange(120) % 3}


def features(*widths: int, m: int = 50, **given: Any) -> KernelAutoencoder:
    usual = {"output_kernel": "same", "storage": Nystroem(m), "reg": 1e-4, "max_iter": 4, "random_state": 0}
    return KernelAutoencoder(widths or 2, **{**usual, **given})


ALL = (True, True, True)  # the file lacks the Cholesky factor of the landmarks, that of the targets, the last layer
CASES: dict[str, tuple[KernelAutoencoder, Any, dict[str, Any], tuple[bool, bool, bool]]] = {
    "molecules": (features(kernel="tanimoto", m=80), BITS, {}, ALL),
    "weights": (features(kernel="tanimoto"), BITS, W, ALL),
    "chosen reg": (features(kernel="tanimoto", reg=None), BITS, {}, ALL),
    "vectors": (features(), ROWS, {}, ALL),
    "not centred": (features(center=False, scale=False), ROWS, {}, ALL),
    "single precision": (features(dtype="float32"), ROWS, {}, ALL),
    "sphere": (features(3, kernel="tanimoto", constraint="sphere"), BITS, {}, ALL),
    "two layers": (features(4, 2, kernel="tanimoto"), BITS, {}, ALL),
    "more anchors than landmarks allow": (features(m=30), ROWS, {}, (True, True, False)),
    "wide rows": (features(kernel="gaussian"), RNG.normal(size=(120, 400)), {}, (True, True, False)),
    "texts": (features(kernel="spectrum"), WORDS, {}, (True, True, False)),
    "another loss": (features(kernel="tanimoto", loss=Huber(0.02)), BITS, {}, (True, True, False)),
    "kernel alone": (features(kernel="tanimoto", linear_part="kernel"), BITS, {}, ALL),
    "vectors rebuilt": (features(output_kernel=None), ROWS, {}, (True, False, False)),
    "Gram matrix": (features(kernel="precomputed"), BITS @ BITS.T, {}, (False, True, False)),
}
pytestmark = pytest.mark.filterwarnings("ignore::Warning")


def saved(model: Any, path: Path) -> tuple[Any, Container]:
    rkhs.save(model, path)
    return rkhs.load(path), read_container(path, FORMAT, 2**30)


def lacks(found: Container) -> tuple[bool, bool, bool]:
    model = found.content["state"]["model_"]["fields"]
    output, last = model["rebuilt"]["fields"]["output"]["params"], model["layers"]["$tuple"][-1]["fields"]
    lacking = "cholesky" in output and output["cholesky"] is None
    assert ("coefficients" not in last) == ("items" in model)
    return model["encoder"]["fields"]["map"]["params"]["cholesky"] is None, lacking, "coefficients" not in last


def _map(found: Container) -> Any:
    model = found.content["state"]["model_"]["fields"]
    return (model["map"] if "map" in model else model["encoder"]["fields"]["map"])["params"]


def answers(model: KernelAutoencoder, items: Any) -> list[np.ndarray]:
    inner = model.model_
    directions = np.zeros(0) if inner.penalty.directions is None else inner.penalty.directions
    found = [model.transform(items[:7]), model.inverse_transform(model.codes_[:4]), model.decoder_coef_, directions]
    diag = {"diag": items.diagonal()[:7]} if model.kernel == "precomputed" else {}
    return [*found, inner.map.lower, model.reconstruction_error(items[:7], **diag)]


LATE = {"not centred", "kernel alone", "two layers"}  # test_lean_files.py has them without landmarks


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.slow) if one in LATE else one for one in CASES])
def test_what_is_computed_again_is_the_same_to_the_last_bit(name: str, tmp_path: Path) -> None:
    model, items, extra, expected = CASES[name]
    model.fit(items, **extra)
    again, found = saved(model, tmp_path / "m")
    assert lacks(found) == expected
    said = answers(model, items)
    copied = pickle.loads(pickle.dumps(rkhs.load(tmp_path / "m")))
    for other in (again, copied):
        for before, after in zip(said, answers(other, items), strict=True):
            np.testing.assert_array_equal(after, before)
    rkhs.save(rkhs.load(tmp_path / "m"), tmp_path / "twice")
    assert (tmp_path / "twice").read_bytes() == (tmp_path / "m").read_bytes()


def test_directions_of_the_targets_are_computed_with_the_layer(tmp_path: Path) -> None:
    model = CASES["vectors"][0].fit(ROWS)
    assert model.model_.penalty.directions is not None
    again, found = saved(model, tmp_path / "m")
    assert "directions" not in found.content["state"]["model_"]["fields"]["penalty"]["fields"]
    np.testing.assert_array_equal(again.model_.penalty.directions, model.model_.penalty.directions)


@pytest.mark.parametrize("part", ["landmarks", "items", "directions"])
def test_numbers_that_come_out_otherwise_are_kept(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, ways = features(kernel="tanimoto").fit(BITS), completion.leading_directions
    if part == "items":
        kept = model.model_.items
        assert kept is not None
        model.model_ = replace(model.model_, items=replace(kept, array=kept.array[::-1]))
    elif part == "landmarks":
        plain = nystroem._cholesky_of
        monkeypatch.setattr(nystroem, "_cholesky_of", lambda K: plain(K) * (1.0 + 1e-15))
    else:
        monkeypatch.setattr(completion, "leading_directions", lambda T, w, p: -(ways(T, w, p)))
    rkhs.save(model, tmp_path / "m")
    monkeypatch.undo()
    again, found = rkhs.load(tmp_path / "m"), read_container(tmp_path / "m", FORMAT, 2**30)
    assert lacks(found) == {"landmarks": (False, True, True), "items": (True, True, False)}.get(
        part, (True, True, False)
    )
    np.testing.assert_array_equal(again.transform(BITS[:5]), model.transform(BITS[:5]))


def test_items_are_held_as_bits_and_only_where_they_take_less_room_than_the_layer() -> None:
    kept = features(kernel="tanimoto").fit(BITS).model_.items
    assert kept is not None
    assert kept.array.nbytes == BITS.size // 8
    np.testing.assert_array_equal(kept.rows, BITS)
    assert features().fit(np.tile(ROWS, 80)).model_.items is None


def test_a_file_of_molecules_is_hardly_larger_than_items_and_landmarks(tmp_path: Path) -> None:
    X = (RNG.random((300, 1024)) < 0.1).astype(float)
    rkhs.save(features(kernel="tanimoto", m=150, max_iter=2).fit(X), tmp_path / "m")
    columns = 15  # of numbers: codes, coefficients, means
    assert (tmp_path / "m").stat().st_size < 1.5 * X.size / 8 + columns * 8 * len(X)


def test_cores_do_not_matter(tmp_path: Path) -> None:
    model, cores = features(kernel="tanimoto").fit(BITS), torch.get_num_threads()
    rkhs.save(model, tmp_path / "m")
    try:
        torch.set_num_threads(2)
        again = rkhs.load(tmp_path / "m")
        np.testing.assert_array_equal(again.decoder_coef_, model.decoder_coef_)
    finally:
        torch.set_num_threads(cores)


@pytest.mark.parametrize("damage", ["no items", "other items", "an item twice"])
def test_a_file_that_lacks_what_the_layer_follows_from_is_refused(damage: str, tmp_path: Path) -> None:
    _, found = saved(features(kernel="tanimoto").fit(BITS), tmp_path / "m")
    model = found.content["state"]["model_"]["fields"]
    if damage == "no items":
        del found.arrays[model.pop("items")["fields"]["array"]["$array"]]
    elif damage == "other items":
        name = model["items"]["fields"]["array"]["$array"]
        found.arrays[name] = found.arrays[name][:-1]
    else:
        order = found.arrays[model["support"]["$array"]].copy()
        order[0] = order[1]
        found.arrays[model["support"]["$array"]] = order
    write_container(tmp_path / "m", found.content, found.arrays, FORMAT)
    with pytest.raises(
        ModelFileError, match="got neither" if damage == "no items" else "must be 120 rows of 64 columns"
    ):
        rkhs.load(tmp_path / "m")


@pytest.mark.parametrize(
    "model",
    [
        KernelPCA(2, storage=Nystroem(40)),
        DeepRKM(2, storage=Nystroem(40)),
        OperatorKernelRegressor(storage=Nystroem(40)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_estimators_leave_out_the_cholesky_factor_of_landmarks(model: Any, tmp_path: Path) -> None:
    model.fit(ROWS, ROWS[:, :2])
    again, found = saved(model, tmp_path / "m")
    assert _map(found)["cholesky"] is None
    ask = "predict" if hasattr(model, "predict") else "transform"
    np.testing.assert_array_equal(getattr(again, ask)(ROWS[:9]), getattr(model, ask)(ROWS[:9]))
