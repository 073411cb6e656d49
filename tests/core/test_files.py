"""A file is the old one or the new one, also when the process that writes it is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rkhs._core.errors import InputError
from rkhs._core.files import atomic_path
from rkhs._core.model_container import read_container, write_container

SRC = Path(__file__).resolve().parents[2] / "src"


def test_an_error_while_writing_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_container(tmp_path / "c", {"old": 1}, {}, (1, 0))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_container(tmp_path / "c", {"new": 1}, {}, (1, 0))
    monkeypatch.undo()
    assert read_container(tmp_path / "c", (1, 0), 2**20).content == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


def test_what_killed_writers_left_is_swept(tmp_path: Path) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    stale = tmp_path / f".c.{gone.stdout.strip()}.00000000.tmp.rkhs"
    fresh = tmp_path / f".c.{gone.stdout.strip()}.11111111.tmp.rkhs"
    alive = tmp_path / f".c.{os.getpid()}.22222222.tmp.rkhs"
    other = tmp_path / ".cc.1.txt"
    for path in (stale, fresh, alive, other):
        path.write_text("x")
    for path in (stale, alive, other):
        os.utime(path, (0, 0))
    with atomic_path(tmp_path / "c.rkhs") as temporary:
        temporary.write_text("new")
    assert {p.name for p in tmp_path.iterdir()} == {"c.rkhs", fresh.name, alive.name, other.name}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("kills", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_kill_while_writing_never_leaves_half_a_file(tmp_path: Path, kills: int) -> None:
    code = (
        "import sys, numpy as np; from rkhs._core.model_container import write_container\n"
        "i = 0\n"
        "while True:\n"
        "    write_container(sys.argv[1], {'i': i % 2}, {'a': np.full(400_000, i % 2)}, (1, 0))\n"
        "    if i == 0: print('go', flush=True)\n"
        "    i += 1\n"
    )
    path, chance = tmp_path / "c.rkhs", random.Random(3)
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SRC)}
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"go\n"
            time.sleep(chance.uniform(0.0, 0.05))
            os.kill(writer.pid, signal.SIGKILL)
        found = read_container(path, (1, 0), 2**30)
        assert (found.arrays["a"] == found.content["i"]).all()
