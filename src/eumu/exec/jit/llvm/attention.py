"""How compiled code notices the world: Ctrl-C, an error of another worker, an answer from Python.

Every `SLICE` instructions a thread calls ``i64 @look.thread(ctx, count)``, which returns when it is
to call again, or the kind of fault that ends it; the driver looks between groups and now and then
between turns.  A worker must leave when another one has set the word that all workers of a launch
share, or when, in the worker of the process's main thread, a Python signal handler has raised
something.  Handlers are asked for after some `_TICKS` of the processor's clock.

Python is entered through its own stable C interface, not through a `ctypes` callback: a callback
that is interrupted before its first line loses the exception, which is kept here in the context.
"""

# ruff: noqa: E501  # lines of LLVM text

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.exec.jit.llvm.layout import Context, FaultKind, Python
from eumu.exec.jit.llvm.paranoid import TRUSTED
from eumu.exec.jit.llvm.words import get, put

SLICE: Final = 1 << 14  # instructions until a thread looks up, or gives way in a waiting loop
NO_LIMIT: Final = len(FaultKind)  # what is less is no count to go on to, but a kind of fault

# About 10 to 60 ms: x86 counts 1 to 5 per nanosecond, ARM's counter runs at 24 MHz to 1 GHz.
_TICKS: Final = {"x86": 1 << 26, "arm": 1 << 20}
_CLOCKS: Final = {
    "x86": "  %now = call i64 @llvm.readcyclecounter()\n",
    "arm": '  %now = call i64 asm sideeffect "mrs $0, cntvct_el0", "=r"()\n',
}
DECLARATION: Final = "declare i64 @llvm.readcyclecounter()"

_NAMES: Final = {
    Python.ENSURE: "PyGILState_Ensure",
    Python.RELEASE: "PyGILState_Release",
    Python.SIGNALS: "PyErr_CheckSignals",
    Python.FETCH: "PyErr_Fetch",
    Python.CALL: "PyObject_CallObject",
    Python.DROP: "Py_DecRef",
}


def _of_python(name: str, entry: Python) -> str:
    """Defines `%name` as a function of Python."""
    return f"""  %{name}.p = getelementptr ptr, ptr %python.ptr, i64 {int(entry)}
  %{name} = load ptr, ptr %{name}.p{TRUSTED}
"""


# Keeps the exception that is set, and lets all workers leave.
_FETCH = f"""{_of_python("fetch", Python.FETCH)}  %kind = getelementptr i64, ptr %ctx, i64 {int(Context.ERROR)}
  %value = getelementptr i64, ptr %kind, i64 1
  %trace = getelementptr i64, ptr %kind, i64 2
  call void %fetch(ptr %kind, ptr %value, ptr %trace)
{get("leave", Context.LEAVE)}  %leave.ptr = inttoptr i64 %leave to ptr
  store atomic i64 1, ptr %leave.ptr monotonic, align 8{TRUSTED}
"""
_ENTER = f"""{get("python", Context.PYTHON)}  %python.ptr = inttoptr i64 %python to ptr
{_of_python("ensure", Python.ENSURE)}  %gil = call i32 %ensure()
"""
_EXIT = f"""{_of_python("release", Python.RELEASE)}  call void %release(i32 %gil)
"""

_POLL = f"""
define internal i1 @poll(ptr %ctx) noinline cold {{
entry:
{_ENTER}{_of_python("signals", Python.SIGNALS)}  %said = call i32 %signals()
  %raised = icmp slt i32 %said, 0
  br i1 %raised, label %keep, label %out
keep:
{_FETCH}  br label %out
out:
{_EXIT}  ret i1 %raised
}}
"""

# i32 @ask(ctx, site, data): 0, or 1 if the thread must stop; see `messages`.
ASK: Final = f"""
define internal i32 @ask(ptr %ctx, i64 %site, ptr %data) noinline cold {{
entry:
{put("site", Context.ASKED_SITE, "%site")}  %data.i = ptrtoint ptr %data to i64
{put("data", Context.ASKED_DATA, "%data.i")}{put("failed", Context.ASKED_STATUS, "1")}{
    get("callable", Context.CALLABLE)
}  %callable.ptr = inttoptr i64 %callable to ptr
{_ENTER}{_of_python("call", Python.CALL)}  %result = call ptr %call(ptr %callable.ptr, ptr null)
  %none = icmp eq ptr %result, null
  br i1 %none, label %keep, label %drop
keep:
{_FETCH}  br label %out
drop:
{_of_python("decref", Python.DROP)}  call void %decref(ptr %result)
  br label %out
out:
{_EXIT}{get("status", Context.ASKED_STATUS)}  %answer = trunc i64 %status to i32
  ret i32 %answer
}}
"""

_LOOK = f"""
define internal i1 @look(ptr %ctx) noinline cold {{
entry:
{get("leave", Context.LEAVE)}  %leave.ptr = inttoptr i64 %leave to ptr
  %word = load atomic i64, ptr %leave.ptr monotonic, align 8{TRUSTED}
  %wanted = icmp ne i64 %word, 0
  br i1 %wanted, label %yes, label %mine
mine:
{get("polls", Context.POLLS)}  %no.signals = icmp eq i64 %polls, 0
  br i1 %no.signals, label %no, label %clock
clock:
@CLOCK@{get("polled", Context.POLLED)}  %first = icmp eq i64 %polled, 0
  br i1 %first, label %begin, label %compare
begin:
  store i64 %now, ptr %polled.p
  br label %no
compare:
  %since = sub i64 %now, %polled
  %due = icmp ugt i64 %since, @TICKS@
  br i1 %due, label %poll, label %no
poll:
  store i64 %now, ptr %polled.p
  %said = call i1 @poll(ptr %ctx)
  ret i1 %said
yes:
  ret i1 true
no:
  ret i1 false
}}

define internal preserve_allcc i64 @look.thread(ptr %ctx, i64 %count) noinline cold #1 {{
entry:
{get("fuel", Context.FUEL)}  %spent = icmp ugt i64 %count, %fuel
  br i1 %spent, label %over, label %look
over:
  ret i64 {int(FaultKind.FUEL)}
look:
  %said = call i1 @look(ptr %ctx)
  br i1 %said, label %leave, label %more
leave:
  ret i64 {int(FaultKind.STOPPED)}
more:
  %far = add i64 %count, {SLICE}
  %limit = call i64 @llvm.umin.i64(i64 %far, i64 %fuel)
  ret i64 %limit
}}

define internal i1 @attend(ptr %ctx) noinline cold {{
entry:
{get("sum", Context.INSTRUCTIONS)}  %next = add i64 %sum, {SLICE}
{put("next", Context.LOOK, "%next")}  %said = call i1 @look(ptr %ctx)
  br i1 %said, label %leave, label %stay
leave:
{put("why", Context.FAULT, str(int(FaultKind.STOPPED)))}  br label %stay
stay:
  ret i1 %said
}}
"""


def look(is_arm: bool) -> str:
    """The functions, for one kind of processor."""
    kind = "arm" if is_arm else "x86"
    text = _LOOK.replace("@CLOCK@", _CLOCKS[kind]).replace("@TICKS@", str(_TICKS[kind]))
    return _POLL + text


def look_between(name: str, go_on: str) -> str:
    """Driver text that ends a block: leave by `%fault` if that is wanted, or go on to a label."""
    return f"""  %{name}.leave = call i1 @attend(ptr %ctx)
  br i1 %{name}.leave, label %fault, label %{go_on}
"""


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
    return threading.get_ident() == threading.main_thread().ident


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
