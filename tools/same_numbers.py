"""Do two checkouts give the same numbers? Records what 130 settings of all estimators answer, compares two records.

    PYTHONPATH=old/src python tools/same_numbers.py record old.npz
    PYTHONPATH=new/src python tools/same_numbers.py record new.npz
    python tools/same_numbers.py compare old.npz new.npz

Each setting is fitted twice: on its data, and on the same data times ``1 + 4e-15 u`` with random signs ``u``. The
second fit shows by how much rounding alone changes the answer. An answer is printed as a difference if it differs by
more than ``1e-10`` of its largest entry and by more than ten times what rounding did to the old one; the exit status is
then 1. An answer that only one record has is a difference too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Answers = dict[str, np.ndarray]
FOLDER = tempfile.TemporaryDirectory()
TOLERANCE, ROUNDINGS = 1e-10, 10.0


def table(n: int, d: int, seed: int, noise: float = 0.1) -> np.ndarray:
    """Rows near a curved surface of two dimensions, in ``d`` columns of different scales."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.0, 1.0, (n, 2))
    waves = np.random.default_rng(7).standard_normal((2, d))
    return np.sin(2.0 * t @ waves) * np.linspace(0.5, 2.0, d) + noise * rng.standard_normal((n, d))


X, NEW = table(60, 6, 0), table(9, 6, 1)
MANY, MANY_NEW = table(700, 6, 2), table(9, 6, 3)
LARGE = table(5000, 6, 6)
HEAVY = table(260, 6, 8) * np.exp(np.random.default_rng(8).standard_normal((260, 1)))
WEIGHTS = np.random.default_rng(4).integers(0, 4, 60).astype(float)
Y = np.stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]], 1)
LABELS = (X[:, 0] > 0).astype(int)
CURVES = np.cumsum(np.random.default_rng(5).standard_normal((30, 16)), 1)
STRINGS = ["".join(np.random.default_rng(seed).choice(list("acgt"), 12)) for seed in range(40)]


def shaken(data: np.ndarray, shake: bool) -> np.ndarray:
    """The data, or the same up to rounding."""
    if not shake or data.dtype.kind != "f":
        return data
    return data * (1.0 + 4e-15 * np.random.default_rng(9).choice([-1.0, 1.0], data.shape))


def in_a_file(data: np.ndarray) -> np.memmap:
    """The data in a file that is mapped into memory; it goes with the folder when Python ends."""
    path = Path(FOLDER.name) / f"{hash(data.tobytes())}.npy"
    np.save(path, data)
    return np.load(path, mmap_mode="r")


def warm(model: Any, shake: bool) -> Any:
    """A model that is fitted again, from where it ended."""
    return model.fit(shaken(X, shake)).fit(shaken(X, shake) * 1.01)


def numbers(model: Any, names: tuple[str, ...]) -> Answers:
    """Fitted attributes, lists of arrays one by one."""
    found: Answers = {}
    for name in names:
        value = getattr(model, name, None)
        if value is None:
            continue
        for i, part in enumerate(value if isinstance(value, (list, tuple)) else [value]):
            found[f"{name}{i}"] = np.asarray(part, dtype=float)
    return found


ATTRIBUTES = (
    "codes_",
    "layer_codes_",
    "objective_",
    "gap_",
    "reg_",
    "held_out_error_",
    "candidate_errors_",
    "explained_variance_",
    "layer_values_",
    "ridge_",
    "leave_one_out_error_",
    "infeasibility_",
    "eigenvalues_",
    "lambda_bounds_",
    "map_norm_",
    "support_",
    "best_score_",
)


