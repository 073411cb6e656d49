"""The studies of the deep machine paper: figures, Table 2, the beta-VAE, and the resumable disentanglement study."""

import json

import numpy as np
import pytest
import torch

from rkhs import DeepRKM
from rkhs._core.errors import InputError
from rkhs.solvers import CayleyAdam
from studies.harness.cells import cell_key
from studies.networks.beta_vae import BetaVAE
from studies.papers import disentanglement, drkm_table2
from studies.papers.claims.runs import drkm_figures
from studies.papers.disentanglement_figures import draw
from studies.papers.drkm_table2 import MODELS, denoise_model
from studies.papers.shapes import SHAPES, sample_shape


@pytest.mark.parametrize("shape", list(SHAPES))
def test_figures(shape):
    clean, noisy = sample_shape(shape, 203, 0.1, 0)
    assert clean.shape == noisy.shape == (203, 2)
    assert (noisy - clean).std() == pytest.approx(0.1, rel=0.2)
    assert np.array_equal(sample_shape(shape, 203, 0.1, 0)[1], noisy)
    if shape == "square":
        assert np.allclose(np.abs(clean).max(1), 1.0)
    if shape == "half circle":
        assert np.allclose(np.linalg.norm(clean, axis=1), 1.0)
        assert (clean[:, 1] >= 0).all()


@pytest.mark.data
def test_table_1_goes_on_where_it_stopped(data_dir, tmp_path, monkeypatch):
    monkeypatch.setitem(drkm_figures._SOLVERS, "Cayley Adam", CayleyAdam(5e-5, max_iter=20))
    first = drkm_figures.solved(30, drkm_figures.ALGORITHMS[:3], 1, path=tmp_path / "cells")
    monkeypatch.setitem(drkm_figures._SOLVERS, "penalty", None)  # what is done is not done once more
    again = drkm_figures.solved(30, drkm_figures.ALGORITHMS[:1], 1, path=tmp_path / "cells")
    assert np.array_equal(again["penalty"], first["penalty"])
    cost, infeasibility, steps = np.array(list(first.values()))[:, 0].T
    assert cost[0] == pytest.approx(cost[1], rel=1e-5)
    assert infeasibility.max() < 1e-8
    assert steps[1] < steps[0] < np.inf  # of projected gradient, and the penalty


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", MODELS)
def test_table2_model(name):
    one = denoise_model(name, "half circle", 0.2, n=120, n_validation=60, grid=(0.1, 1.0, 100.0))
    assert one.bandwidth in (0.1, 1.0, 100.0)
    assert one.at_edge == (one.bandwidth != 1.0)
    assert 0.0 < one.relative == pytest.approx(one.error / 0.08)
    assert one.bandwidth > 10 or one.short == one.error
    if name == "kernel PCA, centred":
        assert one.relative < 1.0


def test_table2_resumes_model_by_model(tmp_path, monkeypatch, capsys):
    calls = []

    def fake(name, shape, noise, **_):
        calls.append((shape, noise, name))
        return drkm_table2.Denoised(1.0 + len(calls), 0.5, 1.0, False, 1.0)

    monkeypatch.setattr(drkm_table2, "denoise_model", fake)
    file = tmp_path / "cells.jsonl"
    assert drkm_table2.main(["--reduced", "--cells", str(file), "--minutes", "-1"]) == {}
    assert "the same command goes on" in capsys.readouterr().out
    whole = drkm_table2.main(["--reduced", "--cells", str(file)])
    assert len(calls) == len(set(calls)) == 3 * len(whole) == 36
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])  # killed while writing
    again = drkm_table2.main(["--reduced", "--cells", str(file)])
    assert len(calls) == 37
    assert list(again.items())[:-1] == list(whole.items())[:-1]
    assert "35 of 36 models done" in capsys.readouterr().out
    drkm_table2.main(["--reduced", "--cells", str(file)])
    assert len(calls) == 37


def blobs(n):
    """Bright squares at four places."""
    place = np.arange(n) % 4
    X = np.zeros((n, 64, 64))
    for image, p in zip(X, place, strict=True):
        image[16 * p : 16 * p + 16, 8:40] = 1.0
    return X.reshape(n, -1), place


@pytest.mark.slow
def test_beta_vae_learns():
    X, place = blobs(16)
    model = BetaVAE(2, beta=1.0, max_steps=60, batch_size=8, learning_rate=4e-3).fit(X)
    assert model.history_[model.best_epoch_] < 0.7 * model.history_[0]
    codes = model.transform(X)
    within = np.mean([codes[place == p].var(0).sum() for p in range(4)])
    assert within < 0.2 * codes.var(0).sum()
    images = model.inverse_transform(codes)
    assert images.shape == X.shape
    assert 0.0 <= images.min() <= images.max() <= 1.0


