"""The map of codes: what is drawn, what is refused, and the saved file."""

import io
import sys

import numpy as np
import pytest

from rkhs._core.errors import InputError, MissingExtraError

matplotlib = pytest.importorskip("matplotlib", reason="figures need the extra `plots`")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.colors import to_rgba  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from rkhs.plots import CodeMapDisplay, save_figure  # noqa: E402
from rkhs.plots.codes import within_view  # noqa: E402
from rkhs.plots.display import COLORS  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def code_map(codes, ax=None, **options):
    return CodeMapDisplay(codes, **options).plot(ax).ax_


def _codes(n=30):
    return np.random.default_rng(0).normal(size=(n, 2)) * [3.0, 1.0]


def test_every_code_is_drawn_once_at_its_place():
    codes = _codes()
    ax = code_map(codes, title="all")
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), codes)
    assert ax.get_aspect() == 1.0
    assert ax.get_title() == "all"
    assert ax.get_legend() is None


def test_labels_get_their_own_colour_and_marker_and_a_legend():
    codes, labels = _codes(40), np.arange(40) % 20
    ax = code_map(codes, labels=labels)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [str(i) for i in range(20)]
    looks = set()
    for i, drawn in enumerate(ax.collections):
        np.testing.assert_array_equal(drawn.get_offsets(), codes[labels == i])
        looks.add((tuple(drawn.get_facecolor()[0]), drawn.get_paths()[0].vertices.tobytes()))
    assert len(looks) == 20


def test_labels_of_mixed_types_are_drawn():
    ax = code_map(_codes(3), labels=np.array(["a", 1, None], dtype=object))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "a", "no label"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("missing", ["", None, float("nan")])
def test_rows_without_a_label_are_grey_last_in_the_legend_and_not_written_over_the_picture(missing):
    codes, labels = _codes(30), np.array(["q", missing, "p"] * 10, dtype=object)
    ax = code_map(codes, labels=labels)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["p", "q", "no label"]
    assert [text.get_text() for text in ax.texts] == ["p", "q"]
    looks = [tuple(drawn.get_facecolor()[0]) for drawn in ax.collections]
    assert looks == [to_rgba(color) for color in (*COLORS[:2], "#BBBBBB")]
    np.testing.assert_array_equal(ax.collections[2].get_offsets(), codes[1::3])
    many = np.array([*(f"c{i}" for i in range(20)), *[""] * 10], dtype=object)
    assert len(code_map(codes, labels=many).collections) == 21


def test_values_are_shown_by_colour_with_a_named_bar_and_missing_ones_in_grey():
    values = np.arange(30.0)
    values[3] = np.nan
    codes = _codes()
    ax = code_map(codes, values=values, value_name="mass (u)")
    ax.figure.draw_without_rendering()
    colors, places = ax.collections[0].get_facecolor(), np.asarray(ax.collections[0].get_offsets())
    assert not np.array_equal(places, codes)  # a file that is sorted by its values is drawn in another order
    order = [int(np.flatnonzero((codes == place).all(1))[0]) for place in places]
    assert sorted(order) == list(range(30))
    np.testing.assert_allclose(colors[order.index(3), :3], np.full(3, 0xBB / 255))
    assert len(np.unique(colors, axis=0)) == 30
    greens = colors[[order.index(i) for i in range(30) if i != 3], 1]
    assert (np.diff(greens) > 0.0).all()  # of viridis, which rises with the value
    bar = ax.child_axes[0]  # as high as the map
    assert bar.get_ylabel() == "mass (u)"
    assert bar.get_ylim() == (0.0, 29.0)


def test_few_points_lie_over_many():
    labels = np.array(["few"] * 5 + ["many"] * 25)
    few, many = code_map(_codes(), labels=labels).collections
    assert few.get_zorder() > many.get_zorder()


def test_a_given_axes_is_used_and_returned():
    figure = Figure()
    ax = figure.subplots()
    assert code_map(_codes(), ax=ax) is ax
    assert pyplot.get_fignums() == []


