"""What commands and readers say in place of a guess without a word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rkhs import KernelPCA
from rkhs.cli.main import main
from rkhs.cli.wording import in_flags
from rkhs.kernels import GlobalAlignment, WeisfeilerLehman


def _table(folder: Path, cells: list[str]) -> list[str]:
    rows = [f"{i * i % 17},{i * 7 % 11},{cell}" for i, cell in enumerate(cells)]
    (folder / "t.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    return ["fit", str(folder / "t.csv"), "--predict", "y", "-o", str(folder / "m.rkhs")]


def test_a_constant_target_is_fitted_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_table(tmp_path, ["3.0"] * 30)) == 0
    assert "all values of y are equal" in capsys.readouterr().out


@pytest.mark.parametrize("cells", [[f"{i}.5 mg" for i in range(30)], [f"{i % 3}.5 nM" for i in range(30)]])
def test_a_unit_of_all_cells_is_read_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cells: list[str]
) -> None:
    assert main(_table(tmp_path, cells)) == 0
    assert "the unit of all its cells" in capsys.readouterr().err


def test_blanks_before_quotation_marks(tmp_path: Path) -> None:
    words = _table(tmp_path, [])
    rows = "".join(f'"{i}", "{i * i % 7}", "{i % 5}"\n' for i in range(30))
    (tmp_path / "t.csv").write_text('"a", "b", "y"\n' + rows)
    assert main(words) == 0


@pytest.mark.parametrize("words", ["novelty x --top 3", "fit x --gpu", "fit x --coverage .9"])
def test_no_flag_is_better_than_a_wrong_one(capsys: pytest.CaptureFixture[str], words: str) -> None:
    with pytest.raises(SystemExit):
        main(words.split())
    said = capsys.readouterr().err
    assert "did you mean" not in said
    assert said.index("error:") < said.index("usage:")


def test_parameters_and_old_names_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    for words, meant in (("fit x --device cuda", "--set device=..."), ("evaluate x", "it became 'compare'")):
        with pytest.raises(SystemExit):
            main(words.split())
        assert meant in capsys.readouterr().err
    assert in_flags("--groups must hold; groups must hold") == "--groups must hold; --groups must hold"


def test_edges_series_and_texts_are_said() -> None:
    kernel = WeisfeilerLehman()
    with pytest.warns(UserWarning, match="a third entry"):
        kernel([([(0, 1, 2.0), (1, 2, 1.0)], 3)])
    with pytest.raises(ValueError, match="edge_index of two rows"):
        kernel([(np.array([[0, 1], [0, 2]]), 3)])
    with pytest.warns(UserWarning, match="2 times of 50 channels"):
        GlobalAlignment()(np.random.default_rng(0).normal(size=(3, 2, 50)))
    with pytest.raises(ValueError, match="the text 'mpfi' in column 'sym'.*columns='filled'"):
        KernelPCA(1).fit(pd.DataFrame({"a": [1.0, 2.0], "sym": ["mpfi", "x"]}))
