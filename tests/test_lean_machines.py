"""Model files of regressions on features of outputs hold no matrix that can be computed again."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs import InputOutputKernelRegressor
from rkhs._core.errors import ModelFileError
from rkhs._core.model_container import FORMAT, read_container, write_container

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
BITS = (RNG.random((40, 90)) < 0.2).astype(float)
BITS[30:] = BITS[:10]
WORDS = ["".join(RNG.choice(list("abcdef"), size=9)) for _ in range(40)]

CASES: dict[str, tuple[dict[str, Any], Any, tuple[bool, bool]]] = {
    "molecules": ({"output_kernel": "tanimoto"}, BITS, (True, True)),
    "given reg": ({"output_kernel": "tanimoto", "reg": 1e-3, "center": False}, BITS, (True, True)),
    "covariance": ({"output_kernel": "tanimoto", "operator": "covariance"}, BITS, (True, True)),
    "texts": ({"output_kernel": "spectrum"}, WORDS, (True, True)),
    "single precision": ({"output_kernel": "tanimoto", "dtype": "float32"}, BITS, (True, True)),
    "another loss": ({"output_kernel": "tanimoto", "loss": "huber", "reg": 1e-2}, BITS, (True, False)),
    "few columns": ({}, BITS[:, :4], (False, False)),
}
pytestmark = pytest.mark.filterwarnings("ignore::Warning")


def lacks(path: Path) -> tuple[bool, bool]:
    """Whether a file lacks the Cholesky factor of the outputs, and the coefficients."""
    model = read_container(path, FORMAT, 2**30).content["state"]["model_"]["fields"]
    return model["output"]["params"]["cholesky"] is None, "coefficients" not in model


def answers(model: InputOutputKernelRegressor) -> list[np.ndarray]:
    return [model.dual_coef_, model.predict_weights(X[:7]), model.scores(X[:7]), model.output_.cholesky]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_again_is_the_same_to_the_last_bit(name: str, tmp_path: Path) -> None:
    given, outputs, expected = CASES[name]
    model = InputOutputKernelRegressor(**given).fit(X, outputs)
    rkhs.save(model, tmp_path / "m")
    assert lacks(tmp_path / "m") == expected
    rkhs.save(rkhs.load(tmp_path / "m"), tmp_path / "twice")
    assert lacks(tmp_path / "twice") == expected
    copied = pickle.loads(pickle.dumps(rkhs.load(tmp_path / "m")))
    for again in (rkhs.load(tmp_path / "m"), rkhs.load(tmp_path / "twice"), copied):
        for before, after in zip(answers(model), answers(again), strict=True):
            np.testing.assert_array_equal(after, before)


def test_weights_are_not_in_the_file_so_coefficients_are(tmp_path: Path) -> None:
    model = InputOutputKernelRegressor(output_kernel="tanimoto", reg=1e-3).fit(X, BITS, 1.0 + np.arange(40) % 3)
    rkhs.save(model, tmp_path / "m")
    assert lacks(tmp_path / "m") == (True, False)
    np.testing.assert_array_equal(rkhs.load(tmp_path / "m").scores(X), model.scores(X))


def test_a_file_without_the_outputs_is_refused(tmp_path: Path) -> None:
    rkhs.save(InputOutputKernelRegressor(output_kernel="tanimoto").fit(X, BITS), tmp_path / "m")
    found = read_container(tmp_path / "m", FORMAT, 2**30)
    del found.content["state"]["model_"]["fields"]["gram_of_outputs"]
    write_container(tmp_path / "m", found.content, found.arrays, FORMAT)
    with pytest.raises(ModelFileError, match="must have coefficients, or outputs"):
        rkhs.load(tmp_path / "m")
