"""Bindless samplers: a bit of GT_MODE says what the Sampler State Pointer of a header counts from.

PRM, "Message Header", M0.3; Mesa's drivers use the other setting: an offset from Dynamic State Base
with sampler index 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu import native
from eumu.device.commands import Command, encode, gpgpu, mi, render
from eumu.device.commands.registers import BINDLESS_BASE_SELECT, GT_MODE
from eumu.errors import Fault
from eumu.runtime.batches import CommandQueue

TEXELS = np.random.default_rng(3).integers(0, 255, (8, 16, 4)).astype(np.uint8)
LANES = np.arange(8)
U, V = (LANES + np.float32(0.75)) / 16, 0.5625  # between texels: filters differ
NEAREST = (TEXELS[4, :8, 0] / 255).astype(np.float32)
SAMPLE_LZ = 0x18 << 12 | 1 << 17 | 1 << 19 | 4 << 20 | 1 << 25  # of 8 lanes, header, 4 registers
BINDLESS = 252
TEXT = """\
.version 3.6
.kernel "bindless"
.decl IMAGE v_type=T num_elts=1
.decl SSP v_type=G type=ud num_elts=1 align=dword
.decl EX v_type=G type=ud num_elts=1 align=dword
.decl DESC v_type=G type=ud num_elts=1 align=dword
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl HEADER v_type=G type=ud num_elts=8 align=GRF
.decl UV v_type=G type=f num_elts=16 align=GRF
.decl OFFSETS v_type=G type=ud num_elts=8 align=GRF
.decl A v_type=G type=uq num_elts=8 align=GRF
.decl R v_type=G type=f num_elts=32 align=GRF
.input IMAGE offset=32 size=4
.input OUT offset=40 size=8
.input SSP offset=48 size=4
.input EX offset=52 size=4
.input DESC offset=56 size=4
.kernel_attr SimdSize=8
    mov (M1_NM, 8) HEADER(0,0)<1> 0x0:ud
    mov (M1_NM, 1) HEADER(0,3)<1> SSP(0,0)<0;1,0>
    mov (M1_NM, 8) UV(0,0)<1> 0x76543210:v
    add (M1_NM, 8) UV(0,0)<1> UV(0,0)<1;1,0> 0.75:f
    mul (M1_NM, 8) UV(0,0)<1> UV(0,0)<1;1,0> 0.0625:f
    mov (M1_NM, 8) UV(1,0)<1> 0.5625:f
    raw_sends.2.1.2.4 (M1, 8) EX(0,0)<0;1,0> {descriptor} HEADER.0 UV.0 R.0
    mov (M1_NM, 8) OFFSETS(0,0)<1> 0x76543210:uv
    mul (M1_NM, 8) OFFSETS(0,0)<1> OFFSETS(0,0)<1;1,0> 0x4:ud
    mov (M1_NM, 8) A(0,0)<1> OFFSETS(0,0)<1;1,0>
    add (M1_NM, 8) A(0,0)<1> A(0,0)<1;1,0> OUT(0,0)<0;1,0>
    svm_scatter.4.1 (M1, 8) A.0 R.0
    ret (M1, 1)
