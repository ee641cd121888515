"""What the streamer hands to dispatch: one record for each command that starts threads."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from eumu.device.commands.gpgpu import InterfaceDescriptorData, SliceDisable
from eumu.device.commands.packet import CommandError
from eumu.records import dataclass

GRF = 32  # bytes
Dim3 = tuple[int, int, int]
_BUFFERS: Final = {
    "general": "General State Buffer Size",
    "dynamic": "Dynamic State Buffer Size",
    "indirect": "Indirect Object Buffer Size",
    "instruction": "Instruction Buffer Size",
}


@dataclass(frozen=True, slots=True)
class Bases:
    """STATE_BASE_ADDRESS as it stands, byte addresses; and the table of 3DSTATE_CHROMA_KEY.

    The sizes are what may be reached from a base, None without a limit; `bindless_surfaces` counts
    states.  `bindless_samplers` is Bindless Surface Base Address Select of GT_MODE.  With `is_gen8`
    state objects are those of Gen8.
    """

    general: int = 0
    surface: int = 0
    dynamic: int = 0
    indirect: int = 0
    instruction: int = 0
    bindless: int = 0
    chroma_keys: tuple[tuple[int, int], ...] = ((0, 0),) * 4
    bindless_samplers: bool = False
    general_size: int | None = None
    dynamic_size: int | None = None
    indirect_size: int | None = None
    instruction_size: int | None = None
    bindless_surfaces: int | None = None
    is_gen8: bool = False

    def reach(self, base: str, offset: int, size: int, what: str) -> int:
        """The address of so many bytes at an offset from a base; CommandError behind its buffer."""
        limit: int | None = getattr(self, f"{base}_size")
        if limit is not None and offset + size > limit:
            name = _BUFFERS[base]
            raise CommandError(
                f"{what} reaches {size} bytes at {offset:#x}; {name} is {limit:#x}", name
            )
        address: int = getattr(self, base)
        return address + offset


@dataclass(frozen=True, slots=True)
class WalkerJob:
    """GPGPU_WALKER with all that its threads get.

    `kernel` is the address of the code.  Groups go from `first` to `last` (exclusive), x fastest;
    each has `threads` threads of `simd` lanes.  `cross_thread` is the same for all threads,
    `per_thread` has one string for each thread of a group.  `right_mask` and `bottom_mask` are the
    lanes of the last thread in a row and of the last row.  `scratch` is address and bytes a thread,
    `pool_map` the thread pools of MEDIA_POOL_STATE, None in legacy mode.
    """

    kernel: int
    descriptor: InterfaceDescriptorData
    bases: Bases
    simd: int
    first: Dim3
    last: Dim3
    counters: Dim3  # threads of a group: width, height, depth
    right_mask: int
    bottom_mask: int
    cross_thread: bytes = field(repr=False)
    per_thread: tuple[bytes, ...] = field(repr=False)
    scratch: tuple[int, int] = (0, 0)
    pool_map: int | None = None
    slices: SliceDisable = SliceDisable.ALL_SUBSLICES_ENABLED

    @property
    def threads(self) -> int:
        width, height, depth = self.counters
        return width * height * depth

    @property
    def counts(self) -> Dim3:
        """Groups in x, y and z."""
        x, y, z = (max(0, b - a) for a, b in zip(self.first, self.last, strict=True))
        return x, y, z

    @property
    def groups(self) -> int:
        x, y, z = self.counts
        return x * y * z

    @property
    def slm_bytes(self) -> int:
        """From the size code of the interface descriptor."""
        code = int(self.descriptor.shared_local_memory_size)
        return 1 << code + 9 if code else 0

    @property
    def binding_table(self) -> int:
        """Address of the binding table."""
        return self.bases.surface + self.descriptor.binding_table_pointer

    @property
    def sampler_table(self) -> int:
        """Address of the first SAMPLER_STATE."""
        return self.bases.dynamic + self.descriptor.sampler_state_pointer

    def lanes(self, thread: int) -> int:
        """The execution mask of a thread of a group, a bit per lane."""
        width, height, _ = self.counters
        mask = (1 << self.simd) - 1
        if thread % width == width - 1:
            mask &= self.right_mask
        if thread // width % height == height - 1:
            mask &= self.bottom_mask
        return mask


@dataclass(frozen=True, slots=True)
class MediaThread:
    """One thread of the media pipeline; `data` follows r0: CURBE, then inline or indirect data."""

    x: int
    y: int
    color: int
    data: bytes = field(repr=False)
    group: int | None = None


@dataclass(frozen=True, slots=True)
class MediaJob:
    """A MEDIA_OBJECT command; `after` lists for each thread the indices that it waits for.

    `ends_group` is End of Thread Group of MEDIA_OBJECT_GRPID, `waits` where the threads are that
    the scoreboard makes its thread wait for.  `destination` is the slice and the subslice that
    Force Destination asks for, `slices` is Slice Disable of MEDIA_VFE_STATE.
    """

    command: str
    kernel: int
    descriptor: InterfaceDescriptorData
    bases: Bases
    threads: tuple[MediaThread, ...]
    after: tuple[tuple[int, ...], ...]
    scratch: tuple[int, int] = (0, 0)
    pool_map: int | None = None
    ends_group: bool = False
    waits: tuple[tuple[int, int], ...] = ()
    destination: tuple[int, int] | None = None
    slices: SliceDisable = SliceDisable.ALL_SUBSLICES_ENABLED

    def waves(self) -> tuple[tuple[MediaThread, ...], ...]:
        """Threads in the order in which they can run: none waits for one of its own wave, or of a
        later one.  A group runs as a whole, and the groups of a wave have the same size.

        CommandError for threads that wait for one of their own group.
        """
        units: list[list[int]] = []
        home: list[int] = []  # of each thread, its place in `units`
        for index, thread in enumerate(self.threads):
            same = index and thread.group is not None
            if not (same and thread.group == self.threads[index - 1].group):
                units.append([])
            units[-1].append(index)
            home.append(len(units) - 1)
        levels: list[int] = []
        for number, unit in enumerate(units):
            waited = {home[k] for index in unit for k in self.after[index]}
            if number in waited:
                raise CommandError(
                    f"{self.command}: Use Scoreboard makes a thread wait for one of its own thread"
                    " group, whose threads run at once",
                    "Use Scoreboard",
                )
            levels.append(1 + max((levels[k] for k in waited), default=-1))
        by_wave: dict[tuple[int, int], list[MediaThread]] = {}
        for unit, level in zip(units, levels, strict=True):
            by_wave.setdefault((level, len(unit)), []).extend(self.threads[k] for k in unit)
        return tuple(tuple(by_wave[key]) for key in sorted(by_wave))
