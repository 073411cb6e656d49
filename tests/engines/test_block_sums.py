"""Plans: blocks, the tree of sums, randomness by block, rows from everywhere, threads."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from rkhs._core.errors import ClusterError, InputError
from rkhs._core.threads import within_limit
from rkhs.engines import (
    Block,
    Dask,
    FileRows,
    Node,
    ParquetRows,
    Serial,
    Threads,
    TreeSum,
    as_rows,
    count_threads,
    make_engine,
    row_blocks,
    thread_limit,
)
from tests.engines.blockwork import bits, describe, moments, refusing


def test_blocks_cover_the_rows_once() -> None:
    for n, size in ((1, 1), (10, 4), (12, 4), (5, 100)):
        blocks = row_blocks(n, size)
        assert [i for b in blocks for i in range(b.start, b.stop)] == list(range(n))
        assert [b.index for b in blocks] == list(range(len(blocks)))
        assert all(len(b) == size for b in blocks[:-1])
    with pytest.raises(InputError, match="block_size must be an integer >= 1; got 0"):
        row_blocks(10, 0)


def naive_tree(values: list[float]) -> float:
    """The definition: pair up neighbours level by level; what is left over is added from the right."""
    leftovers: list[float] = []
    while values:
        if len(values) % 2:
            leftovers.append(values[-1])
        values = [a + b for a, b in zip(values[::2], values[1::2], strict=False)]
    total = leftovers[0]
    for value in leftovers[1:]:
        total = value + total
    return total


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 21, 64, 100])
def test_any_split_of_the_tree_gives_the_same_bits(n: int, rng: np.random.Generator) -> None:
    values = (rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)).tolist()
    expected = naive_tree(values)
    for cuts in ([], sorted(rng.integers(0, n + 1, 3)), range(n)):
        whole = TreeSum()
        for start, stop in zip([0, *cuts], [*cuts, n], strict=True):
            part = TreeSum()
            for i in range(start, stop):
                part.push(Node(0, i, (np.array(values[i]),)))
            for node in part.nodes:
                whole.push(node)
        assert float(whole.total()[0]) == expected
        assert len(whole.nodes) <= n.bit_length()


@pytest.mark.parametrize("group", [1, 4, pytest.param(32, marks=pytest.mark.slow)])
def test_threads_give_the_bits_of_the_serial_engine(group: int, rng: np.random.Generator) -> None:
    X, A = rng.normal(size=(1501, 5)), rng.normal(size=(5, 5))
    blocks, rows = row_blocks(1501, 1501 // (8 * group) + 1), as_rows(X)
    expected = bits(Serial().sum(moments, blocks, rows, A))
    assert bits(Threads(2).sum(moments, blocks, rows, A)) == expected
    assert bits(Threads(3).sum(moments, blocks, as_rows(np.asfortranarray(X)), A)) == expected
    assert list(Threads(2).map(describe, blocks, rows, 1.0)) == list(Serial().map(describe, blocks, rows, 1.0))


def test_errors_of_a_block_reach_the_caller(rng: np.random.Generator) -> None:
    for engine in (Serial(), Threads(2)):
        with pytest.raises(InputError, match="no good: block 0"):
            engine.sum(refusing, row_blocks(10, 2), as_rows(np.zeros((10, 2))))
    assert torch.get_num_threads() == 1


# ---------------------------------------------------------------- rows


def test_rows_are_the_same_from_everywhere(tmp_path: Path, rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 3))
    np.save(tmp_path / "c.npy", X)
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    mapped = np.load(tmp_path / "c.npy", mmap_mode="r")
    sources = [X, torch.from_numpy(X), str(tmp_path / "c.npy"), tmp_path / "f.npy", mapped, mapped[:], X[::1]]
    for source in sources:
        rows = as_rows(source)
        assert rows.shape == (50, 3)
        np.testing.assert_array_equal(rows.read(), X)
        np.testing.assert_array_equal(rows.part(10, 30).part(5, 20).read(1, 6), X[16:21])
        assert rows.read(3, 4).ctypes.data % 64 == 0
    assert isinstance(as_rows(mapped[7:21]), FileRows)
    np.testing.assert_array_equal(as_rows(mapped[7:21]).read(2, 5), X[9:12])
    np.testing.assert_array_equal(as_rows(mapped[:, 1:]).read(), X[:, 1:])  # not a stretch of the file
    changed = np.load(tmp_path / "c.npy", mmap_mode="c")
    changed[0] = 7.0  # in memory only
    np.testing.assert_array_equal(as_rows(changed).read(0, 1), [[7.0] * 3])


def test_rows_of_parquet_files(tmp_path: Path, rng: np.random.Generator) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X = rng.normal(size=(50, 2))
    for i, part in enumerate((X[:20], X[20:23], X[23:])):
        table = pa.table({"b": part[:, 0], "a": part[:, 1]})
        pq.write_table(table, tmp_path / f"part-{i}.parquet", row_group_size=7)
    rows = as_rows(tmp_path)
    assert rows.shape == (50, 2)
    np.testing.assert_array_equal(rows.read(), X)
    np.testing.assert_array_equal(rows.part(5, 40).read(10, 30), X[15:35])
    np.testing.assert_array_equal(ParquetRows.of(str(tmp_path), ("a",)).read(19, 24), X[19:24, 1:])
    pq.write_table(pa.table({"b": [1.0, None], "a": [1.0, 2.0]}), tmp_path / "part-3.parquet")
    with pytest.raises(InputError, match="column 'b' must have no missing values"):
        as_rows(tmp_path).read()


def test_rows_of_dask_collections(rng: np.random.Generator) -> None:
    da = pytest.importorskip("dask.array")
    X = rng.normal(size=(50, 3))
    rows = as_rows(da.from_array(X, chunks=(13, 2)))
    np.testing.assert_array_equal(rows.part(5, 40).read(10, 30), X[15:35])
    unknown = da.from_array(X, chunks=13)
    unknown = unknown[unknown[:, 0] > 0]
    np.testing.assert_array_equal(as_rows(unknown).read(), X[X[:, 0] > 0])


def test_rows_refuse(tmp_path: Path) -> None:
    X = np.zeros((4, 2))
    X[2, 1] = np.nan
    with pytest.raises(InputError, match="NaN or infinity in row 2"):
        as_rows(X).read()
    for bad, message in (
        (np.zeros(3), r"2-D array \(n samples, d inputs\); got shape \(3,\)"),
        (np.zeros((0, 3)), "n_samples=0"),
        (str(tmp_path / "x.csv"), "must name a .npy file, a .parquet file or a folder"),
        (str(tmp_path / "none.npy"), "cannot read"),
        (tmp_path, "which holds none"),
        (np.array([["a", "b"]]), "real numbers"),
    ):
        with pytest.raises(InputError, match=message):
            as_rows(bad).read()


# ---------------------------------------------------------------- threads and names


def test_thread_limits_reach_every_pool_and_are_taken_back() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with thread_limit(2) as n:
        assert n == torch.get_num_threads() == 2
        assert {pool["num_threads"] for pool in threadpoolctl.threadpool_info()} <= {1, 2}
        with thread_limit(1):
            assert torch.get_num_threads() == 1
            assert {pool["num_threads"] for pool in threadpoolctl.threadpool_info()} == {1}
    assert torch.get_num_threads() == 1
    with thread_limit(None):
        assert torch.get_num_threads() == 1


def test_a_block_has_one_thread_in_every_engine() -> None:
    def threads_here(items: object, block: object, shared: object) -> tuple[int, int]:
        torch.ones(300, 300).mm(torch.ones(300, 300))
        return torch.get_num_threads(), threading.active_count()

    torch.set_num_threads(2)
    try:
        for engine in (Serial(), Threads(2), Threads(5)):
            results = list(engine.map(threads_here, row_blocks(20, 1)))
            assert {torch_threads for torch_threads, _ in results} == {1}
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def pools() -> dict[str, int]:
    """Thread counts of every library in the process, as this thread sees them."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    return {pool["filepath"]: pool["num_threads"] for pool in threadpoolctl.threadpool_info()}


