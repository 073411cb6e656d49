"""Table 1 of Laforgue et al. (2020) on a stand-in: metabolites from tandem mass spectra, top-1/10/20 accuracies.

Stand-in: 3931 MassBank spectra [M+H]+ in place of the paper's 6974, 30 candidates for each of 400 test spectra (the
same molecular formula first, then the nearest mass), so accuracies cannot be compared with the published ones, only the
order of the methods. Inputs: cosine of the probability product kernel of the peaks. Outputs: Gaussian of the Tanimoto
distance of fingerprints, gamma 0.72. The paper picks epsilon, kappa and both regularisers by their scores on the test
set; here epsilon and kappa are chosen on a fifth of the training part, at reg 1e-6, at 1e-4, and together with reg.
Beside the machines stand chance and a search: the fingerprint of the most similar training spectrum.

Run: RKHS_DATA=... ./dev reproduce metabolites [--reduced] [--n-train 1000 | --all] [--splits 3] [--uncentred]
     [--cells FILE] [--output FILE.json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rkhs.estimators.io_regressor import InputOutputKernelRegressor
from rkhs.estimators.options.arguments import Device
from rkhs.kernels import GaussianOf, Normalized, ProbabilityProduct, Tanimoto
from rkhs.losses import Huber, Loss, Squared, SquaredEpsilonInsensitive
from rkhs.metrics import top_k_accuracy, truth_ranks
from studies.harness.cells import cell_key
from studies.harness.finished import Finished
from studies.harness.scripts import run_script
from studies.harness.spectra import Spectra, load_spectra

__all__ = ["Spectra", "chosen", "load_spectra", "main", "study", "tasks"]

OUTPUT_KERNEL = GaussianOf(Tanimoto(), gamma=0.72)
LEVELS = (1, 10, 20)
REGS = (1e-6, 1e-5, 1e-4, 1e-3)
EPSILONS = (0.05, 0.2, 0.4)  # features have norm 1
KAPPA_SHARES = (0.5, 0.8, 1.0)  # of the median residual of ridge at the same reg


@dataclass(frozen=True)
class _Task:
    """Kernel values of one ranking problem, and its finished fits."""

    inputs: np.ndarray  # (n, n)
    outputs: np.ndarray  # (n, n)
    cross: np.ndarray  # (m, n)
    pool: np.ndarray  # (c, n), kernel values of candidates with training outputs
    candidates: np.ndarray
    truth: np.ndarray
    scored: str = "test"
    center: bool = True
    device: Device = "cpu"
    done: Finished = field(default_factory=lambda: Finished(None))

    def fitted(self, name: str, reg: float, parameter: float = 0.0, scale: float = 1.0) -> dict[str, Any]:
        """Ranks of the truth, share of supports, median residual; a finished fit is read. Huber: kappa over scale."""
        cell = {"spectra": len(self.inputs), "centred": self.center, "scored": self.scored}
        cell |= {"loss": name, "reg": reg, "parameter": parameter}
        key = cell_key(cell)
        if key not in self.done.rows:
            begun = time.perf_counter()
            loss: Loss = SquaredEpsilonInsensitive(parameter) if name == "epsilon-ridge" else Squared()
            loss = Huber(parameter * scale) if name == "Huber" else loss
            options: dict[str, Any] = {"tol": 1e-4, "device": self.device, "center": self.center}
            model = InputOutputKernelRegressor(
                "precomputed", output_kernel="precomputed", loss=loss, reg=reg, **options
            ).fit(self.inputs, self.outputs)
            scores = model.scores(self.cross, self.pool)
            ranks = truth_ranks(list(np.take_along_axis(scores, self.candidates, axis=1)), self.truth)
            n = len(self.inputs)
            row = {"ranks": ranks.tolist(), "supports": len(model.support_) / n}
            row["scale"] = float(np.median(np.linalg.norm(n * reg * model.dual_coef_, axis=1)))  # residuals of ridge
            self.done.add(key, row)
            if self.done.path is not None:
                print(f"  {time.perf_counter() - begun:.0f} s: {', '.join(map(str, cell.values()))}", flush=True)
        return self.done.rows[key]


def tasks(data: Spectra, center: bool, device: Device = "cpu", path: Path | None = None) -> tuple[_Task, _Task]:
    """Held-out compounds, by which parameters are chosen, and the test spectra; finished fits are kept in a file.

    Parameters
    ----------
    data : Spectra
    center : bool
        Of the machines; the paper does not centre.
    device : str, default="cpu"
    path : Path, optional
    """
    kernel, done = Normalized(ProbabilityProduct()), Finished(path)
    inputs, cross = kernel(data.train), kernel(data.test, data.train)
    outputs, pool = OUTPUT_KERNEL(data.fingerprints), OUTPUT_KERNEL(data.pool, data.fingerprints)
    options: Any = {"center": center, "device": device, "done": done}
    of = f", split {data.split}" if data.split else ""
    test = _Task(inputs, outputs, cross, pool, data.candidates, data.truth, f"test{of}", **options)
    # The last fifth of the training part; its candidates are the 30 held-out compounds nearest in mass.
    cut = len(inputs) - len(inputs) // 5
    held = data.masses[cut:]
    near = np.abs(held[:, None] - held).argsort(axis=1, kind="stable")[:, : min(30, len(held))]
    truth = (near == np.arange(len(held))[:, None]).argmax(1)
    rows = inputs[:cut, :cut], outputs[:cut, :cut], inputs[cut:, :cut], outputs[cut:, :cut].astype(float)
    return _Task(*rows, near, truth, f"held out{of}", **options), test


PARAMETERS = {"ridge": (0.0,), "epsilon-ridge": EPSILONS, "Huber": KAPPA_SHARES}


def chosen(task: _Task, regs: Sequence[float]) -> dict[tuple[str, float], tuple[float, float]]:
    """Best mean reciprocal rank of held-out compounds and its parameter (a share for Huber), by loss and reg."""
    best: dict[tuple[str, float], tuple[float, float]] = {}
    for reg in regs:
        scale = task.fitted("ridge", reg)["scale"]
        for name, parameters in PARAMETERS.items():
            for parameter in parameters:
                score = float((1.0 / np.array(task.fitted(name, reg, parameter, scale)["ranks"])).mean())
                if score > best.get((name, reg), (-1.0, 0.0))[0]:
                    best[name, reg] = (score, parameter)
    return best


def _row(ranks: np.ndarray) -> dict[str, Any]:
    top = {f"top-{k}": top_k_accuracy(ranks, k) for k in LEVELS}
    return {**top, "reciprocal rank": float((1.0 / ranks).mean()), "ranks": ranks.tolist()}


def study(
    data: Spectra,
    *,
    regs: Sequence[float] = REGS,
    device: Device = "cpu",
    center: bool = True,
    path: Path | None = None,
) -> dict[str, dict[str, Any]]:
    """Accuracies of the machines at 1e-6, 1e-4 and the selected reg, of the search, and of chance.

    Parameters
    ----------
    data : Spectra
    regs : sequence of float
        Candidates; 1e-6 and 1e-4 are always shown if they are among them.
    device : str, default="cpu"
    center : bool, default=True
        Of the machines; the paper does not centre.
    path : Path, optional
        File of finished fits; a stopped run goes on from it.

    Returns
    -------
    dict of str to dict
        Rows with ``top-1``, ``top-10``, ``top-20``, ``reciprocal rank``, ``ranks``, ``reg`` and ``parameter``.
    """
    held_out, task = tasks(data, center, device, path)
    best = chosen(held_out, regs)
    rows: dict[str, dict[str, Any]] = {}
    nearest = task.cross.argmax(1)
    rows["search"] = _row(truth_ranks(task.pool[data.candidates, nearest[:, None]], data.truth))
    c = data.candidates.shape[1]
    rows["chance"] = {f"top-{k}": min(1.0, k / c) for k in LEVELS}
    for name in PARAMETERS:
        selected = max(regs, key=lambda reg: best[name, reg][0])
        for label, reg in (("1e-06", 1e-6), ("1e-04", 1e-4), ("selected", selected)):
            if reg not in regs:
                continue
            share, scale = best[name, reg][1], task.fitted("ridge", reg)["scale"]
            found = task.fitted(name, reg, share, scale)
            parameter = share * scale if name == "Huber" else share
            shown = {"reg": reg, "parameter": parameter, "supports": found["supports"]}
            rows[f"{name}, {label}"] = {**_row(np.array(found["ranks"])), **shown}
    return rows


def _differences(rows: dict[str, dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Differences in top-1 accuracy of one split, in points, with paired standard errors."""

    def compare(left: str, right: str) -> tuple[float, float]:
        hits = [np.asarray(rows[name]["ranks"]) <= 1 for name in (left, right)]
        difference = 100.0 * (hits[0].astype(float) - hits[1])
        return float(difference.mean()), float(difference.std(ddof=1) / len(difference) ** 0.5)

    pairs = [("ridge, selected", "search")]
    for label in ("1e-06", "1e-04", "selected"):
        pairs += [(f"{name}, {label}", f"ridge, {label}") for name in ("epsilon-ridge", "Huber")]
    return {f"{left} less {right}": compare(left, right) for left, right in pairs if left in rows}


