"""A debugger for kernels of a record: stops threads before an instruction, shows what they hold.

It is an observer of the interpreter.  Threads run in lockstep: where one stops, those that are at
the same instruction stop with it, and no other runs on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, TextIO

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Place
from eumu.exec.grid import Grid
from eumu.exec.observe import Observer, Threads
from eumu.exec.state import ThreadState
from eumu.exec.words import first_instruction
from eumu.ir import Function
from eumu.native.program import FULL, HALF
from eumu.records import dataclass

TYPES: Final = {
    **{"ub": np.uint8, "b": np.int8, "uw": np.uint16, "w": np.int16, "ud": np.uint32},
    **{"d": np.int32, "uq": np.uint64, "q": np.int64, "hf": np.float16, "f": np.float32},
    "df": np.float64,
}
_PROMPT: Final = "(eumu) "
_AROUND: Final = 5  # instructions that `list` shows before and behind
_HELP: Final = """\
break KERNEL, break LINE, break +OFFSET [thread N]
                      stop at a kernel's first instruction, at a line of the source, at a byte of
                      the code; for any thread or for one
delete                forget all of them; breaks lists them
continue (c)          run to the next of them
step (s) [N]          run N instructions of the thread that is looked at
next (n)              run to another line of the source
where (w)             kernel, thread, lanes, instruction, line
list (l)              instructions around
thread [N]            look at another thread of those that run; threads lists them
print (p) REG [TYPE]  a register: r5, f0, cr0 …; types are ud, d, uw, w, ub, b, uq, q, hf, f, df
memory (x) ADDRESS [N [TYPE]], slm OFFSET [N [TYPE]]
                      N values of device memory, or of the group's shared local memory
quit (q)              leave the rest of the record"""


class Left(Exception):
    """The user has left; what is behind does not run."""


class _Mistake(Exception):
    """What is wrong with a command."""


@dataclass(frozen=True, slots=True)
class _Break:
    """Where to stop: at a kernel's start, at a line of the source or at a byte of the code."""

    kernel: str | None = None
    line: int | None = None
    offset: int | None = None
    thread: int | None = None

    def __str__(self) -> str:
        where = self.kernel or (f"line {self.line}" if self.line is not None else "")
        where = where or f"byte {self.offset:#x}"
        return where if self.thread is None else f"{where}, thread {self.thread}"


