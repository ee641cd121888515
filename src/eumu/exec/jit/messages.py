"""The operation `message`: compiled code calls back into the host.

``i32 answer(worker, group, thread, site, data)`` finds at `data` a byte for each lane of the mask,
then the arguments' lanes, and leaves the results' behind them, every array from a multiple of 8
bytes on.  It returns 0, or 1 when the thread must stop.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Unsupported
from eumu.exec.grid import Grid
from eumu.exec.host import Answer, Host, Places, Refusal, Shortcut, fitting
from eumu.exec.jit.emit import int_type, lane_type, vector_of
from eumu.exec.jit.kernel import LOWERINGS, Kernel, Site
from eumu.exec.jit.layout import Context, FaultKind
from eumu.exec.state import instruction_span
from eumu.ir import Op, Value

MESSAGE: Final = "message"  # what a site of this operation says

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_uint64] * 4, ctypes.c_void_p)


def places(op: Op) -> tuple[list[int], int]:
    """Where the arrays of a message start, and the bytes of all."""
    starts, end = [], 0
    for value in (*op.args, *op.results):
        starts.append(end)
        end += -(-_size(value) // 8) * 8
    return starts, end


def _size(value: Value) -> int:
    return value.width * (1 if value.is_mask else value.type.size)


def _message(k: Kernel, op: Op) -> None:
    e, site = k.e, k.site(op.inst, MESSAGE)
    starts, end = places(op)
    data = k.scratchpad(MESSAGE, f"[{max(1, end // 8)} x i64]")
    where = [e.op(f"getelementptr i8, ptr {data}, i64 {start}") for start in starts]
    for value, place in zip(op.args, where, strict=False):
        x, kind = k.vector(value), lane_type(value.type, value.width)
        if value.is_mask:
            octets = vector_of("i8", value.width)
            x, kind = e.op(f"zext {kind} {x} to {octets}"), octets
        e.do(f"store {kind} {x}, ptr {place}, align 1")
    table = e.op(f"inttoptr i64 {k.context_load(Context.ANSWER)} to ptr")
    bad, on, ask = e.name("refused"), e.name("answered"), e.name("ask")
    _take_shortcut(k, table, site, data, on, ask)
    e.label(ask)
    answer = e.op(f"load ptr, ptr {table}, align 8")
    words = [k.context_load(w) for w in (Context.WORKER, Context.GROUP, Context.THREAD)]
    given = ", ".join(f"i64 {word}" for word in (*words, str(site)))
    wrong = e.op(f"icmp ne i32 {e.op(f'call i32 {answer}({given}, ptr {data})')}, 0")
    e.do(f"br i1 {wrong}, label %{bad}, label %{on}, !prof !0")
    e.label(bad)
    k.fault(FaultKind.MESSAGE, site)
    e.label(on)
    for value, place in zip(op.results, where[len(op.args) :], strict=True):
        kind = int_type(value.type, value.width)
        bits = e.op(f"load {kind}, ptr {place}, align 1")
        k.plain(value, e.bitcast(bits, kind, lane_type(value.type, value.width)))


def _take_shortcut(k: Kernel, table: str, site: int, data: str, on: str, ask: str) -> None:
    """Go on to `on` if the site has a shortcut and it answers, else to `ask`."""
    e = k.e
    entry = e.op(f"getelementptr [2 x ptr], ptr {table}, i64 {site + 1}")
    found = e.op(f"load atomic ptr, ptr {entry} acquire, align 8")
    short = e.name("shortcut")
    e.do(f"br i1 {e.op(f'icmp eq ptr {found}, null')}, label %{ask}, label %{short}")
    e.label(short)
    beside = e.op(f"getelementptr ptr, ptr {entry}, i64 1")
    context = e.op(f"load ptr, ptr {beside}, align 8")
    asked = e.op(f"icmp ne i32 {e.op(f'call i32 {found}(ptr {context}, ptr {data})')}, 0")
    e.do(f"br i1 {asked}, label %{ask}, label %{on}")


LOWERINGS["message"] = _message


class Messenger:
    """Takes the messages of one launch to the host, one at a time.

    What the host raises is kept for each worker, as it must not pass through compiled code.
    """

    def __init__(self, grid: Grid, host: Host, sites: Mapping[int, Site]) -> None:
        """Raises `Unsupported` if the host answers no messages."""
        self._grid = grid
        self._ops = {n: grid.function.blocks[s.block].ops[s.op] for n, s in sites.items()}
        answer: Answer | None = getattr(host, "message", None)
        if answer is None:
            op = next(iter(self._ops.values()))
            name = type(op.attrs["record"]).__name__
            raise Unsupported(f"{name} messages", span=instruction_span(grid.function, op.inst))
        self._answer = answer
        self._lock = Lock()
        self._errors: dict[int, BaseException] = {}
        self._callback: Any = _CALLBACK(self._call)
        self._shortcut = getattr(host, "shortcut", None)
        self._tried: set[int] = set()
        self._kept: list[object] = []
        # The host's function, then for each site a shortcut and its context, 0 where there is none.
        self._table = np.zeros((max(sites) + 2, 2), np.uint64)
        self._table[0, 0] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    @property
    def address(self) -> int:
        """The table that compiled code calls through; valid while the messenger lives."""
        return int(self._table.ctypes.data)

    def _call(self, worker: int, group: int, thread: int, site: int, data: int) -> int:
        try:
            with self._lock:
                thread += group * self._grid.threads_per_group
                self._exchange(self._ops[site], site, thread, data)
        except BaseException as error:
            self._errors[worker] = error
            return 1
        return 0

    def refusal(self, worker: int) -> Refusal:
        """What the host said to a worker's last message; raises an error of another kind."""
        error = self._errors[worker]
        if isinstance(error, Refusal):
            return error
        if isinstance(error, Unsupported):
            error.is_late = True
        raise error

    def _exchange(self, op: Op, site: int, thread: int, data: int) -> None:
        starts, end = places(op)
        memory = np.ctypeslib.as_array((ctypes.c_uint8 * max(1, end)).from_address(data))
        # Copies, as the host may keep them.
        mask, *arguments = (
            _array(memory, start, value).copy()
            for value, start in zip(op.args, starts, strict=False)
        )
        given = self._answer(op.attrs["record"], np.array([thread]), mask, arguments)
        targets = zip(op.results, starts[len(op.args) :], strict=True)
        for (value, start), x in zip(targets, fitting(op, given), strict=True):
            _array(memory, start, value)[...] = x
        if self._shortcut is not None and site not in self._tried:
            self._tried.add(site)
            self._learn(site, op, arguments)

    def _learn(self, site: int, op: Op, arguments: list[NDArray[Any]]) -> None:
        """Ask the host for a shortcut; the function is set last, as others may call it at once."""
        starts, _ = places(op)
        count = len(op.args)
        assert self._shortcut is not None
        found: Shortcut | None = self._shortcut(
            op.attrs["record"], arguments, Places(tuple(starts[:count]), tuple(starts[count:]))
        )
        if found is not None:
            self._kept.append(found)
            self._table[site + 1, 1] = found.context
            self._table[site + 1, 0] = found.function


def _array(memory: NDArray[np.uint8], start: int, value: Value) -> NDArray[Any]:
    """One array of a message, [1, lanes]."""
    kind = np.dtype(bool) if value.is_mask else value.type.dtype
    return memory[start : start + _size(value)].view(kind)[None, :]
