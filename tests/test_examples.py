"""Every gallery script runs, writes its figure, and keeps its guarantee on a small sample."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

# script -> the sizes that keep the test quick, and what must hold for its numbers
CHECKS: dict[str, tuple[dict[str, int], Callable[[dict[str, float]], bool]]] = {
    "algorithms": (
        {"n": 200, "seconds": 1.0},
        lambda r: r["subspace"] < 1e-3 and r["projected gradient"] < 1e-2 < r["Cayley Adam"],
    ),
    "circles": (
        {"n": 120, "epochs": 60},
        lambda r: r["kernel 2-2-2, new points"] < r["kernel 2-1-2, new points"] < 0.5,
    ),
    "clusters_1d": ({"n": 40}, lambda r: r["200 iterations"] <= r["1 iterations"] and r["200 iterations"] < 0.02),
    "denoising": ({"n": 150}, lambda r: max(r["square"], r["half circle"]) < 0.9),
    "contrastive_toys": (
        {"n": 160},
        lambda r: r["circles, kernel PCA"] < r["circles, spectral"] and r["circles, spectral"] > 0.9,
    ),
    "denoised_digits": (
        {"n": 100},
        lambda r: r["denoised, constraint='sphere'"] < 0.6 * r["noisy"],
    ),
    "digits": (
        {"n": 300},
        lambda r: r["kernel autoencoder, 10 components"] < r["kernel PCA, 10 components"],
    ),
    "gaussian_clusters": ({"n": 60}, lambda r: min(r.values()) > 0.5),
    "growth": (
        {"n": 60},
        lambda r: r["share of variance not rebuilt"] < 0.1 and r["root mean squared error, cm"] < 3.0,
    ),
    "mixed_table": ({"n": 150}, lambda r: r["missing cells averaged over"] > 0.6),
    "views": (
        {"n": 250},
        lambda r: (
            r["all views"] > max(r["upper half alone"], r["lower half alone"])
            and r["weight of noise"] < 0.85 * r["weight of upper half"]
        ),
    ),
    # every outlier is saturated, and the Huber loss halves what the outliers cost
    "lip": (
        {"n": 32},
        lambda r: r["Huber, best kappa"] < 0.6 * r["squared"] and r["outliers saturated"] == 1.0,
    ),
    "losses": ({"n": 100}, lambda r: max(r.values()) < 1e-12),
    "molecules": ({"n": 120}, lambda r: r["similarity of neighbours"] > 1.5 * r["similarity at random"]),
    "way_back": (
        {"n": 120, "steps": 5},
        lambda r: r["steps of the bump to the right"] == 1.0 and r["different molecules"] > 2.0,
    ),
    "graphs": ({"n": 90}, lambda r: r["5 nearest neighbours"] > r["largest class"]),
    "promoters": ({"n": 80}, lambda r: r["kernel autoencoder"] > 0.5),
    "gunpoint": ({"n": 90}, lambda r: r["3 nearest codes"] > 0.7),
    "moons": ({"n": 120}, lambda r: r["2-2-2"] < r["2-1-2"] < 0.1),
    "multilabel": (
        {"n": 150},
        lambda r: all(r[loss] < r["most frequent"] + 0.02 for loss in ("squared", "epsilon-ridge", "Huber")),
    ),
    "sparsity": (
        {"n": 80},
        lambda r: all(
            r[f"{loss}, supports at epsilon 1.8"] == 0.0 < r[f"{loss}, supports at epsilon 0.3"] < 0.7
            for loss in ("SquaredEpsilonInsensitive", "EpsilonInsensitive")
        ),
    ),
    "traversals": ({"n": 150}, lambda r: 0.0 < r["MIG"] < 1.0 and 0.3 < r["IRS"] < 1.0),
    "nonconvexity": ({"n": 201}, lambda r: all(0.0 <= gap < 1e-3 for gap in r.values())),
    "spectral_window": (
        {"n": 40, "steps": 12},
        lambda r: (
            r["low"] < r["high"]
            and r["unbounded below low"] == 1.0
            and r["largest |loss| outside"] < 1e-4
            and r["largest loss inside"] < 0.0
        ),
    ),
}


def test_every_script_is_checked() -> None:
    assert {path.stem.removeprefix("plot_") for path in EXAMPLES.glob("plot_*.py")} == set(CHECKS)


QUICK = {"denoised_digits", "gaussian_clusters"}  # the others with -m slow, and each with ./dev docs


@pytest.mark.sample(1)
@pytest.mark.usefixtures("all_candidates")  # two of them may overfit few molecules
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in sorted(CHECKS)])
def test_script(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="the gallery needs the extra 'plots'")
    monkeypatch.setenv("RKHS_OUTPUT", str(tmp_path))
    monkeypatch.syspath_prepend(str(EXAMPLES))
    spec = importlib.util.spec_from_file_location(f"gallery_{name}", EXAMPLES / f"plot_{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    sizes, guarantee = CHECKS[name]
    result = module.main(**sizes)
    assert all(np.isfinite(value) for value in result.values())
    assert guarantee(result), result
    figures = {path.stem: path.stat().st_size for path in tmp_path.glob("*.png")}
    assert name in figures
    assert all(stem.startswith(name) for stem in figures)
    assert min(figures.values()) > 10_000
