"""Standard output that nobody reads, and signals that end a command."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli import info
from rkhs.cli.main import main
from rkhs.cli.streams import Stream
from rkhs.cli.wording import message_line
from rkhs.data import write_codes

FIT = ("fit", "in.csv", "--set", "reg=0.1", "--set", "max_iter=1", "-o", "new.rkhs")


class Broken(io.TextIOBase):
    """A stream that fails with a given error once it is written to, or once it is flushed."""

    encoding = "ascii"

    def __init__(self, error: Exception, on_flush: bool = False) -> None:
        self.reason, self.on_flush = error, on_flush

    def write(self, text: str) -> int:
        if not self.on_flush:
            raise self.reason
        return len(text)

    def flush(self) -> None:
        if self.on_flush:
            raise self.reason


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_codes("in.csv", np.random.default_rng(0).normal(size=(12, 3)), column_names=["a", "b", "c"])
    return tmp_path


@pytest.mark.parametrize("on_flush", [False, True])
@pytest.mark.parametrize(
    ("error", "status"), [(BrokenPipeError(), 0), (OSError(28, "No space left on device"), 2), (None, 0)]
)
def test_a_fit_is_kept_whatever_happens_to_the_streams(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception | None,
    status: int,
    on_flush: bool,
) -> None:
    for stream in ("stdout", "stderr"):  # the fit warns that it did not converge
        with monkeypatch.context() as patch:
            patch.setattr(sys, stream, None if error is None else Broken(error, on_flush))
            assert main([*FIT]) == (status if stream == "stdout" else 0)
        assert rkhs.load("new.rkhs").codes_.shape == (12, 2)
    if status:
        assert "cannot write to standard output (No space left on device)" in capsys.readouterr().err


def test_names_that_the_terminal_cannot_show_are_escaped() -> None:
    raw = io.BytesIO()
    stream = Stream(io.TextIOWrapper(raw, encoding="ascii"))
    stream.write("é \udcff\n")
    stream.flush()
    assert raw.getvalue() == b"\\xe9 \\udcff\n"
    assert message_line("a\n\tb") == "a b"
    assert len(message_line("x" * 10**6)) < 3000


def test_no_text_of_a_file_commands_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil, shown = "a\x1b[2J\x9b\x07\u202e", r"a\x1b[2J\x9b\x07\u202e"
    rows = np.random.default_rng(0).normal(size=(40, 3))
    rows[3] += 50.0
    names = [f"{evil}{i}" for i in range(40)]
    write_codes("bad.csv", rows, row_names=names, row_title="id", column_names=[evil, "b", "c"])
    command = ["fit", "bad.csv", "--index-column", "id", "--set", "reg=0.001", "--robust", "-o", "m.rkhs"]
    assert main(command) == 0
    assert main([*command[:2], "--columns", f"{evil}x", "-o", "n.rkhs"]) == 2
    rkhs.save(rkhs.KernelPCA(2).fit(rows), "p.rkhs", notes={"input": {"source": evil, "kind": evil}})
    assert main(["info", "p.rkhs"]) == 0
    printed = capsys.readouterr()
    assert f"{shown}3" in printed.out
    assert f"{shown} ({shown})" in printed.out
    assert shown in printed.err
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & {*printed.out, *printed.err}


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_signals_end_a_command_cleanly(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, status: int
) -> None:
    number = getattr(signal, name)

    def ends(*_: object, **__: object) -> None:
        os.kill(os.getpid(), number)

    monkeypatch.setattr(rkhs.KernelAutoencoder, "fit", ends)
    before = signal.getsignal(number)
    # What a terminal has; a test may run in the background, where a shell lets Ctrl-C be ignored.
    signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
    try:
        assert main([*FIT]) == status
        assert signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
    finally:
        signal.signal(number, before)
    said = "interrupted" if name == "SIGINT" else f"ended by {name}"
    expected = f"rkhs: {said}; nothing was left half written\n"
    assert capsys.readouterr().err == expected
    assert os.listdir() == ["in.csv"]


def test_signals_of_others_are_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(info, "run", lambda args: seen.append(signal.getsignal(signal.SIGHUP)) or 0)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert main(["info", "x"]) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert seen == [signal.SIG_IGN]
    thread = threading.Thread(target=lambda: seen.append(main(["info", "x"])))  # only the main one takes signals
    thread.start()
    thread.join()
    assert seen[-1] == 0


def test_no_memory_is_no_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(args: object) -> int:
        raise MemoryError("Unable to allocate 80. TiB")

    monkeypatch.setattr(info, "run", run)
    assert main(["info", "x"]) == 2
    assert "not enough memory for this (Unable to allocate 80. TiB)" in capsys.readouterr().err


def test_progress_is_written_over_its_line() -> None:
    raw = io.StringIO()
    Stream(raw).write("\r1 of 2 \r\x1b[K\x1b[K")
    assert raw.getvalue() == "\r1 of 2 \\r\\x1b[K\x1b[K"
