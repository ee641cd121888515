"""Calls a function in processes of its own, so that one that dies is a result like any other."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import TypeVar

T = TypeVar("T")
_CONTEXT = multiprocessing.get_context("fork")


def each(
    function: Callable[[T], str], arguments: Iterable[T], jobs: int
) -> Iterator[tuple[T, str]]:
    """What the function says of each argument, as they come; or how its process died."""
    waiting = iter(arguments)
    running: dict[Connection, tuple[T, ForkProcess]] = {}
    while True:
        for argument in waiting:
            receiver, sender = _CONTEXT.Pipe(duplex=False)
            process = _CONTEXT.Process(target=_answer, args=(function, argument, sender))
            process.start()
            sender.close()
            running[receiver] = argument, process
            if len(running) == jobs:
                break
        if not running:
            return
        for ready in wait(list(running)):
            assert isinstance(ready, Connection)
            argument, process = running.pop(ready)
            try:
                answer = ready.recv()
            except EOFError:
                process.join()
                answer = f"died: exit status {process.exitcode}"
            process.join()
            yield argument, answer


def call(function: Callable[[T], str], argument: T) -> str:
    """The same for one argument."""
    ((_, answer),) = each(function, [argument], 1)
    return answer


def _answer(function: Callable[[T], str], argument: T, sender: Connection) -> None:
    sender.send(function(argument))
