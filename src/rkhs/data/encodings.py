"""The encoding that a text file of another one may have."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from rkhs._core.errors import InputError
from rkhs.data.formats import open_bytes
from rkhs.data.text import Mendable

# Encodings of texts whose letters stand next to each other, and the first bytes that usual ones have in another.
_SCRIPTS = {
    "euc-kr": ("euc_kr", b"\xa1", b"\xc8"),
    "cp932": ("euc_jp", b"\xa1", b"\xcf"),
    "gb18030": ("gb2312", b"\xa1", b"\xd7"),
    "euc-jp": ("euc_jp", b"\xa1", b"\xcf"),
    "big5": ("big5", b"\xa1", b"\xc6"),
    "cp1251": ("cp1251", b"\xb8", b"\xff"),
}
_USUAL, _FEW, _COUNTED = 0.9, 4, 2**20  # share of usual letters beyond ASCII, different ones, characters counted
_RUNS = re.compile(r"[^\x00-\x7f]{2,}")
_CONTROLS = re.compile(r"[\x80-\x9f]")  # of latin-1, which no text has
_KANA = re.compile("[\u3041-\u30ff]")


def other_encoding(path: object, encoding: str, error: UnicodeError) -> InputError:
    """The error of bytes that are no text in this encoding, with one that decodes the file to plausible text."""
    with open_bytes(Path(str(path))) as handle:
        data = handle.read()
    found = _likely(data, {encoding, encoding.removesuffix("-sig")})
    what = f"{path}: expected text in {encoding.removesuffix('-sig')}; got bytes that are not ({error})"
    if found is None:
        return InputError(
            f"{what}; pass the encoding of the program that wrote it as encoding= ('latin-1' takes any bytes), or "
            "check that this is a text file"
        )
    return Mendable(
        f"{what}; pass encoding=, for example {found!r}{' of Excel' * (found == 'cp1252')}, or check that this is a "
        "text file",
        encoding=found,
    )


def _likely(data: bytes, wrong: set[str]) -> str | None:
    """UTF-8 or an encoding of a script in which most letters are usual ones, else that of Excel or latin-1."""
    texts = {name: text for name in ("utf-8", *_SCRIPTS) if name not in wrong and (text := _decoded(data, name))}
    if "utf-8" in texts:
        return "utf-8"
    shares = {name: _share_of_usual(text, *_SCRIPTS[name]) for name, text in texts.items()}
    if shares and max(shares.values()) >= _USUAL:
        return max(shares, key=shares.__getitem__)
    plain = [name for name in ("cp1252", "latin-1") if name not in wrong and (text := _decoded(data, name))]
    return next((name for name in plain if not _CONTROLS.search(data.decode(name))), None)


def _decoded(data: bytes, encoding: str) -> str:
    """The text of bytes; an empty one where they are none."""
    with suppress(UnicodeError):
        return data.decode(encoding)
    return ""


def _share_of_usual(text: str, other: str, low: bytes, high: bytes) -> float:
    """The share of usual letters among those beyond ASCII, where half of these stand next to each other."""
    letters, runs = re.findall(r"[^\x00-\x7f]", text[:_COUNTED]), "".join(_RUNS.findall(text[:_COUNTED]))
    if len(set(letters)) < _FEW or 2 * len(runs) < len(letters):
        return 0.0
    foreign = _KANA if other != "euc_jp" else _CONTROLS
    usual = (low <= foreign.sub("", letter).encode(other, "ignore")[:1] <= high for letter in letters)
    return sum(usual) / len(letters)
