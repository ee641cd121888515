"""Puts arguments and sizes where the kernel expects them: the launch side of `.ze_info`.

Offsets count from the start of the cross-thread data, which follows r0 and the local ids.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from eumu.addresses import BINDLESS_SHIFT, SCRATCH_HANDLE, SURFACE_STATE_BASE
from eumu.errors import LaunchError, Unsupported
from eumu.exec.grid import BufferSurface, Payload
from eumu.ir import Input
from eumu.platforms import Platform
from eumu.records import dataclass
from eumu.runtime.array import Array, Local
from eumu.runtime.image_needs import SECTIONS, Pictured, entries, is_fact
from eumu.runtime.ndrange import Range
from eumu.runtime.parameters import Parameter, Passing, element_type
from eumu.runtime.payload_layout import (
    end_of_data,
    local_ids,
    start_in_argument,
    with_inline_register,
)
from eumu.runtime.thread_space import PLACE_IN_GROUP
from eumu.runtime.wanted import refuse_unmodelled
from eumu.zebin.ze_info import ARG_TYPES, KernelInfo, PayloadArgument

if TYPE_CHECKING:
    from eumu.runtime.tables import BindlessBuffer, Tables


@dataclass(frozen=True, slots=True)
class Addresses:
    """Device addresses of what a launch has besides its arguments; 0 where there is none."""

    printf_buffer: int = 0
    private_base: int = 0
    const_base: int = 0
    global_base: int = 0
    implicit_arguments: int = 0


@dataclass(frozen=True, slots=True)
class Bound:
    """A kernel with its arguments: what a grid needs beyond code and sizes."""

    payload: Payload
    surfaces: dict[int, BufferSurface]
    slm_bytes: int


def scratch_bytes(info: KernelInfo) -> int:
    """Scratch space of one thread."""
    return sum(b.size for b in info.per_thread_memory_buffers if b.type == "scratch")


def private_bytes(info: KernelInfo) -> int:
    """Private memory in global memory for one hardware thread."""
    lanes = info.execution_env.simd_size
    buffers = [b for b in info.per_thread_memory_buffers if b.type == "global"]
    return sum(b.size * (lanes if b.is_simt_thread else 1) for b in buffers)


def bind(
    info: KernelInfo,
    parameters: Sequence[Parameter],
    args: Sequence[Any],
    range: Range,
    platform: Platform,
    addresses: Addresses,
    *,
    strict: bool = True,
    inputs: Sequence[Input] = (),
    tables: Tables | None = None,
) -> Bound:
    """Check the arguments and lay out the payload, which has all that the code reads.

    The caller has seen to it that there are as many arguments as parameters and that arrays
    belong to the right device.
    """
    refuse_unmodelled(info)
    binder = _Binder(info, parameters, args, range, addresses, platform, tables)
    binder.fill()
    cross_thread = with_inline_register(bytes(binder.cross_thread), info, platform, inputs)
    if binder.slm_bytes > platform.max_slm_bytes:
        raise LaunchError(
            f"kernel {info.name} needs {binder.slm_bytes} bytes of local memory for each group"
            f" ({info.execution_env.slm_size} of its own, the rest from Local arguments);"
            f" {platform} has {platform.max_slm_bytes}"
        )
    grf = platform.grf_bytes
    per_thread, pitch, id_rows = local_ids(info, grf)
    start = grf + per_thread
    reach = max((i.payload_offset + i.size for i in inputs), default=0)
    end = max(len(cross_thread), reach - start)
    cross_thread += bytes(-(-end // grf) * grf - len(cross_thread))
    r0 = [0] * (grf // 4)
    if platform.scratch_is_surface:
        r0[5] = SCRATCH_HANDLE << 4  # the offset of the state
        if info.execution_env.has_stack_calls:
            r0[0] = _NO_PLACE
    if tables is not None:
        r0[3], r0[4] = tables.pointers.sampler_table, tables.pointers.binding_table
    payload = Payload(
        *(tuple(r0), grf if pitch else None, pitch, start, cross_thread),
        numbers_threads=platform.numbers_threads,
        local_id_rows=id_rows,
        tables_vary=tables is not None,
    )
    return Bound(payload, binder.surfaces(strict), binder.slm_bytes)


def slm_code(size: int) -> int:
    """How descriptors say a size of shared local memory: 0 for none, else n for 512 << n bytes."""
    return (max(size, 1024) - 1).bit_length() - 9 if size else 0


def allotted_slm(size: int, platform: Platform) -> int:
    """The bytes of shared local memory that a group has on hardware which asks for `size`."""
    return min(512 << slm_code(size), platform.max_slm_bytes) if size else 0


# In place of the offset of implicit arguments.  Functions by the compiler of 2022 add it to offsets
# into %scratch on DG2, where newer ones name the structure; they are to end with a fault.
_NO_PLACE: Final = 0x7FFF_FFC0
_QWORD: Final = (1 << 64) - 1
_BUFFERS: Final = ("global", "constant")  # address spaces


@dataclass(slots=True)
class _Binder:
    info: KernelInfo
    parameters: Sequence[Parameter]
    args: Sequence[Any]
    range: Range
    addresses: Addresses
    platform: Platform
    tables: Tables | None
    cross_thread: bytearray = field(default_factory=bytearray)
    slm_bytes: int = 0
    _values: dict[int, bytes] = field(default_factory=dict)

    def fill(self) -> None:
        for parameter, value in zip(self.parameters, self.args, strict=True):
            self._check(parameter, value)
        env = self.info.execution_env
        if env.slm_alloc_mode:
            self.slm_bytes = env.slm_size
        self.cross_thread = bytearray(end_of_data(self.info))
        for slot in sorted(self.info.payload_arguments, key=_slm_order):
            data = self._slot(slot)[: slot.size]
            self.cross_thread[slot.offset : slot.offset + len(data)] = data
        if not env.slm_alloc_mode:
            self.slm_bytes += env.slm_size

    def _check(self, parameter: Parameter, value: Any) -> None:
        """Raises unless the value suits the parameter; encodes those by value."""
        match parameter.passing:
            case Passing.VALUE:
                if isinstance(value, (Array, Local)):
                    raise parameter.error(f"a value is needed, not {_words(value)}")
                self._values[parameter.index] = parameter.encode(value)
            case Passing.BUFFER:
                _check_buffer(parameter, value)
            case Passing.ADDRESS:
                if isinstance(value, Array):
                    self._values[parameter.index] = struct.pack("<Q", value.address)
                else:
                    self._values[parameter.index] = parameter.encode(value)
            case Passing.LOCAL:
                if not isinstance(value, Local):
                    raise parameter.error(
                        f"a pointer to local memory; pass eumu.Local(nbytes), not {_words(value)}"
                    )
            case Passing.IMAGE | Passing.SAMPLER:
                from eumu.runtime.image_arguments import check_image_argument

                check_image_argument(parameter, value)

    def _slot(self, slot: PayloadArgument) -> bytes:
        if slot.addrmode == "bindless" and slot.arg_type in SECTIONS:
            return self._buffer_handle(SECTIONS[slot.arg_type])
        implicit = _IMPLICIT.get(slot.arg_type)
        if implicit is not None:
            return implicit(self)
        if is_fact(slot.arg_type):
            from eumu.runtime.image_arguments import image_fact

            return image_fact(slot, self.args[slot.arg_index])
        match slot.arg_type:
            case "arg_byvalue":
                start = start_in_argument(slot)
                return self._values[slot.arg_index][start : start + slot.size]
            case "arg_bypointer":
                return self._pointer(slot)
            case "inline_sampler" if slot.addrmode == "bindless":
                return self._sampler_handle(slot)
            case "buffer_address":
                return struct.pack("<Q", self._address(slot.arg_index))
            case "buffer_offset":
                return bytes(slot.size)  # the surface starts at the array's first byte
            case "binding_table_entry":  # of a surface variable in plain vISA text
                return struct.pack("<I", self._entry(slot.arg_index))
            case "buffer_size":
                return struct.pack("<Q", self._size(slot.arg_index))
        meaning = ARG_TYPES.get(slot.arg_type, "not known to eumu")
        raise Unsupported(f"kernel {self.info.name} takes {slot.arg_type} ({meaning})")

    def _pointer(self, slot: PayloadArgument) -> bytes:
        match slot.addrmode:
            case "stateful" if slot.addrspace == "sampler":
                numbers = {} if self.tables is None else self.tables.sampler_numbers
                number = numbers.get(slot.sampler_index, slot.sampler_index)
                return struct.pack("<Q", number)  # of a variable in plain vISA text
            case "stateful":
                return b""
            case "stateless":
                return struct.pack("<Q", self._address(slot.arg_index))
            case "slm":
                return self._slm(slot)
            case "bindless" if slot.addrspace == "image":
                return self._handle(self.args[slot.arg_index].slot.offset)
            case "bindless" if slot.addrspace == "sampler":
                return self._sampler_handle(slot)
            case "bindless" if slot.addrspace in _BUFFERS:
                return self._buffer_handle(slot.arg_index)
        raise Unsupported(
            f"kernel {self.info.name}: argument {slot.arg_index} is passed as"
            f" a {slot.addrmode} {slot.addrspace} pointer"
        )

    def _sampler_handle(self, slot: PayloadArgument) -> bytes:
        handles = {} if self.tables is None else self.tables.handles
        return struct.pack("<Q", handles[slot.sampler_index].offset)

    def _buffer_handle(self, key: int | str) -> bytes:
        buffer = self._bindless().get(key)
        return bytes(8) if buffer is None else self._handle(buffer.state.offset)

    def _bindless(self) -> Mapping[int | str, BindlessBuffer]:
        return {} if self.tables is None else self.tables.bindless

    def _handle(self, offset: int) -> bytes:
        """What names a state in the bindless heap."""
        return struct.pack("<Q", offset << (0 if self.platform.has_lsc else BINDLESS_SHIFT))

    def _slm(self, slot: PayloadArgument) -> bytes:
        """The offset of the next piece of local memory.

        Offsets begin at 0 behind the kernel's own local memory, whose size the kernel adds; with
        `slm_alloc_mode` the size is in them.
        """
        align = max(slot.slm_alignment, 1)
        start = -(-self.slm_bytes // align) * align
        local: Local = self.args[slot.arg_index]
        self.slm_bytes = start + local.nbytes
        return struct.pack("<Q", start & _QWORD)  # `bind` refuses what is more than there is

    def _address(self, index: int) -> int:
        value = self.args[index]
        return value.address if isinstance(value, Array) else 0

    def _size(self, index: int) -> int:
        value = self.args[index]
        return value.nbytes if isinstance(value, Array) else 0

    def _entry(self, index: int) -> int:
        return next(entry for entry, arg, _ in entries(self.info, self.args) if arg == index)

    def surfaces(self, strict: bool) -> dict[int, BufferSurface]:
        """The binding table: what the kernel names by an index; a null pointer has no surface."""
        table = {}
        slots = self.info.payload_arguments
        constants = {slot.arg_index for slot in slots if slot.addrspace == "constant"}
        for entry, index, _ in entries(self.info, self.args):
            if self._address(index):
                place = self._address(index), self._size(index)
                table[entry] = BufferSurface(*place, strict, index in constants)
        for key, buffer in self._bindless().items():
            place = buffer.array.address, buffer.array.nbytes
            surface = BufferSurface(*place, strict, key in constants)
            table[SURFACE_STATE_BASE + buffer.state.offset] = surface
        return table


def _slm_order(slot: PayloadArgument) -> tuple[bool, int]:
    """Pointers to local memory get theirs in the order of the arguments."""
    is_slm = slot.addrmode == "slm"
    return is_slm, slot.arg_index if is_slm else 0


def _check_buffer(parameter: Parameter, value: Any) -> None:
    if value is None:
        return
    if parameter.type_name == "surface":
        images = value if isinstance(value, tuple) else (value,)
        if images and all(isinstance(image, Pictured) for image in images):
            return
    if not isinstance(value, Array):
        raise parameter.error(
            f"pass an array in device memory, from Device.array(...), not {_words(value)}"
        )
    element = element_type(parameter.type_name.removesuffix("*"))
    dtype = value.dtype
    if element is None or dtype.kind not in "iuf" or dtype.itemsize == 1:
        return
    wanted = element[0]
    same_kind = dtype.kind == "u" or (dtype.kind == "f") == (wanted.kind == "f")
    if dtype.itemsize != wanted.itemsize or not same_kind:  # unsigned: any bits of that size
        raise parameter.error(
            f"the array has elements of {dtype}, the kernel reads {wanted};"
            f" array.view(np.{wanted}) passes its bytes as they are"
        )


def _three(sizes: tuple[int, int, int]) -> bytes:
    return struct.pack("<3I", *sizes)


_IMPLICIT: Final[dict[str, Callable[[_Binder], bytes]]] = {
    "global_id_offset": lambda b: _three(b.range.offset),
    "local_size": lambda b: _three(b.range.group_size),
    "enqueued_local_size": lambda b: _three(b.range.local_size),
    "global_size": lambda b: _three(b.range.global_size),
    "group_count": lambda b: _three(b.range.group_count),
    PLACE_IN_GROUP: lambda b: _three((0, 0, 0)),  # each thread gets its own
    # Where the data lies that the thread's inline data has no room for: code before vISA loads it.
    "indirect_data_pointer": lambda b: struct.pack("<Q", 0),
    "scratch_pointer": lambda b: struct.pack("<Q", SCRATCH_HANDLE),
    "work_dimensions": lambda b: struct.pack("<I", b.range.dimensions),
    "printf_buffer": lambda b: struct.pack("<Q", b.addresses.printf_buffer),
    "private_base_stateless": lambda b: struct.pack("<Q", b.addresses.private_base),
    "implicit_arg_buffer": lambda b: struct.pack("<Q", b.addresses.implicit_arguments),
    "const_base": lambda b: struct.pack("<Q", b.addresses.const_base),
    "global_base": lambda b: struct.pack("<Q", b.addresses.global_base),
}


def _words(value: Any) -> str:
    if isinstance(value, Array):
        return f"the array {value.name}"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"
