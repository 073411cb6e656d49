"""Model files of molecules: their size, what they would take with what is computed again, and what that costs.

Run: RKHS_DATA=... ./dev bench model_files [--rows 500,1000,2029] [--rounds 3] [--storage auto]. Morgan fingerprints of
bbbp, Tanimoto, dense storage, else the defaults of ``rkhs fit``. "matrices" is what the coordinates of the targets and
the coefficients of the last layer would add; on landmarks also their triangle and directions of the targets. "first" is
a ``load``, which computes both, and the ``transform`` of ten molecules, "next" another one. ``rkhs info`` is a
process of its own. "difference" is that of the codes of ten new molecules, and of distances after decoding, to those of
the model that was saved. ``--others`` prints the files of other estimators (500 rows if ``--rows`` is not given), how
long a save takes, and the first and the second ``inverse_transform`` of ten codes of a loaded model, or ``scores`` of
ten rows for molecules as outputs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch

import rkhs
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script
from studies.harness.timing import seconds


def molecules() -> np.ndarray:
    stored = np.load(data_folder("bbbp") / "bbbp" / "fingerprints.npz")
    return np.unpackbits(stored["morgan"], axis=1).astype(float)


def measured(X: np.ndarray, new: np.ndarray, rounds: int, storage: str, path: Path) -> str:
    model = rkhs.KernelAutoencoder(kernel="tanimoto", output_kernel="same", storage=storage)
    fit = seconds(lambda: model.fit(X))
    save = float(np.median([seconds(lambda: rkhs.save(model, path)) for _ in range(rounds)]))
    info = [sys.executable, "-m", "rkhs", "info", str(path)]
    asked = float(np.median([seconds(lambda: subprocess.run(info, check=True, capture_output=True)) for _ in range(3)]))
    first, after = [], []
    for _ in range(rounds):
        first.append(seconds(lambda: rkhs.load(path).transform(new)))
        loaded = rkhs.load(path)
        after.append(seconds(lambda loaded=loaded: loaded.transform(new)))
    Z = model.codes_[:10]
    gap = max(
        np.abs(loaded.transform(new) - model.transform(new)).max(),
        np.abs(loaded.decode(Z, new).distances - model.decode(Z, new).distances).max(),
    )
    inner = model.model_
    again = [
        model.decoder_coef_,
        inner.rebuilt.output.cholesky,
        getattr(inner.map, "lower", 0),
        inner.penalty.directions,
    ]
    size, extra = path.stat().st_size / 1e6, 8e-6 * sum(np.size(one) for one in again if one is not None)
    times = "".join(f"{t:9.2f}" for t in (fit, save, float(np.median(first)), float(np.median(after)), asked))
    return f"{len(X):6}{size:9.2f}{extra:10.1f}{X.size / 8e6:8.2f}{times}{gap:12.1e}"


def others(X: np.ndarray) -> None:
    """Sizes of the files of other estimators of the same molecules, and what a save and the way back take."""
    y = X[:, :2]
    models = {
        "KernelAutoencoder, features rebuilt": rkhs.KernelAutoencoder(kernel="tanimoto", output_kernel="same"),
        "KernelAutoencoder, bits rebuilt": rkhs.KernelAutoencoder(kernel="tanimoto"),
        "KernelPCA": rkhs.KernelPCA(kernel="tanimoto"),
        "KernelPCA, preimage='nearest'": rkhs.KernelPCA(kernel="tanimoto", preimage="nearest"),
        "DeepRKM": rkhs.DeepRKM(3, kernel="tanimoto"),
        "OperatorKernelRegressor, two columns": rkhs.OperatorKernelRegressor("tanimoto"),
        "InputOutputKernelRegressor, molecules": rkhs.InputOutputKernelRegressor(output_kernel="tanimoto"),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.rkhs"
        for name, model in models.items():
            model = model.fit(y, X) if "molecules" in name else model.fit(X, y)
            taken = [seconds(lambda model=model: rkhs.save(model, path))]
            loaded = rkhs.load(path)
            if hasattr(model, "inverse_transform"):
                Z = model.codes_[:10]
                taken += [seconds(lambda loaded=loaded, Z=Z: loaded.inverse_transform(Z)) for _ in range(2)]
            elif hasattr(model, "scores"):
                taken += [seconds(lambda loaded=loaded: loaded.scores(y[:10])) for _ in range(2)]
            times = "".join(f"{t:9.3f}" for t in taken)
            print(f"{len(X):6}  {name:40}{path.stat().st_size / 1e6:8.2f} MB{times}", flush=True)


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        rows={"default": None, "help": "default: 500,1000,2029"},
        rounds=3,
        storage={"default": "dense", "choices": ("dense", "auto")},
        others={"action": "store_true", "help": "files of other estimators, of 500 rows by default"},
    )
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    X = molecules()
    X = X[np.random.default_rng(0).permutation(len(X))]
    if arguments.others:
        print(f"{'rows':>6}  {'estimator':40}{'file':>11}{'save s':>9}{'first':>9}{'next':>9}")
        for n in map(int, (arguments.rows or "500").split(",")):
            others(X[:n])
        return
    print(f"{'rows':>6}{'file MB':>9}{'matrices':>10}{'bits':>8}{'fit s':>9}{'save':>9}{'first':>9}{'next':>9}", end="")
    print(f"{'info':>9}{'difference':>12}")
    for n in map(int, (arguments.rows or "500,1000,2029").split(",")):
        with tempfile.TemporaryDirectory() as folder:
            print(measured(X[:n], X[-10:], arguments.rounds, arguments.storage, Path(folder) / "m.rkhs"), flush=True)


if __name__ == "__main__":
    run_script(main)
