"""How compiled code notices the world: Ctrl-C, an error of another worker, an answer from Python.

Every `SLICE` instructions a thread calls ``i64 @look.thread(ctx, count)``, which returns when it is
to call again, or the kind of fault that ends it; the driver looks between groups and now and then
between turns.  A worker must leave when another one has set the word that all workers of a launch
share, or when, in the worker of the process's main thread, a Python signal handler has raised
something.  Handlers are asked for after some `_TICKS` of the processor's clock.

Python is entered through its own stable C interface, not through a `ctypes` callback: a callback
that is interrupted before its first line loses the exception, which is kept here in the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from eumu.exec.jit.llvm.functions import FunctionBuilder
from eumu.exec.jit.llvm.layout import SLICE, Context, FaultKind, Python
from eumu.exec.jit.llvm.paranoid import TRUSTED
from eumu.exec.jit.llvm.vectors import Vector

# About 10 to 60 ms: x86 counts 1 to 5 per nanosecond, ARM's counter runs at 24 MHz to 1 GHz.
_TICKS: Final = {"x86": 1 << 26, "arm": 1 << 20}
_LEAST_SLICE: Final = {"x86": SLICE, "arm": SLICE >> 7}  # ticks: in fewer nothing was looked at
_PAUSE: Final = 100  # us
_CLOCKS: Final = {
    "x86": "call i64 @llvm.readcyclecounter()",
    "arm": 'call i64 asm sideeffect "mrs $0, cntvct_el0", "=r"()',
}
# A function that its callers lose no register to, and how it is called.  On x86 the attribute
# counts, as the convention keeps less.  Without the convention, LLVM's quick code generator loses
# what the function returns.
KEEPS: Final = 'noinline cold "no_caller_saved_registers" #1'
KEEPING: Final = "preserve_allcc"
DECLARATION: Final = "declare i64 @llvm.readcyclecounter()"


def _of_python(f: FunctionBuilder, entry: Python) -> str:
    """A function of Python."""
    table = f.pointer(f.context(Context.PYTHON).get())
    return f.op(f"load ptr, ptr {f.elements(64, table, entry)}{TRUSTED}")


@contextmanager
def _in_python(f: FunctionBuilder) -> Iterator[None]:
    """What is done while the worker has Python's lock."""
    lock = f.op(f"call i32 {_of_python(f, Python.ENSURE)}()")
    yield
    f.do(f"call void {_of_python(f, Python.RELEASE)}(i32 {lock})")


def _keep_error(f: FunctionBuilder) -> None:
    """Keep the exception that is set, and let all workers leave."""
    words = (f.elements(64, "%ctx", Context.ERROR + k) for k in range(3))
    parameters = ", ".join(f"ptr {word}" for word in words)
    f.do(f"call void {_of_python(f, Python.FETCH)}({parameters})")
    leave = f.pointer(f.context(Context.LEAVE).get())
    f.do(f"store atomic i64 1, ptr {leave} monotonic, align 8{TRUSTED}")


def _poll() -> str:
    """Run Python's signal handlers; whether one of them raised something."""
    f = FunctionBuilder("internal i1 @poll(ptr %ctx) noinline cold")
    with _in_python(f):
        said = f.op(f"call i32 {_of_python(f, Python.SIGNALS)}()")
        raised = f.flag(f"icmp slt i32 {said}, 0")
        with f.when(raised):
            _keep_error(f)
    f.do(f"ret {raised.typed}")
    return f.text()


def _ask() -> str:
    """``i32 @ask(ctx, site, data)``: 0, or 1 if the thread must stop; see `messages`."""
    f = FunctionBuilder("internal i32 @ask(ptr %ctx, i64 %site, ptr %data) noinline cold")
    f.context(Context.ASKED_SITE).set(f.number("%site"))
    f.context(Context.ASKED_DATA).set(f.number(f.op("ptrtoint ptr %data to i64")))
    status = f.context(Context.ASKED_STATUS)
    status.set(1)
    callable_ = f.pointer(f.context(Context.CALLABLE).get())
    with _in_python(f):
        result = f.op(f"call ptr {_of_python(f, Python.CALL)}(ptr {callable_}, ptr null)")
        none, some = f.either(f.flag(f"icmp eq ptr {result}, null"))
        with none:
            _keep_error(f)
        with some:
            f.do(f"call void {_of_python(f, Python.DROP)}(ptr {result})")
    f.do(f"ret i32 {f.op(f'trunc {status.get().typed} to i32')}")
    return f.text()


