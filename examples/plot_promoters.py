"""Codes of DNA
============

Codes of the mismatch kernel, fitted without labels.

With ``RKHS_DATA`` the sequences are the 106 of the E. coli promoter set. Without it they are drawn at random, and half
of them hold motifs with errors.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from gallery import save
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import rkhs
from rkhs.kernels import Mismatch


def load(n: int) -> tuple[list[str], np.ndarray, str]:
    """Sequences, whether each is a promoter, and the name of the set."""
    root = os.environ.get("RKHS_DATA")
    if root:
        with open(Path(root) / "promoters" / "promoters.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        order = np.random.default_rng(0).permutation(len(rows))[:n]
        return [rows[i]["sequence"] for i in order], np.array([rows[i]["class"] == "+" for i in order]), "promoters"
    rng, texts, y = np.random.default_rng(0), [], np.arange(n) % 2 == 0
    for holds in y:
        letters = rng.choice(list("acgt"), size=57)
        if holds:
            for motif in ("ttgaca", "tataat", "ttgaca", "tataat"):
                place = int(rng.integers(0, 50))
                letters[place : place + 6] = list(motif)
                letters[place + int(rng.integers(6))] = rng.choice(list("acgt"))
        texts.append("".join(letters))
    return texts, y, "drawn sequences"


def main(n: int = 106) -> dict[str, float]:
    texts, y, name = load(n)
    kernel, drawn = Mismatch(5, 1, "dna"), name.startswith("drawn")
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    result = {}
    for panel, (title, model) in zip(
        axes,
        (
            ("kernel PCA", rkhs.KernelPCA(2, kernel=kernel)),
            ("kernel autoencoder", rkhs.KernelAutoencoder(2, kernel=kernel, random_state=0)),
        ),
        strict=True,
    ):
        Z = model.fit(texts).codes_
        panel.scatter(Z[y, 0], Z[y, 1], s=18, label="with motifs" if drawn else "promoter")
        panel.scatter(Z[~y, 0], Z[~y, 1], s=18, marker="x", label="without" if drawn else "other")
        panel.set_title(f"{name}: {title}", fontsize=10)
        panel.set(xlabel="code 1", ylabel="code 2")
        scores = cross_val_score(SVC(), Z / Z.std(), y, cv=5)
        result[title] = float(scores.mean())
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    machine = SVC(kernel="precomputed", C=10.0)
    result["the whole kernel"] = float(cross_val_score(machine, kernel(texts), y, cv=5).mean())
    save(figure, "promoters")
    print(name, result)
    return result


if __name__ == "__main__":
    main()