@pytest.mark.slow
def test_beta_vae_repeats():
    X, _ = blobs(16)
    a, b = (BetaVAE(2, max_steps=6, batch_size=8).fit(X).transform(X) for _ in range(2))
    assert np.allclose(a, b)
    assert not np.allclose(a, BetaVAE(2, max_steps=6, batch_size=8, random_state=1).fit(X).transform(X))


@pytest.mark.slow
def test_beta_vae_stops_by_its_held_out_bound():
    X, _ = blobs(16)
    early = BetaVAE(2, batch_size=8, max_steps=60, patience=1, learning_rate=8e-3).fit(X)
    assert early.converged_
    assert early.history_[early.best_epoch_] == min(early.history_) < early.history_[-1]
    late = BetaVAE(2, batch_size=8, max_steps=3, patience=500).fit(X)
    assert not late.converged_
    assert len(late.history_) == 2  # two steps per epoch, and the second is finished


@pytest.mark.slow
def test_beta_vae_sees_all_images_if_asked_for():
    X, _ = blobs(16)
    settings = {"batch_size": 8, "max_steps": 28, "learning_rate": 4e-3}
    plain, again = (BetaVAE(2, refit=refit, **settings).fit(X) for refit in (False, True))
    assert plain.history_ == again.history_
    assert not np.allclose(plain.transform(X), again.transform(X))
    held = torch.randperm(16, generator=torch.Generator().manual_seed(0))[:2].numpy()

    def error(model):
        return ((model.inverse_transform(model.transform(X[held])) - X[held]) ** 2).mean()

    assert error(again) < error(plain)


@pytest.mark.slow
def test_beta_vae_says_when_it_diverges():
    X, _ = blobs(16)
    with pytest.raises(InputError, match=r"learning_rate=50 is too large"):
        BetaVAE(2, batch_size=8, max_steps=60, learning_rate=50.0).fit(X)


@pytest.mark.slow
def test_beta_weighs_the_divergence():
    X, _ = blobs(16)
    loose, tight = (BetaVAE(2, beta=b, max_steps=24, batch_size=8).fit(X).transform(X).var() for b in (0.1, 500.0))
    assert tight < 0.1 * loose


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (np.zeros((10, 100)), {}, "images of 64 x 64"),
        (np.full((10, 4096), 255.0), {}, r"pixels in \[0, 1\]"),
        (np.zeros((10, 4096)), {"beta": -1.0}, "beta must be >= 0"),
        (np.zeros((10, 4096)), {"patience": 0}, "patience must be an integer >= 1"),
        (np.zeros((10, 4096)), {"n_components": 0}, "n_components must be an integer >= 1"),
    ],
)
def test_beta_vae_refuses(X, settings, message):
    with pytest.raises(InputError, match=message):
        BetaVAE(**settings).fit(X)


def small_world(name):
    X, place = blobs(64)
    half = np.arange(64) // 32
    X = X * np.where(half, 0.5, 1.0)[:, None]
    return X.astype(np.float32), np.stack([place, half], 1)


@pytest.mark.slow
def test_study_resumes_cell_by_cell(tmp_path, monkeypatch, capsys):
    plan = [
        {"data": "coil20", "n": 40, "seed": s, "figure": "gamma", "widths": (4, 3), "gamma": 5.0} for s in range(2)
    ] + [{"data": "coil20", "n": 40, "seed": 0, "figure": "start", "widths": (4, 3), "init": "kpca"}]
    monkeypatch.setattr(disentanglement, "load_images", small_world)
    monkeypatch.setattr(disentanglement, "cells", lambda *_, **__: iter(plan))
    file = tmp_path / "cells.jsonl"
    rows = disentanglement.main(["--reduced", "--cells", str(file)])
    assert len(rows) == len(file.read_text().splitlines()) == 3
    assert all(0.0 <= row[score] <= 1.0 for row in rows for score in disentanglement.SCORES)
    assert rows[0]["latents"] == 7
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:2]) + "\n" + lines[2][:30])  # killed while writing
    monkeypatch.setattr(disentanglement, "run_cell", lambda cell, *_, **__: {**rows[2], "seconds": 0.0})
    again = disentanglement.main(["--reduced", "--cells", str(file)])
    assert again[:2] == [json.loads(json.dumps(row)) for row in rows[:2]]
    assert "2 of 3 cells done" in capsys.readouterr().out
    assert disentanglement.main(["--reduced", "--cells", str(file)])[:2] == again[:2]
    assert "3 of 3 cells done; the others take about 0 min" in capsys.readouterr().out