"""


class Textures:
    """An image, and two samplers each of which lies where the other base would find the other."""

    def __init__(self, engine: str) -> None:
        self.device = eumu.Device("skl", engine=engine)
        self.image = self.device.image(TEXELS, format="RGBA8_UNORM")
        heaps = self.device.heaps
        self.slots = [heaps.surfaces.take(64), heaps.dynamic.take(64)]
        while self.slots[0].offset != self.slots[1].offset:  # the same offset from both bases
            behind = min((0, 1), key=lambda k: self.slots[k].offset)
            self.slots.append(self.slots[behind])
            heap = (heaps.surfaces, heaps.dynamic)[behind]
            self.slots[behind] = heap.take(64)
        for slot, name in zip(self.slots, ("linear", "nearest"), strict=False):
            sampler = self.device.sampler(filter=name, address="clamp_to_edge")
            slot.write(sampler.state.encode() * 4)
        self.out = self.device.array(8, np.float32)

    @property
    def pointer(self) -> int:
        return self.slots[0].offset

    @property
    def extended(self) -> int:
        return 2 | 2 << 6 | self.image.slot.offset << 6

    def launch(self, tmp_path: Path, way: str, *, table: bool = False, index: int = 0) -> Any:
        descriptor = SAMPLE_LZ | (0 if table else BINDLESS) | index << 8
        file = tmp_path / "bindless.visaasm"
        file.write_text(TEXT.replace("{descriptor}", f"{descriptor:#x}:ud"))
        kernel = eumu.load(file, device="skl")["bindless"]
        extended = self.extended & 0xFFF if table else self.extended
        arguments = [self.image, self.out, self.pointer, extended, 0]
        kernel.launch(self.device, 8, args=arguments, via=way)
        return self.out.numpy()


def linear() -> Any:
    """The texels' red between two columns and rows."""
    red = TEXELS[:, :, 0].astype(float) / 255
    x, y = U * 16 - 0.5, V * 8 - 0.5
    left, top = np.floor(x).astype(int), int(np.floor(y))
    a, b = x - left, y - top
    rows = [(1 - a) * red[row, left] + a * red[row, left + 1] for row in (top, top + 1)]
    return (1 - b) * rows[0] + b * rows[1]


ENGINES = pytest.mark.parametrize("engine", ["interp", "jit"])
WAYS = pytest.mark.parametrize("way", ["record", "commands"])
# What is filtered how tells the two places apart.
assert abs(linear() - NEAREST).max() > 0.05


@ENGINES
@WAYS
@pytest.mark.parametrize("index", [0, 3])
def test_the_pointer_counts_from_the_dynamic_base(
    engine: str, way: str, index: int, tmp_path: Path
) -> None:
    found = Textures(engine).launch(tmp_path, way, index=index)
    assert np.allclose(found, NEAREST, atol=1e-6)


@ENGINES
@WAYS
@pytest.mark.parametrize("index", [0, 3, 15])
def test_with_the_bit_it_counts_from_the_bindless_base(
    engine: str, way: str, index: int, tmp_path: Path
) -> None:
    """The sampler index is not used."""
    textures = Textures(engine)
    textures.device.bindless_samplers = True
    assert np.allclose(textures.launch(tmp_path, way, index=index), linear(), atol=1 / 255)


@ENGINES
def test_with_the_bit_surfaces_of_the_binding_table_are_refused(
    engine: str, tmp_path: Path
) -> None:
    textures = Textures(engine)
    textures.device.bindless_samplers = True
    with pytest.raises(Fault, match="a bindless sampler needs a bindless surface"):
        textures.launch(tmp_path, "record", table=True)


WRITE = 0xE | 2 << 4  # one channel of 8 lanes, to 64-bit addresses
NATIVE = f"""\
(W) mov (8|M0) r10.0<1>:ud 0:ud
(W) mov (1|M0) r10.3<1>:ud r1.0<0;1,0>:ud
(W) mov (8|M0) r11.0<1>:w 0x76543210:v
(W) mov (8|M0) r12.0<1>:f r11.0<8;8,1>:w
(W) add (8|M0) r12.0<1>:f r12.0<8;8,1>:f 0.75:f
(W) mul (8|M0) r12.0<1>:f r12.0<8;8,1>:f 0.0625:f
(W) mov (8|M0) r13.0<1>:f 0.5625:f
(W) mov (1|M0) a0.2<1>:ud r1.1<0;1,0>:ud
(W) sends (8|M0) r20:ud r10 r12 a0.2 {SAMPLE_LZ | BINDLESS:#x}
(W) mov (8|M0) r29.0<1>:w 0x76543210:uv
(W) mul (8|M0) r29.0<1>:w r29.0<8;8,1>:w 4:w
(W) mov (4|M0) r30.0<1>:uq r29.0<4;4,1>:uw
(W) mov (4|M0) r31.0<1>:uq r29.4<4;4,1>:uw
(W) add (4|M0) r30.0<1>:uq r30.0<4;4,1>:uq r1.1<0;1,0>:uq
(W) add (4|M0) r31.0<1>:uq r31.0<4;4,1>:uq r1.1<0;1,0>:uq
(W) mov (8|M0) r32.0<1>:ud r20.0<8;8,1>:ud
(W) send (8|M0) null:ud r30 0xC {0xFF | WRITE << 8 | 0x19 << 14 | 3 << 25:#x}
(W) send (8|M0) null r127 0x27 0x02000010 {{EOT}}
"""