def test_one_point_and_many_points_are_drawn():
    assert len(code_map(np.zeros((1, 2))).collections[0].get_offsets()) == 1
    assert code_map(_codes(6000)).collections[0].get_rasterized()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"codes": np.zeros((3, 5))}, "codes must have two columns to be drawn; got 5"),
        ({"codes": np.zeros(4)}, r"codes must be a finite array of shape \(n, d\); got shape \(4,\)"),
        ({"codes": np.zeros((0, 2))}, "codes must have at least one row"),
        ({"codes": [["a", "b"]]}, "codes must hold real numbers"),
        ({"codes": [[0.0, np.nan]]}, "codes must be a finite array of shape"),
        ({"values": np.zeros(3)}, r"`values` must have shape \(30,\).*got \(3,\)"),
        ({"values": ["a"] * 30}, "`values` must be numbers.*labels="),
        ({"values": np.full(30, np.nan)}, "`values` must hold a finite number"),
        ({"labels": ["a"]}, r"`labels` must have shape \(30,\)"),
        ({"labels": np.arange(30)}, "at most 20 classes.*got 30.*values="),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        code_map(**{"codes": _codes(), **arguments})


@pytest.mark.slow
@pytest.mark.parametrize("extension", ["png", "svg", "pdf"])
def test_the_saved_file_is_complete_and_the_same_each_time(tmp_path, extension):
    saved = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.{extension}"
        save_figure(code_map(_codes(), labels=np.arange(30) % 3).figure, path)
        saved.append(path.read_bytes())
    assert saved[0] == saved[1]
    assert saved[0].startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[extension])
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"first.{extension}", f"second.{extension}"]


def test_saving_refuses_other_extensions_and_missing_folders(tmp_path):
    figure = code_map(_codes()).figure
    with pytest.raises(InputError, match=r"must end in \.png, \.svg, \.pdf; got 'map.gif'"):
        save_figure(figure, tmp_path / "map.gif")
    with pytest.raises(InputError, match="folder does not exist"):
        save_figure(figure, tmp_path / "nowhere" / "map.png")


def test_without_matplotlib_the_error_names_the_extra(monkeypatch, tmp_path):
    figure = Figure()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"rkhs\[plots\]"):
        code_map(_codes())
    with pytest.raises(MissingExtraError, match=r"rkhs\[plots\]"):
        save_figure(figure, tmp_path / "map.png")


def test_names_of_classes_and_of_far_items_are_written() -> None:
    codes = np.vstack(
        [np.random.RandomState(0).normal(size=(40, 2)) + 20.0 * (np.arange(40) > 19)[:, None], [[90.0, 0.0]]]
    )
    names = [f"item {i}" for i in range(41)]
    ax = CodeMapDisplay(codes, labels=["low"] * 20 + ["high"] * 21, names=names).plot().ax_
    texts = [text.get_text() for text in ax.texts]
    assert {"low", "high", "item 40 (outside)"} <= set(texts)
    assert len(texts) == len(set(texts)) <= 14
    assert all(part.get_alpha() in (None, 1.0) for part in ax.collections)
    with pytest.raises(InputError, match="names must be 41"):
        CodeMapDisplay(codes, names=["a"])


def test_a_row_far_outside_lies_at_the_edge_and_is_named() -> None:
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(80, 2))
    codes[5] = 500.0, -400.0
    figure = Figure()
    CodeMapDisplay(codes, names=[f"s{i}" for i in range(80)]).plot(ax := figure.add_subplot())
    drawn = np.asarray(ax.collections[0].get_offsets())
    assert np.ptp(drawn, axis=0).max() < 8.0
    np.testing.assert_array_equal(drawn[np.arange(80) != 5], codes[np.arange(80) != 5])
    assert "s5 (outside)" in [text.get_text() for text in ax.texts]
    rest = codes[np.arange(80) != 5]
    for others in (rest, np.concatenate([rest, rest + 500.0])):  # none far, and two groups
        assert within_view(others)[1] == []


def test_rows_that_would_squash_the_map_lie_on_its_frame_in_a_ring() -> None:
    """Also where one is less far than three ranges, and high where the map is flat: the frame is that of the others."""
    codes = np.random.default_rng(0).normal(size=(300, 2)) * (8.0, 4.0)
    codes[5], codes[6] = (80.0, 1.0), (9.0, 70.0)
    figure = Figure()
    names = [f"s{i}" for i in range(300)]
    display = CodeMapDisplay(codes, names=names).plot(ax := figure.add_subplot())
    figure.savefig(io.BytesIO())  # the aspect is applied
    assert display.far == [5, 6]
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert right - left < 80.0
    assert display.places[5, 0] > left + 0.9 * (right - left)
    assert display.places[6, 1] > bottom + 0.9 * (top - bottom)
    ring = ax.collections[-1]
    np.testing.assert_array_equal(np.asarray(ring.get_offsets()), display.places[[5, 6]])
    assert {"s5 (outside)", "s6 (outside)"} <= {text.get_text() for text in ax.texts}
