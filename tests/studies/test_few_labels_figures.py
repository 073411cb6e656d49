"""The figures run end to end in their reduced form, with finite numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone

import studies.papers.few_labels_figures as study
from rkhs._core.errors import InputError
from studies.networks import NetworkContrastive, NetworkDenoiser
from studies.papers.few_labels import FewLabelRow, choose_on_labels, few_labels
from studies.papers.few_labels_figures import load_set, main


@pytest.mark.slow
def test_figure_1_without_data_stops_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra 'plots'")
    monkeypatch.setattr(study, "_KERNELS", ("Gaussian", "linear"))
    path = tmp_path / "numbers.json"
    command = ["1", "--reduced", "--sets", "circles", "--cells", str(tmp_path / "cells"), "--output", str(path)]
    assert main([*command, "--minutes", "0"]) == {}
    result = main([*command, "--figures", str(tmp_path)])
    assert (tmp_path / "few_labels_1_circles.png").stat().st_size > 10_000
    assert json.loads(path.read_text()) == result
    assert len(result["circles"]) == 1 + 5 * 2


def test_rows_are_chosen_on_labels_and_not_by_test_accuracy() -> None:
    rows = [FewLabelRow("simple", kernel, (a,), (v,)) for kernel, a, v in (("linear", 0.6, 0.9), ("ReLU", 1.0, 0.2))]
    chosen = choose_on_labels(rows)
    assert (chosen.kernel, chosen.mean) == ("linear", 0.6)


@pytest.mark.data
def test_sets_have_the_sizes_of_the_paper(data_dir: Path) -> None:
    X, y = load_set("ionosphere")
    assert X.shape == (351, 34)
    assert (y == 1).sum() == 225
    X, y = load_set("mnist", n=500, n_classes=2)
    assert X.shape == (500, 784)
    assert set(y) == {0, 1}
    assert X.max() == 1.0


@pytest.mark.slow
@pytest.mark.data
def test_figure_3_reduced(data_dir: Path) -> None:
    numbers = main(["3", "--reduced", "--sets", "mnist"])["mnist"]
    best = min(np.mean(v) for k, v in numbers.items() if k.startswith("sphere"))
    assert best < np.mean(numbers["noisy"])


def test_without_data_the_error_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RKHS_DATA", raising=False)
    with pytest.raises(InputError, match="RKHS_DATA must name the folder"):
        load_set("mnist")


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["simple", "spectral"])
def test_network_contrastive_learns_and_is_seeded(loss: str) -> None:
    X = np.random.default_rng(0).normal(size=(60, 5))
    X[:30] += 4.0
    model = NetworkContrastive(2, loss=loss, max_epochs=200)  # one spectral component is the constant
    Z = model.fit(X).transform(X)
    assert np.array_equal(model.fit(X).transform(X), Z)
    assert np.linalg.norm(Z[:30].mean(0) - Z[30:].mean(0)) > 2 * Z[:30].std(0).max()


def test_the_simple_loss_of_the_network_is_bounded_and_its_codes_are_white() -> None:
    """Positives that are longer than anchors once made it fall without end."""
    model = NetworkContrastive(2, 16, learning_rates=(1e-2,), max_epochs=20)
    z, minus = torch.randn(2, 50, 2, generator=torch.Generator().manual_seed(0))
    assert float(model._loss(z, 100.0 * z, minus)) > -6.0
    X = np.random.default_rng(0).normal(size=(60, 5))
    assert np.cov(model.fit(X).transform(X).T, bias=True) == pytest.approx(np.eye(2), abs=0.3)


@pytest.mark.slow
def test_weight_decay_of_the_networks_is_chosen_by_the_protocol() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = np.repeat([0, 1], 30)
    X[y == 1] += 3.0
    network = NetworkContrastive(2, 8, learning_rates=(1e-2,), max_epochs=10)
    grid = (1e-4, 1e-1)
    arguments = {"splits": range(2)}
    chosen = few_labels(X, y, methods={"n": network}, grids={"n": ("weight_decay", grid)}, **arguments)[1]
    fixed = [few_labels(X, y, methods={"n": clone(network).set_params(weight_decay=v)}, **arguments)[1] for v in grid]
    assert chosen.values is not None
    assert chosen.accuracies == tuple(fixed[grid.index(v)].accuracies[i] for i, v in enumerate(chosen.values))


def test_weight_decay_of_the_denoiser_is_chosen_on_held_out_rows() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2)) @ np.random.default_rng(1).normal(size=(2, 6))

    def fit(*decays: float) -> NetworkDenoiser:
        return NetworkDenoiser(2, 8, noise_std=0.1, learning_rates=(1e-2,), weight_decays=decays, max_epochs=40).fit(X)

    assert fit(10.0, 0.0).weight_decay_ == 0.0
    assert fit(10.0).validation_error_ > 2 * fit(0.0).validation_error_


@pytest.mark.slow
def test_network_denoiser_denoises() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 12))
    noisy = X + 0.3 * rng.normal(size=X.shape)
    back = NetworkDenoiser(2, 32, noise_std=0.3, max_epochs=200).fit(X).predict(noisy)
    assert ((back - X) ** 2).mean() < 0.6 * ((noisy - X) ** 2).mean()
