"""The rules of the PRM excerpt on sampler state and message headers, one test each by its id.

X: what the excerpt says in two ways, and which of them is meant.
S: "Surface State Fetch", "Sampler State Fetch", "Bindless Sampler State", "State Caching".
H: "Message Header" of the 3D sampler.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.addresses import SURFACE_STATE_BASE
from eumu.device.functions import SharedFunctions
from eumu.device.sampler.header import Header, OutputFormat
from eumu.device.state.cache import StaleState, StateCache
from eumu.device.state.fields import StateError
from eumu.device.state.sampler import SamplerState
from eumu.device.state.surface import SurfaceState
from eumu.exec.host import Refusal
from eumu.messages import PARAMETERS, FlushStateCaches, Sample8x8, SamplerMessage
from eumu.runtime.tables import Tables

DATA = np.arange(64, dtype=np.float32).reshape(4, 4, 4)


class Bench:
    """A device, an image at a binding-table index, and messages to it."""

    def __init__(self, **image: Any) -> None:
        self.device = eumu.Device("skl", engine="interp")
        given: dict[str, Any] = {"data": DATA, "format": "RGBA32_FLOAT", **image}
        self.image = self.device.image(given.pop("data"), **given)
        self.bti = 7
        self.sampler = self.device.sampler(address="repeat")
        self.tables = self.make({3: self.sampler})

    def make(self, samplers: dict[int, Any]) -> Tables:
        states = {k: (s.state, s.border) for k, s in samplers.items()}
        return Tables(self.device.heaps, {self.bti: self.image.slot}, states, [self.image])

    def send(
        self,
        operation: str = "sample_lz",
        parameters: tuple[Any, ...] = (0.4, 0.4),
        *,
        header: Header | None = None,
        surface: int | None = None,
        sampler: int = 3,
        simd: int = 8,
        results: int = 4,
        preemptible: bool = False,
    ) -> list[np.ndarray[Any, Any]]:
        """The response of one thread, float lanes."""
        count, has_header = len(parameters), header is not None
        record = SamplerMessage(
            operation, simd, count, has_header, results, 32, preemptible, simd == 2
        )
        arguments = [np.array([[self.bti if surface is None else surface]], np.uint32)]
        if record.uses_sampler:
            arguments.append(np.array([[sampler]], np.uint32))
        if header is not None:
            arguments.append(np.frombuffer(header.encode(), np.uint32)[None, :])
        kind = np.uint32 if operation.startswith(("ld", "res")) else np.float32
        arguments += [np.full((1, simd), p, kind) for p in parameters]
        functions = SharedFunctions(
            self.device.memory, self.tables.pointers, self.device.heaps.caches
        )
        mask = np.ones((1, simd), bool)
        found = functions.message(record, np.array([0]), mask, arguments)
        return [x.view(np.float32) for x in found]

    def header(self, **fields: Any) -> Header:
        return Header(sampler_state_pointer=self.tables.pointers.sampler_table, **fields)


@pytest.fixture
def bench() -> Bench:
    return Bench()


TEXEL = DATA[1, 1].tolist()


def first(response: list[np.ndarray[Any, Any]]) -> list[float]:
    return [float(x[0, 0]) for x in response]


# ---- state


def test_s1_surface_and_sampler_states_are_cached_apart(bench: Bench) -> None:
    surfaces, samplers = bench.device.heaps.caches.surfaces, bench.device.heaps.caches.samplers
    for _ in range(3):
        bench.send()
    bench.send("ld", (1, 1))
    assert (surfaces.counters.misses, surfaces.counters.hits) == (1, 3)
    assert (samplers.counters.misses, samplers.counters.hits) == (1, 2)


def test_s1_a_cache_of_limited_size_drops_the_oldest() -> None:
    cache: StateCache[bytes] = StateCache("state", capacity=2)
    for address in (1, 2, 1, 3, 1, 2):
        cache.get(address, b"x", bytes)
    assert (cache.counters.misses, cache.counters.evictions) == (4, 2)


def test_s2_the_binding_table_is_relative_to_surface_state_base(bench: Bench) -> None:
    pointers = bench.tables.pointers
    entry = pointers.surface_state_base + pointers.binding_table + 4 * bench.bti
    memory = bench.device.memory
    raw = memory.arena[entry - memory.base : entry - memory.base + 4].view(np.uint32)[0]
    assert pointers.surface_state_base + int(raw) == bench.image.slot.address
    assert pointers.binding_table < 1 << 16 and pointers.binding_table % 32 == 0
    assert Bench().tables.pointers.binding_table % 32 == 0


@pytest.mark.parametrize("index", [252, 253, 254, 255, 256])
def test_s3_reserved_binding_table_indices_name_no_surface(bench: Bench, index: int) -> None:
    with pytest.raises(Refusal, match=f"binding-table index {index}"):
        bench.send(surface=index)


def test_s3_every_other_index_selects_its_entry(bench: Bench) -> None:
    for index in (0, 100, 251):
        bench.bti = index
        bench.tables = bench.make({3: bench.sampler})
        assert first(bench.send()) == TEXEL


def test_s4_the_entry_points_to_the_surface_state(bench: Bench) -> None:
    other = bench.device.image(DATA[:, ::-1].copy(), format="RGBA32_FLOAT")
    bench.image.slot.write(other.state.encode())
    assert first(bench.send()) == DATA[1, 2].tolist()


def test_s4_a_surface_outside_memory_is_an_error(bench: Bench) -> None:
    wrong = SurfaceState(surface_base_address=1 << 40, surface_pitch=15)
    bench.image.slot.write(wrong.encode())
    with pytest.raises(Refusal, match=r"Surface Base Address .* is 0x10000000000"):
        bench.send()


def test_s5_the_header_or_the_command_stream_points_to_the_samplers(bench: Bench) -> None:
    without = bench.send(parameters=(1.4, 0.4))
    with_header = bench.send(parameters=(1.4, 0.4), header=bench.header())
    assert first(without) == first(with_header) == TEXEL
    clamp = bench.make({3: bench.device.sampler(address="clamp_to_edge")})
    pointer = clamp.pointers.sampler_table
    other = bench.send(parameters=(1.4, 0.4), header=Header(sampler_state_pointer=pointer))
    assert first(other) == DATA[1, 3].tolist()


def test_s5_the_table_has_sixteen_samplers(bench: Bench) -> None:
    with pytest.raises(Refusal, match="sampler index 16 is outside a table of 16"):
        bench.send(sampler=16)


def test_s6_bindless_samplers_need_bindless_surfaces(bench: Bench) -> None:
    heaps = bench.device.heaps
    slot = heaps.surfaces.take(SamplerState.size())
    slot.write(bench.device.sampler(address="repeat").state.encode())
    bindless = SURFACE_STATE_BASE + slot.offset
    surface = SURFACE_STATE_BASE + bench.image.slot.offset
    assert first(bench.send(surface=surface, sampler=bindless, parameters=(1.4, 0.4))) == TEXEL
    with pytest.raises(Refusal, match="a bindless sampler needs a bindless surface"):
        bench.send(sampler=bindless)


def _overwrite(bench: Bench, state: SurfaceState) -> None:
    """Change memory behind the cache's back."""
    slot = bench.image.slot
    memory = slot.heap.array.memory
    memory[slot.offset : slot.offset + 64] = np.frombuffer(state.encode(), np.uint8)


