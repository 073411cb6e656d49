"""A fitted model and its items as one page of HTML that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rkhs._core.checks import check_choice, check_count
from rkhs._core.errors import InputError, quote
from rkhs._core.files import atomic_file
from rkhs._core.threads import within_limit
from rkhs.estimators import KernelEstimator
from rkhs.evaluation.targets import read_target
from rkhs.reports.audit import audit, column_rows
from rkhs.reports.findings import diagnosis, rebuild
from rkhs.reports.items import read_items
from rkhs.reports.neighbours import draw_map, find_neighbours
from rkhs.reports.page import Content, page, summary
from rkhs.reports.target import predict_target


@dataclass(frozen=True)
class Report:
    """A page of HTML, and its main sentences.

    Parameters
    ----------
    html : str
        The whole page.
    audit : tuple of str
        What the items are.
    summary : tuple of str
        Whether the target can be predicted, what the map or the codes lose, and what to look at.
    warnings : tuple of str
        What :func:`rkhs.diagnose` warns of. Usually empty.

    Raises
    ------
    InputError
        From :meth:`save`, for a path that cannot be written.

    Examples
    --------
    >>> from rkhs import KernelPCA, make_report
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> report = make_report(KernelPCA(2).fit(X), X)
    >>> report.summary[0].partition(",")[0]
    'KernelPCA turns each of 150 items into a code of length 2; rebuilt from it'
    >>> report.html[:15]
    '<!doctype html>'
    """

    html: str
    audit: tuple[str, ...]
    summary: tuple[str, ...]
    warnings: tuple[str, ...]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file: complete, or not at all.

        Parameters
        ----------
        path : str or path
            Ends in ``.html``.
        """
        if not str(path).lower().endswith((".html", ".htm")):
            raise InputError(f"path must end in .html; got {str(path)!r}; change the file name")
        with atomic_file(path) as handle:
            handle.write(self.html.encode("utf-8", errors="replace"))


@within_limit
def make_report(
    model: KernelEstimator,
    X: Any,
    *,
    target: Any = None,
    target_name: str = "target",
    smiles: Sequence[str] | None = None,
    at_most: int = 5000,
    title: str | None = None,
    model_file: str | None = None,
    commands: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    parts: Literal["all", "map"] = "all",
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Make a page about a fitted model and items: the columns, the target, the map, items to look at, what to do next.

    The map is the model itself if that is a :class:`KernelMap`, else one of the kernel of the model. The page is one
    file without links to other places. It draws its map by a small script of its own; without scripts
    it shows the texts and the tables.

    Parameters
    ----------
    model : estimator
        Fitted, with ``transform``: KernelMap, KernelAutoencoder, KernelPCA, KernelContrastive, DeepRKM.
    X : array (n, d), kernel values (n, n_train), list of n objects, DataFrame, or Dataset of ``rkhs.data``
        Items as the model takes them, such as those it was fitted on. Codes are ``model.transform(X)``. A DataFrame
        names the items by its index and their columns.
    target : array or Series of shape (n,), default=None
        A class or a number of each item: it colours the map, and each item's is predicted from the others. Numbers,
        whole ones too, are numbers; texts, truth values and categories of pandas are classes. NaN and None are gaps.
    target_name : str, default="target"
    smiles : sequence of n str, default=None
        Structures of the items, which the page then draws (needs RDKit, extra ``chem``).
    at_most : int, default=5000
        Items on the page, evenly spaced among all. The audit reads all.
    title : str, default=None
    model_file : str, default=None
        Name of the file that holds the model, for the lines that load it.
    commands : sequence of pairs of str, default=()
        What a command does, and the line to copy.
    notes : sequence of str, default=()
        Sentences about how the items were read, for the page.
    parts : {"all", "map"}, default="all"
        The whole page, or the map alone.
    progress : callable, default=None
        Told in words what is done next.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If the model has no codes, or the arguments do not fit the items.
    NotFittedError
        Before fit.
    MissingExtraError
        For ``smiles`` without RDKit.

    Notes
    -----
    Time is that of ``transform``, of a map, of distances and a matrix inverse, O(n^3), of :func:`rkhs.diagnose`, ``2
    n^3``, which is left out beyond 5,000 training items, and of an :class:`OperatorKernelRegressorCV` on at most 2,000
    rows for a target.

    Examples
    --------
    >>> from rkhs import KernelPCA, make_report
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> species = iris.target_names[iris.target]
    >>> report = make_report(KernelPCA(2).fit(iris.data), iris.data, target=species, target_name="species")
    >>> print(report.audit[0])
    150 items with 4 columns each.
    """
    if not hasattr(model, "transform"):
        raise InputError(f"model must be a fitted estimator with codes (transform); got {quote(model)}")
    check_is_fitted(model)
    domain = getattr(getattr(model, "kernel_", None), "domain", "vectors")
    everything = read_items(X, domain, smiles)
    n, whole = len(everything), check_choice(parts, "parts", ("all", "map")) == "all"
    kept = np.linspace(0, n - 1, min(n, check_count(at_most, "at_most", at_least=2))).round().astype(int)
    everyones, coloured = None, None
    if target is not None:
        everyones = (target_name, read_target(target, n, "target"))
        coloured = (target_name, everyones[1][kept])
    items = everything if len(kept) == n else everything.rows(kept)
    progress_line = progress or (lambda _: None)
    progress_line(f"codes of {len(items)} items")
    codes = np.asarray(model.transform(items.X), dtype=np.float64)
    if codes.ndim != 2 or not codes.shape[1]:
        raise InputError(f"model must give codes of shape (n, p); got {codes.shape}")
    progress_line("map")
    neighbours, K = find_neighbours(model, items, codes)
    content = Content(
        model=model,
        items=items,
        total=n,
        notes=notes,
        audit=(),
        columns=[],
        codes=codes,
        neighbours=neighbours,
        layout=draw_map(model, codes, K),
        target=coloured,
        title=title or ("Report" if items.source is None else f"Report of {os.path.basename(items.source)}"),
        model_file=model_file,
        commands=commands,
    )
    if whole:
        content = replace(content, audit=tuple(audit(everything)), columns=column_rows(everything, everyones))
        content = _measured(content, progress_line)
    return Report(page(content), content.audit, tuple(summary(content)), content.warnings)


def _measured(content: Content, progress: Callable[[str], None]) -> Content:
    """Add the prediction of the target, the errors and the diagnosis."""
    model, items, prediction = content.model, content.items, None
    if content.target is not None:
        progress(f"prediction of {content.target[0]}")
        prediction = predict_target(model, items, content.target)
    progress("reconstructions")
    warnings, lost = diagnosis(model)
    rebuilt = rebuild(model, items, content.codes)
    return replace(content, prediction=prediction, rebuilt=rebuilt, warnings=tuple(warnings), lost=lost)
