"""The folder of ``RKHS_DATA``: checked by sizes and checksums, filled from where its files can be had.

Run: ./dev data [FOLDER] [--from URL] [--only yeast,esol]

``data.json`` beside this file lists each set with its licence, where it was taken from, what may stand in for it, and
the bytes and SHA-256 of its files. Sets that are published as they are read are fetched there. Others were converted
once; a copy of the folder at any URL (``https://``, ``file://``) fills them by ``--from``, each file checked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rkhs._core.errors import InputError
from rkhs._core.files import atomic_path

__all__ = ["about", "check", "fill", "main"]

_LIST = Path(__file__).with_name("data.json")
_SECONDS = 30  # without an answer


def _sets() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_LIST.read_text(encoding="utf-8"))
    return found


def about(name: str) -> str:
    """A sentence about one set: where it comes from, its licence, and what may stand in for it.

    Parameters
    ----------
    name : str

    Returns
    -------
    str
        Empty for a set that is not listed.
    """
    found = _sets().get(name)
    if found is None:
        return ""
    return f"{name}: {found['source']}; licence: {found['licence']}; without it: {found['stand_in']}"


def check(folder: Path, name: str) -> dict[str, str]:
    """What is wrong with the files of a set: ``missing``, or how they differ.

    Parameters
    ----------
    folder : Path
    name : str

    Returns
    -------
    dict
        Words by file; empty if all are in order.
    """
    wrong = {}
    for file, (size, digest) in _sets()[name]["files"].items():
        path = folder / name / file
        if not path.is_file():
            wrong[file] = "missing"
        elif path.stat().st_size != size:
            wrong[file] = f"{path.stat().st_size} bytes in place of {size}"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            wrong[file] = "another SHA-256"
    return wrong


def fill(folder: Path, name: str, wrong: dict[str, str], mirror: str | None) -> dict[str, str]:
    """Fetch the missing files of a set; what could not be had keeps its words.

    Parameters
    ----------
    folder : Path
    name : str
    wrong : dict
        From :func:`check`; files that differ are left as they are.
    mirror : str or None
        URL of a folder like this one; None: where the set is published.

    Returns
    -------
    dict
        Words by file.
    """
    base = _sets()[name].get("url") if mirror is None else f"{mirror.rstrip('/')}/{quote(name)}/"
    left = dict(wrong)
    for file in [file for file, what in wrong.items() if what == "missing" and base is not None]:
        size, digest = _sets()[name]["files"][file]
        try:
            with urllib.request.urlopen(base + quote(file), timeout=_SECONDS) as answer:
                content = answer.read(size + 1)
        except (OSError, HTTPException) as error:  # a connection that is cut is no OSError where parts have lengths
            left[file] = f"missing, and not to be had ({str(error) or type(error).__name__})"
            continue
        if len(content) < size:
            left[file] = f"missing; {base}{file} gave {len(content)} of {size} bytes, as a connection that is cut does"
            continue
        if hashlib.sha256(content).hexdigest() != digest:
            left[file] = f"missing; {base}{file} holds other bytes"
            continue
        (folder / name).mkdir(parents=True, exist_ok=True)
        with atomic_path(folder / name / file) as temporary:
            Path(temporary).write_bytes(content)
        del left[file]
    return left


def main(words: list[str] | None = None) -> int:
    """Check a folder, fill it, and say what each set is; status 1 if files are missing or differ."""
    parser = argparse.ArgumentParser(prog="./dev data", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=os.environ.get("RKHS_DATA"), help="default: RKHS_DATA")
    parser.add_argument("--from", dest="mirror", metavar="URL", help="a folder like this one, to fetch files from")
    parser.add_argument("--only", metavar="A,B,...", help="some sets")
    args = parser.parse_args(words)
    if args.folder is None:
        raise InputError("expected the folder of the data sets; got none; name one, or set RKHS_DATA")
    names, known = args.only.split(",") if args.only else list(_sets()), _sets()
    for name in set(names) - set(known):
        raise InputError(f"--only must name sets; got {name!r}; the sets are {', '.join(known)}")
    if args.mirror is not None and not args.mirror.startswith(("https://", "http://", "file://")):
        raise InputError(f"--from must be a URL that begins with https://, http:// or file://; got {args.mirror!r}")
    status, folder = 0, Path(args.folder)
    for name in names:
        wrong = fill(folder, name, check(folder, name), args.mirror)
        status = 1 if wrong else status
        print(f"{'ok ' if not wrong else 'NOT'} {about(name)}")
        for file, what in wrong.items():
            print(f"      {name}/{file}: {what}")
    if status:
        print("What is missing is fetched by the next call, or with --from URL from a copy of the folder that has it.")
        print("Files that differ are left as they are: move them away, and the next call fetches them.")
    return status
