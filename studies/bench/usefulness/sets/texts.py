"""Strings and texts: spectrum kernel of DNA, cosine of weighted word counts, cosine of mass spectra."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from studies.bench.usefulness.sets import DataSet, cosine


def sets(folder: Path | None) -> list[DataSet]:
    """None of them was used while defaults were chosen."""
    if folder is None:
        return []

    def dna_of(name: str, k: int):
        def sample(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            with (folder / name / f"{name}.csv").open(newline="") as file:
                lines = list(csv.DictReader(file))
            lines = [lines[i] for i in rows]
            counts = CountVectorizer(analyzer="char", ngram_range=(1, k)).fit_transform(
                [line["sequence"] for line in lines]
            )
            return cosine(counts.toarray().astype(float)), np.array([line["class"] for line in lines])

        return sample

    def basehock(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        stored = np.load(folder / "text_basehock" / "counts.npz")
        parts = (stored["data"].astype(float), stored["indices"].astype(np.int32), stored["indptr"])
        counts = csr_matrix(parts, shape=tuple(stored["shape"]))
        return cosine(TfidfTransformer(sublinear_tf=True).fit_transform(counts)[rows].toarray()), stored["y"][rows]

    def spectra(rows: np.ndarray) -> tuple[np.ndarray, None]:
        stored = np.load(folder / "massbank_pos" / "spectra.npz")
        bins = np.minimum(stored["mz"].astype(int), 1500)
        V = csr_matrix((np.sqrt(stored["intensity"]), bins, stored["indptr"]), shape=(3931, 1501))
        return cosine(np.asarray(V[rows].todense(), dtype=float)), None

    def gram(name: str, family: str, count: int, sample) -> DataSet:
        return DataSet(name, family, lambda: (np.empty(count), None), gram=True, sample=sample)

    return [
        gram("promoters", "strings", 106, dna_of("promoters", 3)),
        gram("splice", "strings", 3186, dna_of("splice", 4)),
        gram("basehock", "texts", 1993, basehock),
        gram("mass spectra", "spectra", 3931, spectra),
    ]
