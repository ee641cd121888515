"""Builds of sources that look for mistakes: what the compiler's code no longer shows of a source.

A device with check="copies" gets programs whose async copies and waits are eumu's own, which say
who calls them with what (`checked_copies.cl`); with check="indices" the SPIR-V that a program is
made of says which index is outside of its array (`checked_indices.cl`, `eumu.zebin.indices`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Final

from eumu.errors import BuildError, Diagnostic, Severity
from eumu.exec.checks import COPIES, INDICES, Checks
from eumu.platforms import Platform
from eumu.zebin import container, indices, ocloc

Sites = tuple[indices.Site, ...]
_TEXTS: Final = {COPIES: "checked_copies.cl", INDICES: "checked_indices.cl"}
# Sources that may copy, or have arrays; what is included is not looked at.
_INCLUDE: Final = rb"^[ \t]*#[ \t]*include"
_MAY_HAVE: Final = {
    COPIES: re.compile(rb"async_work_group|wait_group_events|" + _INCLUDE, re.MULTILINE),
    INDICES: re.compile(rb"\[|" + _INCLUDE, re.MULTILINE),
}


@cache
def _text(check: str) -> str:
    return Path(__file__).with_name(_TEXTS[check]).read_text("utf-8")


def compile(
    source: str | bytes,
    target: Platform,
    options: str,
    wanted: Checks,
    *,
    name: str,
    directory: Path | None,
) -> tuple[ocloc.Built, Sites]:
    """A build with tables of lines, and with what is wanted as far as the source can have it.

    A source that is only refused with it is built without, with a warning.
    """
    build = partial(ocloc.compile, name=name, directory=directory, lines=True)
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    checks = [c for c, pattern in _MAY_HAVE.items() if c in wanted and pattern.search(data)]
    if not checks or container.is_spirv(data):
        return build(source, target, options), ()
    try:
        built = build(source, target, options, preamble="".join(map(_text, checks)))
        return _with_sites(built, build, target, options) if INDICES in checks else (built, ())
    except (BuildError, ValueError) as error:
        plain = build(source, target, options)  # or what is wrong with it as it is
        what = " and ".join(checks)
        reason = f"{name} is not checked for mistakes with {what}: {_first(error)}"
        told = Diagnostic("build-unchecked", reason, None, Severity.WARNING)
        return replace(plain, warnings=(*plain.warnings, told)), ()


def _with_sites(
    first: ocloc.Built, compile: Callable[..., ocloc.Built], target: Platform, options: str
) -> tuple[ocloc.Built, Sites]:
    """The same program made of SPIR-V that looks at indices."""
    spirv, sites = indices.with_checks(ocloc.spirv_of(first.elf, "the program"))
    if not sites:
        return first, ()
    made = compile(spirv, target, ocloc.with_lines(options))
    return replace(made, log=first.log + made.log, warnings=first.warnings), sites


def _first(error: Exception) -> str:
    """What the compiler says first."""
    diagnostics = error.diagnostics if isinstance(error, BuildError) else ()
    return diagnostics[0].message if diagnostics else str(error).partition("\n")[0]
