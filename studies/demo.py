"""The main job from end to end on real molecules: codes, a model file, a map, and molecules back from codes.

Run as ``python -m studies.demo``; nothing but the library and its bundled molecules is needed, a map takes the
extra ``plots`` and a parquet file the extra ``tables``.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from rkhs._core.errors import MissingExtraError
from rkhs.data import Molecules, load_molecules, write_codes
from rkhs.estimators import KernelAutoencoder, KernelPCA
from rkhs.evaluation import reconstruction
from rkhs.kernels import Tanimoto
from rkhs.persistence import load, save

if TYPE_CHECKING:
    from rkhs.estimators.base import KernelEstimator

__all__ = ["main", "run_demo"]

DIMENSIONS = (2, 10)


@dataclass(frozen=True)
class Split:
    """One split of the molecules and what was fitted on it."""

    train: np.ndarray
    test: np.ndarray
    models: dict[tuple[str, int], Any]
    shares: dict[tuple[str, int], float]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.demo", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--output", default="demo-output", metavar="FOLDER", help="default: %(default)s")
    parser.add_argument("--splits", type=int, default=3, metavar="N", help="random splits (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the splits (default: %(default)s)")
    args = parser.parse_args(argv)
    run_demo(Path(args.output), splits=args.splits, seed=args.seed)
    return 0


def run_demo(folder: Path, *, splits: int = 3, seed: int = 0, n_molecules: int | None = None) -> dict[str, Any]:
    """Do the main job, print what comes out, and write the files."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    molecules = load_molecules()
    n = molecules.n_samples if n_molecules is None else n_molecules
    X = molecules.fingerprints[:n].astype(np.float64)
    _print(
        f"{n} molecules (MassBank), Morgan fingerprints of {X.shape[1]} bits, Tanimoto kernel; {splits} splits 80/20"
    )
    with threadpool_limits(1):  # matrices of 400 rows: more threads cost more than they bring
        rounds = [_fit_split(X, seed + i, f"split {i + 1}/{splits}") for i in range(splits)]
    shares = {key: [split.shares[key] for split in rounds] for key in rounds[0].shares}
    _print_shares(shares)
    ranks = {
        name: np.concatenate([_ranks(s.models[name, DIMENSIONS[-1]], X, s.test) for s in rounds]) for name in _NAMES
    }
    _print_ranks(ranks, n)
    first = rounds[0]
    _print_examples(first, X, molecules)
    files = _write(folder, first, X, molecules, shares)
    _print(f"\nwritten: {', '.join(str(path) for path in files)}")
    _print(f"{time.perf_counter() - started:.1f} s")
    return {"shares": shares, "ranks": ranks, "files": files}


_NAMES = ("kernel PCA", "K2AE")


