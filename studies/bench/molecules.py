"""Activities of molecules (MoleculeACE, 30 sets) and passage into the brain (BBBP): one kernel, one call.

Run: RKHS_DATA=... ./dev bench molecules [--sets CHEMBL2835_Ki,...] [--results FILE]. Each set has its own split; a
regressor is fitted on the training rows with a regulariser by leave-one-out, and the root mean square error of the test
rows is printed: of all, of those that are no activity cliffs, and of the cliffs, with seconds of processor for fit and
prediction. Beside the kernel ``"molecules"`` stands the same regressor with one MinMax kernel of Morgan counts, and the
errors of CheMeleon that its authors publish. Of BBBP five random fifths are left out; the score is the area under the
ROC curve of a regressor of -1 and 1. Each result goes to the file as soon as it is there, and is not computed again.

The five kinds of counts were chosen on the sets of ``CHOOSING``; the others only score.
"""

from __future__ import annotations

import csv
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from rkhs import OperatorKernelRegressorCV
from rkhs.kernels import Kernel, MoleculeKernel, MoleculeTanimoto
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

CHOOSING = (
    *("CHEMBL2835_Ki", "CHEMBL1871_Ki", "CHEMBL4203_Ki", "CHEMBL1862_Ki", "CHEMBL237_EC50", "CHEMBL231_Ki"),
    *("CHEMBL218_EC50", "CHEMBL3979_EC50", "CHEMBL2147_Ki", "CHEMBL228_Ki", "CHEMBL219_Ki"),
)
KERNELS: dict[str, Kernel] = {"molecules": MoleculeKernel(), "morgan counts": MoleculeTanimoto(counts=True)}
# Root mean squares of all test rows, means over the five seeds of its authors: github JacksonBurns/chemeleon,
# analysis/cliffs/source_data.csv, from the errors of cliffs and of the others.
# fmt: off
CHEMELEON = {
    "CHEMBL1862_Ki": 0.752, "CHEMBL1871_Ki": 0.640, "CHEMBL2034_Ki": 0.698, "CHEMBL2047_EC50": 0.610,
    "CHEMBL204_Ki": 0.704, "CHEMBL2147_Ki": 0.569, "CHEMBL214_Ki": 0.639, "CHEMBL218_EC50": 0.683,
    "CHEMBL219_Ki": 0.686, "CHEMBL228_Ki": 0.661, "CHEMBL231_Ki": 0.655, "CHEMBL233_Ki": 0.763, "CHEMBL234_Ki": 0.621,
    "CHEMBL235_EC50": 0.654, "CHEMBL236_Ki": 0.726, "CHEMBL237_EC50": 0.753, "CHEMBL237_Ki": 0.703,
    "CHEMBL238_Ki": 0.627, "CHEMBL239_EC50": 0.717, "CHEMBL244_Ki": 0.688, "CHEMBL262_Ki": 0.682,
    "CHEMBL264_Ki": 0.591, "CHEMBL2835_Ki": 0.431, "CHEMBL287_Ki": 0.664, "CHEMBL2971_Ki": 0.627,
    "CHEMBL3979_EC50": 0.610, "CHEMBL4005_Ki": 0.680, "CHEMBL4203_Ki": 0.855, "CHEMBL4616_EC50": 0.726,
    "CHEMBL4792_Ki": 0.574,
}
# fmt: on
SPLITS = 5
FIELDS = ("set", "kernel", "rows", "all", "no cliffs", "cliffs", "seconds")


def read(path: Path) -> tuple[list[str], dict[str, np.ndarray]]:
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return [row["smiles"] for row in rows], {name: np.array([row[name] for row in rows]) for name in rows[0]}


