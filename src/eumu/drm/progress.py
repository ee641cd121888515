"""The page of counters that both processes have: what the engine has done of each context.

A dword counts events and is a futex, on which the shim's threads sleep.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import time
from typing import Final

from eumu.drm.protocol import CONTROL_BYTES

_FUTEX: Final = 202  # the number of the system call on x86-64
_WAKE: Final = 1
_LOOK_S: Final = 0.01
_ALL: Final = (1 << 31) - 1
_WORDS: Final = 4  # of a context
_DONE, _FAULTED, _TOLD = 0, 1, 2
_LIBC: Final = ctypes.PyDLL(None)  # waking does not wait, so no other thread need run meanwhile


class Progress:
    """Counters in a file of `CONTROL_BYTES`."""

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, CONTROL_BYTES)
        self._event = ctypes.c_uint32.from_buffer(self._map)
        self._words = (ctypes.c_uint64 * ((CONTROL_BYTES - 64) // 8)).from_buffer(self._map, 64)
        self._lock = threading.Lock()

    def done(self, context: int, sequence: int) -> None:
        """Submissions of a context up to this one have ended, one way or the other."""
        self._words[_WORDS * context + _DONE] = sequence
        self._wake()

    def faulted(self, context: int, sequence: int) -> None:
        """That submission made a fault: the context hangs, and nobody waits for it any longer."""
        self._words[_WORDS * context + _FAULTED] = sequence
        self._wake()

    def wait_until_told(self, context: int, seconds: float) -> None:
        """Wait until the shim has said once more that the context hangs, or so long."""
        place, end = _WORDS * context + _TOLD, time.monotonic() + seconds
        before = self._words[place]
        while self._words[place] == before and time.monotonic() < end:
            time.sleep(_LOOK_S)

    def _wake(self) -> None:
        with self._lock:
            self._event.value = (self._event.value + 1) & 0xFFFFFFFF
        _LIBC.syscall(_FUTEX, ctypes.byref(self._event), _WAKE, _ALL, None, None, 0)
