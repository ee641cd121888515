"""Where the state of a stopped grid lies in memory: shared local memory, then the threads.

The formula is that of the PRM chapter "GPGPU Context Switch".  Numbers of subslices and units are
counted over those that work, so that the image has no gaps; the slot of a thread is 8 KB, whose
inside is not documented (`eumu.exec.state` has ours).
"""

from __future__ import annotations

from typing import Final

from eumu.device.chip.parts import Part, Unit
from eumu.errors import LaunchError
from eumu.records import dataclass

SLM_STRIDE: Final = 0x10000  # A: one bank
THREAD_STRIDE: Final = 0x2000  # D


@dataclass(frozen=True, slots=True)
class ContextImage:
    """The image of a part at byte address `base` (GPGPU_CSR_BASE_ADDRESS, 4 KB aligned)."""

    part: Part
    base: int = 0

    def __post_init__(self) -> None:
        if self.base % 4096:
            raise LaunchError(f"GPGPU_CSR_BASE_ADDRESS {self.base:#x} is not 4 KB aligned")
        bound = self.part.image_bound
        if bound is not None and self.size > bound:
            raise LaunchError(
                f"the context image of {self.part.name} takes {self.size:#x} bytes;"
                f" the bound is {bound:#x}"
            )

    @property
    def eu_stride(self) -> int:
        """C: the threads of a unit."""
        return THREAD_STRIDE * self.part.threads_per_eu

    @property
    def subslice_stride(self) -> int:
        """B: the units of a subslice."""
        return self.eu_stride * self.part.eus_per_subslice

    @property
    def threads_start(self) -> int:
        """Offset of the first thread's slot: behind the banks of shared local memory."""
        return SLM_STRIDE * self.part.slm_banks

    @property
    def size(self) -> int:
        """Bytes of the whole image."""
        return self.threads_start + self.subslice_stride * len(self.part.enabled)

    def slm(self, bank: int) -> int:
        """Address of a bank's 64 KB."""
        if not 0 <= bank < self.part.slm_banks:
            raise LaunchError(
                f"{self.part.name} has banks 0 to {self.part.slm_banks - 1}, not {bank}"
            )
        return self.base + SLM_STRIDE * bank

    def thread(self, unit: Unit, thread: int, offset: int = 0) -> int:
        """Address of byte `offset` in the slot of a hardware thread."""
        if unit not in self.part.units:
            raise LaunchError(f"{self.part.name} has no working {unit}")
        if not 0 <= thread < self.part.threads_per_eu or not 0 <= offset < THREAD_STRIDE:
            raise LaunchError(f"no byte {offset} of thread {thread} in the context image")
        subslice = self.part.enabled.index(unit.subslice)
        place = self.subslice_stride * subslice + self.eu_stride * unit.eu
        return self.base + self.threads_start + place + THREAD_STRIDE * thread + offset