def _over_splits(splits: list[dict[str, dict[str, Any]]]) -> list[str]:
    """Lines of accuracies and differences, means over splits; two standard errors are the least worth a word."""
    lines = []
    for name, first in splits[0].items():
        means = {f"top-{k}": 100.0 * np.mean([rows[name][f"top-{k}"] for rows in splits]) for k in LEVELS}
        tops = " | ".join(f"{mean:{len(top)}.1f}" for top, mean in means.items())
        detail = f"   reg {first['reg']:.0e}, supports {first['supports']:.0%}" if "reg" in first else ""
        lines.append(f"{name:24s} {tops}{detail}")
    found = [_differences(rows) for rows in splits]
    for name, (mean, error) in found[0].items():
        gains = np.array([differences[name][0] for differences in found])
        if len(splits) > 1:  # paired over rows inside a split
            mean, error = float(gains.mean()), float(gains.std(ddof=1) / len(gains) ** 0.5)
        word = "a difference" if abs(mean) > 2.0 * error else "no difference beyond two standard errors"
        lines.append(
            f"top-1, {name}: {mean:+.1f} +- {error:.1f} points: {word} ({', '.join(f'{m:+.1f}' for m in gains)})"
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Print the table and the differences; returns them as plain types.

    Parameters
    ----------
    arguments : sequence of str, optional
        Of the command line.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reduced", action="store_true", help="150 training and 40 test spectra, two regs: seconds")
    parser.add_argument("--n-train", type=int, default=1000, help="training spectra, 1000 by default: minutes")
    parser.add_argument("--all", action="store_true", help="all 3145 training spectra: the cost grows with the cube")
    parser.add_argument("--splits", type=int, default=1, help="the first is that of the files, others are drawn")
    parser.add_argument("--cells", type=Path, help="file of finished fits; a stopped run goes on from it")
    parser.add_argument("--uncentred", action="store_true", help="machines as printed, without centring")
    parser.add_argument("--device", default="cpu", help="of the machines")
    parser.add_argument("--output", type=Path, help="write all numbers to this JSON file")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    n_train, n_test = (150, 40) if options.reduced else (None if options.all else options.n_train, None)
    regs = (1e-6, 1e-4) if options.reduced else REGS
    splits = []
    for split in range(options.splits):
        data = load_spectra(n_train, n_test, split)
        print(
            f"metabolite identification, stand-in for table 1 (MassBank), split {split}: {len(data.train)} of 3145 "
            f"training spectra, {len(data.test)} test spectra, {data.candidates.shape[1]} candidates each",
            flush=True,
        )
        splits.append(study(data, regs=regs, device=options.device, center=not options.uncentred, path=options.cells))
    heads = " | ".join(f"top-{k}" for k in LEVELS)
    print(f"  {'method, reg':24s} {heads}: % of test spectra with the true molecule among the first; what was chosen")
    lines = _over_splits(splits)
    for line in lines:
        print(f"  {line}")
    print(f"  standard error of one accuracy of a split: at most {100 * (0.25 / len(data.test)) ** 0.5:.1f} points")
    print(f"  {time.perf_counter() - started:.0f} s")
    result = {"splits": splits, "lines": lines, "n_train": len(data.train)}
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    run_script(main)
