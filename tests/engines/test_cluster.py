"""The Dask engine on real clusters of processes: the bits of one process, whoever dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import ClusterError, InputError
from rkhs.engines import Dask, Serial, as_rows, row_blocks
from rkhs.estimators.autoencoder import streams
from rkhs.features import Nystroem
from studies.reliability.cluster_kills import digest
from tests.engines.blockwork import bits, deadly_once, describe, failing, greedy, moments, refusing, slow_moments
from tests.engines.processes import Cluster, Killer, assert_gone, environment, free_port

if find_spec("distributed") is None:  # imported by the tests alone
    pytest.skip("needs the extra 'cluster'", allow_module_level=True)

X = np.random.default_rng(3).normal(size=(3000, 6))
A = np.random.default_rng(4).normal(size=(6, 6))
BLOCKS = row_blocks(3000, 64)


Y = np.random.default_rng(5).normal(size=(9000, 4))
FITS = (
    lambda **o: KernelPCA(2, storage=Nystroem(20), **o).fit(Y),
    lambda **o: KernelAutoencoder(2, storage=Nystroem(20), reg=1e-3, max_iter=2, **o).fit(as_rows(Y)),
)


def serial_bits() -> str:
    return bits(Serial().sum(moments, BLOCKS, as_rows(X), A))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_workers_give_the_bits_of_one_process(tmp_path: Path) -> None:
    da = pytest.importorskip("dask.array")
    np.save(tmp_path / "x.npy", X)
    rows = as_rows(str(tmp_path / "x.npy"))
    with Dask(n_workers=2, patience=250.0) as engine:
        client = engine._connect().client
        processes = list(client.run(os.getpid).values())
        for source in (rows, engine.place(as_rows(X)), as_rows(X), as_rows(da.from_array(X, chunks=(500, 6)))):
            assert bits(engine.sum(moments, BLOCKS, source, A)) == serial_bits()
        assert list(engine.map(describe, BLOCKS[:9], rows, 1.0)) == list(Serial().map(describe, BLOCKS[:9], rows, 1.0))
        with pytest.raises(InputError, match="no good: block 0"):
            engine.sum(refusing, BLOCKS, rows)
        with pytest.raises(ClusterError, match=r"blocks? 0 .*failed on the cluster: KeyError: 'broken'"):
            engine.sum(failing, BLOCKS, rows)
        assert digest(FITS[0](engine=engine)) == digest(FITS[0](engine="serial"))
        with Dask(client) as guest:
            assert bits(guest.sum(moments, BLOCKS, rows, A)) == serial_bits()
        assert client.status == "running"  # a client that is given is never closed
    assert_gone(processes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_workers_killed_every_second_change_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_ENCODER_ROWS", 2000)  # the other rows are coded by the cluster
    with Dask(n_workers=3, patience=250.0) as engine:
        rows = engine.place(as_rows(X))
        client = engine._connect().client
        for fit in FITS:
            assert digest(fit(engine=engine)) == digest(fit(engine="serial"))
        expected = bits(Serial().sum(slow_moments, BLOCKS, rows, A))
        with Killer(client, kills=10) as killer:
            rounds = 0
            while killer.done < 10:
                assert bits(engine.sum(slow_moments, BLOCKS, rows, A)) == expected
                rounds += 1
        assert bits(engine.sum(deadly_once, BLOCKS[:9], rows, str(tmp_path))) == bits(
            Serial().sum(moments, BLOCKS[:9], rows, np.eye(6))
        )
    assert rounds >= 1


@pytest.mark.slow
def test_a_block_that_fills_the_memory_is_named() -> None:
    with Dask(n_workers=1, memory_limit="700MB", patience=250.0) as engine:
        started = time.monotonic()
        with pytest.raises(ClusterError, match=r"(blocks \d+ to \d+|block 3) \(rows .* needs more memory") as info:
            engine.sum(greedy, BLOCKS[:6], engine.place(as_rows(X)))
        assert time.monotonic() - started < 250.0
    assert "smaller blocks" in str(info.value)


SCRIPT = """
import os, sys, time
import numpy as np
from rkhs.engines import Dask, as_rows, row_blocks
from tests.engines.blockwork import slow_moments
if __name__ == "__main__":
    with Dask(n_workers=2, patience=250.0) as engine:
        client = engine._connect().client
        print(*client.run(os.getpid).values(), flush=True)
        X = np.ones((3000, 6))
        engine.sum(slow_moments, row_blocks(3000, 1), engine.place(as_rows(X)), np.eye(6))
"""


@pytest.mark.slow
def test_a_program_that_is_killed_leaves_no_workers(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SCRIPT)
    with subprocess.Popen([sys.executable, "program.py"], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE) as p:
        assert p.stdout is not None
        workers = [int(pid) for pid in p.stdout.readline().split()]
        assert len(workers) == 2
        time.sleep(2.0)
        p.kill()
    assert_gone(workers, 60.0)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(free_port(), tmp_path)
    yield started
    started.close()


@pytest.mark.slow
def test_a_dead_scheduler_ends_a_sum(cluster: Cluster, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    rows = as_rows(str(tmp_path / "x.npy"))
    done: list[int] = []

    def progress(blocks: int, of: int) -> None:
        done.append(blocks)
        if blocks >= 20 and len(done) > 1:
            cluster.kill_scheduler()

    with Dask(cluster.address, timeout=60.0, patience=250.0) as engine:
        started = time.monotonic()
        with pytest.raises(ClusterError, match="scheduler went away"):
            engine.sum(slow_moments, BLOCKS, rows, A, progress=progress)
        assert time.monotonic() - started < 120.0


@pytest.mark.slow
def test_the_command_line_fits_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    from rkhs.cli.main import main

    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.normal(size=(9000, 4)))
    table = str(tmp_path / "x.npy")
    model = str(tmp_path / "m.rkhs")
    options = ["--estimator", "kpca", "--set", "storage=nystroem(20)", "--quiet"]
    with Dask(cluster.address, timeout=120.0) as engine:
        assert engine.width >= 1  # the scheduler is up
    dask = ["--engine", "dask", "--scheduler", cluster.address]
    assert main(["fit", table, "-o", model, *options, *dask]) == 0
    assert main(["fit", table, "-o", str(tmp_path / "s.rkhs"), *options]) == 0
    import rkhs

    one, two = rkhs.load(model), rkhs.load(tmp_path / "s.rkhs")
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.codes_, two.codes_)
    codes = tmp_path / "codes.npy"
    assert main(["transform", model, table, "-o", str(codes)]) == 0
    np.testing.assert_array_equal(np.load(codes), rkhs.load(model).transform(np.load(table)))
    assert main(["fit", table, "-o", model, *options, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:9"]) != 0
