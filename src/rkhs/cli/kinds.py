"""Kinds of items on the command line: their options, kernels, estimators, and what a model file says of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from string import ascii_uppercase
from typing import Any

import numpy as np

from rkhs import estimators, kernels, selection
from rkhs._core.errors import InputError
from rkhs.cli.options import refuse_flags
from rkhs.cli.parser import hint
from rkhs.data.dataset import Dataset, titles_of
from rkhs.data.fasta import masked_letters, with_letters_of
from rkhs.data.formats import FINGERPRINTS, is_table
from rkhs.data.known_columns import read_numbers
from rkhs.data.text import Mendable

OBJECTS = ("sequences", "texts", "graphs", "series", "spectra")  # lists of objects: without columns
_WIDTHS = 2, 3, 4, 5  # of substrings
_SHORT, _ALIGNED = 50, 200  # letters of sequences whose places are compared, and where these have one length
_ONE_LENGTH = 0.8  # share of them that have it
_MOST_COMPARED = 2000  # rows by which kernels are chosen


def fingerprint_options(args: argparse.Namespace) -> dict[str, Any]:
    """Options of the reader that say how SMILES become fingerprints."""
    named = {"fingerprint": args.fingerprint, "radius": args.radius, "n_bits": args.bits}
    return {name: value for name, value in named.items() if value is not None}


def default_kernel(data: Dataset) -> kernels.Kernel | str | None:
    """Kernel for a kind of items."""
    if data.kind == "series" or data.kind == "graphs":
        return kernels.kernels_for(data.kind, data.X)[0]
    if data.as_smiles:
        return kernels.MoleculeKernel()
    if data.kind == "molecules":
        return kernels.MinMax() if data.X.dtype.itemsize > 1 else kernels.Tanimoto()
    if data.kind == "sequences":
        return _of_sequences(data)
    if data.kind == "texts":
        return kernels.Spectrum(1, tokens="words")
    return {"gram": "precomputed", "spectra": "mass_spectrum"}.get(data.kind)


def _of_sequences(data: Dataset) -> kernels.Kernel:
    """Places of short sequences of one length, else substrings; none with a masked letter."""
    found, masked = {*"".join(data.X)}, {*masked_letters(data.X.tolist())}
    alphabet = "".join(sorted({*ascii_uppercase, *found} - masked))
    options: dict[str, Any] = {"alphabet": alphabet, "unknown": "skip"} if found & masked else {}
    alike = _are_short(data.X) and _have_one_length(data.X)
    return kernels.Positions(**options) if alike else kernels.Spectrum(**options)


def as_kernel_reads(data: Dataset, kernel: Any) -> Dataset:
    """Molecules as SMILES, for a kernel on objects or its text; other data, and kernels of fingerprints: as it is."""
    if data.kind == "molecules" and isinstance(kernel, str):
        from rkhs.cli.expressions import parse_kernel

        kernel = parse_kernel(kernel)
    objects = data.kind == "molecules" and getattr(kernel, "domain", None) == "objects"
    return replace(data, as_smiles=True) if objects else data


def in_known_letters(data: Dataset, known: list[str] | None) -> Dataset:
    """Sequences of RNA in the letters of those of the fit where these are DNA, or the other way round."""
    if data.kind != "sequences" or not known:
        return data
    texts, notes = with_letters_of(data.X.tolist(), known)
    return replace(data, X=np.array(texts, object), guessed=(*data.guessed, *notes))


def as_predictors_read(args: argparse.Namespace, data: Dataset) -> Dataset:
    """Molecules as SMILES, unless a kernel or fingerprints are asked for."""
    if data.kind != "molecules" or chose_kernel(args) or fingerprint_options(args):
        return data
    return as_kernel_reads(data, kernels.MoleculeKernel())


def chose_kernel(args: argparse.Namespace) -> bool:
    """Whether the user named a kernel, by its flag or by ``--set``."""
    settings = [text.partition("=")[0].strip() for text in getattr(args, "set", None) or ()]
    return args.kernel is not None or "kernel" in settings


def new_diagonal(args: argparse.Namespace, model: estimators.KernelNovelty) -> np.ndarray | None:
    """``k(x, x)`` of the rows of NEW as ``--diag`` says, a number or a file; it may not be guessed."""
    from rkhs._core.linalg import constant_value

    gram, known = model.kernel_.domain == "gram", args.new is None
    if args.diag is None:
        if not gram or constant_value(model.train_diag_) is not None:
            return None
        if known:
            return np.asarray(model.train_diag_)
        what = f"{args.new}: p needs k(x, x) of its rows, which differs among those of {args.input}"
        raise Mendable(f"{what}; write it to a file, one number a row", "reads it", diag="diagonal.csv")
    if known or not gram:
        raise InputError("--diag is for --gram and kernel values of new rows, NEW; leave it out")
    with suppress(ValueError):
        return np.array(float(args.diag))
    return read_numbers(args.diag, names_first=True).X.ravel()


def diag_options(args: argparse.Namespace, model: estimators.KernelEstimator) -> dict[str, float]:
    """What ``--diag`` says to a model of a Gram matrix; another model knows ``k(x, x)`` itself, and refuses it."""
    if args.diag is None:
        return {}
    if model.kernel_.domain != "gram":
        raise InputError(f"--diag is for models of Gram matrices; got {args.diag:g} for one that reads items; drop it")
    return {"diag": args.diag}


def choose_by_classes(args: argparse.Namespace, data: Dataset) -> selection.KernelChoice:
    """Compare the kernels of the kind by the classes that the file holds."""
    if args.kernel is not None:
        raise InputError("--choose-kernel and --kernel both choose the kernel; leave one out")
    if data.kind != "graphs" and data.kind != "series":
        raise InputError(
            f"--choose-kernel compares kernels of graphs or series; got {data.kind}; leave it out, or name the kernel "
            "with --kernel"
        )
    if data.classes is None or data.classes.dtype.kind == "f":
        raise InputError(
            f"--choose-kernel needs the class of each item; {args.input} has none; write series as .csv with a column "
            "of texts or as .ts, graphs in the TU format with NAME_graph_labels.txt, or leave --choose-kernel out"
        )
    return selection.choose_kernel(data.X, data.classes, kernels.kernels_for(data.kind, data.X))


def _are_short(sequences: np.ndarray, most: int = _SHORT) -> bool:
    """Whether most sequences are so short that their letters may be compared place by place."""
    return float(np.quantile([*map(len, sequences)], _ONE_LENGTH)) <= most


def _have_one_length(sequences: np.ndarray) -> bool:
    """Whether most sequences have one length."""
    return bool(np.unique([*map(len, sequences)], return_counts=True)[1].max() >= _ONE_LENGTH * len(sequences))


def choose_for_sequences(sequences: np.ndarray, y: np.ndarray) -> tuple[kernels.Kernel, str]:
    """The kernel of least error among substrings of several widths and places of short sequences, and a sentence."""
    widths = [k for k in _WIDTHS if k <= min(map(len, sequences))] or [1]
    compared: list[kernels.Kernel] = [kernels.Spectrum(k) for k in widths]
    if _are_short(sequences, _ALIGNED if _have_one_length(sequences) else _SHORT):
        compared += [kernels.Positions(), kernels.GaussianOf(kernels.Positions())]
    rows = np.unique(np.linspace(0, len(y) - 1, min(len(y), _MOST_COMPARED)).astype(int))
    found = selection.choose_kernel(sequences[rows], y[rows], compared)
    errors = ", ".join(f"{kernel!r} {error:.3f}" for kernel, error in zip(found.kernels, found.errors, strict=True))
    what, alone = ("numbers", "mean") if y.dtype.kind == "f" else ("classes", "shares")
    sentence = f"{found.kernel!r}, chosen by the {what}; leave-one-out errors (1: the {alone} alone): {errors}"
    return found.kernel, sentence


def find_estimator(name: str) -> type:
    """Find the estimator of a name, however its words are joined: KernelPCA, kernel-pca, kernel_pca."""
    classes = [getattr(estimators, each) for each in dir(estimators)]
    fits = [c for c in classes if isinstance(c, type) and hasattr(c, "fit") and hasattr(c, "transform")]
    table = {c.__name__: c for c in fits if "n_components" in c().get_params()}
    wanted = name.lower().replace("-", "").replace("_", "")
    wanted = {"kae": "kernelautoencoder", "kpca": "kernelpca"}.get(wanted, wanted)
    for each, cls in table.items():
        if each.lower() == wanted:
            return cls
    raise InputError(f"--estimator must be one of {', '.join(sorted(table))}; got {name!r}{hint(name, table)}")


def refuse_unknown(cls: type, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse parameters that an estimator does not have."""
    names = sorted(known)
    unknown = sorted(set(given) - set(names))
    if unknown:
        flag = "; it belongs to the robust fit: rkhs fit --robust --trim T" if unknown[0] == "trim" else ""
        raise InputError(
            f"{cls.__name__} has no parameter {unknown[0]!r}; it has {', '.join(map(repr, names))}"
            f"{flag or hint(unknown[0], names)}"
        )


