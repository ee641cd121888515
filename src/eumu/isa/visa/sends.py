"""Messages to shared functions as the program composes them.

What they do is what `eumu.isa.messages` finds in their descriptors on the platforms of Gen9's data
ports, `lsc_sends` on those with LSC.

Intel's front end reads a shared function's number in `raw_sends` and `raw_sends_eot` only, and its
printer writes `raw_sends.N.eot`, which it does not read back.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from eumu.isa.kinds import InstBuilder, RawDst, RawSrc, Scalar
from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.control import NumberKind
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.spec import Fidelity
from eumu.isa.visa.registry import opcode

SENDS = Fidelity(
    "exact",
    "data ports, scratch space, LSC, fences, images by any descriptor, barriers by constants;"
    " others say which",
)


class ByteKind(NumberKind):
    """A number from 0 to 255."""

    default = 0

    def __init__(self, what: str) -> None:
        super().__init__(what, 0, 255)

    def pack(self, operand: int, out: Packer) -> None:
        out.u8(operand, self.what)

    def unpack(self, source: Unpacker) -> int:
        return source.u8(self.what)


class ExtendedDescriptorKind(Kind):
    """`0x2`: 32 bits in hexadecimal."""

    manual = "32 bits in hexadecimal"
    example = "0x2"
    _digits = re.compile(r"0[xX]([0-9a-fA-F]{1,8})\b")

    def parse(self, cursor: Cursor, names: Names) -> int:
        match = cursor.need(self._digits, "an extended descriptor of 32 bits, such as 0x2")
        return int(match.group(1), 16)

    def print(self, operand: int) -> str:
        return f"{operand:#x}"

    def pack(self, operand: int, out: Packer) -> None:
        out.u32(operand)

    def unpack(self, source: Unpacker) -> int:
        return source.u32("an extended descriptor")


Count = Annotated[int, ByteKind("the number of registers")]
Sfid = Annotated[int, ByteKind("the number of a shared function")]
Extended = Annotated[int, ExtendedDescriptorKind()]

_SPLIT = "sub exec pred sources0 sources1 results {} ex_desc desc src0 src1 dst"


def _run(b: InstBuilder, *message: Any, ends: bool = False) -> None:
    """Do what a message asks for; to read and print programs, nobody needs to know."""
    from eumu.isa.visa import send_routes

    send_routes.run(b, *message, ends=ends)


def _send(sub: int, name: str, doc: str) -> None:
    @opcode(
        0x5D,
        f"{{pred}}{name} {{exec}} {{ex_desc}} {{sources}} {{results}}  {{desc}} {{src}} {{dst}}",
        sub=sub,
        page="RAW_SEND",
        fidelity=SENDS,
        doc=doc,
    )
    def raw_send(
        b: InstBuilder,
        ex_desc: Extended,
        sources: Count,
        results: Count,
        desc: Scalar,
        src: RawSrc,
        dst: RawDst,
    ) -> None:
        _run(b, None, ex_desc, desc, ((src, sources),), dst, results)


_send(0, "raw_send", "Send registers to a shared function and receive its answer.")
_send(1, "raw_sendc", "As raw_send, after the threads before this one that it depends on.")


def _split_send(sub: int, name: str, doc: str) -> None:
    @opcode(
        0x7A,
        f"{{pred}}{name}.{{sfid}}.{{sources0}}.{{sources1}}.{{results}} {{exec}}"
        "  {ex_desc} {desc} {src0} {src1} {dst}",
        sub=sub,
        page="RAW_SENDS",
        fidelity=SENDS,
        doc=doc,
        layout=_SPLIT.format("sfid>3.5"),
    )
    def raw_sends(
        b: InstBuilder,
        sfid: Sfid,
        sources0: Count,
        sources1: Count,
        results: Count,
        ex_desc: Scalar,
        desc: Scalar,
        src0: RawSrc,
        src1: RawSrc,
        dst: RawDst,
    ) -> None:
        both = (src0, sources0), (src1, sources1)
        _run(b, sfid, ex_desc, desc, both, dst, results, ends=name.endswith("eot"))


_split_send(0, "raw_sends", "Send two blocks of registers to a shared function.")
_split_send(2, "raw_sends_eot", "As raw_sends, and end the thread.")


def _conditional(sub: int, name: str, doc: str) -> None:
    @opcode(
        0x7A,
        f"{{pred}}{name}.{{sources0}}.{{sources1}}.{{results}} {{exec}}"
        "  {ex_desc} {desc} {src0} {src1} {dst}",
        sub=sub,
        page="RAW_SENDS",
        fidelity=SENDS,
        doc=doc,
        layout=_SPLIT.format("00>3.5"),
    )
    def raw_sendsc(
        b: InstBuilder,
        sources0: Count,
        sources1: Count,
        results: Count,
        ex_desc: Scalar,
        desc: Scalar,
        src0: RawSrc,
        src1: RawSrc,
        dst: RawDst,
    ) -> None:
        both = (src0, sources0), (src1, sources1)
        _run(b, None, ex_desc, desc, both, dst, results, ends=name.endswith("eot"))


_conditional(1, "raw_sendsc", "As raw_sends, after the threads that this one depends on.")
_conditional(3, "raw_sendsc_eot", "As raw_sendsc, and end the thread.")