@ENGINES
@pytest.mark.parametrize(
    ("values", "is_bindless"),
    [
        ([], False),
        ([BINDLESS_BASE_SELECT << 16 | BINDLESS_BASE_SELECT], True),
        ([BINDLESS_BASE_SELECT], False),  # masked: the upper half does not say that it is written
        ([BINDLESS_BASE_SELECT << 16 | BINDLESS_BASE_SELECT, BINDLESS_BASE_SELECT << 16], False),
        ([BINDLESS_BASE_SELECT << 16 | BINDLESS_BASE_SELECT, 0x03000300], True),
    ],
)
def test_native_code_in_a_batch_follows_the_register(
    engine: str, values: list[int], is_bindless: bool
) -> None:
    textures = Textures(engine)
    device, memory = textures.device, textures.device.memory

    def place(data: bytes, name: str) -> int:
        allocation = memory.allocate(max(4096, len(data)), name)
        memory.view(allocation)[: len(data)] = memoryview(data)
        return allocation.start

    heaps = device.heaps
    constants = np.array([textures.pointer, textures.extended], np.uint32).tobytes()
    constants += np.array([textures.out.address], np.uint64).tobytes() + bytes(16)
    descriptor = gpgpu.InterfaceDescriptorData(
        number_of_threads_in_gpgpu_thread_group=1, cross_thread_constant_data_read_length=1
    )
    slot = heaps.dynamic.take(128)
    slot.write(descriptor.encode().ljust(64, b"\0") + constants)
    batch: list[Command] = [
        *(mi.MiLoadRegisterImm(register_offset=GT_MODE, data_dword=value) for value in values),
        render.PipelineSelect(mask_bits=3, pipeline_selection=render.PipelineSelection.GPGPU),
        render.StateBaseAddress(
            dynamic_state_base_address=heaps.dynamic.base,
            dynamic_state_base_address_modify_enable=True,
            bindless_surface_state_base_address=heaps.surfaces.base,
            bindless_surface_state_base_address_modify_enable=True,
            bindless_surface_state_size=0xFFFF,
            instruction_base_address=place(native.encode(native.parse(NATIVE)), "code"),
            instruction_base_address_modify_enable=True,
        ),
        render.PipeControl(
            command_streamer_stall_enable=True, state_cache_invalidation_enable=True
        ),
        gpgpu.MediaVfeState(maximum_number_of_threads=100, curbe_allocation_size=8),
        gpgpu.MediaCurbeLoad(curbe_total_data_length=32, curbe_data_start_address=slot.offset + 64),
        gpgpu.MediaInterfaceDescriptorLoad(
            interface_descriptor_total_length=32,
            interface_descriptor_data_start_address=slot.offset,
        ),
        gpgpu.GpgpuWalker(
            thread_group_id_x_dimension=1,
            thread_group_id_y_dimension=1,
            thread_group_id_z_dimension=1,
            right_execution_mask=0xFF,
            bottom_execution_mask=0xFF,
        ),
        mi.MiBatchBufferEnd(),
    ]
    report = CommandQueue(device).submit(place(encode(batch), "batch"))
    assert report.engines == {engine}
    expected = linear() if is_bindless else NEAREST
    assert np.allclose(textures.out.numpy(), expected, atol=1 / 255)
