"""Output in which no text of a file commands the terminal, and signals that end a command cleanly."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from types import FrameType
from typing import Any

# What a terminal obeys: control characters except tab and line feed, and marks that turn the direction of writing.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PROGRESS = re.compile("(\r?)(.*?)((?:\x1b\\[K)?)", re.DOTALL)  # a line that is written over
_ENDING = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


class Stream:
    """A text stream whose writes never fail: what went wrong first is kept, and nothing is written after it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Write what the encoding has; other characters, and what a terminal obeys, as escapes."""
        start, inside, end = _PROGRESS.fullmatch(text).groups()  # type: ignore[union-attr]
        escaped = _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), inside)
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self._attempt("write", f"{start}{escaped}{end}".encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        self._attempt("flush")

    def isatty(self) -> bool:
        """Whether a person reads."""
        return self.error is None and self._stream is not None and bool(self._stream.isatty())

    def _attempt(self, name: str, *given: str) -> None:
        if self._stream is None or self.error is not None:
            return
        try:
            getattr(self._stream, name)(*given)
        except (OSError, ValueError) as error:  # a ValueError: it was closed
            self.error = error if isinstance(error, OSError) else OSError(str(error))
            # Python tries to write the rest again when it ends.
            with suppress(OSError, ValueError), open(os.devnull, "w", encoding="utf-8") as nowhere:
                os.dup2(nowhere.fileno(), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def forgiving_streams() -> Iterator[Stream]:
    """Within the block writing to standard output and error cannot fail."""
    out, err = Stream(sys.stdout), Stream(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        try:
            yield out
        finally:
            out.flush()
            err.flush()


class Terminated(KeyboardInterrupt):
    """A signal asked the program to end: whoever cleans up after Ctrl-C does so now."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP raise :class:`Terminated`, unless others took them, as nohup does."""
    numbers = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    free = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        free = []
    for number in free:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in free:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> None:
    del frame
    signal.signal(number, signal.SIG_DFL)
    raise Terminated(number)
