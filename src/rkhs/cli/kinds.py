"""Kinds of items on the command line: their options, kernels, estimators, and what a model file says of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from rkhs import estimators, kernels, selection
from rkhs._core.errors import InputError
from rkhs.cli.options import changed
from rkhs.cli.parser import hint
from rkhs.data.dataset import Dataset, titles_of
from rkhs.data.formats import FINGERPRINTS

OBJECTS = ("sequences", "texts", "graphs", "series", "spectra")  # lists of objects: without columns
_LACKS = {"path": ("radius",), "maccs": ("radius", "n_bits")}  # options that a fingerprint does not have
_WIDTHS = 2, 3, 4, 5  # of substrings
_SHORT, _ALIGNED = 50, 200  # letters of sequences whose places are compared, and where these have one length
_ONE_LENGTH = 0.8  # share of them that have it
_MOST_COMPARED = 2000  # rows by which kernels are chosen


def fingerprint_options(args: argparse.Namespace) -> dict[str, Any]:
    """Options of the reader that say how SMILES become fingerprints."""
    text = getattr(args, "fingerprint", None)
    if text is None or isinstance(text, dict):  # that of a fit
        return text or {}
    name, _, settings = text.strip().removesuffix(")").partition("(")
    if name not in FINGERPRINTS:
        raise InputError(f"--fingerprint must be {', '.join(FINGERPRINTS)}, or 'morgan(radius=3)'; got {text!r}")
    found: dict[str, Any] = {"fingerprint": name}
    known = {"radius", "n_bits", "on_error"} - set(_LACKS.get(name, ()))
    for setting in settings.split(",") if settings else ():
        option, _, value = setting.replace(" ", "").partition("=")
        if option not in known:
            raise InputError(f"--fingerprint {name} has no option {option}; it has {', '.join(sorted(known))}")
        found[option] = int(value) if value.isdecimal() else value
    return found


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
    """Places of short sequences of one length, else substrings."""
    return kernels.Positions() if _are_short(data.X) and _have_one_length(data.X) else kernels.Spectrum()


def as_kernel_reads(data: Dataset, kernel: Any) -> Dataset:
    """Molecules as SMILES, for a kernel on objects or its text; other data, and kernels of fingerprints: as it is."""
    if data.kind == "molecules" and isinstance(kernel, str):
        from rkhs.cli.expressions import parse_kernel

        kernel = parse_kernel(kernel)
    objects = data.kind == "molecules" and getattr(kernel, "domain", None) == "objects"
    return replace(data, as_smiles=True) if objects else data


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
    from rkhs.data.arrays import load_npy

    gram, known = model.kernel_.domain == "gram", args.new is None
    if args.diag is None:
        if not gram or constant_value(model.train_diag_) is not None:
            return None
        if known:
            return np.asarray(model.train_diag_)
        raise InputError(
            f"{args.new}: p-values need k(x, x) of its rows, which differs among those of {args.input}; write it to a "
            ".npy file, one number a row, and name that with --diag"
        )
    if known or not gram:
        raise InputError("--diag is for --gram and kernel values of new rows, NEW; leave it out")
    with suppress(ValueError):
        return np.array(float(args.diag))
    return load_npy(args.diag).ravel()


def diag_options(args: argparse.Namespace, model: estimators.KernelEstimator) -> dict[str, float]:
    """What ``--diag`` says to a model of a Gram matrix; another model knows ``k(x, x)`` itself, and refuses it."""
    if args.diag is None:
        return {}
    if model.kernel_.domain != "gram":
        raise InputError(f"--diag is for models of Gram matrices; got {args.diag:g} for one that reads items; drop it")
    return {"diag": args.diag}


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
        raise InputError(
            f"{cls.__name__} has no parameter {unknown[0]!r}; it has {', '.join(map(repr, names))}"
            f"{hint(unknown[0], names)}"
        )


def kind_notes(data: Dataset, args: argparse.Namespace) -> dict[str, Any]:
    """What a model file must say of a kind, so that other files are read in the same way."""
    if data.kind == "table":
        columns = zip(titles_of(data), data.X.T, strict=True)
        return {"column_kinds": ["date" if name in data.dates else _kind_of_column(cells) for name, cells in columns]}
    if data.kind == "molecules":
        given = fingerprint_options(args)
        recipe = {"name": given.get("fingerprint", "morgan"), "radius": given.get("radius", 2)}
        return {
            "fingerprint": None if data.as_smiles else recipe | {"n_bits": int(data.X.shape[1])},
            "smiles": None if data.smiles is None else list(data.smiles),
            "smiles_column": args.smiles,
        }
    if data.kind in ("sequences", "texts"):
        return {"texts": data.X.tolist()}
    return {"times": None if data.times is None else data.times.tolist()}


def _kind_of_column(cells: np.ndarray) -> str:
    """Whether a column holds texts or numbers."""
    return "text" if any(isinstance(cell, str) for cell in cells) else "number"


def known_fingerprint(args: argparse.Namespace, path: str, known: dict[str, Any]) -> argparse.Namespace:
    """The arguments with the fingerprint of the training file; another one is refused."""
    if known.get("kind") != "molecules":
        return args
    recipe, given = known.get("fingerprint"), fingerprint_options(args)
    if recipe is None and given:
        raise InputError("--fingerprint is for fingerprints; this model reads SMILES; leave it out")
    if recipe is None:
        return args
    found = {"fingerprint": recipe["name"], "radius": recipe["radius"], "n_bits": recipe["n_bits"]}
    if any(found.get(name, value) != value for name, value in given.items()):
        raise InputError(
            f"{path}: --fingerprint must be that of the fit, {recipe}; leave it out: the model remembers it"
        )
    return changed(args, fingerprint=given | found)
