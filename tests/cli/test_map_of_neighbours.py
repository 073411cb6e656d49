"""``rkhs map`` as it comes: a map that keeps neighbours, with what it loses in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli.main import main
from rkhs.data import write_codes

X = np.random.default_rng(0).normal(size=(30, 3))


@pytest.fixture
def codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """Codes that were drawn."""
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plots'")
    from rkhs import plots

    monkeypatch.chdir(tmp_path)
    write_codes("plain.csv", X, column_names=["a", "b", "c"])
    np.save("K.npy", X @ X.T)
    drawn: list[np.ndarray] = []

    class Kept(plots.CodeMapDisplay):
        def __init__(self, codes: np.ndarray, **options: object) -> None:
            drawn.append(codes)
            super().__init__(codes, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(plots, "CodeMapDisplay", Kept)
    return drawn


def test_the_map_is_that_of_the_class_and_says_what_it_loses(
    codes: list[np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "plain.csv", "-o", "m.png"]) == 0
    model = rkhs.KernelMap().fit(X)
    np.testing.assert_array_equal(codes[0], model.codes_)
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == (
        f"of ten neighbours of a new row the map keeps {10.0 * model.recall_:.1f}; rebuilt from the map, new rows lose "
        f"{model.held_out_error_:.0%} of their variance"
    )


def test_of_a_gram_matrix_it_says_which_neighbours_it_keeps(
    codes: list[np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "K.npy", "--gram", "-o", "m.png"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("of ten neighbours of a new row the map keeps")
    np.testing.assert_array_equal(codes[0], rkhs.KernelMap(kernel="precomputed").fit(X @ X.T).codes_)


def test_a_page_holds_the_map_alone(codes: list[np.ndarray]) -> None:
    assert main(["map", "plain.csv", "-o", "m.html", "--color", "a"]) == 0
    page = Path("m.html").read_text()
    assert page.count("<section") == 1
    assert '<section id="map">' in page
    assert "rebuilt from the map, new items lose" in page
    assert not codes


def test_other_estimators_draw_maps(codes: list[np.ndarray], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["map", "plain.csv", "-o", "m.png", "--estimator", "kae"]) == 0
    assert capsys.readouterr().out.startswith("KernelAutoencoder: map of 30 rows: m.png\nrebuilt from the map, new ")


def test_a_map_that_rebuilds_nothing_says_so_of_the_neighbours_that_there_are(
    codes: list[np.ndarray], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[object] = []
    from rkhs import plots

    drawn = plots.CodeMapDisplay.__init__

    def kept(self: plots.CodeMapDisplay, codes: np.ndarray, **options: object) -> None:
        titles.append(options["title"])
        drawn(self, codes, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(plots.CodeMapDisplay, "__init__", kept)
    monkeypatch.setattr(rkhs.KernelMap, "held_out_error_", 1.21)
    write_codes("few.csv", X[:4], column_names=["a", "b", "c"])
    assert main(["map", "few.csv", "-o", "m.png"]) == 0
    said, lost = capsys.readouterr().out.splitlines()[-1], "new rows lose 121% of their variance"
    assert said.startswith("of three neighbours of a new row the map keeps ")
    assert float(said.split("keeps ")[1].split(";")[0]) <= 3.0
    assert said.endswith(f"; rebuilt from the map, {lost}: decoding is worse than predicting the mean")
    assert f"rebuilt from the map, {lost}: decoding is worse than predicting the mean" in " ".join(
        str(titles[0]).split()
    )
