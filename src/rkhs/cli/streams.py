"""Standard output and error that never end the work, and signals that end it cleanly."""

from __future__ import annotations

import _thread
import atexit
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import partial
from types import FrameType
from typing import Any

from rkhs._core.files import UNFINISHED

# What a terminal obeys: control characters except tab and line feed, and marks that turn the direction of writing.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PROGRESS = re.compile("(\r?)(.*?)((?:\x1b\\[K)?)", re.DOTALL)  # a line that is written over
# What signals do before others take them; nohup ignores SIGHUP, and Windows has none.
_USUAL: dict[int, Any] = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
_USUAL |= {getattr(signal, name): signal.SIG_DFL for name in ("SIGHUP",) if hasattr(signal, name)}
_LATE = 1.0  # seconds in which the main thread sees a signal, unless it is in one long computation
_SOON = 0.01  # seconds after which a lost interrupt is sent once more


class Stream:
    """A text stream whose writes never fail and in which no text of a file commands the terminal."""

    def __init__(self, stream: Any, *, progress: bool = False) -> None:
        self._stream, self._progress = stream, progress
        self.error: OSError | None = None
        """What went wrong first; nothing was written after it."""

    def write(self, text: str) -> int:
        """Write what the encoding has; other characters, and what a terminal obeys, as escapes."""
        if self._stream is not None and self.error is None:
            encoding = getattr(self._stream, "encoding", None) or "utf-8"
            known = self._escaped(text).encode(encoding, "backslashreplace").decode(encoding)
            try:
                self._stream.write(known)
            except (OSError, ValueError) as error:  # a ValueError: it was closed
                self._fail(error)
        return len(text)

    def _escaped(self, text: str) -> str:
        found = _PROGRESS.fullmatch(text) if self._progress else None
        start, inside, end = ("", text, "") if found is None else found.groups()
        return start + _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), inside) + end

    def flush(self) -> None:
        """Hand on what was written."""
        if self._stream is not None and self.error is None:
            try:
                self._stream.flush()
            except (OSError, ValueError) as error:
                self._fail(error)

    def isatty(self) -> bool:
        """Whether a person reads."""
        return self._stream is not None and self.error is None and bool(self._stream.isatty())

    def _fail(self, error: Exception) -> None:
        self.error = error if isinstance(error, OSError) else OSError(str(error))
        # Python tries to write the rest again when it ends.
        with suppress(OSError, ValueError), open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def forgiving_streams() -> Iterator[Stream]:
    """Within the block writing to standard output and error cannot fail."""
    out, err = Stream(sys.stdout), Stream(sys.stderr, progress=True)
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
    """Within the block Ctrl-C interrupts, and SIGTERM and SIGHUP raise :class:`Terminated`, unless others took them."""
    # What a signal raises in a destructor, where Python drops it, is raised once more after that.
    seen = threading.Event()
    terminate = partial(_terminate, seen)
    with ExitStack() as stack:
        stack.callback(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = partial(_interrupt_later, terminate, sys.unraisablehook)
        if threading.current_thread() is threading.main_thread():
            free = {number: usual for number, usual in _USUAL.items() if signal.getsignal(number) is usual}
            for number, usual in free.items():
                stack.callback(signal.signal, number, usual)
                signal.signal(number, terminate)
            wakes, woken = (stack.enter_context(end) for end in socket.socketpair())
            woken.setblocking(False)
            threading.Thread(target=_end_soon, args=(wakes.dup(), free, seen), daemon=True).start()
            stack.callback(seen.set)
            stack.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False))
        yield


def _end_soon(wakes: socket.socket, taken: Collection[int], seen: threading.Event) -> None:
    """End the program after a signal that the main thread, in one long computation, does not see; files are whole."""
    with wakes:
        for (number,) in iter(partial(wakes.recv, 1), b""):  # none once the block has ended
            while number in taken and not seen.wait(_LATE):
                if not UNFINISHED:
                    _leave(number)


def _leave(number: int) -> None:
    """End the program at once, without its temporary files."""
    what = "interrupted" if number == signal.SIGINT else str(Terminated(number))
    sys.stderr.write(f"{chr(10) * sys.stderr.isatty()}rkhs: {what}; nothing was left half written\n")
    atexit._run_exitfuncs()
    os._exit(128 + number)


def _interrupt_later(terminate: Callable[..., None], hook: Callable[[Any], Any], unraisable: Any) -> None:
    """Send the signal of an interrupt that a destructor has lost to the main thread, when this hook has ended."""
    error = unraisable.exc_value
    if not isinstance(error, KeyboardInterrupt):
        return hook(unraisable)
    number = error.number if isinstance(error, Terminated) else signal.SIGINT
    if isinstance(error, Terminated):
        signal.signal(number, terminate)
    timer = threading.Timer(_SOON, _thread.interrupt_main, [number])
    timer.daemon = True
    return timer.start()


def _terminate(seen: threading.Event, number: int, frame: FrameType | None) -> None:
    del frame
    seen.set()
    signal.signal(number, _USUAL[number])
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)