class Debugger(Observer):
    """Reads commands and runs them; `read` gives bytes of device memory, None where nothing is."""

    each_instruction = True

    def __init__(
        self, read: Callable[[int, int], bytes | None], source: TextIO, out: TextIO
    ) -> None:
        self._read, self._source, self._out = read, source, out
        self._breaks: list[_Break] = []
        self._grid: Grid | None = None
        self._offsets: list[int] = []  # of the function's instructions
        self._first = 0  # the number of the thread in the first row of the state
        self._state: ThreadState | None = None
        self._block = self._inst = 0
        self._threads: Threads = np.zeros(0, np.intp)  # at that instruction
        self._thread = 0  # that is looked at
        self._steps: int | None = 0  # of it, before it stops again
        self._line: Place | None = None  # that `next` leaves

    # ---- what the interpreter tells

    def start(self, grid: Grid) -> None:
        self._grid, self._offsets = grid, _offsets(grid.function)

    def batch(self, first: int, state: ThreadState) -> None:
        self._first, self._state = first, state

    def instruction(self, block: int, inst: int, threads: Threads) -> None:
        self._block, self._inst, self._threads = block, inst, threads
        if self._is_due():
            self._stop(self._where())

    def ended(self, threads: Threads, used: NDArray[np.int64]) -> None:
        if self._steps is not None and self._thread in threads:
            self._state = None
            self._stop(f"thread {self._thread} of kernel {self._function.name} has ended")

    # ---- whether to stop

    @property
    def _function(self) -> Function:
        assert self._grid is not None
        return self._grid.function

    def _is_due(self) -> bool:
        for point in self._breaks:
            if point.thread is not None and point.thread not in self._threads:
                continue
            if self._is_at(point):
                self._look_at(point.thread)
                return True
        if self._steps is None or (len(self._threads) and self._thread not in self._threads):
            if self._steps is None or self._inst or self._thread < self._count:
                return False
            self._thread = int(self._threads[0])  # of the kernel before, which had more
        here = self._place(self._inst)
        if self._line is not None and (here is None or _line(here) == _line(self._line)):
            return False
        self._steps -= 1
        return self._steps <= 0

    @property
    def _offset(self) -> int:
        """The byte of the code at which the instruction begins."""
        return self._offsets[self._inst]

    @property
    def _count(self) -> int:
        assert self._grid is not None
        return self._grid.groups * self._grid.threads_per_group

    def _is_at(self, point: _Break) -> bool:
        if point.kernel is not None:
            return self._inst == 0 and bool(self._function.name == point.kernel)
        if point.offset is not None:
            return self._offset == point.offset
        here = self._place(self._inst)
        before = self._place(self._inst - 1) if self._inst else None
        is_here = here is not None and here.line == point.line
        return is_here and (before is None or before.line != point.line)

    def _look_at(self, thread: int | None) -> None:
        if thread is not None:
            self._thread = thread
        elif self._thread not in self._threads:
            self._thread = int(self._threads[0])

    def _place(self, inst: int) -> Place | None:
        origins = self._function.origins
        return origins[inst] if 0 <= inst < len(origins) else None

    # ---- commands

    def _stop(self, what: str) -> None:
        self._steps, self._line = None, None
        self._say(what)
        while not self._command(self._next_words()):
            pass

    def _next_words(self) -> list[str]:
        if self._source.isatty():
            try:
                return input(_PROMPT).split()
            except EOFError:
                return ["quit"]
        line = self._source.readline()
        if not line:
            self._breaks.clear()
            return ["continue"]
        self._say(_PROMPT + line.rstrip("\n"))
        return line.split()

    def _command(self, words: list[str]) -> bool:
        """Whether threads run on."""
        if not words:
            return False
        name, arguments = words[0], words[1:]
        try:
            return self._commands[_SHORT.get(name, name)](self, arguments) or False
        except KeyError:
            self._say(f"no command {name!r}; help lists them")
        except (_Mistake, ValueError, OverflowError) as error:
            self._say(str(error))
        return False

    def _continue(self, arguments: list[str]) -> bool:
        return True

    def _step(self, arguments: list[str]) -> bool:
        self._steps = max(1, int(arguments[0], 0)) if arguments else 1
        return True

    def _next(self, arguments: list[str]) -> bool:
        self._line = self._place(self._inst)
        if self._line is None:
            raise _Mistake("no line of the source is known here (build with -g); step runs on")
        self._steps = 1
        return True

    def _quit(self, arguments: list[str]) -> bool:
        raise Left

    def _break(self, arguments: list[str]) -> None:
        if len(arguments) not in (1, 3) or arguments[1:2] not in ([], ["thread"]):
            raise _Mistake("break KERNEL, break LINE or break +OFFSET, and thread N behind it")
        thread = int(arguments[2], 0) if arguments[1:] else None
        if arguments[0].startswith("+"):
            made = _Break(offset=int(arguments[0], 0), thread=thread)
        elif arguments[0].isdecimal():
            made = _Break(line=int(arguments[0]), thread=thread)
        else:
            made = _Break(kernel=arguments[0], thread=thread)
        self._breaks.append(made)
        if not self._is_known(made):
            self._say(f"nothing of {self._function.name} is there; another kernel may have it")

    def _is_known(self, made: _Break) -> bool:
        """Whether the kernel that runs has the place."""
        function = self._function
        if made.kernel is not None:
            return bool(function.name == made.kernel)
        if made.line is not None:
            return any(place is not None and place.line == made.line for place in function.origins)
        return made.offset in self._offsets

    def _delete(self, arguments: list[str]) -> None:
        self._breaks.clear()

    def _list_breaks(self, arguments: list[str]) -> None:
        self._say("\n".join(map(str, self._breaks)) or "none")

    def _show_where(self, arguments: list[str]) -> None:
        self._say(self._where())

    def _where(self) -> str:
        if self._state is None:
            return "no thread runs"
        assert self._grid is not None
        group, member = divmod(self._thread, self._grid.threads_per_group)
        lanes = self._lanes()
        lines = [
            f"kernel {self._function.name}, thread {self._thread} ({member} of group {group}),"
            f" lanes {lanes:#x}, {len(self._threads)} of {self._count} threads are here"
        ]
        place = self._place(self._inst)
        if place is not None:
            lines.append(f"  {place.file}:{place.line}: {place.text.strip()}")
        lines.append(f"  +{self._offset:#x} {self._text(self._inst)}")
        return "\n".join(lines)

    def _text(self, inst: int) -> str:
        texts = self._function.texts
        return " ".join(texts[inst].split()) if 0 <= inst < len(texts) else "the code's end"

    def _lanes(self) -> int:
        """Lanes of the thread that are at the instruction."""
        state, row = self._row()
        here = state.pc[row] == self._block
        return sum(1 << int(lane) for lane in np.flatnonzero(here))

    def _list(self, arguments: list[str]) -> None:
        texts = range(max(0, self._inst - _AROUND), self._inst + _AROUND + 1)
        here = {self._inst: "->"}
        shown = [k for k in texts if k < len(self._function.texts)]
        self._say("\n".join(f"{here.get(k, ''):2} {self._text(k)}" for k in shown))

    def _choose(self, arguments: list[str]) -> None:
        if arguments:
            state, _ = self._row()
            number = int(arguments[0], 0)
            if not 0 <= number - self._first < state.threads or number >= self._count:
                last = min(self._count, self._first + state.threads) - 1
                raise _Mistake(f"threads {self._first} to {last} run at this time")
            self._thread = number
        self._say(f"thread {self._thread}")

    def _list_threads(self, arguments: list[str]) -> None:
        self._row()
        shown = ", ".join(map(str, self._threads[:32]))
        more = " …" if len(self._threads) > 32 else ""
        self._say(f"{len(self._threads)} here: {shown}{more}")

    def _row(self) -> tuple[ThreadState, int]:
        """The state, and the row of it that is the thread's."""
        if self._state is None:
            raise _Mistake("no thread runs")
        return self._state, self._thread - self._first

    def _print(self, arguments: list[str]) -> None:
        if not arguments or len(arguments) > 2:
            raise _Mistake("print REGISTER [TYPE]")
        state, row = self._row()
        name, type_ = arguments[0], _type(arguments[1:])
        if name[:1] == "r" and name[1:].isdecimal():
            width = self._function.grf_bytes
            data = state.roots["grf"][row][int(name[1:]) * width :][:width]
            if not len(data):
                raise _Mistake(f"there is no {name}")
        else:
            root = state.roots.get(name, state.roots.get(f"%{name}"))
            if root is None:
                names = ", ".join(sorted(n.lstrip("%") for n in state.roots if n != "grf"))
                raise _Mistake(f"this kernel has no {name}; r0 to r127, {names}")
            data = np.packbits(root[row], bitorder="little") if root.dtype == bool else root[row]
        self._say(_shown(data.tobytes(), type_))

    def _memory(self, arguments: list[str]) -> None:
        address, count, type_ = _stretch(arguments)
        data = self._read(address, count * np.dtype(type_).itemsize)
        if data is None:
            raise _Mistake(f"{address:#x}: not all of that is in buffers of this submission")
        self._say(_shown(data, type_))

    def _slm(self, arguments: list[str]) -> None:
        offset, count, type_ = _stretch(arguments)
        state, row = self._row()
        data = state.slm[row // state.threads_per_group].tobytes()[offset:]
        self._say(_shown(data[: count * np.dtype(type_).itemsize], type_))

    def _help(self, arguments: list[str]) -> None:
        self._say(_HELP)

    def _say(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    _commands: Final[dict[str, Callable[[Debugger, list[str]], bool | None]]] = {
        **{"continue": _continue, "step": _step, "next": _next, "quit": _quit, "break": _break},
        **{"delete": _delete, "breaks": _list_breaks, "where": _show_where, "list": _list},
        **{"thread": _choose, "threads": _list_threads, "print": _print, "memory": _memory},
        **{"slm": _slm, "help": _help},
    }


def _offsets(function: Function) -> list[int]:
    """The byte of the code at which each instruction begins; blocks are called by theirs."""
    sizes = {
        first_instruction(function, k): int(block.label[1:])
        for k, block in enumerate(function.blocks)
        if block.label[:1] == "L" and block.label[1:].isdecimal()
    }
    offsets, at = [], 0
    for k, text in enumerate(function.texts):
        offsets.append(sizes.get(k, at))
        at = offsets[-1] + (HALF if "Compacted" in text else FULL)
    return offsets


_SHORT: Final = {
    **{"c": "continue", "s": "step", "n": "next", "q": "quit", "b": "break", "w": "where"},
    **{"l": "list", "p": "print", "x": "memory", "h": "help"},
}


def _line(place: Place) -> tuple[str, int]:
    return place.file, place.line


def _type(arguments: list[str]) -> Any:
    name = arguments[0] if arguments else "ud"
    if name not in TYPES:
        raise _Mistake(f"no type {name!r}: {', '.join(TYPES)}")
    return TYPES[name]


def _stretch(arguments: list[str]) -> tuple[int, int, Any]:
    """An address or offset, how many values, their type."""
    if not 1 <= len(arguments) <= 3:
        raise _Mistake("where, how many (8), of which type (ud)")
    count = int(arguments[1], 0) if arguments[1:] else 8
    if not 0 < count <= 4096 or (start := int(arguments[0], 0)) < 0:
        raise _Mistake("1 to 4096 values, from 0 on")
    return start, count, _type(arguments[2:])


def _shown(data: bytes, type_: Any) -> str:
    """Values in rows of eight."""
    size = np.dtype(type_).itemsize
    values = np.frombuffer(data[: len(data) // size * size], type_)
    kind = np.dtype(type_).kind
    texts = [f"{v:#x}" if kind == "u" else str(v) for v in values]
    rows = [" ".join(texts[k : k + 8]) for k in range(0, len(texts), 8)]
    return "\n".join(f"  {row}" for row in rows) or "  nothing"


def of_user(read: Callable[[int, int], bytes | None]) -> Debugger:
    """One whose commands come from standard input."""
    if sys.stdin.isatty():
        import readline  # noqa: F401 (lines can be edited, and come again)
    return Debugger(read, sys.stdin, sys.stdout)
