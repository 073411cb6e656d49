"""Displays: the numbers that are drawn are those of the model, and what cannot be drawn is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import InputError
from rkhs.data import curves_on_grid

matplotlib = pytest.importorskip("matplotlib", reason="figures need the extra `plots`")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

import rkhs.plots as plots  # noqa: E402
from rkhs.plots.display import colour_ends  # noqa: E402

X = np.random.default_rng(0).normal(size=(40, 6))
NEW = np.random.default_rng(1).normal(size=(5, 6))


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def pca() -> KernelPCA:
    return KernelPCA(3).fit(X)


@pytest.fixture(scope="module")
def autoencoder() -> KernelAutoencoder:
    return KernelAutoencoder(2, reg="auto", max_iter=30, tol=1e-2).fit(X)


def offsets(display: Any) -> list[np.ndarray]:
    return [np.asarray(drawn.get_offsets()) for drawn in display.ax_.collections]


def test_the_map_shows_chosen_components_and_new_items(pca: KernelPCA) -> None:
    labels = np.arange(40) % 3
    display = plots.CodeMapDisplay.from_estimator(pca, NEW, components=(2, 0), labels=labels).plot()
    drawn = offsets(display)
    np.testing.assert_array_equal(drawn[1], pca.codes_[labels == 1][:, [2, 0]])
    np.testing.assert_allclose(drawn[-1], pca.transform(NEW)[:, [2, 0]])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("code 3", "code 1")
    assert display.figure_ is display.ax_.figure


def test_the_classes_are_named_below_a_map_with_new_items(pca: KernelPCA) -> None:
    display = plots.CodeMapDisplay.from_estimator(pca, NEW, labels=np.arange(40) % 3).plot()
    canvas: Any = display.figure_.canvas
    canvas.draw()
    seen = np.asarray(canvas.buffer_rgba())[::-1, :, :3]  # from below, as places are counted
    legend = display.ax_.get_legend()
    assert legend is not None
    left, bottom, right, top = np.round(legend.get_window_extent().extents).astype(int)
    assert top < display.ax_.get_window_extent().y0
    assert (seen[bottom:top, left:right] < 100).any()


def test_reconstructions_of_images_and_curves(autoencoder: KernelAutoencoder) -> None:
    images = plots.ReconstructionDisplay.from_estimator(autoencoder, X, n_items=3, shape=(2, 3)).plot()
    assert len(images.figure_.axes) == 6
    shown = images.figure_.axes[3].images[0].get_array()
    low, high = X[[0, 20, 39]].min(), X[[0, 20, 39]].max()
    again = autoencoder.inverse_transform(autoencoder.transform(X[:1]))
    np.testing.assert_allclose(np.asarray(shown).reshape(-1), np.clip(again[0], low, high))
    curves = plots.ReconstructionDisplay(X, X).plot()
    assert len(curves.ax_.lines) == 2
    asked = plots.ReconstructionDisplay.from_estimator(autoencoder, X, rows=[7, 3]).plot()
    np.testing.assert_array_equal(asked.originals, X[[7, 3]])
    assert [panel.get_title() for panel in asked.figure_.axes] == ["row 7", "row 3"]
    ticks = asked.figure_.axes[0].get_yticks()
    both = np.concatenate([asked.originals, asked.rebuilt])
    np.testing.assert_allclose(ticks, [both.min(), both.max()])


def test_gaps_of_the_originals_are_left_out() -> None:
    gapped = X.copy()
    gapped[0, 1] = gapped[3, 2] = np.nan
    model = KernelPCA(2, columns="filled").fit(gapped)
    curves = plots.ReconstructionDisplay.from_estimator(model, gapped, rows=[0, 3]).plot()
    np.testing.assert_array_equal(curves.ax_.lines[0].get_ydata(), gapped[0])
    assert np.isfinite(curves.rebuilt).all()
    assert np.isfinite(curves.ax_.get_ylim()).all()
    images = plots.ReconstructionDisplay.from_estimator(model, gapped, rows=[0, 3], shape=(2, 3)).plot()
    assert images.figure_.axes[0].images[0].norm.vmax == np.nanmax(gapped[[0, 3]])
    for wrong in ((np.where(X > 1.0, np.inf, X), X), (X, gapped)):
        with pytest.raises(InputError, match="must be a finite array of shape"):
            plots.ReconstructionDisplay(*wrong)


def test_frames_stay_frames_on_their_way_to_the_model() -> None:
    pandas = pytest.importorskip("pandas", reason="frames need the extra `tables`")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    drawn = plots.ReconstructionDisplay.from_estimator(KernelPCA(2).fit(frame), frame)  # a warning is an error here
    np.testing.assert_array_equal(drawn.originals, X[np.linspace(0, 39, 8).round().astype(int)])


def test_curves_are_drawn_at_their_times(pca: KernelPCA) -> None:
    times = np.array([0.0, 1.0, 1.5, 4.0, 5.0, 9.0])
    display = plots.ReconstructionDisplay.from_estimator(pca, curves_on_grid(X, times), n_items=2).plot()
    np.testing.assert_array_equal(display.ax_.lines[0].get_xdata(), times)
    np.testing.assert_array_equal(display.originals, X[[0, -1]])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: plots.CodeMapDisplay(np.ones((3, 4))), "codes must have two columns to be drawn; got 4"),
        (lambda: plots.CodeMapDisplay(X[:, :2], values=X[:, 2], labels=X[:, 3]), "values and labels both"),
        (
            lambda: plots.CodeMapDisplay.from_estimator(KernelPCA(1).fit(X)),
            "must be two columns from 0 to 0",
        ),
        (lambda: plots.CodeMapDisplay([[np.nan, 0.0]]), "codes must be a finite array"),
        (lambda: plots.CodeMapDisplay(np.ones((3, 2)), new_codes=np.ones((2, 1))), "new_codes must have two columns"),
        (lambda: plots.ReconstructionDisplay(X, X[:3]), "rebuilt must have the shape"),
        (lambda: plots.ReconstructionDisplay(X, X, shape=(2, 2)), "shape must be"),
        (lambda: plots.ReconstructionDisplay(X, X, rows=[1]), "rows must be 40, one per item; got 1"),
        (lambda: plots.ReconstructionDisplay.from_estimator(None, X, rows=[40]), "rows must be from 0 to 39"),  # type: ignore[arg-type]
        (lambda: plots.ReconstructionDisplay.from_estimator(None, X, rows=[0.5]), "rows must be a list of whole"),  # type: ignore[arg-type,list-item]
    ],
)
def test_what_cannot_be_drawn_is_said(wrong: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        wrong()


def test_few_far_numbers_do_not_take_all_colours() -> None:
    near = np.linspace(0.0, 1.0, 101)
    assert colour_ends(near) == (0.0, 1.0, "neither")
    low, high, beyond = colour_ends(np.append(near, [1e6, np.nan]))
    assert (low, high, beyond) == (0.0, 1.0, "max")  # the scale ends at the last number that is near
    assert colour_ends(np.append(near, [-50.0, 50.0]))[2] == "both"
    assert colour_ends(np.append(-near, -9.0))[2] == "min"
    assert colour_ends(np.append(np.zeros(200), 5.0)) == (0.0, 5.0, "neither")  # no spread to measure distances by
    assert colour_ends(np.array([np.nan])) == (0.0, 1.0, "neither")
