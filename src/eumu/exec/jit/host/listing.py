"""What was made of a kernel, by the lines of its source: LLVM's text, the processor's instructions.

Machine code is told where it comes from by debug information that exists for this alone: the line
of a location is the number of an instruction of the program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from eumu.exec.jit.driver.module import build
from eumu.exec.jit.host.apart import apart
from eumu.exec.jit.host.target import Processor, assembly
from eumu.exec.jit.interface import Special
from eumu.exec.jit.llvm.emit import MARK
from eumu.ir import Function

Heads = Callable[[int], Sequence[str]]  # what stands above the lines of an instruction

_DEFINE: Final = re.compile(r"define .*@(?P<name>[\w.]+)\(.*\{$")
_INSTRUCTION: Final = re.compile(r"  (\S.*[^\[]|\])$")  # or the last line of a table of jumps
_LOCATION: Final = re.compile(r"\s*\.loc\s+\d+\s+(?P<line>\d+)")
# Directives that say nothing of the code, and labels that only these name.
_NOISE: Final = re.compile(
    r"\s*\.(cfi|file|type|size|globl|hidden|ident|addrsig|section|text|p2align|Ltmp)|\.L(tmp|func)"
)
_DEBUG: Final = re.compile(r"\s*\.section\s+\.debug")
_OTHER: Final = 2  # the line of what comes from no instruction; instruction n has n more than this
_FIRST: Final = 100  # the number of the first node of debug information
_UNIT: Final = f"""
!llvm.dbg.cu = !{{!{_FIRST}}}
!llvm.module.flags = !{{!{_FIRST + 1}}}
!{_FIRST} = distinct !DICompileUnit(language: DW_LANG_C, file: !{_FIRST + 2}, emissionKind: LineTablesOnly)
!{_FIRST + 1} = !{{i32 2, !"Debug Info Version", i32 3}}
!{_FIRST + 2} = !DIFile(filename: "kernel", directory: "")
!{_FIRST + 3} = !DISubroutineType(types: !{{}})
"""  # noqa: E501


def llvm_text(function: Function, special: Special, processor: Processor, heads: Heads) -> str:
    """The LLVM text of the thread functions of a kernel, before LLVM has worked on it."""
    lines: list[str] = []
    for name, body in _functions(_marked(function, special, processor)):
        if _is_of_kernel(body):
            lines += ["", f"; {name}", *_with_heads(body, heads)]
    return "\n".join(lines).strip() + "\n"


def machine_text(function: Function, special: Special, processor: Processor, heads: Heads) -> str:
    """The processor's instructions, all functions that are left of the kernel."""
    text = _located(_marked(function, special, processor))
    lines: list[str] = []
    before = _OTHER
    for line in apart(partial(assembly, text, processor)).splitlines():
        if _DEBUG.match(line):
            break
        if match := _LOCATION.match(line):
            here = int(match["line"])
            if here != before:
                lines += [f"# {head}" for head in heads(here - _OTHER - 1)]
            before = here or before
        elif line.strip() and not _NOISE.match(line):
            lines.append(line.expandtabs(4))
    return "\n".join(lines) + "\n"


def _marked(function: Function, special: Special, processor: Processor) -> str:
    return build(function, special, processor.target, marks=True).text


def _functions(text: str) -> Iterator[tuple[str, list[str]]]:
    """The functions that a text defines, by name."""
    name, body = "", list[str]()
    for line in text.splitlines():
        if match := _DEFINE.match(line):
            name, body = match["name"], []
        if name:
            body.append(line)
        if line == "}" and name:
            yield name, body
            name = ""


def _is_of_kernel(body: Sequence[str]) -> bool:
    return any(line.startswith(MARK) for line in body)


def _with_heads(body: Sequence[str], heads: Heads) -> Iterator[str]:
    last: list[str] = []
    for line in body:
        if not line.startswith(MARK):
            yield line
            continue
        here = list(heads(int(line.removeprefix(MARK))))
        if here and here != last:
            yield from (f"  ; {head}" for head in here)
            last = here


def _located(text: str) -> str:
    """The same with a location at each line of a function: code that is inlined keeps its own."""
    nodes: list[str] = []
    scope, line_number, is_inside = 0, _OTHER, False

    def node(words: str) -> int:
        nodes.append(f"!{_FIRST + 4 + len(nodes)} = {words}")
        return _FIRST + 3 + len(nodes)

    lines = []
    for line in text.splitlines():
        if match := _DEFINE.match(line):
            scope = node(
                f'distinct !DISubprogram(name: "{match["name"]}", file: !{_FIRST + 2}, line: 1,'
                f" type: !{_FIRST + 3}, unit: !{_FIRST}, spFlags: DISPFlagDefinition)"
            )
            is_inside, line_number = True, _OTHER
            lines.append(f"{line[:-1]}!dbg !{scope} {{")
            location = node(f"!DILocation(line: {line_number}, column: 1, scope: !{scope})")
        elif line == "}":
            is_inside = False
            lines.append(line)
        elif line.startswith(MARK):
            line_number = _OTHER + 1 + int(line.removeprefix(MARK))
            location = node(f"!DILocation(line: {line_number}, column: 1, scope: !{scope})")
        elif is_inside and _INSTRUCTION.match(line):
            lines.append(f"{line}, !dbg !{location}")
        else:
            lines.append(line)
    return "\n".join([*lines, _UNIT, *nodes, ""])