def kind_notes(data: Dataset, args: argparse.Namespace) -> dict[str, Any]:
    """What a model file must say of a kind, so that other files are read in the same way."""
    notes: dict[str, Any] = {}
    if data.kind == "table":
        notes["places"] = list(data.places)
        notes["column_kinds"] = [
            "date" if name in data.dates else _kind_of_column({cell.lower() for cell in cells if isinstance(cell, str)})
            for name, cells in zip(titles_of(data), data.X.T, strict=True)
        ]
    if data.kind == "molecules":
        notes = _notes_of_molecules(data, args)
    if data.kind in ("sequences", "texts"):
        notes["texts"] = data.X.tolist()
        notes["text_column"] = args.columns
    if data.kind in ("series", "curves"):
        notes["key"] = args.key
        notes["times"] = None if data.times is None else data.times.tolist()
    return notes


def _kind_of_column(texts: set[str]) -> str:
    """What a column of these texts, or of numbers, holds: ``none`` is a text where it is among them."""
    return ("text or none" if "none" in texts else "text") if texts else "number"


def _notes_of_molecules(data: Dataset, args: argparse.Namespace) -> dict[str, Any]:
    radius = 2 if args.radius is None else args.radius
    recipe = {"name": args.fingerprint or "morgan", "radius": radius, "n_bits": int(data.X.shape[1])}
    return {
        "fingerprint": None if data.as_smiles else recipe,
        "smiles": None if data.smiles is None else list(data.smiles),
        "smiles_column": args.smiles,
    }


