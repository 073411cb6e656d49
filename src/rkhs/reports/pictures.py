"""Pictures that are small in bytes: structures as short texts, charts as SVG."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from rkhs._core.errors import optional
from rkhs.reports.wording import readable

_UNIT = 0.05  # angstrom; a bond is about 1.5
_MAX_ATOMS = 200  # of a molecule that is drawn


def drawing(smiles: str) -> str:
    """A structure as a short text that the page draws: atoms, bonds and labels; empty if it cannot be drawn."""
    molecule = _prepared(smiles)
    if molecule is None:
        return ""
    places = np.asarray(molecule.GetConformer().GetPositions())[:, :2] * [1.0, -1.0]
    units = np.clip(np.round((places - places.min(0)) / _UNIT).astype(int), 0, 36 * 36 - 1)
    atoms = "".join(_two(value) for place in units.tolist() for value in place)
    bonds = "".join(
        _two(bond.GetBeginAtomIdx()) + _two(bond.GetEndAtomIdx()) + _bond_letter(bond) for bond in molecule.GetBonds()
    )
    labels = " ".join(filter(None, map(_label, molecule.GetAtoms())))
    return f"{atoms}|{bonds}|{labels}"


def _prepared(smiles: str) -> Any:
    """A molecule with places of its atoms; None if it cannot be drawn."""
    Chem, draw = optional("rdkit.Chem"), optional("rdkit.Chem.Draw.rdMolDraw2D")
    quiet = optional("rdkit.rdBase").BlockLogs()
    try:
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None or not 0 < molecule.GetNumAtoms() <= _MAX_ATOMS:
            return None
        return draw.PrepareMolForDrawing(molecule)
    except (RuntimeError, ValueError):  # no Kekule structure, or no room in the plane
        return None
    finally:
        del quiet


def _two(value: int) -> str:
    return np.base_repr(value, 36, 2)[-2:].lower()


def _bond_letter(bond: Any) -> str:
    wedge = {"BEGINWEDGE": "w", "BEGINDASH": "h"}.get(str(bond.GetBondDir()))
    return wedge or {2.0: "2", 3.0: "3"}.get(bond.GetBondTypeAsDouble(), "1")


def _label(atom: Any) -> str:
    """Place, symbol, hydrogens and charge of an atom; nothing of a carbon within a chain or ring."""
    isotope, charge = atom.GetIsotope() or "", atom.GetFormalCharge()
    labelled = atom.GetAtomicNum() != 6 or charge or isotope or not atom.GetDegree()
    return f"{atom.GetIdx()}:{isotope}{atom.GetSymbol()}:{atom.GetTotalNumHs()}:{charge}" if labelled else ""


def structure_svg(smiles: str, parts: np.ndarray | None = None) -> str:
    """A structure drawn by RDKit, as a ``data:`` address; ``parts`` colours its atoms; empty if it cannot be drawn."""
    molecule = _prepared(smiles)
    if molecule is None:
        return ""
    from rdkit.Chem.Draw import rdMolDraw2D

    drawer = rdMolDraw2D.MolDraw2DSVG(200, 140)
    options: Any = drawer.drawOptions()
    options.clearBackground = False
    options.prepareMolsBeforeDrawing = False
    shares = np.zeros(0) if parts is None else parts / max(float(np.abs(parts).max()), 1e-300)
    colours = {i: _tint(share) for i, share in enumerate(shares.tolist())}
    drawer.DrawMolecule(molecule, highlightAtoms=list(colours), highlightAtomColors=colours, highlightBonds=[])
    drawer.FinishDrawing()
    return "data:image/svg+xml;base64," + base64.b64encode(drawer.GetDrawingText().encode()).decode()


def _tint(share: float) -> tuple[float, float, float]:
    end = (0.34, 0.71, 0.91) if share > 0.0 else (0.94, 0.55, 0.2)
    red, green, blue = (1.0 - abs(share) * (1.0 - part) for part in end)
    return red, green, blue


def histogram(counts: np.ndarray) -> str:
    """Counts as bars, small enough for a cell of a table."""
    wide, top = 96.0 / max(len(counts), 1), max(int(counts.max(initial=0)), 1)
    bars = "".join(
        f'<path d="M{j * wide:.1f} 32v{-30.0 * count / top:.1f}h{wide - 1:.1f}v{30.0 * count / top:.1f}z"/>'
        for j, count in enumerate(counts.tolist())
    )
    return f'<svg class="histogram" viewBox="0 0 96 33" aria-hidden="true">{bars}</svg>'


def scatter(predicted: np.ndarray, true: np.ndarray, name: str, marked: Sequence[tuple[int, int, str]] = ()) -> str:
    """True against predicted numbers on one scale, and the line of equals; ``marked``: position, item and its text."""
    both = np.r_[predicted, true]
    low, high = float(both.min()), float(both.max())
    x, y = (96.0 + 300.0 * (part - low) / max(high - low, 1e-300) for part in (predicted, true))
    dots = "".join(f"M{a:.0f} {416 - b:.0f}h0" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    ticks = "".join(
        f'<text x="{at}" y="338" text-anchor="middle">{readable(value)}</text>'
        f'<text x="90" y="{420 - at}" text-anchor="end">{readable(value)}</text>'
        f'<path class="axis" d="M{at} 320v4M96 {416 - at}h-4"/>'
        for at, value in ((96, low), (246, (low + high) / 2.0), (396, high))
    )
    rows = "".join(
        f'<circle data-item="{item}" r="4.5" cx="{x[at]:.0f}" cy="{416 - y[at]:.0f}"><title>{escape(text)}</title>'
        "</circle>"
        for at, item, text in marked
    )
    return (
        f'<svg class="chart" viewBox="0 0 440 366" role="img" aria-label="{escape(name)}: true against predicted">'
        f'<path class="axis" d="M96 20V320H396M96 320L396 20"/><path class="dot c0" stroke-width="5" d="{dots}"/>'
        f"{ticks}{rows}"
        f'<text x="246" y="358" text-anchor="middle">predicted from the other rows</text>'
        f'<text x="12" y="170" text-anchor="middle" transform="rotate(-90 12 170)">{escape(name)}, in the file'
        "</text></svg>"
    )


def _line(x: np.ndarray, y: np.ndarray, look: str = "line") -> str:
    known = np.isfinite(y)  # no line leads over a gap
    steps = (f"{'L' if j and known[j - 1] else 'M'}{x[j]:.1f} {y[j]:.1f}h0" for j in np.flatnonzero(known))
    return f'<path class="{look}" d="{"".join(steps)}"/>'


def sparkline(original: np.ndarray, rebuilt: np.ndarray, low: float, high: float) -> str:
    """A curve, gaps left out, and what is rebuilt of it, as a small SVG whose height is from ``low`` to ``high``."""
    both = np.stack([original, rebuilt])
    x = np.linspace(2, 158, both.shape[1])
    y = 48.0 - 46.0 * (both - low) / max(high - low, 1e-300)
    head = '<svg class="spark" viewBox="0 0 160 50" role="img" aria-label="original and rebuilt curve">'
    return f"{head}{_line(x, y[0], 'old')}{_line(x, y[1], 'new')}</svg>"
