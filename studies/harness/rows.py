"""Rows of the test problem of the benchmarks, any number of them, written to a memory-mapped file."""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path

import numpy as np


def sines_file(n: int, d: int = 50, p: int = 10, seed: int = 0, folder: str | None = None) -> Path:
    """``sin(U A + b) C`` plus noise, float32, in blocks; the file is made once."""
    place = Path(tempfile.gettempdir() if folder is None else folder) / f"rkhs-sines-{n}-{d}-{p}-{seed}.npy"
    if place.exists():
        return place
    r = np.random.default_rng(seed)
    A = r.normal(size=(p, 64)) / np.sqrt(p) * 1.5
    b, C = r.uniform(-np.pi, np.pi, 64), r.normal(size=(64, d)) / 8
    partial = place.with_suffix(".part.npy")
    out = np.lib.format.open_memmap(partial, "w+", np.float32, (n, d))
    for start in range(0, n, 50_000):
        U = r.normal(size=(min(50_000, n - start), p))
        X = np.sin(U @ A + b) @ C
        out[start : start + len(U)] = (X + 0.05 * r.normal(size=X.shape)) / 0.75
    out.flush()
    partial.rename(place)
    return place


def peak_bytes() -> int:
    """Largest resident size of this process so far (Linux counts in KiB, macOS in bytes), without its parent's."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage of a child starts from what its parent had
        return int(status.read_text(encoding="utf-8").split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
