"""How long the start, the demo and the whole test run take: goals R13 and R14.

Run: python -m studies.reliability.speed start | demo | suite. ``suite`` copies the last commit into an empty folder and
runs ``./dev test`` there, with an environment made from nothing (gigabytes).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 5  # the fastest counts
IMPORT = (  # what of scikit-learn is used is scikit-learn's cost
    "import time, numpy, scipy.linalg, sklearn.gaussian_process.kernels, sklearn.model_selection, sklearn.svm, torch\n"
    "start = time.process_time()\n"
    "from rkhs import KernelPCA\n"
    "print(time.process_time() - start)\n"
)
HELP = "from rkhs.cli.main import main\nmain(['--help'])"


def run(command: Sequence[str], folder: Path = ROOT, *, of_processor: bool = False) -> tuple[float, str]:
    """Seconds of a command that must end well, on the clock or of the processor, and what it printed."""
    paths = os.pathsep.join([str(folder / "src"), str(folder)])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    clock = _of_children if of_processor else time.perf_counter
    started = clock()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    seconds = clock() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return seconds, done.stdout


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def start() -> None:
    """Imports and the help beside what they stand on; compiled as installed, in processor time."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        imports = min(float(run(python(IMPORT))[1]) for _ in range(ROUNDS))
        empty, shown = (min(run(python(code), of_processor=True)[0] for _ in range(ROUNDS)) for code in ("", HELP))
    print(f"R13: import {imports:.2f} s above torch and scikit-learn, rkhs --help {shown - empty:.2f} s above Python")


def demo() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds, _ = run([sys.executable, "-m", "studies.demo", "--output", folder])
    print(f"R14: the demo takes {seconds:.0f} s")


def suite() -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "rkhs"
        run(["git", "clone", "-q", str(ROOT), str(copy)])
        seconds, _ = run(["bash", "./dev", "test"], copy)
    print(f"R14: ./dev test from nothing takes {seconds:.0f} s")


if __name__ == "__main__":
    parts = {"start": start, "demo": demo, "suite": suite}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=parts)
    parts[parser.parse_args().part]()
