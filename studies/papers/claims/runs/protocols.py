"""Yeast, lip and denoised images: experiments with a protocol."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from rkhs import KernelAutoencoder, OperatorKernelRegressor
from rkhs.augment import GaussianNoise
from rkhs.kernels import ArcCosine, Gaussian, Laplacian, Linear
from rkhs.solvers import ADMM
from studies.harness import lip_curves
from studies.harness.cells import run_cells
from studies.networks import NetworkDenoiser
from studies.papers import yeast
from studies.papers.claims.conditions import KAE
from studies.papers.claims.rules import FAILS, HOLDS, PART, Judged, direction, equal, shows, together
from studies.papers.claims.verdicts import Answer, Part, cells_of, run_of
from studies.papers.few_labels_figures import load_set

# ---------------------------------------------------------------- yeast


def _paths(name: str, regs: Any, folds: int, *, center: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Held-out errors and sparsity, each (folds, regs, parameters), of the first 300 rows."""
    data = yeast.load_yeast()
    X, Y = data["X"][:300], data["Y"][:300]
    losses, errors, sparse = yeast._losses(name, 1), [], []
    for fold in range(folds):
        train, test = train_test_split(np.arange(300), test_size=1 / 3, random_state=fold)
        path = OperatorKernelRegressor(Gaussian(1.0), center=center, tol=1e-6).path(
            X[train], Y[train], regs=regs, losses=losses
        )
        shape = (len(regs), len(losses))
        errors.append(path.mean_squared_errors(X[test], Y[test]).reshape(shape))
        sparse.append((1.0 - path.n_support / len(train)).reshape(shape))
    return np.array(errors), np.array(sparse)


def _by_epsilon(shares: np.ndarray) -> str:
    return ", ".join(f"{share:.1%} at {e:g}" for e, share in zip(yeast.EPSILONS, shares, strict=True))


def _figures_3_4(fast: bool, center: bool) -> dict[str, Judged]:
    errors, sparse = _paths("epsilon-ridge", (1e-8, 1e-1), 2 if fast else 23, center=center)
    small, large = errors[:, 0], errors[:, 1]
    best = [[yeast.EPSILONS[int(fold[r].argmin())] for fold in errors] for r in (0, 1)]
    at, told = (
        yeast.EPSILONS[int(small.mean(0).argmin())],
        f"largest share at reg .1: {_by_epsilon(sparse[:, 1].max(0))}",
    )
    inside = shows([float(0.4 <= at <= 0.8)], at_least=1.0)
    empty = {"to 1.5, as printed": sparse[:, 1].max(1), "to 1, the authors' code": sparse[:, 1, :6].max(1)}
    rises = {f"epsilon {yeast.EPSILONS[i]:g}": large[:, i] / large[:, 0] - 1.0 for i in (3, 5, 7)}
    return {
        "competing": direction(
            np.subtract(best[0], best[1]),
            sign=1,
            overlap=0.5,
            name="epsilon of least error at reg 1e-8 less that at reg .1:",
        ),
        "small": inside.saying(f"the least error is at epsilon {at:g} on the mean; by split {best[0]}"),
        "better": direction(
            small[:, 3] - small[:, 0], sign=-1, overlap=0.5, name="error at epsilon .6 less that at 1e-5, reg 1e-8:"
        ),
        "sparse": shows(empty, at_most=0.01, draws=1.0).saying(
            f"rows without weight, {told}; at reg 1e-8: {_by_epsilon(sparse[:, 0].max(0))}"
        ),
        "harm": direction(
            rises, sign=1, overlap=0.5, name="error at reg .1, epsilon .6 (settings: 1, 1.5) over that at 1e-5, less 1:"
        ),
    }


@run_of("dual-fig3-4")
def yeast_grids(fast: bool) -> Answer:
    """23 splits; the authors' script has the first three."""
    paper, ours = _figures_3_4(fast, center=False), _figures_3_4(fast, center=True)
    return {part: Part(paper[part], ours[part]) for part in paper}


def _elsewhere(errors: np.ndarray) -> np.ndarray:
    """Error of each split with the parameter that is best on the mean of the other splits; (splits, parameters)."""
    others = (errors.sum(0) - errors) / (len(errors) - 1)
    return np.asarray(errors[np.arange(len(errors)), others.argmin(1)])


