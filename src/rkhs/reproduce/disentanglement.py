"""The disentanglement study of Tonin et al. (2021), section 5.3 and appendix B, on dSprites and COIL-20, cell by cell.

A cell is one fit and its four scores. Every finished cell is a line of a file, so that a stopped study goes on where it
was. Cars3D and SmallNORB are behind download pages and not part of the data folder; ``load_images`` reads them from
``cars3d.npz`` and ``smallnorb.npz`` (arrays ``X`` and ``factors``) where a user has them.

Run: RKHS_DATA=... python -m rkhs.reproduce.disentanglement [--reduced] [--cells FILE] [--figures FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rkhs._core.errors import InputError
from rkhs.estimators.deep_rkm import DeepRKM
from rkhs.kernels import Gaussian
from rkhs.metrics import dci, irs, mig, sap
from rkhs.reproduce.baselines.beta_vae import BetaVAE
from rkhs.reproduce.finished import Finished

__all__ = ["cells", "load_images", "main", "run_cell"]

GAMMAS = (0.01, 0.1, 1.0, 5.0, 25.0)
BETAS = (2, 3, 4, 5, 6)
SIZES = (50, 100, 200, 400, 800)
DEPTHS = {1: (10,), 2: (10, 5), 3: (2, 2, 6)}
WIDTHS = (
    (2, 2, 6),
    (2, 6, 2),
    (6, 2, 2),
    (4, 3, 3),
    (10, 5, 5),
    (10, 10, 10),
    (10, 5, 2),
    (20, 20, 10),
)
SCORES = ("IRS", "MIG", "SAP", "DCI")


def load_images(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Images in rows with pixels in [0, 1], and their factors.

    Parameters
    ----------
    name : {"dsprites", "noisy dsprites", "coil20", "cars3d", "smallnorb"}
        Noisy dSprites: the background replaced by Gaussian noise, clipped to [0, 1]; three channels. COIL-20 is
        enlarged to 64 x 64, so that all models see the same images.

    Returns
    -------
    X : ndarray of shape (n, 4096) or (n, 12288)
    factors : ndarray of shape (n, F)
    """
    folder = Path(os.environ["RKHS_DATA"])
    if name in ("dsprites", "noisy dsprites"):
        with np.load(folder / "dsprites" / "dsprites_rerender.npz", allow_pickle=False) as file:
            bits, factors = file["bits"], file["factors"]
        sprites = np.unpackbits(bits, axis=1).astype(np.float32)
        if name == "dsprites":
            return sprites, factors
        noise = np.random.default_rng(0).standard_normal((len(sprites), 3, sprites.shape[1]), dtype=np.float32)
        return np.clip(np.where(sprites[:, None, :] > 0, 1.0, noise), 0.0, 1.0).reshape(len(sprites), -1), factors
    path = folder / name / f"{name}.npz"
    if not path.is_file():
        raise InputError(f"{name} is not in the data folder; put arrays X and factors in {path.name} there")
    with np.load(path, allow_pickle=False) as file:
        X, factors = file["X"], file["factors"]
    if X.shape[1] == 32:
        X = X.repeat(2, axis=1).repeat(2, axis=2)
    return (X.reshape(len(X), -1) / 255.0).astype(np.float32), factors


