"""A table with categories and gaps
=================================

A table of numbers and categories, a third of all cells missing, encoded without filling anything in.

Three kinds of plants differ in measurements and in habits. Beside the map stands the usual way: missing numbers filled
by the mean of the column, categories as zeros and ones. The script prints how many new plants are classified right from
two codes.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from gallery import save, scatter_classes
from sklearn.neighbors import KNeighborsClassifier

from rkhs import KernelAutoencoder

SOILS, COLOURS = ("sand", "loam", "clay"), ("white", "red", "blue")


def plants(n: int, seed: int, missing: float = 0.33) -> tuple[list[tuple[Any, ...]], np.ndarray]:
    """Rows (height, leaf, soil, colour, evergreen) with None where nothing is known, and the kind of each."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    height = np.exp(0.6 * kind + 0.3 * rng.normal(size=n))
    leaf = np.array([4.0, 9.0, 6.0])[kind] + 1.2 * rng.normal(size=n)
    soil = [SOILS[k if u < 0.75 else rng.integers(3)] for k, u in zip(kind, rng.random(n), strict=True)]
    colour = [COLOURS[k if u < 0.75 else rng.integers(3)] for k, u in zip(kind, rng.random(n), strict=True)]
    evergreen = ["yes" if u < (0.8 if k == 2 else 0.2) else "no" for k, u in zip(kind, rng.random(n), strict=True)]
    columns = [height.tolist(), leaf.tolist(), soil, colour, evergreen]
    gone = rng.random((n, 5)) < missing
    rows = zip(*columns, strict=True)
    return [
        tuple(None if g else v for v, g in zip(r, lost, strict=True)) for r, lost in zip(rows, gone, strict=True)
    ], kind


def filled(rows: list[tuple[Any, ...]], train: list[tuple[Any, ...]]) -> np.ndarray:
    """The usual way: means for missing numbers, zeros for missing categories, unit variance."""
    numbers = [[row[j] for row in train if row[j] is not None] for j in (0, 1)]
    out = [[(row[j] or np.mean(numbers[j])) for row in rows] for j in (0, 1)]
    for j, levels in ((2, SOILS), (3, COLOURS), (4, ("yes", "no"))):
        out += [[float(row[j] == level) for row in rows] for level in levels]
    table = np.array(out).T
    table[:, :2] /= [np.std(values) for values in numbers]
    return table


def main(n: int = 240) -> dict[str, float]:
    rows, kind = plants(n, 0)
    new, new_kind = plants(300, 1)
    model = KernelAutoencoder(2, kernel="mixed_table").fit(rows)
    plain = KernelAutoencoder(2).fit(filled(rows, rows))
    maps = {
        "missing cells averaged over": (model.codes_, model.transform(new)),
        "filled by means, one-hot": (plain.codes_, plain.transform(filled(new, rows))),
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    result = {}
    for axis, (title, (codes, new_codes)) in zip(axes, maps.items(), strict=True):
        result[title] = float(KNeighborsClassifier(15).fit(codes, kind).score(new_codes, new_kind))
        scatter_classes(axis, codes, kind, ("kind 0", "kind 1", "kind 2"))
        axis.get_legend().remove()  # one for both, where no point lies
        axis.set(xlabel="code 1", ylabel="code 2")
        axis.set_title(f"{title}\nnew plants classified right: {result[title]:.0%}", fontsize=10)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save(figure, "mixed_table")
    for name, share in result.items():
        print(f"kinds of new plants found from two codes, {name}: {share:.3f}")
    return result


if __name__ == "__main__":
    main()