@pytest.mark.parametrize("outer_ends_first", [True, False])
def test_overlapping_limits_end_with_the_last_of_them(outer_ends_first: bool) -> None:
    inside, leave = threading.Event(), threading.Event()
    before, seen = pools(), list[int]()

    def other() -> None:
        with thread_limit(2):
            inside.set()
            leave.wait(10)
            seen.append(max(pools().values()))  # some solvers bring a BLAS of one thread
        seen.append(torch.get_num_threads())

    thread = threading.Thread(target=other)
    with thread_limit(3):
        assert 3 in pools().values()  # a BLAS built for fewer stays below
        thread.start()
        inside.wait(10)
        if not outer_ends_first:
            leave.set()
            thread.join()
    leave.set()
    thread.join()
    assert pools() == before
    assert seen == [2, 1]  # the limit until its own end, then the count of the process and not that of the other
    assert torch.get_num_threads() == 1


def test_a_call_takes_one_thread_unless_one_asks_for_more() -> None:
    before = pools()

    @within_limit
    def inner() -> tuple[int, int]:
        return max(pools().values()), count_threads()

    @within_limit
    def outer() -> tuple[tuple[int, int], ...]:
        with thread_limit(2):
            asked = inner()
        return inner(), asked, inner()

    with pytest.raises(ZeroDivisionError):
        within_limit(lambda: 1 / 0)()
    torch.set_num_threads(3)  # by the user
    try:
        assert outer() == ((1, 3), (2, 2), (1, 3))
        with thread_limit(2):
            assert inner() == (2, 2)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(1)
    assert pools() == before


