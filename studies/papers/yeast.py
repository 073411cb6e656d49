"""Yeast, section 4.1 of Laforgue et al. (2020): error and sparsity grids (figures 3, 4), Hamming errors (figure 6).

Grids: the first 300 rows, three ``train_test_split(test_size=1/3, random_state=i)``, Gaussian ``gamma=1``, no centring;
the error is the mean squared error of all label entries, "the Hamming before clamping". Hamming errors: the standard
split of 1500 and 917 rows, regulariser, loss parameter and bandwidth chosen by cross-validation on the 1500 only.

Run: RKHS_DATA=... ./dev reproduce yeast [--reduced] [--output FILE.json] [--figures FOLDER]
     RKHS_DATA=... ./dev reproduce yeast --splits 10 --cells FILE [--minutes M]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, train_test_split

from rkhs.estimators.operator_regressor import OperatorKernelRegressor
from rkhs.estimators.operator_regressor_cv import OperatorKernelRegressorCV
from rkhs.kernels import Gaussian
from rkhs.losses import EpsilonInsensitive, Huber, Loss, Squared, SquaredEpsilonInsensitive
from studies.harness.cells import add_cell_options, run_cells
from studies.harness.figures import path_figure
from studies.harness.scripts import data_folder, run_script
from studies.papers.claims.rules import direction

__all__ = ["error_grids", "hamming_errors", "load_yeast", "main", "split_differences"]

REGS = np.logspace(-8, -1, 20)
EPSILONS = (1e-5, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5)
KAPPAS = (1e-3, 1e-2, 0.1, 0.2, 0.4, 0.8, 1.6, 10.0)
LOSSES = ("ridge", "epsilon-ridge", "epsilon-SVR", "Huber")
_NAMES: dict[str, Any] = dict(
    zip(LOSSES, ("squared", "squared_epsilon_insensitive", "epsilon_insensitive", "huber"), strict=True)
)


def load_yeast() -> dict[str, np.ndarray]:
    """Inputs ``X`` (2417, 103), labels ``Y`` (2417, 14) as floats, and the rows of the standard split.

    Raises
    ------
    InputError
        If ``RKHS_DATA`` does not name the folder of data sets.
    """
    root = data_folder("yeast")
    with np.load(root / "yeast" / "yeast.npz", allow_pickle=False) as data:
        return {
            "X": data["X"],
            "Y": data["Y"].astype(float),
            "train": data["train_idx"].astype(int),
            "test": data["test_idx"].astype(int),
        }


def _losses(name: str, step: int) -> list[Loss]:
    if name == "ridge":
        return [Squared()]
    if name == "Huber":
        return [Huber(kappa) for kappa in KAPPAS[::step]]
    kind = SquaredEpsilonInsensitive if name == "epsilon-ridge" else EpsilonInsensitive
    return [kind(epsilon) for epsilon in EPSILONS[::step]]


def error_grids(*, reduced: bool = False) -> dict[str, dict[str, Any]]:
    """Held-out errors, sparsity and saturation of the four losses, certified.

    Parameters
    ----------
    reduced : bool, default=False
        Every fifth regulariser, every third loss parameter and one fold.

    Returns
    -------
    dict of str to dict
        ``error``, ``sparsity`` (share of samples without weight), ``saturated`` (share where the loss is linear): lists
        of shape (folds, regs, parameters); ``parameters``; ``gap``: the largest, relative to the loss of ``h = 0``.
    """
    data = load_yeast()
    X, Y = data["X"][:300], data["Y"][:300]
    regs = REGS[::5] if reduced else REGS
    result: dict[str, dict[str, Any]] = {}
    for name in LOSSES:
        losses = _losses(name, 3 if reduced else 1)
        shape = (len(regs), len(losses))
        rows: dict[str, list[Any]] = {"error": [], "sparsity": [], "saturated": []}
        largest = 0.0
        for fold in range(1 if reduced else 3):
            train, test = train_test_split(np.arange(300), test_size=1 / 3, random_state=fold)
            model = OperatorKernelRegressor(Gaussian(1.0), center=False, tol=1e-6)
            path = model.path(X[train], Y[train], regs=regs, losses=losses)
            n = len(train)
            rows["error"].append(path.mean_squared_errors(X[test], Y[test]).reshape(shape).tolist())
            rows["sparsity"].append((1.0 - path.n_support / n).reshape(shape).tolist())
            rows["saturated"].append((path.n_saturated / n).reshape(shape).tolist())
            # Without centring the machine h = 0 has the mean loss of the labels: the scale of the stopping rule.
            null = np.array([_null(loss, Y[train]) for loss in path.losses])
            largest = max(largest, float((path.gaps / null).max()))
        parameters = [float(next(iter(loss.get_params().values()), 0.0)) for loss in losses]
        result[name] = {**rows, "parameters": parameters, "regs": regs.tolist(), "gap": largest}
    return result


def _null(loss: Loss, Y: np.ndarray) -> float:
    import torch

    return float(loss.value(-torch.from_numpy(Y)).mean())


def hamming_errors(
    *, reduced: bool = False, names: Sequence[str] = LOSSES, split: int | None = None, **options: Any
) -> dict[str, dict[str, Any]]:
    """Test Hamming errors of a split, parameters chosen on the training part.

    Parameters
    ----------
    reduced : bool, default=False
        300 training rows, one bandwidth, two regularisers, two loss parameters.
    names : sequence of str, default=LOSSES
        Ridge first: the others are compared with it.
    split : int, optional
        Number of a random split of the same sizes; None is the standard one.
    options : dict
        Of the machines, such as ``center=False``.

    Returns
    -------
    dict of str to dict
        ``hamming`` and ``standard_error`` (over test rows), ``difference`` from ridge with its own (paired)
        ``difference_error``, the chosen ``gamma``, ``reg``, ``loss``, and ``rows``: the error of each test row.
    """
    data = load_yeast()
    rows = np.r_[data["train"], data["test"]]
    if split is not None:
        rows = np.random.default_rng(split).permutation(rows)
    train, test = np.split(rows, [len(data["train"])])
    train = train[:300] if reduced else train
    X, Y, X_test, Y_test = data["X"][train], data["Y"][train], data["X"][test], data["Y"][test]
    shared: dict[str, Any] = {
        "regs": (1e-4, 1e-3) if reduced else (1e-5, 3e-5, 1e-4, 3e-4, 1e-3),
        "gammas": (1.0,) if reduced else (0.5, 1.0, 2.0, 4.0),
        "cv": KFold(3, shuffle=True, random_state=0),
        "tol": 1e-4,
        **options,
    }
    epsilons = (0.3, 0.6) if reduced else (0.01, 0.03, 0.09, 0.27, 0.8)
    kappas = (0.5, 1.0) if reduced else (0.1, 0.2, 0.4, 0.8, 1.6)
    result: dict[str, dict[str, Any]] = {}
    reference = np.zeros(len(X_test))
    for name in names:
        values: dict[str, Any] = (
            {} if name == "ridge" else {"kappas": kappas} if name == "Huber" else {"epsilons": epsilons}
        )
        model = OperatorKernelRegressorCV(Gaussian(1.0), loss=_NAMES[name], **shared, **values).fit(X, Y)
        wrong = ((model.predict(X_test) > 0.5) != (Y_test > 0.5)).mean(1)
        if name == "ridge":
            reference = wrong
        root = len(wrong) ** 0.5
        result[name] = {
            "hamming": float(wrong.mean()),
            "standard_error": float(wrong.std(ddof=1) / root),
            "difference": float((wrong - reference).mean()),
            "difference_error": float((wrong - reference).std(ddof=1) / root),
            "gamma": float(model.gamma_ or np.nan),
            "reg": float(model.reg_),
            "loss": repr(model.loss_),
            "rows": wrong.tolist(),
        }
    return result


def _print_grids(grids: dict[str, dict[str, Any]]) -> list[str]:
    lines, best = [], {}
    for name, grid in grids.items():
        mean = np.mean(grid["error"], axis=0)
        r, j = np.unravel_index(int(mean.argmin()), mean.shape)
        best[name] = float(mean[r, j])
        fold = np.array(grid["error"])[:, r, j]
        spread = float(fold.std(ddof=1)) if len(fold) > 1 else 0.0
        print(
            f"  {name:14s} lowest error {best[name]:.5f} (std over folds {spread:.5f}) at reg {grid['regs'][r]:.1e}, "
            f"parameter {grid['parameters'][j]:g}: sparsity {np.mean(grid['sparsity'], 0)[r, j]:.1%}, "
            f"saturated {np.mean(grid['saturated'], 0)[r, j]:.1%}; largest gap {grid['gap']:.1e}"
        )
    low = np.mean(grids["epsilon-ridge"]["error"], axis=0)[0]
    parameters = grids["epsilon-ridge"]["parameters"]
    lines.append(
        f"smallest reg: the best epsilon of epsilon-ridge is {parameters[int(low.argmin())]:g} "
        f"(error {low.min():.5f}; at the smallest epsilon {low[0]:.5f})"
    )
    high = np.mean(grids["epsilon-ridge"]["error"], axis=0)[-1]
    lines.append(
        f"largest reg: the best epsilon is {parameters[int(high.argmin())]:g}, and the largest one raises the error "
        f"from {high.min():.5f} to {high[-1]:.5f}"
    )
    names = [name for name in best if name != "ridge"]
    gains = ", ".join(f"{name} {1.0 - best[name] / best['ridge']:+.2%}" for name in names)
    lines.append(f"gain of the best setting over the best ridge (both chosen on the test folds): {gains}")
    return lines


def split_differences(
    splits: int, *, reduced: bool = False, path: Path | None = None, minutes: float | None = None, **options: Any
) -> dict[str, list[float]]:
    """Hamming errors less that of ridge on random splits; a cell of the file ``path`` is a split.

    Parameters
    ----------
    splits : int
    reduced : bool, default=False
    options : dict
        Both as in :func:`hamming_errors`.
    path, minutes
        As in :func:`studies.harness.cells.run_cells`.
    """
    names = ("ridge", "epsilon-ridge", "Huber")

    def work(cell: dict[str, Any]) -> dict[str, Any]:
        found = hamming_errors(names=names, **cell)
        return {name: found[name]["difference"] for name in names[1:]}

    plan = [{"split": split, "reduced": reduced, **options} for split in range(splits)]
    cells = run_cells(plan, work, path=path, minutes=minutes, seconds=2.0 if reduced else 90.0)
    return {name: [cell[name] for cell in cells] for name in names[1:]}


def _print_splits(options: argparse.Namespace) -> dict[str, list[float]]:
    shared: dict[str, Any] = {"reduced": options.reduced, "path": options.cells, "minutes": options.minutes}
    found = split_differences(options.splits, **shared, center=False, criterion="squared")
    for name, values in found.items():
        judged = direction(values, sign=-1, overlap=917 / 1500, name=f"Hamming error of {name} less that of ridge:")
        print(f"  {judged.found}: {judged.verdict}")
    return found


def _verdict(table: dict[str, dict[str, Any]]) -> str:
    others = {name: row for name, row in table.items() if name != "ridge"}
    best = min(others, key=lambda name: others[name]["difference"])
    row = others[best]
    ratio = abs(row["difference"]) / max(row["difference_error"], 1e-12)
    if row["difference"] >= 0.0:
        return "no robust loss has a lower Hamming error than ridge on this split"
    word = "more than two" if ratio > 2.0 else "fewer than two"
    return (
        f"the lowest is {best}: {100 * row['difference']:+.2f} points against ridge, {ratio:.1f} paired standard "
        f"errors ({word}; one split, the best of three compared)"
    )


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Print grids, Hamming errors and verdicts; returns them as plain types.

    Parameters
    ----------
    arguments : sequence of str, optional
        Of the command line.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reduced", action="store_true", help="small grids: seconds")
    parser.add_argument("--splits", type=int, help="only Hamming errors, on so many random splits (2 minutes each)")
    add_cell_options(parser)
    parser.add_argument("--output", type=Path, help="write all numbers to this JSON file")
    parser.add_argument("--figures", type=Path, help="write the figures as PNG files to this folder")
    options = parser.parse_args(arguments)
    if options.splits:
        return _print_splits(options)
    folds = "one fold" if options.reduced else "three folds"
    print(f"grids{' (reduced)' if options.reduced else ''}: mean squared error per label, {folds} of 200 rows")
    grids = error_grids(reduced=options.reduced)
    lines = _print_grids(grids)
    print("Hamming errors x 100 on the 917 test rows, with standard errors; difference from ridge, paired")
    table = hamming_errors(reduced=options.reduced)
    for name, row in table.items():
        print(
            f"  {name:14s} {100 * row['hamming']:.2f} +- {100 * row['standard_error']:.2f}   "
            f"{100 * row['difference']:+.2f} +- {100 * row['difference_error']:.2f}   "
            f"gamma {row['gamma']:g}, reg {row['reg']:g}, {row['loss']}"
        )
    lines.append(_verdict(table))
    for line in lines:
        print(f"  {line}")
    if options.figures is not None:
        for name in LOSSES[1:]:
            symbol = "kappa" if name == "Huber" else "epsilon"
            path = options.figures / f"yeast_{name.lower().replace('-', '_')}.png"
            print(f"  figure: {path_figure(grids[name], grids['ridge'], name, symbol, path)}")
    result = {"grids": grids, "hamming": table, "verdicts": lines}
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    run_script(main)