@run_of("dual-svr-huber")
def yeast_ranges(fast: bool) -> Answer:
    """Share of eight regularisers where a parameter chosen on other splits is clearly better than ridge; all cells."""
    regs, folds = np.logspace(-8, -1, 2 if fast else 8), 2 if fast else 23
    answers = {}
    for part, name in (("svr", "epsilon-SVR"), ("huber", "Huber")):
        judged, cells = {}, {}
        for center in (False, True):
            ridge = _paths("ridge", regs, folds, center=center)[0]
            gains = _paths(name, regs, folds, center=center)[0] - ridge

            def better(values: np.ndarray) -> bool:
                return direction(values, sign=-1, overlap=0.5).verdict == HOLDS

            clear = [better(_elsewhere(gains[:, r])) for r in range(len(regs))]
            one = shows([float(np.mean(clear))], at_least=float(np.nextafter(0.5, 1.0)), name="share of regularisers")
            where = ", ".join(f"{reg:g}" for reg, good in zip(regs, clear, strict=True) if good)
            told = f"clearly better at {sum(clear)} of {len(regs)} regularisers ({where})"
            judged[center] = one.saying(told).chosen("other splits of the same rows")
            every = np.array([[better(gains[:, r, j]) for j in range(gains.shape[2])] for r in range(len(regs))])
            cells[center] = shows([float(every.mean())], at_least=float(np.nextafter(0.5, 1.0))).saying(
                f"clearly better in {int(every.sum())} of {every.size} pairs of a regulariser and a parameter"
            )
        answers[part] = Part(judged[False], judged[True], (cells[False],))
    return answers


@run_of("dual-fig6")
def yeast_hamming(fast: bool) -> Answer:
    """Ten random splits, the usual one beside them; the criterion of the choice is open."""
    names, path = ("ridge", "epsilon-ridge", "Huber"), cells_of("dual-fig6", fast)
    ways: dict[str, dict[str, Any]] = {
        "squared error": {"center": False, "criterion": "squared"}, "norm": {"center": False}, "ours": {},
    }  # fmt: skip
    drawn = {
        way: yeast.split_differences(2 if fast else 10, reduced=fast, path=path, **options)
        for way, options in ways.items()
    }
    usual = {}
    for way in ("squared error", "norm"):
        usual[way] = yeast.hamming_errors(reduced=fast, names=names, **ways[way])
        for name, row in usual[way].items():
            told = {key: row[key] for key in ("hamming", "loss", "gamma", "reg")}
            print(f"  {way}, {name}: {told}", flush=True)

    def judged(name: str, differences: dict[str, Any], draws: str, overlap: float | None = None) -> Judged:
        one = direction(differences, sign=-1, overlap=overlap, name=f"Hamming error of {name} less that of ridge:")
        told = one.found.replace(" draws", f" {draws}")
        told += "".join(f"; by the {way} {np.mean(d):+.4g}" for way, d in list(differences.items())[1:])
        return one.saying(told).chosen("training rows")

    def over_splits(name: str, *chosen: str) -> Judged:
        return judged(name, {way: drawn[way][name] for way in chosen}, "splits", 917 / 1500)

    def on_the_usual(name: str) -> Judged:
        rows = {way: [np.array(usual[way][key]["rows"]) for key in (name, "ridge")] for way in usual}
        one = judged(name, {way: robust - ridge for way, (robust, ridge) in rows.items()}, "test rows of one split")
        robust, ridge = rows["squared error"]
        found = usual["squared error"][name]
        told = f"; {100 * robust.mean():.2f} against {100 * ridge.mean():.2f} of 100 labels"
        return one.saying(f"{one.found}{told}; chosen: {found['loss']}, reg {found['reg']:g}")

    return {
        part: Part(over_splits(name, "squared error", "norm"), over_splits(name, "ours"), (on_the_usual(name),))
        for part, name in (("eps", "epsilon-ridge"), ("huber", "Huber"))
    }


# ---------------------------------------------------------------- lip


@run_of("dual-fig8")
def lip_figure(fast: bool) -> Answer:
    """Differences from ridge, one per left-out curve; kappa is chosen on the 35 others, and on all, as in a figure."""
    sizes = lip_curves.SIZES[: 1 if fast else None]
    script = lip_curves.figure(ADMM(tol=1e-8), "reference", sizes=sizes)
    text = lip_curves.figure(ADMM(tol=1e-8), "orthonormal", gamma=1.0, printed=True, sizes=sizes)
    centred = lip_curves.figure(ADMM(tol=1e-6), "orthonormal", center=True, sizes=sizes)
    flat = [abs(errors[-1] / ridge - 1.0) for errors, ridge in zip(script["errors"], script["ridge"], strict=True)]

    def gain(one: dict[str, Any], name: str, *, same: bool = False, setting: dict[str, Any] | None = None) -> Judged:
        def chosen(found: dict[str, Any]) -> list[np.ndarray]:
            return [g[:, int(g.mean(0).argmin())] if same else _elsewhere(g) for g in found["gains"]]

        both = zip(chosen(one), chosen(setting or one), strict=True)
        parts = [direction({"script": a, "text": b}, sign=-1, resolution=1e-4) for a, b in both]
        told = ", ".join(f"{part.mean:+.4f} ± {part.error:.4f}" for part in parts)
        values = {f"size {m}": next(iter(part.values.values())) for m, part in zip(sizes, parts, strict=True)}
        found = f"{name}Huber less ridge by size: {told}"
        judged = replace(parts[0], verdict=together(parts), found=found, values=values)
        return judged.chosen("test rows" if same else "other draws")

    threshold = equal(
        flat,
        tolerance=1e-5,
        name="relative distance of the leave-one-out error at the largest kappa from that of ridge",
    )
    shown = (gain(script, "", same=True), gain(text, "as the text: "), gain(text, "as the text: ", same=True))
    return {
        "threshold": Part(threshold, "the same machine"),
        "gain": Part(gain(script, "", setting=text), gain(centred, ""), shown),
    }