def _look(kind: str) -> str:
    """Whether a worker must leave."""
    f = FunctionBuilder("internal i1 @look(ptr %ctx) noinline cold")
    leave = f.pointer(f.context(Context.LEAVE).get())
    word = f.number(f.op(f"load atomic i64, ptr {leave} monotonic, align 8{TRUSTED}"))
    with f.when(f.differ(word, 0)):
        f.give("i1 true")
    with f.when(f.equal(f.context(Context.POLLS).get(), 0)):
        f.give("i1 false")
    now, polled = f.number(f.op(_CLOCKS[kind])), f.context(Context.POLLED)
    before = polled.get()
    with f.when(f.equal(before, 0)):
        polled.set(now)
        f.give("i1 false")
    with f.when(now - before > _TICKS[kind]):
        polled.set(now)
        f.give(looked(f, "poll").typed)
    f.do("ret i1 false")
    return f.text()


def _look_thread() -> str:
    f = FunctionBuilder(f"internal {KEEPING} i64 @look.thread(ptr %ctx, i64 %count) {KEEPS}")
    fuel, count = f.context(Context.FUEL).get(), f.number("%count")
    with f.when(count > fuel):
        f.give(f"i64 {int(FaultKind.FUEL)}")
    with f.when(looked(f, "look")):
        f.give(f"i64 {int(FaultKind.STOPPED)}")
    f.do(f"ret {f.least(count + SLICE, fuel).typed}")
    return f.text()


def _attend() -> str:
    """What the driver calls: whether the worker must leave, which is a fault then."""
    f = FunctionBuilder("internal i1 @attend(ptr %ctx) noinline cold")
    f.context(Context.LOOK).set(f.context(Context.INSTRUCTIONS).get() + SLICE)
    leaves = looked(f, "look")
    with f.when(leaves):
        f.context(Context.FAULT).set(FaultKind.STOPPED)
    f.do(f"ret {leaves.typed}")
    return f.text()


def _pause(kind: str) -> str:
    """``i64 @pause(ctx, since, threads)``: what the clock says, all threads having had a slice in
    vain since then, or since is 0.  If that took no time, LLVM has made one load of all that a loop
    has to wait for; then a pause, so that the budget of instructions is not used up at once.
    """
    f = FunctionBuilder("internal i64 @pause(ptr %ctx, i64 %since, i64 %threads) noinline cold")
    since, now = f.number("%since"), f.number(f.op(_CLOCKS[kind]))
    is_short = now - since < f.number("%threads") * _LEAST_SLICE[kind]
    with f.when(is_short & f.differ(since, 0)):
        f.op(f"call i32 {_of_python(f, Python.SLEEP)}(i32 {_PAUSE})")
        f.give(f.number(f.op(_CLOCKS[kind])).typed)
    f.do(f"ret {now.typed}")
    return f.text()


def paused(f: FunctionBuilder, since: Vector, threads: Vector) -> Vector:
    """What the clock says after a pause, if there was any need of one."""
    return f.number(f.op(f"call i64 @pause(ptr %ctx, {since.typed}, {threads.typed})"))


def looked(f: FunctionBuilder, name: str = "attend") -> Vector:
    """Whether the worker must leave, as one of the functions here says."""
    return f.flag(f"call i1 @{name}(ptr %ctx)")


ASK: Final = _ask()
_FUNCTIONS: Final = {
    kind: "".join((_poll(), _look(kind), _look_thread(), _attend(), _pause(kind)))
    for kind in _CLOCKS
}


def look(is_arm: bool) -> str:
    """The functions, for one kind of processor."""
    return _FUNCTIONS["arm" if is_arm else "x86"]
