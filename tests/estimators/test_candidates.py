"""Candidates ranked by their own codes: the definition, every kind of model, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import InputError
from rkhs.cli import decode
from rkhs.cli.main import main
from rkhs.data import write_codes
from rkhs.evaluation import decoding_quality
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Tanimoto
from tests.tables import read_table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
NEW = RNG.normal(size=(12, 3))
BITS = (RNG.random((40, 32)) < 0.3).astype(float)
WORDS = ["space", "grace", "trace", "gram", "grim", "prim", "print", "kernel", "colonel", "journal"]

MODELS: list[tuple[Any, Any, Any]] = [
    (KernelAutoencoder(2, output_kernel="same", reg=1e-3), X, NEW),
    (KernelAutoencoder((3, 2, 3), output_kernel="same", reg=1e-3, max_iter=20), X, NEW),
    (KernelAutoencoder(2, reg=1e-3), X, NEW),
    (KernelAutoencoder(2, kernel="spectrum", reg=1e-3), WORDS, ["traces", "kernels", "gram"]),
    (KernelPCA(2), X, NEW),
    (KernelPCA(2, storage=Nystroem(15, random_state=0)), X, NEW),
    (KernelPCA(2, columns="scaled"), X, NEW),
]


@pytest.mark.sample(4)
@pytest.mark.usefixtures("long_fits")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("model", "train", "new"), MODELS, ids=lambda value: repr(value)[:60])
def test_codes_rank_by_the_distance_between_codes(model: Any, train: Any, new: Any) -> None:
    model.fit(train)
    codes, own = model.transform(new)[:2] + 0.01, model.transform(new)
    ranking = model.decode(codes, new, by="codes")
    D = ((codes[:, None] - own[None]) ** 2).sum(-1)
    np.testing.assert_allclose(ranking.distances, np.sort(D, 1), rtol=1e-9)
    np.testing.assert_array_equal(ranking.indices, np.argsort(D, 1, kind="stable"))
    trained = model.decode(codes, by="codes", n_best=3)
    D = ((codes[:, None] - model.codes_[None]) ** 2).sum(-1)
    np.testing.assert_array_equal(trained.indices, np.argsort(D, 1, kind="stable")[:, :3])


@pytest.mark.slow
@pytest.mark.parametrize("cls", [KernelAutoencoder, KernelPCA])
def test_gram_matrices_are_encoded_too(cls: type) -> None:
    kernel = Gaussian(0.3)
    options = {"output_kernel": "same"} if cls is KernelAutoencoder else {}
    direct = cls(2, kernel=kernel, **options).fit(X)
    gram = cls(2, kernel="precomputed").fit(kernel(X))
    codes = direct.transform(NEW)
    first, second = direct.decode(codes, NEW, by="codes"), gram.decode(codes, kernel(NEW, X), by="codes")
    np.testing.assert_array_equal(first.indices[:, 0], np.arange(len(NEW)))
    np.testing.assert_array_equal(second.indices[:, 0], np.arange(len(NEW)))
    np.testing.assert_allclose(first.distances, second.distances, atol=1e-5)


def same(first: Any, second: Any) -> bool:
    return bool(np.array_equal(first.distances, second.distances))


def test_the_default_is_codes_for_features_and_vectors_for_vectors() -> None:
    codes = NEW[:3, :2]
    for model, by in ((KernelAutoencoder(2, output_kernel="same"), "codes"), (KernelAutoencoder(2), "features")):
        model.fit(X)
        other = "features" if by == "codes" else "codes"
        for candidates in (NEW, None):
            assert same(model.decode(codes, candidates), model.decode(codes, candidates, by=by))
            assert not same(model.decode(codes, candidates), model.decode(codes, candidates, by=other))
    gram = KernelPCA(2, kernel="precomputed").fit(Gaussian(0.3)(X))
    rows = Gaussian(0.3)(NEW, X)
    assert same(gram.decode(codes, rows), gram.decode(codes, rows, by="codes"))
    assert same(gram.decode(codes, rows, diag=1.0), gram.decode(codes, rows, by="features"))


@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")
def test_new_molecules_are_found_among_training_ones() -> None:
    bits = (RNG.random((120, 64)) < 0.3).astype(float)
    model = KernelAutoencoder(4, kernel=Tanimoto(), output_kernel="same").fit(bits[:80])
    codes = model.transform(bits[80:])
    truth = np.arange(80, 120)
    by_features = model.decode(codes, bits, by="features").indices[:, 0]
    assert (by_features == truth).mean() < 0.2
    assert (model.decode(codes, bits).indices[:, 0] == truth).all()


@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")
def test_quality_asks_what_a_code_keeps() -> None:
    model = KernelAutoencoder(1, kernel=Tanimoto(), output_kernel="same").fit(BITS[:30])
    assert decoding_quality(model, BITS[30:]).top[1] < 1.0
    assert decoding_quality(model, BITS[30:], by="codes").top[1] == 1.0


def test_what_codes_cannot_rank_is_refused() -> None:
    others = KernelAutoencoder(2, kernel="gaussian").fit(X, targets=X[:, :2])
    with pytest.raises(
        InputError, match=r"by='codes' encodes the candidates, but the targets of this model are not its inputs"
    ):
        others.decode(others.codes_, X[:, :2], by="codes")
    model = KernelPCA(2, kernel="precomputed").fit(Gaussian(0.3)(X))
    with pytest.raises(InputError, match=r"diag is not used with by='codes'; leave it out"):
        model.decode(model.codes_, Gaussian(0.3)(X), by="codes", diag=1.0)
    with pytest.raises(InputError, match="by must be one of"):
        model.decode(model.codes_, Gaussian(0.3)(X), by="vectors")
    with pytest.raises(InputError, match="candidates must be"):
        model.decode(model.codes_, X[:, :2])


def test_the_command_line_ranks_by_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_codes("table.csv", X)
    write_codes("new.csv", NEW)
    assert main(["fit", "table.csv", "-o", "m.rkhs", "--set", "output_kernel=same", "--quiet"]) == 0
    assert main(["transform", "m.rkhs", "new.csv", "-o", "z.csv"]) == 0
    command = ["decode", "m.rkhs", "z.csv", "--candidates", "new.csv", "--n-best", "1", "-o", "best.csv"]
    monkeypatch.setattr(decode, "_CANDIDATES", 5)
    assert main(command) == 0
    np.testing.assert_array_equal(read_table("best.csv").X[:, 2], np.arange(1.0, 13.0))
    np.testing.assert_allclose(read_table("best.csv").X[:, 3], 0.0, atol=1e-12)
    assert main([*command, "--by", "features"]) == 0
    assert (read_table("best.csv").X[:, 3] > 1e-6).all()
    capsys.readouterr()
