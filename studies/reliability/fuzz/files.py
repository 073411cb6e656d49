"""Readers on small files, whole and damaged, and the commands of the command line on such files."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rkhs import data
from rkhs.cli.main import main as command
from studies.reliability.fuzz import values
from studies.reliability.fuzz.case import Case
from studies.reliability.fuzz.containers import choose, held, refused
from studies.reliability.fuzz.functions import SMILES
from studies.reliability.fuzz.schemas import HOSTILE, hostile_value
from tests.tables import read_blocks, read_table

TOKENS = [
    b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"1e-400", b"\x00", b'"', b"'", b",", b";", b"\t", b"\r", b"\n", b"\r\n",
    b"\xef\xbb\xbf", b"\xff\xfe", b"=cmd()", b"1_000", b"0x10", b"1,5", b"--", b"#", b"@data", b">", b"[", b"(", b"{",
    b"99999999999999999999", b" ", b"", b"\xc3\x28", "é".encode(), "\u2212".encode(), b"1e5", b"-0", b"None", b"TRUE",
]  # fmt: skip


def _table_text(case: Case, X: np.ndarray, delimiter: str, header: bool, index: bool) -> str:
    names = [f"c{j}" for j in range(X.shape[1])]
    lines = [delimiter.join((["name"] if index else []) + names)] if header else []
    lines += [delimiter.join(([f"r{i}"] if index else []) + [repr(v) for v in row]) for i, row in enumerate(X.tolist())]
    return "\n".join(lines) + ("\n" if case.chance(0.8) else "")


def _csv(case: Case, folder: Path) -> Path:
    X = values.tame(case, int(case.rng.integers(3, 9)), 3)
    path = folder / "table.csv"
    header = case.chance(0.7)
    path.write_text(_table_text(case, X, ",", header, header and case.chance(0.4)))
    return path


def _tsv(case: Case, folder: Path) -> Path:
    path = folder / "table.tsv"
    path.write_text(_table_text(case, values.tame(case, 6, 3), "\t", True, False))
    return path


def _npy(case: Case, folder: Path) -> Path:
    path = folder / "table.npy"
    _, X = held(case, values.tame(case, 6, 3), case.one_of(["float32", "int64", "bool", "big-endian float64"]))
    np.save(path, np.asfortranarray(X) if case.chance(0.3) else X)
    return path


def _npz(case: Case, folder: Path) -> Path:
    path = folder / "table.npz"
    np.savez(path, X=values.tame(case, 6, 3))
    return path


def _parquet(case: Case, folder: Path) -> Path:
    path = folder / "table.parquet"
    pd.DataFrame(values.tame(case, 6, 3), columns=list("abc")).to_parquet(path)
    return path


def _gram(case: Case, folder: Path) -> Path:
    path = folder / "gram.csv"
    K = np.round(values.gram_of(values.tame(case, 5, 3)), 6)
    path.write_text(_table_text(case, (K + K.T) / 2, ",", False, False))
    return path


def _smi(case: Case, folder: Path) -> Path:
    path = folder / "molecules.smi"
    path.write_text("".join(f"{s} name{i}\n" for i, s in enumerate(SMILES)))
    return path


def _smiles_csv(case: Case, folder: Path) -> Path:
    path = folder / "molecules.csv"
    path.write_text("name,smiles\n" + "".join(f"m{i},{s}\n" for i, s in enumerate(SMILES)))
    return path


def _fasta(case: Case, folder: Path) -> Path:
    path = folder / "items.fasta"
    texts = ["".join(case.rng.choice(list("ACGT"), size=9)) for _ in range(6)]
    path.write_text("".join(f">s{i} drawn\n{text}\n" for i, text in enumerate(texts)))
    return path


def _txt(case: Case, folder: Path) -> Path:
    path = folder / "items.txt"
    path.write_text("".join(f"{' '.join(case.rng.choice(list('abcde'), size=4))} word\n" for _ in range(6)))
    return path


def _ucr(case: Case, folder: Path) -> Path:
    path = folder / "series.tsv"
    rows = values.tame(case, 6, 5).tolist()
    path.write_text("".join(f"{i % 2}\t" + "\t".join(map(str, row)) + "\n" for i, row in enumerate(rows)))
    return path


def _graphs(case: Case, folder: Path) -> Path:
    (folder / "SET_A.txt").write_text("1, 2\n2, 1\n4, 5\n5, 4\n5, 3\n3, 5\n7, 8\n8, 7\n")
    (folder / "SET_graph_indicator.txt").write_text("1\n1\n2\n2\n2\n3\n4\n4\n")
    (folder / "SET_graph_labels.txt").write_text("1\n-1\n1\n1\n")
    (folder / "SET_node_labels.txt").write_text("7\n8\n7\n7\n9\n0\n7\n7\n")
    return folder / "SET_A.txt"


def _mixed(case: Case, folder: Path) -> Path:
    path = folder / "mixed.csv"
    rows = [["1.5", "a", "3"], ["", "b", "4"], ["2.5", "a", ""], ["0.1", "", "5"], ["2", "c", "6"]]
    path.write_text("num,word,count\n" + "".join(",".join(row) + "\n" for row in rows))
    return path


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    """Keep what a command says."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield said


