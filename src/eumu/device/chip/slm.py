"""Bank conflicts of shared local memory: 16 banks of 4 KB, a dword each per clock.

One access of a thread takes as many clocks as the busiest bank has different dwords; lanes that
name the same dword share it (broadcast).  Which bank an address is in is not documented: here bits
5:2, consecutive dwords in consecutive banks.  See the PRM chapter "SLM Bank Hardware
Implementation".
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.records import dataclass

BANKS: Final = 16


def clocks(addresses: NDArray[np.integer], size: int = 4) -> int:
    """Clocks of one access: `addresses` are the byte addresses of the active lanes, shape (n,).

    Each lane touches `size` bytes; 0 for no lanes.
    """
    if addresses.size == 0:
        return 0
    first = addresses.astype(np.int64) >> 2
    last = (addresses.astype(np.int64) + size - 1) >> 2
    span = int((last - first).max()) + 1
    dwords = np.concatenate([np.minimum(first + k, last) for k in range(span)])
    banks = np.unique(dwords) % BANKS
    return int(np.bincount(banks, minlength=BANKS).max())


@dataclass(slots=True)
class Conflicts:
    """Counters over many accesses; a conflict is a clock beyond the one that an access needs."""

    accesses: int = 0
    clocks: int = 0

    def add(self, addresses: NDArray[np.integer], size: int = 4) -> int:
        """Count one access of a thread; its clocks."""
        spent = clocks(addresses, size)
        if spent:
            self.accesses += 1
            self.clocks += spent
        return spent

    @property
    def conflicts(self) -> int:
        return self.clocks - self.accesses
