"""Table 2 of Laforgue et al. (2019) on a stand-in: reconstruction of metabolite fingerprints from codes.

Stand-in: 3145 training and 786 test compounds of MassBank with 3380 bits in place of the paper's 5579 and 1395 with
4136, so that errors cannot be compared with the printed ones, only the order of the methods. MSRE is the mean of
``||x - x'||^2`` on the test compounds. Networks: two layers as in the paper (sigmoid or ReLU codes, linear output) and
a deep one (256 units on both sides of linear codes), each with four rates, 1200 steps and 100 epochs at least, and the
best epoch of the best rate on 15 % of the training part. "KAE of the paper" is its model: Gaussian kernels, no linear
parts, no centring, no scaling, no refined codes. The paper does not print its bandwidths and regularisers: the median
distance, one, and the best of four regularisers on 15 % of the training part. The others have the defaults of this
library, nothing chosen: "KAE" encodes in one pass, "KAE, refined" improves each code by its own item, "KAE, Gaussian"
has Gaussian kernels in both layers. PCA stands beside them.

Run: RKHS_DATA=... ./dev reproduce fingerprint_codes [--reduced] [--n-train 1000 | --all] [--cells FILE]
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from rkhs.estimators.kernel_autoencoder import KernelAutoencoder
from rkhs.kernels import Gaussian
from studies.harness.cells import add_cell_options, run_cells
from studies.harness.scripts import data_folder, run_script
from studies.networks import NetworkAutoencoder

__all__ = ["cells", "claims", "load_fingerprints", "main", "run_cell"]

DIMENSIONS = (5, 10, 25, 50, 100)
STEPS = 1200  # of a network at one rate, at least, and 100 epochs at least
_BATCH = 64
# Table 2: AE (sigmoid), AE (relu), KAE.
PRINTED = {
    5: (99.81, 96.62, 76.38),
    10: (87.36, 84.02, 65.76),
    25: (72.31, 68.77, 51.63),
    50: (63.00, 58.29, 40.72),
    100: (55.43, 48.63, 36.27),
}
_MODELS = ("PCA", "AE (sigmoid)", "AE (relu)", "KAE of the paper", "KAE", "KAE, Gaussian", "deep AE (relu)")
_RATES = (3e-4, 1e-3, 3e-3, 1e-2)
_REGS = (1e-2, 1e-3, 1e-4, 1e-5)  # of the paper's model, in units of the mean square of a training row


def load_fingerprints(n_train: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Bits of ``n_train`` training compounds of a fixed shuffle (default all 3145) and of the 786 test compounds.

    Raises
    ------
    InputError
        If ``RKHS_DATA`` does not name the folder of data sets.
    """
    root = data_folder("massbank_pos")
    folder = root / "massbank_pos"
    with np.load(folder / "fingerprints.npz", allow_pickle=False) as data:
        bits = np.unpackbits(data["bits"], axis=1)[:, : int(data["n_bits"])].astype(float)
    with np.load(folder / "spectra.npz", allow_pickle=False) as data:
        train, test = data["train_idx"], data["test_idx"]
    return bits[np.random.default_rng(0).permutation(train)[:n_train]], bits[test]


