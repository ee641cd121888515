"""Makes a vISA text complete: its variables come from memory, and end there.

A text that computes with variables becomes one that can run anywhere: at its start it loads what
they hold, at its end it stores what they have become.  The same text then runs as vISA and, through
a finalizer, as native code.  The kernel has one input, the address of an *image*::

    0            initial values of the variables, in the order of `Harness.places`
    results      a copy of them for each thread of each group, as they are at the end

Memory is read and written in blocks.  What fills whole registers of a variable that is declared to
begin at one goes there at once; all else goes through registers of the harness, so that the
variables stay where the finalizer would put them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from eumu.isa.kinds.variables import Variable
from eumu.program import Kernel
from eumu.records import dataclass
from eumu.text import parse

INPUT_OFFSET: Final = 32  # of the image's address in the payload, behind r0
INPUT_BYTES: Final = 8
_BLOCK: Final = 128  # bytes that one message moves
_ROW: Final = 32  # bytes of a register
_INTEGERS: Final = {1: "ub", 2: "uw", 4: "ud", 8: "uq"}
_END: Final = "H_END"
_START: Final = "H_START"
_RETURN: Final = re.compile(
    r"^\s*(\(.*?\))?\s*ret\s*\(\s*(M\d(?:_NM)?)\s*,\s*(\d+)\s*\)\s*(//.*)?$"
)
_UNIT: Final = re.compile(r"^\s*\.(function|global_function)\b")


@dataclass(frozen=True)
class Harness:
    """A complete text, and where its variables lie: name -> (offset, bytes) in an image's part.

    An image has `pitch` bytes of initial values and as many for each of `threads`, those of all
    groups.
    """

    text: str
    places: Mapping[str, tuple[int, int]]
    pitch: int
    threads: int

    @property
    def size(self) -> int:
        """Bytes of an image."""
        return self.pitch * (1 + self.threads)

    def image(self, before: Mapping[str, bytes]) -> bytes:
        """The memory that a run starts with; what `before` does not name is 0."""
        data = bytearray(self.size)
        for name, value in before.items():
            offset, size = self.places[name]
            if len(value) > size:
                raise ValueError(f"{len(value)} bytes for '{name}', which has {size}")
            data[offset : offset + len(value)] = value
        return bytes(data)

    def results(self, image: bytes) -> dict[str, bytes]:
        """What each variable held at the end, the bytes of the second thread behind the first's."""
        starts = range(self.pitch, self.size, self.pitch)
        return {
            name: b"".join(image[s + offset : s + offset + size] for s in starts)
            for name, (offset, size) in self.places.items()
        }