def _other_state(bench: Bench) -> SurfaceState:
    bench.other = bench.device.image(DATA + 100, format="RGBA32_FLOAT")  # type: ignore[attr-defined]
    return bench.other.state  # type: ignore[attr-defined,no-any-return]


def test_s7_state_is_stale_until_it_is_invalidated(bench: Bench) -> None:
    changed = _other_state(bench)
    bench.send()
    _overwrite(bench, changed)
    with pytest.warns(StaleState, match="the surface state at .* was changed in memory"):
        assert first(bench.send()) == TEXEL
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert first(bench.send()) == TEXEL  # once is enough
    assert bench.device.heaps.caches.surfaces.counters.stale == 2
    bench.device.invalidate_states()
    assert first(bench.send()) == [x + 100 for x in TEXEL]


def test_s7_a_message_flushes_the_cache(bench: Bench) -> None:
    changed = _other_state(bench)
    bench.send()
    _overwrite(bench, changed)
    functions = SharedFunctions(
        bench.device.memory, bench.tables.pointers, bench.device.heaps.caches
    )
    functions.message(FlushStateCaches(), np.array([0]), np.ones((1, 1), bool), [])
    assert first(bench.send()) == [x + 100 for x in TEXEL]


def test_s8_a_new_base_address_invalidates_nothing(bench: Bench) -> None:
    bench.send()
    caches = bench.device.heaps.caches
    bench.tables = bench.make({3: bench.sampler})  # as a driver does, with an invalidation
    assert len(caches.surfaces) == 0
    bench.send()
    elsewhere = SharedFunctions(bench.device.memory, bench.tables.pointers, caches)
    assert elsewhere is not None and len(caches.surfaces) == 1


