"""Arguments and sizes land where the compiled kernels read them.

The offsets are those of the `.input` lines in the kernels' own vISA text.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import pytest

import eumu
from eumu import zebin
from eumu.addresses import SCRATCH_STATE, SURFACE_STATE_BASE
from eumu.errors import ArgumentError, LaunchError, Unsupported
from eumu.exec.grid import Grid
from eumu.exec.state import thread_payloads
from eumu.ir import Function, Input, Root, RootKind
from eumu.platforms import platform
from eumu.runtime.image_arguments import image_tables
from eumu.runtime.ndrange import Range
from eumu.runtime.payload import (
    Addresses,
    Bound,
    bind,
    private_bytes,
    scratch_bytes,
)
from eumu.runtime.payload_layout import payload_bytes
from eumu.runtime.signature import parameters
from eumu.zebin.ze_info import (
    ArgInfo,
    ExecutionEnv,
    KernelInfo,
    PayloadArgument,
    PerThreadMemoryBuffer,
    PerThreadPayloadArgument,
)
from kernels import build

DEVICES = ("pvc", "skl", "apl")
# A kernel that reads nothing has `.input` lines that nothing fills.
KERNELS = [
    *(
        (p.name, d)
        for p in build.PROGRAMS
        for d in DEVICES
        if d not in p.cannot and p.name != "empty"
    )
]


def elf(name: str, device: str) -> zebin.Zebin:
    path = build.BIN / device / f"{name}.bin"
    return zebin.read(path.read_bytes(), path.name)


def bound(info: KernelInfo, device: eumu.Device, *args: Any, **sizes: Any) -> Bound:
    options: dict[str, Any] = {"global_size": (128, 4, 2), "local_size": (32, 2, 1), "offset": 0}
    options |= sizes
    range = Range.of(
        options["global_size"],
        options["local_size"],
        options["offset"],
        platform=device.platform,
        simd_width=info.execution_env.simd_size,
        required=None,
    )
    addresses = Addresses(printf_buffer=0x1111, private_base=0x2222)
    return bind(info, parameters(info), args, range, device.platform, addresses)


def at(found: Bound, visa_offset: int, code: str) -> Any:
    """The values at an offset of the thread payload."""
    offset = visa_offset - found.payload.cross_thread_offset
    return struct.unpack_from("<" + code, found.payload.cross_thread, offset)


def test_stateless_pointers_on_pvc() -> None:
    info = elf("saxpy", "pvc").kernels[0].info
    dev = eumu.Device("pvc")
    x, y = dev.array(8, np.float32), dev.array(16, np.float32)
    found = bound(info, dev, x, y, 2.5, offset=(7, 8, 9))
    assert at(found, 256, "6I") == (7, 8, 9, 32, 2, 1)
    assert at(found, 288, "2Qf3I") == (x.address, y.address, 2.5, 32, 2, 1)
    assert found.payload.local_id_offset == 64
    assert found.payload.local_id_pitch == 64
    assert len(found.payload.r0) == 16
    assert (found.payload.r0[5] >> 4) + SURFACE_STATE_BASE == SCRATCH_STATE
    assert (found.surfaces[1].address, found.surfaces[1].size) == (y.address, 64)


def test_surfaces_on_skl() -> None:
    info = elf("saxpy", "skl").kernels[0].info
    dev = eumu.Device("skl")
    x, y = dev.array(8, np.float32), dev.array(16, np.float32)
    found = bound(info, dev, x, y, 2.5)
    assert at(found, 256, "2Qf3I") == (x.address, y.address, 2.5, 32, 2, 1)
    assert found.payload.local_id_offset == 32
    assert found.payload.local_id_pitch == 64
    assert len(found.payload.r0) == 8
    assert found.payload.r0[5] == 0
    assert {k: (s.address, s.size, s.strict) for k, s in found.surfaces.items()} == {
        0: (x.address, 32, True),
        1: (y.address, 64, True),
    }


def test_a_struct_goes_to_several_places() -> None:
    record = np.zeros(1, "4f4,i4,i1,i1,i2,3f4,(4,)i1,i8")
    info = elf("struct_argument", "pvc").kernels[0].info
    assert record.nbytes == 48
    raw = bytes(range(48))
    dev = eumu.Device("pvc")
    buffers = [dev.array(16, np.uint8) for _ in range(3)]
    found = bound(info, dev, raw, *buffers)
    assert at(found, 312, "24B") == tuple(range(24))  # scale, offset, sign
    assert at(found, 336, "2B") == (22, 23)  # step
    assert at(found, 340, "12B") == tuple(range(24, 36))  # weight
    assert at(found, 352, "8B") == tuple(range(40, 48))  # big
    assert at(found, 360, "Q") == (0x2222,)
    assert scratch_bytes(info) == 2048


def test_vectors_and_small_scalars() -> None:
    info = elf("vector_arguments", "pvc").kernels[0].info
    dev = eumu.Device("pvc")
    buffers = [dev.array(16, np.uint8) for _ in range(2)]
    found = bound(info, dev, [1, 2, 3, 4], [5, 6, 7], [8, 9], -2, -3, 2**63, *buffers)
    assert at(found, 304, "4f3i") == (1, 2, 3, 4, 5, 6, 7)
    assert at(found, 336, "2B") == (8, 9)
    assert at(found, 340, "h") == (-2,)
    assert at(found, 344, "b") == (-3,)
    assert at(found, 352, "Q") == (2**63,)


@pytest.mark.parametrize(("device", "offset"), [("pvc", 288), ("skl", 256)])
def test_local_pointers_follow_static_memory(device: str, offset: int) -> None:
    """The kernel adds the static size; some code takes it for granted that the first gets 0."""
    info = elf("local_pointers", device).kernels[0].info
    dev = eumu.Device(device)
    buffers = [dev.array(16, np.uint8) for _ in range(2)]
    found = bound(info, dev, eumu.Local(10), eumu.Local(100), *buffers)
    assert info.execution_env.slm_size == 32
    assert at(found, offset, "I") == (0,)
    assert at(found, offset + 8, "I") == (12,)
    assert found.slm_bytes == 32 + 112


def test_printf_buffer_and_sizes() -> None:
    dev = eumu.Device("skl")
    printing = elf("print_values", "skl").kernels[0].info
    assert at(bound(printing, dev, dev.array(4, np.float32), 3), 272, "Q") == (0x1111,)
    info = elf("work_items", "skl").kernels[0].info
    found = bound(info, dev, dev.array(4, np.uint32), offset=(1, 2, 3))
    implicit = {
        s.arg_type: struct.unpack_from(f"<{s.size // 4}I", found.payload.cross_thread, s.offset)
        for s in info.payload_arguments
        if s.arg_type not in ("arg_bypointer", "buffer_address", "buffer_offset")
    }
    assert implicit == {
        "global_id_offset": (1, 2, 3),
        "local_size": (32, 2, 1),
        "enqueued_local_size": (32, 2, 1),
        "global_size": (128, 4, 2),
        "group_count": (4, 2, 2),
        "work_dimensions": (3,),
    }


@pytest.mark.parametrize(("name", "device"), KERNELS)
def test_the_payload_covers_every_input_of_every_kernel(name: str, device: str) -> None:
    for kernel in elf(name, device).kernels:
        dev = eumu.Device(device, memory_bytes=1 << 20)
        found = bound(kernel.info, dev, *[_any(p, dev) for p in parameters(kernel.info)])
        for start, size in re.findall(
            r"^\.input \w+ offset=(\d+) size=(\d+)", kernel.visaasm, re.M
        ):
            assert int(start) + int(size) <= found.payload.size
            if int(size) >= 32 and found.payload.local_id_offset == int(start):
                assert found.payload.local_id_pitch % int(size) == 0


def _any(parameter: eumu.Parameter, dev: eumu.Device) -> Any:
    match parameter.passing.value:
        case "buffer":
            return dev.array(16, np.uint8)
        case "local":
            return eumu.Local(64)
    return bytes(parameter.size)


# ---- what is refused


def info_with(*rows: PayloadArgument, **more: Any) -> KernelInfo:
    return KernelInfo(
        "k", ExecutionEnv(simd_size=16, grf_count=128), payload_arguments=rows, **more
    )


def test_a_payload_reaches_as_far_as_it_is_asked_to() -> None:
    dev = eumu.Device("skl")
    range = Range.of(8, 8, 0, platform=dev.platform, simd_width=16, required=None)
    inputs = [Input(Root("V", RootKind.GRF, 32), 0, 64, 6)]
    found = bind(info_with(), (), (), range, dev.platform, Addresses(), inputs=inputs)
    assert found.payload.size == 96


def test_too_much_local_memory() -> None:
    row = PayloadArgument(
        "arg_bypointer", 0, 8, arg_index=0, addrmode="slm", addrspace="local", slm_alignment=4
    )
    dev = eumu.Device("skl")
    assert bound(info_with(row), dev, eumu.Local(65536)).slm_bytes == 65536
    with pytest.raises(LaunchError, match=r"needs 65537 bytes of local memory .* skl has 65536"):
        bound(info_with(row), dev, eumu.Local(65537))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (PayloadArgument("sync_buffer", 0, 8), "takes sync_buffer .the address of the buffer of a"),
        (PayloadArgument("brand_new", 0, 8), "takes brand_new .not known to eumu"),
        (
            PayloadArgument("arg_bypointer", 0, 8, arg_index=0, addrmode="bindless"),
            "argument 0 is passed as a bindless",
        ),
    ],
)
def test_what_is_not_modelled_is_named(row: PayloadArgument, message: str) -> None:
    dev = eumu.Device("skl")
    args = [dev.array(4, np.uint8)] if row.arg_index == 0 else []
    with pytest.raises(Unsupported, match=message):
        bound(info_with(row), dev, *args)


def test_an_image_is_needed() -> None:
    row = PayloadArgument("arg_bypointer", 0, 0, 0, "stateful", "image", image_type="image_2d")
    dev = eumu.Device("skl")
    with pytest.raises(eumu.ArgumentError, match=r"'arg0' .* an image is needed"):
        bound(info_with(row), dev, dev.array(4, np.uint8))


def test_packed_local_ids_are_not_modelled() -> None:
    info = info_with(
        per_thread_payload_arguments=(PerThreadPayloadArgument("packed_local_ids", 0, 6),)
    )
    with pytest.raises(Unsupported, match="takes packed_local_ids"):
        bound(info, eumu.Device("skl"))


def test_memory_of_threads() -> None:
    info = info_with(
        per_thread_memory_buffers=(
            PerThreadMemoryBuffer("global", "private_space", 48, is_simt_thread=True),
            PerThreadMemoryBuffer("global", "private_space", 100),
            PerThreadMemoryBuffer("scratch", "spill_fill_space", 1024),
        )
    )
    assert private_bytes(info) == 48 * 16 + 100
    assert scratch_bytes(info) == 1024


POINTER = info_with(
    PayloadArgument("arg_bypointer", 0, 8, arg_index=0, addrmode="stateless", addrspace="global"),
    args_info=(ArgInfo(0, "__global", "NONE", "float*;8", "NONE", "x"),),
)


def test_a_null_pointer() -> None:
    found = bound(POINTER, eumu.Device("skl"), None)
    assert at(found, found.payload.cross_thread_offset, "Q") == (0,)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, r"pass an array in device memory, from Device.array\(...\), not int 3"),
        (np.zeros(4, np.float32), r"not ndarray array\(\[0., 0."),
        (eumu.Local(8), "not Local Local"),
    ],
)
def test_not_an_array(value: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as error:
        bound(POINTER, eumu.Device("skl"), value)
    assert str(error.value).startswith("kernel k: argument 0 'x' is float*: ")


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int16])
def test_elements_of_another_kind(dtype: Any) -> None:
    dev = eumu.Device("skl")
    array = dev.array(8, dtype)
    with pytest.raises(ArgumentError, match=r"the kernel reads float32; array.view\(np.float32\)"):
        bound(POINTER, dev, array)
    bound(POINTER, dev, array.view(np.float32))


def test_bytes_and_records_pass_as_anything() -> None:
    dev = eumu.Device("skl")
    for dtype in (np.uint8, np.uint32, np.dtype("f4,f4")):
        bound(POINTER, dev, dev.array(8, dtype))


def test_a_local_pointer_needs_a_size() -> None:
    row = PayloadArgument("arg_bypointer", 0, 8, 0, "slm", "local", slm_alignment=4)
    with pytest.raises(ArgumentError, match=r"pass eumu.Local\(nbytes\), not int 64"):
        bound(info_with(row), eumu.Device("skl"), 64)


def test_a_value_is_no_array() -> None:
    dev = eumu.Device("skl")
    info = info_with(PayloadArgument("arg_byvalue", 0, 4, arg_index=0))
    with pytest.raises(ArgumentError, match=r"argument 0 'arg0' is 4 bytes: a value is needed"):
        bound(info, dev, dev.array(1, np.int32))


def test_platform_facts_used_here() -> None:
    assert not platform("skl").scratch_is_surface
    assert platform("pvc").scratch_is_surface


def _newer(inline: int, ids: int, *arguments: PayloadArgument) -> KernelInfo:
    """A kernel of a compiler that leaves out rows of local ids and passes some data inline."""
    return KernelInfo(
        "k",
        ExecutionEnv(simd_size=32, grf_count=128, inline_data_payload_size=inline),
        payload_arguments=arguments,
        per_thread_payload_arguments=(PerThreadPayloadArgument("local_id", 0, ids),),
        args_info=(ArgInfo(0, "__global", type_name="float*;8", name="x"),),
    )


SIZES_AND_POINTER = (
    PayloadArgument("global_id_offset", 0, 12),
    PayloadArgument("enqueued_local_size", 12, 12),
    PayloadArgument("arg_bypointer", 24, 8, 0, "stateless", "global"),
    PayloadArgument("group_count", 32, 12),
)


@pytest.mark.parametrize(("name", "pitch", "behind"), [("bmg", 64, 64), ("dg2", 64, 32)])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_inline_data_has_registers_of_its_own(
    name: str, pitch: int, behind: int, rows: int
) -> None:
    """32 bytes come with the thread; where registers have 64, the rest begins in the next one."""
    dev = eumu.Device(name)
    x = dev.array(8, np.float32)
    info = _newer(32, rows * pitch, *SIZES_AND_POINTER)
    found = bound(info, dev, x)
    start = dev.platform.grf_bytes + rows * pitch
    assert (found.payload.cross_thread_offset, found.payload.local_id_rows) == (start, rows)
    assert at(found, start, "6I") == (0, 0, 0, 32, 2, 1)
    assert at(found, start + 24, "Q") == (x.address,)
    assert at(found, start + behind, "3I") == (4, 2, 2)
    assert payload_bytes(info, dev.platform) == found.payload.size


def test_only_the_rows_of_local_ids_that_there_are() -> None:
    """Two rows, x and y, and right behind them the data of all threads."""
    dev = eumu.Device("bmg")
    info = _newer(0, 128, *SIZES_AND_POINTER)
    payload = bound(info, dev, dev.array(8, np.float32)).payload
    grid = Grid(Function("k", 32, 64), (1, 1, 1), (16, 2, 1), payload)
    (row,) = thread_payloads(grid, 0, 1)
    ids = row[64:192].view(np.uint16).reshape(2, 64 // 2)
    assert (ids == [np.arange(32) % 16, np.arange(32) // 16]).all()
    assert list(row[192:216].view(np.uint32)) == [0, 0, 0, 32, 2, 1]


@pytest.mark.parametrize("size", [32, 96, 256])
def test_other_sizes_of_local_ids_are_refused(size: int) -> None:
    dev = eumu.Device("bmg")
    with pytest.raises(Unsupported, match="one to three rows of 64 are modelled"):
        bound(_newer(0, size, *SIZES_AND_POINTER), dev, dev.array(8, np.float32))


def test_a_bindless_buffer_on_lsc_is_the_offset_of_its_state() -> None:
    dev = eumu.Device("dg2")
    x = dev.array(8, np.float32)
    argument = PayloadArgument("arg_bypointer", 0, 4, 0, "bindless", "global")
    info = _newer(0, 64, argument)
    tables = image_tables(dev, info, [x])
    range = Range.of(32, 32, 0, platform=dev.platform, simd_width=32, required=None)
    found = bind(info, parameters(info), [x], range, dev.platform, Addresses(), tables=tables)
    (handle,) = struct.unpack_from("<I", found.payload.cross_thread)
    surface = found.surfaces[SURFACE_STATE_BASE + handle]
    assert (surface.address, surface.size) == (x.address, 32)
