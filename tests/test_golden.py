"""Model files of released versions load in this one and answer as they did."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rkhs
from tools import golden

FILES = sorted(golden.FOLDER.glob("*.rkhs"))


def test_this_version_has_its_files() -> None:
    assert {path.stem.rpartition("-")[2] for path in FILES} >= {rkhs.__version__}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_of_a_released_version_answers_as_it_did(path: Path) -> None:
    name, _, version = path.stem.rpartition("-")
    expected = json.loads((golden.FOLDER / f"answers-{version}.json").read_text(encoding="utf-8"))[name]
    np.testing.assert_allclose(golden.answers(rkhs.load(path)), expected, rtol=1e-6, atol=1e-8)