def test_s9_a_changed_sampler_state_is_stale_too(bench: Bench) -> None:
    bench.send()
    pointers = bench.tables.pointers
    memory, size = bench.device.memory, SamplerState.size()
    place = pointers.dynamic_state_base + pointers.sampler_table + 3 * size - memory.base
    state = bench.device.sampler(address="clamp_to_edge").state
    memory.arena[place : place + size] = np.frombuffer(state.encode(), np.uint8)
    with pytest.warns(StaleState, match="the sampler state"):
        assert first(bench.send(parameters=(1.4, 0.4))) == TEXEL
    bench.device.invalidate_states()
    assert first(bench.send(parameters=(1.4, 0.4))) == DATA[1, 3].tolist()


def test_x1_both_hops_are_relative_to_surface_state_base(bench: Bench) -> None:
    """The excerpt once says "Sampler State Base" of the second; no other base plays a part."""
    pointers = replace(bench.tables.pointers, dynamic_state_base=0, bindless_surface_state_base=0)
    functions = SharedFunctions(bench.device.memory, pointers, bench.device.heaps.caches)
    record = SamplerMessage("ld", 8, 2, False, 4, 32)
    arguments = [np.array([[bench.bti]], np.uint32), *[np.ones((1, 8), np.uint32)] * 2]
    found = functions.message(record, np.array([0]), np.ones((1, 8), bool), arguments)
    assert first([x.view(np.float32) for x in found]) == TEXEL


def test_x2_a_surface_state_has_512_bits(bench: Bench) -> None:
    """The excerpt once says 256; where the texels lie is in the second half."""
    assert SurfaceState.size() == 64 and bench.image.slot.address % 64 == 0
    other = bench.device.image(DATA + 100, format="RGBA32_FLOAT")
    mixed = bench.image.state.encode()[:32] + other.state.encode()[32:]
    bench.image.slot.write(mixed)
    assert first(bench.send("ld", (1, 1))) == [x + 100 for x in TEXEL]


# ---- headers


def test_h0_without_a_header_every_field_is_zero(bench: Bench) -> None:
    assert first(bench.send()) == first(bench.send(header=bench.header()))
    assert Header().encode() == bytes(32)
    assert Header().channels == (0, 1, 2, 3) and Header().offsets == (0, 0, 0)


def test_h1_a_response_has_as_many_parts_as_the_message_expects(bench: Bench) -> None:
    with pytest.raises(Refusal, match="the response has 4 parts, the message expects 0"):
        bench.send(results=0)  # only sample_8x8 writes to memory itself


