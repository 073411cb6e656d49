"""What the script of the page reads: names, codes, fields, structures and images, packed into JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from rkhs.plots.display import colour_ends
from rkhs.reports.audit import class_name, is_class
from rkhs.reports.items import Items
from rkhs.reports.pictures import drawing, image_sheet

_SHEET = 2_000_000  # characters of all thumbnails together
_CELLS = 200_000  # numbers of columns next to the codes
_COLUMNS = 40
_COLOURS = 20  # classes; more have no colours of their own
_STEPS = 5  # of the still map's scale of numbers


def data_block(items: Items, codes: np.ndarray, fields: list[tuple[str, np.ndarray]]) -> str:
    """JSON that may stand in a page: no character of it can end the element or begin another."""
    data: dict[str, Any] = {
        "n": len(items),
        "p": codes.shape[1],
        "codes": _floats(codes),
        "names": list(items.names),
        "fields": [_field(name, values) for name, values in [*fields, *_column_fields(items)]],
    }
    if items.smiles is not None:
        data["smiles"] = list(items.smiles)
        data["drawings"] = [drawing(text) for text in items.smiles]
    if items.image_shape is not None and items.numbers is not None:
        data["images"] = image_sheet(items.numbers, items.image_shape, _SHEET)
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _floats(values: np.ndarray) -> str:
    with np.errstate(over="ignore"):
        return base64.b64encode(np.asarray(values).astype("<f4").tobytes()).decode()


def _field(name: str, values: np.ndarray) -> dict[str, Any]:
    """A column as numbers, as classes with their places, or as texts if there are too many classes."""
    if values.dtype.kind == "f" and not is_class(values):
        ends = [float(f"{end:.6g}") for end in colour_ends(values)[:2]]
        return {"name": name, "numbers": _floats(values), "ends": ends}
    texts = [class_name(value) for value in values.tolist()]
    classes = sorted({text for text in texts if text}, key=_natural)
    if len(classes) > _COLOURS:
        return {"name": name, "texts": texts}
    place = {text: i for i, text in enumerate(classes)}
    return {"name": name, "classes": classes, "of": [place.get(text, -1) for text in texts]}


def _natural(text: str) -> tuple[int, float, str]:
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)


def _column_fields(items: Items) -> list[tuple[str, np.ndarray]]:
    """Columns of a table, as many as may travel."""
    if items.columns is None or items.image_shape is not None or items.kind not in ("vectors", "table"):
        return []
    assert items.numbers is not None
    count = min(len(items.columns), _COLUMNS, _CELLS // len(items))
    fields = []
    for j in range(count):
        column = items.numbers[:, j]
        if items.kind == "table" and not np.isfinite(column).any():
            cells = np.asarray(items.X, dtype=object)[:, j]
            column = np.array(["" if cell is None else str(cell) for cell in cells], dtype=object)
        fields.append((items.columns[j], column))
    return fields


def colours(target: tuple[str, np.ndarray] | None, n: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Style classes of the points of the still map, and the legend."""
    if target is None:
        return ["c0"] * n, []
    found = _field(*target)
    if "classes" in found:
        legend = [(f"c{i % 10}", text) for i, text in enumerate(found["classes"])]
        return [f"c{place % 10}" if place >= 0 else "none" for place in found["of"]], legend
    if "texts" in found:
        return ["c0"] * n, []
    return _steps(target[1])


def _steps(values: np.ndarray) -> tuple[list[str], list[tuple[str, str]]]:
    """Style classes and legend of numbers."""
    known = np.isfinite(values)
    low, high, beyond = colour_ends(values)
    share = np.where(known, (values - low) / max(high - low, 1e-300), 0.0).clip(0.0, 1.0)
    steps = np.minimum((share * _STEPS).astype(int), _STEPS - 1)
    width = (high - low) / _STEPS
    legend = [(f"r{i}", f"{low + i * width:.3g} to {low + (i + 1) * width:.3g}") for i in range(_STEPS)]
    if beyond in ("min", "both"):
        legend[0] = ("r0", f"below {low + width:.3g}")
    if beyond in ("max", "both"):
        legend[-1] = (legend[-1][0], f"above {high - width:.3g}")
    return [f"r{step}" if ok else "none" for step, ok in zip(steps, known, strict=True)], legend