def asked(model: Any, new: Any, **calls: Any) -> Answers:
    """What every public method says of new items, once as fitted and once from a file."""
    from rkhs import load, save

    found = numbers(model, ATTRIBUTES)
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.rkhs")
        again = load(Path(folder) / "model.rkhs")
    for label, one in (("", model), ("file.", again)):
        if hasattr(one, "transform"):
            codes = one.transform(new)
            found[f"{label}transform"] = codes
            if hasattr(one, "inverse_transform"):
                found.update(tried(f"{label}inverse", lambda o=one, z=codes: o.inverse_transform(z)))
                found.update(tried(f"{label}errors", lambda o=one: o.reconstruction_error(new)))
                found.update(tried(f"{label}decode", lambda o=one, z=codes: o.decode(z, **calls).distances))
        if hasattr(one, "predict"):
            found.update(tried(f"{label}predict", lambda o=one: o.predict(new)))
            found.update(tried(f"{label}scores", lambda o=one: o.scores(new)))
            found.update(tried(f"{label}loo", lambda o=one: o.loo_errors()))
    return found


def tried(name: str, ask: Callable[[], Any]) -> Answers:
    """The answer under its name; none where the model refuses the question."""
    from rkhs._core.errors import RkhsError

    try:
        return {name: np.asarray(ask(), dtype=float)}
    except (RkhsError, AttributeError, TypeError):
        return {}


