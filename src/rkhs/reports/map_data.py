"""What the script of the page reads: names, places, neighbours, fields, structures and images, packed into JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from rkhs.plots.display import colour_ends
from rkhs.reports.audit import class_name, is_class
from rkhs.reports.items import Items
from rkhs.reports.neighbours import Neighbours
from rkhs.reports.pictures import drawing, image_sheet

_SHEET = 2_000_000  # characters of all thumbnails together
_CELLS = 200_000  # numbers of columns beside the places
_COLUMNS = 40
_COLOURS = 20  # classes; more have no colours of their own


def data_block(
    items: Items, places: np.ndarray, neighbours: Neighbours, labels: list[int], fields: list[tuple[str, np.ndarray]]
) -> str:
    """JSON that may stand in a page: no character of it can end the element or begin another."""
    data: dict[str, Any] = {
        "n": len(items),
        "places": _floats(places),
        "near": neighbours.indices.tolist(),
        "distances": _floats(neighbours.distances),
        "labels": labels,
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
        return {
            "name": name,
            "numbers": _floats(values),
            "ends": [float(f"{end:.6g}") for end in colour_ends(values)[:2]],
        }
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
