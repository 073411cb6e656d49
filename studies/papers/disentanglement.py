"""The disentanglement study of Tonin et al. (2021), section 5.3 and appendix B, on dSprites and COIL-20, cell by cell.

A cell is one fit and its four scores. Every finished cell is a line of a file, so that a stopped study goes on where it
was. Cars3D and SmallNORB are behind download pages and not part of the data folder; ``load_images`` reads them from
``cars3d.npz`` and ``smallnorb.npz`` (arrays ``X`` and ``factors``) where a user has them.

Machines: random start, default solver to convergence (the paper halts a penalty method after 2 to 7 rounds), centred,
codes rotated to principal axes. beta-VAE: trained until its bound on held-out images (15 %) has not fallen for 500
steps, at the rate that the paper gives for the Adam of its machine.

Run: RKHS_DATA=... ./dev reproduce disentanglement [--reduced] [--cells FILE] [--minutes M] [--only KIND]
    [--figures FOLDER]
"""

from __future__ import annotations

import argparse
import math
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
from studies.harness.cells import cell_key
from studies.harness.finished import Finished
from studies.harness.scripts import data_folder, run_script
from studies.networks.beta_vae import BetaVAE
from studies.papers.disentanglement_figures import draw

__all__ = ["cells", "expected_seconds", "load_images", "main", "run_cell"]

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
FIGURES = ("depth", "gamma", "start", "widths", "beta-VAE")
SCORES = ("IRS", "MIG", "SAP", "DCI")
_SIDE = 64
_NOISY = 8000  # colour images with noise: more than any cell reads, and 0.4 GB


def load_images(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Images in rows with pixels in [0, 1], and their factors.

    Parameters
    ----------
    name : {"dsprites", "noisy dsprites", "coil20", "cars3d", "smallnorb"}
        Noisy dSprites: the background replaced by Gaussian noise, clipped to [0, 1]; three channels; 8,000 of the
        sprites. COIL-20 is enlarged to 64 x 64, so that all models see the same images. The others are read from
        ``NAME/NAME.npz``: ``X`` of shape (n, 64, 64), or (n, 64, 64, 3) in colour, with values from 0 to 255, and
        ``factors`` (n, F).

    Returns
    -------
    X : ndarray of shape (n, 4096) or (n, 12288)
    factors : ndarray of shape (n, F)

    Raises
    ------
    InputError
        If the file is not there, or its images are not 64 x 64.
    """
    folder = data_folder(name)
    if name in ("dsprites", "noisy dsprites"):
        with np.load(folder / "dsprites" / "dsprites_rerender.npz", allow_pickle=False) as file:
            bits, factors = file["bits"], file["factors"]
        sprites = np.unpackbits(bits, axis=1).astype(np.float32)
        if name == "dsprites":
            return sprites, factors
        chosen = np.random.default_rng(1).permutation(len(sprites))[:_NOISY]
        sprites, factors = sprites[chosen], factors[chosen]
        noise = np.random.default_rng(0).standard_normal((len(sprites), 3, sprites.shape[1]), dtype=np.float32)
        return np.clip(np.where(sprites[:, None, :] > 0, 1.0, noise), 0.0, 1.0).reshape(len(sprites), -1), factors
    path = folder / name / f"{name}.npz"
    if not path.is_file():
        raise InputError(f"{name} is not in the data folder; put arrays X and factors in {path.name} there")
    with np.load(path, allow_pickle=False) as file:
        X, factors = file["X"], file["factors"]
    if X.shape[1] == 32:
        X = X.repeat(2, axis=1).repeat(2, axis=2)
    if X.shape[1:] not in ((_SIDE, _SIDE), (_SIDE, _SIDE, 3)) or len(X) != len(factors):
        raise InputError(
            f"{path.name} must hold X of shape (n, 64, 64) or (n, 64, 64, 3), and factors of n rows; got {X.shape} and "
            f"{factors.shape}. Resize the images first"
        )
    if X.ndim == 4:
        X = X.transpose(0, 3, 1, 2)  # channels first
    return (X.reshape(len(X), -1) / 255.0).astype(np.float32), factors


def cells(
    data: Sequence[str], sizes: Sequence[int], seeds: Sequence[int], *, reduced: bool = False
) -> Iterator[dict[str, Any]]:
    """Settings of every cell, the cheap ones first.

    Parameters
    ----------
    data : sequence of str
        Names for :func:`load_images`.
    sizes : sequence of int
        Numbers of training images.
    seeds : sequence of int
    reduced : bool
        Three values of beta instead of five, and the choices of (s1, s2, s3) with fixed bandwidths only.

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
                    for bandwidths in ("fixed",) if reduced else ("fixed", "joint"):
                        for widths in WIDTHS:
                            yield {**shared, "figure": "widths", "widths": widths, "bandwidths": bandwidths}
    for beta in sorted(BETAS[::2] if reduced else BETAS, key=lambda b: abs(b - 4)):  # the paper's Table 3 has 4
        for seed in seeds:
            for n in sizes:
                for name in data:
                    yield {"data": name, "n": n, "seed": seed, "figure": "beta-VAE", "beta": beta}


def expected_seconds(cell: dict[str, Any], *, reduced: bool) -> float:
    """What a cell takes on one core of an ordinary machine, measured on a few of them."""
    scoring = 0.7 if reduced else 8.0  # 500 images and 3 rounds of boosting, or 4,000 and 20
    if cell["figure"] == "beta-VAE":
        return scoring + 75.0
    fit = 0.02 * sum(cell["widths"]) * len(cell["widths"]) * cell["n"] / 100
    return scoring + fit * (8.0 if cell.get("bandwidths") == "joint" else 1.0)


def run_cell(
    cell: dict[str, Any], X: np.ndarray, factors: np.ndarray, *, n_eval: int = 4000, trees: int = 20
) -> dict[str, Any]:
    """Fit the model of a cell on ``n`` images and score its codes of ``n_eval`` images drawn from the whole set.

    Parameters
    ----------
    cell : dict
        From :func:`cells`.
    X : ndarray of shape (N, d)
    factors : ndarray of shape (N, F)
    n_eval : int
        The same images for every cell of a data set; a set with fewer is scored whole.
    trees : int
        Rounds of boosting of DCI.

    Returns
    -------
    dict
        The cell with its scores, the number of latents (a layer of ten, or all codes side by side), ``seconds``, and
        ``trained``: whether the fit converged.
    """
    started = time.perf_counter()
    judged = np.random.default_rng(0).permutation(len(X))[: min(n_eval, len(X))]
    # The deterministic point of Table 3: only the start differs between seeds, the images stay.
    draw = 0 if cell["figure"] == "start" else cell["seed"]
    rows = check_random_state(1000 + draw).permutation(len(X))[: cell["n"]]
    if cell["figure"] == "beta-VAE":
        model: Any = BetaVAE(10, float(cell["beta"]), random_state=cell["seed"])
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
            "SAP": sap(Z, V, scale="unit"),  # codes of machines are of size n^(-1/2), those of the VAE of size one
            "DCI": dci(Z, V, n_estimators=trees).disentanglement,
        }
    told = {"latents": Z.shape[1], "trained": model.converged_, "seconds": round(time.perf_counter() - started, 2)}
    return {**cell, **scores, **told}