def autoencoders() -> dict[str, Callable[[bool], Answers]]:
    """Settings of the autoencoder on vectors."""
    from rkhs import KernelAutoencoder
    from rkhs.augment import GaussianNoise
    from rkhs.constraints import SoftSphere, Sphere
    from rkhs.engines import Threads
    from rkhs.features import Nystroem, RandomFeatures
    from rkhs.kernels import Gaussian, Laplacian, Matern, Polynomial
    from rkhs.losses import Huber

    plain: dict[str, dict[str, Any]] = {
        "default": {},
        "default 5": {"n_components": 5},
        "kernel part": {"linear_part": "kernel"},
        "free, fixed reg": {"linear_part": "free", "reg": (1e-3, 1e-3)},
        "reg auto": {"linear_part": "kernel", "reg": "auto"},
        "paper": {
            "center": False,
            "scale": False,
            "kernel": Gaussian(0.1),
            "decoder_kernel": Gaussian(1.0),
            "reg": 1e-3,
        },
        "codes as layers": {"code_metric": 0.0, "reg": 1e-3},
        "code metric 1": {"code_metric": 1.0, "reg": 1e-3},
        "unrefined": {"refine": False},
        "laplacian": {"kernel": Laplacian("l2"), "reg": (1e-3, 1e-3)},
        "matern": {"kernel": Matern(2.5), "decoder_kernel": Matern(1.5, 1.0), "reg": 1e-3},
        "polynomial": {"kernel": Polynomial(2), "decoder_kernel": "linear", "reg": 1e-2},
        "three layers": {"n_components": (4, 2), "reg": 1e-3},
        "four layers": {"n_components": (4, 2, 3), "reg": 1e-3, "max_iter": 30},
        "operators": {"operators": (np.diag([1.0, 2.0]), np.diag(np.arange(1.0, 7.0))), "reg": 1e-3},
        "huber": {"loss": Huber(0.3), "reg": 1e-3},
        "huber by name": {"loss": "huber", "reg": 1e-3, "max_iter": 20},
        "epsilon": {"loss": "epsilon_insensitive", "reg": 1e-2, "max_iter": 20},
        "squared epsilon": {"loss": "squared_epsilon_insensitive", "reg": 1e-2, "max_iter": 20},
        "sphere": {"constraint": Sphere()},
        "ball": {"constraint": "ball"},
        "whiten": {"constraint": "whiten"},
        "soft sphere": {"constraint": SoftSphere(2.0)},
        "denoising": {"noise": GaussianNoise(0.1, relative=False, copies=2), "random_state": 3},
        "random starts": {"init": "random", "n_init": 2, "random_state": 0, "reg": 1e-3},
        "adam": {"solver": "adam", "max_iter": 30, "reg": 1e-3},
        "gradient descent": {"solver": "gradient_descent", "max_iter": 10, "reg": 1e-3},
        "alternating": {"solver": "alternating", "max_iter": 10, "reg": 1e-3},
        "K2AE": {"output_kernel": "same", "kernel": Gaussian("median")},
        "K2AE, other kernel": {"output_kernel": Laplacian("l2"), "kernel": Gaussian("median"), "reg": 1e-3},
        "single precision": {"dtype": "float32", "reg": 1e-3, "max_iter": 5},
        "operators and depth": {
            "n_components": (3, 2),
            "operators": (np.diag([1.0, 2.0, 0.5]), np.diag([0.0, 1.0]), np.diag(np.arange(1.0, 7.0))),
            "reg": 1e-3,
        },
        "depth from random codes": {"n_components": (4, 2), "init": "random", "random_state": 1, "reg": 1e-3},
        "depth by alternating": {"n_components": (4, 2), "solver": "alternating", "max_iter": 5, "reg": 1e-3},
        "depth, huber": {"n_components": (4, 2), "loss": Huber(0.3), "reg": 1e-3, "max_iter": 20},
        "free, huge targets": {"linear_part": "free", "scale": False, "center": False},
        "sphere, random": {"constraint": "sphere", "init": "random", "n_init": 2, "random_state": 0, "max_iter": 30},
        "sphere, K2AE": {"constraint": "sphere", "output_kernel": "same", "kernel": Gaussian("median")},
        "sphere, denoising": {"constraint": "sphere", "noise": GaussianNoise(0.1, relative=False), "random_state": 3},
    }
    large: dict[str, dict[str, Any]] = {
        "landmarks": {"storage": Nystroem(40)},
        "landmarks kmeans": {"storage": Nystroem(40, "kmeans++", random_state=1)},
        "landmarks K2AE": {"storage": Nystroem(40), "output_kernel": "same", "kernel": Gaussian("median")},
        "landmarks threads": {"storage": Nystroem(40), "engine": Threads(2)},
        "random features": {"storage": RandomFeatures(60, random_state=0), "kernel": Gaussian("median")},
        "landmarks, 5 components": {"n_components": 5, "storage": Nystroem(100)},
        "landmarks, fixed reg": {"storage": Nystroem(40), "reg": 1e-3},
        "landmarks, unrefined": {"storage": Nystroem(40), "refine": False, "reg": 1e-3},
        "landmarks, sphere": {"storage": Nystroem(40), "constraint": Sphere(), "reg": 1e-3},
        "landmarks, ball": {"storage": Nystroem(40), "constraint": "ball", "reg": 1e-3},
        "landmarks, white": {"storage": Nystroem(40), "constraint": "whiten", "reg": 1e-3},
        "landmarks, soft sphere": {"storage": Nystroem(40), "constraint": SoftSphere(2.0), "reg": 1e-3},
        "landmarks, three layers": {"n_components": (4, 2), "storage": Nystroem(40), "reg": 1e-3},
        "landmarks, huber": {"storage": Nystroem(40), "loss": "huber", "reg": 1e-3},
        "landmarks, denoising": {
            "storage": Nystroem(40),
            "noise": GaussianNoise(0.1, relative=False, copies=2),
            "random_state": 3,
        },
        "landmarks, random starts": {"storage": Nystroem(40), "init": "random", "n_init": 2, "random_state": 0},
        "landmarks, penalised": {"storage": Nystroem(40), "linear_part": "kernel"},
        "landmarks, penalised K2AE": {
            "storage": Nystroem(40),
            "linear_part": "kernel",
            "output_kernel": "same",
            "kernel": Gaussian("median"),
        },
    }
    made: dict[str, Callable[[bool], Answers]] = {}
    for name, params in plain.items():
        made[f"autoencoder, {name}"] = lambda s, p=params: asked(KernelAutoencoder(**p).fit(shaken(X, s)), NEW)
    for name, params in large.items():
        made[f"autoencoder, {name}"] = lambda s, p=params: asked(KernelAutoencoder(**p).fit(shaken(MANY, s)), MANY_NEW)
    made["autoencoder, weights"] = lambda s: asked(KernelAutoencoder().fit(shaken(X, s), sample_weight=WEIGHTS), NEW)
    made["autoencoder, weights on landmarks"] = lambda s: asked(
        KernelAutoencoder(storage=Nystroem(20)).fit(shaken(X, s), sample_weight=WEIGHTS), NEW
    )
    made["autoencoder, targets"] = lambda s: asked(KernelAutoencoder(reg=1e-3).fit(shaken(X, s), targets=Y), NEW)
    made["autoencoder, held out at 450 rows"] = lambda s: asked(
        KernelAutoencoder(3, max_iter=20).fit(shaken(MANY[:450], s)), MANY_NEW
    )
    made["autoencoder, sphere, weights"] = lambda s: asked(
        KernelAutoencoder(constraint="sphere").fit(shaken(X, s), sample_weight=WEIGHTS), NEW
    )
    made["autoencoder, penalised, weights"] = lambda s: asked(
        KernelAutoencoder((3, 2), reg=1e-3).fit(shaken(X, s), sample_weight=WEIGHTS), NEW
    )
    made["autoencoder, heavy tails"] = lambda s: asked(KernelAutoencoder(max_iter=20).fit(shaken(HEAVY, s)), NEW)
    for n in (150, 1100, 5000):
        made[f"autoencoder, {n} rows"] = lambda s, n=n: asked(KernelAutoencoder(3).fit(shaken(LARGE[:n], s)), MANY_NEW)
    for name, params in (("free", {}), ("penalised", {"linear_part": "kernel"})):
        made[f"autoencoder, rows of a file, {name}"] = lambda s, p=params: asked(
            KernelAutoencoder(2, storage=Nystroem(60), **p).fit(in_a_file(shaken(LARGE[:1500], s))), MANY_NEW
        )
    made["autoencoder, warm start"] = lambda s: asked(warm(KernelAutoencoder(reg=1e-3, warm_start=True), s), NEW)
    made["autoencoder, parts"] = lambda s: asked(
        KernelAutoencoder(reg=1e-3).partial_fit(shaken(X[:30], s)).partial_fit(shaken(X[30:], s)), NEW
    )
    return made