class Scaler:
    """A picture that AVS copies, pixel by pixel, and surfaces that it is copied to."""

    def __init__(self) -> None:
        self.device = eumu.Device("skl", engine="interp")
        self.pixels = np.random.default_rng(7).integers(0, 256, (6, 20, 4), np.uint8)
        self.picture = self.device.media_image(self.pixels, format="R8G8B8A8_UNORM")
        copy = np.tile([0, 0, 0, 1, 0, 0, 0, 0], (32, 1))
        self.state = self.device.media_sampler(phases=copy)

    def send(
        self, targets: dict[int, Any], place: tuple[int, int] = (0, 0), registers: int = 0,
        **fields: Any,
    ) -> np.ndarray[Any, Any]:  # fmt: skip
        """The bytes of the response, for the pixels from (0, 0) on."""
        slots = {1: self.picture.slot, **{k: image.slot for k, image in targets.items()}}
        kept = [self.picture, *targets.values()]
        tables = Tables(self.device.heaps, slots, {}, kept, {2: self.state})
        header = Header(
            destination_x_address=place[0],
            destination_y_address=place[1],
            sampler_state_pointer=tables.pointers.sampler_table,
            **fields,
        )
        m0 = np.frombuffer(header.encode(), np.uint32)
        payload = np.zeros((1, 8), np.float32)
        payload[0, 2:6] = 0.5 / 20, 0.5 / 6, 1 / 20, 1 / 6
        number = tables.sampler_numbers[2]
        return self.ask(tables.pointers, m0, payload, (1, number), registers)

    def ask(
        self, pointers: Any, m0: Any, payload: Any, places: tuple[int, int], registers: int
    ) -> np.ndarray[Any, Any]:
        """The response to a message with a surface's and a sampler's index."""
        functions = SharedFunctions(self.device.memory, pointers, self.device.heaps.caches)
        numbers = ([[places[0]]], [[places[1]]])
        arguments = [np.array(n, np.uint32) for n in numbers]
        arguments += [m0[None, :], payload.view(np.uint32)]
        found = functions.message(
            Sample8x8(registers), np.array([0]), np.ones((1, 1), bool), arguments
        )
        if not registers:
            assert found == []
            return np.zeros(0, np.uint8)
        whole = np.concatenate([np.ascontiguousarray(x).view(np.uint8) for x in found], 1)
        return np.asarray(whole[0])


@pytest.fixture
def scaler() -> Scaler:
    return Scaler()


def test_s6_states_of_the_media_sampler_are_bindless_too(scaler: Scaler) -> None:
    heaps = scaler.device.heaps
    slot = heaps.surfaces.take(scaler.state.size)
    slot.write(scaler.state.state.encode()[: scaler.state.size])
    m0 = np.frombuffer(Header(sampler_state_pointer=slot.offset).encode(), np.uint32)
    payload = np.zeros((1, 8), np.float32)
    payload[0, 2:6] = 0.5 / 20, 0.5 / 6, 1 / 20, 1 / 6
    surface = SURFACE_STATE_BASE + scaler.picture.slot.offset
    plain = scaler.send({}, registers=16)
    pointers = replace(heaps.pointers(0, 0, None), bindless_samplers=True)
    assert (scaler.ask(pointers, m0, payload, (surface, 5), 16) == plain).all()
    with pytest.raises(Refusal, match="a bindless sampler needs a bindless surface"):
        scaler.ask(pointers, m0, payload, (1, 5), 16)


def test_h1_sample_8x8_writes_memory_itself(scaler: Scaler) -> None:
    target = scaler.device.image((8, 32), format="R8_UINT")
    scaler.send({5: target}, destination_binding_table_index=5, output_format=5)
    want = np.zeros((8, 32), np.uint8)
    want[:4, :16] = scaler.pixels[:4, :16, 1]
    assert (target.numpy() == want).all()
    with pytest.raises(Refusal, match="the response has 512 bytes, the message expects 32"):
        scaler.send({}, registers=1)
    registers = scaler.send({}, registers=16).view(np.uint16).reshape(4, 4, 16)
    assert (registers == np.moveaxis(scaler.pixels[:4, :16].astype(int), 2, 0) * 257).all()


@pytest.mark.parametrize("code", range(32))
def test_h2_output_formats(code: int) -> None:
    data = bytearray(32)
    data[20] = code
    if code in {int(f) for f in OutputFormat}:
        assert Header.decode(bytes(data)).output_format == code
        return
    with pytest.raises(StateError, match=rf"Output Format \(dword 5 bits 4:0\) is {code}"):
        Header.decode(bytes(data))


