"""The engines that there are, and what kernels ask of them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from eumu.errors import Unsupported
from eumu.exec.host import Engine
from eumu.ir import Function

ENGINES: Final = ("jit", "interp")

# Instructions that one thread may run: seconds of the JIT, minutes of the interpreter.
DEFAULT_FUEL: Final = {"jit": 1 << 28, "interp": 1 << 22}
# The same behind a driver, where a program cannot say it: ten seconds or so, as a GPU allows.
DRIVER_FUEL: Final = {"jit": 1 << 32, "interp": 1 << 22}


def sends(function: Function) -> bool:
    """Whether a function sends messages to shared functions."""
    return any(o.name in ("message", "send") for b in function.blocks for o in b.ops)


def has_jit() -> bool:
    return find_spec("llvmlite") is not None


def make(name: str, *, sooner: bool = False) -> Engine:
    """An engine; `sooner`, with the interpreter for small first launches.

    Engines are imported when the first kernel runs: LLVM takes a while to load.
    """
    if name == "jit":
        try:
            from eumu.exec.jit import Jit
            from eumu.exec.tiered import interpreted_once
        except (ImportError, OSError) as error:
            raise Unsupported(f"the fast engine cannot be loaded here ({error})") from error
        return interpreted_once() if sooner else Jit()
    from eumu.exec.interp import Interpreter

    return Interpreter()