def grams_and_objects() -> dict[str, Callable[[bool], Answers]]:
    """Settings on Gram matrices, strings and views."""
    from rkhs import DeepRKM, GramTransformer, KernelAutoencoder, KernelContrastive, KernelPCA
    from rkhs.features import Nystroem
    from rkhs.kernels import Gaussian, Spectrum

    def gram(model: Any, s: bool) -> Answers:
        kernel = Gaussian(0.1)
        return asked(model.fit(kernel(shaken(X, s))), kernel(NEW, X), candidates=kernel(NEW, X))

    def strings(model: Any, s: bool) -> Answers:
        return asked(model.fit(STRINGS[:30]), STRINGS[30:])

    return {
        "autoencoder, Gram": lambda s: gram(KernelAutoencoder(kernel="precomputed"), s),
        "autoencoder, Gram, unrefined": lambda s: gram(KernelAutoencoder(3, kernel="precomputed", refine=False), s),
        "autoencoder, Gram on landmarks": lambda s: gram(
            KernelAutoencoder(kernel="precomputed", storage=Nystroem(20)), s
        ),
        "kernel PCA, Gram": lambda s: gram(KernelPCA(3, kernel="precomputed"), s),
        "deep RKM, Gram": lambda s: gram(DeepRKM((3, 2), kernel="precomputed"), s),
        "contrastive, Gram": lambda s: gram(KernelContrastive(2, kernel="precomputed"), s),
        "autoencoder, strings": lambda s: strings(KernelAutoencoder(2, kernel=Spectrum(3)), s),
        "autoencoder, strings on landmarks": lambda s: strings(
            KernelAutoencoder(2, kernel=Spectrum(3), storage=Nystroem(15)), s
        ),
        "kernel PCA, strings": lambda s: strings(KernelPCA(2, kernel=Spectrum(3)), s),
        "Gram transformer": lambda s: asked(GramTransformer().fit(shaken(X, s)), NEW),
    }


