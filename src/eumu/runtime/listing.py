"""What eumu makes of a kernel, for people who look at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eumu.errors import LaunchError, ToolMissing
from eumu.exec.blame import source_place
from eumu.exec.forms import FORMS
from eumu.exec.grid import Grid
from eumu.ir import Function
from eumu.ir.text import format_function

if TYPE_CHECKING:
    from eumu.runtime.device import Device


class Heads:
    """What stands above the lines of an instruction: itself, and its line where that is another."""

    def __init__(self, function: Function) -> None:
        self._function, self._line = function, ""

    def __call__(self, inst: int) -> Sequence[str]:
        texts = self._function.texts
        if not 0 <= inst < len(texts):
            return []
        place = source_place(self._function, inst)
        line = "" if place is None else f"{place.file}:{place.line}: {place.text.strip()}".rstrip()
        heads = [f"{inst}: {texts[inst]}"]
        if line and line != self._line:
            heads.insert(0, line)
        self._line = line or self._line
        return heads


def listing(device: Device, grid: Grid, form: str) -> str:
    """The IR of a grid's function, the LLVM text of it, or the processor's instructions."""
    if form not in FORMS:
        raise LaunchError(f"a listing {form!r}; there are {', '.join(FORMS)}")
    heads = Heads(grid.function)
    if form == "ir":
        return format_function(grid.function, heads)
    try:
        from eumu.exec.jit import Jit
    except (ImportError, OSError) as error:
        raise ToolMissing(f"a listing {form!r} needs llvmlite ({error})") from error
    return Jit().listing(grid, heads, is_assembly=form == "asm")
