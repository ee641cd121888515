"""``EUMU_PARANOID=1``: every access of compiled code is compared with the memory that it may touch.

Compiled code checks device addresses itself; this is a second check behind it, of host addresses,
for tests.  Each load and store of a module is rewritten: its pointer goes through a function that
knows the regions of a launch and lets through what lies in one, or on the stack.  Anything else
goes to a place of its own, is noted, and becomes an `InternalError` when the launch is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from eumu.errors import InternalError
from eumu.exec.jit.llvm.functions import FunctionBuilder
from eumu.exec.jit.llvm.layout import Context

TRUSTED: Final = " ; trusted"  # ends a line of LLVM text that reads what the host made
_DUMP: Final = 1 << 16
_STACK: Final = 1 << 20


def _check() -> str:
    """``ptr @asserted(ctx, p, n)``: `p` if the n bytes there may be touched, else `@dump`."""
    f = FunctionBuilder("internal ptr @asserted(ptr %ctx, ptr %p, i64 %n) noinline")
    address, size = f.number(f.op("ptrtoint ptr %p to i64")), f.number("%n")
    frame = f.op("call ptr @llvm.frameaddress.p0(i32 0)")
    with f.when(address - f.number(f.op(f"ptrtoint ptr {frame} to i64")) < _STACK):
        f.give("ptr %p")
    table = f.pointer(f.context(Context.REGIONS).get())
    with f.times(f.context(Context.REGION_COUNT).get()) as k:
        start, room = (f.word(table, k * 2 + part).get() for part in (0, 1))
        distance = address - start
        with f.when((distance < room) & (room - distance >= size)):
            f.give("ptr %p")
    for word, value in (
        (Context.ASSERTED, 1),
        (Context.ASSERTED_ADDRESS, address),
        (Context.ASSERTED_SIZE, size),
    ):
        f.context(word).set(value)
    f.do("ret ptr @dump")
    return f.text()


_CHECK: Final = f"""
@dump = internal global [{_DUMP} x i8] zeroinitializer, align 64
declare ptr @llvm.frameaddress.p0(i32)
{_check()}"""

_SIZES: Final = {"float": 4, "double": 8, "ptr": 8}
_VECTOR: Final = re.compile(r"<(\d+) x (\w+)>$")
_NAME: Final = r"(%[\w.]+)"
_LOAD: Final = re.compile(rf"= load (?:atomic |volatile )?(<[^>]+>|\w+), ptr {_NAME}")
_STORE: Final = re.compile(rf"^  store (?:atomic )?(<\d+ x \w+>|\w+) .*, ptr {_NAME}")
_CHANGE: Final = re.compile(rf"= atomicrmw \w+ ptr {_NAME}, (\w+)")
_EXCHANGE: Final = re.compile(rf"= cmpxchg ptr {_NAME}, (\w+)")
_MASKED: Final = re.compile(rf"@llvm\.masked\.store\.\S+\((<[^>]+>) .*, ptr align \d+ {_NAME},")
_SPREAD: Final = re.compile(
    rf"@llvm\.masked\.(?:gather|scatter)\.v(\d+)[if](\d+)\.\S+\(.*<\d+ x ptr> align \d+ {_NAME},"
    r" (<\d+ x i1> (?:%[\w.]+|splat \(i1 true\)|zeroinitializer|<[^>]*>))"
)
_SOME: Final = re.compile(
    rf"@llvm\.masked\.load\.v(\d+)[if](\d+)\.\S+\(ptr align \d+ {_NAME}, (<\d+ x i1> %[\w.]+),"
)
_COPY: Final = re.compile(
    rf"@llvm\.mem(?:cpy|set)\S*\(ptr {_NAME}, (?:ptr {_NAME}|i8 \S+), i64 (\S+),"
)
_LOCAL: Final = re.compile(r"^  (%[\w.]+) = alloca ")
_INSIDE: Final = re.compile(r"^  (%[\w.]+) = getelementptr [^,]+, ptr (%[\w.]+), i64 (\S+)$")


def asserted(text: str) -> str:
    """The module with every access checked; what accesses memory has ``%ctx``."""
    lines: list[str] = []
    own: set[str] | None = None  # pointers into a function's own variables, or its context
    for number, line in enumerate(text.split("\n")):
        if line.startswith("define "):
            own = {"%ctx"} if "ptr %ctx" in line or "ptr noalias %ctx" in line else set()
        elif line == "}":
            own = None
        if own is None or line.endswith(TRUSTED):
            lines.append(line)
            continue
        _note(line, own)
        checked = list(_checked(line, own, number))
        if len(checked) > 1 and "%ctx" not in own:
            raise InternalError(f"an access of a function without context: {line.strip()}")
        lines += checked
    return "\n".join([*lines, _CHECK])


def _note(line: str, own: set[str]) -> None:
    """Learn what a line says of pointers that need no check: variables, words of the context."""
    made = _LOCAL.match(line)
    if made:
        own.add(made[1])
    inside = _INSIDE.match(line)
    if inside and inside[2] in own and inside[3].isdecimal():
        own.add(inside[1])


def _checked(line: str, own: set[str], number: int) -> Iterator[str]:
    for k, (pointer, size) in enumerate(_accesses(line)):
        if pointer not in own:
            name = f"%asserted.{number}.{k}"
            yield f"  {name} = call ptr @asserted(ptr %ctx, ptr {pointer}, i64 {size})"
            line = re.sub(
                rf"ptr( align \d+)? {re.escape(pointer)}(?![\w.])", rf"ptr\1 {name}", line
            )
    if some := _SOME.search(line):
        yield from _lanes(some, number)
    spread = _SPREAD.search(line)
    if spread is None:
        yield line
        return
    width, bits, pointers, mask = int(spread[1]), int(spread[2]), spread[3], spread[4]
    vector, at = f"<{width} x ptr>", pointers
    for lane in range(width):
        name = f"%asserted.{number}.{lane}"
        yield f"  {name}.m = extractelement {mask}, i64 {lane}"
        yield f"  {name}.p = extractelement {vector} {pointers}, i64 {lane}"
        yield f"  {name}.n = select i1 {name}.m, i64 {bits // 8}, i64 0"
        yield f"  {name}.q = select i1 {name}.m, ptr {name}.p, ptr %ctx"
        yield f"  {name}.c = call ptr @asserted(ptr %ctx, ptr {name}.q, i64 {name}.n)"
        yield f"  {name}.v = insertelement {vector} {at}, ptr {name}.c, i64 {lane}"
        at = f"{name}.v"
    yield re.sub(rf"{re.escape(pointers)}(?![\w.])", at, line, count=1)


def _lanes(some: re.Match[str], number: int) -> Iterator[str]:
    """Check the lanes that a vector loads, where they lie."""
    size = int(some[2]) // 8
    for lane in range(int(some[1])):
        name = f"%asserted.{number}.{lane}"
        yield f"  {name}.m = extractelement {some[4]}, i64 {lane}"
        yield f"  {name}.p = getelementptr i8, ptr {some[3]}, i64 {lane * size}"
        yield f"  {name}.q = select i1 {name}.m, ptr {name}.p, ptr %ctx"
        yield f"  {name}.n = select i1 {name}.m, i64 {size}, i64 0"
        yield f"  {name}.c = call ptr @asserted(ptr %ctx, ptr {name}.q, i64 {name}.n)"


def _accesses(line: str) -> list[tuple[str, str]]:
    """The pointers that a line loads from or stores to, and how many bytes."""
    for pattern in (_LOAD, _STORE, _MASKED):
        if match := pattern.search(line):
            return [(match[2], str(_bytes(match[1])))]
    for pattern in (_CHANGE, _EXCHANGE):
        if match := pattern.search(line):
            return [(match[1], str(_bytes(match[2])))]
    if match := _COPY.search(line):
        return [(pointer, match[3]) for pointer in match.groups()[:2] if pointer]
    if re.search(r"= (?:load|atomicrmw|cmpxchg) |^  store |@llvm\.mem", line) or (
        "@llvm.masked." in line and not (_SPREAD.search(line) or _SOME.search(line))
    ):
        raise InternalError(f"an access that cannot be asserted: {line.strip()}")
    return []


def _bytes(type: str) -> int:
    vector = _VECTOR.match(type)
    if vector:
        scalar = vector[2]
        bits = int(scalar[1:]) if scalar[0] == "i" else 8 * _SIZES[scalar]
        return -(-int(vector[1]) * bits // 8)
    return -(-int(type[1:]) // 8) if type[0] == "i" else _SIZES[type]


def failure(words: Sequence[int], kernel: str) -> InternalError:
    """The error of a launch with an access outside: its address and size."""
    address, size = words
    return InternalError(
        f"compiled code of kernel {kernel} accesses {size} bytes at host address {address:#x},"
        " outside the memory of the launch"
    )
