"""The pages that explain how to add a class: their code runs, and their classes keep the guarantees."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import rkhs
import rkhs.engines
import rkhs.evaluation
from rkhs import estimators
from rkhs.features import FeatureMap

PAGES = Path(__file__).resolve().parents[2] / "docs" / "user"


@pytest.mark.parametrize("page", ["add_a_kernel", "add_a_loss", "add_a_solver"])
def test_the_page_runs_and_checks_its_class(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (PAGES / f"{page}.md").read_text()
    assert f"rkhs.testing.check_{page.removeprefix('add_a_')}" in text
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(block, names)


def quoted(page: Path) -> list[str]:
    """What a page quotes from other files, between two marks of each."""
    mark = r':start-after: "(.*)"\n:end-before: "(.*)"'
    blocks = re.findall(rf"```{{literalinclude}} (\S+)\n:language: python\n{mark}\n```", page.read_text())
    assert len(blocks) == page.read_text().count("{literalinclude}"), page.name
    texts = []
    for name, start, end in blocks:
        source = (page.parent / name).read_text()
        assert source.count(start + "\n") == source.count(end + "\n") == 1, f"{page.name}: {name} needs each mark once"
        texts.append(source.partition(start)[2].partition(end)[0].strip())
    return texts


def test_pages_quote_what_stands_in_their_source() -> None:
    texts = {page.stem: found for page in PAGES.rglob("*.md") if (found := quoted(page))}
    assert len(texts["add_an_encoder"]) == 3, "an encoder needs three places"
    assert all(texts["add_an_encoder"])
    (estimator,) = texts["add_an_estimator"]
    assert 0 < estimator.count("\n") < 40, "an estimator needs 40 lines"


def test_the_page_of_options_puts_every_parameter_in_one_group() -> None:
    table = (PAGES / "options.md").read_text().split("## Basic and advanced parameters")[1]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, flags=re.MULTILINE))
    wide = {name: cls for name in estimators.__all__ if len(parameters(cls := getattr(estimators, name))) > 15}
    assert set(rows) == set(wide)
    for name, cls in wide.items():
        basic, advanced = (re.findall(r"`(\w+)`", cell) for cell in rows[name].split(" | "))
        assert sorted([*basic, *advanced]) == sorted(parameters(cls)), name
        assert basic
        if name == "KernelAutoencoder":  # its documentation has the same order
            assert parameters(cls)[: len(basic)] == basic


def test_the_page_of_options_says_of_every_option_why_it_is_there() -> None:
    page = (PAGES / "options.md").read_text().split("## What an option changes")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("|")]
    named = {name for row in rows for name in re.findall(r"`(.*?)`", row[0])}
    given = [(cls.__name__, option) for cls in with_options() for option in inspect.signature(cls).parameters]
    options = [{option, f"{name}.{option}"} for name, option in given]
    assert not [option for option in options if not option & named]
    assert not named - set().union(*options)
    for bench in {name for row in rows if len(row) == 4 for name in re.findall(r"`(.*?)`", row[2])}:
        assert (PAGES.parents[1] / "studies" / "bench" / f"{bench}.py").exists(), bench


def with_options() -> list[type]:
    """Estimators, storages, solvers, sets of codes, losses and engines that users construct."""
    doors = (rkhs, rkhs.evaluation, rkhs.features, rkhs.solvers, rkhs.constraints, rkhs.losses, rkhs.engines)
    found = [getattr(door, name) for door in doors for name in door.__all__]
    chosen = [cls for cls in found if isinstance(cls, type) and hasattr(cls, "get_params")]
    return [cls for cls in chosen if not inspect.isabstract(cls) and not issubclass(cls, FeatureMap)]


def parameters(value: Any) -> list[str]:
    """Of the constructor of an estimator; none of anything else."""
    return list(inspect.signature(value).parameters) if hasattr(value, "fit") else []
