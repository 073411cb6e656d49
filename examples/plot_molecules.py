"""A map of molecules with their structures, and the molecules nearest to points between them.

500 bundled molecules, Tanimoto kernel of their Morgan fingerprints, two components that rebuild the kernel's features.
Structures are drawn if RDKit is installed (extra ``chem``).
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from gallery import far_apart, save

import rkhs
from rkhs.data import load_molecules
from rkhs.kernels import Tanimoto


def structure(smiles: str) -> Any:
    """A drawing of a molecule as an image, or None without RDKit."""
    try:
        from rdkit.Chem import Draw, MolFromSmiles
    except ImportError:
        return None
    return np.asarray(Draw.MolToImage(MolFromSmiles(smiles), size=(180, 130)))


def main(n: int = 500) -> dict[str, float]:
    molecules = load_molecules()
    X, smiles = molecules.fingerprints[:n].astype(float), molecules.smiles[:n]
    model = rkhs.KernelAutoencoder(2, kernel=Tanimoto(), output_kernel="same", random_state=0).fit(X)
    Z = model.codes_
    figure, (axes, other) = plt.subplots(1, 2, figsize=(14, 6.5), width_ratios=(2, 1))
    heavy = X.sum(1)
    axes.scatter(Z[:, 0], Z[:, 1], c=heavy, s=9, cmap="viridis")
    low, high = Z.min(0) - 0.15 * np.ptp(Z, axis=0), Z.max(0) + 0.15 * np.ptp(Z, axis=0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    for row in far_apart(Z, 9):
        image = structure(smiles[row])
        if image is None:
            axes.annotate(smiles[row][:16], Z[row], fontsize=7)
            continue
        x, y = (Z[row] - low) / (high - low)
        inset = axes.inset_axes((x - 0.09, y + 0.005, 0.18, 0.15))
        inset.imshow(image, alpha=0.85)
        inset.axis("off")
        axes.plot(*Z[row], "o", color="#d55e00", markersize=5)
    axes.set_title(f"{n} molecules; colour: number of fingerprint bits", fontsize=10)
    line = np.linspace(Z[far_apart(Z, 2)[0]], Z[far_apart(Z, 2)[1]], 5)
    ranking = model.decode(line)
    other.axis("off")
    other.set_title("nearest molecules along a line across the map", fontsize=10)
    for step, row in enumerate(ranking.indices[:, 0]):
        image, place = structure(smiles[row]), (0.05, 0.8 - 0.2 * step, 0.9, 0.19)
        if image is None:
            other.text(0.05, 0.9 - 0.2 * step, smiles[row][:40], fontsize=7)
            continue
        inset = other.inset_axes(place)
        inset.imshow(image)
        inset.axis("off")
    save(figure, "molecules")
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
