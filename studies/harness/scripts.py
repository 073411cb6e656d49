"""What scripts on benchmark data share: where the data are, and an end without a traceback where they are not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from rkhs._core.errors import InputError, RkhsError
from studies.harness.data import about

__all__ = ["data_folder", "data_folder_if_any", "run_child", "run_script"]

_PAGE = "docs/results/papers.md says which files it holds and where they come from"


def data_folder(name: str = "") -> Path:
    """Folder of benchmark data that ``RKHS_DATA`` names.

    Parameters
    ----------
    name : str, default=""
        The set that is wanted, for the message.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If ``RKHS_DATA`` is not set, or names no folder.
    """
    named = os.environ.get("RKHS_DATA", "")
    if not Path(named).is_dir() or not named:
        wanted = f" to load {name}" if name else ""
        got = f"it names {named!r}, which is no folder" if named else "it is not set"
        said = f"{about(name)}. " if about(name) else ""
        raise InputError(
            f"RKHS_DATA must name the folder of benchmark data{wanted}; {got}. {said}./dev data FOLDER makes and "
            f"checks it; {_PAGE}"
        )
    return Path(named)


def data_folder_if_any() -> Path | None:
    """Folder of benchmark data; None where ``RKHS_DATA`` is not set."""
    return data_folder() if os.environ.get("RKHS_DATA") else None


def run_child(module: str, *arguments: str, stderr: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script of the studies with ``--child`` in a process of its own, whose peak of memory is its own."""
    command = [sys.executable, "-m", module, "--child", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)


def run_script(main: Callable[[], object]) -> None:
    """Run a script: what its user can mend is one sentence on standard error and status 2.

    Parameters
    ----------
    main : callable

    Raises
    ------
    SystemExit
        Of status 2, for errors of this library and files that are not there.
    """
    try:
        main()
    except (RkhsError, FileNotFoundError) as error:
        hint = f". {_PAGE}" if isinstance(error, FileNotFoundError) else ""
        sys.stderr.write(f"{Path(sys.argv[0]).stem}: {error}{hint}\n")
        raise SystemExit(2) from None
