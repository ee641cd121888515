"""Memory between pages without access: what runs out of it ends the process, and changes nothing.

Every access of compiled code is checked, so nothing should ever get there.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

GUARD: Final = 2 << 20  # bytes without access on either side, as many as a large page has
_LOCAL_GUARD: Final = 64 << 10  # the same for the memory of a worker
_LINE: Final = 64
_NO_ACCESS: Final = 0


@cache
def _mprotect() -> Any:
    """The system's function, or None where there is none."""
    if sys.platform == "win32":
        return None
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function


def guarded(size: int, guard: int = GUARD) -> tuple[mmap.mmap | None, NDArray[np.uint8]]:
    """`size` zeroed bytes and the mapping that they lie in, behind `guard` bytes of it; None on
    systems without.

    A page costs memory when it is first written.  OSError if there is no room.
    """
    protect = _mprotect()
    if protect is None:
        return None, np.zeros(size, np.uint8)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    if sys.platform == "linux":
        flags |= getattr(mmap, "MAP_NORESERVE", 0x4000)  # named from Python 3.13 on
    pages = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    area = mmap.mmap(-1, pages + 2 * guard, flags=flags)
    whole = np.frombuffer(area, np.uint8)
    first = whole.ctypes.data
    for start in (first, first + guard + pages):
        if protect(start, guard, _NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect")
    return area, whole[guard : guard + size]


def local(size: int) -> NDArray[np.uint8]:
    """`size` zeroed bytes from a multiple of 64 on, right before a page without access.

    Plain memory where the system has no more mappings to give.
    """
    whole = -(-size // _LINE) * _LINE
    try:
        area, array = guarded(-(-whole // mmap.PAGESIZE) * mmap.PAGESIZE, _LOCAL_GUARD)
    except OSError:
        area, array = None, np.zeros(whole + _LINE, np.uint8)
    if area is None:
        array = array[-array.ctypes.data % _LINE :]
        return array[:size]
    return array[len(array) - whole :][:size]
