"""What one memory operation accesses."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from eumu.addresses import BTI_SLM, SCRATCH_STATE
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.llvm.lanes import Lanes, vector_of_affine
from eumu.ir import Space
from eumu.ir.operations import memory as operations
from eumu.records import dataclass

_RESERVED = {BTI_SLM: Space.SLM, SCRATCH_STATE: Space.SCRATCH}


@dataclass(frozen=True, slots=True)
class CompiledAccess:
    """One memory operation: `size` bytes at each lane's address."""

    space: Space
    address: Lanes
    mask: Lanes
    size: int
    site: int
    surface: str  # an i64
    store: bool
    is_rare: bool = False  # that it is no run of lanes


def access_of(
    k: KernelLowering, op: operations.Access | operations.Follow, *, store: bool
) -> CompiledAccess:
    """Read the common arguments of a memory operation, or of what follows one."""
    space, surface = op.space, "0"
    if space is Space.SURFACE:
        surface = k.e.op(f"zext i32 {k.vector(op.args[-1])} to i64")
        bits = k.lanes(op.args[-1]).bits
        if bits is not None:
            surface = str(bits[0])
            space = _RESERVED.get(bits[0], space)
    site = k.site(op.inst, "store" if store else "load")
    address, mask = k.lanes(op.args[0]), k.lanes(op.args[1])
    if k.is_assured:
        address = replace(address, vector=None, affine=k.assured[k.block, k.place])
        address.make = partial(_vector_of, k, address)
    for lanes in (address, mask):
        if not cold_is_right(lanes, mask):
            lanes.get()  # here, as the cold path follows
    return CompiledAccess(space, address, mask, op.size, site, surface, store)


def _vector_of(k: KernelLowering, lanes: Lanes, cold: bool) -> str:
    assert lanes.affine is not None
    return vector_of_affine(k.e, lanes.type, lanes.affine)


def cold_is_right(lanes: Lanes, mask: Lanes) -> bool:
    """Whether what a cold path would make again is right in all lanes of the mask."""
    return mask.executing or lanes.affine is None or not lanes.affine.shape.active


def cold_vector(lanes: Lanes, mask: Lanes) -> str:
    """A vector for a cold path, right in all lanes of the access's mask."""
    return lanes.cold() if cold_is_right(lanes, mask) else lanes.get()
