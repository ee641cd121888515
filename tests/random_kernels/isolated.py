"""Calls a function in processes of its own, so that one that dies is a result like any other.

So is one that does not end: LLVM can loop for ever on a program, inside one call.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import TypeVar

T = TypeVar("T")
_CONTEXT = multiprocessing.get_context("fork")


def each(
    function: Callable[[T], str], arguments: Iterable[T], jobs: int, limit: float = 600.0
) -> Iterator[tuple[T, str]]:
    """What the function says of each argument, as they come; or how its process died.

    A process that has not ended `limit` seconds after its start is killed.
    """
    waiting = iter(arguments)
    running: dict[Connection, tuple[T, ForkProcess, float]] = {}
    while True:
        for argument in waiting:
            receiver, sender = _CONTEXT.Pipe(duplex=False)
            process = _CONTEXT.Process(target=_answer, args=(function, argument, sender))
            process.start()
            sender.close()
            running[receiver] = argument, process, time.monotonic() + limit
            if len(running) == jobs:
                break
        if not running:
            return
        first = min(end for _, _, end in running.values())
        for ready in wait(list(running), max(0.0, first - time.monotonic())):
            assert isinstance(ready, Connection)
            argument, process, _ = running.pop(ready)
            try:
                answer = ready.recv()
            except EOFError:
                process.join()
                answer = f"died: exit status {process.exitcode}"
            process.join()
            yield argument, answer
        now = time.monotonic()
        for late in [r for r, (_, _, end) in running.items() if end <= now]:
            argument, process, _ = running.pop(late)
            process.kill()
            process.join()
            late.close()
            yield argument, f"no end after {limit:g} s"


def call(function: Callable[[T], str], argument: T, limit: float = 600.0) -> str:
    """The same for one argument."""
    ((_, answer),) = each(function, [argument], 1, limit)
    return answer


def _answer(function: Callable[[T], str], argument: T, sender: Connection) -> None:
    sender.send(function(argument))
