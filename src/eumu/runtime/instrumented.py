"""Builds of sources that look for mistakes: what the compiler's code no longer shows of a source.

A device with check="copies" gets programs whose async copies and waits are eumu's own, which say
who calls them with what; see `checked_copies.cl` and `eumu.runtime.calls`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from eumu.errors import BuildError, Diagnostic, Severity
from eumu.exec.checks import COPIES, Checks
from eumu.platforms import Platform
from eumu.zebin import ocloc

_COPIES: Final = Path(__file__).with_name("checked_copies.cl")
# Sources that may copy; what is included is not looked at.
_MAY_COPY: Final = re.compile(rb"async_work_group|wait_group_events|^[ \t]*#[ \t]*include", re.M)


@cache
def _preamble() -> str:
    return _COPIES.read_text("utf-8")


def compile(
    source: str | bytes,
    target: Platform,
    options: str,
    wanted: Checks,
    *,
    name: str,
    directory: Path | None,
) -> ocloc.Built:
    """A build with tables of lines, and with what is wanted as far as the source can have it.

    A source that is only refused with it is built without, with a warning.
    """

    def built(preamble: str) -> ocloc.Built:
        return ocloc.compile(
            *(source, target, options),
            name=name,
            directory=directory,
            lines=True,
            preamble=preamble,
        )

    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    if COPIES not in wanted or not _MAY_COPY.search(data):
        return built("")
    try:
        return built(_preamble())
    except BuildError as error:
        plain = built("")  # or what is wrong with it as it is
        reason = f"{name} is not checked for mistakes with async copies: {_first(error)}"
        told = Diagnostic("copies-unchecked", reason, None, Severity.WARNING)
        return replace(plain, warnings=(*plain.warnings, told))


def _first(error: BuildError) -> str:
    """What the compiler says first."""
    return error.diagnostics[0].message if error.diagnostics else str(error).partition("\n")[0]