def cells(data: Sequence[str], sizes: Sequence[int], seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Settings of every cell, the cheap ones first.

    Parameters
    ----------
    data : sequence of str
        Names for :func:`load_images`.
    sizes : sequence of int
        Numbers of training images.
    seeds : sequence of int

    Yields
    ------
    dict
    """
    for name in data:
        for n in sizes:
            for seed in seeds:
                shared = {"data": name, "n": n, "seed": seed}
                for depth, widths in DEPTHS.items():
                    for bandwidths in ("fixed", "joint"):
                        yield {**shared, "figure": "depth", "widths": widths, "bandwidths": bandwidths, "depth": depth}
                for gamma in GAMMAS:
                    yield {**shared, "figure": "gamma", "widths": (10, 5), "gamma": gamma}
                for init in ("random", "kpca"):
                    yield {**shared, "figure": "start", "widths": (10, 5), "init": init}
                if n == 100:
                    for widths in WIDTHS:
                        yield {**shared, "figure": "widths", "widths": widths}
    for name in data:
        for n in sizes:
            for seed in seeds:
                for beta in BETAS:
                    yield {"data": name, "n": n, "seed": seed, "figure": "beta-VAE", "beta": beta}


def run_cell(
    cell: dict[str, Any], X: np.ndarray, factors: np.ndarray, *, n_eval: int = 4000, epochs: int = 300, trees: int = 20
) -> dict[str, Any]:
    """Fit the model of a cell on ``n`` images and score its codes of ``n_eval`` others.

    Parameters
    ----------
    cell : dict
        From :func:`cells`.
    X : ndarray of shape (N, d)
    factors : ndarray of shape (N, F)
    n_eval : int
        The same images for every cell of a data set.
    epochs : int
        Of the beta-VAE, at most.
    trees : int
        Rounds of boosting of DCI.

    Returns
    -------
    dict
        The cell with its scores, the number of latents (a layer of ten, or all codes side by side) and ``seconds``.
    """
    started = time.perf_counter()
    judged = np.random.default_rng(0).permutation(len(X))[: min(n_eval, len(X))]
    # The deterministic point of Table 3: only the start differs between seeds, the images stay.
    draw = 0 if cell["figure"] == "start" else cell["seed"]
    rows = check_random_state(1000 + draw).permutation(len(X))[: cell["n"]]
    if cell["figure"] == "beta-VAE":
        model: Any = BetaVAE(10, float(cell["beta"]), max_epochs=epochs, random_state=cell["seed"])
        Z = model.fit(X[rows]).transform(X[judged])
    else:
        gamma = cell.get("gamma", 1.0)  # eta_1 / eta_2
        model = DeepRKM(
            tuple(cell["widths"]),
            kernel=Gaussian("median"),
            eta=(gamma, *[1.0] * (len(cell["widths"]) - 1)),
            init=cell.get("init", "random"),
            bandwidths=cell.get("bandwidths", "fixed"),
            random_state=cell["seed"],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            Z = model.fit(X[rows].astype(np.float64)).transform(X[judged].astype(np.float64), layer=_latents(cell))
    V = factors[judged]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the linear classifiers of SAP stop early on purpose
        scores = {
            "IRS": irs(Z, V),
            "MIG": mig(Z, V),
            "SAP": sap(Z, V),
            "DCI": dci(Z, V, n_estimators=trees).disentanglement,
        }
    return {**cell, **scores, "latents": Z.shape[1], "seconds": round(time.perf_counter() - started, 2)}


def _latents(cell: dict[str, Any]) -> int | None:
    """The layer of ten codes, or None: all codes side by side."""
    widths = list(cell["widths"])
    return widths.index(10) + 1 if 10 in widths else None


def _key(cell: dict[str, Any]) -> str:
    return json.dumps({k: list(v) if isinstance(v, tuple) else v for k, v in cell.items()}, sort_keys=True)


def summarise(rows: Sequence[dict[str, Any]]) -> None:
    """Mean and standard deviation of every score over the seeds, a line a setting."""
    groups: dict[str, list[dict[str, Any]]] = {}
    left_out = ("seed", "seconds", "latents", *SCORES)
    for row in rows:
        label = ", ".join(f"{k}={v}" for k, v in row.items() if k not in left_out)
        groups.setdefault(label, []).append(row)
    for label, group in groups.items():
        text = "  ".join(
            f"{s} {np.mean([r[s] for r in group]):.3f}±{np.std([r[s] for r in group]):.3f}" for s in SCORES
        )
        print(f"{text}  {label} ({len(group)} seeds)")


def draw(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """Box plots of each score by setting, one figure a data set and figure of the paper."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted({row["data"] for row in rows}):
        for kind, field in (("depth", "depth"), ("gamma", "gamma"), ("widths", "widths"), ("beta-VAE", "beta")):
            chosen = [r for r in rows if r["data"] == name and r["figure"] == kind]
            if not chosen:
                continue
            values = sorted({str(r[field]) for r in chosen})
            figure, axes = plt.subplots(1, len(SCORES), figsize=(4 * len(SCORES), 3.5))
            for panel, score in zip(axes, SCORES, strict=True):
                panel.boxplot([[r[score] for r in chosen if str(r[field]) == v] for v in values])
                panel.set_xticks(range(1, len(values) + 1), values, rotation=45)
                panel.set(title=score, xlabel=field)
            figure.tight_layout()
            figure.savefig(folder / f"{name.replace(' ', '_')}_{kind}.png", dpi=110)
            plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Run, resume or finish the study.

    Parameters
    ----------
    arguments : sequence of str, optional
        Of the command line.

    Returns
    -------
    list of dict
        All cells with their scores.
    """
    parser = argparse.ArgumentParser(description="Disentanglement study of Tonin et al. (2021), section 5.3")
    parser.add_argument("--reduced", action="store_true", help="one size, two seeds, few epochs and trees (minutes)")
    parser.add_argument("--cells", type=Path, default=Path("disentanglement.jsonl"), help="file of finished cells")
    parser.add_argument("--figures", type=Path, help="folder for box plots (needs matplotlib)")
    options = parser.parse_args(arguments)
    data = ("dsprites", "coil20") if options.reduced else ("dsprites", "coil20", "noisy dsprites")
    sizes, seeds = ((100,), range(2)) if options.reduced else (SIZES, range(5))
    effort = {"n_eval": 500, "epochs": 15, "trees": 3} if options.reduced else {}
    plan = list(cells(data, sizes, seeds))
    done = Finished(options.cells)
    minutes = len(plan) * (3.0 if options.reduced else 60.0) / 60
    print(f"{len(plan)} cells, {sum(_key(c) in done.rows for c in plan)} of them done; all take about {minutes:.0f} min")
    print("Cars3D and SmallNORB are not in the data folder: not tested. dSprites is a re-rendering of 46,080 images.")
    loaded: tuple[str, np.ndarray, np.ndarray] | None = None
    for cell in plan:
        if _key(cell) in done.rows:
            continue
        if loaded is None or loaded[0] != cell["data"]:
            loaded = (cell["data"], *load_images(cell["data"]))
        done.add(_key(cell), run_cell(cell, loaded[1], loaded[2], **effort))
    rows = [done.rows[_key(cell)] for cell in plan]
    summarise(rows)
    if options.figures is not None:
        draw(rows, options.figures)
    return rows


if __name__ == "__main__":
    main()
