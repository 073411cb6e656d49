"""Items that are all equal: every estimator of codes refuses them; constant targets give the constant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.lib.format import open_memmap

from rkhs import (
    DeepRKM,
    FunctionalKernelRegressor,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelContrastive,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs._core.errors import InputError
from rkhs.cli.main import main
from rkhs.features import Nystroem, RandomFeatures

RNG = np.random.default_rng(0)
ROUNDED = np.full((12, 3), 1e3) * (1.0 + 3e-16 * RNG.integers(-1, 2, (12, 3)))
X = RNG.normal(size=(12, 3))
REFUSED = r"X must hold at least two different items; got .*(all the same|constant), from which nothing can be learned"


@pytest.mark.parametrize(
    "make",
    [
        KernelAutoencoder,
        lambda **p: KernelAutoencoder(storage=Nystroem(4), **p),
        lambda **p: KernelAutoencoder(2, constraint="sphere", **p),
        KernelPCA,
        lambda **p: KernelPCA(storage=RandomFeatures(4), **p),
        lambda **p: DeepRKM((1, 1), **p),
        KernelContrastive,
    ],
)
def test_items_that_are_all_equal_are_refused(make: Any) -> None:
    for rows in (np.ones((40, 3)), np.full((40, 3), np.pi), np.zeros((12, 3)), ROUNDED, pd.DataFrame(ROUNDED)):
        with pytest.raises(InputError, match=REFUSED):
            make().fit(rows)
    if getattr(make(), "storage", "dense") in ("dense", "auto"):
        for K in (np.ones((12, 12)), np.full((12, 12), 0.3), np.zeros((12, 12))):
            with pytest.raises(InputError, match=REFUSED):
                make(kernel="precomputed").fit(K)


def test_equal_objects_sparse_rows_streams_and_targets_are_refused(tmp_path: Path) -> None:
    stream = open_memmap(tmp_path / "rows.npy", "w+", np.float64, (50, 3))
    stream[:] = 1.0
    stream.flush()
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    calls = [
        lambda: KernelPCA(kernel="spectrum").fit(["kernel"] * 5),
        lambda: KernelAutoencoder(kernel="dtw", output_kernel="same").fit([np.arange(4.0)] * 5),
        lambda: KernelContrastive(kernel="weisfeiler_lehman").fit([([(0, 1), (1, 2)], ["C", "C", "O"])] * 5),
        lambda: KernelPCA(kernel="mixed_table").fit(pd.DataFrame({"a": [1.0] * 5, "b": ["x"] * 5})),
        lambda: KernelPCA().fit(scipy.sparse.csr_array(np.ones((6, 3)))),
        lambda: KernelPCA(storage=Nystroem(4)).fit(rows),
        lambda: KernelAutoencoder(storage=Nystroem(4)).fit(rows),
        lambda: KernelPCA().fit(np.r_[np.ones((5, 3)), X], sample_weight=[1.0] * 5 + [0.0] * 12),
    ]
    for call in calls:
        with pytest.raises(InputError, match=REFUSED):
            call()
    with pytest.raises(InputError, match="targets must hold at least two different items"):
        KernelAutoencoder().fit(X, targets=np.ones((12, 2)))
    with pytest.raises(InputError, match="at least two different items"):
        KernelPCA(kernel="precomputed").fit(np.ones((3, 3)) * (1 + 1e-16))
    KernelPCA(1).fit(np.r_[np.ones((11, 3)), np.full((1, 3), 1.0 + 1e-6)])


@pytest.mark.parametrize("command", ["fit", "report", "map"])
def test_commands_refuse_them_with_a_sentence(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.ones((12, 3)), columns=list("abc")).to_csv("same.csv", index=False)
    out = {"fit": "m.rkhs", "report": "r.html", "map": "m.svg"}[command]
    assert main([command, "same.csv", "-o", out]) == 2
    assert "must hold at least two different items" in capsys.readouterr().err
    assert not Path(out).exists()


@pytest.mark.parametrize(
    "model",
    [
        OperatorKernelRegressor(),
        OperatorKernelRegressor(loss="huber"),
        OperatorKernelRegressorCV(cv=2),
        FunctionalKernelRegressor(),
        InputOutputKernelRegressor(),
    ],
)
def test_regressors_of_constant_targets_give_the_constant(model: Any) -> None:
    y = np.full((12, 2), np.pi)
    np.testing.assert_allclose(model.fit(X, y).predict(X + 1.0), y)
