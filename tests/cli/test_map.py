"""``rkhs map``: the codes of the Python class as a picture, coloured by a column that the model does not see."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli.main import main
from rkhs.data import write_codes

X = np.random.default_rng(0).normal(size=(14, 3))
NAMES = [f"r{i}" for i in range(14)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    kinds = ["big" if row[0] > 0 else "small" for row in X]
    rows = [f"{n},{k},{','.join(map(repr, row))}" for n, k, row in zip(NAMES, kinds, X.tolist(), strict=True)]
    rows[3] = rows[3].replace(f",{kinds[3]},", ",,")
    Path("in.csv").write_text("\n".join(["name,kind,a,b,c", *rows]) + "\n")
    return tmp_path


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """What the display was made of."""
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plots'")
    from rkhs import plots

    made: list[dict[str, object]] = []

    class Kept(plots.CodeMapDisplay):
        def __init__(self, codes: object, **options: object) -> None:
            made.append({"codes": codes, **options})
            super().__init__(codes, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(plots, "CodeMapDisplay", Kept)
    return made


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "flags", [[], pytest.param(["--index-column", "name"], marks=pytest.mark.slow), ["--columns", "a,b,c"]]
)
def test_classes_are_drawn_and_not_seen_by_the_model(
    folder: Path, drawn: list[dict[str, object]], flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "in.csv", "-o", "m.png", "--color", "kind", "--estimator", "kpca", *flags]) == 0
    assert capsys.readouterr().out.endswith("KernelPCA: map of 14 rows: m.png\n")
    assert Path("m.png").read_bytes().startswith(b"\x89PNG")
    np.testing.assert_array_equal(drawn[0]["codes"], rkhs.KernelPCA(2).fit(X).codes_)
    labels = np.asarray(drawn[0]["labels"])
    assert labels[:5].tolist() == ["big", "big", "big", "", "small"]


def test_whole_numbers_are_numbers_unless_they_are_called_classes(folder: Path, drawn: list[dict[str, object]]) -> None:
    rows = ["a,b,passes", *(f"{row[0]!r},{row[1]!r},{'' if i == 2 else i % 2}" for i, row in enumerate(X.tolist()))]
    Path("whole.csv").write_text("\n".join(rows) + "\n")
    words = ["map", "whole.csv", "-o", "m.png", "--color", "passes", "--estimator", "kpca"]
    assert main(words) == main([*words, "--classes"]) == 0
    np.testing.assert_array_equal(np.asarray(drawn[0]["values"])[:4], [0.0, 1.0, np.nan, 1.0])
    assert np.asarray(drawn[1]["labels"])[:4].tolist() == ["0", "1", "", "1"]
    assert "labels" not in drawn[0]


def test_numbers_are_a_colour_bar_and_other_estimators_draw(folder: Path, drawn: list[dict[str, object]]) -> None:
    write_codes("plain.csv", X, column_names=["a", "b", "c"])
    assert main(["map", "plain.csv", "-o", "m.svg", "--color", "c", "--seed", "1", "--estimator", "kae"]) == 0
    np.testing.assert_array_equal(drawn[0]["values"], X[:, 2])
    assert drawn[0]["value_name"] == "c"
    model = rkhs.KernelAutoencoder(2, random_state=1).fit(X[:, :2])
    np.testing.assert_array_equal(drawn[0]["codes"], model.codes_)
    np.save("K.npy", X @ X.T)
    assert main(["map", "K.npy", "--gram", "-o", "m.pdf", "--estimator", "kpca"]) == 0
    assert drawn[1].keys() - {"codes", "title"} == {"names"}
    assert drawn[1]["names"] is None
    assert drawn[1]["title"] == f"K.npy: {len(X)} rows"


def test_without_matplotlib_the_extra_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["map", "in.csv", "-o", "m.png"]) == 2
    assert 'install it with: pip install "rkhs[plots]"' in capsys.readouterr().err
    assert not Path("m.png").exists()


def test_a_row_far_outside_is_named(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(60, 3))
    rows[5] = 500.0, 600.0, -400.0
    Path("t.csv").write_text("id,a,b,c\n" + "".join(f"s{i},{','.join(map(str, row))}\n" for i, row in enumerate(rows)))
    for output in ("m.png", "m.html"):
        assert main(["map", "t.csv", "-o", output, "--estimator", "kae", "--kernel", "linear"]) == 0
        assert "far outside the others, drawn at the edge: s5" in capsys.readouterr().out
    assert "Far outside the others, drawn at the edge: s5." in Path("m.html").read_text()
    assert '"outside":[5]' in Path("m.html").read_text()  # which the page rings and names


def test_the_page_of_a_map_says_each_thing_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["map", "in.csv", "-o", "m.html"]) == 0
    assert Path("m.html").read_text().count("nearest neighbours the map keeps") == 1


def test_a_map_of_neighbours_has_no_axes_and_letters_without_a_font_are_one_warning(
    folder: Path, drawn: list[dict[str, object]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib import font_manager

    fonts = [font for font in font_manager.fontManager.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)
    rows = np.random.default_rng(0).normal(size=(30, 3))
    Path("t.csv").write_text(
        "id,a,b,c\n" + "".join(f"\u682a{i},{','.join(map(str, row))}\n" for i, row in enumerate(rows)), encoding="utf-8"
    )
    assert main(["map", "t.csv", "-o", "m.png"]) == 0
    printed = capsys.readouterr().err
    assert printed.count("rkhs: warning: boxes stand for letters") == 1
    assert "Glyph" not in printed
    assert "-o m.html" in printed


def test_help_has_the_neighbours_of_the_map(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["map", "--help"])
    assert f"looks at the {rkhs.KernelMap().n_neighbors} neighbours of each" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["in.csv", "-o", "m.txt"], "-o must end in .png, .svg, .pdf"),
        (["many.csv", "-o", "m.png", "--color", "kind"], "or of at most 20 classes; got 24 in kind"),
    ],
)
def test_wrong_use_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plots'")
    Path("many.csv").write_text("kind,a\n" + "".join(f"k{i % 24},{i}\n" for i in range(48)))
    np.save("K.npy", X @ X.T)
    assert main(["map", *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.replace("\n\n  rkhs", "").count("\n") == 1