# The bytes of two pixels: luma, the other luma, Cb (blue), Cr (red).
PACKED = {0: "Y B Z R", 1: "R Y B Z", 2: "Y R Z B", 3: "B Y R Z"}


@pytest.mark.parametrize("code", PACKED)
def test_h2_packed_pictures(scaler: Scaler, code: int) -> None:
    target = scaler.device.image((8, 64), format="R8_UINT")
    scaler.send({5: target}, (8, 3), destination_binding_table_index=5, output_format=code)
    want = np.zeros((8, 64), np.uint8)
    for y in range(4):
        for x in range(0, 16, 2):
            red, luma, blue, _ = scaler.pixels[y, x]
            named = {"Y": luma, "Z": scaler.pixels[y, x + 1, 1], "B": blue, "R": red}
            first = 8 + 2 * x
            want[3 + y, first : first + 4] = [named[n] for n in PACKED[code].split()]
    assert (target.numpy() == want).all()
    names = ("YCRCB_NORMAL", "YCRCB_SWAPUVY", "YCRCB_SWAPUV", "YCRCB_SWAPY")
    words = np.ascontiguousarray(want[3:7, 8:40]).view(np.uint32)
    read = scaler.device.image(words, format=names[code]).texels()  # as the sampler reads it
    even = scaler.pixels[:4, :16].copy()
    even[:, 1::2, [0, 2]] = even[:, ::2, [0, 2]]
    assert (np.rint(read[..., :3] * 255) == even[..., :3]).all()


def test_h2_a_planar_picture(scaler: Scaler) -> None:
    target = scaler.device.image(np.zeros((12, 32), np.uint8), format="PLANAR_420_8")
    scaler.send({5: target}, (4, 2), destination_binding_table_index=5, output_format=4)
    want = np.zeros((12, 32), np.uint8)
    want[2:6, 4:20] = scaler.pixels[:4, :16, 1]
    want[9:11, 4:20:2] = scaler.pixels[:4:2, :16:2, 2]
    want[9:11, 5:20:2] = scaler.pixels[:4:2, :16:2, 0]
    assert (target.numpy() == want).all()
    with pytest.raises(Refusal, match=r"Destination Y Address .* is odd"):
        scaler.send({5: target}, (4, 1), destination_binding_table_index=5, output_format=4)


@pytest.mark.parametrize("code", [6, 17])
def test_h2_wide_numbers_are_no_picture(scaler: Scaler, code: int) -> None:
    target = scaler.device.image((8, 64), format="R8_UINT")
    with pytest.raises(Refusal, match=r"Output Format .* AVS writes octets"):
        scaler.send({5: target}, destination_binding_table_index=5, output_format=code)
    with pytest.raises(Refusal, match=r"Green Write Channel Mask .* leaves out a channel"):
        scaler.send(
            {5: target}, destination_binding_table_index=5, output_format=5,
            green_write_channel_mask=True,
        )  # fmt: skip


def test_h3_reserved_bits_are_ignored() -> None:
    assert Header.decode(bytes(20) + b"\xe0\xff\xff\xff" + bytes(8)) == Header()


@pytest.mark.parametrize("place", [(0, 0), (12, 3), (64, 9)])
def test_h4_destination_addresses(scaler: Scaler, place: tuple[int, int]) -> None:
    x, y = place
    header = Header(destination_x_address=x, destination_y_address=y)
    assert header.encode()[16:20] == (x | y << 16).to_bytes(4, "little")
    target = scaler.device.image((16, 96), format="R8_UINT")
    more = {"destination_binding_table_index": 5, "output_format": 5}
    scaler.send({5: target}, place, **more)
    assert (target.numpy()[y : y + 4, x : x + 16] == scaler.pixels[:4, :16, 1]).all()
    for beside in (1, 2, 3):
        with pytest.raises(Refusal, match=f"at byte {x + beside} of a row, no multiple of 4"):
            scaler.send({5: target}, (x + beside, y), **more)


