"""The fast engine: IR to machine code through LLVM, groups on every core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eumu.exec.jit.host.engine import Jit

__all__ = ["Jit"]


def __getattr__(name: str) -> Any:
    """The engine, imported when it is asked for: a process that compiles does without."""
    if name != "Jit":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from eumu.exec.jit.host.engine import Jit

    return Jit
