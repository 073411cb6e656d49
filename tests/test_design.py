"""What ``docs/design.md`` names exists: files, folders, modules, and the functions that it puts into a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rkhs"
PAGE = ROOT / "docs" / "design.md"
# The folder that the rows of a table describe, by the heading above it.
FOLDERS = {
    "Layers": PACKAGE,
    "The studies": ROOT / "studies",
    "The packages of the kernels": PACKAGE / "kernels",
    "The packages of the spaces": PACKAGE / "spaces",
    "The packages of the estimators": PACKAGE / "estimators",
}
CODE = re.compile(r"`([^`]+)`")


def exists(folder: Path, name: str) -> bool:
    """Whether a file, a folder or a module of this name stands in a folder."""
    return (folder / name).exists() or (folder / f"{name}.py").exists()


def missing_paths(text: str) -> Iterator[str]:
    """Paths of running text, from the root of the repository, of the package or of the studies."""
    for name in CODE.findall(text):
        for word in name.split():
            if re.fullmatch(r"\w[\w.]*/[\w./]+|\w+\.(py|toml)", word) and not any(
                exists(folder, word) for folder in (ROOT, PACKAGE)
            ):
                yield word


def missing_rows(text: str) -> Iterator[str]:
    """Modules and folders of the tables, each in the folder of its heading or in the one that its row begins with."""
    for heading, folder in FOLDERS.items():
        section = text.partition(f"# {heading}\n")[2].partition("\n#")[0]
        rows = [row for row in section.splitlines() if row.startswith("|")][2:]
        if not rows:
            yield f"no table below {heading!r}"
        for row in rows:
            names = [name for name in CODE.findall(row) if re.fullmatch(r"[a-z_]+/?", name)]
            places = [folder, *(folder / name for name in names[:1] if name.endswith("/"))]
            yield from (f"{heading}: {name}" for name in names if not any(exists(place, name) for place in places))


def missing_definitions(text: str) -> Iterator[str]:
    """Names in brackets after a file, which must define them."""
    for path, name in re.findall(r"`([\w/]+\.py)` \(`(\w+)`\)", text):
        found = next((folder / path for folder in (ROOT, PACKAGE) if (folder / path).exists()), None)
        if found is None or not re.search(rf"^(def|class) {name}\b|^{name}\b.*=", found.read_text(), re.MULTILINE):
            yield f"{path}: {name}"


def missing_modules(text: str) -> Iterator[str]:
    """Classes by package, such as ``models.MachineModel``."""
    for package, name in re.findall(r"`(?:rkhs\.)?([a-z_]+)\.([A-Z]\w+)`", text):
        stub = PACKAGE / package / "__init__.pyi"
        if not stub.exists() or name not in stub.read_text():
            yield f"{package}.{name}"


def test_what_the_design_page_names_exists() -> None:
    text = PAGE.read_text()
    finders = (missing_paths(text), missing_rows(text), missing_definitions(text), missing_modules(text))
    missing = [name for finder in finders for name in finder]
    assert not missing, "docs/design.md names what does not exist:\n" + "\n".join(missing)