def _series(path: Any, **options: Any) -> data.Dataset:
    return data.read_items(path, kind="series", **options)


# file -> (how it is made, how it is read, arguments of the command line)
FORMATS: dict[str, tuple[Callable[[Case, Path], Path], Callable[[Path], Any], list[str]]] = {
    "csv": (_csv, read_table, []),
    "tsv": (_tsv, read_table, []),
    "npy": (_npy, read_table, []),
    "npz": (_npz, read_table, []),
    "parquet": (_parquet, read_table, []),
    "gram": (_gram, read_table, ["--gram"]),
    "smi": (_smi, data.read_items, []),
    "smiles": (_smiles_csv, lambda path: data.read_items(path, smiles_column="smiles"), ["--smiles", "smiles"]),
    "fasta": (_fasta, data.read_items, []),
    "txt": (_txt, data.read_items, []),
    "ucr": (_ucr, _series, ["--kind", "series"]),
    "graphs": (_graphs, data.read_items, []),
    "mixed": (_mixed, read_table, []),
}


def damaged(case: Case, content: bytes) -> bytes:
    """The bytes of a file with one to three mistakes."""
    for _ in range(int(case.rng.integers(1, 4))):
        at, to = sorted(int(p) for p in case.rng.integers(0, len(content) + 1, 2))
        short = min(to, at + 4)
        token = case.one_of(TOKENS)
        content = case.one_of(
            [
                content[:at] + token + content[at:],
                content[:at] + token + content[short:],
                content[:at] + content[short:],
                content[:at],
                content[:at] + content[at:to] * 2 + content[to:],
                content[:at] + bytes([int(case.rng.integers(256))]) + content[at + 1 :],
                content.replace(b",", token, 1),
                content.replace(b"\n", b"\r\n"),
                b"\xef\xbb\xbf" + content,
                b"",
            ]
        )
    return content


def _columns(found: Any) -> list[np.ndarray]:
    X = getattr(found, "X", None)
    numeric = isinstance(X, np.ndarray) and X.dtype != object
    return [X] if numeric else list(X) if getattr(found, "kind", "") == "series" else []


READERS = {"txt": data.read_items, "ts": data.read_items, "ucr": _series}


def _with_hostile_option(case: Case, path: Path, form: str) -> None:
    """One option of another kind."""
    read = READERS[form]
    name = case.one_of(p for p in inspect.signature(data.read_items).parameters if p not in ("path", "read"))
    value = hostile_value(case, name)
    words = rf"\b{name}\b|header|columns?\b|numbers|SMILES|Gram|takes|series"
    case.call(f"read with {name}={value!r:.50}", read, path, may_name=words, finite=False, **{name: value})


def reader_walk(case: Case, name: str) -> None:
    """A whole file is read, and a damaged one is read or refused by its name."""
    make, read, _ = FORMATS[name]
    path = make(case, case.folder)
    whole = case.call(f"read {path.name}", read, path)
    case.expect(whole.error is None, f"a whole file is refused: {whole.error}")
    case.call(f"read {path.name} as str", read, str(path))
    if name in ("csv", "tsv", "npy", "npz", "parquet") and whole.answered:
        _same_numbers(case, path, whole.value)
    if name in READERS:
        for _ in range(3):
            _with_hostile_option(case, path, name)
    target = (
        path if name != "graphs" else case.folder / f"SET_{case.one_of(['A', 'graph_indicator', 'node_labels'])}.txt"
    )
    content = target.read_bytes()
    for _ in range(12):
        target.write_bytes(damaged(case, content))
        before = target.read_bytes()
        found = case.call("read a damaged file", read, path, finite=False)
        if found.answered:
            finite = all(np.isfinite(X).all() for X in _columns(found.value))
            case.expect(finite, "a reader gave NaN or infinity")
        case.expect(target.read_bytes() == before, "a reader changed the file")
        if name in ("csv", "npy", "smi"):
            _in_chunks(case, path, found)
    target.unlink()
    case.call("read a file that is not there", read, path, must_name=re.escape(target.name) + "|SET|folder")
    for bad in (case.folder, 3, None, "", b"table.csv"):
        case.call(f"read {type(bad).__name__}", read, bad, finite=False, may_name="path|file|folder|name|read|expected")


