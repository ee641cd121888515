"""Calls a function in processes of its own, so that one that dies is a result like any other.

So is one that does not end: LLVM can loop for ever on a program, inside one call.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import TypeVar

T = TypeVar("T")
DIED = "died"
_CONTEXT = multiprocessing.get_context("fork")
_PATIENCE = 20  # a process waits for others at most so many times its limit


def each(
    function: Callable[[T], str], arguments: Iterable[T], jobs: int, limit: float = 600.0
) -> Iterator[tuple[T, str]]:
    """What the function says of each argument, as they come; or how its process died.

    A process that has used the processor for `limit` seconds is killed: a time on the clock would
    blame it for what else the machine does.
    """
    waiting = iter(arguments)
    running: dict[Connection, tuple[T, ForkProcess, float]] = {}
    while True:
        for argument in waiting:
            receiver, sender = _CONTEXT.Pipe(duplex=False)
            process = _CONTEXT.Process(target=_answer, args=(function, argument, sender, limit))
            process.start()
            sender.close()
            running[receiver] = argument, process, time.monotonic() + _PATIENCE * limit
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
                answer = _death(process.exitcode, limit)
            process.join()
            yield argument, answer
        now = time.monotonic()
        for late in [r for r, (_, _, end) in running.items() if end <= now]:
            argument, process, _ = running.pop(late)
            process.kill()
            process.join()
            late.close()
            yield argument, f"no end after {_PATIENCE * limit:g} s, most of them without work"


def call(function: Callable[[T], str], argument: T, limit: float = 600.0) -> str:
    """The same for one argument."""
    ((_, answer),) = each(function, [argument], 1, limit)
    return answer


def _death(status: int | None, limit: float) -> str:
    if status == -signal.SIGXCPU:
        return f"no end after {limit:g} s"
    return f"{DIED}: exit status {status}"


def _answer(function: Callable[[T], str], argument: T, sender: Connection, limit: float) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime + limit) + 1
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    if most != resource.RLIM_INFINITY:  # a process of such a process has no more than that
        seconds = min(seconds, most - 5)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    sender.send(function(argument))