def kind_options(args: argparse.Namespace, path: str, known: dict[str, Any]) -> dict[str, Any]:
    """What the notes of a kind say of how other files are read."""
    kind, tabular = known.get("kind"), args.columns is None and is_table(path)
    if kind == "molecules":
        given = _recipe_options(args, known["fingerprint"], path)
        if tabular and args.smiles is None:
            given["smiles"] = known.get("smiles_column")
        return given
    if kind in ("sequences", "texts") and tabular:
        return {"columns": known.get("text_column")}
    if kind in ("series", "curves") and path.lower().endswith(".npz") and args.key is None:
        return {"key": known.get("key")}
    return {}


def _recipe_options(args: argparse.Namespace, recipe: Any, path: str) -> dict[str, Any]:
    """The fingerprint options of the training file; others are refused."""
    if recipe is None:
        refuse_flags(
            args, ("fingerprint", "radius", "bits"), "is for fingerprints; this model reads SMILES; leave it out"
        )
        return {}
    if (
        not isinstance(recipe, dict)
        or set(recipe) != {"name", "radius", "n_bits"}
        or recipe["name"] not in FINGERPRINTS
    ):
        raise InputError(f"the model was fitted on fingerprints that this version does not make; got {recipe!r}")
    circular, folded = recipe["name"] in ("morgan", "counts"), recipe["name"] != "maccs"
    kept = {
        "fingerprint": recipe["name"],
        "radius": recipe["radius"] if circular else None,
        "bits": recipe["n_bits"] if folded else None,
    }
    for name, value in kept.items():
        if getattr(args, name) not in (None, value):
            raise InputError(
                f"{path}: --{name} must be that of the fit, {value}; got {getattr(args, name)}; leave it out: the "
                "model remembers it"
            )
    return kept
