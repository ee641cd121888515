"""Compiled answers give the bits of the model, for random states of every kind that has code."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eumu.device.compiled.inline_caches import can_answer
from eumu.device.compiled.texels import can_keep, can_read, can_write
from eumu.device.state.codes import SurfaceFormat
from eumu.device.state.fields import StateError
from eumu.device.state.sampler import (
    AddressMode,
    CubeControl,
    Filter,
    LodPreClamp,
    MagnificationClamp,
    MipFilter,
    Reduction,
    SamplerState,
)
from eumu.device.state.surface import ChannelSelect, SurfaceState, SurfaceType, TileMode
from eumu.device.surfaces.formats import Encoding, texel_format
from eumu.device.surfaces.surface import Surface
from eumu.errors import Unsupported
from eumu.messages import (
    PARAMETERS,
    BlockRead,
    BlockWrite,
    SamplerMessage,
    TypedAtomic,
    TypedRead,
    TypedWrite,
)
from images.both_answers import BYTES, Machine, fitted, header
from images.test_random_states import changed

Rng = np.random.Generator
FORMATS = [f for f in SurfaceFormat if can_read(texel_format(f)) and f.name != "RAW"]
PLAIN = [f for f in FORMATS if texel_format(f).encoding is Encoding.PLAIN]
# One of each kind of channel.
USUAL = (
    *("R8G8B8A8_UNORM", "B8G8R8A8_UNORM_SRGB", "R8G8B8A8_SNORM", "R8G8B8A8_SINT", "R8_UINT"),
    *("R16G16B16A16_UNORM", "R16G16_SNORM", "R16G16B16A16_FLOAT", "R16_SINT", "R32G32B32_FLOAT"),
    *("R32G32B32A32_UINT", "R32_FLOAT", "R32_UNORM", "R32_SNORM", "R10G10B10A2_UNORM"),
    *("R11G11B10_FLOAT", "R9G9B9E5_SHAREDEXP", "B5G6R5_UNORM", "B5G5R5A1_UNORM_SRGB"),
    *("L8A8_UNORM", "A8_UNORM", "I16_FLOAT", "R8G8B8_UNORM", "R16G16B16_UINT", "R8G8_SSCALED"),
    *("R24_UNORM_X8_TYPELESS", "PLANAR_420_8", "YCRCB_NORMAL", "YCRCB_SWAPUVY"),
)
S1D, S2D, S3D, CUBE, BUFFER = (
    SurfaceType.S1D, SurfaceType.S2D, SurfaceType.S3D, SurfaceType.CUBE, SurfaceType.BUFFER,
)  # fmt: skip
IDENTITY = {"red": 4, "green": 5, "blue": 6, "alpha": 7}


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


def pick(rng: Rng, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def surface(rng: Rng, base: int, kinds: Any, formats: Any = FORMATS) -> SurfaceState | None:
    """A random surface that the model takes."""
    for _ in range(200):
        kind, format = pick(rng, kinds), pick(rng, formats)
        encoding = texel_format(format).encoding
        if kind is BUFFER and encoding is not Encoding.PLAIN:
            continue
        tiles = pick(rng, (0, 0, 2, 3)) if kind in (S2D, S3D, CUBE) else 0
        width, height, depth = (int(rng.integers(1, n)) for n in (40, 24, 6))
        height = width if kind is CUBE else height
        array = kind in (S1D, S2D, CUBE) and bool(rng.integers(2))
        planar = encoding is Encoding.PLANAR
        deep = array or kind is S3D
        levels = 0 if planar or kind is BUFFER else int(pick(rng, (0, 0, 1, 3)))
        selects = {f"shader_channel_select_{k}": ChannelSelect(v) for k, v in IDENTITY.items()}
        if rng.integers(3) == 0:
            selects = {k: pick(rng, list(ChannelSelect)) for k in selects}
        state = SurfaceState(
            surface_type=kind,
            surface_array=array,
            surface_format=format,
            tile_mode=TileMode(tiles),
            width=width - 1,
            height=0 if kind is BUFFER else height - 1,
            depth=depth - 1 if deep and not planar else 0,
            mip_count_lod=levels,
            surface_min_lod=int(rng.integers(2)) if levels else 0,
            minimum_array_element=int(rng.integers(3)) if array and not planar else 0,
            base_mip_level=float(pick(rng, (0, 0, 0.5, 1))),
            resource_min_lod=float(pick(rng, (0, 0, 0.75))),
            surface_base_address=base,
            **selects,
        )
        state = fitted(state, int(rng.integers(3)))
        if planar:
            state = replace(state, y_offset_for_u_or_uv_plane=height + int(rng.integers(4)))
        try:
            if Surface.of(state).size <= BYTES:
                return state
        except (StateError, Unsupported):
            continue
    return None


def sampler(rng: Rng, pointer: int) -> SamplerState:
    """A random sampler state."""
    modes = [AddressMode(int(rng.integers(7))) for _ in range(3)]
    unnormalized = rng.integers(5) == 0
    if unnormalized:
        modes = [pick(rng, (AddressMode.CLAMP, AddressMode.CLAMP_BORDER)) for _ in range(3)]
    filters = [pick(rng, (Filter.NEAREST, Filter.LINEAR)) for _ in range(2)]
    flags = [bool(x) for x in rng.integers(2, size=8)]
    return SamplerState(
        mag_mode_filter=filters[0],
        min_mode_filter=filters[0] if rng.integers(2) else filters[1],
        mip_mode_filter=MipFilter.NONE if unnormalized else pick(rng, list(MipFilter)),
        texture_lod_bias=float(pick(rng, (0, 0, -0.75, 1.5))),
        min_lod=float(pick(rng, (0, 0, 0.5, 1.75))),
        max_lod=float(pick(rng, (14, 14, 0, 1.25))),
        lod_preclamp_mode=LodPreClamp.OGL if flags[6] else LodPreClamp.NONE,
        lod_clamp_magnification_mode=MagnificationClamp(int(flags[7])),
        border_color_pointer=pointer,
        shadow_function=pick(rng, range(8)),
        reduction_type_enable=rng.integers(4) == 0,
        reduction_type=pick(rng, list(Reduction)),
        u_address_mag_filter_rounding_enable=flags[0],
        u_address_min_filter_rounding_enable=flags[1],
        v_address_mag_filter_rounding_enable=flags[2],
        v_address_min_filter_rounding_enable=flags[3],
        r_address_mag_filter_rounding_enable=flags[4],
        r_address_min_filter_rounding_enable=flags[5],
        non_normalized_coordinate_enable=bool(unnormalized),
        tcx_address_control_mode=modes[0],
        tcy_address_control_mode=modes[1],
        tcz_address_control_mode=modes[2],
        cube_surface_control_mode=CubeControl(int(rng.integers(2))),
    )


def border(rng: Rng, format: SurfaceFormat) -> Any:
    if texel_format(format).is_integer:
        return rng.integers(0, 1 << 32, 4, dtype=np.uint32)
    return pick(rng, ([0.25, -0.0, 2.0, 1.0], [np.inf, -1.0, 0.0, 0.5])) * np.ones(4, np.float32)


def coordinates(rng: Rng, name: str, lanes: int, state: SurfaceState, unit: bool) -> Any:
    """A float parameter, with a few special numbers."""
    sizes = {"u": state.width, "v": state.height, "r": state.depth}
    wide = 1.0 if unit else sizes.get(name, 0) + 1.0
    x = rng.uniform(-1.6 * wide, 2.6 * wide, (1, lanes))
    if name in ("lod", "bias", "ai") or name.startswith("d"):
        x = rng.uniform(-1.5, 4.5, (1, lanes)) * (0.2 if name.startswith("d") else 1)
    if name == "ref":
        x = rng.uniform(-0.3, 1.3, (1, lanes))
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, wide, 0.5, -1e-9, 3e38, 1e-40]
    for k in rng.integers(0, lanes, 2):
        x[0, k] = pick(rng, special)
    if rng.integers(2):
        x = np.rint(x * 512) / 512  # halves of the steps
    return x.astype(np.float32)


def mask(rng: Rng, lanes: int) -> Any:
    if rng.integers(2):
        return np.ones((1, lanes), bool)
    found = rng.integers(0, 2, (1, lanes)).astype(bool)
    found[0, 0] = True
    return found


OPERATIONS = (
    *("sample_lz", "sample_l", "sample_b", "sample_d", "sample", "gather4", "gather4_po"),
    *("sample_l_c", "sample_c_lz", "gather4_c"),
)


def sampled(rng: Rng, machine: Machine, operation: str, kinds: Any, simd: int = 16) -> Any:
    """Both answers to a random sample, and what was asked."""
    state = surface(rng, machine.base, kinds)
    assert state is not None
    setting = sampler(rng, machine.border_pointer())
    format = texel_format(state.surface_format)
    if format.is_integer and not operation.startswith("gather4"):
        setting = replace(setting, mag_mode_filter=Filter.NEAREST, min_mode_filter=Filter.NEAREST)
    functions = machine.functions(state, setting, border(rng, state.surface_format))
    has_header = bool(rng.integers(2))
    names = PARAMETERS[operation]
    told: dict[str, Any] = {}
    if has_header:
        table = machine.bench.tables.pointers.sampler_table
        told = {"sampler_state_pointer": table}
        if operation.startswith("gather4"):
            channel = 0 if operation.endswith("_c") else int(rng.integers(4))
            told["gather4_source_channel_select"] = channel
        elif rng.integers(2):
            told["green_write_channel_mask"] = True
        unit = not setting.non_normalized_coordinate_enable
        if state.surface_type in (S1D, S2D, S3D) and unit and rng.integers(2):
            told |= {n: int(rng.integers(-8, 8)) for n in ("u_offset", "v_offset", "r_offset")}
    bits = pick(rng, (32, 32, 32, 16))
    results = 4 - ("green_write_channel_mask" in told)
    record = SamplerMessage(operation, simd, len(names), has_header, results, bits)
    unit = not setting.non_normalized_coordinate_enable
    given: list[Any] = [coordinates(rng, n, simd, state, unit) for n in names]
    for n, name in enumerate(names):
        if name.startswith("off"):
            given[n] = rng.integers(0, 64, (1, simd), dtype=np.uint32)
    if has_header:
        given.insert(0, header(**told))
    return machine.ask(functions, record, given, mask(rng, simd)), (state, setting, record, told)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_samples(machine: Machine, operation: str) -> None:
    rng = np.random.default_rng(len(operation) * 7 + ord(operation[-1]))
    machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
    compiled = 0
    for _ in range(14):
        found, what = sampled(rng, machine, operation, (S1D, S2D, S2D, S3D, CUBE))
        if found.refusal:
            assert found.code is None, what
        elif found.code == 0:
            compiled += 1
            assert found.agree(), what
        elif found.code is not None:  # NaN among the directions of a cube
            assert found.code == 2 and what[0].surface_type is CUBE
    assert compiled >= 3


def check_format(machine: Machine, rng: Rng, code: SurfaceFormat) -> None:
    """Sampled, loaded, and read and written as a typed surface."""
    state = surface(rng, machine.base, (S2D,), (code,))
    assert state is not None
    setting = replace(SamplerState(), tcx_address_control_mode=AddressMode.MIRROR)
    functions = machine.functions(state, setting, border(rng, code))
    points = [coordinates(rng, n, 8, state, True) for n in ("u", "v", "r")]
    sample = SamplerMessage("sample_lz", 8, 3, False, 4)
    found = machine.ask(functions, sample, points, mask(rng, 8))
    assert found.code == 0 and found.agree(), state
    found = machine.ask(functions, *load(rng, state))
    assert found.code == 0 and found.agree(), state
    if code not in PLAIN:
        return
    read = TypedRead((0, 1, 2, 3), ("u", "v", "r"))
    found = machine.ask(functions, read, places(rng, read, 8, state), mask(rng, 8))
    assert found.code == 0 and found.agree(), state
    write = TypedWrite((0, 1, 2, 3), ("u", "v", "r"))
    for values in data(rng, 8):
        given = places(rng, write, 8, state) + values
        found = machine.ask(functions, write, given, mask(rng, 8))
        if can_write(texel_format(code)):
            assert found.code == 0 and found.agree(), state
        else:
            assert found.code is None, state


def test_formats(machine: Machine) -> None:
    rng = np.random.default_rng(5)
    machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
    for name in USUAL:
        check_format(machine, rng, SurfaceFormat[name])


@pytest.mark.parametrize("name", ["R8G8B8A8_UNORM", "R16G16B16A16_SINT", "R32G32_FLOAT"])
def test_writes_of_some_channels(machine: Machine, name: str) -> None:
    rng = np.random.default_rng(len(name))
    machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
    for channels in ((0,), (1,), (0, 1)):
        state = surface(rng, machine.base, (S2D, S3D), (SurfaceFormat[name],))
        assert state is not None
        functions = machine.functions(state, SamplerState(), np.zeros(4, np.float32))
        write = TypedWrite(channels, ("u", "v", "r"))
        given = places(rng, write, 16, state) + data(rng, 16)[0][: len(channels)]
        found = machine.ask(functions, write, given, mask(rng, 16))
        assert found.code == 0 and found.agree(), (state, write)


@pytest.mark.slow
def test_every_format(machine: Machine) -> None:
    rng = np.random.default_rng(6)
    machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
    for code in FORMATS:
        if code.name not in USUAL:
            check_format(machine, rng, code)


def data(rng: Rng, lanes: int) -> list[list[Any]]:
    """Texels to write: any bits, and floats that are in the range of formats."""
    bits = [rng.integers(0, 1 << 32, (1, lanes), dtype=np.uint32) for _ in range(4)]
    near = [rng.uniform(-1.3, 1.3, (1, lanes)).astype(np.float32) for _ in range(4)]
    halves = [np.rint(x * 510) / np.float32(510) for x in near]
    tiny = [x * np.float32(2.0**-14) for x in near]
    return [[x.view(np.uint32) for x in xs] for xs in (bits, near, halves, tiny)]


def load(rng: Rng, state: SurfaceState, simd: int = 8) -> tuple[Any, list[Any], Any]:
    """A random `ld`."""
    operation = pick(rng, ("ld", "ld_lz"))
    names = PARAMETERS[operation]
    sizes = {"u": state.width, "v": state.height, "r": state.depth, "lod": state.mip_count_lod}
    given = [rng.integers(-2, sizes[n] + 3, (1, simd)).astype(np.int32) for n in names]
    given[0][0, 0] = pick(rng, (-(1 << 31), (1 << 31) - 1, 0))
    record = SamplerMessage(operation, simd, len(names), False, 4, pick(rng, (32, 16)))
    return record, given, mask(rng, simd)


def places(rng: Rng, record: Any, lanes: int, state: SurfaceState) -> list[Any]:
    """Coordinates of a typed message; some are the same, some outside."""
    sizes = {"u": state.width, "v": state.height, "r": state.depth, "lod": state.mip_count_lod}
    return [
        (rng.integers(0, sizes[n] + 2, (1, lanes)) - (rng.integers(0, 9, (1, lanes)) == 8)).astype(
            np.uint32
        )
        for n in record.coordinates
    ]


def test_loads_of_every_kind_of_surface(machine: Machine) -> None:
    rng = np.random.default_rng(6)
    machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
    for _ in range(25):
        state = surface(rng, machine.base, (S1D, S2D, S3D, CUBE, BUFFER))
        assert state is not None
        functions = machine.functions(state, SamplerState(), border(rng, state.surface_format))
        found = machine.ask(functions, *load(rng, state, 16))
        assert found.code == 0 and found.agree(), state
        offsets = {n: int(rng.integers(-8, 8)) for n in ("u_offset", "v_offset", "r_offset")}
        record, given, lanes = load(rng, state)
        record = replace(record, has_header=True)
        found = machine.ask(functions, record, [header(**offsets), *given], lanes)
        if found.refusal:
            assert found.code is None
        else:
            assert found.code == 0 and found.agree(), state
        sizes = SamplerMessage("resinfo", 8, 1, False, 4)
        lod = rng.integers(-1, 5, (1, 8)).astype(np.int32)
        found = machine.ask(functions, sizes, [lod], mask(rng, 8))
        assert found.code == 0 and found.agree(), state


@pytest.mark.parametrize("lanes", [1, 2, 8, 16])
def test_typed_accesses_of_every_kind_of_surface(machine: Machine, lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
    for _ in range(10):
        state = surface(rng, machine.base, (S1D, S2D, S3D, CUBE, BUFFER), PLAIN)
        assert state is not None
        functions = machine.functions(state, SamplerState(), np.zeros(4, np.float32))
        names = pick(rng, (("u", "v", "r", "lod"), ("u", "v", "r"), ("u", "v"), ("u",)))
        read = TypedRead(pick(rng, ((0, 1, 2, 3), (0, 3), (2,))), names)
        found = machine.ask(functions, read, places(rng, read, lanes, state), mask(rng, lanes))
        assert found.code == 0 and found.agree(), state
        write = TypedWrite(pick(rng, ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1))), names)
        given = (
            places(rng, write, lanes, state) + pick(rng, data(rng, lanes))[: len(write.channels)]
        )
        found = machine.ask(functions, write, given, mask(rng, lanes))
        format = texel_format(state.surface_format)
        given_channels = frozenset(write.channels)
        whole = not format.outputs - given_channels
        if can_write(format) and (whole or can_keep(format, given_channels)):
            assert found.code == 0 and found.agree(), state
        else:
            assert found.code is None, state


ATOMICS = ("add", "sub", "inc", "dec", "predec", "and", "or", "xor", "xchg", "load", "min", "max")
OPERANDS = {"inc": 0, "dec": 0, "predec": 0, "load": 0, "cmpxchg": 2}


@pytest.mark.parametrize("operation", [*ATOMICS, "cmpxchg"])
def test_atomics(machine: Machine, operation: str) -> None:
    rng = np.random.default_rng(sum(map(ord, operation)))
    numbers = rng.integers(0, 4, len(machine.bytes) // 4, dtype=np.uint32)
    names = ["R32_UINT", "R32_SINT", "R16_UINT", "R16_SINT", "R32_FLOAT"]
    for name in names:
        kinds = {"UINT": ["unsigned"], "SINT": ["unsigned", "signed"], "FLOAT": ["float"]}
        state = surface(rng, machine.base, (S2D, S3D, BUFFER, S1D), (SurfaceFormat[name],))
        assert state is not None
        functions = machine.functions(state, SamplerState(), np.zeros(4, np.float32))
        for kind in kinds[name.split("_")[1]]:
            if kind == "float" and operation in ("and", "or", "xor"):
                continue
            bits = int(name[1:3])
            values = numbers.astype(np.float32) if kind == "float" else numbers
            machine.bytes[:] = values.view(np.uint8)
            count = OPERANDS.get(operation, 1)
            record = TypedAtomic(operation, ("u", "v", "r"), count, kind, bits)
            given = [rng.integers(0, 4, (1, 16)) for _ in range(count)]
            if kind == "float":
                given = [x.astype(np.float32).view(np.uint32) for x in given]
                for x in given[:1]:
                    x[0, :2] = np.array([np.nan, -0.0], np.float32).view(np.uint32)
            elif rng.integers(2):
                given = [x - 2 for x in given]
            words = [x.astype(np.uint32) if x.dtype != np.uint32 else x for x in given]
            found = machine.ask(
                functions, record, places(rng, record, 16, state) + words, mask(rng, 16)
            )
            assert found.code == 0 and found.agree(), (state, record)


@pytest.mark.parametrize("tiles", [0, 2, 3])
def test_blocks(machine: Machine, tiles: int) -> None:
    rng = np.random.default_rng(tiles)
    machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
    for _ in range(12):
        state = surface(rng, machine.base, (S2D,))
        assert state is not None
        state = fitted(replace(state, tile_mode=TileMode(tiles)), 0)
        functions = machine.functions(state, SamplerState(), np.zeros(4, np.float32))
        width, height = int(pick(rng, (4, 8, 12, 32, 64))), int(rng.integers(1, 9))
        pitch = 1 << (width - 1).bit_length()
        planar = texel_format(state.surface_format).encoding is Encoding.PLANAR
        plane = int(rng.integers(2)) if planar else 0
        read = BlockRead(width, height, pitch, plane, "", bool(rng.integers(4)))
        bytes = (state.width + 1) * texel_format(state.surface_format).bytes
        x, y = int(rng.integers(-20, bytes + 20)), int(rng.integers(-4, state.height + 5))
        if rng.integers(4) == 0:
            x, y = (int(pick(rng, (-(1 << 31), (1 << 31) - 1, 0))) for _ in range(2))
        at = [np.array([[n]], np.int32).view(np.uint32) for n in (x, y)]
        one = np.ones((1, 1), bool)
        found = machine.ask(functions, read, at, one)
        assert found.code == 0 and found.agree(), (state, read, x, y)
        write = BlockWrite(width, height, pitch, plane)
        rows = rng.integers(0, 256, (1, height * pitch), dtype=np.uint8)
        found = machine.ask(functions, write, [*at, rows], one)
        if x % 4:
            assert found.refusal and found.code == 2
        else:
            assert found.code == 0 and found.agree(), (state, write, x, y)


@pytest.mark.parametrize("reduction", [Reduction.MINIMUM, Reduction.MAXIMUM])
def test_extremes(machine: Machine, reduction: Reduction) -> None:
    rng = np.random.default_rng(int(reduction))
    machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
    for name in ("R8G8B8A8_UNORM", "R16G16_SNORM", "R32_FLOAT"):
        state = surface(rng, machine.base, (S2D, S3D), (SurfaceFormat[name],))
        assert state is not None
        setting = SamplerState(
            mag_mode_filter=Filter.LINEAR,
            min_mode_filter=Filter.LINEAR,
            reduction_type_enable=True,
            reduction_type=reduction,
        )
        functions = machine.functions(state, setting, np.zeros(4, np.float32))
        points = [coordinates(rng, n, 16, state, True) for n in ("u", "v", "r")]
        message = SamplerMessage("sample_lz", 16, 3, False, 4)
        found = machine.ask(functions, message, points, mask(rng, 16))
        if name == "R32_FLOAT":
            assert found.code is None
        else:
            assert found.code == 0 and found.agree(), (state, setting)


@pytest.mark.parametrize("seed", range(3))
def test_any_states(machine: Machine, seed: int) -> None:
    """Fields set to anything: no code where the model says what is wrong, else its answer; and the
    surface alone is touched.
    """
    rng = np.random.default_rng(seed)
    machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
    compiled = refused = 0
    plain = SurfaceState(width=23, height=15, surface_base_address=machine.base)
    for _ in range(12):
        state = surface(rng, machine.base, (S1D, S2D, S3D, CUBE, BUFFER)) or plain
        state = changed(rng, state, int(rng.integers(0, 4)))
        setting = changed(rng, sampler(rng, 0), int(rng.integers(0, 5)))
        setting = replace(setting, border_color_pointer=machine.border_pointer())
        functions = machine.functions(state, setting, np.zeros(4, np.float32))
        for record, given in any_messages(rng, state):
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                found = machine.ask(functions, record, given, mask(rng, 8))
            if found.refusal:
                assert found.code in (None, 2), (state, setting, record)
                refused += 1
            elif found.code == 0:
                assert found.agree(), (state, setting, record)
                compiled += 1
    assert compiled > 10 and refused > 5


def any_messages(rng: Rng, state: SurfaceState) -> list[tuple[Any, list[Any]]]:
    """One message of each kind to a surface."""
    uvr = ("u", "v", "r")
    points = [coordinates(rng, n, 8, state, True) for n in uvr]
    lod = coordinates(rng, "lod", 8, state, True)
    record, given, _ = load(rng, state)
    read, write = TypedRead((0, 1, 2, 3), uvr), TypedWrite((0, 1, 2, 3), uvr)
    atomic = TypedAtomic("add", uvr, 1)
    at = [rng.integers(-9, 99, (1, 1)).astype(np.int32).view(np.uint32) for _ in range(2)]
    return [
        (SamplerMessage("sample_lz", 8, 3, False, 4), points),
        (SamplerMessage("sample_l", 8, 4, False, 4), [lod, *points]),
        (SamplerMessage("gather4", 8, 3, False, 4), points),
        (record, given),
        (read, places(rng, read, 8, state)),
        (write, places(rng, write, 8, state) + data(rng, 8)[0]),
        (atomic, [*places(rng, atomic, 8, state), np.ones((1, 8), np.uint32)]),
        (BlockRead(16, 4, 16), at),
        (BlockWrite(16, 4, 16), [*at, np.full((1, 64), 9, np.uint8)]),
    ]


def test_messages_without_code_say_so() -> None:
    assert can_answer(TypedRead((0,), ("u",))) and not can_answer("another")