def test_h5_the_sampler_state_pointer_does_not_matter_to_loads(bench: Bench) -> None:
    nowhere = Header(sampler_state_pointer=0xFFFF_FFF0)
    assert first(bench.send("ld", (1, 1), header=nowhere)) == TEXEL
    bench.send("resinfo", (0,), header=nowhere)
    with pytest.raises(Refusal, match=r"SAMPLER_STATE at .* is outside every allocation"):
        bench.send(header=nowhere)
    low = bytearray(bench.header().encode())
    low[12] |= 0xF  # bits 3:0 are ignored
    assert Header.decode(bytes(low)) == bench.header()


def test_h6_destination_binding_table_index(scaler: Scaler) -> None:
    assert Header(destination_binding_table_index=0xAB).encode()[11] == 0xAB
    targets = {k: scaler.device.image((8, 32), format="R8_UINT") for k in (5, 0xAB)}
    scaler.send(targets, destination_binding_table_index=0xAB, output_format=5)
    assert targets[0xAB].numpy().any() and not targets[5].numpy().any()
    with pytest.raises(Refusal, match="binding-table index 254"):
        scaler.send(targets, destination_binding_table_index=254, output_format=5)


def test_h7_pixel_null_mask(bench: Bench) -> None:
    header = bench.header(pixel_null_mask_enable=True)
    response = bench.send(header=header, results=5)
    assert response[4].view(np.uint32).tolist() == [[0xFF]]
    with pytest.raises(Refusal, match=r"Pixel Null Mask Enable .* must be 0 for SIMD32"):
        bench.send(header=header, results=5, simd=32)


def test_h8_simd_mode_extension(bench: Bench) -> None:
    assert Header(simd_mode_extension=1).encode()[10] == 0x40  # type: ignore[arg-type]
    pair: dict[str, Any] = {"simd": 2, "results": 5}
    response = bench.send(header=bench.header(simd_mode_extension=1), **pair)
    assert first(response)[:4] == TEXEL  # SIMD4x2; the fifth says which channels were written
    with pytest.raises(eumu.Unsupported, match="SIMD8D"):
        bench.send(header=bench.header(simd_mode_extension=0), **pair)
    assert first(bench.send(header=bench.header(simd_mode_extension=1))) == TEXEL  # ignored


def test_h9_bits_20_and_21_are_ignored() -> None:
    assert Header.decode(bytes(8) + b"\0\0\x30\0" + bytes(20)) == Header()


def test_h10_output_format_control(bench: Bench) -> None:
    header = bench.header(output_format_control=2)
    assert first(bench.send(header=header)) == TEXEL  # ignored by other messages


@pytest.mark.parametrize("control", range(4))
def test_h10_output_format_control_of_sample_8x8(scaler: Scaler, control: int) -> None:
    is_octets, is_halved = control >> 1, control & 1
    want = np.moveaxis(scaler.pixels[:4, :16].astype(int), 2, 0) * (1 if is_octets else 257)
    parts = [plane[:, :: 1 + (is_halved and k in (0, 2))] for k, plane in enumerate(want)]
    whole = np.concatenate([p.reshape(-1) for p in parts])
    registers = whole.size * (1 if is_octets else 2) // 32
    got = scaler.send({}, registers=registers, output_format_control=control)
    assert got.view(np.uint8 if is_octets else np.uint16).tolist() == whole.tolist()
    target = scaler.device.image((8, 32), format="R8_UINT")  # in memory, Output Format says it
    scaler.send(
        {5: target}, destination_binding_table_index=5, output_format=5,
        output_format_control=control,
    )  # fmt: skip
    assert (target.numpy()[:4, :16] == scaler.pixels[:4, :16, 1]).all()


