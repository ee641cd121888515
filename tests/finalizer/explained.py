"""Where the finalizer's code and the vISA text differ, or it cannot run, and whose fault that is.

Each row is looked at by a test: one that does not differ any more is an error, too.
"""

from __future__ import annotations

from typing import Final

# Run files: stem -> why what the finalizer makes is not what the text says.
RUN_FILES: Final = {
    "wide": "madw: the second register of the result is not written; the carry is lost",
    "sad": "sad2add becomes sad2 and an add of all lanes, so that odd lanes change",
    "switchjmp": "an index past the last label jumps behind the table, which has no check",
    "stack_calls": "each function is a file of code of its own, which a loader has to link",
    "loads": "legacy load and sample ask for four registers where the header leaves one channel",
    "analytics": "va_skl_plus copies 32 offsets under the execution mask of 8 lanes",
    "scratch": "scratch space becomes surfaces 251 and 255, which a driver has to bind",
}
# Run files that end their threads themselves: nothing reaches the end of the harness.
WITHOUT_END: Final = frozenset({"after_others", "end_of_thread"})
# Run files that the finalizer refuses as text and as an object file: its own words.
REFUSED: Final = {
    "math_macros": "syntax error, unexpected IDENT",
    "atomics": "syntax error, unexpected DOT, expecting ATOMIC_SUB_OP",
}
