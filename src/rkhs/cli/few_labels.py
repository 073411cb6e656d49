"""``rkhs evaluate --few-labels``: which codes serve when few rows have labels."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rkhs.cli.inputs import add_drop_option, column, read_input, user_errors
from rkhs.cli.targets import read_with_values

if TYPE_CHECKING:
    import numpy as np

__all__ = ["add_few_label_options", "next_step", "run_few_labels"]

# Options of the other form of the command and of reading, which would be ignored here.
_UNUSED = (
    *("model", "input", "against", "diag", "errors", "smiles", "skip_bad_smiles"),
    *("kind", "fingerprint", "radius", "bits"),
)


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
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    positionals : tuple of argparse.Action
        Arguments that are not needed together with ``--few-labels``.
    """
    group = parser.add_argument_group("few labels", "instead of MODEL INPUT: compare models fitted without labels")
    group.add_argument(
        "--few-labels",
        metavar="TABLE",
        action=_WithoutModel,
        positionals=positionals,
        help="nearest neighbours on codes of TABLE when 5%% of its rows have labels: raw features, kernel PCA, ours",
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
        default="Gaussian,Laplacian,linear,ReLU",
        help="kernels to compare (default %(default)s)",
    )
    group.add_argument("--seed", type=int, default=0, help="seed of the splits and of all random numbers (default 0)")


def run_few_labels(args: argparse.Namespace) -> list[dict[str, str | float]]:
    """Compare and return the rows of the printed table.

    Parameters
    ----------
    args : argparse.Namespace
        The parsed arguments.

    Returns
    -------
    list of dict
        Texts and numbers by the name of their column.

    Raises
    ------
    InputError
        If the table or its labels cannot be used.
    """
    import numpy as np

    from rkhs._core.checks import check_count
    from rkhs._core.errors import InputError
    from rkhs.evaluation import choose_on_labels, few_label_methods, few_labels
    from rkhs.features import FilledTable

    given = [name for name in _UNUSED if getattr(args, name) not in (None, [], False)]
    if args.space != "auto":
        given.append("space")
    if given:
        raise InputError(
            f"--few-labels reads one table of numbers and fits its own models; got {given[0]!r} too; drop it"
        )
    if args.labels is None:
        raise InputError("--few-labels needs the column of classes; got none; name it with --labels COLUMN")
    X, y = _read_labelled(args)
    check_count(args.n_components, "--n-components")
    check_count(args.seed, "--seed", at_least=0)
    methods = few_label_methods(args.n_components, random_state=args.seed)
    kernels = tuple(part.strip() for part in args.kernels.split(","))
    if X.dtype == object:  # no label is looked at
        X = FilledTable().fit_transform(X)
    options = {"methods": methods, "kernels": kernels, "n_splits": args.splits, "n_neighbors": args.n_neighbors}
    with user_errors():
        found = few_labels(X, y, seed=args.seed, **options)
    chosen = choose_on_labels(found[1:], "chosen on labels")
    return [
        {
            "method": row.method,
            "kernel": "any" if row is chosen else row.kernel,
            "accuracy": float(row.mean),
            "deviation": float(row.std),
            "error": row.error,
            "leave-one-out": float(np.mean(row.validation)),
        }
        for row in (*found, chosen)
    ]


def next_step(args: argparse.Namespace) -> str:
    """Say which learner made fewer mistakes where this was measured, and the command that takes it.

    Parameters
    ----------
    args : argparse.Namespace
        The parsed arguments.

    Returns
    -------
    str
    """
    said = "Accuracies are those of nearest neighbours. On nine tables a smooth learner on codes made fewer mistakes: "
    if isinstance(args.labels, int):
        return f"{said}SmoothClassifier of rkhs.evaluation"
    return f"{said}rkhs fit {args.few_labels} --predict {args.labels} -o model.rkhs"


def _read_labelled(args: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes, None or NaN where a row has none."""
    import numpy as np

    from rkhs._core.errors import InputError

    path, place = args.few_labels, args.labels
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
        return X, labels
    reading = {"input": path, "labels": place, "gram": False, "kind": None}
    table = argparse.Namespace(**{**vars(args), **reading})
    data, y = read_with_values(table, place, "--labels", gaps=True, empty=None)
    return data.X, y