def components() -> dict[str, Callable[[bool], Answers]]:
    """Settings of kernel PCA, the deep machine and contrastive codes."""
    from rkhs import DeepRKM, KernelContrastive, KernelPCA
    from rkhs.features import Nystroem, RandomFeatures
    from rkhs.kernels import Gaussian

    pca: dict[str, dict[str, Any]] = {
        "default": {},
        "share": {"n_components": 0.9},
        "all": {"n_components": None, "kernel": Gaussian("median")},
        "uncentred": {"center": False, "kernel": "linear"},
        "fixed point": {"preimage": "fixed_point"},
        "nearest": {"preimage": "nearest"},
        "reg auto": {"reg": "auto"},
        "huber": {"loss": "huber"},
        "epsilon": {"loss": "epsilon_insensitive"},
        "blocked": {"storage": "blocked"},
        "landmarks": {"storage": Nystroem(30)},
        "random features": {"storage": RandomFeatures(50, random_state=0)},
    }
    rkm: dict[str, dict[str, Any]] = {
        "default": {},
        "three layers": {"n_components": (4, 3, 2), "eta": (1.0, 2.0, 0.5)},
        "block": {"out_of_sample": "block"},
        "paper": {"out_of_sample": "paper", "center": False, "code_scale": "unit"},
        "penalty": {"solver": "penalty_lbfgs", "max_iter": 50},
        "Cayley": {"solver": "cayley_adam", "max_iter": 30},
        "joint bandwidths": {"bandwidths": "joint", "n_components": (3, 2)},
        "landmarks": {"storage": Nystroem(30)},
        "random start": {"init": "random", "random_state": 0},
    }
    contrast: dict[str, dict[str, Any]] = {
        "default": {},
        "spectral": {"loss": "spectral"},
        "spectral, permutation": {"loss": "spectral", "negatives": "permutation", "random_state": 0},
        "augment": {"pairs": "augment", "augment": "gaussian_noise", "random_state": 0},
        "landmarks": {"storage": Nystroem(30)},
    }
    made: dict[str, Callable[[bool], Answers]] = {}
    for name, params in pca.items():
        made[f"kernel PCA, {name}"] = lambda s, p=params: asked(KernelPCA(**p).fit(shaken(X, s)), NEW)
    made["kernel PCA, weights"] = lambda s: asked(KernelPCA(3).fit(shaken(X, s), sample_weight=WEIGHTS), NEW)
    for name, params in rkm.items():
        made[f"deep RKM, {name}"] = lambda s, p=params: asked(DeepRKM(**p).fit(shaken(X, s)), NEW)
    for name, params in contrast.items():
        made[f"contrastive, {name}"] = lambda s, p=params: asked(KernelContrastive(**p).fit(shaken(X, s)), NEW)
    made["contrastive, class"] = lambda s: asked(KernelContrastive(pairs="class").fit(shaken(X, s), LABELS), NEW)
    return made


def regressors() -> dict[str, Callable[[bool], Answers]]:
    """Settings of the regressors."""
    from rkhs import (
        FunctionalKernelRegressor,
        InputOutputKernelRegressor,
        OperatorKernelRegressor,
        OperatorKernelRegressorCV,
    )
    from rkhs.features import Nystroem
    from rkhs.kernels import Gaussian
    from rkhs.losses import EpsilonInsensitive, Huber, SquaredEpsilonInsensitive

    machine: dict[str, dict[str, Any]] = {
        "ridge": {},
        "operator": {"operator": np.array([[2.0, 0.5], [0.5, 1.0]])},
        "huber": {"loss": Huber(0.1)},
        "epsilon": {"loss": EpsilonInsensitive(0.05)},
        "squared epsilon": {"loss": SquaredEpsilonInsensitive(0.05)},
        "covariance": {"operator": "covariance", "loss": "huber"},
        "landmarks": {"storage": Nystroem(30)},
        "uncentred": {"center": False},
    }
    made: dict[str, Callable[[bool], Answers]] = {}
    for name, params in machine.items():
        made[f"regressor, {name}"] = lambda s, p=params: asked(OperatorKernelRegressor(**p).fit(shaken(X, s), Y), NEW)
    made["regressor, weights"] = lambda s: asked(
        OperatorKernelRegressor(loss="huber").fit(shaken(X, s), Y, sample_weight=WEIGHTS), NEW
    )
    made["regressor, folds"] = lambda s: asked(OperatorKernelRegressorCV(cv=3).fit(shaken(X, s), Y), NEW)
    made["regressor, folds of Huber"] = lambda s: asked(
        OperatorKernelRegressorCV(cv=3, loss="huber", kappas=(0.1, 1.0), regs=(1e-3, 1e-2)).fit(shaken(X, s), Y), NEW
    )
    made["input output, linear"] = lambda s: asked(InputOutputKernelRegressor().fit(shaken(X, s), Y), NEW)
    made["input output, Gaussian"] = lambda s: asked(
        InputOutputKernelRegressor(output_kernel=Gaussian("median"), loss="huber").fit(shaken(X, s), Y), NEW
    )
    made["curves"] = lambda s: asked(
        FunctionalKernelRegressor().fit(shaken(CURVES[:24], s), CURVES[:24, ::2]), CURVES[24:]
    )
    made["curves, squared"] = lambda s: asked(
        FunctionalKernelRegressor(loss="squared", basis="cosine_sine", center=False).fit(
            shaken(CURVES[:24], s), CURVES[:24, ::2]
        ),
        CURVES[24:],
    )
    return made


