"""Figures 3, 5, 6 and 7 of the paper on kernel autoencoders (2019): what their sentences say, as statistics."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from rkhs import KernelAutoencoder
from rkhs.kernels import Gaussian
from rkhs.solvers import Alternating
from studies.networks import NetworkAutoencoder
from studies.papers.claims.conditions import KAE
from studies.papers.claims.rules import Judged, direction, shows
from studies.papers.claims.verdicts import Answer, Part, run_of
from studies.papers.shapes import circles, clusters

Values = dict[str, list[float]]
CENTRES = ((-1.0, 0.0), (1.0, 0.0), (0.0, 1.7))
"""Of the Gaussian clusters, the first two or all three."""


def _fit(p: int, X: np.ndarray, *, gamma: float = 1.0, reg: float = 1e-4, **options: Any) -> Any:
    """The published model from uniform coefficients, unless an option says otherwise."""
    given = {"init": "uniform", "random_state": 0, "max_iter": 200, **KAE, **options}
    model = KernelAutoencoder(p, kernel=Gaussian(gamma), decoder_kernel=Gaussian(1.0), reg=(reg, reg), **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def _default(p: int, X: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(KernelAutoencoder(p, random_state=0).fit(X).codes_)


def _rounds(count: int, rate: float = 1.0) -> dict[str, Any]:
    """Algorithm 1 with plain gradient steps: the largest power of ten as rate with which 20 rounds descend."""
    return {"solver": Alternating(learning_rate=rate, max_iter=count, tol=0.0, metric="plain")}


def _share_between(Z: np.ndarray, label: np.ndarray) -> float:
    """Share of the variance of codes that lies between groups."""
    means = np.array([Z[label == k].mean(0) for k in np.unique(label)])
    counts = np.array([(label == k).sum() for k in np.unique(label)])
    total = ((Z - Z.mean(0)) ** 2).sum()
    return float((counts[:, None] * (means - Z.mean(0)) ** 2).sum() / max(total, 1e-300))


def _off_line(curve: np.ndarray) -> float:
    """Share of the variance of points in the plane that lies off their own line."""
    w = np.linalg.svd(curve - curve.mean(0), compute_uv=False)
    return float(w[-1] ** 2 / max((w**2).sum(), 1e-300))


def _right_sign(z: np.ndarray, label: np.ndarray) -> float:
    """Share of points with the sign of their cluster, of two, whichever of them is positive."""
    good = float(((z > 0.0) == (label == 0)).mean())
    return max(good, 1.0 - good)


def _deviation_inside(Z: np.ndarray, label: np.ndarray) -> float:
    """Root mean square distance of codes from the mean of their group."""
    return float(
        np.sqrt(np.mean(np.concatenate([(Z[label == k] - Z[label == k].mean(0)) ** 2 for k in np.unique(label)])))
    )


def _neighbours(Z: np.ndarray, label: np.ndarray) -> float:
    found = cross_val_predict(KNeighborsClassifier(3), Z, label, cv=LeaveOneOut())
    return float((found == label).mean())


def _settings(fast: bool, gammas: tuple[float, ...], regs: tuple[float, ...]) -> dict[str, dict[str, float]]:
    pairs = list(product(gammas, regs))[: 2 if fast else None]
    return {f"gamma {gamma:g}, reg {reg:g}": {"gamma": gamma, "reg": reg} for gamma, reg in pairs}


def _table(
    settings: Mapping[str, dict[str, float]], draws: int, statistic: Callable[[int, dict[str, float]], dict[str, float]]
) -> dict[str, Values]:
    """Statistics by name, setting and draw of data."""
    found: dict[str, Values] = {}
    for setting, options in settings.items():
        for draw in range(draws):
            for name, value in statistic(draw, options).items():
                found.setdefault(name, {}).setdefault(setting, []).append(value)
    return found


def _ours(draws: int, statistic: Callable[[int], dict[str, float]]) -> dict[str, list[float]]:
    rows = [statistic(draw) for draw in range(draws)]
    return {name: [row[name] for row in rows] for name in rows[0]}


# ---------------------------------------------------------------- figure 3


@run_of("kae-fig3a-c")
def circles_through_one_number(fast: bool) -> Answer:
    """Training points, as the figure draws them; new points beside."""
    draws, n, starts = (2, 60, 2) if fast else (10, 150, 10)
    residual: Values = {"tanh": [], "relu": []}
    network, fresh = [], []
    for draw in range(draws):
        X, _ = circles(n, draw)
        errors = []
        for activation in ("tanh", "relu"):
            options: dict[str, Any] = {"activation": activation, "max_epochs": 50 if fast else 400, "refit": True}
            untrained = NetworkAutoencoder(1, hidden=(), code_activation=True, learning_rates=(1e-2,), **options)
            model = untrained.fit(X)
            errors.append(float(model.reconstruction_error(X).mean()))
            residual[activation].append(_off_line(model.inverse_transform(model.transform(X))))
        network.append(min(errors))

    def measured(draw: int, model: Any) -> dict[str, float]:
        X, label = circles(n, draw)
        error = float(model.reconstruction_error(X).mean())
        curve = _off_line(model.inverse_transform(model.transform(X)))
        return {"ii": error / network[draw] - 1.0, "curve": curve, "share": _share_between(model.codes_, label)}

    def published(draw: int, options: dict[str, Any]) -> dict[str, float]:
        model = _fit(1, circles(n, draw)[0], max_iter=300, **{"random_state": draw, **options})
        fresh.append(float(model.reconstruction_error(circles(n, 1000 + draw)[0]).mean()) / network[draw])
        return measured(draw, model)

    def default(draw: int) -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return measured(draw, KernelAutoencoder(1, random_state=0).fit(circles(n, draw)[0]))

    settings: dict[str, Any] = _settings(fast, (1.0, 3.0, 10.0), (1e-3, 1e-4, 1e-2))
    settings["random starts"] = {"gamma": 3.0, "reg": 1e-3, "init": "random", "n_init": starts, "random_state": 0}
    found = _table(settings, draws, published)
    ours = _ours(draws, default)
    name = "training error over that of the network, less 1:"
    nearer = direction(found["ii"], sign=-1, name=name)
    nearer = nearer.saying(f"{nearer.found}; on new points {np.mean(fresh[:draws]):.2f} times that of the network")
    name_line = "share of the variance off the line"
    line = shows(residual, at_most=0.05, name=name_line)
    curve, our_curve = (shows(values["curve"], at_least=0.05, name=name_line) for values in (found, ours))
    share = shows(found["share"], at_least=0.25, name="the same models: share of the variance of codes between circles")
    return {
        "i": Part(line.limited("by construction"), "does not apply: about networks"),
        "curve": Part(curve, our_curve),
        "ii": Part(nearer, direction(ours["ii"], sign=-1, name=name), (share,)),
    }


@run_of("kae-fig3d-e")
def codes_along_iterations(fast: bool) -> Answer:
    """The start tells the circles apart, which is shown too."""
    draws, n, starts = (2, 60, 1) if fast else (10, 150, 3)

    def shares(draw: int, given: dict[str, float]) -> dict[str, float]:
        X, label = circles(n, draw)
        options = {"reg": given["reg"], "gamma": given["gamma"]}
        five, twenty = (_rounds(count, given.get("rate", 1.0)) for count in (5, 20))
        K, found = np.asarray(Gaussian(options["gamma"])(X)), np.zeros(7)
        for start in range(starts):
            rng = np.random.default_rng(1000 * draw + start)
            uniform, normal = K @ rng.uniform(size=(n, 1)), K @ rng.normal(size=(n, 1))
            early, late = (_fit(1, X, init=uniform, **rounds, **options).codes_ for rounds in (five, twenty))
            other = _fit(1, X, init=normal, **five, **options).codes_
            end = _fit(1, X, init=uniform, **options).codes_
            within = np.log(_deviation_inside(late, label) / _deviation_inside(early, label))
            size = 0.5 * np.log((late**2).mean() / (early**2).mean())
            shared = [_share_between(Z, label) for Z in (uniform, early, late, other, end)]
            found += [*shared, within, within - size]
        zero, after, later, symmetric, final, inside, relative = (float(value) for value in found / starts)
        changes = {"change": later - after, "inside": inside, "relative": relative}
        return {"zero": zero, "five": after, "gain": after - symmetric, "end": final, **changes}

    settings = _settings(fast, (1.0, 3.0, 10.0), (1e-3, 1e-4, 1e-2))
    settings["rate .1"] = {**next(iter(settings.values())), "rate": 0.1}
    found = _table(settings, draws, shares)
    at_start = np.mean(next(iter(found["zero"].values())))
    apart = shows(found["five"], at_least=0.25, name="share between circles after 5 rounds")
    apart = apart.saying(f"{apart.found}; before the first round {at_start:.2f}: the start shows it")
    inside, beside = (
        direction(found[key], sign=1, name=f"log of the deviation inside circles{words}, round 20 over round 5:")
        for key, words in (("inside", ""), ("relative", " over the size of codes"))
    )
    start = direction(found["gain"], sign=1, name="share from uniform less share from normal coefficients, 5 rounds:")
    fall = direction(found["change"], sign=-1, name="share between circles, from round 5 to 20:")
    by_default = [_share_between(_default(1, circles(n, draw)[0]), circles(n, draw)[1]) for draw in range(draws)]
    ours = shows(by_default, at_least=0.25, name="share between circles at the end of a fit with our defaults")
    end = shows(found["end"], at_least=0.25, name="share between circles at the end of L-BFGS from the same start")
    return {
        "d": Part(apart, ours, (start, end)),
        "e": Part(inside, "does not apply: a start of ours is near its end", (beside, fall)),
    }


def _ring(Z: np.ndarray, X: np.ndarray, label: np.ndarray) -> float:
    """Mean over circles of the resultant of the difference between angles in codes and in data, of the better turn."""
    kept = []
    for k in np.unique(label):
        code, point = Z[label == k] - Z[label == k].mean(0), X[label == k]
        a, b = np.arctan2(code[:, 1], code[:, 0]), np.arctan2(point[:, 1], point[:, 0])
        kept.append(max(abs(np.exp(1j * (a - b)).mean()), abs(np.exp(1j * (a + b)).mean())))
    return float(np.mean(kept))


@run_of("kae-fig3f")
def circles_through_two_numbers(fast: bool) -> Answer:
    """From uniform coefficients, 100 rounds."""
    draws, n = (2, 60) if fast else (10, 150)

    def statistics(draw: int, options: dict[str, float]) -> dict[str, float]:
        X, label = circles(n, draw)
        Z = _fit(2, X, random_state=draw, **_rounds(20 if fast else 100), **options).codes_
        return {"apart": _share_between(Z, label), "rings": _ring(Z, X, label)}

    def default(draw: int) -> dict[str, float]:
        X, label = circles(n, draw)
        Z = _default(2, X)
        return {"apart": _share_between(Z, label), "rings": _ring(Z, X, label)}

    found, ours = (
        _table(_settings(fast, (1.0, 3.0, 10.0), (1e-3, 1e-4, 1e-2)), draws, statistics),
        _ours(draws, default),
    )
    rules = {"apart": (0.25, "share between circles"), "rings": (0.8, "agreement of angles")}
    return {
        part: Part(shows(found[part], at_least=line, name=name), shows(ours[part], at_least=line, name=name))
        for part, (line, name) in rules.items()
    }


# ---------------------------------------------------------------- figures 5 to 7

_SEPARATED: dict[str, Any] = {"at_least": 0.98, "name": "share of points on the right side"}
_SIGNED: dict[str, Any] = {"at_least": 0.95, "draws": 0.8, "name": "share of points with the sign of their cluster"}


def _with_rounds(fast: bool, gammas: tuple[float, ...]) -> dict[str, dict[str, Any]]:
    """The algorithm of the paper first, for a number of rounds; beside it L-BFGS to the end."""
    return {"200 rounds": {**_rounds(200)}, **_settings(fast, gammas, (1e-4, 1e-3))}


@run_of("kae-fig5")
def clusters_on_a_line(fast: bool) -> Answer:
    """Codes are not centred: their sign counts."""
    draws = 3 if fast else 20

    def inside(X: np.ndarray, Z: np.ndarray, label: np.ndarray) -> float:
        return float(np.mean([abs(np.corrcoef(X[label == k, 0], Z[label == k, 0])[0, 1]) for k in (0, 1)]))

    def statistics(draw: int, options: dict[str, Any]) -> dict[str, float]:
        X, label = clusters(60, [[0.0], [2.0]], draw, 0.1)
        start = np.asarray(Gaussian(1.0)(X)) @ np.random.default_rng(draw).uniform(size=(60, 1))
        Z, two = _fit(1, X, init=start, **options).codes_, _fit(2, X, random_state=draw, **options).codes_
        return {
            "start": float(start.std() / abs(start.mean())),
            "apart": _thresholds(Z[:, 0], label),
            "sign": _right_sign(Z[:, 0], label),
            "inside": inside(X, Z, label),
            # Codes are given on principal axes: a correlation of .9 is a share of .95 on the first one.
            "two": float(np.max(np.linalg.eigvalsh(np.cov(two.T)) / np.trace(np.cov(two.T)))),
        }

    def default(draw: int) -> dict[str, float]:
        X, label = clusters(60, [[0.0], [2.0]], draw, 0.1)
        Z, two = _default(1, X), np.cov(_default(2, X).T)
        share = float(np.max(np.linalg.eigvalsh(two) / np.trace(two)))
        signs = {"apart": _thresholds(Z[:, 0], label), "sign": _right_sign(Z[:, 0], label)}
        return {**signs, "inside": inside(X, Z, label), "two": share}

    settings: dict[str, Any] = {"200 rounds": _rounds(200), "to the end": {}, "reg 1e-3": {"reg": 1e-3}}
    found, ours = _table(settings, draws, statistics), _ours(draws, default)
    varies: dict[str, Any] = {"at_least": 0.8, "name": "correlation of point and code inside clusters"}
    return {
        "start": Part(
            shows(found["start"], at_most=0.3, name="deviation over mean of codes"), "does not apply: another start"
        ),
        "apart": Part(shows(found["apart"], **_SEPARATED), shows(ours["apart"], **_SEPARATED)),
        "sign": Part(shows(found["sign"], **_SIGNED), shows(ours["sign"], **_SIGNED)),
        "inside": Part(shows(found["inside"], **varies), shows(ours["inside"], **varies)),
        "two": Part(
            shows(found["two"], at_least=0.95, name="share of the variance of codes on one axis"),
            shows(ours["two"], at_least=0.95, name="share of the variance of codes on one axis"),
        ),
    }


def _thresholds(z: np.ndarray, label: np.ndarray) -> float:
    """Largest share of points on the right side of one threshold between two groups, or of two between three."""
    order = np.argsort(z, kind="stable")
    groups = sorted(np.unique(label), key=lambda k: float(np.median(z[label == k])))
    hits = np.array([np.r_[0, np.cumsum(label[order] == k)] for k in groups])
    best = hits[0]
    for row in hits[1:]:  # the best cut before each place
        best = np.maximum.accumulate(best - row) + row
    return float(best[-1] / len(z))


def _far(X: np.ndarray, z: np.ndarray, label: np.ndarray) -> float:
    """Inside two clusters, rank correlation of the distances to the other one: of a code and of its point."""
    found = []
    for k in (0, 1):
        distance = np.linalg.norm(X[label == k] - CENTRES[1 - k], axis=1)
        away = np.abs(z[label == k] - z[label != k].mean())
        found.append(float(stats.spearmanr(away, distance)[0]))
    return float(np.mean(found))


@run_of("kae-fig6")
def gaussian_clusters(fast: bool) -> Answer:
    """Two and three clusters in the plane through one number."""
    draws = 3 if fast else 20

    def measured(draw: int, codes: Callable[[np.ndarray], np.ndarray]) -> dict[str, float]:
        two, of_two = clusters(100, CENTRES[:2], draw, 0.3)
        three, of_three = clusters(120, CENTRES, draw, 0.3)
        z = codes(two)[:, 0]
        return {
            "two": _thresholds(z, of_two),
            "sign": _right_sign(z, of_two),
            "three": _thresholds(codes(three)[:, 0], of_three),
            "far": _far(two, z, of_two),
        }

    settings = _with_rounds(fast, (1.0, 0.3, 3.0))
    found = _table(settings, draws, lambda draw, o: measured(draw, lambda X: _fit(1, X, random_state=draw, **o).codes_))
    ours = _ours(draws, lambda draw: measured(draw, lambda X: _default(1, X)))
    far: dict[str, Any] = {"at_least": 0.7, "name": "rank correlation of the distances from the other cluster"}
    rules = {"two": _SEPARATED, "sign": _SIGNED, "far": far, "three": _SEPARATED}
    return {part: Part(shows(found[part], **rule), shows(ours[part], **rule)) for part, rule in rules.items()}


@run_of("kae-fig7")
def moons(fast: bool) -> Answer:
    """One and two numbers."""
    draws = 3 if fast else 20

    def measured(draw: int, codes: Callable[[int, np.ndarray], np.ndarray]) -> dict[str, float]:
        X, label = make_moons(60 if fast else 200, noise=0.05, random_state=draw)
        one, two = codes(1, X), codes(2, X)
        scaled = (two - two.mean(0)) / np.maximum(two.std(0), 1e-12)
        accuracy = LogisticRegression(C=1e3, max_iter=2000).fit(scaled, label).score(scaled, label)
        raw = LogisticRegression(C=1e3, max_iter=2000).fit(X, label).score(X, label)
        share = _share_between(one, label)
        return {"one": _neighbours(one, label), "share": share, "inside": 1.0 - share, "two": accuracy - raw}

    settings = _with_rounds(fast, (1.0, 3.0, 10.0))
    found = _table(
        settings, draws, lambda draw, o: measured(draw, lambda p, X: _fit(p, X, random_state=draw, **o).codes_)
    )
    ours = _ours(draws, lambda draw: measured(draw, _default))

    def judged(values: Mapping[str, Any]) -> dict[str, Judged]:
        return {
            "one": shows(values["one"], at_least=0.9, name="accuracy of 3 neighbours"),
            "share": shows(values["share"], at_least=0.25, name="share between moons"),
            "inside": shows(values["inside"], at_least=0.05, name="share inside moons"),
            "two": direction(values["two"], sign=1, name="linear accuracy of codes less that of points:"),
        }

    paper, our = judged(found), judged(ours)
    return {part: Part(paper[part], our[part]) for part in paper}
