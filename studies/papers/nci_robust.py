"""Figure 7 of Laforgue et al. (2020): robust kernel autoencoders of molecules, error and sparsity against epsilon.

Molecules of the NCI-Cancer set with the Tanimoto kernel of linear fragments (FP2 bits); features are rebuilt from 10
components (K2AE). The error is the mean squared distance in feature space on held-out molecules (a third), over that of
their training mean; sparsity is the share of training molecules that the decoder does not use. epsilon and kappa are in
units of the root mean squared norm of the centred features. The decoder's regulariser is shown at two levels: the
published gain is expected where it is small. The squared loss is epsilon = 0. ``--as-printed`` has the model of the
claim ``dual-fig7``, both layers together, on its splits.

Run: RKHS_DATA=... ./dev reproduce nci_robust [--reduced] [--as-printed] [--cells FILE [--minutes M]]
     [--output FILE.json] [--figures FOLDER]
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from rkhs._core.errors import CollapseWarning
from rkhs.estimators.kernel_autoencoder import KernelAutoencoder
from rkhs.kernels import Gaussian, Tanimoto
from rkhs.losses import Huber, SquaredEpsilonInsensitive
from studies.harness.cells import add_cell_options, run_cells
from studies.harness.figures import new_figure, save_figure
from studies.harness.scripts import data_folder, run_script
from studies.papers.claims.conditions import KAE

__all__ = ["error_and_sparsity", "load_molecules", "main"]

REGS = (1e-3, 1e-5)
EPSILONS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
KAPPAS = (0.001, 0.003, 0.01, 0.05, 0.2)


def load_molecules(n: int | None = None) -> np.ndarray:
    """FP2 bits of ``n`` molecules of a fixed shuffle (default all 1788), shape (n, 1024).

    Raises
    ------
    InputError
        If ``RKHS_DATA`` does not name the folder of data sets.
    """
    root = data_folder("nci_cancer")
    with np.load(root / "nci_cancer" / "fingerprints.npz", allow_pickle=False) as data:
        bits = np.unpackbits(data["fp2"], axis=1).astype(float)
    return bits[np.random.default_rng(0).permutation(len(bits))[:n]]


def error_and_sparsity(
    bits: np.ndarray,
    *,
    n_components: int = 10,
    n_splits: int = 3,
    max_iter: int = 200,
    regs: Sequence[float] = REGS,
    printed: bool = False,
    path: Path | None = None,
    minutes: float | None = None,
) -> list[dict[str, Any]]:
    """Fit every loss on every split; a cell of the file ``path`` is one fit.

    Parameters
    ----------
    bits : ndarray of shape (n, d)
    n_components, n_splits, max_iter : int
    regs : sequence of float
        Of the decoder.
    printed : bool, default=False
        The model of ``dual-fig7``, epsilon alone, a fifth held out.
    path, minutes
        As in :func:`studies.harness.cells.run_cells`.

    Returns
    -------
    list of dict
        One a setting of which all splits are done: ``loss``, ``parameter``, ``reg``, ``errors`` (one per split),
        ``sparsity``, ``saturated``, ``gap``, ``seconds``.
    """
    K = Tanimoto()(bits)
    settings = [("epsilon", e) for e in EPSILONS] + [("kappa", k) for k in KAPPAS if not printed]
    held = 1 / 5 if printed else 1 / 3
    splits = [train_test_split(np.arange(len(K)), test_size=held, random_state=i) for i in range(n_splits)]
    shared = {"molecules": len(K), "components": n_components, "iterations": max_iter, "printed": printed}
    options: dict[str, Any] = dict(KAE, decoder_kernel=Gaussian(1.0)) if printed else {"tol": 1e-4}
    rows = [{**shared, "loss": name, "parameter": value, "reg": reg} for reg in regs for name, value in settings]

    def work(cell: dict[str, Any]) -> dict[str, Any]:
        """Fit one loss on one split."""
        train, test = splits[cell["split"]]
        loss = SquaredEpsilonInsensitive(cell["parameter"]) if cell["loss"] == "epsilon" else Huber(cell["parameter"])
        model = KernelAutoencoder(
            n_components,
            kernel="precomputed",
            loss=loss if cell["parameter"] else "squared",
            reg=(1e-5, cell["reg"]),
            max_iter=max_iter,
            **options,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", CollapseWarning)
            model.fit(K[np.ix_(train, train)])
        error = model.reconstruction_error(K[np.ix_(test, train)], diag=1.0).mean()
        # ||phi(x) - mean||^2 of held-out molecules, the error of a decoder that always says the mean.
        null = 1.0 - 2.0 * K[np.ix_(test, train)].mean() + K[np.ix_(train, train)].mean()
        sparse = 1.0 - len(model.support_) / len(train)
        saturated = len(model.saturated_) / len(train)
        return {"error": float(error / null), "sparsity": sparse, "saturated": saturated, "gap": float(model.gap_)}

    plan = [{**row, "split": split} for split in range(n_splits) for row in rows]
    done = run_cells(plan, work, path=path, minutes=minutes, seconds=len(K) ** 2 / 4e4)
    found: list[dict[str, Any]] = []
    for row in rows:
        cells = [cell for cell in done if all(cell[name] == value for name, value in row.items())]
        if len(cells) == n_splits:
            means = {
                name: float(np.mean([cell[name] for cell in cells])) for name in ("sparsity", "saturated", "seconds")
            }
            errors, gap = [cell["error"] for cell in cells], max(cell["gap"] for cell in cells)
            found.append({**row, "errors": errors, **means, "gap": gap})
    return found


def _verdicts(rows: list[dict[str, Any]]) -> list[str]:
    """The paper's claim: some epsilon lowers the held-out error and gives sparsity."""
    lines = []
    for reg in dict.fromkeys(row["reg"] for row in rows):
        here = [row for row in rows if row["reg"] == reg]
        base = next(row for row in here if row["parameter"] == 0.0)
        for loss in dict.fromkeys(row["loss"] for row in here):
            others = [row for row in here if row["loss"] == loss and row["parameter"] > 0.0]
            best = min(others, key=lambda row: float(np.mean(row["errors"])))
            difference = np.array(best["errors"]) - np.array(base["errors"])
            wins = int((difference < 0.0).sum())
            holds = "lowers" if wins == len(difference) else "does NOT lower"
            lines.append(
                f"reg {reg:g}: the best {loss} ({best['parameter']:g}) {holds} the error on every split: mean change "
                f"{difference.mean() / np.mean(base['errors']):+.2%}, lower on {wins} of {len(difference)} splits, "
                f"sparsity {best['sparsity']:.1%} (best of {len(others)} on the held-out part)"
            )
    squared = min(np.mean(row["errors"]) for row in rows if row["parameter"] == 0.0)
    robust = min((row for row in rows if row["parameter"] > 0.0), key=lambda row: float(np.mean(row["errors"])))
    lines.append(
        f"over all regs: lowest error of the squared loss {squared:.4f}, of the others {np.mean(robust['errors']):.4f} "
        f"({robust['loss']} {robust['parameter']:g}, reg {robust['reg']:g}, sparsity {robust['sparsity']:.1%})"
    )
    return lines


