"""Lets out what a launch left in its printf buffer: text, and what it says of the program."""

from __future__ import annotations

from collections.abc import Sequence

from eumu.errors import Finding
from eumu.exec.checks import COPIES, INDICES, PRINTF
from eumu.exec.grid import Grid
from eumu.runtime import calls, printf
from eumu.runtime.array import Array
from eumu.runtime.device import Device
from eumu.zebin.indices import Site


def let_out(
    device: Device,
    kernel: str,
    printed: Array | None,
    grids: Sequence[Grid],
    sites: Sequence[Site],
    *,
    ended: bool,
) -> tuple[str, tuple[Finding, ...]]:
    """The text, which the sink has got, and findings; `ended` says that there was no fault.

    `sites` are the indices that a program looks at.
    """
    if printed is None:
        return "", ()
    buffer, strings = printed.memory.tobytes(), device.memory.string
    text = printf.decode(buffer, strings)
    device.memory.printed(text)
    findings: list[Finding] = []
    if device.check & {COPIES, INDICES}:
        made = printf.calls(buffer, strings)
        findings += calls.findings(made, grids, sites, ended=ended and not printf.is_full(buffer))
    if PRINTF in device.check and ended:
        findings += printf.overflow(kernel, buffer)
    return text, tuple(findings)
