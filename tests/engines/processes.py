"""Clusters as users start them, and those who kill their processes."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment() -> dict[str, str]:
    root = Path(__file__).resolve().parents[2]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def assert_gone(processes: list[int], seconds: float = 20.0) -> None:
    """Fail if one of the processes still runs."""
    end = time.monotonic() + seconds
    while alive := [pid for pid in processes if is_running(pid)]:
        assert time.monotonic() < end, f"orphans: {alive}"
        time.sleep(0.1)


class Killer:
    """Kills a random worker process every second, until it has killed enough."""

    def __init__(self, client: object, kills: int, every: float = 1.0) -> None:
        self.done, self._stop = 0, threading.Event()
        self._client, self._kills, self._every = client, kills, every
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        dice = random.Random(0)
        while self.done < self._kills and not self._stop.wait(self._every):
            names = self._client.scheduler_info(n_workers=-1)["workers"]  # type: ignore[attr-defined]
            if names:
                name = dice.choice(sorted(names))
                try:
                    pid = self._client.run(os.getpid, workers=[name], on_error="ignore")  # type: ignore[attr-defined]
                    os.kill(pid[name], signal.SIGKILL)
                    self.done += 1
                except (KeyError, ProcessLookupError, OSError):
                    continue

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


class Cluster:
    """A scheduler and workers as users start them."""

    def __init__(self, port: int, folder: Path, workers: int = 1) -> None:
        self.port, self.address, self._folder = port, f"tcp://127.0.0.1:{port}", folder
        self._processes = [self._start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")]
        self._processes += [
            self._start("worker", self.address, "--nthreads", "1", "--no-dashboard", "--death-timeout", "600")
            for _ in range(workers)
        ]

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            cwd=self._folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill_scheduler(self) -> None:
        self._processes[0].kill()
        self._processes[0].wait()

    def close(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
