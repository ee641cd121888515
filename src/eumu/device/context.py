"""A stopped grid in memory, laid out as the PRM's context image.

Resident groups have hardware threads: those that dispatch gave them when all started at once.
Shared local memory stands in the bank of the group's subslice or pool, groups one behind the other;
a thread's state in its 8 KB slot.  A vISA thread may hold more than that, since its variables are
not yet in the 128 registers of the machine: what does not fit stands behind the image, rest after
rest, then what belongs to no single thread.

A slot, and the rest of it: the size of the state in the first dword, then the state.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eumu.device.chip import ContextImage, Part
from eumu.device.chip.context_image import SLM_STRIDE, THREAD_STRIDE
from eumu.device.dispatch import Needs, Placement, place
from eumu.errors import LaunchError
from eumu.exec.snapshot import Snapshot
from eumu.records import dataclass

_HEADER = 4
_MAGIC = b"eumu context 1\0\0"


@dataclass(frozen=True, slots=True)
class Residents:
    """Where the groups that run at once on a part are."""

    image: ContextImage
    needs: Needs
    placements: tuple[Placement, ...]

    @classmethod
    def of(cls, part: Part, needs: Needs, pool_map: int | None = None) -> Residents:
        """As many groups as fit the subslices or pools, and the banks of shared local memory."""
        image = ContextImage(part)
        probe = place(part, needs, [], pool_map)
        count = sum(o.groups for o in probe.occupancy)
        placements = place(part, needs, [[1] * needs.threads] * count, pool_map).placements
        if needs.slm_bytes:
            placements = _that_fit_banks(placements, part, needs)
        return cls(image, needs, tuple(p for p in placements if p.start == 0))

    @property
    def groups(self) -> int:
        """How many groups are resident at most."""
        return len(self.placements)

    def slm_address(self, index: int) -> int:
        """Offset of the shared local memory of a resident group."""
        bank = self._bank(index)
        before = sum(self._bank(k) == bank for k in range(index))
        return self.image.slm(bank) + before * self.needs.slm_bytes

    def _bank(self, index: int) -> int:
        return self.placements[index].pool % self.image.part.slm_banks

    def slot(self, index: int, thread: int) -> int:
        """Offset of the slot of a thread of a resident group."""
        slot = self.placements[index].slots[thread]
        return self.image.thread(slot.unit, slot.thread)


def _that_fit_banks(
    placements: tuple[Placement, ...], part: Part, needs: Needs
) -> tuple[Placement, ...]:
    """Subslices that share a bank share its 64 KB."""
    room = [SLM_STRIDE] * part.slm_banks
    fitting = []
    for placement in placements:
        bank = placement.pool % part.slm_banks
        if room[bank] >= needs.slm_bytes:
            room[bank] -= needs.slm_bytes
            fitting.append(placement)
    return tuple(fitting)


def context_bytes(residents: Residents, snapshot: Snapshot) -> int:
    """Bytes that a snapshot takes: the image and what stands behind it."""
    rest: int = max(0, _HEADER + snapshot.threads.shape[1] - THREAD_STRIDE)
    tail = len(_tail(snapshot))
    return residents.image.size + rest * len(snapshot.threads) + tail


def _tail(snapshot: Snapshot) -> bytes:
    shared = snapshot.shared.encode()
    sizes = snapshot.threads.shape[1], snapshot.slm.shape[1], len(shared)
    numbers = snapshot.first, snapshot.groups, snapshot.instructions, *sizes
    return _MAGIC + np.array(numbers, "<u8").tobytes() + shared


def save(residents: Residents, snapshot: Snapshot, memory: NDArray[np.uint8]) -> None:
    """Write a snapshot into memory that starts at the context image's base; `context_bytes` of it.

    LaunchError if there are more groups than are resident.
    """
    if snapshot.groups > residents.groups:
        raise LaunchError(
            f"{snapshot.groups} groups are to be saved; {residents.groups} fit"
            f" {residents.image.part.name}"
        )
    size, per_group = snapshot.threads.shape[1], residents.needs.threads
    in_slot = min(size, THREAD_STRIDE - _HEADER)
    behind = residents.image.size
    for row, data in enumerate(snapshot.threads):
        at = residents.slot(*divmod(row, per_group))
        memory[at : at + _HEADER] = np.frombuffer(np.uint32(size).tobytes(), np.uint8)
        memory[at + _HEADER : at + _HEADER + in_slot] = data[:in_slot]
        memory[behind : behind + size - in_slot] = data[in_slot:]
        behind += size - in_slot
    for index, data in enumerate(snapshot.slm if residents.needs.slm_bytes else ()):
        at = residents.slm_address(index)
        memory[at : at + len(data)] = data
    tail = np.frombuffer(_tail(snapshot), np.uint8)
    memory[behind : behind + len(tail)] = tail


def load(residents: Residents, memory: NDArray[np.uint8]) -> Snapshot:
    """The snapshot that `save` wrote; LaunchError if there is none."""
    if len(memory) < residents.image.size:
        raise LaunchError(
            f"a context of {residents.image.part.name} has {residents.image.size:#x} bytes;"
            f" these are {len(memory):#x}"
        )
    size, count = _measure(residents, memory)
    per_group = residents.needs.threads
    in_slot = min(size, THREAD_STRIDE - _HEADER)
    threads = np.zeros((count * per_group, size), np.uint8)
    behind = residents.image.size
    for row in range(len(threads)):
        at = residents.slot(*divmod(row, per_group))
        threads[row, :in_slot] = memory[at + _HEADER : at + _HEADER + in_slot]
        threads[row, in_slot:] = memory[behind : behind + size - in_slot]
        behind += size - in_slot
    first, groups, instructions, _, slm_size, length = _numbers(memory, behind)
    text = behind + len(_MAGIC) + 48
    places = [residents.slm_address(k) for k in range(groups if residents.needs.slm_bytes else 0)]
    if length > len(memory) - text or slm_size > len(memory) - max(places, default=0):
        raise LaunchError("the context that is saved here is longer than its memory")
    slm = np.zeros((groups, slm_size), np.uint8)
    for index, at in enumerate(places):
        slm[index] = memory[at : at + slm_size]
    try:
        shared = memory[text : text + length].tobytes().decode()
    except UnicodeDecodeError:
        raise LaunchError("the context that is saved here is damaged") from None
    return Snapshot(first, groups, instructions, threads, slm, shared)


def _measure(residents: Residents, memory: NDArray[np.uint8]) -> tuple[int, int]:
    """Bytes of a thread's state, and the number of groups."""
    at = residents.slot(0, 0)
    size = int.from_bytes(memory[at : at + _HEADER].tobytes(), "little")
    rest = max(0, size - (THREAD_STRIDE - _HEADER))
    for count in range(1, residents.groups + 1):
        behind = residents.image.size + rest * count * residents.needs.threads
        if memory[behind : behind + len(_MAGIC)].tobytes() == _MAGIC:
            if len(memory) < behind + len(_MAGIC) + 48:
                break
            _, groups, _, used, *_ = _numbers(memory, behind)
            some = 0 < groups <= residents.groups
            if used == size and some and (groups == count or not rest):
                return size, groups
    raise LaunchError("no context of this kernel is saved here")


def _numbers(memory: NDArray[np.uint8], at: int) -> tuple[int, int, int, int, int, int]:
    start = at + len(_MAGIC)
    words = np.frombuffer(memory[start : start + 48].tobytes(), "<u8")
    first, groups, instructions, size, slm, length = words.tolist()
    return first, groups, instructions, size, slm, length
