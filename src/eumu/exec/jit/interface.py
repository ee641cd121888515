"""Between what makes code and what runs it: what code is made for, and what is known of it.

Most launches find their code on disk.  The host (`host`) imports this file and the layout of the
memory that both share (`llvm.layout`); the compiler (`analysis`, `codegen`, `driver`) it imports
when there is something to compile.
"""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.llvm.lanes import Shape
from eumu.records import dataclass

# What sites of these operations say.
MESSAGE: Final = "message"
SEND: Final = "send"
UNLIKELY: Final = "unlikely send"  # one that is enabled if something else fails
REPORT: Final = "report"


@dataclass(frozen=True, slots=True)
class HostTarget:
    """What lowering must know of the host's instruction set."""

    half_conversions: bool = True
    half_arithmetic: bool = False  # x86's AVX512-FP16
    masked_stores: bool = True  # of 4- and 8-byte lanes
    gathers: bool = True  # loads of a vector of addresses are worth it
    scatters: bool = False  # and stores to one, of dwords
    octet_products: bool = False  # sums of four products of octets, x86's AVX512-VNNI
    embedded_rounding: bool = False  # instructions can name their rounding mode
    is_arm: bool = False
    fenced_bytes: bool = False  # LLVM never ends on 64 bytes of arithmetic, some of them repeated


@dataclass(frozen=True, slots=True)
class FaultSite:
    """A place that can fault: its instruction, and its operation as an index in a block."""

    inst: int
    block: int
    op: int
    what: str


@dataclass(frozen=True, slots=True)
class MemberIds:
    """Local ids, in one dimension, of threads that run abreast: of each the first one of each group
    of lanes.  They are counted from the first thread's first one unless those are `all` threads."""

    heads: tuple[tuple[int, ...], ...]
    all: bool


@dataclass(frozen=True, slots=True)
class Special:
    """What code is specialised on.

    `local_ids` has, per dimension, the shape of every thread's ids, or None; it is empty unless
    every thread of a group is full.  The bytes `common` of the payload are the same in all threads.
    `own_payloads` and `own_lanes` say that each thread has some.
    """

    full_threads: bool
    local_ids: tuple[Shape | None, ...]
    local_id_offset: int
    local_id_pitch: int
    common: range
    slm_bytes: int
    scratch_bytes: int
    r0: tuple[int | None, ...]  # None for what is not certain
    own_payloads: bool = False
    own_lanes: bool = False
    members: int = 0  # threads of a group that may run abreast, see `driver.abreast`
    member_ids: tuple[MemberIds | None, ...] = ()  # of these, by dimension, where they are known
    paranoid: bool = False  # every access is asserted, see `llvm.paranoid`


@dataclass(frozen=True, slots=True)
class Module:
    """LLVM text, and what the engine must know of it."""

    text: str
    support: tuple[str, ...]  # texts of objects that are linked beside it, see `codegen.shared`
    sites: tuple[FaultSite, ...]
    record_size: int
    resumable: bool
    waiting: tuple[int, ...]  # blocks where lanes may wait; their masks, when a barrier
    waiting_offset: int  # diverges, are left in the record from this byte on
    is_tiled: bool  # whether the order of threads is free, see `driver.tiling`
    waits: bool  # whether a group may wait for another one