def settings() -> dict[str, Callable[[bool], Answers]]:
    """All settings by their names."""
    return {**autoencoders(), **grams_and_objects(), **components(), **regressors()}


def record(path: Path, only: str) -> int:
    """Fit all settings and keep what they answer."""
    import torch

    torch.set_num_threads(1)
    kept: Answers = {}
    started, chosen = time.perf_counter(), {name: make for name, make in settings().items() if only in name}
    failed = []
    for name, make in chosen.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                plain, other = make(False), make(True)
            except Exception as error:
                failed.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
                continue
        for key, value in plain.items():
            kept[f"{name}|{key}"] = value
            kept[f"{name}|{key}|rounding"] = np.asarray(difference(value, other.get(key)))
    np.savez_compressed(path, **kept)
    print(
        f"{len(chosen) - len(failed)} settings, {len(kept) // 2} answers, {time.perf_counter() - started:.0f} s: {path}"
    )
    for line in failed:
        print("  failed:", line)
    return int(bool(failed))


def difference(old: np.ndarray, new: np.ndarray | None) -> float:
    """Largest difference of two arrays in units of the largest entry; infinite if shapes differ."""
    if new is None or np.shape(old) != np.shape(new):
        return float("inf")
    if not np.size(old):
        return 0.0
    same_nan = np.isnan(old) & np.isnan(new)
    gap = np.abs(np.where(same_nan, 0.0, old) - np.where(same_nan, 0.0, new)).max()
    return float(gap / max(np.nanmax(np.abs(old)) if not np.isnan(old).all() else 0.0, 1e-300))


def compare(old_path: Path, new_path: Path) -> int:
    """Print every answer that differs by more than rounding."""
    old, new = np.load(old_path), np.load(new_path)
    keys = sorted(key for key in {*old.files, *new.files} if not key.endswith("|rounding"))
    worst, found = 0.0, 0
    for key in keys:
        if key not in old.files or key not in new.files:
            found += 1
            print(f"{key}: only in the {'new' if key in new.files else 'old'} record")
            continue
        gap, rounding = difference(old[key], new[key]), float(old[f"{key}|rounding"])
        if gap > max(TOLERANCE, ROUNDINGS * rounding):
            found += 1
            print(f"{key}: differs by {gap:.1e}; rounding alone changes it by {rounding:.1e}")
        else:
            worst = max(worst, gap)
    print(f"{len(keys)} answers, {found} differ; the largest difference of the others is {worst:.1e}")
    return int(found > 0)


def main(argv: list[str] | None = None) -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    keep = commands.add_parser("record", help="fit all settings with the rkhs that Python finds")
    keep.add_argument("path", type=Path)
    keep.add_argument("--only", default="", help="settings whose name contains this")
    both = commands.add_parser("compare", help="compare two records")
    both.add_argument("old", type=Path)
    both.add_argument("new", type=Path)
    args = parser.parse_args(argv)
    return record(args.path, args.only) if args.command == "record" else compare(args.old, args.new)


if __name__ == "__main__":
    sys.exit(main())
