"""``--predict smiles``: predict molecular structures, for example from spectra, by ranking candidates."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs import estimators, kernels, metrics, models
from rkhs._core.errors import InputError, brief, warn
from rkhs.cli.build import build_estimator
from rkhs.cli.inputs import (
    begins_in_utf8,
    changed,
    is_text_table,
    named_columns,
    read_for_model,
    reading_options,
    user_errors,
)
from rkhs.cli.outputs import SHEETS, refuse_with_predict, write_model
from rkhs.cli.rows import label_columns
from rkhs.cli.summaries import little_sentence, print_result
from rkhs.cli.targets import read_with_values, values_of_column
from rkhs.data.dataset import LEFT_OUT, Dataset, keep_rows
from rkhs.data.known_columns import candidate_column, candidates_of, read_column
from rkhs.data.molecule_files import flat_smiles
from rkhs.data.writers import write_rows

if TYPE_CHECKING:
    from rkhs.persistence import ModelFile


_BANDWIDTH = 0.72  # of the Gaussian of Tanimoto distances: that of the paper on metabolites
_LARGE = 0.9  # of the variance: an error of a model that says little more than the mean
_FOLDS, _FEWEST_STRUCTURES = 5, 20
_BETTER = 3.0  # times guessing, from which ranks are of use
_TOP = (1, 5, 10)
_MIN_KNOWN = 20  # calibration items needed


def names_structures(args: argparse.Namespace) -> bool:
    """Whether ``--predict`` names a column of SMILES."""
    named = named_columns(args.predict)
    return len(named) == 1 and "smiles" in str(named[0]).lower() and args.targets is None


def fit_structures(args: argparse.Namespace) -> None:
    """Fit a model of structure features to the items with a known structure, and write it."""
    flags = ("estimator", "n_components", "drop_rare", "log10", "robust", "trim")
    refuse_with_predict(args, flags, ", which fits an InputOutputKernelRegressor")
    name = str(named_columns(args.predict)[0])
    data, smiles = read_with_values(args, name, "--predict")
    flat = flat_smiles(smiles)
    if not (known := flat.astype(bool)).any():
        raise InputError(f"--predict {name}: RDKit can read no SMILES in this column; name another column")
    data, unread = keep_rows(data, known, LEFT_OUT), int((~known).sum())
    groups = flat[known] if args.groups is None else values_of_column(args, args.groups, "--groups", data)
    with user_errors():
        defaults = {"output_kernel": kernels.GaussianOf(kernels.MoleculeTanimoto(), gamma=_BANDWIDTH)}
        defaults |= {} if args.loss is None else {"loss": args.loss}
        model = build_estimator(args, data, estimators.InputOutputKernelRegressor, defaults)
        model.fit(data.items, smiles[known].tolist(), groups=groups)
    facts = {
        "class": type(model).__name__,
        "input": {"path": args.input, "kind": data.kind, "items": data.n_samples},
        "predicts": name,
        "different structures": len(set(flat[known].tolist())),
        "rows without a structure": unread,
        "kernel": model.kernel_,
        "reg": model.reg_,
        "left-out error": model.leave_one_out_error_,
        **_first_of_left_out(model, flat[known]),
        "names": data.namings != [],
        "model": args.output,
    }
    write_model(args.output, model, data, args, predict={"columns": [name], "structures": True})
    facts["seconds"] = time.perf_counter() - args.started
    print_result(args, facts, list(_summary(facts)))


def _summary(facts: dict[str, Any]) -> Iterator[str]:
    items, unread = facts["input"], facts["rows without a structure"]
    gaps = f"; {unread} without a structure were left out" if unread else ""
    yield (
        f"{facts['class']}: {items['items']} {items['kind']} with {facts['different structures']} different "
        f"structures ({facts['seconds']:.1f} s){gaps}"
    )
    yield f"chosen: reg {facts['reg']:.3g}, kernel {brief(facts['kernel'])}"
    if facts["left-out error"] is not None:
        yield (
            f"leave-one-out error: {facts['left-out error']:.1%} of the variance of the structure features (100%: "
            "predicting the mean); the top-1 accuracy depends on the lists of candidates"
        )
        if "first" in facts:
            yield (
                f"a fifth of the structures left out at a time, the true one is first of about "
                f"{facts['structures left out']} left out with it for {facts['first']:.1%} (by guessing "
                f"{facts['first by guessing']:.1%})"
            )
        if facts["left-out error"] > _LARGE and facts.get("first", 0.0) <= _BETTER * facts.get(
            "first by guessing", 0.0
        ):
            yield little_sentence("the mean structure", f"or more {items['kind']}")
    yield f"model: {facts['model']}"
    what = "names of items" if facts.get("names", True) else "numbers of items from 1, as these have no names,"
    yield f"next: rkhs predict {facts['model']} NEW --candidates LISTS.csv, a table of {what} and SMILES"


def _first_of_left_out(model: estimators.InputOutputKernelRegressor, flat: np.ndarray) -> dict[str, float]:
    """How often the true structure is the best of those left out with it, by fits to four fifths of the structures."""
    from sklearn.model_selection import GroupKFold

    names, place = np.unique(flat, return_inverse=True)
    if model.leave_one_out_error_ is None or len(names) < _FEWEST_STRUCTURES:
        return {}
    folds = list(GroupKFold(_FOLDS).split(flat, groups=place))
    numbers = np.zeros(len(flat), dtype=int)
    for number, (_, test) in enumerate(folds):
        numbers[test] = number
    K, diagonal = model._candidate_kernel(None, None)
    U = model.output_.encode(K)
    predicted = U - model.model_.calibrated().in_groups(numbers).residuals.to(U)
    hits, sizes = [], []
    for _, test in folds:
        _, first, true = np.unique(place[test], return_index=True, return_inverse=True)
        rows = test[first]
        squares = model.output_.squared_distances(predicted[test], K[rows], diagonal[rows], paired=False)
        hits.append(metrics.truth_ranks([*-squares.numpy()], true) == 1)
        sizes.append(len(rows))
    chance = float(
        np.concatenate([np.full(len(one), 1.0 / size) for one, size in zip(hits, sizes, strict=True)]).mean()
    )
    found = {"first": float(np.concatenate(hits).mean()), "first by guessing": chance}
    return found | {"structures left out": round(len(names) / _FOLDS)}


def check_candidates(args: argparse.Namespace, column: str | None = None) -> None:
    """Refuse a table without a column of candidates."""
    if args.candidates is not None and not args.candidates.lower().endswith(".smi"):
        candidate_column(args.candidates, column, **_of_candidates(args))


def _of_candidates(args: argparse.Namespace) -> dict[str, Any]:
    """Options of reading tables, which are those of the candidates where the items stand in none."""
    return {} if is_text_table(args.input) else reading_options(args)


def rank_structures(args: argparse.Namespace, file: ModelFile) -> None:
    """Rank the candidates of each item; write one table."""
    if args.candidates is None:
        raise InputError(
            f"{args.model} ranks structures: name them with --candidates FILE, a table with the name of an item and a "
            "SMILES in each row, or one list of SMILES for all items"
        )
    if args.output is not None and not args.output.lower().endswith(SHEETS):
        raise InputError(f"structures are written as .csv or .xlsx; got -o {args.output}; change the file name")
    check_candidates(args, file.notes["predict"]["columns"][0])
    coverage = 0.9 if args.coverage is None else args.coverage
    data, lists = _read_lists(args, args.input, file, "INPUT")
    fitted = _of_the_fit(args.candidates, lists, file)
    with user_errors():
        held_out, facts = _known(args, file)
        sets: models.CandidateSets = file.estimator.predict_set(
            data.items, lists, coverage=coverage, held_out=held_out, per_sample=True
        )
        scores = file.estimator.scores(data.items, lists, per_sample=True)
    facts |= {"items": data.n_samples, "coverage": coverage, "guarantee": sets.guarantee, "output": args.output}
    facts["mean size of sets"] = float(sets.sizes.mean())
    write_rows(args.output, _rows(data, lists, scores, sets, fitted))
    if args.output is None:
        sys.stderr.writelines(f"rkhs: note: {line}\n" for line in _notes(facts))
    else:
        print_result(args, facts, [f"candidates of {data.n_samples} items: {args.output}", *_notes(facts)])


def _read_lists(args: argparse.Namespace, path: str, file: ModelFile, flag: str) -> tuple[Dataset, list[list[str]]]:
    """The items of a file that have candidates, and their lists of candidates."""
    options = _of_candidates(args)
    others = options.keys() - {"missing"}
    if file.notes["input"]["kind"] == "spectra" and not begins_in_utf8(path, -1):
        others -= {"encoding"}
    data = read_for_model(changed(args, **dict.fromkeys(others)), path, file.estimator, file.notes)
    namings = data.namings or [label_columns(data)[0]]
    unnamed = "" if data.namings else ", whose items have no names but their numbers"
    lists = candidates_of(args.candidates, file.notes["predict"]["columns"][0], namings, **options)
    listed = np.array([bool(one) for one in lists])
    if not listed.any():
        raise InputError(
            f"--candidates {args.candidates} must hold names of {flag} {path}{unnamed}, such as "
            f"{' or '.join(dict.fromkeys(names[0] for names in namings))}, in a column; got none of them; write them "
            "next to the structures"
        )
    return keep_rows(data, listed, LEFT_OUT), [one for one in lists if one]


def _of_the_fit(path: str, lists: list[list[str]], file: ModelFile) -> set[str]:
    """Candidates that are structures of the fit, which come first whatever the item is; warns of them."""
    fitted, named = set(flat_smiles(file.estimator.train_outputs_)), list({text for one in lists for text in one})
    seen = {text for text, flat in zip(named, flat_smiles(named), strict=True) if flat in fitted}
    if seen:
        warn(
            f"{path}: {len(seen):,} of {len(named):,} different candidates are structures of the fit, which rank too "
            "high: the column in_fit marks them; leave them out of the lists if the spectra are of new molecules"
        )
    return seen


def _known(args: argparse.Namespace, file: ModelFile) -> tuple[tuple[Any, Any, Any] | None, dict[str, Any]]:
    """Items of ``--known`` with the indices of their true candidates, and the top-k accuracy."""
    if args.known is None:
        return None, {}
    data, lists = _read_lists(args, args.known, file, "--known")
    column = read_column(args.known, file.notes["predict"]["columns"][0], argument="--known")
    true = flat_smiles(column[np.array(data.row_numbers) - 1])
    hits = [flat_smiles(one) == truth for one, truth in zip(lists, true, strict=True)]
    kept = [i for i, found in enumerate(hits) if true[i] and found.any()]
    if len(kept) < _MIN_KNOWN:
        raise InputError(
            f"--known {args.known} needs at least {_MIN_KNOWN} items whose true structure is among their candidates; "
            f"got {len(kept)} of {data.n_samples}; add items, or leave --known out"
        )
    held_out = data.items[kept], np.array([hits[i].argmax() for i in kept]), [lists[i] for i in kept]
    ranks = metrics.truth_ranks(file.estimator.scores(held_out[0], held_out[2], per_sample=True), held_out[1])
    top = {k: (metrics.top_k_accuracy(ranks, k), _by_guessing(held_out[2], k)) for k in _TOP}
    return held_out, {"known items": len(kept), "not in their list": data.n_samples - len(kept), "top": top}


def _by_guessing(lists: list[list[str]], k: int) -> float:
    """How often the true structure is among ``k`` that are drawn from its list."""
    return sum(min(k / len(one), 1.0) for one in lists) / len(lists)


def _notes(facts: dict[str, Any]) -> Iterator[str]:
    """Coverage of the sets and accuracy of the ranks."""
    yield (
        f"in_set: the set contains the true structure with probability {facts['guarantee']} {facts['coverage']:g}, "
        f"provided it is among the candidates; {facts['mean size of sets']:.1f} candidates per set on average"
    )
    if "top" not in facts:
        yield (
            "no probabilities: they need items of known structure that are not in the fit, with lists of candidates "
            "made in the same way; pass the items with --known FILE, and add their lists to the file of --candidates"
        )
        return
    shares = [f"{share:.0%} (by guessing {guess:.0%})" for share, guess in facts["top"].values()]
    later = ", ".join(f"among the first {k} for {share}" for k, share in zip(_TOP[1:], shares[1:], strict=True))
    out = f" ({facts['not in their list']} more are not in their list)" if facts["not in their list"] else ""
    yield f"of {facts['known items']} known items{out} the true structure is first for {shares[0]}, {later}"


def _rows(
    data: Dataset, lists: list[list[str]], scores: list[np.ndarray], sets: models.CandidateSets, fitted: set[str]
) -> Iterator[list[Any]]:
    """One row per item and candidate, best first."""
    labels, likely = label_columns(data)[0], sets.probabilities
    yield ["item", "rank", "candidate", "score", *([] if likely is None else ["probability"]), "in_set", "in_fit"]
    for i, found in enumerate(scores):
        for rank, j in enumerate((-found).argsort(kind="stable").tolist(), 1):
            shares = [] if likely is None else [float(likely[i][j])]
            marks = sets.members[i][j], lists[i][j] in fitted
            yield [labels[i], rank, lists[i][j], float(found[j]), *shares, *("yes" if one else "no" for one in marks)]
