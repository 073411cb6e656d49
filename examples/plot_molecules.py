"""A map of molecules
==================

A map of molecules with their structures, and the molecules nearest to points on a line across it.

500 bundled molecules, Tanimoto kernel of their Morgan fingerprints, two components that rebuild the kernel's features.
Structures are drawn if RDKit is installed (extra ``chem``).
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from gallery import far_apart, save
from matplotlib.patches import ConnectionPatch

import rkhs
from rkhs.data import load_molecules
from rkhs.kernels import Tanimoto


def draw(axes: Any, smiles: str) -> None:
    """Draw a molecule into axes, or write its SMILES without RDKit."""
    axes.axis("off")
    try:
        from rdkit.Chem import Draw, MolFromSmiles
    except ImportError:
        axes.text(0.5, 0.5, smiles[:24], ha="center", va="center", fontsize=7)
        return
    axes.imshow(np.asarray(Draw.MolToImage(MolFromSmiles(smiles), size=(360, 220))))


def draw_beside(figure: Any, cells: dict[str, Any], Z: np.ndarray, smiles: tuple[str, ...]) -> None:
    """Draw eight molecules left and right of the map, each with a line to its point."""
    rows = np.array(far_apart(Z, 8))
    rows = rows[np.argsort(Z[rows, 0])]
    for side, edge, chosen in (("left", 1.0, rows[:4]), ("right", 0.0, rows[4:])):
        for place, row in enumerate(chosen[np.argsort(-Z[chosen, 1])]):
            axes = cells[f"{side} {place}"]
            draw(axes, smiles[row])
            cells["map"].plot(*Z[row], "o", color="#d55e00", markersize=6)
            ends = {"xyA": (edge, 0.5), "coordsA": axes.transAxes, "xyB": Z[row], "coordsB": cells["map"].transData}
            figure.add_artist(ConnectionPatch(**ends, color="#d55e00", linewidth=0.7, alpha=0.7))


def main(n: int = 500) -> dict[str, float]:
    molecules = load_molecules()
    X, smiles = molecules.fingerprints[:n].astype(float), molecules.smiles[:n]
    model = rkhs.KernelAutoencoder(2, kernel=Tanimoto(), output_kernel="same", random_state=0).fit(X)
    Z = model.codes_
    layout = [[f"left {i}", "map", f"right {i}"] for i in range(4)]
    figure, cells = plt.subplot_mosaic(layout, figsize=(13, 7), width_ratios=(1, 3, 1), layout="constrained")
    ends = far_apart(Z, 2)
    line = np.linspace(Z[ends[0]], Z[ends[1]], 5)
    points = cells["map"].scatter(Z[:, 0], Z[:, 1], c=X.sum(1), s=12, cmap="viridis")
    cells["map"].plot(line[:, 0], line[:, 1], "k.--", linewidth=0.8)
    cells["map"].set(xlabel="code 1", ylabel="code 2", title=f"{n} molecules by two numbers")
    figure.colorbar(points, ax=cells["map"], location="bottom", shrink=0.5, label="bits in the fingerprint")
    draw_beside(figure, cells, Z, smiles)
    save(figure, "molecules")
    figure, axes = plt.subplots(1, 5, figsize=(13, 2.4), layout="constrained")
    for step, row in enumerate(model.decode(line).indices[:, 0]):
        draw(axes[step], smiles[row])
    figure.suptitle("the molecules nearest to five points on the dashed line", fontsize=10)
    save(figure, "molecules_line")
    found = model.decode(Z).indices[:, :10]
    top = float((found == np.arange(n)[:, None]).any(1).mean())
    K = Tanimoto()(X)
    np.fill_diagonal(K, 0.0)
    near = ((Z[:, None] - Z) ** 2).sum(-1)
    np.fill_diagonal(near, np.inf)
    result = {"own molecule among 10": top, "similarity of neighbours": float(K[np.arange(n), near.argmin(1)].mean())}
    result["similarity at random"] = float(K.sum() / (n * (n - 1)))
    print(result)
    return result


if __name__ == "__main__":
    main()
