"""The page itself: its sections as HTML, every text escaped, with one style sheet and one script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rkhs._core.files import shell_word
from rkhs.data.dataset import listed
from rkhs.plots.display import colour_ends
from rkhs.reports.findings import Rebuilt, percent, selection, settings, spectrum, versions
from rkhs.reports.items import Items
from rkhs.reports.map_data import colours, data_block
from rkhs.reports.pictures import bars, curve, grey, png, sparkline, static_map, structure_svg

if TYPE_CHECKING:
    from rkhs.estimators.base import KernelEstimator


_ROWS = 6  # best, and worst
_NAMED = 30  # items to look at
_CHANGES = 3  # columns named in a row
_HEADS = {
    "structure": ("structure", "SMILES"),
    "name": (),
    "image": ("original", "rebuilt"),
    "curve": ("original (grey) and rebuilt (colour)",),
    "changes": ("largest differences: original → rebuilt",),
}


@dataclass(frozen=True, eq=False)
class Content:
    """Everything that a page says."""

    model: KernelEstimator
    items: Items  # those on the page
    total: int  # how many there are
    audit: tuple[str, ...]
    codes: np.ndarray  # (n, p)
    rebuilt: Rebuilt | str  # or why there is none
    diagnosis: tuple[list[str], str, list[str]]  # see :func:`~rkhs.reports.findings.diagnosis`
    target: tuple[str, np.ndarray] | None  # (n,)
    title: str
    model_file: str | None


def page(content: Content) -> str:
    """The whole page."""
    style, script = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    warnings, _, facts = content.diagnosis
    first, *others = summary(content)
    parts = [
        ("map", "Map", _map(content)),
        ("short", "In short", _listed(others)),
        ("input", "The input", _listed(content.audit)),
        ("rebuilt", "Reconstructions", _rebuilt(content)),
        ("spectrum", "Components", _spectrum(content)),
        ("selection", "Choice of the regulariser", _selection(content)),
        ("diagnosis", "Diagnosis", _diagnosis(warnings, facts)),
        ("settings", "Settings", _settings(content)),
        ("load", "Use the model", _load(content)),
    ]
    parts = [part for part in parts if part[2]]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in parts)
    sections = "".join(f'<section id="{name}"><h2>{title}</h2>{body}</section>' for name, title, body in parts)
    policy = f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(content.title)}</title><style>{style}</style></head><body>"
        f'<header><h1>{escape(content.title)}</h1>{_paragraph(first)}<nav aria-label="Sections">{links}</nav></header>'
        f"<main>{sections}</main><footer>{escape(versions())}</footer>"
        f'<script type="application/json" id="data">{data_block(content.items, content.codes, _fields(content))}'
        f"</script><script>{script}</script></body></html>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _fields(content: Content) -> list[tuple[str, np.ndarray]]:
    fields = [] if content.target is None else [content.target]
    if isinstance(content.rebuilt, Rebuilt):
        fields.append(("reconstruction error", content.rebuilt.errors))
    return fields


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _listed(sentences: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; its cells are HTML."""
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def summary(content: Content) -> list[str]:
    """The first lines of the page: what new items lose, what was fitted and what it rebuilds, and what to look at."""
    warnings, expected, _ = content.diagnosis
    name, (n, p) = type(content.model).__name__, content.codes.shape
    numbers = "one number" if p == 1 else f"{p} numbers"
    sentences = [expected] if expected else []
    sentences.append(f"{name} turns each of {content.total} items into {numbers}, its code.")
    if n < content.total:
        sentences.append(f"The page shows {n} of them, evenly spaced. The audit of the input read all.")
    if isinstance(content.rebuilt, Rebuilt):
        where = "" if content.rebuilt.space == "input" else " of the features"
        sentences.append(
            f"These items lose {percent(1.0 - content.rebuilt.share)} of the variance{where} when rebuilt: 0 % is "
            "perfect, 100 % as bad as the mean item."
        )
        if many := len(content.rebuilt.far_above):
            items = f"{many} items whose errors are" if many > 1 else "one item whose error is"
            sentences.append(f"Look at {items} far above the others: wrong or rare. The share above counts them.")
    if warnings:
        sentences.append(f"{len(warnings)} {'warning' if len(warnings) == 1 else 'warnings'}: see the diagnosis.")
    return sentences