def test_study_stops_when_time_is_up(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(disentanglement, "run_cell", lambda *_, **__: pytest.fail("no cell should start"))
    assert disentanglement.main(["--cells", str(tmp_path / "none"), "--minutes", "-1"]) == []
    out = capsys.readouterr().out
    assert "the same command goes on" in out
    assert " h on one core" in out


@pytest.mark.slow
def test_figures_of_the_study(tmp_path):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    rows = []
    for cell in disentanglement.cells(("dsprites",), (50, 100), range(2), reduced=True):
        rows.append({**json.loads(cell_key(cell)), **dict.fromkeys(disentanglement.SCORES, rng.uniform())})
    files = draw(rows, tmp_path)
    assert {file.name for file in files} == {
        f"dsprites_{kind}.png" for kind in ("widths", "depth", "images", "weights", "lines")
    }
    assert all(file.stat().st_size > 5_000 for file in files)
    assert len(draw([row for row in rows if row["figure"] == "widths"], tmp_path / "few")) == 1


@pytest.mark.slow
def test_deterministic_start_has_no_variance_between_seeds():
    X, factors = small_world("")
    cell = {"data": "d", "n": 40, "figure": "start", "widths": (4, 3)}
    for init, same in (("kpca", True), ("random", False)):
        a, b = (
            disentanglement.run_cell({**cell, "init": init, "seed": s}, X, factors, n_eval=64, trees=2) for s in (0, 1)
        )
        assert (a["IRS"] == b["IRS"]) == same


@pytest.mark.slow
def test_scores_compare_methods_whatever_the_scale_of_their_codes(monkeypatch):
    """A machine of 100 images has codes of size 0.1, a VAE of size one: no score may see that."""
    X, factors = small_world("")
    cell = {"figure": "depth", "data": "d", "widths": (4, 3), "n": 40, "seed": 0}
    first = disentanglement.run_cell(cell, X, factors, n_eval=64, trees=2)
    transform = DeepRKM.transform
    monkeypatch.setattr(DeepRKM, "transform", lambda self, X, layer=None: 50.0 * transform(self, X, layer) + 3.0)
    second = disentanglement.run_cell(cell, X, factors, n_eval=64, trees=2)
    for score in disentanglement.SCORES:
        assert second[score] == pytest.approx(first[score], rel=1e-6), score


def test_plan_covers_the_paper():
    plan = list(disentanglement.cells(("dsprites",), disentanglement.SIZES, range(5)))
    assert {c["n"] for c in plan} == {50, 100, 200, 400, 800}
    assert {c.get("gamma") for c in plan if c["figure"] == "gamma"} == set(disentanglement.GAMMAS)
    assert len({(c["widths"], c["bandwidths"]) for c in plan if c["figure"] == "widths"}) == 16
    assert {c["beta"] for c in plan if c["figure"] == "beta-VAE"} == {2, 3, 4, 5, 6}
    assert len({cell_key(c) for c in plan}) == len(plan)


@pytest.mark.parametrize(("name", "shape"), [("cars3d", (6, 64, 64, 3)), ("smallnorb", (6, 64, 64))])
def test_loaders_of_sets_that_users_bring(name, shape, tmp_path, monkeypatch):
    monkeypatch.setenv("RKHS_DATA", str(tmp_path))
    with pytest.raises(InputError, match=f"{name} is not in the data folder"):
        disentanglement.load_images(name)
    (tmp_path / name).mkdir()
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.savez(tmp_path / name / f"{name}.npz", X=images, factors=np.zeros((6, 3), dtype=int))
    X, factors = disentanglement.load_images(name)
    assert factors.shape == (6, 3)
    assert X.shape == (6, images[0].size)
    planes = X.reshape(6, -1, 64, 64)
    assert np.allclose(planes[2, 0], images[2].reshape(64, 64, -1)[..., 0] / 255.0)
    np.savez(tmp_path / name / f"{name}.npz", X=images[:, :48, :48], factors=np.zeros((6, 3), dtype=int))
    with pytest.raises(InputError, match="must hold X of shape"):
        disentanglement.load_images(name)


def test_bundled_folder(data_dir, monkeypatch):
    monkeypatch.setenv("RKHS_DATA", str(data_dir))
    X, factors = disentanglement.load_images("coil20")
    assert X.shape == (1440, 4096)
    assert factors.shape == (1440, 2)
    assert 0.0 <= X.min() <= X.max() <= 1.0
    with pytest.raises(InputError, match="cars3d is not in the data folder"):
        disentanglement.load_images("cars3d")
