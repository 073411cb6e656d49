"""``rkhs evaluate --few-labels``: which codes serve when few rows have labels."""

from __future__ import annotations

import argparse
from shlex import quote
from typing import TYPE_CHECKING, Any

from rkhs.cli.inputs import add_drop_option, column, read_input, user_errors
from rkhs.cli.targets import read_with_values

if TYPE_CHECKING:
    import numpy as np

__all__ = ["add_few_label_options", "next_step", "run_few_labels"]

# Options of the other form of the command and of reading, which would be ignored here.
_UNUSED = ("model", "input", "against", "diag", "errors", "kind")
_COMPONENTS = 10  # of the codes of ``rkhs fit --predict``
_OURS = "rkhs fit"
_LEARNERS = {"neighbours": "nearest neighbours", "smooth": "a smooth learner"}


class _WithoutModel(argparse.Action):
    """Takes the file of ``--few-labels``; the arguments of the other form are then not required."""

    def __init__(self, *args: Any, positionals: tuple[argparse.Action, ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.positionals = positionals

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, values)
        for positional in self.positionals:
            positional.required = False


def add_few_label_options(parser: argparse.ArgumentParser, positionals: tuple[argparse.Action, ...]) -> None:
    """Declare the options."""
    group = parser.add_argument_group("few labels", "instead of MODEL INPUT: compare models fitted without labels")
    group.add_argument(
        "--few-labels",
        metavar="TABLE",
        action=_WithoutModel,
        positionals=positionals,
        help="nearest neighbours and a smooth learner on codes of TABLE when 5%% of its rows have labels: raw "
        "features, kernel PCA, ours; molecules with --smiles",
    )
    group.add_argument("--labels", metavar="COLUMN", type=column, help="column of TABLE that holds the classes")
    group.add_argument(
        "--mixed", action="store_true", help="TABLE holds numbers, texts and missing cells, whatever they look like"
    )
    add_drop_option(group)
    group.add_argument("--n-components", metavar="H", type=int, default=2, help="dimension of the codes (default 2)")
    group.add_argument(
        "--n-neighbors", metavar="K", type=int, default=3, help="number of neighbours that vote (default 3)"
    )
    group.add_argument("--splits", metavar="N", type=int, default=5, help="number of random splits (default 5)")
    group.add_argument(
        "--kernels",
        metavar="A,B,...",
        help="kernels to compare (default Gaussian,Laplacian,linear,ReLU; of molecules Tanimoto, or MinMax for counts)",
    )
    group.add_argument("--seed", type=int, default=0, help="seed of the splits and of all random numbers (default 0)")


def run_few_labels(args: argparse.Namespace) -> list[dict[str, str | float]]:
    """Compare and return the rows of the printed table."""
    import numpy as np

    from rkhs._core.checks import check_count
    from rkhs._core.errors import InputError
    from rkhs.evaluation import choose_on_labels, few_labels

    given = [name for name in _UNUSED if getattr(args, name) not in (None, [], False)]
    if args.space != "auto":
        given.append("space")
    if given:
        raise InputError(f"--few-labels reads one table and fits its own models; got {given[0]!r} too; drop it")
    if args.labels is None:
        raise InputError("--few-labels needs the column of classes; got none; name it with --labels COLUMN")
    X, y, molecules = _read_labelled(args)
    check_count(args.n_components, "--n-components")
    check_count(args.seed, "--seed", at_least=0)
    X, default = _numbers(X, molecules)
    kernels = tuple(part.strip() for part in (args.kernels or default).split(","))
    methods = _methods(args, X.shape[1], default if molecules else None)
    options = {"methods": methods, "kernels": kernels, "n_splits": args.splits, "n_neighbors": args.n_neighbors}
    with user_errors():
        found = few_labels(X, y, seed=args.seed, learners=("neighbours", "smooth"), **options)
    _say_unlabelled(y)
    chosen = choose_on_labels([row for row in found if row.method != "raw features"], "chosen on labels")
    return [
        {
            "method": row.method,
            "kernel": "any" if row is chosen else row.kernel,
            "learner": "any" if row is chosen else row.learner,
            "accuracy": float(row.mean),
            "deviation": float(row.std),
            "error": row.error,
            "leave-one-out": float(np.mean(row.validation)),
        }
        for row in (*found, chosen)
    ]


def next_step(args: argparse.Namespace, rows: list[dict[str, Any]]) -> str:
    """Say which codes and learner were right most often, and how to take them."""
    best = max(rows[:-1], key=lambda row: row["accuracy"])
    said = f"Right most often: {_LEARNERS[best['learner']]} on {_named(best)}, {_score(best)}"
    if len(rows) > 3:
        said += f" (the largest of {len(rows) - 1} numbers, so somewhat too high)"
    for method in ("raw features", _OURS):  # no codes, or those of one command, are simpler
        if best["method"] == method:
            break
        simple = max((row for row in rows if row["method"] == method), key=lambda row: row["accuracy"], default=best)
        if simple is not best and best["accuracy"] - simple["accuracy"] < best["error"]:
            said += f". As good within the error: {_LEARNERS[simple['learner']]} on {_named(simple)}, {_score(simple)}"
            best = simple
            break
    if best["method"] == _OURS and best["learner"] == "smooth" and not isinstance(args.labels, int):
        from rkhs._core.files import shell_word

        smiles = "" if args.smiles is None else f" --smiles {quote(str(args.smiles))}"
        return f"{said}. rkhs fit {shell_word(args.few_labels)}{smiles} --predict {quote(args.labels)} -o model.rkhs"
    learner = (
        "SmoothClassifier of rkhs.evaluation" if best["learner"] == "smooth" else "scikit-learn's KNeighborsClassifier"
    )
    return f"{said}. In Python: {learner}, fitted to the labelled rows"


def _score(row: dict[str, Any]) -> str:
    return f"{row['accuracy']:.3f} +- {row['error']:.3f}"


def _named(row: dict[str, Any]) -> str:
    if row["method"] == "raw features":
        return "raw features"
    if row["method"] == _OURS:
        return "codes of rkhs fit"
    return f"codes of {row['method']}" + ("" if row["kernel"] == "none" else f" with the {row['kernel']} kernel")


def _numbers(X: np.ndarray, molecules: bool) -> tuple[np.ndarray, str]:
    """Rows of numbers, without a look at labels, and the kernels to compare."""
    import sys

    import numpy as np

    from rkhs.data.columns import wants_scaling
    from rkhs.spaces.features import FilledTable

    if molecules:
        return X.astype(np.float64), "MinMax" if X.dtype.itemsize > 1 else "Tanimoto"
    usual = "Gaussian,Laplacian,linear,ReLU"
    if X.dtype == object:
        return FilledTable().fit_transform(X), usual
    if wants_scaling(X):
        sys.stderr.write("The spreads of the columns differ more than tenfold: all are standardised\n")
        spread = X.std(0)
        X = (X - X.mean(0)) / np.where(spread > 0.0, spread, 1.0)
    return X, usual


def _methods(args: argparse.Namespace, width: int, kernel: str | None) -> dict[str, Any]:
    """What is compared: the methods of the paper, or such as read molecules, and what ``rkhs fit --predict`` takes."""
    from sklearn.pipeline import make_pipeline

    from rkhs import KernelAutoencoder, KernelContrastive, KernelPCA
    from rkhs.evaluation import few_label_methods
    from rkhs.kernels import MinMax, Tanimoto

    p, seed = args.n_components, args.seed
    if kernel is None:
        methods = few_label_methods(p, random_state=seed)
        ours = KernelAutoencoder(min(_COMPONENTS, width), random_state=seed)
    else:
        methods = {
            "kernel PCA": KernelPCA(p),
            "simple": KernelContrastive(p, random_state=seed),
            "spectral, pool": KernelContrastive(p, loss="spectral", random_state=seed),
        }
        known = Tanimoto() if kernel == "Tanimoto" else MinMax()
        ours = KernelAutoencoder(_COMPONENTS, kernel=known, output_kernel="same", random_state=seed)
    return methods | {_OURS: make_pipeline(ours)}  # a step has no parameter ``kernel``, so it keeps its own


def _say_unlabelled(y: np.ndarray) -> None:
    """Count the rows without a class."""
    import sys

    from rkhs.data.columns import is_gap

    gaps = sum(is_gap(label) for label in y.tolist())
    if gaps:
        sys.stderr.write(f"{gaps} of {len(y)} rows have no class: codes are made from them too, no learner sees them\n")


def _read_labelled(args: argparse.Namespace) -> tuple[np.ndarray, np.ndarray, bool]:
    """Rows and classes, None or NaN where a row has none, and whether the rows are fingerprints of molecules."""
    import numpy as np

    from rkhs._core.errors import InputError

    path, place = args.few_labels, args.labels
    if args.smiles is None:
        args = argparse.Namespace(**{**vars(args), "kind": "vectors"})
    if path.lower().endswith((".npy", ".npz")):
        if not isinstance(place, int):
            raise InputError(f"{path}: columns of an array have no names; got --labels {place!r}; give its position")
        whole = argparse.Namespace(**{**vars(args), "columns": str(place)})
        labels = read_input(whole, path).X[:, 0]
        X = read_input(args, path).X
        if args.columns is None:
            X = np.delete(X, place, axis=1)
        elif str(place) in [part.strip() for part in args.columns.split(",")]:
            raise InputError(f"{path}: --columns must not hold the column of --labels; got {place} in both; remove it")
        if X.shape[1] == 0:
            raise InputError(f"{path}: expected a column besides the labels; got none; check --labels")
        return X, labels, False
    reading = {"input": path, "labels": place, "gram": False, "kind": None}
    table = argparse.Namespace(**{**vars(args), **reading})
    data, y = read_with_values(table, place, "--labels", gaps=True, empty=None)
    return data.X, y, data.kind == "molecules"
