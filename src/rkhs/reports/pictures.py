"""Pictures that are small in bytes: images as one sheet, structures as short texts, charts as SVG."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from rkhs._core.errors import optional
from rkhs.reports.wording import readable

_UNIT, _MOST_ATOMS = 0.05, 200  # angstrom, a bond is about 1.5; of a molecule that is drawn
_LEVELS = 15  # grey levels of thumbnails, but one: fewer levels, fewer bytes


def png(pixels: np.ndarray) -> str:
    """A grey image as the text of a ``data:`` address."""
    height, width = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), pixels], axis=1)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()


def grey(rows: np.ndarray, low: float, high: float) -> np.ndarray:
    """Numbers as grey levels, dark for large ones; gaps are white."""
    share = np.nan_to_num(np.clip((rows - low) / max(high - low, 1e-300), 0.0, 1.0))
    return (255 - np.round(share * _LEVELS) * (255 // _LEVELS)).astype(np.uint8)


def image_sheet(rows: np.ndarray, shape: tuple[int, ...], most_bytes: int) -> dict[str, Any]:
    """Images side by side on one sheet, every ``step``-th if all together are too large."""
    low, high = float(np.nanmin(rows)), float(np.nanmax(rows))
    step = 1
    while True:
        tiles = grey(rows[::step], low, high).reshape(-1, *shape)
        across = int(np.ceil(len(tiles) ** 0.5))
        lines = -(-len(tiles) // across)
        full = np.full((lines * across, *shape), 255, dtype=np.uint8)
        full[: len(tiles)] = tiles
        sheet = png(full.reshape(lines, across, *shape).transpose(0, 2, 1, 3).reshape(lines * shape[0], -1))
        if len(sheet) <= most_bytes or len(tiles) == 1:
            return {"sheet": sheet, "across": across, "height": shape[0], "width": shape[1], "step": step}
        step *= 2


def drawing(smiles: str) -> str:
    """A structure as a short text that the page draws: atoms, bonds and labels; empty if it cannot be drawn."""
    molecule = _prepared(smiles)
    if molecule is None or not 0 < molecule.GetNumAtoms() <= _MOST_ATOMS:
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
    Chem, draw = optional("rdkit.Chem"), optional("rdkit.Chem.Draw.rdMolDraw2D")
    quiet = optional("rdkit.rdBase").BlockLogs()
    try:
        molecule = Chem.MolFromSmiles(smiles)
        return None if molecule is None else draw.PrepareMolForDrawing(molecule)
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
    if molecule is None or molecule.GetNumAtoms() > _MOST_ATOMS:
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


def histogram(counts: np.ndarray, far: str = "neither") -> str:
    """Counts as bars, small enough for a cell of a table; those at the ends of ``far``, min, max or both, stand out."""
    wide, top, last = 96.0 / max(len(counts), 1), max(int(counts.max(initial=0)), 1), len(counts) - 1
    heights = [max(30.0 * count / top, 0.8 * (count > 0)) for count in counts.tolist()]
    looks = dict.fromkeys({"min": (0,), "max": (last,), "both": (0, last)}.get(far, ()), ' class="far"')
    parts = "".join(
        f'<path{looks.get(j, "")} d="M{j * wide:.1f} 32v{-height:.1f}h{wide - 1:.1f}v{height:.1f}z"/>'
        for j, height in enumerate(heights)
    )
    return f'<svg class="histogram" viewBox="0 0 96 33" aria-hidden="true">{parts}</svg>'


def share_bar(share: float) -> str:
    """A share as a thin bar."""
    return f'<svg class="share" viewBox="0 0 96 5" aria-hidden="true"><path d="M0 0h{96.0 * share:.1f}v5H0z"/></svg>'


def scatter(predicted: np.ndarray, true: np.ndarray, name: str, marked: Sequence[tuple[int, int, str]] = ()) -> str:
    """True against predicted numbers on one scale, and the line of equals; ``marked``: position, item and its text."""
    low, high = (float(end(np.r_[predicted, true])) for end in (np.min, np.max))
    span = max(high - low, 1e-300)
    x, y = (96.0 + 300.0 * (part - low) / span for part in (predicted, true))
    dots = "".join(f"M{a:.0f} {416 - b:.0f}h0" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    unit = 10.0 ** np.floor(np.log10(span))
    step = unit * min(part for part in (0.2, 0.5, 1.0, 2.0) if 5.0 * part * unit >= span)
    ticks = "".join(
        f'<text x="{at:.0f}" y="338" text-anchor="middle">{readable(value)}</text>'
        f'<text x="90" y="{420 - at:.0f}" text-anchor="end">{readable(value)}</text>'
        f'<path class="axis" d="M{at:.0f} 320v4M96 {416 - at:.0f}h-4"/>'
        for value in (step * np.arange(np.ceil(low / step), np.floor(high / step) + 1.0) + 0.0).tolist()
        for at in (96.0 + 300.0 * (value - low) / span,)
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