class Transfers:
    """Lines that load and store variables; `declarations` are what they use."""

    def __init__(self, kernel: Kernel, threads: int = 1, groups: int = 1) -> None:
        self._known = {d.name: d for d in kernel.declarations if isinstance(d, Variable)}
        self.threads, self.groups = threads, groups
        self.places: dict[str, tuple[int, int]] = {}
        self._aliases: dict[str, str] = {}
        self._end = 0

    @property
    def pitch(self) -> int:
        return max(_BLOCK, self._end)

    def add(self, name: str) -> None:
        """Give a variable a place in the image."""
        if name in self.places:
            return
        variable = self._known[name]
        self.places[name] = self._end, variable.size
        self._aliases[name] = f"H_V{len(self._aliases)}"
        self._end += -(-variable.size // _BLOCK) * _BLOCK

    def declarations(self) -> Iterator[str]:
        for name, size in (("H_IMAGE", 8), ("H_RESULTS", 8), ("H_AT", 8), ("H_NUMBER", 4)):
            type = _INTEGERS[size]
            yield f".decl {name} v_type=G type={type} num_elts=1 align=GRF"
        yield f".decl H_BLOCK v_type=G type=ub num_elts={_BLOCK} align=GRF"
        for size, type in _INTEGERS.items():
            if size > 1:
                alias = f"num_elts={_BLOCK // size} align=GRF alias=<H_BLOCK, 0>"
                yield f".decl H_BLOCK{size} v_type=G type={type} {alias}"
        for name, alias in self._aliases.items():
            variable = self._known[name]
            owner, offset = variable.origin()
            size = variable.type.size
            yield (
                f".decl {alias} v_type=G type={_INTEGERS[size]} num_elts={variable.size // size}"
                f" alias=<{owner.name}, {offset}>"
            )
        yield f".input H_IMAGE offset={INPUT_OFFSET} size={INPUT_BYTES}"

    def prologue(self) -> Iterator[str]:
        """Where this thread's results go."""
        if self.threads > 1:
            yield "and (M1_NM, 1) H_NUMBER(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud"
            yield f"mul (M1_NM, 1) H_NUMBER(0,0)<1> H_NUMBER(0,0)<0;1,0> {self.pitch:#x}:ud"
            yield "add (M1_NM, 1) H_RESULTS(0,0)<1> H_IMAGE(0,0)<0;1,0> H_NUMBER(0,0)<0;1,0>"
            first = "H_RESULTS"
        else:
            first = "H_IMAGE"
        yield f"add (M1_NM, 1) H_RESULTS(0,0)<1> {first}(0,0)<0;1,0> {self.pitch:#x}:ud"
        if self.groups > 1:
            group = self.pitch * self.threads
            yield f"mul (M1_NM, 1) H_NUMBER(0,0)<1> %group_id_x(0,0)<0;1,0> {group:#x}:ud"
            yield "add (M1_NM, 1) H_RESULTS(0,0)<1> H_RESULTS(0,0)<0;1,0> H_NUMBER(0,0)<0;1,0>"

    def loads(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            for start, size, owords in self._blocks(name):
                yield self._address("H_IMAGE", name, start)
                if self._is_whole(name, start, size):
                    yield f"svm_block_ld ({owords}) H_AT(0,0)<0;1,0> {name}.{start}"
                    continue
                yield f"svm_block_ld ({owords}) H_AT(0,0)<0;1,0> H_BLOCK.0"
                for lanes, block, variable in self._moves(name, start, size):
                    yield f"mov (M1_NM, {lanes}) {variable}<1> {block}{_region(lanes)}"

    def stores(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            for start, size, owords in self._blocks(name):
                yield self._address("H_RESULTS", name, start)
                if self._is_whole(name, start, size):
                    yield f"svm_block_st ({owords}) H_AT(0,0)<0;1,0> {name}.{start}"
                    continue
                for lanes, block, variable in self._moves(name, start, size):
                    yield f"mov (M1_NM, {lanes}) {block}<1> {variable}{_region(lanes)}"
                yield f"svm_block_st ({owords}) H_AT(0,0)<0;1,0> H_BLOCK.0"

    def _address(self, base: str, name: str, start: int) -> str:
        offset = self.places[name][0] + start
        return f"add (M1_NM, 1) H_AT(0,0)<1> {base}(0,0)<0;1,0> {offset:#x}:ud"

    def _blocks(self, name: str) -> Iterator[tuple[int, int, int]]:
        """First byte, bytes and 16-byte words of each message."""
        total, start = self.places[name][1], 0
        while start < total:
            size = min(_BLOCK, total - start)
            if self._is_aligned(name) and size > _ROW:  # whole registers first
                size = 1 << size.bit_length() - 1
            owords = 1
            while 16 * owords < size:
                owords *= 2
            yield start, size, owords
            start += size

    def _is_aligned(self, name: str) -> bool:
        variable = self._known[name]
        return variable.alias is None and variable.align in ("GRF", "GRFx2")

    def _is_whole(self, name: str, start: int, size: int) -> bool:
        """Whether a message may read or write these bytes of the variable itself."""
        return self._is_aligned(name) and not start % _ROW and size in (32, 64, 128)

    def _moves(self, name: str, start: int, size: int) -> Iterator[tuple[int, str, str]]:
        """Lanes and both operands of the moves between a block and its variable."""
        element = self._known[name].type.size
        block = f"H_BLOCK{element if element > 1 else ''}"
        done = 0
        while done < size:
            left = min(_ROW - done % _ROW, size - done) // element
            lanes = 1 << min(left.bit_length() - 1, 5)
            variable = f"{self._aliases[name]}{_place(start + done, element)}"
            yield lanes, f"{block}{_place(done, element)}", variable
            done += lanes * element


def _place(byte: int, size: int) -> str:
    return f"({byte // _ROW},{byte % _ROW // size})"


def _region(lanes: int) -> str:
    return "<0;1,0>" if lanes == 1 else "<1;1,0>"


def wrap(text: str, names: Sequence[str], threads: int = 1, groups: int = 1) -> Harness:
    """A text whose variables `names` come from an image and end there, in each thread of `groups`.

    Returns of the kernel, in contrast to those of its subroutines, become branches to its end.
    Raises `BuildError` for declarations that are wrong, and `ValueError` where it has inputs of its
    own.
    """
    head, body, rest = _divided(text)
    # Of the text only its declarations are of interest, and most of it is something else.
    (kernel,) = parse("\n".join([*head, "ret (M1, 1)"]), "program").kernels
    if kernel.inputs:
        raise ValueError(f"kernel {kernel.name} has inputs of its own")
    transfers = Transfers(kernel, threads, groups)
    for name in names:
        transfers.add(name)
    lines = [*head, *transfers.declarations(), *_attributes(text)]
    lines += [f'.function "{_START}"', f"{_START}:"]
    lines += [*transfers.prologue(), *transfers.loads(names)]
    lines += [*_without_returns(body), f"{_END}:"]
    lines += [*transfers.stores(names), "ret (M1_NM, 1)", *rest]
    every = threads * groups
    return Harness("\n".join(lines) + "\n", transfers.places, transfers.pitch, every)


def _divided(text: str) -> tuple[list[str], list[str], list[str]]:
    """Declarations, the kernel's own code, and its subroutines and functions."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    directives = [k for k, line in enumerate(lines) if _is_declaration(line)]
    units = [k for k, line in enumerate(lines) if _UNIT.match(line)]
    end = units[0] if units else len(lines)
    start = 1 + max(k for k in directives if k < end)
    return [x for x in lines[:start] if not _is_attribute(x)], lines[start:end], lines[end:]


def _is_declaration(line: str) -> bool:
    return line.startswith((".version", ".kernel", ".decl", ".input", ".parameter"))


def _is_attribute(line: str) -> bool:
    return line.startswith(".kernel_attr")


def _attributes(text: str) -> Iterator[str]:
    """The kernel's attributes, which stand behind its inputs."""
    for line in text.splitlines():
        if _UNIT.match(line):
            return
        if _is_attribute(line):
            yield line


def _without_returns(body: Sequence[str]) -> Iterator[str]:
    """The code with branches to its end for its returns, the last of which just ends."""
    code = [k for k, line in enumerate(body) if line.strip()]
    for k, line in enumerate(body):
        match = _RETURN.match(line)
        if match is None:
            yield line
        elif k != code[-1] or match[1]:
            yield f"{match[1] or ''} goto ({match[2]}, {match[3]}) {_END}"
