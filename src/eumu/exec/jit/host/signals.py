"""Python's own functions, which compiled code calls through its stable C interface.

They run signal handlers and answer messages; an exception that they end with is kept in the
worker's context (:mod:`~eumu.exec.jit.llvm.attention`) until the worker has come back.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache
from threading import get_ident
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.exec.jit.llvm.layout import Context, Python

_NAMES: Final = {
    Python.ENSURE: "PyGILState_Ensure",
    Python.RELEASE: "PyGILState_Release",
    Python.SIGNALS: "PyErr_CheckSignals",
    Python.FETCH: "PyErr_Fetch",
    Python.CALL: "PyObject_CallObject",
    Python.DROP: "Py_DecRef",
    Python.SLEEP: "usleep",  # of the C library, which is in the process, too
}


@cache
def python() -> NDArray[np.uint64]:
    """The addresses of Python's functions, by :class:`~eumu.exec.jit.llvm.layout.Python`."""
    table = np.zeros(len(_NAMES), np.uint64)
    for entry, name in _NAMES.items():
        function = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
        table[entry] = function.value or 0
    return table


@cache
def python_address() -> int:
    """Where they lie."""
    place: int = python().__array_interface__["data"][0]
    return place


def is_main_thread() -> bool:
    """Whether Python's signal handlers run in this thread."""
    return get_ident() == MAIN[0]


MAIN: Final = [threading.main_thread().ident]  # the thread whose they are


def _forked() -> None:
    MAIN[0] = threading.main_thread().ident


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


_RESTORE: Any = ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 3)(("PyErr_Restore", ctypes.pythonapi))


def error_of(context: NDArray[np.uint64]) -> BaseException | None:
    """Take the exception that Python ended with in a worker, if it did."""
    if not context[Context.ERROR]:
        return None
    kind, value, trace = (int(w) for w in context[Context.ERROR : Context.ERROR + 3])
    context[Context.ERROR : Context.ERROR + 3] = 0
    try:
        _RESTORE(kind, value or None, trace or None)  # takes the references, and so raises it
    except BaseException as error:
        return error
    return None
