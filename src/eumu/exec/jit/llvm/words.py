"""LLVM text that reads and writes words of a worker's context, or of a thread's record ``%r``."""

from __future__ import annotations


def get(name: str, place: int, base: str = "%ctx") -> str:
    """Defines `%name` as word `place` of what `base` points to, and `%name.p` as its address."""
    return (
        f"  %{name}.p = getelementptr i64, ptr {base}, i64 {int(place)}\n"
        f"  %{name} = load i64, ptr %{name}.p\n"
    )


def put(name: str, place: int, value: str, base: str = "%ctx") -> str:
    """Stores word `place` of what `base` points to; its address becomes `%name.q`."""
    return (
        f"  %{name}.q = getelementptr i64, ptr {base}, i64 {int(place)}\n"
        f"  store i64 {value}, ptr %{name}.q\n"
    )
