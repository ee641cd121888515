"""What launches have to do with images and samplers: their rooms are imported for those that have.

Most kernels have none, and the rooms are a tenth of what a short command imports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from eumu.platforms import Platform
from eumu.zebin.ze_info import KernelInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from eumu.runtime.board import Board

# Implicit arguments that name the program's variables, and where these lie.
SECTIONS: Final = {"const_base": ".data.const", "global_base": ".data.global"}
_FACTS: Final = ("image_", "flat_image_", "sampler_")


class Pictured:
    """What an image is to those that do not look into it; see `eumu.runtime.images.Image`."""

    device: Board

    @property
    def name(self) -> str:
        """The name of the image in messages."""
        raise NotImplementedError

    @property
    def is_freed(self) -> bool:
        """Whether its memory has been freed."""
        raise NotImplementedError

    def numpy(self) -> NDArray[Any]:
        """A NumPy copy of the greatest level."""
        raise NotImplementedError

    def label(self, parameter: str) -> None:
        """Call the image by the parameter that it is passed for, unless it has a name."""
        raise NotImplementedError


def is_fact(arg_type: str) -> bool:
    """Whether an implicit argument tells something of an image or a sampler."""
    return arg_type.startswith(_FACTS)


def dropped_reads(info: KernelInfo, target: Platform) -> str:
    """What is wrong with a kernel that reads images on a device without a sampler, or ""."""
    reads = bool(info.inline_samplers) or any(
        slot.addrspace == "sampler"
        or (slot.addrspace == "image" and slot.access_type != "writeonly")
        for slot in info.payload_arguments
    )
    if target.has_sampler or not reads:
        return ""
    return (
        f"kernel {info.name} reads images, and {target} has no sampler: Intel's compiler leaves the"
        " reads out without a word, so what the kernel computes from them is undefined"
    )


def entries(info: KernelInfo, values: Sequence[Any]) -> Iterator[tuple[int, int, Any]]:
    """The binding table: the entry, argument index and value of each row.

    A tuple of images takes as many entries as it has, and those behind it move up.
    """
    more = 0
    for row in info.binding_table_indices:
        if 0 <= row.arg_index < len(values):
            value = values[row.arg_index]
            yield row.bti_value + more, row.arg_index, value
            more += len(value) - 1 if isinstance(value, tuple) else 0


def each(values: Iterable[Any]) -> Iterator[Any]:
    """The values, and in place of a tuple what is in it."""
    for value in values:
        yield from value if isinstance(value, tuple) else (value,)


def needs_tables(info: KernelInfo, values: Sequence[Any]) -> bool:
    """Whether a launch has images, samplers, or surfaces that need a state."""
    spaces = {slot.addrspace for slot in info.payload_arguments}
    surfaces = any(slot.arg_type == "binding_table_entry" for slot in info.payload_arguments)
    bindless = any(slot.addrmode == "bindless" for slot in info.payload_arguments)
    if spaces & {"image", "sampler"} or info.inline_samplers or surfaces or bindless:
        return True
    return any(isinstance(v, Pictured) for v in each(values))