def _same_numbers(case: Case, path: Path, whole: data.Dataset) -> None:
    """Chunks and other spellings of the same table hold the same numbers."""
    parts = case.call("blocks", lambda: read_blocks(path, rows=2, index_column=whole.row_title))
    if parts.answered:
        case.agree("chunks together are the table", np.concatenate([part.X for part in parts.value]), whole.X)
    if path.suffix != ".csv":
        return
    text = path.read_text(encoding="utf-8")
    other = path.with_name("other.csv")
    quoted = "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in text.split("\n") if line)
    for label, changed in {
        "CRLF": text.replace("\n", "\r\n"),
        "a byte order mark": "\ufeff" + text,
        "quotes": quoted,
        "an empty last line": text.rstrip("\n") + "\n\n",
    }.items():
        other.write_text(changed, newline="")
        found = case.call(f"read with {label}", read_table, other)
        if case.expect(found.error is None, f"a table with {label} is refused: {found.error}") and found.answered:
            case.agree(f"a table with {label}", found.value.X, whole.X)
    other.write_text(text.replace(",", ";"))
    found = case.call("read with semicolons", lambda: read_table(other, sep=";"))
    if found.answered:
        case.agree("a table with semicolons", found.value.X, whole.X)


def _in_chunks(case: Case, path: Path, found: Any) -> None:
    def chunks() -> np.ndarray:
        title = found.value.row_title if found.answered else None
        return np.concatenate([part.X for part in read_blocks(path, rows=2, index_column=title)])

    parts = case.call("blocks of a damaged file", chunks)
    if parts.answered and found.answered and parts.value.shape == found.value.X.shape:
        case.agree("chunks of a damaged file", parts.value, found.value.X)


def writer_walk(case: Case) -> None:
    """What is written is read again with the same digits; what cannot be written is refused."""
    codes = values.wild(case, int(case.rng.integers(1, 7)), int(case.rng.integers(1, 4)))
    suffix = case.one_of([".csv", ".npy", ".parquet"])
    path = case.folder / f"codes{suffix}"
    names = [f"r{i}" for i in range(len(codes))] if case.chance(0.5) and suffix != ".npy" else None
    for label in [None, *choose(case, 3)]:
        given, meant = (codes, codes) if label is None else held(case, codes, label)
        rows = None if names is None else names[: len(meant)]
        written = case.call(f"write {label}", data.write_codes, path, given, rows, may_name="codes|row_names")
        if written.answered:
            read = case.call("read again", read_table, path)
            if read.answered:
                case.agree(f"codes as {label} read again", read.value.X, meant)
    for label, bad in (refused(case, codes), ("hostile", case.one_of(HOSTILE))):
        case.call(f"write {label}", data.write_codes, path, bad, may_name="codes")
    case.call(
        "write to nowhere", data.write_codes, case.folder / "no" / "codes.csv", np.ones((2, 2)), may_name="folder|no"
    )
    case.call("write to no format", data.write_codes, case.folder / "codes.xyz", np.ones((2, 2)), may_name="path")


# ---------------------------------------------------------------- commands


def run_command(case: Case, *words: str, outputs: tuple[str, ...] = ()) -> int | None:
    """One command: status 0 or 2, one reason on standard error, inputs as they were."""
    kept = {p: p.read_bytes() for p in case.folder.rglob("*") if p.is_file() and p.name not in outputs}
    with quiet() as said:

        def act() -> int:
            try:
                return int(command(list(words)))
            except SystemExit as stop:
                return int(stop.code or 0)

        status = case.call(f"rkhs {' '.join(words)}", act)
    if not status.answered:
        return None
    text = said.getvalue()
    if case.told:
        print("   ", " ".join(text.split())[:300])
    case.expect("Traceback" not in text, f"rkhs {' '.join(words)} printed a traceback")
    if status.value not in (0, 2):
        case.fail("raw error", f"rkhs {' '.join(words)} ended with {status.value}: {' '.join(text.split())[-300:]}")
    if status.value == 2:
        case.expect("rkhs" in text, f"rkhs {' '.join(words)} said nothing and ended with 2")
    for path, content in kept.items():
        case.expect(path.is_file() and path.read_bytes() == content, f"rkhs {' '.join(words)} changed {path.name}")
    return status.value


