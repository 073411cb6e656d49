"""Reports: what the audit says, what the page holds, and that nothing of the data becomes part of the page's code."""

from __future__ import annotations

import base64
import json
import re
import shlex
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas
import pytest

from rkhs import (
    DeepRKM,
    KernelAutoencoder,
    KernelContrastive,
    KernelMap,
    KernelPCA,
    OperatorKernelRegressorCV,
    diagnose,
    make_report,
)
from rkhs._core.errors import InputError
from rkhs.data import Dataset, SkippedRow
from rkhs.reports.audit import audit
from rkhs.reports.items import read_items
from rkhs.reports.pictures import drawing
from rkhs.reports.target import predict_target
from rkhs.reports.wording import percent, readable, with_error

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
MODEL = KernelPCA(3).fit(X)
NASTY = "</script ><!--<script></script><script>alert(1)</script><img src=x onerror=alert(2)>"


class Tags(HTMLParser):
    """Counts elements, and remembers their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def data_of(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found.group(1))


def said(X: Any, kind: str = "vectors", **more: Any) -> str:
    columns = more.pop("columns", None)
    data = Dataset(X, kind, more.pop("names", None), columns, "file.csv", **more)  # type: ignore[arg-type]
    items = read_items(data, "vectors")
    return " ".join(audit(items))


def test_the_audit_counts_gaps() -> None:
    cells = np.array([[1.0, "a"], [None, "b"], [None, "a"], [2.0, None]], dtype=object)
    text = said(cells, "table", columns=("size", "kind"), names=("x", "y", "y", "z"))
    assert text == "4 items with 2 columns each. 3 of 8 cells are empty."


def test_the_audit_of_molecules_speaks_of_salts_and_rows_left_out() -> None:
    bits = RNG.integers(0, 2, size=(3, 16)).astype(np.uint8)
    text = said(bits, "molecules", smiles=("CCO", "[Na+].[Cl-]", "C"), skipped=(SkippedRow(4, "C(", "unreadable"),))
    assert "1 SMILES has more than one part" in text
    assert "1 SMILES could not be read and was left out; the first is C( in row 4." in text


def test_the_page_holds_the_map_and_the_sections() -> None:
    report = make_report(MODEL, X, target=X[:, 0], target_name="first")
    data = data_of(report.html)
    places = np.frombuffer(base64.b64decode(data["places"]), dtype="<f4").reshape(40, 2)
    fitted = KernelMap(kernel="precomputed").fit(MODEL.kernel_._gram(MODEL._read_new(X)).numpy())
    np.testing.assert_allclose(places, fitted.codes_, rtol=1e-3, atol=1e-3)
    assert [field["name"] for field in data["fields"][:2]] == ["first", "reconstruction error"]
    errors = np.frombuffer(base64.b64decode(data["fields"][1]["numbers"]), dtype="<f4")
    np.testing.assert_allclose(errors, MODEL.reconstruction_error(X), rtol=1e-5)
    sections = [attrs["id"] for tag, attrs in Tags(report.html).tags if tag == "section"]
    assert sections == ["target", "input", "map", "items"]
    worst = int(MODEL.reconstruction_error(X).argmax())
    assert (
        f'data-item="{worst}">row {worst + 1}</button>'
        in report.html.split("<h3>Largest reconstruction errors</h3>")[1].split("</tr>")[1]
    )
    assert "Best" not in report.html


def test_a_map_is_taken_as_it_is_and_says_what_it_loses() -> None:
    model = KernelMap().fit(X)
    report = make_report(model, X)
    data = data_of(report.html)
    places = np.frombuffer(base64.b64decode(data["places"]), dtype="<f4").reshape(40, 2)
    np.testing.assert_allclose(places, model.codes_, rtol=1e-5)
    D = ((X[:, None] - X[None]) ** 2).sum(2)
    np.fill_diagonal(D, np.inf)
    assert data["near"][3] == np.argsort(D[3], kind="stable")[:8].tolist()
    kept = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"][
        round(10 * model.recall_)
    ]
    assert report.summary[0] == (
        f"Of ten nearest neighbours the map keeps {kept}; rebuilt from the map, new items lose "
        f"{model.held_out_error_:.0%} of their variance."
    )
    assert report.html.count("of their variance") == 2  # the first line, and the section of the map
    only = make_report(model, pandas.DataFrame(X, [f"n{i}" for i in range(40)]), parts="map")
    assert [attrs["id"] for tag, attrs in Tags(only.html).tags if tag == "section"] == ["map"]
    assert sorted(data_of(only.html)["labels"]) == list(range(40))


def test_a_target_of_numbers_is_predicted_of_rows_left_out() -> None:
    rng = np.random.default_rng(1)
    y = 2.0 * X[:, 1] + 0.1 * rng.normal(size=40)
    y[7] += 20.0
    report = make_report(MODEL, X, target=y, target_name="yield")
    found = predict_target(MODEL, read_items(X, "vectors"), ("yield", y))
    machine = OperatorKernelRegressorCV().fit(X, y)
    nested = machine.nested_residuals(X, y)
    assert nested is not None
    left_out = y - nested[:, 0]
    np.testing.assert_allclose(found.predicted, left_out)
    root = float(((y - left_out) ** 2).mean()) ** 0.5
    assert report.summary[0].startswith("yield could not be predicted from this: RMSE ")
    assert abs(float(report.summary[0].split("RMSE ")[1].split()[0]) - root) < 0.1
    assert found.rows[found.wrong[0]] == 7
    assert found.columns == []  # of a model that predicts nothing
    y[7] -= 20.0
    found = predict_target(MODEL, read_items(X, "vectors"), ("yield", y))
    assert found.sentences[0].startswith("yield can be predicted: RMSE ")
    assert found.columns[0][0] == "column 1"


def test_columns_that_move_predictions_no_more_than_noise_have_no_bar() -> None:
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(120, 4))
    y = 3.0 * Z[:, 0] + Z[:, 1] ** 2 + rng.normal(size=120)
    frame = pandas.DataFrame(Z, columns=["main", "bent", "idle", "void"])
    page = unescape(make_report(KernelPCA(2).fit(frame), frame, target=y).html)
    part = page.split("Columns that matter</h3>")[1].split("</table>")[0]
    assert "A shuffled copy of main, which says nothing, moves them by" in part
    assert {name for name in ("main", "bent", "idle", "void") if f"<td>{name}</td>" in part} >= {"main", "bent"}
    named = part.split("No more than that: ")[1].split(". ")[0]
    assert set(named.replace(" and ", ", ").split(", ")) <= {"idle", "void"}


def test_a_target_of_classes_has_its_share_of_right_rows() -> None:
    y = np.where(X[:, 0] > 0.0, "yes", "no").astype(object)
    y[3] = "" if y[3] is None else y[3]
    report = make_report(MODEL, X, target=y, target_name="side")
    assert re.match(
        r"side can be predicted: \S+ ± \S+ % correct \(\d\d of 40\), against \S+ % for the most common class\.",
        report.summary[0],
    )
    counts = [int(cell) for row in re.findall(r"<tr><td>(?:no|yes)</td>(.*?)</tr>", report.html)
              for cell in re.findall(r"<td>(\d+)</td>", row)]  # fmt: skip
    assert sum(counts) == 40
    assert "was not predicted: expected 2 to 20 classes" in make_report(MODEL, X, target=["a"] * 40).summary[0]


def test_numbers_are_written_as_people_write_them() -> None:
    values = (15042.3, 2015.0, 0.000012345, 12345.0, -3.14159, np.nan, 1e7 + 0.5)
    assert [readable(value) for value in values] == [
        "15,040", "2015", "0.00001234", "12,345", "-3.142", "missing", "10,000,000",
    ]  # fmt: skip
    assert with_error(0.5312, 0.0123) == "0.531 ± 0.012"
    assert with_error(15042.3, 260.0) == "15,040 ± 260"


def test_the_steps_are_said() -> None:
    said: list[str] = []
    X = np.random.default_rng(0).normal(size=(20, 3))
    make_report(KernelPCA(2).fit(X), X, progress=said.append)
    assert said == ["codes of 20 items", "map", "reconstructions"]


def test_tiny_shares_are_not_written_as_zeros() -> None:
    assert [percent(share) for share in (0.0, 1e-9, 0.25, 1.2)] == ["0%", "under 1%", "25%", "120%"]


def test_new_items_have_their_error_once() -> None:
    model = KernelAutoencoder(1, reg="auto", max_iter=50, tol=1e-2).fit(X[:30])
    html = make_report(model, X[:30]).html
    found = diagnose(model)
    expected = max(found.leave_one_out_error, found.held_out_error)
    assert f"rebuilt from it, new items lose about {expected:.0%} of their variance" in html


def test_a_model_that_rebuilds_nothing_has_no_list_of_errors() -> None:
    assert "Largest reconstruction errors" not in make_report(KernelContrastive(2).fit(X, np.arange(40) % 2), X).html


def test_any_way_back_to_vectors_is_measured() -> None:
    model = DeepRKM((2, 2), max_iter=20, tol=1e-1).fit(X)
    data = data_of(make_report(model, X).html)
    assert data["fields"][0]["name"] == "reconstruction error"
    errors = np.frombuffer(base64.b64decode(data["fields"][0]["numbers"]), dtype="<f4")
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(errors, ((X - back) ** 2).sum(1), rtol=1e-4)


def noisy_curves() -> tuple[np.ndarray, list[int], list[int]]:
    """Noisy waves of 120 samples, with three that have spikes and three with a fraction of the swing."""
    rng = np.random.default_rng(4)
    t = np.linspace(0.0, 1.0, 120)
    rows = rng.normal(size=(90, 3)) @ np.sin(np.pi * np.outer([1.0, 2.0, 3.0], t)) + 0.3 * rng.normal(size=(90, 120))
    spiked, weak = [7, 30, 61], [12, 44, 80]
    for i in spiked:
        rows[i, rng.permutation(120)[:20]] += 1.2
    rows[weak] *= 0.1
    return rows, spiked, weak


def test_items_to_look_at_are_named_and_drawn_on_one_scale_with_the_others() -> None:
    rows, spiked, _ = noisy_curves()
    model = KernelAutoencoder(3, reg=1.0).fit(rows)
    report = make_report(model, Dataset(rows, "curves", None, None, "f.csv"))
    table = report.html.split("<h3>Largest reconstruction errors</h3>")[1].split("</table>")[0]
    assert set(spiked) <= set(map(int, re.findall('data-item="([0-9]+)"', table)))
    # One scale: the curve of a weak item is drawn lower than that of a good one.
    heights = {}
    for item, points in re.findall(r'data-item="(\d+)".*?<path class="old" d="([^"]*)"', report.html, re.DOTALL):
        values = [float(height) for height in re.findall(r" (\S+?)h0", points)]
        heights[int(item)] = (max(values) - min(values)) / np.ptp(rows[int(item)])
    assert len(heights) == 6
    assert max(heights.values()) < 1.05 * min(heights.values())


@pytest.mark.parametrize(
    ("target", "classes"),
    [
        (np.arange(40) % 3, None),
        ([None, 0, 1, 2] * 10, None),
        (np.arange(40) > 20, ["False", "True"]),
        (["", "b", None, "a"] * 10, ["a", "b"]),
        ([10, 2] * 20, None),
    ],
)
def test_whole_numbers_are_numbers_and_texts_and_truth_values_are_classes(target: Any, classes: Any) -> None:
    for given in (target, pandas.Series(target)):
        report = make_report(MODEL, X, target=given)
        assert data_of(report.html)["fields"][0].get("classes") == classes
        assert ("RMSE" in report.summary[0]) == (classes is None)
    if classes is None:
        field = data_of(make_report(MODEL, X, target=pandas.Series(target).astype("category")).html)["fields"][0]
        assert len(field["classes"]) == len(set(target) - {None})


def test_a_frame_is_reported_with_its_names() -> None:
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"], index=[f"n{i}" for i in range(40)])
    frame["a"] = pandas.Series(3.0 * frame["b"] + 0.1 * frame["c"])
    model = KernelPCA(2, columns="scaled").fit(frame[["b", "c", "d"]])  # a warning is an error here
    report = make_report(model, frame[["b", "c", "d"]], target=frame["a"], target_name="a")
    assert report.summary[0].startswith("a can be predicted: RMSE ")
    data = data_of(report.html)
    assert data["names"][:2] == ["n0", "n1"]
    assert [field["name"] for field in data["fields"] if field["name"] in frame] == ["a", "b", "c", "d"]
    assert "<td>b</td>" in report.html.split("Columns that matter</h3>")[1].split("</table>")[0]


def test_items_keep_the_numbers_of_their_file() -> None:
    data = Dataset(X[:38], "vectors", None, None, "f.csv", skipped=(SkippedRow(2, "", "a"), SkippedRow(5, "", "b")))
    assert data.row_numbers[:4] == [1, 3, 4, 6]
    assert data_of(make_report(MODEL, data).html)["names"][:4] == ["row 1", "row 3", "row 4", "row 6"]


def test_texts_of_the_data_stay_texts() -> None:
    names = [NASTY] * 40
    frame = pandas.DataFrame(X, names, [NASTY, "b", "c", "&amp;"])
    report = make_report(KernelPCA(3).fit(frame), frame, target=names, target_name=NASTY, title=NASTY)
    plain = make_report(MODEL, X, target=np.zeros(40))
    count = [
        sum(tag == what for tag, _ in Tags(page.html).tags) for page in (report, plain) for what in ("script", "img")
    ]
    assert count == [2, 0, 2, 0]
    assert NASTY not in report.html
    assert data_of(report.html)["names"][0] == NASTY
    block = report.html.partition('id="data">')[2].partition("</script>")[0]
    assert not set("<>&") & set(block), "a tag or a comment could begin or end in the data"
    assert not [attrs for _, attrs in Tags(report.html).tags if any(name.startswith("on") for name in attrs)]


def test_the_page_asks_for_nothing_outside_itself() -> None:
    html = make_report(MODEL, X).html
    addresses = [attrs[name] for _, attrs in Tags(html).tags for name in ("src", "href") if name in attrs]
    assert all(address and address.startswith(("#", "data:")) for address in addresses)
    assert "default-src 'none'" in html
    assert "http" not in re.sub(r"http-equiv|http://www.w3.org\S*", "", html)


def test_many_items_are_thinned_and_said() -> None:
    report = make_report(MODEL, X, at_most=10)
    data = data_of(report.html)
    assert data["n"] == 10
    assert data["names"] == [f"row {i + 1}" for i in np.linspace(0, 39, 10).round().astype(int)]
    assert "The page shows 10 of 40 items" in report.html
    assert report.audit[0] == "40 items with 4 columns each."


def test_gram_matrices_and_one_component() -> None:
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(2))
    html = make_report(KernelPCA(2, kernel="precomputed").fit(K), K).html
    assert "each known by its kernel values with 40 training items" in html
    assert "the map keeps" in make_report(KernelPCA(1).fit(X), X).html


def test_a_structure_is_a_short_text() -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    atoms, bonds, labels = drawing("C[C@H](N)C(=O)[O-]").split("|")
    assert (len(atoms), len(bonds)) == (4 * 6, 5 * 5)
    assert sorted(bonds[4::5])[1:] == ["1", "1", "2", "w"] or sorted(bonds[4::5])[-1] in "wh"
    assert labels == "2:N:2:0 4:O:0:0 5:O:0:-1"
    assert drawing("not a molecule(") == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": [1, 2]}, "target must have shape"),
        ({"target": [np.nan] * 40}, "target must hold a known value"),
        ({"smiles": ["C"]}, "smiles must be 40"),
        ({"target": np.full(40, np.inf)}, "target must be finite"),
        ({"at_most": 1}, "at_most must be"),
    ],
)
def test_wrong_use_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_report(MODEL, X, **options)


def test_what_is_no_model_and_no_page_is_refused(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="model must be a fitted estimator"):
        make_report(3, X)
    with pytest.raises(InputError, match="at least two items"):
        make_report(MODEL, X[:1])
    with pytest.raises(InputError, match=r"must end in \.html"):
        make_report(MODEL, X).save(tmp_path / "page.txt")


def test_a_filled_table_with_texts_has_a_page() -> None:
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40), "c": rng.choice(["x", "y"], 40)})
    table.loc[3, "a"] = np.nan
    model = KernelAutoencoder(2, columns="filled").fit(table)
    for items in (table, table.to_numpy()):
        report = make_report(model, items)
        assert report.audit[0] == "40 items with 3 columns each."
        assert report.audit[1] == "1 of 120 cells are empty."


@pytest.mark.parametrize("name", ["it's.rkhs", "-v.rkhs", "$(x);.rkhs"])
def test_the_line_for_the_shell_quotes_the_name(name: str) -> None:
    X = np.random.default_rng(0).normal(size=(8, 2))
    page = unescape(make_report(KernelPCA(1).fit(X), X, model_file=name).html)
    (line,) = re.findall(r"rkhs transform .* new\.csv -o codes\.csv", page)
    words = shlex.split(line)
    assert words[2] == (f"./{name}" if name.startswith("-") else name)
    assert len(words) == 6


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", [KernelPCA(2, columns="filled"), KernelAutoencoder(2, columns="filled", reg=1e-3)])
def test_tables_with_gaps_show_what_is_rebuilt(model: Any) -> None:
    rng = np.random.default_rng(1)
    waves = np.sin(np.linspace(0.0, 6.0, 100) + rng.uniform(0.0, 3.0, (20, 1)))
    gaps = rng.random(waves.shape) < 0.1
    gaps[:, 1], gaps[:, 2] = False, np.arange(20) < 2
    table = np.where(gaps, None, waves).astype(object)
    page = make_report(model.fit(table), Dataset(table, "curves", None, None, "f.csv")).html
    curves = re.findall(r'data-item="(\d+)".*?<path class="old" d="([^"]*)"/><path class="new" d="([^"]*)"/>', page)
    assert len(curves) >= 6
    for i, old, new in curves:
        assert (len(re.findall("[ML]", old)), new.count("M"), new.count("L")) == (100 - gaps[int(i)].sum(), 1, 99)
        starts = ~gaps[int(i)] & np.r_[True, gaps[int(i), :-1]]
        assert old.count("M") == starts.sum()  # no line leads over a gap
    texts = table[:, :3].copy()
    texts[:, 1] = np.where(np.arange(20) % 2, "a", "b")
    page = make_report(model.fit(texts), texts).html
    changes = re.findall(r'data-item="(\d+)".*?<td>([^<]* → [^<]*)</td>', page)
    assert len(changes) >= 6
    for i, text in changes:
        assert {part.split()[1] for part in text.split("; ")} == {"02"[j] for j in (0, 1) if not gaps[int(i), 2 * j]}
    assert "nan" not in page
    assert "column 1 " not in page


def test_rows_that_look_wrong_are_all_listed_and_marked_in_the_picture() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.01 * rng.normal(size=300)
    wrong = rng.permutation(300)[:35]
    y[wrong] += np.where(rng.normal(size=35) > 0.0, 3.0, -3.0)
    page = make_report(KernelPCA(2).fit(X), X, target=y, target_name="y").html
    text = page.partition("<h3>Rows that look wrong</h3>")[2].partition("</table>")[0]
    count = int(re.search(r"<p>(\d+) of 300 rows, the worst first", text)[1])
    assert count > 30
    listed = re.findall(r'data-item="(\d+)"', text)
    assert len(listed) == count
    assert re.findall(r'<circle data-item="(\d+)"', page) == listed
    assert f"<title>row {int(listed[0]) + 1}: {readable(y[int(listed[0])])}, predicted " in page


def test_curves_that_carry_no_equal_times_have_a_target() -> None:
    times = np.r_[0.0, np.cumsum(RNG.uniform(0.5, 1.5, 29))]
    level = RNG.normal(size=40)
    rows = level[:, None] * np.sin(times / 5.0) + 0.05 * RNG.normal(size=(40, 30))
    curves = Dataset(rows, "curves", None, None, "f.csv", times=times)
    model = KernelPCA(2, columns="integral").fit(curves.items)
    report = make_report(model, curves, target=level, target_name="level")
    assert report.summary[0].startswith("level can be predicted: RMSE ")


def test_of_many_columns_those_like_the_predictions_are_shuffled() -> None:
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(90, 70))
    y = 2.0 * Z[:, 68] + Z[:, 69] + 0.1 * rng.normal(size=90)
    frame = pandas.DataFrame(Z, columns=[f"g{j}" for j in range(70)])
    page = unescape(make_report(KernelPCA(2).fit(frame), frame, target=y).html)
    part = page.split("Columns that matter</h3>")[1].split("</table>")[0]
    assert re.findall(r"<td>(g\d+)</td>", part)[:2] == ["g68", "g69"]
    assert "Shuffled: 60 of 70 columns" in part


def test_errors_of_standardised_columns_count_deviations_and_dates_are_dates() -> None:
    rng = np.random.default_rng(3)
    X = np.c_[rng.normal(size=(40, 3)), 1e6 * rng.normal(size=40), 19_000.0 + np.arange(40.0)]
    names = ("a", "b", "c", "wide", "day")
    data = Dataset(X.astype(object), "table", None, names, "f.csv", dates=("day",))
    report = make_report(KernelMap(columns="filled").fit(data.items), data)
    table = report.html.split("<h3>Largest reconstruction errors</h3>")[1].split("</table>")[0]
    assert "rows in standard deviations of their columns" in table
    found = re.findall(r"<td>([\d.]+)</td><td>(\w+) ", table)
    assert len(found) == 6
    assert {"wide"} != {first for _, first in found}  # in the units of the file it were all of them
    assert max(float(error) for error, _ in found) < 100.0
    days = re.findall(r"day (\S+) → (\S+?)(?:;|<)", report.html)
    assert days
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", day) for pair in days for day in pair)
    assert [field.get("dates") for field in data_of(report.html)["fields"] if field["name"] == "day"] == [True]
