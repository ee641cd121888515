"""How lanes go on from the end of a block: what calls and named barriers ask of `blocks`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.llvm.emit import Emitter
from eumu.ir import Value


class Ways(Protocol):
    """`word` is the type of a mask; lanes and masks are names of LLVM values."""

    k: KernelLowering
    e: Emitter
    word: str

    def park(self, block: int) -> str: ...
    def go(self, block: int, target: int, parked: frozenset[int]) -> None: ...
    def wait(self, target: int, lanes: str | None = None) -> None: ...
    def dispatch(self, blocks: Iterable[int], *, empty: str | None = None) -> None: ...
    def spend(self, block: int, target: int, parked: frozenset[int] = frozenset()) -> None: ...
    def lanes(self, bits: str | None = None) -> str: ...
    def chosen(self, value: Value, offset: int) -> tuple[str, str]: ...
    def increment(self, word: int) -> None: ...
