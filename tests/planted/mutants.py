"""Faults that are planted into clean kernels by editing their sources, one a mutant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutant", "mutants"]

INITIALISATION = "dropped initialisation"
FAR = 1_000_003  # elements: outside of every array here
_POINTER = re.compile(
    r"\b(?:__)?(global|local)\s+((?:const\s+|volatile\s+)*)((?:u?(?:char|short|int|long)|float|double|half)\d*)"
    r"\s*\*\s*(?:restrict\s+)?(\w+)\s*[,)]"
)
_LOCAL = re.compile(r"^\s*(?:__)?local\s+(\w+)\s+(\w+)\s*\[")
_LOOP = re.compile(r"(for \([^;]*;\s*\w+ <) ([\w ]+);")
_ATOMIC = re.compile(r"atomic_(?:inc|add)\(&?(\w+(?:\[[^\]]*\])?)(?:, [^;]*)?\);")
_SIZES = {"char": 1, "uchar": 1}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A source with one fault; `codes` are what may be said of it, at `line`.

    Without a line the statement is gone: what it was to order, or to give a value, is at other
    lines.
    """

    operator: str
    source: str
    line: int
    codes: frozenset[str]
    at_line: bool = True
    device: str = ""  # where only one has what is looked for

    @property
    def name(self) -> str:
        return f"{self.operator} in line {self.line}"


@dataclass(frozen=True, slots=True)
class _Array:
    memory: str
    is_const: bool
    type: str

    @property
    def aligned(self) -> bool:
        return self.type not in _SIZES


_OUTSIDE = frozenset({"out-of-bounds", "null-pointer", "register-address"})


def mutants(source: str) -> Iterator[Mutant]:
    """All mutants of a source."""
    lines = source.split("\n")
    known = dict(_arrays(source))
    is_first = True  # what is stored before a kernel's first barrier has had no value
    for number, text in enumerate(lines, 1):
        is_first = (is_first or "kernel " in text) and "barrier(" not in text
        if text.lstrip().startswith(("//", "#", "kernel", "__kernel")) or text.endswith("\\"):
            continue
        if not text.startswith(" "):
            continue
        for operator, made, codes, at_line, device in _of_line(text, known):
            if operator == INITIALISATION and not is_first:
                continue
            edited = "\n".join([*lines[: number - 1], made, *lines[number:]])
            yield Mutant(operator, edited, number, frozenset(codes), at_line, device)


def _arrays(source: str) -> Iterator[tuple[str, _Array]]:
    for memory, words, type, name in _POINTER.findall(source):
        yield name, _Array(memory, "const" in words, type)
    for line in source.split("\n"):
        if found := _LOCAL.match(line):
            yield found[2], _Array("local", False, found[1])


_Made = tuple[str, str, set[str] | frozenset[str], bool, str]


def _of_line(text: str, arrays: dict[str, _Array]) -> Iterator[_Made]:
    yield from _barriers(text)
    for name, array in arrays.items():
        for start, end in _subscripts(text, name):
            yield from _access(text, name, array, start, end)
    if found := _ATOMIC.search(text):
        made = text.replace(
            found[0], f"{found[1]} += 1;" if "[" in found[1] else f"*&{found[1]} += 1;"
        )
        yield "atomic made plain", made, {"race"}, True, ""
    if found := _LOOP.search(text):
        wide = text.replace(found[0], f"{found[1]} {found[2]} + {FAR};")
        yield "widened loop", wide, {*_OUTSIDE, "endless-loop"}, False, ""


def _barriers(text: str) -> Iterator[_Made]:
    found = re.search(r"\bbarrier\((\w+)\);", text)
    if not found:
        return
    yield "dropped barrier", text.replace(found[0], ";"), {"race"}, False, ""
    other = "CLK_GLOBAL_MEM_FENCE" if "LOCAL" in found[1] else "CLK_LOCAL_MEM_FENCE"
    yield "wrong scope", text.replace(found[1], other), {"race"}, False, ""
    parted = text.replace(found[0], f"if (get_local_id(0) != 0) {{ {found[0]} }}")
    yield "divergent barrier", parted, {"divergent-barrier", "race"}, True, ""


def _subscripts(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Where the expression between brackets begins and ends."""
    for found in re.finditer(rf"(?<![\w.>]){name}\[", text):
        depth, at = 1, found.end()
        while at < len(text) and depth:
            depth += {"[": 1, "]": -1}.get(text[at], 0)
            at += 1
        if not depth:
            yield found.end(), at - 1


def _access(text: str, name: str, array: _Array, start: int, end: int) -> Iterator[_Made]:
    index, before, after = text[start:end], text[: start - len(name) - 1], text[end + 1 :]

    def other(expression: str) -> str:
        return before + expression + after

    if before.rstrip().endswith(("local " + array.type, array.type)):
        return  # its declaration
    yield "index beyond", other(f"{name}[({index}) + {FAR}]"), _OUTSIDE, True, ""
    if array.memory == "local":
        if re.match(r"\s*= ", after) and not before.strip():
            yield INITIALISATION, ";", {"undefined", "uninitialized"}, False, ""
        return
    yield "index before", other(f"{name}[({index}) - {FAR}]"), _OUTSIDE, True, ""
    kind = f"global {array.type} *"
    if array.aligned and not before.rstrip().endswith("&"):
        shifted = f"(*({kind})((global char *)&{name}[{index}] + 1))"
        yield "misaligned cast", other(shifted), {"misaligned", *_OUTSIDE}, True, ""
    if not before.rstrip().endswith("&"):
        null = f"(({kind})get_global_offset(2))[{index}]"
        yield "null pointer", other(null), _OUTSIDE, True, ""
        divided = f"{name}[({index}) / (int)get_global_offset(2)]"
        yield "division by zero", other(divided), {"division-by-zero"}, True, "skl"
    if array.is_const and "=" in before:
        yield "store to const", other(f"(*({kind})&{name}[{index}] = 1)"), {"read-only"}, True, ""
    if re.match(r"\s*= ", after) and not before.strip():
        yield "one element for all", other(f"{name}[({index}) * 0]"), {"race"}, True, ""