def cells(n_train: int | None, *, reduced: bool = False) -> list[dict[str, Any]]:
    """Settings of every cell: a model and a dimension; the deep network, which costs most, comes last.

    Parameters
    ----------
    n_train : int or None
    reduced : bool, default=False
        Dimensions 5 and 25, no deep network.

    Returns
    -------
    list of dict
    """
    dimensions = (5, 25) if reduced else DIMENSIONS
    models = _MODELS[:6] if reduced else _MODELS
    batches = -(-int(0.85 * (n_train or 3145)) // _BATCH)
    shared = {"n_train": n_train, "epochs": max(100, STEPS // batches)}
    return [{**shared, "model": model, "p": p} for model in models for p in dimensions]


def run_cell(cell: dict[str, Any], train: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    """Squared reconstruction error of each test compound, by variant of the model.

    Parameters
    ----------
    cell : dict
        From :func:`cells`; ``rates`` of the networks if others are tried.
    train, test : array of shape (n, d) and (m, d)

    Returns
    -------
    dict
        ``errors``: lists of length m; ``chosen``: the learning rate of a network, the regulariser of the paper's model.
    """
    name, p, chosen = cell["model"], cell["p"], None
    rows = len(train) - int(0.15 * len(train))  # a network is not fitted to its held-out rows: no model is
    if name == "PCA":
        pca = PCA(p, random_state=0).fit(train[:rows])
        errors = {name: ((pca.inverse_transform(pca.transform(test)) - test) ** 2).sum(1)}
    elif "AE (" in name:
        activation = name[name.index("(") + 1 : -1]
        deep = name.startswith("deep")
        network = NetworkAutoencoder(
            p,
            (256,) if deep else (),
            activation=activation,
            code_activation=not deep,
            learning_rates=cell.get("rates", _RATES),
            max_epochs=cell["epochs"],
            batch_size=_BATCH,
        ).fit(train)
        errors, chosen = {name: network.reconstruction_error(test)}, network.learning_rate_
    elif "paper" in name:
        models = [_model_of_the_paper(p, reg, train[:rows]) for reg in _REGS]
        best = min(range(len(models)), key=lambda i: float(models[i].reconstruction_error(train[rows:]).mean()))
        chosen, errors = _REGS[best], {name: models[best].reconstruction_error(test)}
    else:
        kernels: dict[str, Any] = {}
        if "Gaussian" in name:
            kernels = {"kernel": Gaussian("median"), "decoder_kernel": Gaussian(0.5)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KernelAutoencoder(p, **kernels, random_state=0).fit(train[:rows])
        errors = {f"{name}, refined": model.reconstruction_error(test)}
        errors[name] = model.set_params(refine=False).reconstruction_error(test)
    return {"errors": {key: np.round(values, 3).tolist() for key, values in errors.items()}, "chosen": chosen}


def _model_of_the_paper(p: int, reg: float, X: np.ndarray) -> KernelAutoencoder:
    """Fitted, with the regulariser in units of the mean square of a row: the same after scaling the rows."""
    power = float((X**2).sum(1).mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KernelAutoencoder(
            p,
            kernel=Gaussian("median"),
            decoder_kernel=Gaussian(1.0),
            reg=(reg * power, reg),
            center=False,
            scale=False,
            linear_part="kernel",
            refine=False,
            code_metric=0.0,
        ).fit(X)


def claims(table: dict[str, dict[int, np.ndarray]]) -> list[str]:
    """The paper's claim at each dimension, and the comparisons it lacks, with paired standard errors over compounds.

    Parameters
    ----------
    table : dict of str to dict of int to ndarray of shape (m,)
        Errors by method and dimension.

    Returns
    -------
    list of str
    """
    pairs = [(left, right) for left in ("KAE of the paper", "KAE") for right in ("AE (sigmoid)", "AE (relu)")]
    pairs += [("KAE, Gaussian", "AE (relu)"), ("KAE of the paper", "deep AE (relu)")]
    pairs += [("KAE", "PCA"), ("KAE, refined", "KAE"), ("KAE", "deep AE (relu)"), ("KAE, refined", "deep AE (relu)")]
    lines = []
    for left, right in pairs:
        parts, wins = [], 0
        both = [p for p in table.get(left, {}) if p in table.get(right, {})]
        for p in both:
            difference = table[left][p] - table[right][p]
            mean, error = float(difference.mean()), float(difference.std(ddof=1) / len(difference) ** 0.5)
            clear = mean < -2 * error
            wins += clear
            parts.append(f"{p}: {mean / table[right][p].mean():+.1%}{'' if abs(mean) > 2 * error else ' (not clear)'}")
        if both:
            word = "holds" if wins == len(both) else f"holds at {wins} of {len(both)} dimensions"
            lines.append(f"'{left} is below {right}': {word} ({', '.join(parts)})")
    return lines


def _collect(found: Sequence[dict[str, Any]]) -> dict[str, dict[int, np.ndarray]]:
    table: dict[str, dict[int, np.ndarray]] = {}
    for cell in found:
        for name, errors in cell["errors"].items():
            table.setdefault(name, {})[cell["p"]] = np.array(errors)
    return table


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Run, resume or finish the table; prints it with a verdict a claim and returns plain types.

    Parameters
    ----------
    arguments : sequence of str, optional
        Of the command line.

    Returns
    -------
    dict
        ``msre`` by method and dimension, ``verdicts``, ``n_train``.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reduced", action="store_true", help="200 training compounds, 2 dimensions: minutes")
    parser.add_argument("--n-train", type=int, default=1000, help="training compounds, 1000 by default")
    parser.add_argument("--all", action="store_true", help="all 3145 training compounds: hours")
    parser.add_argument("--output", type=Path, help="write all numbers to this JSON file")
    add_cell_options(parser)
    options = parser.parse_args(arguments)
    n_train = 200 if options.reduced else None if options.all else options.n_train
    train, test = load_fingerprints(n_train)
    null = ((test - train.mean(0)) ** 2).sum(1).mean()
    print(f"fingerprints, stand-in for table 2: {len(train)} of 3145 training and {len(test)} test compounds")
    print(f"{train.shape[1]} bits, MSRE of always saying the training mean: {null:.2f}")
    plan = cells(n_train, reduced=options.reduced)
    seconds = 2.0 if options.reduced else 60.0 * (len(train) / 1000) ** 2
    work = partial(run_cell, train=train, test=test)
    table = _collect(run_cells(plan, work, path=options.cells, minutes=options.minutes, seconds=seconds))
    dimensions = sorted({p for values in table.values() for p in values})
    print("  MSRE at dimension        " + "".join(f"{p:9d}" for p in dimensions))
    for name, values in table.items():
        row = "".join(f"{values[p].mean():9.2f}" if p in values else " " * 9 for p in dimensions)
        print(f"  {name:24s} {row}")
    for i, name in enumerate(("AE (sigmoid)", "AE (relu)", "KAE")):
        print(f"  paper, {name:17s} " + "".join(f"{PRINTED[p][i]:9.2f}" for p in dimensions if p in PRINTED))
    lines = claims(table)
    for line in lines:
        print(f"  {line}")
    msre = {name: {str(p): float(v.mean()) for p, v in values.items()} for name, values in table.items()}
    result = {"msre": msre, "verdicts": lines, "n_train": len(train)}
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    run_script(main)
