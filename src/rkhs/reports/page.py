"""The page itself: its sections as HTML, every text escaped, with one style sheet and one script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.files import shell_word
from rkhs.data.dataset import listed
from rkhs.estimators import KernelEstimator
from rkhs.plots.codes import spread_out, within_view
from rkhs.plots.display import colour_ends
from rkhs.reports.audit import HEAD, class_name, is_class
from rkhs.reports.findings import Rebuilt, far_above, versions
from rkhs.reports.items import Items
from rkhs.reports.neighbours import MapLayout, Neighbours, map_sentences
from rkhs.reports.pictures import drawing, grey, image_sheet, png, scatter, sparkline, structure_svg
from rkhs.reports.target import Prediction
from rkhs.reports.wording import day_text, percent, readable

_MAX_ROWS, _MAX_NAMES, _MAX_CHANGES, _MAX_COLUMNS = 6, 30, 3, 10  # items, names of a group, columns an item, and in all
_LARGE_LOSS, _MAX_LABELS = 0.3, 200  # share of the variance that more components may keep; items first for labels


@dataclass(frozen=True, eq=False)
class Content:
    """Content of a page."""

    model: KernelEstimator
    items: Items  # those on the page
    total: int  # number of all items
    notes: Sequence[str]  # what was done to read the items
    audit: tuple[str, ...]  # empty if the page is the map alone
    columns: list[list[str]]  # cells of the table of columns
    first: tuple[list[str], list[list[str]]]  # heads and cells of the first rows
    codes: np.ndarray  # (n, p)
    neighbours: Neighbours
    layout: MapLayout
    target: tuple[str, np.ndarray] | None  # (n,)
    title: str
    model_file: str | None
    commands: Sequence[tuple[str, str]]  # description and command
    prediction: Prediction | str | None = None  # or why there is none
    rebuilt: Rebuilt | str = ""  # or why there is none
    diagnosis: tuple[Sequence[str], float | None] = ((), None)  # see :func:`~rkhs.reports.findings.diagnosis`


def page(content: Content) -> str:
    """The whole page."""
    style, script = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    first, *others = summary(content)
    parts = [("map", "Map", _map(content))]
    if content.audit:
        name = "The table" if len(content.columns) > 1 else "The items"
        parts = [
            ("target", "The target", _target(content)),
            ("input", name, _input(content)),
            *parts,
            ("items", "Items to look at", _rebuilt(content) + _novel(content) + _copies(content)),
            ("next", "Next", _next(content)),
        ]
    parts = [part for part in parts if part[2]]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in parts) if content.audit else ""
    sections = "".join(f'<section id="{name}"><h2>{title}</h2>{body}</section>' for name, title, body in parts)
    policy = f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}"
    title, footer = escape(content.title), f"Made with {type(content.model).__name__}; {versions()}"
    data = data_block(
        content.items,
        within_view(content.layout.coordinates),
        content.neighbours,
        spread_out(content.layout.coordinates, _MAX_LABELS * content.items.named),
        _fields(content),
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{style}</style></head><body>"
        f'<header><h1>{title}</h1><p class="first">{escape(first)}</p>{"".join(map(_paragraph, others))}'
        f'<nav aria-label="Sections">{links}</nav></header><main>{sections}</main><footer>{escape(footer)}</footer>'
        f'<script type="application/json" id="data">{data}</script><script>{script}</script></body></html>\n'
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _fields(content: Content) -> list[tuple[str, np.ndarray]]:
    target = [] if content.target is None else [content.target]
    errors = [("reconstruction error", content.rebuilt.errors)] if isinstance(content.rebuilt, Rebuilt) else []
    shares = getattr(content.layout.model, "row_recall_", np.zeros(0))
    known = not content.layout.out_of_sample and len(shares) == len(content.items)
    return [*target, *errors, *[("share of neighbours kept by the map", shares)][:known]]


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _listed(sentences: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], look: str = "") -> str:
    """A table, of which a cell may have its tags, and others are HTML within them; nothing without rows."""
    cells = ((cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide {look}">{table}</div>' if body else ""


def summary(content: Content) -> list[str]:
    """The first lines of the page: the target, the map, what codes lose, and what to look at."""
    n, found = len(content.items), content.prediction
    sentences = [found] if isinstance(found, str) else found.sentences[:-1] if found else []
    if n < content.total:
        sentences.append(
            f"The page shows {n} of {content.total} items, evenly spaced. The table of columns describes all of them."
        )
    if not isinstance(content.layout.model, type(content.model)):
        sentences.append(_loss(content))
    elif not sentences:
        sentences.append(map_sentences(content.layout)[1])
    if isinstance(content.rebuilt, Rebuilt) and (many := len(far_above(content.rebuilt, content.diagnosis[1]))):
        items, they = (f"{many} items are", "they are") if many > 1 else ("One item is", "it is")
        sentences.append(f"{items} rebuilt far worse than the others: check whether {they} wrong or rare.")
    return [*sentences, *content.diagnosis[0]]


def _loss(content: Content) -> str:
    name, p, rebuilt, lost = type(content.model).__name__, content.codes.shape[1], content.rebuilt, content.diagnosis[1]
    misses, where = "Reconstruction of new items from their codes is expected to miss about", ""
    if lost is None and isinstance(rebuilt, Rebuilt):
        misses, lost = "The reconstruction of these items misses", 1.0 - rebuilt.share
        where = "" if rebuilt.space == "input" else " of the features"
    short = "one number" if p == 1 else f"{p} numbers"
    sentences = [f"{name} turns each of {content.total} items into {short}, its code."]
    if lost is not None:
        sentences.append(f"{misses} {percent(lost)} of the variance{where}.")
        if lost > _LARGE_LOSS:
            sentences.append("More components (n_components) usually lose less.")
    return " ".join(sentences)


def _target(content: Content) -> str:
    found, names = content.prediction, content.items.names
    if found is None or isinstance(found, str):
        return ""
    marked = [
        (at, i, f"{names[i]}: {found.cell(found.true[at])}, predicted {found.cell(found.predicted[at])}")
        for at, i in zip(found.wrong, found.rows[found.wrong].tolist(), strict=True)
    ]
    parts = _paragraph(found.sentences[-1])
    parts += _confusion(found) if found.classes else scatter(found.predicted, found.true, found.name, marked)
    return (
        parts
        + _column_importance(content.items, found)
        + _atom_contributions(content.items, found)
        + _wrong(content.items, found)
    )


def _column_importance(items: Items, found: Prediction) -> str:
    if not found.columns:
        return ""
    below = [name for name, move in found.columns if move <= found.chance]
    unit = "100% leads from one class to another" if found.classes else f"in units of {found.name}"
    note = (
        "How far predictions move (root mean square) when the cells of a column are shuffled (permutation importance), "
        f"{unit}. A shuffled copy of {found.columns[0][0]}, which says nothing, moves them by "
        f"{found.moved(found.chance)}. No more than that: {listed(below) if below else 'none'}. "
        f"Columns that repeat each other share what they hold. Shuffled: {len(found.columns)} of "
        f"{len(items.columns or ())} columns, at most 60, those most like the predictions."
    )
    rows = [
        [escape(name), found.moved(move), f'<meter max="{found.columns[0][1]:.9g}" value="{move:.9g}"></meter>']
        for name, move in found.columns[:_MAX_COLUMNS]
        if move > found.chance
    ]
    return f"<h3>Columns that matter</h3>{_paragraph(note)}" + _table(["column", "change", ""], rows)


def _atom_contributions(items: Items, found: Prediction) -> str:
    smiles = items.smiles
    if smiles is None or not found.atoms:
        return ""
    towards = f"towards {found.classes[-1]}" if found.classes else "up"
    note = f"Blue atoms move the prediction {towards}, orange ones the other way, in molecules of the smallest and the"
    cells = "".join(
        f'<li>{_item_button(items, i)}<img class="structure" alt="structure" src="{structure_svg(smiles[i], parts)}">'
        f"predicted {escape(found.cell(found.predicted[at]))}, in the file {escape(found.cell(found.true[at]))}</li>"
        for at, parts in found.atoms
        for i in found.rows[[at]].tolist()
    )
    text = _paragraph(f"{note} largest predictions.{found.doubt}")
    return f'<h3>Contributions of atoms</h3>{text}<ul class="tiles">{cells}</ul>'


def _confusion(found: Prediction) -> str:
    k = len(found.classes)
    counts = np.bincount((found.true * k + found.predicted).astype(int), minlength=k * k).reshape(k, k)
    rows = [[escape(name), *map(str, row)] for name, row in zip(found.classes, counts.tolist(), strict=True)]
    return _paragraph(
        "Confusion matrix. Rows: classes in the file. Columns: classes predicted from the other rows."
    ) + _table(["", *found.classes], rows)


def _wrong(items: Items, found: Prediction) -> str:
    if not found.wrong:
        return _paragraph("No row looks wrong: every value is close to its prediction from the other rows.")
    rows = [
        [_item_button(items, i), escape(found.cell(found.true[at])), escape(found.cell(found.predicted[at]))]
        for at, i in zip(found.wrong, found.rows[found.wrong].tolist(), strict=True)
    ]
    table = _table(["item", f"{found.name}, in the file", "predicted from the other rows"], rows)
    counted = _paragraph(f"{len(rows)} of {len(found.rows)} rows, the worst first.")
    return f"<h3>Rows that look wrong</h3>{counted}{table}"


def _item_button(items: Items, i: int) -> str:
    return f'<button type="button" class="pick" data-item="{i}">{escape(items.names[i])}</button>'


def _input(content: Content) -> str:
    """The first rows, the columns, and what was found in the file."""
    head, rows = content.first
    first = ""
    if rows:
        summary = f"<summary>The first {len(rows)} rows as they were read</summary>"
        first = f"<details>{summary}{_table(head, rows)}</details>"
    more = ""
    if content.columns:
        more = _paragraph("For pairs of columns and an audit of each: skrub.TableReport(frame), of the package skrub.")
    notes = _listed([*content.notes, *content.audit])
    return first + _table(HEAD, content.columns, "columns sorts") + more + notes


def _map(content: Content) -> str:
    far = [content.items.names[i] for i in within_view(content.layout.coordinates)[1]]
    outside = [f"Far outside the others, drawn at the edge: {', '.join(far)}."] if far else []
    above = [] if content.audit else summary(content)
    sentences = [text for text in map_sentences(content.layout) if text not in above]
    notes = "".join(map(_paragraph, [*sentences, *outside]))
    return (
        f"{notes}<noscript><p>The map needs JavaScript, which is off.</p></noscript>"
        '<div id="controls" class="controls" hidden></div>'
        '<div class="plane"><div><div id="frame"></div><ul class="legend" id="legend"></ul></div>'
        '<aside id="card" class="card" hidden aria-live="polite"></aside></div>'
        '<div id="chosen" class="chosen" hidden></div>'
    )


def _rebuilt(content: Content) -> str:
    found, items = content.rebuilt, content.items
    if isinstance(found, str):
        return ""
    rows_of = "rows" if np.ndim(found.units) == 0 else "rows in standard deviations of their columns"
    space, name = (rows_of if found.space == "input" else "features"), type(content.model).__name__
    above, order = far_above(found, content.diagnosis[1]).tolist(), np.argsort(found.errors, kind="stable")[::-1]
    drawn = order[: max(1, min(_MAX_ROWS, len(order) // 2))].tolist()
    heads, note, cells = _look(items, found, drawn)
    sentences = [
        f"The error is the squared distance between an item and its reconstruction by {name}, as {space}. The median "
        f"is {readable(float(np.median(found.errors)))}.{note}"
    ]
    if above:
        counted = "1 item" if len(above) == 1 else f"{len(above)} items"
        names = listed([items.names[i] for i in above], _MAX_NAMES)
        sentences.append(f"Errors far above the others: {counted}: {names}.")
    rows = [[_item_button(items, i), readable(found.errors[i]), *cells(i)] for i in drawn]
    paragraphs = "".join(map(_paragraph, sentences))
    return f"<h3>Largest reconstruction errors</h3>{paragraphs}" + _table(["item", "error", *heads], rows)


def _look(
    items: Items, found: Rebuilt, drawn: list[int]
) -> tuple[tuple[str, ...], str, Callable[[int], Sequence[str]]]:
    """Heads of columns that show what is rebuilt, a sentence about them, and their cells for an item."""
    old, new = items.numbers, found.vectors
    if items.smiles is not None:
        return ("structure", "SMILES"), "", partial(_structure, items.smiles)
    if old is None or new is None:
        return (), "", lambda i: ()
    if items.image_shape is not None:
        draw = partial(_thumbnail, shape=items.image_shape, low=float(np.nanmin(old)), high=float(np.nanmax(old)))
        return ("original", "rebuilt"), "", lambda i: (draw(old[i]), draw(new[i]))
    if not items.are_curves:
        return ("largest differences: original → rebuilt",), "", partial(_changes, items, old, new, found.units)
    low, high, _ = colour_ends(np.concatenate([old[drawn], new[drawn]]))
    note = f" All curves are drawn on one scale, from {readable(low)} to {readable(high)}; values outside are clipped."
    return ("original (grey) and rebuilt (colour)",), note, lambda i: (sparkline(old[i], new[i], low, high),)


def _structure(smiles: Sequence[str], i: int) -> list[str]:
    address = structure_svg(smiles[i])
    picture = f'<img class="structure" alt="structure" src="{address}">' if address else "(not drawn)"
    return [picture, f"<code>{escape(smiles[i])}</code>"]


def _thumbnail(row: np.ndarray, shape: tuple[int, ...], low: float, high: float) -> str:
    return f'<img class="thumb" alt="image" src="{png(grey(row, low, high).reshape(shape))}">'


def _changes(items: Items, old: np.ndarray, new: np.ndarray, units: np.ndarray | float, i: int) -> list[str]:
    names = items.columns or [f"column {j}" for j in range(old.shape[1])]
    order = np.argsort(-np.abs((old[i] - new[i]) / units), kind="stable")[:_MAX_CHANGES].tolist()
    word = {j: (lambda day: day_text(day // 1)) if names[j] in items.dates else readable for j in order}
    known = [j for j in order if np.isfinite(old[i, j] - new[i, j])]
    return [escape("; ".join(f"{names[j]} {word[j](old[i, j])} → {word[j](new[i, j])}" for j in known))]


def _novel(content: Content) -> str:
    found, items = content.neighbours, content.items
    first = found.distances[:, 0]
    unit = float(np.median(first)) or float(first.max()) or 1.0
    rows = [
        [
            _item_button(items, i),
            f"{first[i] / unit:.1f} times the median",
            _item_button(items, found.indices[i, 0]),
        ]
        for i in found.novel[:_MAX_ROWS]
    ]
    if not rows:
        return "<h3>Novel</h3>" + _paragraph("No item is novel: none is far from its nearest neighbour.")
    note = "The items least similar to the others. 'Median' is the median distance to the nearest neighbour."
    return f"<h3>Novel</h3>{_paragraph(note)}" + _table(
        ["item", "distance to the nearest neighbour", "nearest neighbour"], rows
    )


def _copies(content: Content) -> str:
    groups, names = content.neighbours.copies, content.items.names
    if not groups:
        return "<h3>Copies</h3>" + _paragraph("No item is a copy of another, according to the kernel of the model.")
    texts = [listed([names[i] for i in group], _MAX_ROWS) for group in groups[:_MAX_ROWS]]
    more = [f"and {len(groups) - _MAX_ROWS} more groups"][: max(len(groups) - _MAX_ROWS, 0)]
    note = (
        "Items that the kernel cannot distinguish. A copy in both the training and the test set makes errors look too "
    )
    return f"<h3>Copies</h3>{_paragraph(f'{note}small.')}{_listed(texts + more)}"


def _next(content: Content) -> str:
    file, commands = content.model_file or "model.rkhs", [*content.commands]
    if content.model_file or not commands:
        lines = [] if content.model_file else [f"rkhs.save(model, {file!r})  # where the model was fitted"]
        code = ["import rkhs", *lines, f"model = rkhs.load({file!r})", "codes = model.transform(X_new)"]
        shell = f"rkhs transform {shell_word(file)} new.csv -o codes.csv"
        commands += [(f"Codes of new items, by {file}", shell), ("The same in Python", "\n".join(code))]
    return "".join(f"{_paragraph(f'{what}:')}<pre><code>{escape(line)}</code></pre>" for what, line in commands)


_SHEET, _CELLS, _COLUMNS = 2_000_000, 200_000, 40  # characters of all thumbnails, numbers of columns, and columns
_COLOURS = 20  # classes; more have no colours of their own


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
        "fields": [
            _field(name, values) | ({"dates": True} if name in items.dates else {})
            for name, values in [*fields, *_column_fields(items)]
        ],
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
    texts = [*map(class_name, values.tolist())]
    different = {*texts} - {""}
    numbered = values.dtype.kind == "f" or all(map(str.isdigit, different))
    classes = sorted(different, key=float if numbered else str)
    if len(classes) > _COLOURS:
        return {"name": name, "texts": texts}
    place = {text: i for i, text in enumerate(classes)}
    return {"name": name, "classes": classes, "of": [place.get(text, -1) for text in texts]}


def _column_fields(items: Items) -> list[tuple[str, np.ndarray]]:
    found = zip(items.named_columns, () if items.numbers is None else items.numbers.T, strict=False)
    fields = [(name, numbers if np.isfinite(numbers).any() else column) for (name, column), numbers in found]
    return fields[: min(_COLUMNS, _CELLS // len(items))]
