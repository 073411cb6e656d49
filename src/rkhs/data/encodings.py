"""The encoding of a text file, and the one that a file of another encoding may have."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import BinaryIO

from rkhs._core.errors import InputError
from rkhs._core.files import text_encoding
from rkhs.data.formats import extension_of, marked_encoding, open_bytes
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
# Letters beyond ASCII of languages, by the encoding of their files; the first encoding is taken where several fit.
_LANGUAGES = {
    "cp1252": (
        *("äöüß", "àâæçèéêëîïôœùûü", "áéíñóúü¿¡", "àáâãçéêíóôõúü", "åäöæøé", "àèéìòù", "áðéíóúýþæö", "ëïéèöü"),
        "äöüßáàâéèêíóôúñç",  # names of many countries
    ),
    "cp1250": ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž"),
    "cp1254": ("çğıöşüâîû",),
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž"),
    "cp1253": ("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋ",),
}
_IN_ANY = "¹²³µªº"
_SURE, _OF_A_LANGUAGE = 0.95, 1.5  # share of letters of a language, and its plausibility: more than that of a script
_PLAIN = {"cp1252": 0.9, "latin-1": 0.8}  # as plausible as a script with this share of usual letters
_FEW, _COUNTED = 4, 2**20  # different letters beyond ASCII, and characters that are counted
_CHUNK_BYTES = 2**20  # bytes
_RUNS = re.compile(r"[^\x00-\x7f]{2,}")
_CONTROLS = re.compile(r"[\x80-\x9f]")  # of latin-1, which no text has
_KANA = re.compile("[\u3041-\u30ff]")


def encoding_of(path: Path, asked: str) -> str:
    """The encoding; a byte order mark takes precedence over the argument."""
    encoding = text_encoding(asked)
    if extension_of(path) == ".xlsx":
        return "utf-8"
    with open_bytes(path) as handle:
        start = handle.read(4)
        if (marked := marked_encoding(start)) is not None:
            return marked
        if encoding.startswith(("utf-16", "utf-32")) or not start:
            return encoding
        handle.seek(0)
        place = _nul_offset(handle)
    if place is not None:
        raise nul_error(path, asked, place)
    return encoding


def nul_error(path: object, encoding: str, place: int) -> InputError:
    """The error of a NUL character: UTF-16 has them on one side of its pairs of bytes, a binary file anywhere."""
    with open_bytes(Path(str(path))) as handle:
        start = handle.read(_CHUNK_BYTES)
    first, second = start[::2].count(0), start[1::2].count(0)
    what = f"{path}: expected text in {encoding}; got a NUL character at place {place}"
    if encoding.startswith(("utf-16", "utf-32")) or max(first, second) < max(
        0.02 * len(start), 20 * min(first, second)
    ):
        return InputError(f"{what}, as files that hold no text have; check that this is a text file")
    wide = "utf-16-le" if second > first else "utf-16-be"
    return Mendable(
        f"{what}; pass encoding={wide!r} if the file is UTF-16, or check that this is a text file", encoding=wide
    )


def _nul_offset(handle: BinaryIO) -> int | None:
    """Find where the first NUL character of a file stands."""
    done = 0
    while part := handle.read(_CHUNK_BYTES):
        if (place := part.find(b"\0")) >= 0:
            return done + place
        done += len(part)
    return None


def other_encoding(path: object, encoding: str, error: UnicodeError) -> InputError:
    """The error of bytes that are no text in this encoding, with one that decodes the file to plausible text."""
    with open_bytes(Path(str(path))) as handle:
        found = _likely(handle.read(), {encoding, encoding.removesuffix("-sig")})
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
    if b"\0" in data:  # in no encoding of these
        return None
    shares = {name: _plausible(data, name) for name in ("utf-8", *_SCRIPTS, *_PLAIN) if name not in wrong}
    found = {name: _of_language(data, name) for name in _LANGUAGES if name not in wrong}
    spoken = max(found, key=found.__getitem__)
    if spoken not in shares and found[spoken] >= _SURE:
        shares[spoken] = _OF_A_LANGUAGE
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= _PLAIN["latin-1"] else None


def _of_language(data: bytes, name: str) -> float:
    """The largest share of the letters beyond ASCII that are those of one language of an encoding."""
    try:
        text = data.decode(name)[:_COUNTED].lower()
    except UnicodeError:
        return 0.0
    letters = Counter(re.findall(rf"[^\W\d_]|[{_IN_ANY}¿¡]", re.sub(r"[\x00-\x7f]+", " ", text)))
    usual = [sum(letters[letter] for letter in (*_IN_ANY, *language)) for language in _LANGUAGES[name]]
    return max(usual) / max(letters.total(), 1)


def _plausible(data: bytes, name: str) -> float:
    """How plausible bytes are in an encoding: of a script the share of usual letters, half of them side by side."""
    try:
        text = data.decode(name)
    except UnicodeError:
        return 0.0
    if name not in _SCRIPTS:
        return 0.0 if _CONTROLS.search(text) else _PLAIN.get(name, 2.0)
    other, low, high = _SCRIPTS[name]
    letters, runs = re.findall(r"[^\x00-\x7f]", text[:_COUNTED]), "".join(_RUNS.findall(text[:_COUNTED]))
    foreign = _KANA if other != "euc_jp" else _CONTROLS
    usual = sum(low <= foreign.sub("", letter).encode(other, "ignore")[:1] <= high for letter in letters)
    return usual / len(letters) if len(set(letters)) >= _FEW and 2 * len(runs) >= len(letters) else 0.0
