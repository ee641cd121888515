"""The directives other than `.decl`: inputs, attributes, source positions."""

from __future__ import annotations

import re
from difflib import get_close_matches

from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.kind import Names
from eumu.isa.kinds.literals import STRING, expression, string
from eumu.isa.kinds.variables import Declared, SamplerVariable, SurfaceVariable, Variable
from eumu.isa.kinds.vector import variable
from eumu.program import Attribute, KernelInput, SourceMark
from eumu.text.names import IDENTIFIER

_DECIMAL = re.compile(r"\d+(?!\w)")
_OFFSET = re.compile(r"offset[ \t]*=")
_SIZE = re.compile(r"size[ \t]*=")

TARGETS = ("cm", "3d", "cs")
# What a kernel attribute takes; the names that Intel's front end knows.
NUMBERS = (
    *("SimdSize", "SLMSize", "PerThreadInputSize", "CrossThreadInputSize", "SpillMemOffset"),
    *("ArgSize", "RetValSize", "NBarrierCnt", "SepSpillPvtSS"),
)
STRINGS = ("Target", "AsmName", "OutputAsmPath", "LTO_InvokeOptTarget")
FLAGS = ("NoBarrier", "Entry", "Caller", "Callable", "Composable", "Extern")

# The payload ends with the last register that holds one (IGC refuses more).
MAX_PAYLOAD_BYTES = 256 * 64


def parse_version(cursor: Cursor) -> tuple[int, int]:
    """`4.1`; any version is accepted."""
    major = cursor.need(_DECIMAL, "a version such as 4.1").group()
    cursor.expect(".", "between major and minor version")
    minor = cursor.need(_DECIMAL, "a minor version").group()
    if len(major) > 9 or len(minor) > 9:
        cursor.fail("this version is too large", start=cursor.pos - 1)
    return int(major), int(minor)


def parse_name(cursor: Cursor) -> str:
    """A kernel's or function's name: a word or a string."""
    if match := cursor.match(STRING):
        return string(cursor, match)
    return cursor.need(IDENTIFIER, "a name, in double quotes if it is not a plain word").group()


def parse_string(cursor: Cursor) -> str:
    match = cursor.need(STRING, "a string in double quotes")
    return string(cursor, match)


def parse_input(cursor: Cursor, names: Names, implicit: str = "") -> KernelInput:
    """`V offset=N [size=N]`, bytes of the payload; the size defaults to the variable's."""
    declared = _input_variable(cursor, names)
    cursor.need(_OFFSET, "'offset='")
    start = cursor.skip()
    offset = expression(cursor, names)
    if not 0 <= offset < MAX_PAYLOAD_BYTES:
        cursor.fail(
            f"offset {offset} is outside the payload, 0 to {MAX_PAYLOAD_BYTES - 1}", start=start
        )
    return KernelInput(declared, offset, _size(cursor, names, declared, required=False), implicit)


def parse_parameter(cursor: Cursor, names: Names) -> KernelInput:
    """`V size=N`: the old form of an input, at offset 0."""
    declared = _input_variable(cursor, names)
    return KernelInput(declared, 0, _size(cursor, names, declared, required=True))


def _input_variable(cursor: Cursor, names: Names) -> Declared:
    start = cursor.skip()
    what = "a general, sampler or surface variable"
    declared: Declared = variable(
        cursor, names, Variable, SamplerVariable, SurfaceVariable, what=what
    )
    if declared.predefined is not None:
        cursor.fail(f"'{declared.name}' is predefined and cannot be an input", start=start)
    return declared


def _size(cursor: Cursor, names: Names, declared: Declared, *, required: bool) -> int:
    default = declared.size if isinstance(declared, Variable) else 4 * declared.count
    if not cursor.match(_SIZE):
        if required:
            cursor.fail("expected 'size='")
        return default
    start = cursor.skip()
    size = expression(cursor, names)
    if not 1 <= size <= default:
        cursor.fail(
            f"size {size} is not in 1 to {default}, the size of '{declared.name}'", start=start
        )
    return size


def parse_attribute(cursor: Cursor, names: Names) -> tuple[Attribute, str]:
    """`Name[=value]` and a warning, which may be empty."""
    start = cursor.skip()
    name = cursor.need(IDENTIFIER, "the name of an attribute").group()
    value: int | str | None = None
    if cursor.take("="):
        at = cursor.skip()
        if cursor.at_end():
            cursor.fail(f"expected the value of '{name}'", code="attribute-value")
        if match := cursor.match(STRING):
            value = string(cursor, match)
        else:
            value = expression(cursor, names)
        _check_value(cursor, at, name, value)
    elif name in NUMBERS or name in STRINGS:
        cursor.fail(f"'{name}' takes a value, as in {name}=…", start=start)
    allowed = (*NUMBERS, *STRINGS, *FLAGS)
    if name in allowed:
        return Attribute(name, value), ""
    close = get_close_matches(name, allowed, 1)
    guess = f"; did you mean '{close[0]}'?" if close else ""
    return Attribute(name, value), f"unknown kernel attribute '{name}' is ignored{guess}"


def _check_value(cursor: Cursor, start: int, name: str, value: int | str) -> None:
    if name == "Target" and value not in TARGETS:
        cursor.fail(f"Target is one of {', '.join(map(repr, TARGETS))}", start=start)
    if name in NUMBERS and not (isinstance(value, int) and 0 <= value < 1 << 31):
        cursor.fail(f"'{name}' takes a number from 0 to 2147483647", start=start)
    if name == "SimdSize" and value not in (1, 2, 4, 8, 16, 32):
        cursor.fail(f"SimdSize {value} is not one of 1, 2, 4, 8, 16, 32", start=start)
    if name in STRINGS and not isinstance(value, str):
        cursor.fail(f"'{name}' takes a string in double quotes", start=start)


def parse_line_number(cursor: Cursor) -> SourceMark:
    """`LOC 3`."""
    start = cursor.skip()
    digits = cursor.need(_DECIMAL, "a decimal line number").group()
    if len(digits) > 9:
        cursor.fail("this line number is too large", start=start)
    return SourceMark(line=int(digits))
