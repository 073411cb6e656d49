"""The tables 'the paper's name, the call, the claim': each call exists, each claim is judged, each name is found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs import augment, constraints, kernels, losses, metrics, presets, solvers
from studies.papers.claims.ledger import claims
from studies.papers.claims.pages import PAGES

ROOT = Path(__file__).resolve().parents[2]
NAMES: dict[str, Any] = {
    **{name: getattr(rkhs, name) for name in rkhs.__all__ if name[0].isupper()},
    **{one.__name__.split(".")[-1]: one for one in (augment, constraints, kernels, losses, metrics, presets, solvers)},
}
SPOKEN = (
    "IOKR", "kappa-Huber", "epsilon-insensitive Ridge", "vv-RKHS", "OVK", "Contrastive Kernel Learning",
    "Spectral Kernel Learning", "De-noising Kernel AE", "Double Representer Theorem", "Kernel PCA Map",
    "intraorthogonality", "interorthogonality", "MSRE", "NMSE", "K2AE", "Constr-DRKM",
)  # fmt: skip
"""What readers of the papers search for: in the glossary and in a docstring, too."""

OTHER_SPELLINGS = (
    "Denoising Kernel AE", "KPCA Map", "intra-orthogonality", "inter-orthogonality", "hidden units", "triplet", "KRR",
    "Moreau envelope", "Pasch-Hausdorff envelope", "Projected Gradient Descent", "Block Soft Thresholding",
    "Output Kernel Regression", "structured prediction", "loss trick", "identity decomposable kernel",
    "Tanimoto-Gaussian", "top-k accuracy", "Hamming error",
)  # fmt: skip
"""Further words of the papers, in the glossary alone."""


def _folded(text: str) -> str:
    return " ".join(text.replace("ε", "epsilon").replace("κ", "kappa").casefold().split())


def _rows() -> list[tuple[str, str, str, str]]:
    found = []
    for page in (path for name, path in PAGES.items() if name != "all"):
        table = page.read_text(encoding="utf-8").split("## From the paper's name to the call")[1].split("\n## ")[0]
        for line in table.strip().splitlines()[2:]:
            name, call, claim = (cell.strip() for cell in line.strip("|").split(" | "))
            found.append((page.stem, name, call, claim))
    return found


ROWS = _rows()
GLOSSARY = _folded((ROOT / "docs" / "more" / "glossary.md").read_text(encoding="utf-8"))


def test_each_paper_has_a_table() -> None:
    assert {page for page, *_ in ROWS} == {path.stem for name, path in PAGES.items() if name != "all"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_call_exists_and_its_claim_is_judged(row: tuple[str, str, str, str]) -> None:
    _, names, call, claim = row
    calls = re.findall(r"`([^`]+)`", call)
    assert calls, "expected a call in backticks"
    for one in calls:
        assert eval(one, dict(NAMES)) is not None, one
    assert set(re.findall(r"`([^`]+)`", claim)) <= set(claims()), claim
    missing = [name for name in re.split(r"[,;] ", names) if _folded(name) not in GLOSSARY]
    assert not missing, f"the glossary lacks {missing}"


def _data(model: Any) -> tuple[Any, ...]:
    """Inputs, and outputs of a regressor, of the kinds that a model takes."""
    rng = np.random.default_rng(0)
    X, curves = rng.normal(size=(20, 4)), rng.normal(size=(2, 20, 30))
    if isinstance(model, rkhs.FunctionalKernelRegressor):
        return tuple(curves)
    if "molecules" in repr(model) or "Tanimoto" in repr(model):
        X = (X > 0.0).astype(float) + np.eye(20, 4)
    first = X @ X.T if getattr(model, "kernel", None) == "precomputed" else X
    second = X @ X.T if getattr(model, "output_kernel", None) == "precomputed" else X
    return (first, second) if "Regressor" in type(model).__name__ else (first,)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_estimator_of_the_tables_is_fitted() -> None:
    for one in sorted({one for _, _, call, _ in ROWS for one in re.findall(r"`([^`]+)`", call) if "(" in one}):
        model = eval(one, dict(NAMES))
        if hasattr(model, "get_params") and hasattr(model, "fit"):
            if isinstance(model, rkhs.DeepRKM):
                model.set_params(n_components=(2, 1))
            model.fit(*_data(model))


def test_names_of_the_papers_are_found_in_docstrings() -> None:
    source = _folded(" ".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "rkhs").rglob("*.py")))
    assert not [name for name in (*SPOKEN, *OTHER_SPELLINGS) if _folded(name) not in GLOSSARY]
    assert not [name for name in SPOKEN if _folded(name) not in source]
