"""Maps the program's memory where the program has it; quick to import."""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Final

from eumu.beside.door import ProtocolError

_PAGE: Final = 4096
_LEAST: Final = 1 << 20
_ADDRESS_END: Final = 1 << 47
_FIXED_NOREPLACE: Final = 0x100000
_NORESERVE: Final = 0x4000
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
]


def map_file(fd: int, base: int, size: int) -> None:
    """Map the program's file where the program has it.

    ProtocolError if that is no place for it.
    """
    if base % _PAGE or size % _PAGE or size < _LEAST or not _PAGE <= base <= _ADDRESS_END - size:
        raise ProtocolError(f"{size} bytes of memory at {base:#x}")
    if os.fstat(fd).st_size < size:
        raise ProtocolError(f"the file of the memory has {os.fstat(fd).st_size} bytes, not {size}")
    how = mmap.MAP_SHARED | _NORESERVE | _FIXED_NOREPLACE
    made = _LIBC.mmap(base, size, mmap.PROT_READ | mmap.PROT_WRITE, how, fd, 0)
    if made != base:
        why = os.strerror(ctypes.get_errno())
        raise ProtocolError(f"the memory of the program cannot be mapped at {base:#x} here: {why}")
