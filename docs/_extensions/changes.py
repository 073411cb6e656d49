"""The list of changes: ``CHANGELOG.md``, and before it the fragments that wait for the next release."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
PAGE = "more/changelog"
TITLES = {"feature": "Features", "bugfix": "Bug fixes", "performance": "Performance", "doc": "Documentation"}


def waiting() -> str:
    """One list a kind of change; a fragment is one entry."""
    text = ""
    for kind, title in TITLES.items():
        fragments = sorted((ROOT / "changelog.d").glob(f"*.{kind}.md"))
        entries = ["- " + " ".join(path.read_text().split()) for path in fragments]
        text += f"### {title}\n\n" + "\n".join(entries) + "\n\n" if entries else ""
    return text


def add_waiting(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the waiting changes below the title of the page."""
    if name == PAGE:
        source[0] = source[0].replace("% waiting changes", waiting())


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", add_waiting)
    app.connect("env-before-read-docs", lambda app, env, names: names.append(PAGE) if PAGE not in names else None)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
