"""The numbers and texts that the script of a page draws."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from rkhs.evaluation.targets import class_name, is_class
from rkhs.plots.display import colour_ends
from rkhs.reports.items import Items
from rkhs.reports.neighbours import Neighbours
from rkhs.reports.pictures import drawing

_MAX_COLUMNS = 40  # that can colour the map
_MAX_COLOURS = 20  # classes; more have no colours of their own


def data_block(
    items: Items,
    view: tuple[np.ndarray, list[int]],
    neighbours: Neighbours,
    labels: list[int],
    fields: list[tuple[str, np.ndarray]],
) -> str:
    """JSON that may stand in a page: no character of it can end the element or begin another."""
    data: dict[str, Any] = {
        "n": len(items),
        "places": _floats(view[0]),
        "outside": view[1],
        "near": neighbours.indices.tolist(),
        "distances": _floats(neighbours.distances),
        "labels": labels,
        "names": list(items.names),
        "fields": [_field(name, values, name in items.dates) for name, values in [*fields, *_column_fields(items)]],
    }
    if items.smiles is not None:
        data["smiles"] = list(items.smiles)
        data["drawings"] = [drawing(text) for text in items.smiles]
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _floats(values: np.ndarray) -> str:
    with np.errstate(over="ignore"):
        return base64.b64encode(np.asarray(values).astype("<f4").tobytes()).decode()


def _field(name: str, values: np.ndarray, dated: bool) -> dict[str, Any]:
    """A column as numbers, as classes with their places, or as texts if there are too many classes."""
    if not is_class(values):
        ends = [float(f"{end:.6g}") for end in colour_ends(values)[:2]]
        return {"name": name, "numbers": _floats(values), "ends": ends, "dates": dated}
    texts = [class_name(value) for value in values.tolist()]
    classes = sorted({*texts} - {""})
    if len(classes) > _MAX_COLOURS:
        return {"name": name, "texts": texts}
    place = {text: i for i, text in enumerate(classes)}
    return {"name": name, "classes": classes, "of": [place.get(text, -1) for text in texts]}


def _column_fields(items: Items) -> list[tuple[str, np.ndarray]]:
    """Columns of numbers, and as they are those that hold none."""
    if items.numbers is None:
        return []
    fields = []
    for (name, cells), numbers in zip(items.named_columns, items.numbers.T, strict=False):
        fields.append((name, numbers if np.isfinite(numbers).any() else cells))
    return fields[:_MAX_COLUMNS]
