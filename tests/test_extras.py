"""Every place that needs an optional package says which extra installs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs import plots
from rkhs._core.errors import MissingExtraError
from rkhs.data import read_items, write_codes
from rkhs.engines import as_rows
from rkhs.features import Nystroem
from rkhs.kernels import MoleculeKernel, MoleculeTanimoto
from tests.tables import read_table

X = np.random.default_rng(0).normal(size=(20, 3))
EXTRAS = {
    **{"rdkit": "chem", "networkx": "graphs", "pyarrow": "tables"},
    **{"distributed": "cluster", "matplotlib": "plots", "onnx": "onnx", "matchms": "spectra"},
}


def model(**params: Any) -> rkhs.KernelPCA:
    return rkhs.KernelPCA(2, kernel="gaussian", **params).fit(X)


USES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "molecules": ("rdkit", lambda _: MoleculeTanimoto()(["CCO"])),
    "counts of molecules": ("rdkit", lambda _: MoleculeKernel()(["CCO"])),
    "GraphML": ("networkx", lambda folder: read_items(folder)),
    "spectra": ("matchms", lambda folder: read_items(folder / "s.mgf")),
    "reading parquet": ("pyarrow", lambda folder: read_table(folder / "t.parquet")),
    "writing parquet": ("pyarrow", lambda folder: write_codes(folder / "new.parquet", X)),
    "rows of parquet": ("pyarrow", lambda folder: as_rows(folder / "t.parquet")),
    "a cluster": ("distributed", lambda _: model(storage=Nystroem(5), engine="dask")),
    "ONNX": ("onnx", lambda folder: rkhs.to_onnx(model(), folder / "m.onnx")),
    "maps": ("matplotlib", lambda _: plots.CodeMapDisplay(X[:, :2]).plot()),
    "saving figures": ("matplotlib", lambda folder: plots.save_figure(object(), folder / "f.png")),  # type: ignore
}


@pytest.mark.parametrize("use", USES)
def test_the_error_names_the_extra(use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, call = USES[use]
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    (tmp_path / "g.graphml").write_text("<graphml/>")
    (tmp_path / "s.mgf").write_text("BEGIN IONS")
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "rkhs\[{EXTRAS[package]}\]"'):
        call(tmp_path)