def root_mean_square(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def activity(name: str, kernel: Kernel) -> tuple[float, ...]:
    """Training rows, the three errors, and seconds."""
    smiles, columns = read(data_folder() / "moleculeace" / f"{name}.csv")
    y, train, cliff = columns["y"].astype(float), columns["split"] == "train", columns["cliff_mol"] == "1"
    started = time.process_time()
    model = OperatorKernelRegressorCV(kernel).fit([s for s, here in zip(smiles, train, strict=True) if here], y[train])
    found = model.predict([s for s, here in zip(smiles, train, strict=True) if not here])
    seconds = time.process_time() - started
    errors, cliff = found - y[~train], cliff[~train]
    return int(train.sum()), *map(root_mean_square, (errors, errors[~cliff], errors[cliff])), seconds


def passage(split: int, kernel: Kernel) -> tuple[float, ...]:
    """Training rows, the area under the curve, and seconds, of one random fifth."""
    smiles, columns = read(data_folder() / "bbbp" / "data.csv")
    y = 2.0 * columns["p_np"].astype(float) - 1.0
    order = np.random.default_rng(split).permutation(len(y))
    test, train = np.split(order, [len(y) // 5])
    started = time.process_time()
    model = OperatorKernelRegressorCV(kernel).fit([smiles[i] for i in train], y[train])
    score = roc_auc_score(y[test], model.predict([smiles[i] for i in test]))
    return len(train), float(score), np.nan, np.nan, time.process_time() - started


def known(path: Path) -> dict[tuple[str, str], list[float]]:
    """Results that are in the file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as handle:
        return {(row[0], row[1]): [float(cell) for cell in row[2:]] for row in csv.reader(handle) if row[0] != "set"}


def measure(path: Path, names: list[str]) -> dict[tuple[str, str], list[float]]:
    """All results; those that the file lacks are computed and written."""
    found = known(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for name, (label, kernel) in product(names, KERNELS.items()):
        if (name, label) in found:
            continue
        row = passage(int(name[4:]), kernel) if name.startswith("bbbp") else activity(name, kernel)
        found[name, label] = list(row)
        with path.open("a", encoding="utf-8", newline="") as handle:
            csv.writer(handle).writerows(([FIELDS] if not handle.tell() else []) + [[name, label, *row]])
        print(f"  {name:16}{label:15}" + "".join(f"{value:9.3f}" for value in row), flush=True)
    return found


def report(found: dict[tuple[str, str], list[float]], names: list[str]) -> None:
    ours, counts = KERNELS
    print(f"{'set':16}{'rows':>6}{'all':>8}{'no cliffs':>11}{'cliffs':>8}{'seconds':>9}{counts:>16}{'CheMeleon':>11}")
    for name in names:
        rows, *errors, seconds = found[name, ours]
        cells = f"{errors[0]:8.3f}{errors[1]:11.3f}{errors[2]:8.3f}{seconds:9.0f}{found[name, counts][1]:16.3f}"
        print(f"{name:16}{rows:6.0f}{cells}{CHEMELEON.get(name, np.nan):11.3f}{' *' if name in CHOOSING else ''}")
    parts = {"all": names, "not for choosing": [n for n in names if n not in CHOOSING]}
    for title, some in parts.items():
        if some:
            compare(title, {name: found[name, ours] for name in some}, {n: found[n, counts][1] for n in some})


def compare(title: str, ours: dict[str, list[float]], counts: dict[str, float]) -> None:
    """Means over sets, and in how many ours is better."""
    means = np.mean(list(ours.values()), axis=0)
    print(
        f"mean of {len(ours)} sets ({title}): {means[1]:.3f}, no cliffs {means[2]:.3f}, cliffs {means[3]:.3f}, "
        f"{means[4]:.0f} s (largest {max(row[4] for row in ours.values()):.0f} s)"
    )
    for label, other in {
        "morgan counts": counts,
        "CheMeleon": {n: CHEMELEON[n] for n in ours if n in CHEMELEON},
    }.items():
        if other:
            gaps = np.array([ours[name][1] - error for name, error in other.items()])
            print(
                f"  {label}: {np.mean(list(other.values())):.3f}; ours is lower on {(gaps < 0).sum()} of {len(gaps)} "
                f"sets, by {-gaps.mean():.3f} (standard error {gaps.std(ddof=1) / len(gaps) ** 0.5:.3f})"
            )


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        sets={"help": "names with commas between them; default: all, and bbbp"},
        results={"type": Path, "default": Path("build/molecules.csv")},
    )
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    files = sorted((data_folder() / "moleculeace").glob("CHEMBL*.csv"), key=lambda path: path.stat().st_size)
    names = [path.stem for path in files] if arguments.sets is None else arguments.sets.split(",")
    folds = [f"bbbp{split}" for split in range(SPLITS)] if arguments.sets is None else []
    found = measure(arguments.results, names + folds)
    report(found, names)
    for label in KERNELS if folds else ():
        scores = [found[fold, label][1] for fold in folds]
        seconds = np.mean([found[fold, label][4] for fold in folds])
        print(f"BBBP, {label}: AUROC {np.mean(scores):.3f} ± {np.std(scores):.3f}, {seconds:.0f} s")


if __name__ == "__main__":
    run_script(main)
