"""The operations `message` and `send`, at run time: the host answers, or the interpreter does what
the descriptors of a `send` ask for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import partial
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Fault, Unsupported
from eumu.exec.gate import Admitted
from eumu.exec.host import Answer, InlineCache, Places, Refusal, fitting
from eumu.exec.jit.host.composed import Composed
from eumu.exec.jit.interface import FaultSite
from eumu.exec.jit.llvm.layout import Context, message_places, value_size
from eumu.exec.state import instruction_span
from eumu.ir import Op, Value
from eumu.ir.operations.messages import Message, Send

_INLINE_CACHE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_ANSWERED, _UNKNOWN = 0, 1  # what an inline cache returns
_MOST_INLINE_CACHES: Final = 64  # of a site; then the host answers


class Messenger:
    """Takes the messages of one launch to the host, one at a time.

    What the host raises is kept for each worker, as it must not pass through compiled code.
    """

    def __init__(self, admitted: Admitted, sites: Mapping[int, FaultSite]) -> None:
        """Raises `Unsupported` if the host answers no messages."""
        grid, host = admitted.grid, admitted.host
        self._grid = grid
        self._ops = {n: grid.function.blocks[s.block].ops[s.op] for n, s in sites.items()}
        answer: Answer | None = getattr(host, "message", None)
        for op in self._ops.values() if answer is None else ():
            if isinstance(op, Message):
                name = type(op.record).__name__
                span = instruction_span(grid.function, op.inst)
                raise Unsupported(f"{name} messages", span=span)
        self._composed = Composed(admitted)
        self._answer = answer
        self._lock = Lock()
        self._errors: dict[int, Refusal | Fault | Unsupported] = {}
        self._inline_cache = getattr(host, "inline_cache", None)
        self._kept: dict[int, list[InlineCache]] = {}
        # For each site the first record of its inline caches, or 0.
        self._table = np.zeros(max(sites) + 1, np.uint64)
        self._callables: dict[int, Any] = {}  # of each worker

    @property
    def address(self) -> int:
        """The table of inline caches; valid while the messenger lives."""
        return int(self._table.ctypes.data)

    def _call(self, worker: int, context: NDArray[np.uint64]) -> None:
        """Answer what the context of a worker asks, and say there that it is answered."""
        try:
            group, thread = int(context[Context.GROUP]), int(context[Context.THREAD])
            site, data = int(context[Context.ASKED_SITE]), int(context[Context.ASKED_DATA])
            with self._lock:
                op = self._ops[site]
                if isinstance(op, Send):
                    self._send(op, site, worker, group, thread, data)
                elif isinstance(op, Message):
                    self._exchange(op, site, group, thread, data)
        except (Refusal, Fault, Unsupported) as error:
            self._errors[worker] = error
            return
        context[Context.ASKED_STATUS] = 0

    def refusal(self, worker: int) -> Refusal | Fault:
        """What was said to a worker's last message; raises `Unsupported`."""
        error = self._errors[worker]
        if isinstance(error, Unsupported):
            error.is_late = True
            raise error
        return error

    def prepare(
        self,
        worker: int,
        context: NDArray[np.uint64],
        slm: NDArray[np.uint8],
        scratch: NDArray[np.uint8],
    ) -> int:
        """Say which memory a worker has, before it runs; the address of what it calls."""
        self._composed.prepare(worker, slm, scratch)
        self._callables[worker] = partial(self._call, worker, context)
        return id(self._callables[worker])

    def _send(self, op: Send, site: int, worker: int, group: int, thread: int, data: int) -> None:
        arguments, results = _arrays(op, data)
        answer = self._composed.answer(op, (worker, site), group, thread, arguments)
        for x in results:
            x[...] = answer

    def _exchange(self, op: Message, site: int, group: int, thread: int, data: int) -> None:
        if self._inline_cache is not None and self._by_inline_cache(op, site, data):
            return
        (mask, *arguments), results = _arrays(op, data)
        assert self._answer is not None
        number = np.array([thread + group * self._grid.threads_per_group])
        answers = self._answer(op.record, number, mask, arguments)
        for result, x in zip(results, fitting(op, answers), strict=True):
            result[...] = x

    def _by_inline_cache(self, op: Message, site: int, data: int) -> bool:
        """Whether compiled code answers: what is known by now, as another thread may have found
        it in the meantime, or what the host makes for this request.
        """
        first = int(self._table[site])
        result = _run(first, data) if first else _UNKNOWN
        kept = self._kept.setdefault(site, [])
        if result != _UNKNOWN or len(kept) >= _MOST_INLINE_CACHES:
            return result == _ANSWERED
        starts, _ = message_places(op)
        count = len(op.args)
        (_, *arguments), _ = _arrays(op, data)
        assert self._inline_cache is not None
        cache: InlineCache | None = self._inline_cache(
            op.record, arguments, Places(tuple(starts[:count]), tuple(starts[count:]))
        )
        if cache is None:
            return False
        kept.append(cache)
        ctypes.c_uint64.from_address(cache.record + 8).value = first
        self._table[site] = cache.record  # last, as others may call it at once
        return _run(cache.record, data) == _ANSWERED


def _run(record: int, data: int) -> int:
    """Call an inline cache."""
    function = ctypes.c_uint64.from_address(record).value
    return int(_INLINE_CACHE(function)(record, data))


def _arrays(op: Op, data: int) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """The arguments, as copies because they may be kept, and the places of the results."""
    starts, end = message_places(op)
    memory = np.ctypeslib.as_array((ctypes.c_uint8 * max(1, end)).from_address(data))
    values = zip((*op.args, *op.results), starts, strict=True)
    arrays = [_array(memory, start, value) for value, start in values]
    return [x.copy() for x in arrays[: len(op.args)]], arrays[len(op.args) :]


def _array(memory: NDArray[np.uint8], start: int, value: Value) -> NDArray[Any]:
    """One array of a message, [1, lanes]."""
    kind = np.dtype(bool) if value.is_mask else value.type.dtype
    return memory[start : start + value_size(value)].view(kind)[None, :]
