"""Colour and progress: only on a terminal, never in a pipe or a file."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from io import TextIOWrapper
from types import TracebackType
from typing import TYPE_CHECKING, Final, TextIO

from eumu.records import dataclass

if TYPE_CHECKING:
    import rich.progress

_RED, _GREEN, _BOLD, _DIM, _OFF = "\33[31m", "\33[32m", "\33[1m", "\33[2m", "\33[0m"
_REDRAW: Final = 0.1  # seconds
_WORD: Final = re.compile(r"\b(error|fault|internal error):")
_CARET: Final = re.compile(r"^(\s+)(\^+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Paint:
    """Adds colours if `on`."""

    on: bool

    @classmethod
    def for_stream(cls, stream: TextIO) -> Paint:
        """Colours for a terminal, unless NO_COLOR is set (https://no-color.org)."""
        return cls(_is_terminal(stream) and not os.environ.get("NO_COLOR"))

    def bold(self, text: str) -> str:
        return self._with(_BOLD, text)

    def dim(self, text: str) -> str:
        return self._with(_DIM, text)

    def error(self, text: str) -> str:
        """An error message: its word in red, carets in green."""
        if not self.on:
            return text
        text = _WORD.sub(f"{_RED}{_BOLD}\\1:{_OFF}", text)
        return _CARET.sub(f"\\1{_GREEN}\\2{_OFF}", text)

    def _with(self, code: str, text: str) -> str:
        return f"{code}{text}{_OFF}" if self.on else text


def take_any_text(*streams: TextIO | None) -> None:
    """Let streams of any encoding take what it cannot say, as ASCII cannot say `…`: escaped.

    So are bytes of a file's name that are no character, and bytes that are read and are none.
    """
    for stream in streams:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _is_terminal(stream: TextIO) -> bool:
    return bool(getattr(stream, "isatty", bool)()) and os.environ.get("TERM") != "dumb"


class Progress:
    """A bar on the terminal while something takes long: what runs, how far it is, for how long.

    Nothing is shown for the first second, and nothing at all unless the stream is a terminal.
    `report` and `close` may be called from any thread.  What is written while the bar may be there
    goes through `write` and `note`.
    """

    def __init__(self, title: str, stream: TextIO | None = None, after: float = 1.0) -> None:
        self.title = title
        self.stream = sys.stderr if stream is None else stream
        self.after = after
        self.is_shown = _is_terminal(self.stream)
        self._seen: tuple[int, int] | None = None  # groups done, all groups
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._bar: rich.progress.Progress | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        if self.is_shown:
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def report(self, done: int, total: int) -> None:
        """So much is done."""
        self._seen = done, total

    def write(self, text: str) -> None:
        """Text for standard output; the bar goes before it comes."""
        self.close()
        sys.stdout.write(text)
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """A line for the stream, above the bar if it is there."""
        with self._lock:
            if self._bar is None:
                print(text, file=self.stream)
            else:
                self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bar away."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        if self._stop.wait(self.after):
            return
        start = time.monotonic() - self.after
        try:
            bar = _bar(self.stream)
        except ImportError:  # rich is optional: a run is as long without a bar
            return
        task = bar.add_task(self.title, total=None, seconds=0)
        with self._lock:
            self._bar = bar
            bar.start()
        while not self._stop.wait(_REDRAW):
            done, total = self._seen or (0, None)
            seconds = int(time.monotonic() - start)
            bar.update(task, completed=done, total=total, seconds=seconds)
            bar.refresh()
        with self._lock:
            self._bar = None
            bar.stop()


def _bar(stream: TextIO) -> rich.progress.Progress:
    """An empty bar; importing rich takes 0.1 s, so it is for runs that are long."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[seconds]} s"),
        console=Console(file=stream, force_terminal=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
