"""How much of a thread's stack machine code takes: what its instructions take off the pointer.

LLVM tells that nobody but a person who reads.  So the instructions are looked for that begin
functions with large frames.  All that they take is added up, as if each function called the next:
compiled code never calls itself (calls of a kernel's own functions have their frames in the
thread's record).  Bytes that only look like such an instruction make the sum larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

# What is followed by the bytes that are taken, as a number of 32 bits.
_SUBTRACTIONS: Final = (
    b"\x48\x81\xec",  # sub rsp, …
    b"\x49\x89\xe3\x49\x81\xeb",  # mov r11, rsp; sub r11, …: a loop touches each page up to it
)
_ADDITIONS: Final = (
    b"\x48\x81\xc4",  # add rsp, …
    b"\x49\x89\xe3\x49\x81\xc3",  # mov r11, rsp; add r11, …
    b"\x48\x8d\xa4\x24",  # lea rsp, [rsp + …]
    b"\x4c\x8d\x9c\x24",  # lea r11, [rsp + …]
)
_ARM_SUBTRACTION: Final = 0xD1000000  # sub …, …, #…
_ARM_POINTERS: Final = (31, 9)  # sp; x9 is where a loop that touches each page ends
_UNKNOWN: Final = 16  # bytes of stack for one of code: a vector takes 64, storing it more than 4


def taken(objects: Sequence[bytes], triple: str) -> int:
    """The most that code in these object files takes of a stack, in bytes.

    Left out are registers that are put aside, and frames of less than 128 bytes.
    """
    machine = triple.split("-")[0]
    if machine == "x86_64" and "windows" not in triple:
        return sum(sum(_of_x86(code)) for code in objects)
    if machine in ("aarch64", "arm64") and "windows" not in triple:
        return sum(map(_of_arm, objects))
    return _UNKNOWN * sum(map(len, objects))


def _of_x86(code: bytes) -> Iterator[int]:
    for sign, starts in ((1, _SUBTRACTIONS), (-1, _ADDITIONS)):
        for start in starts:
            place = code.find(start)
            while place >= 0:
                after = place + len(start)
                number = int.from_bytes(code[after : after + 4], "little", signed=True) * sign
                yield max(0, number)
                place = code.find(start, place + 1)


def _of_arm(code: bytes) -> int:
    words = np.frombuffer(code, "<u4", len(code) // 4)
    words = words[words & 0xFF800000 == _ARM_SUBTRACTION]
    pointers = np.isin(words & 31, _ARM_POINTERS) & np.isin(words >> 5 & 31, _ARM_POINTERS)
    words = words[pointers]
    return int(((words >> 10 & 0xFFF).astype(np.int64) << (words >> 22 & 1) * 12).sum())
