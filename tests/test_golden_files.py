"""Files of every format version load forever, and their models say what they said when the file was written."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs.persistence import FORMAT, read_model
from tests.contracts.estimator_examples import estimators

FOLDER = Path(__file__).parent / "golden"
TOOL = Path(__file__).resolve().parents[1] / "tools" / "make_golden_files.py"
FILES = sorted(FOLDER.glob("*.rkhs"))
# What is stored in another way than the training rows of a table.
STORED = (
    "bits",
    "gram",
    "graphs",
    "molecules",
    "nystroem",
    "pipeline",
    "random_features",
    "series",
    "sets",
    "strings",
    "tables",
)

READ = {
    "vectors": lambda items: np.array(items, dtype=np.float64),
    "bits": lambda items: np.array(items, dtype=bool),
    "texts": lambda items: items,
    "graphs": lambda items: [(np.array(edges).reshape(-1, 2), labels) for edges, labels in items],
    "series": lambda items: [np.array(item) for item in items],
    "rows": lambda items: [tuple(item) for item in items],
    "peaks": lambda items: [tuple(np.array(part) for part in item) for item in items],
}


def tolerance(model: Any) -> float:
    """Of the largest number: processors differ in the last bits; refined codes are minimisers up to a tolerance."""
    params = model.get_params()
    if params.get("refine", False):
        return 6e-3  # the codes of the first files were that far from their minimum
    return 1e-4 if params.get("dtype") == "float32" else 1e-8


@pytest.mark.filterwarnings("ignore:the pipeline was saved with:UserWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_models_say_what_they_said(path: Path) -> None:
    if "molecules" in path.stem:
        pytest.importorskip("rdkit", reason="molecules need RDKit (extra `chem`)")
    known, model = json.loads(path.with_suffix(".json").read_text()), rkhs.load(path)
    items = READ[known["kind"]](known["items"])
    assert known["answers"]
    kept = np.full(len(known["answers"].get("transform", items)), True)
    before = np.array(known["answers"].get("reconstruction_error", []))
    if model.get_params().get("refine", False) and len(before):
        # Refined codes may be found better than they were. Their cost is the error and what the encoder pays, so the
        # error alone may also rise by a little.
        change = (model.reconstruction_error(items) - before) / before.max()
        assert change.max() <= 1e-3
        kept = np.abs(change) <= 1e-4
        assert kept.mean() >= 0.5
    for method, said in known["answers"].items():
        expected = np.array(said)
        back = method == "inverse_transform"
        found = np.asarray(getattr(model, method)(np.array(known["answers"]["transform"]) if back else items))
        rows = slice(None) if back else kept
        atol = tolerance(model) * np.abs(expected).max()
        np.testing.assert_allclose(found[rows], expected[rows], rtol=0.0, atol=atol)


def test_every_estimator_and_every_way_of_storing_has_a_file_of_each_format() -> None:
    for minor in range(FORMAT[1] + 1):
        models = {path.stem: read_model(path) for path in FILES if path.stem.endswith(f"-{FORMAT[0]}.{minor}")}
        assert {model.format for model in models.values()} == {(FORMAT[0], minor)}
        missing = {cls.__name__ for cls in estimators()} - {type(file.estimator).__name__ for file in models.values()}
        assert not missing, "add a case to tools/make_golden_files.py and run it"
        assert not [word for word in STORED if not any(re.search(rf"(^|_){word}[_-]", stem) for stem in models)]


def test_files_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert not {name: size for name, size in sizes.items() if size > 30_000}
    assert len(sizes) == 2 * len(FILES)


def test_the_tool_writes_over_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("make_golden_files", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert {path.stem.rpartition("-")[0] for path in FILES} >= set(tool.CASES)
    monkeypatch.setattr(tool, "FOLDER", tmp_path)
    monkeypatch.setattr(tool, "CASES", {"a": tool.CASES["kernel_pca_linear"], "b": tool.CASES["gram_transformer"]})
    (tmp_path / f"a-{FORMAT[0]}.{FORMAT[1]}.rkhs").write_text("somebody's")
    tool.main()
    assert (tmp_path / f"a-{FORMAT[0]}.{FORMAT[1]}.rkhs").read_text() == "somebody's"
    assert sorted(path.suffix for path in tmp_path.glob("b-*")) == [".json", ".rkhs"]
    assert capsys.readouterr().out.count("left as it is") == 1