# ---------------------------------------------------------------- denoised images

_NETWORKS, _TWO = ("tuned", "untuned"), "two lambdas"


def _held_rows(train: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """15 % of the rows, by which parameters are chosen, and the others; as many as in a network."""
    order = np.random.default_rng(seed).permutation(len(train))
    held, inner = np.split(train[order], [max(1, int(0.15 * len(train)))])
    return held, inner


@dataclass(frozen=True)
class _Denoising:
    """What the paper leaves open: the noise and the number of components."""

    std: float = 0.1**0.5
    n_components: int = 10

    def noisy(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return X + self.std * rng.standard_normal(X.shape)

    def error(self, train: np.ndarray, clean: np.ndarray, noisy: np.ndarray, seed: int, **options: Any) -> float:
        """Of an autoencoder fitted to one noisy copy of each row: mean squared error a pixel."""
        noise = GaussianNoise(self.std, relative=False, copies=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KernelAutoencoder(self.n_components, noise=noise, random_state=seed, max_iter=100, **options)
            model.fit(train)
            return float(((model.inverse_transform(model.transform(noisy)) - clean) ** 2).mean())

    def tuned(
        self, train: np.ndarray, clean: np.ndarray, noisy: np.ndarray, seed: int, kernel: Any, grid: Any
    ) -> float:
        """Sphere autoencoder with this kernel; regularisers and the decoder are chosen on 15 % of the rows.

        It is not fitted to them afterwards, as the network is not.
        """
        held, inner = _held_rows(train, seed)
        held_noisy = self.noisy(held, np.random.default_rng(seed))
        shared = dict(KAE, kernel=kernel, constraint="sphere")
        tried = [{**shared, "reg": reg, "decoder_kernel": Gaussian(gamma)} for reg, gamma in product(*grid)]
        best = min(tried, key=lambda options: self.error(inner, held, held_noisy, seed, **options))
        print(f"  split {seed}: reg {best['reg']}, decoder {best['decoder_kernel']}", flush=True)
        return self.error(inner, clean, noisy, seed, **best)

    def network(self, train: np.ndarray, clean: np.ndarray, noisy: np.ndarray, **options: Any) -> float:
        model = NetworkDenoiser(self.n_components, noise_std=self.std, fresh=False, **options).fit(train)
        return float(((model.predict(noisy) - clean) ** 2).mean())


# lambda over n, the same in both layers as in definition 3; bandwidths of the decoder
_GRID: tuple[Any, ...] = ((1e-5, 1e-4, 1e-3, 1e-2), (0.02, 0.1, 0.5))
_TWO_GRID: tuple[Any, ...] = (tuple((first, 1e-2) for first in (1e-1, 1.0, 10.0)), (0.5, 2.0))
_FAST_GRID: tuple[Any, ...] = ((1e-4, 1e-2), (0.1,))
_SETTINGS = {
    "a deviation of .1": _Denoising(std=0.1),
    "2 components": _Denoising(n_components=2),
}
"""Beside the first assumption: a variance of .1 and 10 components."""


def _denoised(
    X: np.ndarray,
    kernels: dict[str, Any],
    how: _Denoising,
    splits: int,
    fast: bool,
    beside: bool,
    path: Path | None = None,
) -> Any:
    """Errors of each split by name; ``beside``: also of an untuned network, of two regularisers, and of ours.

    A cell of the file ``path`` is a split.
    """
    epochs = 30 if fast else 300
    plain: dict[str, Any] = {"max_epochs": 2 * epochs // 3, "learning_rates": (1e-3,), "weight_decays": (0.0,)}

    def work(cell: dict[str, Any]) -> dict[str, Any]:
        split = cell["split"]
        order = np.random.default_rng(split).permutation(len(X))
        train, test = X[order[: len(X) // 2]], X[order[len(X) // 2 :]]
        given = train, test, how.noisy(test, np.random.default_rng(split + 10**6))
        row = {"tuned": how.network(*given, max_epochs=epochs, random_state=split)}
        for name, kernel in kernels.items():
            row[name] = how.tuned(*given, split, kernel, _FAST_GRID if fast else _GRID)
        if beside:
            row["untuned"], row["ours"] = (
                how.network(*given, **plain),
                how.error(_held_rows(train, split)[1], *given[1:], split),
            )
            for name, kernel in kernels.items():
                row[f"{name}, {_TWO}"] = how.tuned(*given, split, kernel, _FAST_GRID if fast else _TWO_GRID)
        print(f"  split {split}: {', '.join(f'{name} {value:.4f}' for name, value in row.items())}", flush=True)
        return {"errors": row}

    setting = {"std": round(how.std, 6), "components": how.n_components}
    cells = run_cells([{**setting, "split": split} for split in range(splits)], work, path=path)
    return {name: np.array([cell["errors"][name] for cell in cells]) for name in cells[0]["errors"]}


def _below(differences: dict[str, dict[str, np.ndarray]], chosen: str = "training rows") -> Judged:
    """R1 for every kernel, over the settings that are open; the common verdict, the numbers of the first kernel."""
    judged = {
        kernel: direction(by_setting, sign=-1, overlap=1.0, name=f"{kernel} over a tuned network, less 1:")
        for kernel, by_setting in differences.items()
    }
    told = []
    for one in judged.values():
        others = [f"{name} {np.mean(values):+.3f}" for name, values in list(one.values.items())[1:]]
        told.append(f"{one.found}{''.join(': ' + ', '.join(others) if others else '')} ({one.verdict})")
    values = {
        f"{kernel}, {name}": row for kernel, one in judged.items() for name, row in one.values.items()
    }  # fmt: skip
    changed: dict[str, Any] = {
        "verdict": together(list(judged.values())), "found": "; ".join(told), "values": values
    }  # fmt: skip
    return replace(next(iter(judged.values())), **changed).chosen(chosen)


def _image_set(name: str) -> Callable[[bool], Answer]:
    def run(fast: bool) -> Answer:
        """Kernels and a network, both tuned on the training rows, with one noisy copy of each."""
        X, _ = load_set("cifar10" if name == "cifar" else name, n=60 if fast else 450, n_classes=5)
        kernels: dict[str, Any] = {
            "Gaussian": Gaussian("median"),
            "Laplacian": Laplacian("l1", "median"),
            "linear": Linear(),
            "ReLU": ArcCosine(1),
        }
        path = cells_of(f"krl-fig3-{name}", fast)
        first = _denoised(X, kernels, _Denoising(), 2 if fast else 5, fast, True, path)
        settings = {} if fast else dict(list(_SETTINGS.items())[: 1 if name == "cifar" else None])
        open_ = {key: _denoised(X, kernels, how, 3, fast, False, path) for key, how in settings.items()}

        def less(kernel: str, network: str, errors: Any = first) -> np.ndarray:
            return np.asarray(errors[kernel] / errors[network] - 1.0)

        paper = _below({
            kernel: {
                "a tuned network": less(kernel, "tuned"),
                "an untuned network": less(kernel, "untuned"),
                **{key: less(kernel, "tuned", errors) for key, errors in open_.items()},
            }
            for kernel in kernels
        })  # fmt: skip
        two = _below({
            f"{kernel}, {_TWO},": {f"{way} network": less(f"{kernel}, {_TWO}", way) for way in _NETWORKS}
            for kernel in kernels
        })  # fmt: skip
        ours = _below({"ours": {"a tuned network": less("ours", "tuned")}})

        def spread(*names: str) -> np.ndarray:
            errors = [first[name] for name in names]
            return np.divide(np.max(errors, axis=0), np.min(errors, axis=0))

        little = shows(spread(*kernels), at_most=1.1, name="largest over smallest error of a kernel")
        if little.verdict == FAILS and little.mean is not None and little.mean <= 1.3:
            little = replace(little, verdict=PART)  # some variation
        told = ", ".join(f"{key} {first[key].mean():.4f}" for key in kernels)
        told += "".join(f", {way} network {first[way].mean():.4f}" for way in _NETWORKS)
        told += f"; without the linear one {spread(*(name for name in kernels if name != 'linear')).mean():.3g}"
        little = little.saying(f"{little.found}; {told}").chosen("training rows")
        return {"a": Part(paper, ours, (two,)), "b": Part(little, "does not apply: one kernel is the default")}

    return run_of(f"krl-fig3-{name}")(run)


mnist, cifar = _image_set("mnist"), _image_set("cifar")
