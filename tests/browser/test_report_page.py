"""The report in a real browser: nothing on the console, hover, selection, search, keys, a phone, dark and light."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
import pytest

from rkhs import KernelPCA, make_report
from tests.browser import browser as driver
from tests.browser.browser import Browser

pytestmark = pytest.mark.browser
RNG = np.random.default_rng(3)
N = 60
X = RNG.normal(size=(N, 3)) * [3.0, 2.0, 1.0]
NAMES = [f"item {i}" for i in range(N)]
NAMES[7] = "<img src=x onerror=console.error(1)></script><script>console.error(2)</script>"
FRAME = pandas.DataFrame(X, NAMES)
CLASSES = np.where(X[:, 0] > 0.0, "right & <b>bold</b>", "left")
SMILES = ["CCO", "C[C@H](N)C(=O)O", "c1ccccc1[N+](=O)[O-]", "C#N", "[Na+].[Cl-]", "CC(=O)Oc1ccccc1C(=O)O"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    shown = Browser()
    yield shown
    shown.close()


@pytest.fixture(scope="module")
def model() -> KernelPCA:
    return KernelPCA(3).fit(X)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, model: KernelPCA) -> Path:
    report = make_report(model, FRAME, target=CLASSES, target_name="side", title="A <table>")
    path = tmp_path_factory.mktemp("report") / "table.html"
    report.save(path)
    return path


def place_of(browser: Browser, item: int) -> tuple[float, float]:
    browser.run("document.getElementById('frame').scrollIntoView({block: 'center', behavior: 'instant'})")
    x, y = browser.run(
        "(() => { const c = document.querySelector('#frame canvas'), b = c.getBoundingClientRect(), "
        f"q = c.placeOf({item}); return [b.left + q[0], b.top + q[1]]; }})()"
    )
    return x, y


def text_of(browser: Browser, selector: str) -> str:
    return browser.run(f"document.querySelector({selector!r})?.textContent ?? ''")


def test_no_browser_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver.shutil, "which", lambda name: None)
    with pytest.raises(FileNotFoundError, match="install Chromium"):
        driver.find_browser()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1200, 390])
def test_the_page_is_quiet_fits_and_can_be_read(browser: Browser, table: Path, width: int, dark: bool) -> None:
    browser.open(table, width, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.querySelector('#frame canvas').getBoundingClientRect().width") > 0.6 * min(width, 900)
    light = browser.run(
        "(() => { const s = getComputedStyle(document.body), f = (c) => c.match(/[0-9.]+/g).slice(0, 3).map((v) => "
        "(v / 255) ** 2.2).reduce((t, v, k) => t + v * [0.2126, 0.7152, 0.0722][k], 0); "
        "return [f(s.color), f(s.backgroundColor)]; })()"
    )
    assert (light[0] > light[1]) == dark
    assert (max(light) + 0.05) / (min(light) + 0.05) > 7.0
    assert not browser.complaints
    assert {url.split(":")[0] for url in browser.requests} <= {"file", "data", "about"}
    # No name has become an element.
    assert browser.run("document.querySelectorAll('script').length") == 2
    assert browser.run("document.querySelectorAll('#map b, #input b, img').length") == 0


def test_hover_names_the_item_under_the_mouse(browser: Browser, table: Path) -> None:
    browser.open(table)
    for item in (3, 7):
        browser.mouse("mouseMoved", *place_of(browser, item))
        assert text_of(browser, "#card h3") == NAMES[item]
    assert CLASSES[7] in text_of(browser, "#card dl")
    assert not browser.complaints


def test_a_click_lists_the_nearest_in_the_data(browser: Browser, table: Path) -> None:
    browser.open(table)
    browser.click(*place_of(browser, 5))
    listed = browser.run("[...document.querySelectorAll('#neighbours button')].map((b) => b.firstChild.textContent)")
    found = json.loads(browser.run("document.getElementById('data').textContent"))["near"][5]
    assert listed == [NAMES[i] for i in found]
    assert browser.run("document.getElementById('selected')") is None


def test_zoom_keeps_the_middle_and_comes_back(browser: Browser, table: Path) -> None:
    browser.open(table)
    first, other = place_of(browser, 3), place_of(browser, 12)
    browser.click(*first)
    browser.run("document.getElementById('in').click()")
    near, far = place_of(browser, 3), place_of(browser, 12)
    assert abs(far[0] - near[0]) > 1.3 * abs(other[0] - first[0])
    browser.run("document.getElementById('whole').click()")
    np.testing.assert_allclose(place_of(browser, 3), first, atol=0.5)
    assert not browser.complaints


def test_a_rectangle_selects(browser: Browser, table: Path) -> None:
    browser.open(table)
    browser.run("document.getElementById('frame').scrollIntoView({block: 'center', behavior: 'instant'})")
    box = browser.run("JSON.parse(JSON.stringify(document.querySelector('#frame canvas').getBoundingClientRect()))")
    middle = box["left"] + box["width"] / 2
    places = [place_of(browser, i) for i in range(N)]
    browser.mouse("mouseMoved", box["left"] + 2, box["top"] + 2)
    browser.mouse("mousePressed", box["left"] + 2, box["top"] + 2, 1)
    browser.mouse("mouseMoved", middle, box["bottom"] - 2, 1)
    browser.mouse("mouseReleased", middle, box["bottom"] - 2)
    inside = [NAMES[i] for i, (x, _) in enumerate(places) if x <= middle]
    assert 0 < len(inside) < N
    assert f"{len(inside)} selected" in text_of(browser, "#chosen")
    listed = browser.run("[...document.querySelectorAll('#selected button')].map((b) => b.textContent)")
    assert listed == inside
    browser.run("document.getElementById('clear').click()")
    assert browser.run("document.getElementById('chosen').hidden")
    assert not browser.complaints


def test_the_keyboard_reaches_everything(browser: Browser, table: Path) -> None:
    browser.open(table)
    reached = set()
    for _ in range(40):
        browser.key("Tab")
        reached.add(browser.run("document.activeElement.id || document.activeElement.tagName"))
        if browser.run("document.activeElement.tagName") == "CANVAS":
            break
    assert {"colour", "in", "out", "whole", "search", "clear", "CANVAS"} <= reached
    browser.key("ArrowRight")
    first = text_of(browser, "#card h3")
    browser.key("ArrowRight")
    assert first in NAMES
    assert text_of(browser, "#card h3") != first
    browser.key("Enter")
    assert browser.run("document.querySelectorAll('#neighbours button').length") == 8
    browser.key("Escape")
    assert browser.run("document.getElementById('chosen').hidden")


def test_search_and_colours(browser: Browser, table: Path) -> None:
    browser.open(table)
    browser.run("document.getElementById('search').focus()")
    browser.type("ITEM 3")
    assert text_of(browser, "#result").startswith("11 found")  # 3, and 30 to 39
    browser.key("Enter")
    assert "11 selected" in text_of(browser, "#chosen")
    assert browser.run("document.querySelectorAll('#legend li').length") == 3  # what is coloured, and two classes
    browser.run("document.getElementById('colour').value = '1'")
    browser.run("document.getElementById('colour').dispatchEvent(new Event('change'))")
    assert browser.run("document.querySelectorAll('#legend .ramp').length") == 1
    assert not browser.complaints


def test_without_scripts_there_are_the_texts(browser: Browser, table: Path) -> None:
    browser.open(table, scripts=False)
    assert "The map needs JavaScript" in text_of(browser, "#map noscript")
    assert "60 items" in text_of(browser, "#input")
    assert browser.run("document.getElementById('controls').getBoundingClientRect().height") == 0
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_structures_are_drawn(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    from rkhs.data import molecular_fingerprints

    bits = molecular_fingerprints(SMILES).bits
    make_report(KernelPCA(2).fit(bits), bits, smiles=SMILES).save(tmp_path / "molecules.html")
    browser.open(tmp_path / "molecules.html", dark=True)
    browser.mouse("mouseMoved", *place_of(browser, 1))
    drawn = browser.run(
        "(() => { const c = document.querySelector('#card canvas'); return c.getContext('2d').getImageData(0, 0, "
        "c.width, c.height).data.filter((v, k) => k % 4 === 3 && v > 0).length; })()"
    )
    assert drawn > 300
    pictures = browser.run("[...document.querySelectorAll('#items img')].map((i) => i.naturalWidth)")
    assert len(pictures) == 3
    assert min(pictures) > 0
    assert not browser.complaints


@pytest.mark.parametrize("width", [1280, 390])
def test_the_bars_of_importances_end_within_the_page(browser: Browser, tmp_path: Path, width: int) -> None:
    columns = ["od280/od315_of_diluted_wines", "proanthocyanins_of_the_second_pressing", "hue"]
    frame = pandas.DataFrame(X, columns=columns)
    make_report(KernelPCA(2).fit(frame), frame, target=X.sum(1)).save(tmp_path / "bars.html")
    browser.open(tmp_path / "bars.html", width)
    bars = browser.run(
        "[...document.querySelectorAll('.bars meter')].map((m) => [m, m.closest('.wide')].map((e) => "
        "e.getBoundingClientRect().right))"
    )
    assert len(bars) == 3
    assert all(bar <= frame <= width for bar, frame in bars)
    assert browser.run("document.querySelector('.bars').scrollWidth") <= width


def test_a_telephone_has_room_for_structures_and_their_texts(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    from rkhs.data import molecular_fingerprints

    long = [*SMILES, "C" * 60, "CC1CCCCC1" * 8]
    bits = molecular_fingerprints(long).bits
    make_report(KernelPCA(2).fit(bits), bits, smiles=long).save(tmp_path / "molecules.html")
    browser.open(tmp_path / "molecules.html", width=390)
    widths = browser.run("[...document.querySelectorAll('#items td code')].map((c) => c.getBoundingClientRect().right)")
    assert len(widths) == 4
    assert max(widths) <= 390
    narrow = browser.run("[...document.querySelectorAll('#items td code')].map((c) => c.getBoundingClientRect().width)")
    assert min(narrow) >= 100
    assert browser.run("document.documentElement.scrollWidth") <= 390


def test_names_and_dates_are_not_broken_on_a_telephone(browser: Browser, tmp_path: Path) -> None:
    names, y = [f"L-{i:04d}" for i in range(N)], X[:, 0] * 1e5
    y[:3] += 2e6
    page = make_report(KernelPCA(2).fit(X), pandas.DataFrame(X, names), target=y, target_name="Asking price")
    page.save(tmp_path / "names.html")
    browser.open(tmp_path / "names.html", width=390)
    heights = browser.run("[...document.querySelectorAll('td .pick')].map((b) => b.getBoundingClientRect().height)")
    assert max(heights) < 35  # one line
    assert browser.run("document.documentElement.scrollWidth") <= 390


def test_values_in_the_card_are_not_broken_and_dates_are_dates(browser: Browser, tmp_path: Path) -> None:
    from rkhs.data import Dataset

    names = ("a rather long name of a column", "day")
    cells = np.c_[X[:, 0], 19_000.0 + np.arange(N)].astype(object)
    data = Dataset(cells, "table", tuple(NAMES), names, "t.csv", dates=("day",))
    make_report(KernelPCA(2, columns="filled").fit(cells), data).save(tmp_path / "card.html")
    for width in (1280, 390):
        browser.open(tmp_path / "card.html", width)
        browser.click(*place_of(browser, 5))
        lines = browser.run("[...document.querySelectorAll('#card dd')].map((d) => [d.textContent, d.offsetHeight])")
        assert ["2022-01-13", lines[0][1]] in lines
        assert max(height for _, height in lines) < 90  # of long names, whose values are in one line
        text = "[...document.querySelectorAll('#card dd')].map((d) => { const r = document.createRange(); "
        text += "r.selectNodeContents(d); return r.getClientRects().length; })"
        assert set(browser.run(text)) == {1}
        assert not browser.complaints


def test_long_tables_unfold_and_commands_are_copied(browser: Browser, tmp_path: Path) -> None:
    wide = RNG.normal(size=(N, 30))
    names = [f"column {j}" for j in range(30)]
    command = "rkhs fit 'my table.csv' --missing '-9, x' --predict y -o model.rkhs\nrkhs predict model.rkhs new.csv"
    frame = pandas.DataFrame(wide, columns=names)
    report = make_report(KernelPCA(2).fit(frame), frame, commands=[("Predict", command)])
    report.save(tmp_path / "wide.html")
    browser.open(tmp_path / "wide.html")
    rows = "[...document.querySelectorAll('.columns tbody tr')].filter((r) => r.offsetHeight).length"
    assert browser.run(rows) == 12
    browser.run("document.querySelector('#input .unfold').click()")
    assert browser.run(rows) == 30
    assert text_of(browser, "pre code") == command
    browser.run("document.querySelector('pre .copy').click()")
    assert browser.run("getSelection().toString()").split() == command.split()
    assert browser.run("document.documentElement.scrollWidth") <= 1200
    assert not browser.complaints


def test_a_click_or_a_key_on_a_head_sorts_the_columns(browser: Browser, tmp_path: Path) -> None:
    from rkhs.data import Dataset

    wide = (RNG.normal(size=(N, 20)) * np.linspace(1.0, 300.0, 20)).round(3).astype(object)
    wide[:, 10] = ["a", "b"] * (N // 2)
    for j in range(9):
        wide[: 2 * j, j] = None
    names = tuple(f"c{j}" for j in range(20))
    data = Dataset(wide, "table", None, names, "t.csv")
    make_report(KernelPCA(2, columns="filled").fit(wide), data).save(tmp_path / "sorted.html")
    listed = "[...document.querySelectorAll('.columns tbody tr')].filter((r) => !r.hidden)"
    listed += ".map((r) => r.cells[0].textContent)"
    for width in (1280, 390):
        browser.open(tmp_path / "sorted.html", width)
        assert browser.run(listed) == [*names[:12]]
        heads = browser.run("[...document.querySelectorAll('.columns th button')].map((b) => b.offsetHeight > 0)")
        assert heads == [True] * 6
        browser.run("document.querySelectorAll('.columns th button')[2].focus()")
        browser.key("Enter")
        assert browser.run(listed) == [f"c{j}" for j in (0, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)]
        browser.key("Enter")
        assert browser.run(listed)[:9] == [f"c{j}" for j in range(8, 0, -1)] + ["c0"]  # as numbers: 16, 14, 12, 10, 8
        state = "[...document.querySelectorAll('.columns th')].map((h) => h.getAttribute('aria-sort'))"
        assert browser.run(state) == [None] * 2 + ["descending"] + [None] * 4
        browser.run("document.querySelectorAll('.columns th button')[5].click()")
        browser.run("document.querySelector('#input .unfold').click()")
        largest = [max(cell for cell in wide[:, j] if cell is not None) if j != 10 else np.inf for j in range(20)]
        assert browser.run(listed) == [f"c{j}" for j in np.argsort(largest)]  # one without a number is last
        browser.run("document.querySelectorAll('.columns th button')[0].click()")
        assert browser.run(listed) == [*names]  # c2 before c10
        assert not browser.complaints
        assert browser.run("document.documentElement.scrollWidth") <= width


def test_a_marked_row_of_the_picture_is_shown_on_the_map(browser: Browser, tmp_path: Path) -> None:
    y = X[:, 0] + 0.01 * RNG.normal(size=N)
    y[4] += 30.0
    make_report(KernelPCA(2).fit(X), FRAME, target=y).save(tmp_path / "marked.html")
    browser.open(tmp_path / "marked.html")
    browser.run("document.querySelector('.chart circle').dispatchEvent(new Event('click'))")
    assert text_of(browser, "#card h3") == NAMES[4]
