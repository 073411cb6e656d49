"""Kill checkpointed fits with SIGKILL, start them again, and compare the model with that of a fit left alone.

Run: python -m tests.reliability.killed_fits [--kills 200]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder
from rkhs.features import Nystroem
from tests.reliability.cluster_kills import digest


def dense(checkpoint: Path | None) -> Any:
    X = np.random.default_rng(0).normal(size=(300, 6))
    return KernelAutoencoder(2, max_iter=40, tol=1e-12, checkpoint=checkpoint).fit(X)


def landmarks(checkpoint: Path | None) -> Any:
    X = np.random.default_rng(1).normal(size=(9000, 6))
    return KernelAutoencoder(
        2, storage=Nystroem(30), linear_part="kernel", max_iter=8, engine="serial", checkpoint=checkpoint
    ).fit(X)


FITS = {"dense": dense, "landmarks": landmarks}


def in_child(name: str, checkpoint: Path | None, answer: Path) -> int:
    """Start a fit in a child process; torch has not computed anything in this one, so forking is safe."""
    child = os.fork()
    if child == 0:
        try:
            answer.write_text(digest(FITS[name](checkpoint)))
            os._exit(0)
        except BaseException as error:  # told to the parent
            answer.write_text(f"{type(error).__name__}: {error}")
            os._exit(1)
    return child


def campaign(name: str, kills: int, seed: int) -> bool:
    """Kill until there were enough; every fit must end, in the end, with the same model."""
    dice, done, fits, right = random.Random(seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, answer = Path(folder) / "checkpoint", Path(folder) / "answer"
        started = time.monotonic()
        os.waitpid(in_child(name, None, answer), 0)
        whole, expected = time.monotonic() - started, answer.read_text()
        while done < kills:
            fits += 1
            while True:
                child = in_child(name, checkpoint, answer)
                time.sleep(dice.uniform(0.0, 0.7 * whole) if done < kills else 0.0)
                if done < kills and os.waitpid(child, os.WNOHANG) == (0, 0):
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    done += 1
                    continue
                if done >= kills:
                    os.waitpid(child, 0)
                break
            right += answer.read_text() == expected and not checkpoint.exists()
            if right != fits:
                print(f"  {name}: expected {expected}, got {answer.read_text()}")
        print(f"{name}: {done} kills, {right} of {fits} fits ended with the same bits; a fit {whole:.1f} s", flush=True)
    return right == fits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    results = [campaign(name, arguments.kills // 2, seed) for seed, name in enumerate(FITS)]
    if not all(results):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
