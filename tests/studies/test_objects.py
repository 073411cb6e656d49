"""The command on codes of objects: its parts are sound, and it runs where the data are."""

from __future__ import annotations

import os

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.kernels import WeisfeilerLehman
from studies.papers.objects import cells, load_set, main, run_cell, verdicts


@pytest.mark.slow
def test_a_cell_scores_every_method() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    graphs = [(rng.integers(0, 6, size=(8 + 6 * c, 2)), rng.integers(0, 2, size=6)) for c in y]
    K = WeisfeilerLehman(2)(graphs)
    parts = [(np.arange(30), np.arange(30, 40))]
    for name, head in (("mutag", "SVM"), ("splice", "k-NN")):
        cell = {"set": name, "kernel": "a", "part": 0, "reduced": True}
        result = run_cell(cell, K, y, parts)
        assert {f"kernel + {head}", f"kernel PCA + {head}", f"K2AE + {head}"} <= result.keys()
        assert all(0.0 <= value <= 1.0 for value in result.values())


def test_verdicts_name_differences_beyond_two_errors() -> None:
    base = {"set": "a", "kernel": "k", "reduced": False}
    clear = [{**base, "part": i, "kernel + SVM": 0.5 + 0.01 * (i % 2), "K2AE + SVM": 0.7} for i in range(5)]
    assert "above" in verdicts(clear)[0]
    noise = [{**base, "part": i, "kernel + SVM": 0.5, "K2AE + SVM": 0.4 + 0.2 * (i % 2)} for i in range(4)]
    assert "no clear difference" in verdicts(noise)[0]
    assert verdicts(clear[:1])[0].endswith("+0.200 one part, no verdict")


def test_the_data_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RKHS_DATA", raising=False)
    with pytest.raises(InputError, match="RKHS_DATA must name the folder"):
        load_set("mutag")
    assert len(cells("mutag")) == 20


@pytest.mark.slow
def test_the_command_runs(tmp_path) -> None:
    if not os.environ.get("RKHS_DATA"):
        pytest.skip("needs the benchmark data of RKHS_DATA")
    arguments = ["--sets", "coffee", "--reduced", "--cells", str(tmp_path / "cells.jsonl")]
    assert len(main(arguments)["cells"]) == 3
    assert len(main(arguments)["cells"]) == 3
