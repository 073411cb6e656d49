"""The fast way through a large text table gives what the reader gives, to the bit, or leaves the file to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rkhs._core.errors import InputError
from rkhs.data import fast_text, read_table, readers, text

pytest.importorskip("pandas", reason="the fast way needs pandas")

NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.from_regex(
    r"\A[-+]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][-+]?[0-9]{1,3})?\Z"
)
ODD = st.sampled_from(
    ["", " ", "nan", "NA", "inf", "1e999", "1_000", "0x10", "1.5x", "True", "1e", "--1", '"1"', "'2", "\u0663", "1\x00",
     " 7", "7 ", "\u00a07", "#5", "1,000", "-0.0", "1e-400", "5e-324", "a"]
)  # fmt: skip
ROOMY = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files take the fast way too."""
    monkeypatch.setattr(fast_text, "_LEAST", 1)
    monkeypatch.setattr(fast_text, "_LEAST_IMPORTED", 1)


def outcome(path: Path, **options: object) -> object:
    try:
        found = read_table(path, **options)  # type: ignore[arg-type]
    except InputError as error:
        return str(error)
    return found.X.tobytes(), found.X.shape, found.row_names, found.column_names


def both(path: Path, monkeypatch: pytest.MonkeyPatch, **options: object) -> tuple[object, object]:
    fast = outcome(path, **options)
    with monkeypatch.context() as patch:
        patch.setattr(readers, "numbers_of_large_file", lambda *args, **options: None)
        return fast, outcome(path, **options)


@pytest.mark.slow
@ROOMY
@given(
    cells=st.lists(st.lists(NUMBERS | ODD, min_size=3, max_size=3), min_size=1, max_size=6),
    header=st.sampled_from(["", "a,b,c\n", ",b,c\n"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    between=st.sampled_from(["\n", "\n", "\n\n"]),
    tail=st.sampled_from(["", "\n", "\n\n", "1,2\n", "1,2,3,4\n"]),
)
def test_the_same_numbers_names_and_errors(
    always: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cells: list[list[str]],
    header: str,
    end: str,
    between: str,
    tail: str,
) -> None:
    path = tmp_path / "table.csv"
    written = header + between.join(",".join(row) for row in cells) + "\n" + tail
    path.write_bytes(written.replace("\n", end).encode())
    fast, slow = both(path, monkeypatch)
    assert fast == slow


@ROOMY
@given(rows=st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=8))
def test_plain_numbers_take_the_fast_way(
    always: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[list[str]]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b,c\n" + "\n".join(",".join(row) for row in rows) + "\n")
    values = np.array([[float(cell) for cell in row] for row in rows])
    found = fast_text.numbers_of_large_file(path, None, header=True, width=3, delimiter=",", encoding="utf-8")
    if not np.isfinite(values).all():
        assert found is None
        return
    assert found is not None
    assert found[0].tobytes() == values.tobytes()
    for options in ({}, {"columns": ["c", "a"]}, {"columns": [1]}, {"drop_columns": ["a"]}, {"index_column": "b"}):
        fast, slow = both(path, monkeypatch, **options)
        assert fast == slow


def test_a_first_row_of_infinities_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("0.0,inf,inf\n")
    with pytest.raises(InputError, match="expected a finite number in every cell"):
        read_table(path)


def test_small_files_and_files_without_pandas_are_left_to_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1.5,2\n" * 100)
    asked = {"header": True, "width": 2, "delimiter": ",", "encoding": "utf-8"}
    assert fast_text.numbers_of_large_file(path, None, **asked) is None  # type: ignore[arg-type]
    path.write_text("a,b\n" + "1.5,2\n" * 20_000)
    found = fast_text.numbers_of_large_file(path, None, **asked)  # type: ignore[arg-type]
    assert found is not None
    assert found[0].shape == (20_000, 2)
    monkeypatch.setattr(fast_text, "find_spec", lambda name: None)
    assert fast_text.numbers_of_large_file(path, None, **asked) is None  # type: ignore[arg-type]


NAMES = st.sampled_from(
    ["a", "b ", " c", "'=d", "-e", "\u00e9 f", "1.5x", "7", "g h", "1_0", "", "12 %", "CC(=O)O", "nan"]
)


@ROOMY
@given(
    names=st.lists(NAMES, min_size=2, max_size=5),
    numbers=st.lists(NUMBERS | st.sampled_from(["1.5", "2", "", "x"]), min_size=10, max_size=10),
    header=st.sampled_from(["", "name,a,b\n", ",a,b\n"]),
    options=st.sampled_from([{}, {"index_column": 0}, {"columns": [1]}, {"columns": [2, 1]}, {"drop_columns": [2]}]),
)
def test_names_of_rows_are_the_same(
    always: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: list[str],
    numbers: list[str],
    header: str,
    options: dict[str, object],
) -> None:
    path = tmp_path / "table.csv"
    rows = [f"{name},{numbers[2 * i]},{numbers[2 * i + 1]}" for i, name in enumerate(names)]
    path.write_text(header + "\n".join(rows) + "\n", encoding="utf-8")
    fast, slow = both(path, monkeypatch, **options)
    assert fast == slow


@pytest.mark.parametrize("options", [{}, {"index_column": "name"}])
def test_a_table_with_names_of_rows_takes_the_fast_way(
    always: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("name,a,b\n" + "".join(f"r{i},{i / 7!r},{i}\n" for i in range(50)))
    _, slow = both(path, monkeypatch, **options)
    monkeypatch.setattr(text, "_parse", None)  # the slow way
    assert outcome(path, **options) == slow
    assert slow[2] == tuple(f"r{i}" for i in range(50))  # type: ignore[index]