def _figure(rows: list[dict[str, Any]], path: Path) -> Path:
    figure, axes = new_figure(2)
    styles = zip(dict.fromkeys(row["reg"] for row in rows), ("-", "--"), strict=False)
    for reg, dash in styles:
        here = [row for row in rows if row["reg"] == reg and row["loss"] == "epsilon"]
        x = [row["parameter"] for row in here]
        errors = np.array([row["errors"] for row in here])
        deviations = errors.std(axis=1, ddof=1) if errors.shape[1] > 1 else None
        axes[0, 0].errorbar(x, errors.mean(1), yerr=deviations, linestyle=dash, capsize=2, label=f"reg = {reg:g}")
        axes[0, 1].plot(x, [row["sparsity"] for row in here], dash, label=f"reg = {reg:g}")
    axes[0, 0].set(xlabel="epsilon", ylabel="held-out error / error of the mean")
    axes[0, 1].set(xlabel="epsilon", ylabel="share of molecules without weight")
    axes[0, 0].legend(frameon=False)
    figure.suptitle("epsilon-insensitive kernel autoencoder, NCI-Cancer molecules")
    return save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Print errors, sparsity and verdicts; returns them as plain types.

    Parameters
    ----------
    arguments : sequence of str, optional
        Of the command line.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reduced", action="store_true", help="400 molecules, 3 splits")
    parser.add_argument("--molecules", type=int, help="another number of molecules")
    parser.add_argument("--as-printed", action="store_true", help="the model of dual-fig7, epsilon alone")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--output", type=Path, help="write all numbers to this JSON file")
    parser.add_argument("--figures", type=Path, help="write the figure as a PNG file to this folder")
    add_cell_options(parser)
    options = parser.parse_args(arguments)
    bits = load_molecules(options.molecules or (400 if options.reduced else None))
    held, printed = "a fifth" if options.as_printed else "a third", options.as_printed
    print(f"{len(bits)} molecules, {held} held out, {options.splits} splits; error of the training mean is 1")
    given: dict[str, Any] = {"regs": REGS[1:], "printed": True} if printed else {}
    rows = error_and_sparsity(bits, n_splits=options.splits, path=options.cells, minutes=options.minutes, **given)
    for row in rows:
        print(
            f"  reg {row['reg']:.0e} {row['loss']:7s} {row['parameter']:5g}: error {np.mean(row['errors']):.4f}, "
            f"sparsity {row['sparsity']:6.1%}, saturated {row['saturated']:6.1%}, gap {row['gap']:.1e}, "
            f"{row['seconds']:.1f} s a fit"
        )
    whole = len(rows) == (len(EPSILONS) if printed else len(REGS) * (len(EPSILONS) + len(KAPPAS)))
    for row in rows if printed and whole else []:
        change = np.divide(row["errors"], rows[0]["errors"]) - 1.0
        spread = float(change.std(ddof=1)) * (1.0 / len(change) + 0.25) ** 0.5
        print(
            f"  epsilon {row['parameter']:g}: {change.mean():+.1%} ± {spread:.1%}, without weight {row['sparsity']:.1%}"
        )
    lines = _verdicts(rows) if whole else ["fits are missing: the same command goes on"]
    for line in lines:
        print(f"  {line}")
    if options.figures is not None and whole:
        print(f"  figure: {_figure(rows, options.figures / 'nci_robust.png')}")
    result = {"rows": rows, "verdicts": lines, "molecules": len(bits)}
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    run_script(main)