def _latents(cell: dict[str, Any]) -> int | None:
    """The layer of ten codes, or None: all codes side by side."""
    widths = list(cell["widths"])
    return widths.index(10) + 1 if 10 in widths else None


def summarise(rows: Sequence[dict[str, Any]]) -> None:
    """Mean and standard deviation of every score over the seeds, a line a setting."""
    groups: dict[str, list[dict[str, Any]]] = {}
    left_out = ("seed", "seconds", "latents", "trained", *SCORES)
    for row in rows:
        label = ", ".join(f"{k}={v}" for k, v in row.items() if k not in left_out)
        groups.setdefault(label, []).append(row)
    for label, group in groups.items():
        text = "  ".join(
            f"{s} {np.mean([r[s] for r in group]):.3f}±{np.std([r[s] for r in group]):.3f}" for s in SCORES
        )
        short = sum(not row["trained"] for row in group)
        print(f"{text}  {label} ({len(group)} seeds{f', {short} not converged' if short else ''})")


def main(arguments: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Run, resume or finish the study.

    Parameters
    ----------
    arguments : sequence of str, optional
        Of the command line.

    Returns
    -------
    list of dict
        All finished cells with their scores.
    """
    parser = argparse.ArgumentParser(description="Disentanglement study of Tonin et al. (2021), section 5.3")
    parser.add_argument("--reduced", action="store_true", help="100 images, two seeds, 500 scored (minutes)")
    parser.add_argument("--cells", type=Path, default=Path("disentanglement.jsonl"), help="file of finished cells")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no further cell after so long")
    parser.add_argument("--only", choices=FIGURES, help="cells of one kind")
    parser.add_argument("--figures", type=Path, help="folder for box plots (needs matplotlib)")
    options = parser.parse_args(arguments)
    data = ("dsprites", "coil20", "noisy dsprites")
    sizes, seeds = ((100,), range(2)) if options.reduced else (SIZES, range(5))
    effort = {"n_eval": 500, "trees": 3} if options.reduced else {}
    plan = {
        cell_key(cell): cell
        for cell in cells(data, sizes, seeds, reduced=options.reduced)
        if options.only in (None, cell["figure"])
    }
    done = Finished(options.cells)
    left = [cell for key, cell in plan.items() if key not in done.rows]
    minutes = sum(expected_seconds(cell, reduced=options.reduced) for cell in left) / 60.0
    print(f"{len(plan) - len(left)} of {len(plan)} cells done; the others take about {_span(minutes)} on one core")
    print("Cars3D and SmallNORB are not in the data folder: not tested. dSprites is a re-rendering of 46,080 images.")
    started = time.perf_counter()
    loaded: tuple[str, np.ndarray, np.ndarray] | None = None
    for cell in left:
        if time.perf_counter() - started > 60.0 * options.minutes:
            print(f"stopped after {options.minutes:g} minutes; the same command goes on")
            break
        if loaded is None or loaded[0] != cell["data"]:
            loaded = (cell["data"], *load_images(cell["data"]))
        done.add(cell_key(cell), run_cell(cell, loaded[1], loaded[2], **effort))
    rows = [done.rows[key] for key in plan if key in done.rows]
    summarise(rows)
    if options.figures is not None:
        draw(rows, options.figures)
    return rows


def _span(minutes: float) -> str:
    return f"{minutes:.0f} min" if minutes < 90.0 else f"{minutes / 60.0:.1f} h"


if __name__ == "__main__":
    run_script(main)
