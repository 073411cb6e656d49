"""Memory that a fit needs and that is available, and a refusal before anything is allocated."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rkhs._core.errors import InputError

SHARE = 0.6
"""Share of the available memory that a fit may use: the rest is for the data, other programs and underestimates."""

_SMALL = 3 * 2**24  # bytes below which available memory is not queried, which takes half a millisecond


@dataclass(frozen=True)
class Estimate:
    """The largest amount of memory that a fit holds at one time, in addition to its input."""

    what: str  # which fit, for messages: ``"KernelPCA on n=1000 rows with storage='dense'"``
    n_bytes: int
    parts: str  # what it is made of, in words

    def __str__(self) -> str:
        return f"{self.what}: about {readable(self.n_bytes)} ({self.parts})"


def readable(n_bytes: float) -> str:
    """Bytes in the largest unit that leaves a number of one or more."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if n_bytes < 1024.0 or unit == "PiB":
            break
        n_bytes /= 1024.0
    return f"{n_bytes:.0f} {unit}" if n_bytes >= 10 or unit == "B" else f"{n_bytes:.1f} {unit}"


def available_bytes() -> int:
    """Memory that this process may still take: the least of free memory, cgroup limits and the address-space limit."""
    found = [value for value in [_free(), *_cgroups(), _address_space()] if value is not None]
    return min(found) if found else 8 * 2**30


def check_memory(estimate: Estimate, advice: str | Callable[[], str], *, available: int | None = None) -> None:
    """Refuse a fit that needs more than 60 % of the available memory."""
    if available is None and estimate.n_bytes < _SMALL:
        return
    there = available_bytes() if available is None else available
    if estimate.n_bytes > SHARE * there:
        hint = advice if isinstance(advice, str) else advice()
        raise InputError(
            f"{estimate.what} needs about {readable(estimate.n_bytes)} ({estimate.parts}); "
            f"{readable(there)} are available, of which a fit takes at most {SHARE:.0%}. {hint}"
        )


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Turn out-of-memory errors of NumPy and torch into one that says what to do."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not (isinstance(error, MemoryError) or "not enough memory" in str(error) or "t allocate" in str(error)):
            raise
        raise MemoryError(
            f"{name} needs more memory than the {readable(available_bytes())} available ({error}); give fewer items or "
            "columns, smaller items, such as graphs with fewer nodes, or dtype='float32'"
        ) from error


def _free() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _cgroups() -> list[int]:
    """Memory left in the control groups of this process (versions 1 and 2) and their parents."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, limit, usage = Path("/sys/fs/cgroup"), "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit, usage = Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        relative = Path(path.lstrip("/"))
        for folder in (root / relative, *(root / parent for parent in relative.parents), root):
            left = _left(folder / limit, folder / usage)
            if left is not None:
                found.append(left)
    return found


def _left(limit: Path, usage: Path) -> int | None:
    """Limit minus what is used and cannot be dropped; None without a limit."""
    try:
        text = limit.read_text(encoding="utf-8").strip()
        if text == "max" or int(text) > 2**60:
            return None
        used = int(usage.read_text(encoding="utf-8"))
        cache = [line for line in (usage.parent / "memory.stat").read_text().splitlines() if "inactive_file" in line]
        dropped = max((int(line.split()[1]) for line in cache), default=0)
        return max(int(text) - used + dropped, 0)
    except (OSError, ValueError, IndexError):
        return None


def _address_space() -> int | None:
    """Memory left under a limit of the address space."""
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
        return max(soft - pages * os.sysconf("SC_PAGE_SIZE"), 0)
    except (ImportError, OSError, ValueError):
        return None
