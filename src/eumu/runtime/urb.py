"""The URB of a device: rows of 16 bytes that every thread of every launch may write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eumu.addresses import URB_SURFACE
from eumu.exec.grid import BufferSurface
from eumu.ir import Function

if TYPE_CHECKING:
    from eumu.runtime.device import Device

__all__ = ["ROWS", "names_urb", "urb_surface"]

ROWS: Final = 4096  # 64 KiB, the least that a chip has


def names_urb(function: Function) -> bool:
    """Whether the surface's number is a constant of the function, for whatever purpose."""
    return any(
        op.name == "const" and op.attrs["lanes"] == (URB_SURFACE,)
        for block in function.blocks
        for op in block.ops
    )


def urb_surface(device: Device) -> dict[int, BufferSurface]:
    """What a function finds the URB by."""
    return {URB_SURFACE: BufferSurface(device.urb.address, device.urb.nbytes)}