def _map(content: Content) -> str:
    codes = content.codes[:, :2]
    note = "Each point is an item: code 1 across and code 2 up, at the same scale, unless you choose others."
    if codes.shape[1] == 1:
        order = np.linspace(0.0, max(float(np.ptp(codes)), 1e-12), len(codes))
        codes = np.stack([codes[:, 0], -order], axis=1)
        note = "Each point is an item. Across is its code. The first item is at the top, the last at the bottom."
    groups, legend = colours(content.target, len(codes))
    keys = "".join(f'<li><span class="key {group}"></span>{escape(text)}</li>' for group, text in legend)
    about = f'<ul class="legend" id="legend">{keys}</ul>'
    return (
        f"{_paragraph(note)}<noscript><p>Scripts are off: the map stands still. With scripts it shows items under the "
        "mouse, selections, a search and nearest neighbours.</p></noscript>"
        '<div id="controls" class="controls" hidden></div>'
        f'<div class="plane"><div><div id="frame">{static_map(codes, groups)}</div>{about}</div>'
        '<aside id="card" class="card" hidden aria-live="polite"></aside></div>'
        '<div id="chosen" class="chosen" hidden></div>'
    )


def _rebuilt(content: Content) -> str:
    found, items = content.rebuilt, content.items
    if isinstance(found, str):
        return _paragraph(found)
    space = "vectors" if found.space == "input" else "features"
    sentences = _paragraph(
        f"The error of an item is the squared distance from what its code is decoded to, between {space}. "
        f"The median is {np.median(found.errors):.4g}, the largest {found.errors.max():.4g}."
    )
    order = np.argsort(found.errors, kind="stable")
    count, above = min(_ROWS, len(order) // 2), found.far_above
    worst = order[::-1][len(above) :][:count]
    groups = [("Worst", worst), ("Best", order[:count])]
    if len(above):
        groups[:1] = ("Items to look at: errors far above the others", above[:count]), ("Worst of the others", worst)
    look, scale = _look(items, found), None
    if look == "curve":
        drawn = np.concatenate([chosen for _, chosen in groups])
        values = np.concatenate([np.asarray(rows)[drawn] for rows in (items.numbers, found.vectors)])
        scale = colour_ends(values)[:2]
        sentences += _paragraph(
            f"All curves are drawn on one scale, from {scale[0]:.4g} to {scale[1]:.4g}; more is cut off."
        )
    for name, chosen in groups:
        sentences += f"<h3>{name}</h3>{_names(items, above) if 'look' in name else ''}"
        sentences += _table(
            ["item", "error", *_HEADS[look]], [_row(items, found, i, look, scale) for i in chosen.tolist()]
        )
    return sentences


def _names(items: Items, chosen: np.ndarray) -> str:
    """All items that stand apart."""
    counted = "" if items.named else " (counted from 1)"
    return _paragraph(f"{len(chosen)}: {listed([items.names[i] for i in chosen.tolist()], _NAMED)}{counted}.")


def _look(items: Items, found: Rebuilt) -> str:
    """How an item is shown next to its error."""
    if items.smiles is not None:
        return "structure"
    if found.vectors is None or items.numbers is None:
        return "name"
    if items.image_shape is not None:
        return "image"
    return "curve" if items.kind == "curves" or items.numbers.shape[1] >= 100 else "changes"


def _row(items: Items, found: Rebuilt, i: int, look: str, scale: tuple[float, float] | None) -> list[str]:
    name = f'<button type="button" class="pick" data-item="{i}">{escape(items.names[i])}</button>'
    cells = [name, f"{found.errors[i]:.4g}"]
    if items.smiles is not None:
        address = structure_svg(items.smiles[i])
        picture = f'<img class="structure" alt="structure" src="{address}">' if address else "(not drawn)"
        return [*cells, picture, f"<code>{escape(items.smiles[i])}</code>"]
    if found.vectors is None or items.numbers is None:
        return cells
    old, new = items.numbers[i], found.vectors[i]
    if items.image_shape is not None:
        ends = float(np.nanmin(items.numbers)), float(np.nanmax(items.numbers))
        return cells + [
            f'<img class="thumb" alt="{text}" src="{png(grey(row, *ends).reshape(items.image_shape))}">'
            for text, row in zip(_HEADS[look], (old, new), strict=True)
        ]
    if scale is not None:
        return [*cells, sparkline(old, new, *scale)]
    worst = [j for j in np.argsort(-np.abs(old - new), kind="stable")[:_CHANGES] if np.isfinite(old[j])]
    names = items.columns or [f"column {j}" for j in range(len(old))]
    return [*cells, escape("; ".join(f"{names[j]} {old[j]:.4g} → {new[j]:.4g}" for j in worst))]


def _spectrum(content: Content) -> str:
    shares, what = spectrum(content.model, content.codes)
    rows = [[str(j + 1), f"{share:.2%}"] for j, share in enumerate(shares.tolist())]
    return (
        _paragraph(f"Bars: {what}. Line: all components up to here.")
        + bars(shares)
        + f"<details><summary>Numbers</summary>{_table(['component', 'share'], rows)}</details>"
    )


def _selection(content: Content) -> str:
    found = selection(content.model)
    if found is None:
        return ""
    errors = found.errors if found.errors.ndim == 1 else np.nanmean(found.errors, axis=1)
    if not np.isfinite(errors).any():
        return ""
    tried = np.flatnonzero(np.isfinite(errors))
    errors, names = errors[tried], [found.settings[i] for i in tried]
    at = names.index(found.chosen) if found.chosen in names else None
    rows = [
        [str(i + 1), escape(name), f"{error:.5g}", "chosen" if i == at else ""]
        for i, (name, error) in enumerate(zip(names, errors.tolist(), strict=True))
    ]
    table = _table(["setting", "regularisers, encoder first", "held-out error", ""], rows)
    return (
        _paragraph(
            "The line is the error of held-out items for each setting that the fit compared; lower is better. The ring "
            "marks the one it chose. That may be a stronger regulariser which is about as good as the best."
        )
        + curve(errors, names, at)
        + f"<details><summary>Numbers</summary>{table}</details>"
    )


def _diagnosis(warnings: Sequence[str], facts: Sequence[str]) -> str:
    warning_items = "".join(f'<li class="warning">{escape(sentences)}</li>' for sentences in warnings)
    first = (
        f"<ul>{warning_items}</ul>"
        if warning_items
        else _paragraph("No warning: nothing went wrong in the fit. What codes lose is said above and below.")
    )
    return first + _listed(facts)


def _settings(content: Content) -> str:
    rows = [
        [f"<code>{escape(name)}</code>", f"<code>{escape(value)}</code>"] for name, value in settings(content.model)
    ]
    name = type(content.model).__name__
    return _paragraph(f"{name}; parameters that are not at their defaults, and what the fit set.") + _table(
        ["name", "value"], rows
    )


def _load(content: Content) -> str:
    file = content.model_file or "model.rkhs"
    lines = [] if content.model_file else [f"rkhs.save(model, {file!r})  # where the model was fitted"]
    code = ["import rkhs", *lines, f"model = rkhs.load({file!r})", "codes = model.transform(X_new)"]
    shell = f"rkhs transform {shell_word(file)} new.csv -o codes.csv"
    return (
        f"<pre><code>{escape(chr(10).join(code))}</code></pre>{_paragraph('On the command line:')}"
        f"<pre><code>{escape(shell)}</code></pre>"
    )