def _fit_split(X: np.ndarray, seed: int, label: str) -> Split:
    order = np.random.default_rng(seed).permutation(len(X))
    cut = int(0.8 * len(X))
    train, test = order[:cut], order[cut:]
    models: dict[tuple[str, int], Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for p in DIMENSIONS:
            _progress(f"{label}, {p} components")
            models[_NAMES[0], p] = KernelPCA(n_components=p, kernel=Tanimoto()).fit(X[train])
            models[_NAMES[1], p] = KernelAutoencoder(p, kernel=Tanimoto(), output_kernel="same").fit(X[train])
    _progress("")
    shares = {key: reconstruction(model, X[test], space="feature").share for key, model in models.items()}
    return Split(train, test, models, shares)


def _ranks(model: KernelEstimator, X: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Places of the true molecules among all, when the codes of held-out molecules are decoded; 1 is the best."""
    ranking = model.decode(model.transform(X[test]), X)
    return np.argmax(ranking.indices == test[:, None], axis=1) + 1


def _print_shares(shares: dict[tuple[str, int], list[float]]) -> None:
    _print(
        "\nShare of the variance of phi(x) rebuilt on held-out molecules, median (smallest to largest) of the splits:\n"
    )
    _print(f"{'':20}" + "".join(f"{p:>4} components           " for p in DIMENSIONS).rstrip())
    for name in _NAMES:
        cells = []
        for p in DIMENSIONS:
            values = np.array(shares[name, p])
            cells.append(f"{np.median(values):7.1%} ({values.min():.1%} to {values.max():.1%})".ljust(27))
        _print(f"{name:20}" + "".join(cells).rstrip())
    _print("both with their defaults")


def _print_ranks(ranks: dict[str, np.ndarray], n: int) -> None:
    count, p = len(next(iter(ranks.values()))), DIMENSIONS[-1]
    _print(f"\nDecoding: {count} held-out molecules to {p} numbers and back to the nearest of all {n} molecules:\n")
    _print(f"{'':20}  the molecule itself is first   among the first 5   median place")
    for name, places in ranks.items():
        _print(f"{name:20}  {np.mean(places == 1):28.0%}  {np.mean(places <= 5):18.0%}  {np.median(places):13.0f}")


def _print_examples(split: Split, X: np.ndarray, molecules: Molecules) -> None:
    model = split.models[_NAMES[1], DIMENSIONS[-1]]
    chosen = split.test[:4]
    ranking = model.decode(model.transform(X[chosen]), X, n_best=1)
    places = _ranks(model, X, chosen)
    similarity = Tanimoto()(X[chosen], X)
    _print("\nHeld-out molecule, and the nearest to its decoded code:\n")
    for i, row in enumerate(chosen):
        best = int(ranking.indices[i, 0])
        _print(f"  {molecules.smiles[row]}")
        note = f"similarity {similarity[i, best]:.2f}, the molecule itself comes in place {places[i]}"
        _print(f"    -> {molecules.smiles[best]}  ({note})")


def _write(
    folder: Path, split: Split, X: np.ndarray, molecules: Molecules, shares: dict[tuple[str, int], list[float]]
) -> list[Path]:
    """Model, codes of all molecules, map and table; what needs an extra that is not installed is left out, and said."""
    large, small = (split.models[_NAMES[1], p] for p in (DIMENSIONS[-1], DIMENSIONS[0]))
    model_path = folder / "molecules.rkhs"
    save(large, model_path, notes={"input": _notes(split, X, molecules)})
    codes, plane = load(model_path).transform(X), small.transform(X)
    names = molecules.names[: len(X)]
    files = [model_path, folder / "codes.csv"]
    write_codes(folder / "codes.csv", codes, row_names=names)
    for name, write in (
        ("codes.parquet", lambda path: write_codes(path, codes, row_names=names)),
        ("map.png", lambda path: _draw(path, plane, split, molecules)),
    ):
        try:
            write(folder / name)
            files.append(folder / name)
        except MissingExtraError as error:
            _print(f"{name} is left out: {error}")
    table = np.array([[np.median(shares[name, p]) for p in DIMENSIONS] for name in _NAMES])
    columns = [f"{p} components" for p in DIMENSIONS]
    write_codes(folder / "reconstruction.csv", table, row_names=list(_NAMES), column_names=columns)
    return [*files, folder / "reconstruction.csv"]


def _notes(split: Split, X: np.ndarray, molecules: Molecules) -> dict[str, Any]:
    """What the command line needs to read other molecules in the same way."""
    return {
        "kind": "molecules",
        "source": molecules.source,
        "row_names": [molecules.names[i] for i in split.train],
        "column_names": None,
        "fingerprint": {"name": "morgan", "radius": 2, "n_bits": int(X.shape[1])},
        "smiles": [molecules.smiles[i] for i in split.train],
        "smiles_column": "smiles",
    }


def _draw(path: Path, plane: np.ndarray, split: Split, molecules: Molecules) -> None:
    from rkhs._core.errors import optional
    from rkhs.plots import CodeMapDisplay, save_figure

    figure = optional("matplotlib.figure").Figure(
        figsize=(7.2, 5.6), layout="constrained"
    )  # no window, no global state
    held_out = np.isin(np.arange(len(plane)), split.test)
    shares = np.array([aromatic_share(smiles) for smiles in molecules.smiles[: len(plane)]])
    title = f"{len(plane)} molecules by a kernel autoencoder (Tanimoto)"
    options: dict[str, Any] = {"new_codes": plane[held_out], "title": title, "value_name": "share of aromatic atoms"}
    CodeMapDisplay(plane[~held_out], values=shares[~held_out], **options).plot(figure.add_subplot())
    save_figure(figure, path)


def aromatic_share(smiles: str) -> float:
    """Share of the atoms of a SMILES, hydrogen left out, that are aromatic: those written in lower case."""
    bare = re.sub(r"\[[^\]]*?([A-Z][a-z]?|[bcnops]|se)(?:@|H|\+|-|\d|:)*\]", r"<\1>", smiles)
    atoms = re.findall(r"<(\w+)>|(Br|Cl|[BCNOPSFI])|([bcnops])", bare)
    symbols = [symbol for symbol in ("".join(atom) for atom in atoms) if symbol != "H"]
    return sum(symbol[0].islower() for symbol in symbols) / max(1, len(symbols))


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()


def _print(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
