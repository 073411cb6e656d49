"""Displays: the numbers that are drawn are those of the model, and what cannot be drawn is said."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from rkhs import KernelAutoencoder, KernelPCA, fit_robust
from rkhs._core.errors import InputError
from rkhs.data import curves_on_grid
from rkhs.evaluation import Loadings, RiskCoverage, loadings, risk_coverage

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


def test_every_display_is_public_and_draws() -> None:
    public = [getattr(plots, name) for name in plots.__all__]
    found = [cls for cls in public if inspect.isclass(cls) and issubclass(cls, plots.Display)]
    found.remove(plots.Display)
    assert len(found) == 6


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


def test_the_map_of_one_and_of_three_components(pca: KernelPCA) -> None:
    one = plots.CodeMapDisplay.from_estimator(pca, NEW, components=(1,)).plot()
    assert (sum(bar.get_height() for bar in one.ax_.patches), one.ax_.get_xlabel()) == (40, "code 2")
    three = plots.CodeMapDisplay.from_estimator(pca, components=(0, 2, 1), values=X[:, 0]).plot()
    assert three.ax_.get_zlabel() == "code 2"  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="three-dimensional"):
        three.plot(one.ax_)


def test_thumbnails_lie_far_from_each_other_and_molecules_are_drawn() -> None:
    pytest.importorskip("rdkit", reason="molecules need RDKit (extra `chem`)")
    codes = np.r_[np.zeros((10, 2)), [[5.0, 0.0]], [[0.0, 5.0]]]
    items: list[Any] = ["CCO"] * 11 + [np.eye(4)]
    display = plots.CodeMapDisplay(codes, thumbnails=items, n_thumbnails=3).plot()
    places = {tuple(box.xy) for box in display.ax_.artists}
    assert {(5.0, 0.0), (0.0, 5.0)} < places
    with pytest.raises(InputError, match="SMILES that RDKit reads"):
        plots.CodeMapDisplay(codes, thumbnails=["no molecule"] * 12).plot()


def test_reconstructions_of_images_curves_and_tables(autoencoder: KernelAutoencoder) -> None:
    images = plots.ReconstructionDisplay.from_estimator(autoencoder, X, n_items=3, shape=(2, 3)).plot()
    assert len(images.figure_.axes) == 6
    shown = images.figure_.axes[3].images[0].get_array()
    low, high = X[[0, 20, 39]].min(), X[[0, 20, 39]].max()
    again = autoencoder.inverse_transform(autoencoder.transform(X[:1]))
    np.testing.assert_allclose(np.asarray(shown).reshape(-1), np.clip(again[0], low, high))
    curves = plots.ReconstructionDisplay(X, X, kind="curves").plot()
    assert len(curves.ax_.lines) == 2
    asked = plots.ReconstructionDisplay.from_estimator(autoencoder, X, rows=[7, 3], kind="curves").plot()
    np.testing.assert_array_equal(asked.originals, X[[7, 3]])
    assert [panel.get_title() for panel in asked.figure_.axes] == ["row 7", "row 3"]
    ticks = asked.figure_.axes[0].get_yticks()
    both = np.concatenate([asked.originals, asked.rebuilt])
    np.testing.assert_allclose(ticks, [both.min(), both.max()])
    table = plots.ReconstructionDisplay(X, 0.5 * X, names=list("abcdef")).plot()
    np.testing.assert_allclose(
        [bar.get_width() for bar in table.ax_.patches], 0.25 * (X**2).sum(0) / ((X - X.mean(0)) ** 2).sum(0)
    )


def test_gaps_of_the_originals_are_left_out() -> None:
    gapped = X.copy()
    gapped[0, 1] = gapped[3, 2] = np.nan
    model = KernelPCA(2, columns="filled").fit(gapped)
    curves = plots.ReconstructionDisplay.from_estimator(model, gapped, rows=[0, 3], kind="curves").plot()
    np.testing.assert_array_equal(curves.ax_.lines[0].get_ydata(), gapped[0])
    assert np.isfinite(curves.rebuilt).all()
    assert np.isfinite(curves.ax_.get_ylim()).all()
    images = plots.ReconstructionDisplay.from_estimator(model, gapped, rows=[0, 3], shape=(2, 3)).plot()
    assert images.figure_.axes[0].images[0].norm.vmax == np.nanmax(gapped[[0, 3]])
    table = plots.ReconstructionDisplay(gapped, 0.5 * X).plot()
    known = np.delete(X[:, 1], 0)
    lost = 0.25 * (known**2).sum() / ((known - known.mean()) ** 2).sum()
    np.testing.assert_allclose(table.ax_.patches[1].get_width(), lost)
    for wrong in ((np.where(X > 1.0, np.inf, X), X), (X, gapped)):
        with pytest.raises(InputError, match="must be a finite array of shape"):
            plots.ReconstructionDisplay(*wrong)


def test_frames_stay_frames_on_their_way_to_the_model() -> None:
    pandas = pytest.importorskip("pandas", reason="frames need the extra `tables`")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    drawn = plots.ReconstructionDisplay.from_estimator(KernelPCA(2).fit(frame), frame)  # a warning is an error here
    np.testing.assert_array_equal(drawn.originals, X[np.linspace(0, 39, 8).round().astype(int)])


def test_the_limits_of_what_stands_apart_are_drawn() -> None:
    drawn = plots.OutlierDisplay([0.2, 0.3, 0.9], [True, True, True], limits=(0.1, 0.6)).plot()
    assert [line.get_ydata()[0] for line in drawn.ax_.lines] == [1.0, 0.1, 0.6]
    far = plots.OutlierDisplay([0.2, 0.3, 0.9], [True, True, True], limits=(0.0, 1.0)).plot()
    assert [line.get_ydata()[0] for line in far.ax_.lines] == [1.0]  # no limit known


def test_outliers_are_drawn() -> None:
    far = np.r_[X, X[:2] + 50.0]
    outliers = plots.OutlierDisplay.from_robust_fit(fit_robust(KernelAutoencoder(1, tol=1e-1, max_iter=5), far)).plot()
    assert [text.get_text() for text in outliers.ax_.get_legend().get_texts()][1].startswith("left out: ")


def test_curves_are_drawn_at_their_times(pca: KernelPCA) -> None:
    times = np.array([0.0, 1.0, 1.5, 4.0, 5.0, 9.0])
    display = plots.ReconstructionDisplay.from_estimator(pca, curves_on_grid(X, times), n_items=2).plot()
    np.testing.assert_array_equal(display.ax_.lines[0].get_xdata(), times)
    np.testing.assert_array_equal(display.originals, X[[0, -1]])


def test_loadings_are_bars_of_the_columns_that_codes_hold_most_of(pca: KernelPCA) -> None:
    found = loadings(pca, X)
    display = plots.LoadingsDisplay(found, list("abcdef"), n_columns=4).plot()
    best = np.argsort(found.recovered)[::-1][:4]
    shares, slopes = ([bar.get_width() for bar in bars] for bars in display.ax_.containers)
    np.testing.assert_allclose(shares, found.recovered[best])
    np.testing.assert_allclose(slopes, (found.slopes.sum(0) / found.slopes.sum(0).max())[best])
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["abcdef"[j] for j in best]


def test_atoms_are_coloured_by_their_parts() -> None:
    pytest.importorskip("rdkit", reason="needs the extra 'chem'")
    display = plots.AtomContributionsDisplay("CCO", [-1.0, 0.0, 2.0]).plot()
    picture = np.asarray(display.ax_.images[0].get_array())[..., :3].reshape(-1, 3)
    red, blue = (((picture[:, c] - picture[:, 2 - c]) > 0.3).sum() for c in (0, 2))
    assert red > 500
    assert blue > 100
    assert display.figure_.axes[1].get_ylim() == (-2.0, 2.0)


def test_the_surest_answers_are_drawn_with_the_share_that_keeps_the_promise() -> None:
    found = risk_coverage(np.arange(100.0), np.arange(100) < 30, 0.1)
    curve, _, share = plots.RiskCoverageDisplay(found).plot().ax_.lines
    np.testing.assert_array_equal(curve.get_xydata(), np.column_stack([found.coverage, found.risk]))
    np.testing.assert_array_equal(share.get_xdata(), [0.7, 0.7])
    assert len(plots.RiskCoverageDisplay(risk_coverage([1.0, 2.0], [0, 1])).plot().ax_.lines) == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: plots.CodeMapDisplay(np.ones((3, 4))), "one to three columns"),
        (lambda: plots.CodeMapDisplay([[np.nan, 0.0]]), "codes must be a finite array"),
        (lambda: plots.CodeMapDisplay(np.ones((3, 2)), new_codes=np.ones((2, 1))), "must have 2 columns"),
        (lambda: plots.CodeMapDisplay(np.ones((3, 2)), thumbnails=["C"]), "thumbnails must be 3"),
        (lambda: plots.ReconstructionDisplay(X, X[:3]), "rebuilt must have the shape"),
        (lambda: plots.ReconstructionDisplay(X, X, shape=(2, 2)), "shape must be"),
        (lambda: plots.ReconstructionDisplay(X, X, kind="images"), "shape must be given"),
        (lambda: plots.ReconstructionDisplay(X, X, titles=["a"]), "titles must be 40, one per item; got 1"),
        (lambda: plots.ReconstructionDisplay.from_estimator(None, X, rows=[40]), "rows must be from 0 to 39"),  # type: ignore[arg-type]
        (lambda: plots.ReconstructionDisplay.from_estimator(None, X, rows=[0.5]), "rows must be a list of whole"),  # type: ignore[arg-type,list-item]
        (lambda: plots.LoadingsDisplay(Loadings(np.ones(2), np.ones((1, 2))), ["a"]), "names must be 2"),
        (lambda: plots.RiskCoverageDisplay(RiskCoverage(np.ones(2), np.ones(3), 1.0, None, None)), "risk must be"),
        (lambda: plots.AtomContributionsDisplay("CCO", np.ones(2)), "contributions must be"),
        (lambda: plots.AtomContributionsDisplay(3, np.ones(2)), "a SMILES that RDKit reads"),
        (lambda: plots.AtomContributionsDisplay("C(", np.ones(2)), "a SMILES that RDKit reads"),
        (lambda: plots.OutlierDisplay([1.0], [True, False]), "one per score"),
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
