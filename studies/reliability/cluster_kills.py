"""Kill workers and schedulers, and fill the memory of workers, while models are fitted on clusters.

Run: python -m studies.reliability.cluster_kills [--workers-killed 50] [--schedulers-killed 5] [--blow-ups 5]

Every fit must end within a minute of the last sign of life, with the model that one process fits, bit for bit, or with
an error of our own.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import RkhsError
from rkhs.engines import Dask
from rkhs.features import Nystroem
from tests.engines.processes import Cluster, Killer, free_port


def digest(model: Any) -> str:
    """SHA-256 of what a fit found."""
    total, found = hashlib.sha256(), 0
    for name in ("codes_", "layer_codes_", "encoder_coefs_", "decoder_coef_", "dual_coef_"):
        value = getattr(model, name, [])
        for array in value if isinstance(value, list) else [value]:
            total.update(name.encode() + np.ascontiguousarray(array).tobytes())
            found += 1
    assert found, f"{model} has nothing to compare"
    return total.hexdigest()


def rows(n: int, d: int, folder: Path) -> np.ndarray:
    """Rows in a file, memory-mapped."""
    rng = np.random.default_rng(0)
    np.save(
        folder / "x.npy", np.sin(rng.normal(size=(n, 4)) @ rng.normal(size=(4, d))) + 0.05 * rng.normal(size=(n, d))
    )
    return np.load(folder / "x.npy", mmap_mode="r")


def autoencoder(**options: Any) -> KernelAutoencoder:
    return KernelAutoencoder(3, storage=Nystroem(100), max_iter=8, **options)


class Score:
    """What happened, counted."""

    def __init__(self, name: str) -> None:
        self.name, self.same, self.typed, self.wrong, self.longest = name, 0, 0, 0, 0.0

    def attempt(self, fit: Callable[[], Any], expected: str | None) -> None:
        """One fit: the same model, an error of our own, or a failure."""
        started = time.monotonic()
        try:
            result = digest(fit())
            self.same, self.wrong = self.same + (result == expected), self.wrong + (result != expected)
        except RkhsError as error:
            self.typed += 1
            print(f"  {type(error).__name__}: {str(error)[:140]}", flush=True)
        except Exception as error:  # counted, and the count must be zero
            self.wrong += 1
            print(f"  WRONG {type(error).__name__}: {error}", flush=True)
        self.longest = max(self.longest, time.monotonic() - started)

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.same} fits with the same bits, {self.typed} typed errors, {self.wrong} wrong; "
            f"longest fit {self.longest:.1f} s"
        )


def kill_workers(X: np.ndarray, expected: str, kills: int, every: float) -> Score:
    """Kill a worker every so often, until there were enough."""
    score = Score(f"{kills} workers killed")
    with Dask(n_workers=2, patience=300.0) as engine:
        autoencoder(engine=engine).fit(X)  # all are up
        with Killer(engine._connect().client, kills, every) as killer:
            while killer.done < kills:
                score.attempt(lambda: autoencoder(engine=engine).fit(X), expected)
                print(f"  {killer.done} kills, {score}", flush=True)
    return score


def kill_schedulers(X: np.ndarray, expected: str, kills: int, folder: Path) -> Score:
    """Kill the scheduler in the middle of a fit; start it again, and fit again."""
    score = Score(f"{kills} schedulers killed")
    for i in range(kills):
        cluster = Cluster(free_port(), folder)
        try:
            engine = Dask(cluster.address, timeout=120.0, patience=300.0)
            engine.width  # noqa: B018 - wait for the scheduler
            killer = _after(2.0 + i, cluster.kill_scheduler)
            started = time.monotonic()
            score.attempt(lambda: autoencoder(engine=engine).fit(X), expected)
            killer.join()
            print(f"  ended {time.monotonic() - started:.1f} s after its start", flush=True)
            engine.close()
        finally:
            cluster.close()
        score.attempt(lambda: autoencoder(engine="serial").fit(X), expected)
        print(f"  {score}", flush=True)
    return score


def _after(seconds: float, call: Callable[[], None]) -> Any:
    import threading

    thread = threading.Timer(seconds, call)
    thread.daemon = True
    thread.start()
    return thread


def fill_memory(X: np.ndarray, times: int) -> Score:
    """Fit with more landmarks than the memory of a worker holds."""
    score = Score(f"{times} memory blow-ups")
    for _ in range(times):
        with Dask(n_workers=1, memory_limit="800MB", patience=300.0) as engine:
            engine.width  # noqa: B018
            score.attempt(lambda: KernelPCA(3, storage=Nystroem(4000), engine=engine).fit(X), None)
        print(f"  {score}", flush=True)
    return score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers-killed", type=int, default=50)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two kills of workers")
    parser.add_argument("--schedulers-killed", type=int, default=5)
    parser.add_argument("--blow-ups", type=int, default=5)
    parser.add_argument("--rows", type=int, default=60_000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X = rows(arguments.rows, 10, folder)
        expected = digest(autoencoder(engine="serial").fit(X))
        print(f"one process: {expected}", flush=True)
        scores = []
        if arguments.workers_killed:
            scores.append(kill_workers(X, expected, arguments.workers_killed, arguments.every))
        if arguments.schedulers_killed:
            scores.append(kill_schedulers(X, expected, arguments.schedulers_killed, folder))
        if arguments.blow_ups:
            scores.append(fill_memory(X, arguments.blow_ups))
    print(*scores, sep="\n")
    if any(score.wrong for score in scores):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
