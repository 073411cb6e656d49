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

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_UNIT = 0.05  # angstrom; a bond is about 1.5
_MOST_ATOMS = 200
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
    labels = " ".join(_label(atom) for atom in molecule.GetAtoms() if _is_labelled(atom))
    return f"{atoms}|{bonds}|{labels}"


def _prepared(smiles: str) -> Any:
    """The molecule with its places in the plane; None if RDKit cannot read it."""
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
    return _DIGITS[value // 36] + _DIGITS[value % 36]


def _bond_letter(bond: Any) -> str:
    wedge = {"BEGINWEDGE": "w", "BEGINDASH": "h"}.get(str(bond.GetBondDir()))
    return wedge or {2.0: "2", 3.0: "3"}.get(bond.GetBondTypeAsDouble(), "1")


def _is_labelled(atom: Any) -> bool:
    return atom.GetAtomicNum() != 6 or atom.GetFormalCharge() != 0 or atom.GetIsotope() != 0 or atom.GetDegree() == 0


def _label(atom: Any) -> str:
    isotope = str(atom.GetIsotope()) if atom.GetIsotope() else ""
    return f"{atom.GetIdx()}:{isotope}{atom.GetSymbol()}:{atom.GetTotalNumHs()}:{atom.GetFormalCharge()}"


def structure_svg(smiles: str) -> str:
    """A structure drawn by RDKit, as the text of a ``data:`` address; empty if it cannot be drawn."""
    molecule = _prepared(smiles)
    if molecule is None or molecule.GetNumAtoms() > _MOST_ATOMS:
        return ""
    from rdkit.Chem.Draw import rdMolDraw2D

    drawer = rdMolDraw2D.MolDraw2DSVG(200, 140)
    options: Any = drawer.drawOptions()
    options.clearBackground = False
    options.prepareMolsBeforeDrawing = False
    drawer.DrawMolecule(molecule)
    drawer.FinishDrawing()
    return "data:image/svg+xml;base64," + base64.b64encode(drawer.GetDrawingText().encode()).decode()


def static_map(codes: np.ndarray, groups: Sequence[str]) -> str:
    """Points as one SVG path a group: what is seen before the script runs, or without it."""
    centre = (codes.max(0) + codes.min(0)) / 2.0
    half = max(float(np.ptp(codes, axis=0).max()) / 2.0, 1e-300) * 1.06
    shape = np.ptp(codes, axis=0) / (2.0 * half)
    height = int(1000 * min(1.0, max(0.4, shape[1] * 1.06)))
    x = np.round(500 + 500 * (codes[:, 0] - centre[0]) / half).astype(int)
    y = np.round(height / 2 - 500 * (codes[:, 1] - centre[1]) / half).astype(int)
    size = int(np.clip(400 / len(codes) ** 0.5, 6, 18))
    paths = []
    for group in sorted(set(groups)):
        steps = "".join(f"M{x[i]} {y[i]}h0" for i in range(len(codes)) if groups[i] == group)
        paths.append(f'<path class="dot {group}" stroke-width="{size}" d="{steps}"/>')
    return (
        f'<svg id="still" viewBox="0 0 1000 {height}" role="img" aria-label="Map of {len(codes)} items">'
        f"{''.join(paths)}</svg>"
    )


def bars(shares: np.ndarray) -> str:
    """Shares by component as bars, and their sum as a line."""
    total = np.cumsum(shares)
    top = max(1.0, float(total[-1]))
    x, wide = _across(len(shares)), 0.76 * 560.0 / len(shares)
    rects = "".join(
        f'<rect class="bar" x="{x[j] - wide / 2:.1f}" y="{220 - 200 * share / top:.1f}" width="{wide:.1f}" '
        f'height="{200 * share / top:.1f}"><title>component {j + 1}: {share:.1%}</title></rect>'
        for j, share in enumerate(shares.tolist())
    )
    sentences = f"Share of the variance by component: {shares[0]:.0%} for component 1; {total[-1]:.0%} together"
    return _chart(
        sentences, rects + _line(x, 220.0 - 200.0 * total / top), len(shares), "component", (0.0, top, "{:.0%}")
    )


def curve(values: np.ndarray, labels: Sequence[str], chosen: int | None) -> str:
    """Errors by setting as a line; the chosen setting is marked."""
    low, high = float(values.min()), float(values.max())
    margin = 0.08 * (high - low) or max(abs(high), 1.0) * 0.1
    low, high = low - margin, high + margin
    x, y = _across(len(values)), 220.0 - 200.0 * (values - low) / (high - low)
    marks = "".join(
        f'<circle class="{"mark chosen" if i == chosen else "mark"}" cx="{x[i]:.1f}" cy="{y[i]:.1f}" '
        f'r="{7 if i == chosen else 4}"><title>{escape(label)}: {values[i]:.4g}</title></circle>'
        for i, label in enumerate(labels)
    )
    return _chart("Held-out error by setting", _line(x, y) + marks, len(values), "setting", (low, high, "{:.3g}"))


def _across(n: int) -> np.ndarray:
    """Places of n things on the axis."""
    return 60.0 + 560.0 * (np.arange(n) + 0.5) / n


def _line(x: np.ndarray, y: np.ndarray, look: str = "line") -> str:
    known = np.isfinite(y)  # no line leads over a gap
    steps = (f"{'L' if j and known[j - 1] else 'M'}{x[j]:.1f} {y[j]:.1f}h0" for j in np.flatnonzero(known))
    return f'<path class="{look}" d="{"".join(steps)}"/>'


def _chart(label: str, drawn: str, n: int, what: str, ticks: tuple[float, float, str]) -> str:
    """What is drawn, with axes: the numbers of n things below it, and five values next to it."""
    low, high, form = ticks
    x, step = _across(n), 1 if n <= 16 else -(-n // 12)
    below = "".join(f'<text x="{x[j]:.1f}" y="238" text-anchor="middle">{j + 1}</text>' for j in range(0, n, step))
    extra = "".join(
        f'<text x="54" y="{224 - 200 * (value - low) / (high - low):.1f}" text-anchor="end">{form.format(value)}</text>'
        for value in np.linspace(low, high, 5)
    )
    return (
        f'<svg class="chart" viewBox="0 0 640 264" role="img" aria-label="{escape(label)}">'
        f'<path class="axis" d="M60 20V220H620"/>{drawn}{below}{extra}'
        f'<text x="340" y="258" text-anchor="middle">{what}</text></svg>'
    )


def sparkline(original: np.ndarray, rebuilt: np.ndarray, low: float, high: float) -> str:
    """A curve, gaps left out, and what is rebuilt of it, as a small SVG whose height is from ``low`` to ``high``."""
    both = np.stack([original, rebuilt])
    x = np.linspace(2, 158, both.shape[1])
    y = 48.0 - 46.0 * (both - low) / max(high - low, 1e-300)
    head = '<svg class="spark" viewBox="0 0 160 50" role="img" aria-label="original and rebuilt curve">'
    return f"{head}{_line(x, y[0], 'old')}{_line(x, y[1], 'new')}</svg>"