def test_counts_of_threads() -> None:
    assert count_threads(4) == 4
    assert count_threads(None) == 1
    assert count_threads(-1) >= count_threads(-2) >= 1
    for bad in (0, 1.5, True, "two"):
        with pytest.raises(InputError, match="n_jobs must be"):
            count_threads(bad)


def test_engines_have_names() -> None:
    assert make_engine("serial") == Serial()
    assert make_engine("threads") == Threads()
    assert make_engine("dask") == Dask()
    assert make_engine(Threads(3)) == Threads(3)
    with pytest.raises(InputError, match=r"engine must be 'serial', 'threads', 'dask' or an object .*; got 'spark'"):
        make_engine("spark")


def test_an_address_without_a_scheduler_is_named() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ClusterError, match=r"answered at 'tcp://127.0.0.1:9' within 0.5 s .*`dask scheduler`"):
        Dask("tcp://127.0.0.1:9", timeout=0.5).sum(moments, row_blocks(3, 2), as_rows(np.ones((3, 2))), np.eye(2))
    with pytest.raises(InputError, match="address must be"):
        Dask(7).sum(moments, row_blocks(3, 2), as_rows(np.ones((3, 2))), np.eye(2))


def smallest(items: object, block: Block, shared: object) -> tuple[np.ndarray, ...]:
    return (np.asarray(below_normal()),)


def below_normal() -> float:
    return float(torch.tensor(1e-310, dtype=torch.float64) * 0.5)


@pytest.mark.parametrize("flushed", [False, True])
def test_numbers_below_the_normal_range_are_zero_in_tasks_and_elsewhere_as_they_were(flushed: bool) -> None:
    torch.set_flush_denormal(flushed)
    try:
        assert Serial().sum(smallest, row_blocks(4, 2))[0] == 0.0
        assert (below_normal() == 0.0) == flushed
    finally:
        torch.set_flush_denormal(False)