def test_h11_gather_channel(bench: Bench) -> None:
    for channel in range(4):
        header = bench.header(gather4_source_channel_select=channel)
        got = first(bench.send("gather4", header=header, parameters=(0.5, 0.5)))
        assert got == [DATA[y, x, channel] for y, x in ((2, 1), (2, 2), (1, 2), (1, 1))]
    with pytest.raises(Refusal, match=r"Gather4 Source Channel Select .* gather4\*_c needs RED"):
        bench.send("gather4_c", (1.0, 0.5, 0.5), header=header)


@pytest.mark.parametrize("masked", range(16))
def test_h12_write_channel_masks(bench: Bench, masked: int) -> None:
    names = ("red", "green", "blue", "alpha")
    header = bench.header(
        **{f"{names[c]}_write_channel_mask": bool(masked >> c & 1) for c in range(4)}
    )
    written = [c for c in range(4) if not masked >> c & 1]
    if not written:
        with pytest.raises(Refusal, match=r"Alpha Write Channel Mask .* one channel must be"):
            bench.send(header=header, results=0)
        return
    got = first(bench.send(header=header, results=len(written)))
    assert got == [TEXEL[c] for c in written]
    if masked:
        with pytest.raises(Refusal, match=r"must be 0 for gather4\*"):
            bench.send("gather4", header=header, results=len(written))


@pytest.mark.parametrize("offset", [-8, -1, 0, 1, 7])
def test_h13_offsets_are_added_before_wrapping(bench: Bench, offset: int) -> None:
    header = bench.header(u_offset=offset, v_offset=-offset if offset > -8 else 0)
    got = first(bench.send(header=header))
    v = -offset if offset > -8 else 0
    assert got == DATA[(1 + v) % 4, (1 + offset) % 4].tolist()
    got = first(bench.send("ld", (2, 2), header=bench.header(u_offset=offset)))
    assert got == (DATA[2, 2 + offset].tolist() if 0 <= 2 + offset < 4 else [0.0] * 4)


def test_h13_offsets_are_illegal_for_cubes_and_buffers() -> None:
    cube = Bench(data=np.zeros((6, 4, 4), np.float32), format="R32_FLOAT", kind="cube")
    with pytest.raises(Refusal, match=r"U Offset .* must be 0 for a surface of type CUBE"):
        cube.send(header=cube.header(u_offset=1), parameters=(1.0, 0.0, 0.0))
    buffer = Bench(data=np.zeros(16, np.float32), format="R32_FLOAT", kind="buffer")
    with pytest.raises(Refusal, match=r"V Offset .* must be 0 for a surface of type BUFFER"):
        buffer.send("ld", (1,), header=buffer.header(v_offset=1))


def test_h13_gathers_with_their_own_offsets_ignore_these(bench: Bench) -> None:
    zero = np.float32(0)
    plain = bench.send("gather4_po", (0.5, 0.5, zero, zero), header=bench.header())
    moved = bench.send(
        "gather4_po", (0.5, 0.5, zero, zero), header=bench.header(u_offset=3, v_offset=2)
    )
    assert first(plain) == first(moved)
    bench.tables = bench.make({3: bench.device.sampler(normalized=False)})
    place = (0.9, 0.9, zero, zero)  # nothing that counts, so no rule is broken
    plain = bench.send("gather4_po", place, header=bench.header())
    moved = bench.send("gather4_po", place, header=bench.header(u_offset=3))
    assert first(plain) == first(moved)


def test_h13_unnormalized_floats_take_no_offsets(bench: Bench) -> None:
    sampler = bench.device.sampler(normalized=False)
    bench.tables = bench.make({3: sampler})
    assert first(bench.send(parameters=(1.4, 1.4), header=bench.header())) == TEXEL
    with pytest.raises(Refusal, match="only normalized floats and integer coordinates"):
        bench.send(parameters=(1.4, 1.4), header=bench.header(v_offset=1))


def test_a_mip_filter_with_unnormalized_coordinates_needs_one_level(bench: Bench) -> None:
    """Intel's driver sets one for images without mip levels, where it chooses nothing."""
    sampler = bench.device.sampler(normalized=False, mip_filter="nearest")
    bench.tables = bench.make({3: sampler})
    assert first(bench.send(parameters=(1.4, 1.4), header=bench.header())) == TEXEL
    two = Bench(data=np.zeros((4, 4, 4), np.float32), format="RGBA32_FLOAT", levels=2)
    two.tables = two.make({3: two.device.sampler(normalized=False, mip_filter="nearest")})
    with pytest.raises(Refusal, match="must be NONE with unnormalized coordinates"):
        two.send(parameters=(1.4, 1.4), header=two.header())


