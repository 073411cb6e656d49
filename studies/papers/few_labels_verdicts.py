"""What the numbers of Figures 1 to 3 of Esser et al. (2024) say about each claim of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from studies.papers.few_labels import FewLabelRow, choose_on_labels

__all__ = ["by_method", "denoising_verdicts", "embedding_verdicts", "network_verdicts"]

_REFERENCES = ("raw features", "kernel PCA")


def by_method(rows: Sequence[FewLabelRow]) -> dict[str, FewLabelRow]:
    """Every method with its kernel chosen on the labelled rows, and "ours", "networks": also the method.

    Parameters
    ----------
    rows : sequence of FewLabelRow

    Returns
    -------
    dict of str to FewLabelRow
    """
    networks = [row for row in rows if row.method.startswith("network")]
    ours = [row for row in rows if row.method not in _REFERENCES and row not in networks]
    groups = {method: [row for row in rows if row.method == method] for method in dict.fromkeys(r.method for r in rows)}
    groups |= {"ours": ours, "networks": networks}
    return {name: choose_on_labels(group, name) for name, group in groups.items() if group}


def _best(rows: Sequence[FewLabelRow]) -> FewLabelRow:
    return max(rows, key=lambda row: row.mean)


def _word(holds: bool) -> str:
    return "holds" if holds else "does NOT hold"


def _claim(claim: str, left: FewLabelRow, right: FewLabelRow, margin: float = 0.0, *, strict: bool = False) -> str:
    holds = left.mean > right.mean if strict else left.mean >= right.mean - margin
    return f"{claim}: {_word(holds)} ({left.method} {left.mean:.3f} against {right.method} {right.mean:.3f})"


def embedding_verdicts(rows: Sequence[FewLabelRow]) -> list[str]:
    """Claims of figure 1, with kernels (and our method) chosen on the labelled rows; "on par" is at most 0.02 below.

    Parameters
    ----------
    rows : sequence of FewLabelRow

    Returns
    -------
    list of str
    """
    chosen = by_method(rows)
    raw, pca = chosen["raw features"], chosen["kernel PCA"]
    embeddings = [row for row in rows if row.method != "raw features" and not row.method.startswith("network")]
    top = _best(embeddings)
    lines = [
        _claim("'an embedding beats the raw features', chosen on the labelled rows", chosen["ours"], raw, strict=True),
        f"'there is always an embedding that beats the raw features', the best of {len(embeddings)} by test accuracy: "
        f"{_word(top.mean > raw.mean)} ({top.method}, {top.kernel}: {top.mean:.3f} against {raw.mean:.3f})",
    ]
    for method, row in chosen.items():
        if method not in (*_REFERENCES, "networks") and not method.startswith("network, "):
            lines.append(_claim(f"'{method}: on par with or better than kernel PCA'", row, pca, 0.02))
    return lines


def network_verdicts(rows: Sequence[FewLabelRow]) -> list[str]:
    """Claim of figure 2, both sides chosen on the labelled rows, then both by test accuracy.

    Parameters
    ----------
    rows : sequence of FewLabelRow

    Returns
    -------
    list of str
    """
    chosen = by_method(rows)
    networks = [row for row in rows if row.method.startswith("network")]
    claim = "'kernels are on par with networks' (at most 0.02 below)"
    return [
        _claim(f"{claim}, chosen on the labelled rows", chosen["ours"], chosen["networks"], 0.02),
        _claim(
            f"{claim}, best by test accuracy",
            _best([row for row in rows if row.method not in _REFERENCES and row not in networks]),
            _best(networks),
            0.02,
        ),
    ]


def denoising_verdicts(errors: dict[str, tuple[float, ...]]) -> list[str]:
    """Claims of figure 3.

    Parameters
    ----------
    errors : dict of str to tuple of float
        One a split, by method.

    Returns
    -------
    list of str
    """
    means = {name: float(np.mean(values)) for name, values in errors.items()}
    kernels = [means[name] for name in means if name.startswith("sphere")]
    every, best = _word(max(kernels) < means["network"]), _word(min(kernels) < means["network"])
    return [
        f"'the kernel autoencoder outperforms the network': for every kernel {every}, for the best {best} "
        f"({min(kernels):.4f} to {max(kernels):.4f} against {means['network']:.4f})",
        f"'little variation among kernels': largest over smallest error {max(kernels) / min(kernels):.2f}",
    ]
