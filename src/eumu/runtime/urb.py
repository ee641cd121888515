"""The URB of a device: rows of 16 bytes that every thread of every launch may write."""

from __future__ import annotations

from eumu.addresses import URB_SURFACE
from eumu.exec.grid import BufferSurface
from eumu.ir import Function
from eumu.ir.operations.lanes import Const
from eumu.runtime.board import Board


def names_urb(function: Function) -> bool:
    """Whether the surface's number is a constant of the function, for whatever purpose."""
    return any(
        isinstance(op, Const) and op.lanes == (URB_SURFACE,)
        for block in function.blocks
        for op in block.ops
    )


def urb_surface(device: Board) -> dict[int, BufferSurface]:
    """What a function finds the URB by."""
    return {URB_SURFACE: BufferSurface(device.urb.address, device.urb.nbytes)}
