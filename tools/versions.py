"""Install the built wheel next to the lowest and the newest versions of what it needs, and run a part of the tests.

Usage: ./dev versions [LEG ...] [-- ARGUMENTS OF PYTEST]

A leg is a Python and a resolution of the dependencies, in an environment of its own that is removed at the end:

* lowest: the lower bounds of ``pyproject.toml``, on the lowest Python
* newest: the newest NumPy, SciPy, scikit-learn and safetensors, on the lowest Python
* array-api: the same with ``SCIPY_ARRAY_API=1``
* sklearn-1.7, sklearn-1.8: those versions of scikit-learn between the lowest and the newest
* python-3.12, python-3.13, python-3.14: the newest versions on those Pythons

PyTorch is the lowest one in the leg "lowest" and elsewhere the one of ``constraints.txt``: it is by far the largest. A
Python is looked for in ``RKHS_PYTHON313`` (``RKHS_PYTHON311``), on PATH and where pyenv keeps them; a leg without its
Python is reported as not run. The exit status is 0 if every leg that ran has passed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UV = Path(sys.executable).with_name("uv")
LOWEST_FRAMES = ("pandas==2.2.2", "polars==1.0.0")  # of the time of the lower bounds
SHOWN = ("numpy", "scipy", "scikit-learn", "torch", "safetensors")
TOOLS = ("hypothesis", "pytest", "pytest-timeout")
FRAMES = ("pandas", "polars")  # without them scikit-learn leaves checks out
# What differs between versions: scikit-learn's checks, files of older versions, arrays, arithmetic.
PART = (
    "tests/contracts/test_scikit_learn_checks.py",
    "tests/test_file_kinds.py",
    "tests/test_persistence.py",
    "tests/core",
    "tests/estimators/test_kernel_pca.py",
)


@dataclass(frozen=True)
class Leg:
    """One environment."""

    name: str
    python: str = "3.11"
    resolution: str = "highest"
    more: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    tests: tuple[str, ...] = PART


LEGS = (
    Leg("lowest", resolution="lowest-direct"),
    Leg("newest"),
    Leg("array-api", settings=(("SCIPY_ARRAY_API", "1"),)),
    Leg("sklearn-1.7", more=("scikit-learn==1.7.*",), tests=PART[:2]),
    Leg("sklearn-1.8", more=("scikit-learn==1.8.*",), tests=PART[:2]),
    *(Leg(f"python-{number}", python=number) for number in ("3.12", "3.13", "3.14")),
)


def find_python(version: str) -> str | None:
    """A Python of this version that starts, or None."""
    named = os.environ.get(f"RKHS_PYTHON{version.replace('.', '')}")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    for candidate in [*([named] if named else []), f"python{version}", *kept, sys.executable]:
        said = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        try:
            if subprocess.run(said, capture_output=True, text=True).stdout.strip() == version:
                return shutil.which(candidate)
        except OSError:
            continue
    return None


def pinned(name: str) -> str:
    """The line of ``constraints.txt`` for a package."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return next(line for line in lines if re.split("[=<>]", line)[0] == name)


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def install(leg: Leg, python: str, wheel: Path, room: Path) -> tuple[Path, str]:
    """An environment with the wheel and the tools of the tests; its Python, and the versions in it."""
    made = room / "env" / ("bin/python" if os.name != "nt" else "Scripts/python.exe")
    subprocess.run([UV, "venv", "-q", "-p", python, str(room / "env")], check=True)
    lowest = leg.resolution == "lowest-direct"
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    named = core if lowest else [pinned("torch")]  # a lower bound counts for what is named here, not for the wheel's
    frames = LOWEST_FRAMES if lowest else tuple(pinned(name) for name in FRAMES)
    backend = ("--torch-backend", os.environ["RKHS_TORCH"]) if os.environ.get("RKHS_TORCH") == "cpu" else ()
    start = [UV, "pip", "install", "-q", "--python", str(made), *backend]
    subprocess.run([*start, "--resolution", leg.resolution, str(wheel), *named, *leg.more], check=True)
    found = subprocess.run([UV, "pip", "freeze", "--python", str(made)], check=True, capture_output=True, text=True)
    known = dict(line.split("==") for line in found.stdout.splitlines() if "==" in line)
    kept = [f"{name}=={known[name]}" for name in SHOWN]
    subprocess.run([*start, *kept, *frames, *(pinned(name) for name in TOOLS)], check=True)
    return made, "  ".join(f"{known[name]:14s}" for name in SHOWN)


def try_leg(leg: Leg, wheel: Path, arguments: list[str]) -> tuple[bool | None, str]:
    """Whether the leg passed, None if it could not run, and its line of the table."""
    python = find_python(leg.python)
    if python is None:
        return None, f"not run: no Python {leg.python}; name one with RKHS_PYTHON{leg.python.replace('.', '')}"
    with tempfile.TemporaryDirectory(prefix="rkhs-versions-") as name:
        room, start = Path(name), time.monotonic()
        made, versions = install(leg, python, wheel, room)
        for part in ("tests", "tools", "studies"):  # without src: what is tested is the wheel
            shutil.copytree(ROOT / part, room / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", room)
        settings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        settings |= {"OMP_NUM_THREADS": "1", "SCIPY_ARRAY_API": "0", **dict(leg.settings)}
        chosen = ["-q", "-m", "not slow", "-p", "no:cacheprovider", *leg.tests, *arguments]
        done = subprocess.run([made, "-m", "pytest", *chosen], cwd=room, env=settings, capture_output=True, text=True)
        last = done.stdout.strip().splitlines()[-1:] or done.stderr.strip().splitlines()[-1:]
        if done.returncode:
            print(f"--- {leg.name}\n{done.stdout[-6000:]}{done.stderr[-2000:]}", flush=True)
        return done.returncode == 0, f"{versions}  {last[0]} ({time.monotonic() - start:.0f} s in all)"


def main(argv: list[str]) -> int:
    """Run the legs that are named, or all."""
    cut = argv.index("--") if "--" in argv else len(argv)
    names, arguments = argv[:cut], argv[cut + 1 :]
    unknown = sorted(set(names) - {leg.name for leg in LEGS})
    if unknown:
        print(f"unknown: {', '.join(unknown)}; the legs are {', '.join(leg.name for leg in LEGS)}", file=sys.stderr)
        return 2
    lines, results = [], []
    with tempfile.TemporaryDirectory(prefix="rkhs-wheel-") as folder:
        wheel = build_wheel(Path(folder))
        for leg in [leg for leg in LEGS if not names or leg.name in names]:
            print(f"{leg.name} ...", flush=True)
            try:
                passed, line = try_leg(leg, wheel, arguments)
            except subprocess.CalledProcessError as error:
                passed, line = False, f"could not be installed: {error}"
            results.append(passed)
            lines.append(f"{leg.name:12s} {leg.python:6s} {line}")
            print(lines[-1], flush=True)
    print("\n" + " " * 20 + "  ".join(f"{name:14s}" for name in SHOWN), *lines, sep="\n")
    return 1 if False in results else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