def test_h14_dwords_0_and_1_are_ignored() -> None:
    assert Header.decode(b"\xff" * 8 + bytes(24)) == Header()


def test_h15_p4_a_header_is_needed_while_threads_can_be_preempted(bench: Bench) -> None:
    with pytest.raises(Refusal, match="needs a header while pre-emption is enabled"):
        bench.send(preemptible=True)
    assert first(bench.send(header=bench.header(), preemptible=True)) == TEXEL


# ---- states that do not go together


def test_filters_of_integers_are_an_error() -> None:
    bench = Bench(data=np.zeros((4, 4, 4), np.uint8), format="RGBA8_UINT")
    bench.tables = bench.make({3: bench.device.sampler(filter="linear")})
    with pytest.raises(Refusal, match=r"Mag Mode Filter .* is LINEAR; R8G8B8A8_UINT can only"):
        bench.send()


def test_unnormalized_coordinates_cannot_wrap(bench: Bench) -> None:
    bench.tables = bench.make({3: bench.device.sampler(normalized=False, address="repeat")})
    with pytest.raises(Refusal, match=r"TCX Address Control Mode .* is WRAP; unnormalized"):
        bench.send()


def test_a_buffer_cannot_be_sampled() -> None:
    bench = Bench(data=np.zeros(16, np.float32), format="R32_FLOAT", kind="buffer")
    with pytest.raises(Refusal, match=r"Surface Type .* is a buffer, which only `ld` reads"):
        bench.send()


BAD_SURFACES = (
    ({"surface_pitch": 30}, "Surface Pitch .* is 31 bytes, too small"),
    ({"width": 999}, "Surface Pitch"),
    ({"height": 4000}, "Surface Base Address .* are not in one allocation"),
    ({"tile_mode": 3}, "Surface Base Address|Surface Pitch"),
    ({"mip_count_lod": 15}, "MIP Count LOD .* ends at level 15"),
    ({"surface_array": True, "depth": 3, "surface_qpitch": 0}, "Surface QPitch .* is 0 rows"),
    ({"depth": 3, "surface_qpitch": 4}, "Depth .* without Surface Array"),
    ({"number_of_multisamples": 2, "mip_count_lod": 1}, "Number of Multisamples"),
)


@pytest.mark.parametrize(("changes", "words"), BAD_SURFACES, ids=lambda v: str(v)[:30])
def test_bad_surfaces_name_the_field(bench: Bench, changes: dict[str, Any], words: str) -> None:
    kinds = {row.name: row.type for row in SurfaceState.rows()}
    given = {name: kinds[name](value) for name, value in changes.items()}
    bench.image.slot.write(replace(bench.image.state, **given).encode())
    with pytest.raises(Refusal, match=words):
        bench.send()


def test_every_message_has_parameters() -> None:
    assert all(len(names) == len(set(names)) for names in PARAMETERS.values())


def test_s7_a_command_flushes_the_cache(bench: Bench) -> None:
    from eumu.device.commands import encode
    from eumu.device.commands.mi import MiBatchBufferEnd
    from eumu.device.commands.packet import Packet
    from eumu.device.commands.render import PipeControl
    from eumu.runtime.batches import CommandQueue

    changed = _other_state(bench)
    bench.send()
    _overwrite(bench, changed)
    flush = PipeControl(state_cache_invalidation_enable=True, command_streamer_stall_enable=True)
    data = encode([Packet(flush), Packet(MiBatchBufferEnd())])
    batch = bench.device.array(np.frombuffer(data, np.uint8).copy())
    CommandQueue(bench.device).submit(batch.address)
    assert first(bench.send()) == [x + 100 for x in TEXEL]
