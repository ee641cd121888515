"""Messages of compiled code whose descriptors are known at run time only.

The interpreter does them, in the memory of the worker that runs the thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eumu.exec.gate import Admitted
from eumu.exec.state import ThreadState
from eumu.ir.operations.messages import Send

if TYPE_CHECKING:
    from eumu.exec.interp.sends import Sends


class Composed:
    """The messages of one launch; to be asked for one at a time."""

    def __init__(self, admitted: Admitted) -> None:
        self.admitted, self.grid = admitted, admitted.grid
        self._memory: dict[int, tuple[NDArray[np.uint8], NDArray[np.uint8]]] = {}
        self._sends: dict[tuple[int, int], Sends] = {}

    def prepare(self, worker: int, slm: NDArray[np.uint8], scratch: NDArray[np.uint8]) -> None:
        """Say which memory a worker has: its group's, and the scratch space of its threads."""
        self._memory[worker] = slm, scratch

    def answer(
        self,
        op: Send,
        place: tuple[int, int],
        group: int,
        thread: int,
        arguments: list[NDArray[Any]],
    ) -> NDArray[Any] | None:
        """Do a message of a thread of a group; `place` is the number of the worker and the site.

        Arguments are those of the operation, [1, lanes]; raises `Fault`.
        """
        from eumu.exec.interp.values import ALL, Run

        sends = self._sends.get(place)
        if sends is None:
            sends = self._sends[place] = self._make(op, place[0])
        sends.site.first_group = group
        ex_desc, desc, enabled, mask, *registers = arguments
        with np.errstate(all="ignore"):
            run = Run(0, np.array([thread]), 1, ALL)
            return sends.answer(run, ex_desc, desc, enabled, mask, registers)

    def _make(self, op: Send, worker: int) -> Sends:
        from eumu.exec.interp.compile import compile_block
        from eumu.exec.interp.sends import Sends
        from eumu.exec.interp.site import BlockSite

        (slm, scratch), threads = self._memory[worker], self.grid.threads_per_group
        nothing = np.zeros((threads, 0), np.uint8)
        state = ThreadState.allocate(self.grid, 0)
        state.groups = 1
        state.slm = slm[None, : self.grid.slm_bytes]
        room = self.grid.scratch_bytes
        state.scratch = scratch[: room * threads].reshape(threads, room)
        state.slm_written = state.scratch_written = nothing
        site = BlockSite(self.admitted, state)
        site.note_offsets(next(b for b in self.grid.function.blocks if any(o is op for o in b.ops)))
        return Sends(op, site, compile_block, is_alone=len(self._memory) == 1)