ESTIMATORS = [
    ["--estimator", "KernelPCA"],
    ["--estimator", "KernelPCA", "--set", "storage=nystroem(4)"],
    ["--set", "max_iter=5"],
    ["--set", "max_iter=5", "--set", "reg=0.001", "--n-components", "1"],
    ["--estimator", "DeepRKM", "--n-components", "2,1", "--set", "max_iter=10"],
    ["--estimator", "KernelContrastive"],
    ["--estimator", "KernelPCA", "--codes", "codes.csv"],
    ["--predict", "0"],
]
HOSTILE_FLAGS = [
    ["--kernel", "gaussian("],
    ["--kernel", "__import__('os')"],
    ["--kernel", "gaussian(gamma=-1)"],
    ["--kernel", "9**9**9"],
    ["--n-components", "0"],
    ["--n-components", "999999999"],
    ["--set", "reg=nan"],
    ["--set", "nothing=3"],
    ["--set", "reg"],
    ["--seed", "x"],
    ["--estimator", "GramTransformer"],
    ["--estimator", "Nobody"],
    ["--columns", "nowhere"],
    ["--columns", "-7"],
    ["--index-column", "nowhere"],
    ["--read", "header=perhaps"],
    ["--read", "sep=ab"],
    ["--read", "nothing"],
    ["--kind", "series"],
    ["--kind", "curves"],
    ["--kind", "graphs"],
    ["--gram"],
    ["--stream"],
    ["--fingerprint", "morgan(n_bits=-3)"],
    ["--fingerprint", "x"],
    ["--jobs", "0"],
    ["--codes", "codes.xyz"],
    ["--codes", "nowhere/codes.csv"],
]


def command_walk(case: Case) -> None:
    """A fit, and every command on its model, on whole and damaged files and with flags out of place."""
    name = case.one_of(FORMATS)
    make, _, flags = FORMATS[name]
    path = make(case, case.folder)
    source = "." if name == "graphs" else path.name
    model = case.folder / "m.rkhs"
    made = ("m.rkhs", "codes.csv", "codes.xyz", "z.csv", "z.npy", "back.csv", "errors.csv", "m.onnx", "m2.rkhs")
    made += ("y.csv", "map.svg")
    hostile = case.one_of(HOSTILE_FLAGS) if case.chance(0.3) else []
    chosen = case.one_of(ESTIMATORS)
    status = run_command(case, "fit", source, "-o", "m.rkhs", "--quiet", *flags, *chosen, *hostile, outputs=made)
    if status != 0 or not model.exists():
        return
    run_command(case, "info", "m.rkhs", *(["--json"] if case.chance(0.5) else []))
    flags = [flag for flag in flags if flag != "--gram"]
    reading = [*flags, *(hostile if hostile and hostile[0] in ("--kind", "--columns", "--smiles") else [])]
    if run_command(case, "transform", "m.rkhs", source, "-o", "z.csv", *reading, outputs=made) == 0:
        codes = read_table(case.folder / "z.csv")
        case.expect(bool(np.isfinite(codes.X).all()), "codes on a file are finite")
        run_command(case, "decode", "m.rkhs", "z.csv", "-o", "back.csv", outputs=made)
        content = (case.folder / "z.csv").read_bytes()
        (case.folder / "bad.csv").write_bytes(damaged(case, content))
        run_command(case, "decode", "m.rkhs", "bad.csv", "-o", "back.csv", outputs=made)
        run_command(case, "decode", "m.rkhs", "z.csv", "-o", "back.csv", "--candidates", source, *reading, outputs=made)
    if case.chance(0.1):
        colour = case.one_of([[], ["--color", "0"], ["--color", "nowhere"]])
        run_command(case, "map", source, "-o", "map.svg", "--estimator", "kpca", *flags, *colour, outputs=made)
    run_command(case, "predict", "m.rkhs", source, "-o", "y.csv", *reading, outputs=made)
    run_command(case, "compare", source, "--model", "m.rkhs", *reading, outputs=made)
    run_command(case, "export", "m.rkhs", "-o", "m.onnx", outputs=made)
    content = path.read_bytes()
    for _ in range(3):
        path.write_bytes(damaged(case, content))
        run_command(case, "transform", "m.rkhs", source, "-o", "z.csv", *reading, outputs=made)
        run_command(case, "fit", source, "-o", "m2.rkhs", "--quiet", *flags, *chosen, outputs=made)
    damaged_model = bytearray(model.read_bytes())
    for _ in range(3):
        damaged_model[int(case.rng.integers(len(damaged_model)))] ^= 1 << int(case.rng.integers(8))
    model.write_bytes(bytes(damaged_model))
    for words in (["info", "m.rkhs"], ["transform", "m.rkhs", source, "-o", "z.csv", *reading]):
        case.expect(run_command(case, *words, outputs=made) != 0, "a damaged model file was read")


def subjects() -> dict[str, Callable[[Case], None]]:
    """Readers by format, the writer, and the commands."""
    readers = {f"read.{name}": (lambda case, name=name: reader_walk(case, name)) for name in FORMATS}
    return {**readers, "write_codes": writer_walk, "commands": command_walk}
