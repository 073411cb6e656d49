"""The page itself: its sections as HTML, every text escaped, with one style sheet and one script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import metadata
from pathlib import Path

import numpy as np

from rkhs._core.files import shell_word
from rkhs.data.dataset import listed
from rkhs.estimators import KernelEstimator
from rkhs.plots.codes import spread_out, within_view
from rkhs.plots.display import colour_ends
from rkhs.reports.findings import Rebuilt
from rkhs.reports.items import Items
from rkhs.reports.neighbours import MapLayout, Neighbours, map_sentences
from rkhs.reports.page_data import data_block
from rkhs.reports.pictures import scatter, sparkline, structure_svg
from rkhs.reports.target import Prediction
from rkhs.reports.wording import day_text, percent, readable

_HEADS = ("column", "kind", "gaps", "smallest", "median", "largest", "")  # of the table of columns
_MAX_ROWS = 6  # items of a table
_MAX_CHANGES = 3  # columns of an item that is rebuilt
_MAX_BARS = 10  # columns with their importance
_MAX_LABELS = 200  # items that may be named on the map


@dataclass(frozen=True, eq=False)
class Content:
    """Content of a page."""

    model: KernelEstimator
    items: Items  # those on the page
    total: int  # number of all items
    notes: Sequence[str]  # what was done to read the items
    audit: tuple[str, ...]  # empty if the page is the map alone
    columns: list[list[str]]  # cells of the table of columns
    codes: np.ndarray  # (n, p)
    neighbours: Neighbours
    layout: MapLayout
    target: tuple[str, np.ndarray] | None  # (n,)
    title: str
    model_file: str | None
    commands: Sequence[tuple[str, str]]  # description and command
    prediction: Prediction | str | None = None  # or why there is none
    rebuilt: Rebuilt | None = None
    warnings: tuple[str, ...] = ()  # of :func:`~rkhs.reports.findings.diagnosis`
    lost: float | None = None  # share of the variance that new items lose


def page(content: Content) -> str:
    """The whole page."""
    style, script = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    first, *others = summary(content)
    parts = [("map", "Map", _map(content))]
    if content.audit:
        parts = [
            ("target", "The target", _target(content)),
            ("input", "The items", _input(content)),
            *parts,
            ("items", "Items to look at", _rebuilt(content)),
            ("next", "Next", _next(content)),
        ]
    parts = [part for part in parts if part[2]]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in parts)
    sections = "".join(f'<section id="{name}"><h2>{title}</h2>{body}</section>' for name, title, body in parts)
    policy = f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}"
    title = escape(content.title)
    footer = f"Made with {type(content.model).__name__} of rkhs {metadata.version('rkhs')}"
    labels = spread_out(content.layout.coordinates, _MAX_LABELS) if content.items.named else []
    places = within_view(content.layout.coordinates)
    data = data_block(content.items, places, content.neighbours, labels, _fields(content))
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
    """What can colour the map besides the columns."""
    fields = []
    if content.target is not None:
        fields.append(content.target)
    if content.rebuilt is not None:
        fields.append(("reconstruction error", content.rebuilt.errors))
    shares = getattr(content.layout.model, "row_recall_", None)
    if shares is not None and len(shares) == len(content.items) and not content.layout.out_of_sample:
        fields.append(("share of neighbours kept by the map", shares))
    return fields


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _bullets(sentences: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], look: str = "") -> str:
    """A table, of which a cell may have its tags, and others are HTML within them; nothing without rows."""
    if not rows:
        return ""
    cells = ((cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide {look}">{table}</div>'


def summary(content: Content) -> list[str]:
    """The first lines of the page: the target, the map, what codes lose, and what to look at."""
    n, found, sentences = len(content.items), content.prediction, []
    if isinstance(found, str):
        sentences.append(found)
    elif found is not None:
        sentences.append(found.sentences[0])
    if n < content.total:
        sentences.append(f"The page shows {n} of {content.total} items, evenly spaced.")
    if not isinstance(content.layout.model, type(content.model)):
        sentences.append(_loss(content))
    elif not sentences:
        sentences.append(map_sentences(content.layout)[1])
    return [*sentences, *content.warnings]


def _loss(content: Content) -> str:
    """What the codes are, and what they lose."""
    name, p = type(content.model).__name__, content.codes.shape[1]
    sentence = f"{name} turns each of {content.total} items into a code of length {p}"
    if content.lost is not None:
        return f"{sentence}; rebuilt from it, new items lose about {percent(content.lost)} of their variance."
    if content.rebuilt is not None:
        lost = percent(1.0 - content.rebuilt.share)
        return f"{sentence}; rebuilt from it, these items lose {lost} of their variance."
    return f"{sentence}."


def _target(content: Content) -> str:
    found, items = content.prediction, content.items
    if not isinstance(found, Prediction):
        return ""
    if found.classes:
        picture = _confusion(found)
    else:
        marked = []
        for at in found.wrong:
            i, (true, predicted) = int(found.rows[at]), _cells(found, at)
            marked.append((at, i, f"{items.names[i]}: {true}, predicted {predicted}"))
        picture = scatter(found.predicted, found.true, found.name, marked)
    described = _paragraph(found.sentences[1])
    return described + picture + _importances(items, found) + _atoms(items, found) + _wrong(items, found)


def _cells(found: Prediction, at: int) -> tuple[str, str]:
    """The value of a row in the file, and that predicted from the other rows."""
    return found.cell(found.true[at]), found.cell(found.predicted[at])


def _importances(items: Items, found: Prediction) -> str:
    if not found.columns:
        return ""
    below = [name for name, change in found.columns if change <= found.chance]
    unit = "100% leads from one class to another" if found.classes else f"in units of {found.name}"
    first, largest = found.columns[0]
    note = (
        "How far predictions move (root mean square) when the cells of a column are shuffled (permutation importance), "
        f"{unit}. A shuffled copy of {first}, which says nothing, moves them by {found.change(found.chance)}. No more "
        f"than that: {listed(below) if below else 'none'}. Columns that repeat each other share what they hold. "
        f"Shuffled: {len(found.columns)} of {len(items.named_columns)} columns, those most like the predictions."
    )
    rows = [
        [escape(name), found.change(change), f'<meter max="{largest:.9g}" value="{change:.9g}"></meter>']
        for name, change in found.columns[:_MAX_BARS]
        if change > found.chance
    ]
    return f"<h3>Columns that matter</h3>{_paragraph(note)}" + _table(["column", "change", ""], rows, "bars")


def _atoms(items: Items, found: Prediction) -> str:
    if items.smiles is None or not found.atoms:
        return ""
    towards = f"towards {found.classes[-1]}" if found.classes else "up"
    note = (
        f"Blue atoms move the prediction {towards}, orange ones the other way, in molecules of the smallest and the "
        "largest predictions."
    )
    tiles = []
    for at, parts in found.atoms:
        i, (true, predicted) = int(found.rows[at]), _cells(found, at)
        picture = f'<img class="structure" alt="structure" src="{structure_svg(items.smiles[i], parts)}">'
        text = escape(f"predicted {predicted}, in the file {true}")
        tiles.append(f"<li>{_item_button(items, i)}{picture}{text}</li>")
    return f'<h3>Contributions of atoms</h3>{_paragraph(note)}<ul class="tiles">{"".join(tiles)}</ul>'


def _confusion(found: Prediction) -> str:
    k = len(found.classes)
    counts = np.bincount((found.true * k + found.predicted).astype(int), minlength=k * k).reshape(k, k)
    rows = [[escape(name), *map(str, row)] for name, row in zip(found.classes, counts.tolist(), strict=True)]
    note = "Confusion matrix. Rows: classes in the file. Columns: classes predicted from the other rows."
    return _paragraph(note) + _table(["", *found.classes], rows)


def _wrong(items: Items, found: Prediction) -> str:
    if not found.wrong:
        return _paragraph("No row looks wrong: every value is close to its prediction from the other rows.")
    pairs = zip(found.wrong, found.rows[found.wrong].tolist(), strict=True)
    rows = [[_item_button(items, i), *map(escape, _cells(found, at))] for at, i in pairs]
    table = _table(["item", f"{found.name}, in the file", "predicted from the other rows"], rows)
    counted = _paragraph(f"{len(rows)} of {len(found.rows)} rows, the worst first.")
    return f"<h3>Rows that look wrong</h3>{counted}{table}"


def _item_button(items: Items, i: int) -> str:
    return f'<button type="button" class="pick" data-item="{i}">{escape(items.names[i])}</button>'


def _input(content: Content) -> str:
    """What the items are, and a row for each column."""
    found = _bullets([*content.audit, *content.notes])
    found += _table(_HEADS, content.columns, "columns sorts")
    if content.items.named_columns:
        found += _paragraph("For pairs of columns and an audit of each: skrub.TableReport(frame), by skrub.")
    return found


def _map(content: Content) -> str:
    sentences = map_sentences(content.layout)
    far = [content.items.names[i] for i in within_view(content.layout.coordinates)[1]]
    if far:
        sentences.append(f"Far outside the others, drawn at the edge: {', '.join(far)}.")
    if not content.audit:  # the page is the map alone, and says this at its top
        sentences = [text for text in sentences if text not in summary(content)]
    return (
        f"{''.join(map(_paragraph, sentences))}<noscript><p>The map needs JavaScript, which is off.</p></noscript>"
        '<div id="controls" class="controls" hidden></div>'
        '<div class="plane"><div><div id="frame"></div><ul class="legend" id="legend"></ul></div>'
        '<aside id="card" class="card" hidden aria-live="polite"></aside></div>'
        '<div id="chosen" class="chosen" hidden></div>'
    )


def _rebuilt(content: Content) -> str:
    found, items = content.rebuilt, content.items
    if found is None:
        return ""
    space = "features"
    if found.space == "input":
        space = "rows" if np.ndim(found.units) == 0 else "rows in standard deviations of their columns"
    order = np.argsort(found.errors, kind="stable")[::-1]
    drawn = order[: max(1, min(_MAX_ROWS, len(order) // 2))].tolist()
    heads, cells = _look(items, found, drawn)
    note = (
        f"The error is the squared distance between an item and its reconstruction by {type(content.model).__name__}, "
        f"as {space}. The median is {readable(float(np.median(found.errors)))}. Check whether these are wrong or rare."
    )
    rows = [[_item_button(items, i), readable(found.errors[i]), *more] for i, more in zip(drawn, cells, strict=True)]
    return f"<h3>Largest reconstruction errors</h3>{_paragraph(note)}" + _table(["item", "error", *heads], rows)


def _look(items: Items, found: Rebuilt, drawn: list[int]) -> tuple[list[str], list[list[str]]]:
    """Heads of columns that show what is rebuilt, and their cells for some items."""
    old, new = items.numbers, found.vectors
    if items.smiles is not None:
        return ["structure", "SMILES"], [_structure(items.smiles[i]) for i in drawn]
    if old is None or new is None:
        return [], [[] for _ in drawn]
    if items.kind == "curves":  # on one scale
        low, high, _ = colour_ends(np.concatenate([old[drawn], new[drawn]]))
        head = f"original (grey) and rebuilt (colour), from {readable(low)} to {readable(high)}"
        return [head], [[sparkline(old[i], new[i], low, high)] for i in drawn]
    return ["largest differences: original → rebuilt"], [[_changes(items, old, new, found.units, i)] for i in drawn]


def _structure(smiles: str) -> list[str]:
    address, picture = structure_svg(smiles), "(not drawn)"
    if address:
        picture = f'<img class="structure" alt="structure" src="{address}">'
    return [picture, f"<code>{escape(smiles)}</code>"]


def _changes(items: Items, old: np.ndarray, new: np.ndarray, units: np.ndarray | float, i: int) -> str:
    """The cells of an item that are rebuilt worst."""
    names = items.columns or [f"column {j}" for j in range(old.shape[1])]
    texts = []
    for j in np.argsort(-np.abs((old[i] - new[i]) / units), kind="stable")[:_MAX_CHANGES].tolist():
        if not np.isfinite(old[i, j] - new[i, j]):
            continue
        if names[j] in items.dates:
            texts.append(f"{names[j]} {day_text(old[i, j] // 1)} → {day_text(new[i, j] // 1)}")
        else:
            texts.append(f"{names[j]} {readable(old[i, j])} → {readable(new[i, j])}")
    return escape("; ".join(texts))


def _next(content: Content) -> str:
    commands, file = [*content.commands], content.model_file
    if file is not None:
        commands.append(("Codes of new items", f"rkhs transform {shell_word(file)} new.csv -o codes.csv"))
        commands.append(("The same in Python", f"codes = rkhs.load({file!r}).transform(X_new)"))
    return "".join(f"{_paragraph(f'{what}:')}<pre><code>{escape(line)}</code></pre>" for what, line in commands)
