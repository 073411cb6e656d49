"""Input output kernel regression: scores by definition, decoding, candidates, multi-label, Gram forms, bad input."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from rkhs import InputOutputKernelRegressor, OperatorKernelRegressor
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, GaussianOf, Linear, Spectrum, Tanimoto
from rkhs.losses import EpsilonInsensitive, Huber, Squared, SquaredEpsilonInsensitive
from rkhs.metrics import hamming_error, top_k_accuracy, truth_ranks

LOSSES = [Squared(), SquaredEpsilonInsensitive(0.1), EpsilonInsensitive(0.1), Huber(0.2)]


def data(seed, n=30, q=4):
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, 3))
    return X, (X @ r.normal(size=(3, q)) + 0.3 * r.normal(size=(n, q)) > 0).astype(float)


@pytest.mark.sample(4)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("operator", [None, "covariance"])
def test_linear_output_kernel_is_vector_regression(loss, operator):
    X, Y = data(0)
    shared = {"loss": loss, "operator": operator, "reg": 0.05, "tol": 1e-11}
    objects = InputOutputKernelRegressor(**shared).fit(X, Y)
    vectors = OperatorKernelRegressor(**shared).fit(X, Y)
    np.testing.assert_allclose(objects.objective_, vectors.objective_, rtol=1e-8)
    np.testing.assert_allclose(objects.predict_weights(X) @ Y, vectors.predict(X), atol=2e-4)
    assert objects.gap_ <= 1e-10


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("operator", [None, "covariance"])
def test_scores_are_squared_distances_in_an_explicit_feature_space(center, operator):
    """A linear kernel on explicit features against the features themselves, candidates outside the training set."""
    X, Y = data(1, q=5)
    new = np.random.default_rng(5).normal(size=(7, 5))
    model = InputOutputKernelRegressor(center=center, operator=operator, reg=0.02, decoding="candidates").fit(X, Y)
    h = OperatorKernelRegressor(center=center, operator=operator, reg=0.02).fit(X, Y).predict(X[:4])
    expected = -((h[:, None] - new[None]) ** 2).sum(-1)
    np.testing.assert_allclose(model.scores(X[:4], new), expected, rtol=1e-8, atol=1e-9)
    ranking = model.rank(X[:4], new, n_best=3)
    np.testing.assert_array_equal(ranking.indices, np.argsort(-expected, axis=1)[:, :3])
    np.testing.assert_array_equal(model.predict(X[:4], new), new[expected.argmax(1)])


def test_one_candidate_set_or_one_per_sample():
    X, Y = data(2)
    model = InputOutputKernelRegressor(output_kernel="gaussian").fit(X, Y)
    sets = [Y[: 3 + i] + 0.1 for i in range(5)]
    scores = model.scores(X[:5], sets, per_sample=True)
    for i, one in enumerate(sets):
        np.testing.assert_allclose(scores[i], model.scores(X[i : i + 1], one)[0])
    chosen = model.predict(X[:5], sets, per_sample=True)
    np.testing.assert_array_equal(chosen, [s[int(v.argmax())] for s, v in zip(sets, scores, strict=True)])


def test_gram_forms_on_both_sides_equal_vectors():
    X, Y = data(3)
    k_in, k_out = Gaussian(0.3), Gaussian(0.5)
    plain = InputOutputKernelRegressor(k_in, output_kernel=k_out, loss=Huber(0.3)).fit(X, Y)
    grams = InputOutputKernelRegressor("precomputed", output_kernel="precomputed", loss=Huber(0.3))
    grams.fit(k_in(X), k_out(Y))
    new, candidates = X[:6] + 0.1, Y[:9]
    np.testing.assert_allclose(
        grams.scores(k_in(new, X), k_out(candidates, Y)), plain.scores(new, candidates), atol=1e-7
    )
    np.testing.assert_array_equal(
        candidates[grams.predict(k_in(new, X), k_out(candidates, Y))], plain.predict(new, candidates)
    )


def test_multilabel_threshold_is_the_nearest_of_all_label_vectors():
    X, Y = data(4)
    model = InputOutputKernelRegressor(reg=0.01).fit(X, Y)
    assert model.multilabel_
    everything = np.array(np.meshgrid(*[[0.0, 1.0]] * 4)).reshape(4, -1).T
    np.testing.assert_array_equal(model.predict(X), model.predict(X, everything))
    assert hamming_error(Y, model.predict(X)) < 0.2
    trained = InputOutputKernelRegressor(reg=0.01, decoding="candidates").fit(X, Y).predict(X)
    assert {tuple(row) for row in trained} <= {tuple(row) for row in Y}
    assert not InputOutputKernelRegressor(output_kernel="gaussian").fit(X, Y).multilabel_


def test_fingerprints_and_words():
    r = np.random.default_rng(5)
    prints = (r.random((40, 60)) < 0.3).astype(float)
    X = prints @ r.normal(size=(60, 20)) / 8
    model = InputOutputKernelRegressor("gaussian", output_kernel=GaussianOf(Tanimoto(), 0.72), reg=1e-4).fit(X, prints)
    ranks = truth_ranks(model.scores(X), np.arange(40))
    assert top_k_accuracy(ranks, 1) > 0.9

    def letters(a, b):
        return len(set(a) & set(b)) / len(set(a) | set(b))

    words = ["cat", "cats", "act", "dog", "dogs", "god"]
    objects = InputOutputKernelRegressor(letters, output_kernel=letters, reg=1e-3).fit(words, words)
    assert objects.predict(["ca", "do"], candidates=["tac", "good"]) == ["tac", "good"]
    assert objects.predict(["cat"])[0] in ("cat", "act")


def test_weights_are_repetitions():
    X, Y = data(6, n=12)
    counts = np.array([1, 2, 0, 1, 3, 1, 0, 2, 1, 1, 1, 2])
    rows = np.repeat(np.arange(12), counts)
    first = InputOutputKernelRegressor(Gaussian(0.5), output_kernel=Gaussian(0.5)).fit(X, Y, sample_weight=counts)
    second = InputOutputKernelRegressor(Gaussian(0.5), output_kernel=Gaussian(0.5)).fit(X[rows], Y[rows])
    np.testing.assert_allclose(first.scores(X, Y), second.scores(X, Y), atol=1e-8)


def test_constant_outputs_and_tensors():
    X, Y = data(7)
    model = InputOutputKernelRegressor(loss="huber").fit(X, np.ones((30, 2)))
    assert (model.predict(X[:3]) == 1.0).all()
    assert isinstance(InputOutputKernelRegressor().fit(X, Y).predict(torch.from_numpy(X)), torch.Tensor)


def test_bad_input_is_refused():
    X, Y = data(8)
    model = InputOutputKernelRegressor(output_kernel="gaussian").fit(X, Y)
    for call, match in [
        (lambda: model.predict(X, np.empty((0, 4))), "candidates must not be empty"),
        (lambda: model.predict(X, Y[:, :2]), "candidates must have 4 columns"),
        (lambda: model.predict(X, [Y], per_sample=True), "sequence of 30 sets"),
        (lambda: model.scores(X, np.full((2, 4), np.nan)), "finite"),
        (lambda: InputOutputKernelRegressor().fit(X, Y[:5]), "one output for each of the 30 rows"),
        (lambda: InputOutputKernelRegressor().fit(X, None), "requires y"),
        (lambda: InputOutputKernelRegressor(operator=np.eye(4)).fit(X, Y), "None or 'covariance' for outputs"),
        (lambda: InputOutputKernelRegressor(decoding="labels").fit(X, Y + 0.5), "zeros and ones"),
        (lambda: InputOutputKernelRegressor(decoding="best").fit(X, Y), "decoding must be one of"),
        (lambda: InputOutputKernelRegressor(output_kernel="precomputed").fit(X, Y), "square Gram matrix"),
        (
            lambda: InputOutputKernelRegressor(output_kernel="precomputed").fit(X, Linear()(Y)).predict(X),
            "candidates must be kernel values",
        ),
    ]:
        with pytest.raises(InputError, match=match):
            call()


@pytest.mark.sample(1)
@pytest.mark.parametrize(("operator", "weighted"), [("covariance", True), (None, False)])
def test_the_chosen_regulariser_has_the_least_error_of_refits(operator: str | None, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 3))
    Y[:, 0] += 2.0 * np.sin(2.0 * X[:, 0])
    copies = rng.integers(1, 3, 12) if weighted else np.ones(12, dtype=int)
    rows = np.repeat(np.arange(12), copies)
    w = copies if weighted else None
    model = InputOutputKernelRegressor(Gaussian(0.5), operator=operator, reg="auto", center=False).fit(X, Y, w)
    A = (Y[rows].T @ Y[rows]) / len(rows) if operator else np.eye(3)
    A /= np.linalg.eigvalsh(A).max()
    errors = {}
    for reg in np.logspace(0.0, -8.0, 17):
        missed = []
        for i in range(12):  # with its copies: weights are relative
            rest = rows[rows != i]
            K = Gaussian(0.5)(X[rest])
            C = np.linalg.solve(np.kron(K, A) + len(rows) * reg * np.eye(3 * len(rest)), Y[rest].ravel())
            missed.append(Y[i] - A @ (Gaussian(0.5)(X[i : i + 1], X[rest]) @ C.reshape(-1, 3))[0])
        errors[reg] = (copies * np.square(missed).sum(1)).sum() / np.square(Y[rows]).sum()
    assert model.reg_ == pytest.approx(min(errors, key=errors.__getitem__), rel=1e-9)
    assert model.leave_one_out_error_ == pytest.approx(min(errors.values()), rel=1e-6)
    same = InputOutputKernelRegressor(Gaussian(0.5), operator=operator, reg=model.reg_, center=False).fit(X, Y, w)
    np.testing.assert_array_equal(same.predict_weights(X), model.predict_weights(X))
    assert same.leave_one_out_error_ is None


def test_sums_of_kernels_and_robust_losses_take_a_fixed_regulariser() -> None:
    for params in ({"kernel": [(Gaussian(1.0), None), (Linear(), None)]}, {"loss": Huber(0.1)}):
        model = InputOutputKernelRegressor(**params).fit([[0.0], [1.0]], [0, 1])
        assert (model.reg_, model.leave_one_out_error_) == (1e-3, None)


def test_the_score_is_the_share_of_the_features_that_is_predicted() -> None:
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    Y[:, 0] = X[:, 0]
    w = rng.uniform(0.5, 2.0, 10)
    model = InputOutputKernelRegressor(Gaussian(0.5)).fit(X[:20], Y[:20])
    missed = np.square(model.predict_weights(X[20:]) @ Y[:20] - Y[20:]).sum(1)
    spread = np.square(Y[20:] - Y[:20].mean(0)).sum(1)
    assert model.score(X[20:], Y[20:]) == pytest.approx(1.0 - missed.sum() / spread.sum(), rel=1e-9)
    assert model.score(X[20:], Y[20:], w) == pytest.approx(1.0 - w @ missed / (w @ spread), rel=1e-9)
    gram = InputOutputKernelRegressor(Gaussian(0.5), output_kernel="precomputed").fit(X[:20], Y[:20] @ Y[:20].T)
    diag = np.square(Y[20:]).sum(1)
    assert gram.score(X[20:], Y[20:] @ Y[:20].T, diag=diag) == pytest.approx(
        1.0 - missed.sum() / spread.sum(), rel=1e-9
    )
    search = GridSearchCV(InputOutputKernelRegressor(Gaussian(0.5)), {"reg": [1e-3, 1e3]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"reg": 1e-3}
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.score(X[20:], Y[21:])
    with pytest.raises(InputError, match="differ from the mean"):
        InputOutputKernelRegressor().fit(X, np.ones(30)).score(X, np.ones(30))


def test_words_have_a_score_and_a_choice() -> None:
    X, words = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]], ["cat", "cats", "cast", "dog", "dogs", "good"]
    model = InputOutputKernelRegressor("gaussian", output_kernel="spectrum", reg="auto").fit(X, words)
    assert 0.0 < model.score(X, words) <= 1.0
    assert model.score(X, words[::-1]) < 0.0


def test_as_many_labels_as_the_predictions_sum_to() -> None:
    X, Y = data(5)
    model = InputOutputKernelRegressor(Gaussian(0.3), decoding="cardinality").fit(X, Y)
    vectors = model.predict_weights(X) @ Y
    for labels, row in zip(model.predict(X), vectors, strict=True):
        assert labels.sum() == np.clip(np.rint(row.sum()), 0, 4)
        assert row[labels == 1].min(initial=np.inf) >= row[labels == 0].max(initial=-np.inf)
    assert (model.predict(X) != (vectors > 0.5)).any()
    one = InputOutputKernelRegressor(Gaussian(0.3), decoding="cardinality").fit(X, Y[:, 0])
    half = InputOutputKernelRegressor(Gaussian(0.3), decoding="labels").fit(X, Y[:, 0])
    np.testing.assert_array_equal(one.predict(X), half.predict(X))
    with pytest.raises(InputError, match="decoding='cardinality' needs output_kernel='linear'"):
        InputOutputKernelRegressor(decoding="cardinality").fit(X, X)


def test_a_grid_search_chooses_the_kernel_of_inputs_for_texts_as_outputs() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    words = ["".join("ab"[int(v > 0)] for v in row) * 2 for row in X]
    model = InputOutputKernelRegressor(output_kernel=Spectrum(2))
    grid = {"kernel": ["gaussian", "laplacian"], "reg": [1e-3, 1e3]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, words)
    assert search.best_params_["reg"] == 1e-3
    by_hand = [
        clone(model)
        .set_params(**search.best_params_)
        .fit(X[train], [words[i] for i in train])
        .score(X[test], [words[i] for i in test])
        for train, test in KFold(3).split(X)
    ]
    assert search.best_score_ == pytest.approx(np.mean(by_hand))
    assert set(search.predict(X[:5])) <= set(words)


def test_outputs_that_are_not_known_are_refused_by_their_rows():
    X, Y = data(3)
    Y[4, 1] = Y[7] = np.nan
    for y, rows in ((Y, "2 of 30 rows, 4, 7"), (Y[:, 1], "2 of 30 rows, 4, 7")):
        with pytest.raises(InputError, match=f"NaN in {rows}. Leave these rows out, or fit OperatorKernelRegressor"):
            InputOutputKernelRegressor().fit(X, y)
    known = ~np.isnan(Y).any(1)
    assert InputOutputKernelRegressor().fit(X[known], Y[known]).predict(X).shape == (30, 4)
