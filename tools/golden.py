"""Model files of each released version, and their answers: ``python -m tools.golden --write`` adds this version."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

import rkhs

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "golden"


def items() -> np.ndarray:
    """Twenty training rows of three columns, then five new ones; the fourth column is what is predicted."""
    return np.asarray(load_iris().data[::6], dtype=float)


def fitted() -> dict[str, Any]:
    """One model of each kind that files of users hold."""
    rows = items()[:20]
    return {
        "autoencoder": rkhs.KernelAutoencoder(2).fit(rows),
        "pca": rkhs.KernelPCA(2).fit(rows),
        "regressor": rkhs.OperatorKernelRegressor().fit(rows[:, :3], rows[:, 3:]),
    }


def answers(model: Any) -> np.ndarray:
    """Codes or predictions of the new rows."""
    new = items()[20:]
    return np.asarray(model.predict(new[:, :3]) if hasattr(model, "predict") else model.transform(new))


def write() -> None:
    """Write the files of this version, and their answers."""
    FOLDER.mkdir(exist_ok=True)
    found = {}
    for name, model in fitted().items():
        rkhs.save(model, FOLDER / f"{name}-{rkhs.__version__}.rkhs")
        found[name] = answers(model).tolist()
    text = json.dumps(found, indent=1) + "\n"
    (FOLDER / f"answers-{rkhs.__version__}.json").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        raise SystemExit("usage: python -m tools.golden --write")
    write()
