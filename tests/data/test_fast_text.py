"""The fast way through a large text table gives what the reader gives, to the bit, or leaves the file to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rkhs._core.errors import InputError
from rkhs.data import Dataset, fast_text, mixed, read_mixed, read_table, readers, text

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


def outcome(path: Path, read: Callable[..., Dataset] = read_table, **options: object) -> object:
    try:
        found = read(path, **options)
    except InputError as error:
        return str(error)
    cells = [(type(cell), repr(cell)) for cell in found.X.ravel().tolist()]
    return cells, found.X.dtype, found.X.shape, found.row_names, found.column_names, found.row_title


def both(
    path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[..., Dataset] = read_table, **options: object
) -> tuple[object, object]:
    fast = outcome(path, read, **options)
    with monkeypatch.context() as patch:
        patch.setattr(readers, "columns_of_large_file", lambda *args, **options: None)
        return fast, outcome(path, read, **options)


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
    found = fast_text.columns_of_large_file(path, [], [], header=True, width=3, delimiter=",", encoding="utf-8")
    if not np.isfinite(values).all():
        assert found is None
        return
    assert found is not None
    assert np.column_stack([found.numbers[j] for j in range(3)]).tobytes() == values.tobytes()
    for options in ({}, {"columns": ["c", "a"]}, {"columns": [1]}, {"drop_columns": ["a"]}, {"index_column": "b"}):
        fast, slow = both(path, monkeypatch, **options)
        assert fast == slow


def test_a_first_row_of_infinities_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("0.0,inf,inf\n")
    with pytest.raises(InputError, match="expected a finite number in every cell"):
        read_table(path)


def test_a_first_row_of_large_numbers_is_read(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("0.0,1.359375,1.797693134862316e+302\n")
    assert read_table(path).X.tolist() == [[0.0, 1.359375, 1.797693134862316e302]]


def test_small_files_and_files_without_pandas_are_left_to_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1.5,2\n" * 100)
    asked = {"header": True, "width": 2, "delimiter": ",", "encoding": "utf-8"}
    assert fast_text.columns_of_large_file(path, [], [], **asked) is None  # type: ignore[arg-type]
    path.write_text("a,b\n" + "1.5,2\n" * 20_000)
    found = fast_text.columns_of_large_file(path, [], [], **asked)  # type: ignore[arg-type]
    assert found is not None
    assert len(found.numbers[0]) == len(found.numbers[1]) == 20_000
    monkeypatch.setattr(fast_text, "find_spec", lambda name: None)
    assert fast_text.columns_of_large_file(path, [], [], **asked) is None  # type: ignore[arg-type]


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
    assert slow[3] == tuple(f"r{i}" for i in range(50))  # type: ignore[index]


GAPS = st.sampled_from(["", "NA", "n/a", "NaN", "nan", "-nan", "NULL", "None", "?", " ", " na", "-", "NAN()"])
WORDS = st.sampled_from(
    ["red", "green ", " blue", "\u00e9\u00df", "-", "'=x", "12 %", "1,5", "2024-01-31", "True", "1_0"]
)
COLUMN = st.sampled_from([NUMBERS, NUMBERS | GAPS, WORDS, WORDS | GAPS, NUMBERS | WORDS | GAPS | ODD])


@pytest.mark.slow
@ROOMY
@given(
    data=st.data(),
    rows=st.integers(1, 6),
    head=st.sampled_from([1, 100]),
    start=st.sampled_from(["", "\ufeff"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    tail=st.sampled_from(["\n", "\n", "\n", "", "\n\n", ";\n", "\n1;2\n", "\n;;;\n", "\n;;\n"]),
    options=st.sampled_from(
        [{}, {"index_column": "b"}, {"columns": ["c", "a"]}, {"drop_columns": ["b"]}, {"header": False},
         {"kinds": ["number", "text", "number"]}, {"columns": ["b"], "kinds": ["text"]}, {"encoding": "latin-1"}]
    ),
)  # fmt: skip
def test_the_same_texts_gaps_and_errors(
    always: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: st.DataObject,
    rows: int,
    head: int,
    start: str,
    end: str,
    tail: str,
    options: dict[str, object],
) -> None:
    monkeypatch.setattr(mixed, "_HEAD", head)
    columns = [data.draw(st.lists(data.draw(COLUMN), min_size=rows, max_size=rows)) for _ in range(3)]
    written = start + "a;b;c\n" + "\n".join(";".join(row) for row in zip(*columns, strict=True)) + tail
    path = tmp_path / "table.csv"
    path.write_bytes(written.replace("\n", end).encode())
    fast, slow = both(path, monkeypatch, read_mixed, delimiter=";", **options)
    assert fast == slow


MIXED_ROWS = [f"{i / 7!r},{'NA' if i % 3 else i},{'' if i % 4 else 'red '}, {i}" for i in range(150)]


@pytest.mark.parametrize("options", [{}, {"index_column": "d"}, {"kinds": ["text", "number", "text", "number"]}])
def test_gaps_and_texts_take_the_fast_way(
    always: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,d\n" + "\n".join(MIXED_ROWS) + "\n")
    _, slow = both(path, monkeypatch, read_mixed, **options)
    monkeypatch.setattr(mixed, "Columns", None)  # the slow way
    assert outcome(path, read_mixed, **options) == slow
    assert not isinstance(slow, str)


@pytest.mark.parametrize("changed", ["1.5,2,red", "1.5,2,red,4,5", "1.5,inf,red,4", '1.5,2,"red",4', "1.5,2,red,x", ""])
def test_rows_of_an_odd_form_are_left_to_the_reader(
    always: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,d\n" + "\n".join([*MIXED_ROWS, changed, MIXED_ROWS[0]]) + "\n")
    fast, slow = both(path, monkeypatch, read_mixed)
    assert fast == slow
    asked: dict[str, Any] = {"header": True, "width": 4, "delimiter": ",", "encoding": "utf-8"}
    assert fast_text.columns_of_large_file(path, [2], text.MISSING, **asked) is None
