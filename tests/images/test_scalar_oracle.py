"""Both answers to images, the model's and compiled code's, are the scalar oracle's to the bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eumu.device.state.codes import SurfaceFormat
from eumu.device.state.sampler import (
    AddressMode,
    LodPreClamp,
    MagnificationClamp,
    MipFilter,
    PrefilterOp,
    Reduction,
    SamplerState,
)
from eumu.device.state.sampler import Filter as FilterMode
from eumu.device.state.surface import ChannelSelect, SurfaceState, SurfaceType, TileMode
from eumu.device.surfaces.surface import Surface
from eumu.messages import PARAMETERS, SamplerMessage, TypedAtomic, TypedRead, TypedWrite
from images import scalar_oracle as oracle
from images.both_answers import Answers, Machine, fitted, header

Rng = np.random.Generator
LANES = 16
MODES = {
    AddressMode.WRAP: "repeat",
    AddressMode.MIRROR: "mirrored_repeat",
    AddressMode.CLAMP: "clamp_to_edge",
    AddressMode.CLAMP_BORDER: "clamp_to_border",
    AddressMode.MIRROR_ONCE: "mirror_clamp_to_edge",
    AddressMode.HALF_BORDER: "half_border",
}
KINDS = (SurfaceType.S1D, SurfaceType.S2D, SurfaceType.S2D, SurfaceType.S3D)
JOINS = {Reduction.MINIMUM: "min", Reduction.MAXIMUM: "max"}
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 0.5, 1e-40, -1e-45, 3e38, 0.99999994)
IDENTITY = {f"shader_channel_select_{c}": ChannelSelect(4 + n)
            for n, c in enumerate(("red", "green", "blue", "alpha"))}  # fmt: skip


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


def pick(rng: Rng, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def surface(rng: Rng, machine: Machine, format: str, kinds: Any = KINDS) -> SurfaceState:
    kind = pick(rng, kinds)
    width, height, depth = (int(rng.integers(1, n)) for n in (40, 20, 6))
    state = SurfaceState(
        surface_type=kind,
        surface_format=SurfaceFormat[format],
        tile_mode=TileMode.LINEAR if kind is SurfaceType.S1D else pick(rng, (0, 2, 3)),
        width=width - 1,
        height=0 if kind is SurfaceType.S1D else height - 1,
        depth=depth - 1 if kind is SurfaceType.S3D else 0,
        surface_base_address=machine.base,
        **IDENTITY,
    )
    return fitted(state, int(rng.integers(2)))


def sizes(state: SurfaceState) -> tuple[int, ...]:
    dimensions = {SurfaceType.S1D: 1, SurfaceType.S2D: 2}.get(state.surface_type, 3)
    return (state.width + 1, state.height + 1, state.depth + 1)[:dimensions]


def place(machine: Machine, state: SurfaceState, at: Any) -> int:
    """Where a texel is in the machine's bytes."""
    full = [int(k) for k in (*at, 0, 0)][:3]
    size = oracle.size_of(SurfaceFormat(state.surface_format).name)
    tile = TileMode(state.tile_mode).name
    pitch, rows = state.surface_pitch + 1, 4 * state.surface_qpitch
    return machine.base - machine.backing.address + oracle.address(tile, pitch, rows, size, full)


def fetch(machine: Machine, state: SurfaceState) -> oracle.Fetch:
    """Texels of the machine's memory."""
    format = SurfaceFormat(state.surface_format).name

    def texel(at: Any) -> oracle.Texel:
        start = place(machine, state, at)
        size = oracle.size_of(format)
        return oracle.decode(format, machine.bytes[start : start + size].tobytes())

    return texel


def sampler(rng: Rng, machine: Machine, linear: bool) -> SamplerState:
    modes = [pick(rng, list(MODES)) for _ in range(3)]
    normalized = bool(rng.integers(4))
    if not normalized:
        modes = [pick(rng, (AddressMode.CLAMP, AddressMode.CLAMP_BORDER)) for _ in range(3)]
    filter = FilterMode.LINEAR if linear else FilterMode.NEAREST
    rounded = [bool(k) for k in rng.integers(2, size=3)]
    return SamplerState(
        mag_mode_filter=filter,
        min_mode_filter=filter,
        max_lod=14.0,
        border_color_pointer=machine.border_pointer(),
        shadow_function=pick(rng, list(PrefilterOp)),
        u_address_mag_filter_rounding_enable=rounded[0],
        v_address_mag_filter_rounding_enable=rounded[1],
        r_address_mag_filter_rounding_enable=rounded[2],
        non_normalized_coordinate_enable=not normalized,
        tcx_address_control_mode=modes[0],
        tcy_address_control_mode=modes[1],
        tcz_address_control_mode=modes[2],
    )


def of_states(state: SurfaceState, setting: SamplerState, offsets: Any) -> oracle.Filter:
    reduction = setting.reduction_type if setting.reduction_type_enable else None
    return oracle.Filter(
        modes=tuple(MODES[mode] for mode in setting.address_modes),
        sizes=sizes(state),
        normalized=not setting.non_normalized_coordinate_enable,
        linear=setting.mag_mode_filter is FilterMode.LINEAR,
        rounded=setting.rounding(True),
        offsets=offsets,
        join=JOINS.get(reduction, "mix") if reduction else "mix",
    )


def points(rng: Rng, state: SurfaceState, normalized: bool) -> list[Any]:
    found = []
    for n in (*sizes(state), 1, 1)[:3]:
        wide = 1.0 if normalized else float(n)
        x = rng.uniform(-1.6 * wide, 2.6 * wide, (1, LANES))
        x[0, : LANES // 2] = np.rint(x[0, : LANES // 2] * 512 * n) / (512 * n)
        x[0, rng.integers(0, LANES, 2)] = [pick(rng, SPECIAL) for _ in range(2)]
        found.append(x.astype(np.float32))
    return found


def same(answers: list[Any], want: Any, kind: Any) -> bool:
    """Bits as the oracle's; NaN as NaN."""
    got = np.array([x[0] for x in answers]).view(kind)
    with np.errstate(invalid="ignore"):
        return bool(((got == want) | (got != got) & (want != want)).all())


def check(found: Answers, want: Any, kind: Any, what: Any) -> None:
    assert found.model is not None, (found.refusal, what)
    assert same(found.model, want, kind), ("model", what, want)
    assert found.code in (0, None), what
    if found.code == 0:
        assert same(found.compiled, want, kind), ("compiled", what, want)


def border(rng: Rng, format: str) -> tuple[Any, oracle.Texel]:
    """A border colour, and what is seen of it: channels the format lacks are as usual."""
    colour = np.array(pick(rng, ((0.25, -1.0, 2.0, 0.5), (1.0, 0.0, 0.75, -0.5))), np.float32)
    if oracle.is_integer(format):
        colour = rng.integers(0, 1 << 31, 4, dtype=np.uint32)
    has = "".join(c for c, _, _ in oracle.FORMATS[format])
    return colour, [colour[k].item() if c in has else float(c == "A") for k, c in enumerate("RGBA")]


@pytest.mark.parametrize("operation", ["sample_lz", "gather4", "sample_c_lz", "gather4_c"])
def test_samples(machine: Machine, operation: str) -> None:
    rng = np.random.default_rng(len(operation))
    floats = [f for f in oracle.FORMATS if not oracle.is_integer(f)]
    if operation.endswith(("_c", "_c_lz")):
        floats = [f for f in floats if oracle.FORMATS[f][0][0] == "R"]
    compiled = 0
    for n in range(40):
        machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
        if "_c" in operation:  # few numbers, so that some are the reference
            machine.bytes[:] = machine.bytes & 0x81
        format = floats[n % len(floats)]
        gathers = operation.startswith("gather4")
        state = surface(rng, machine, format, KINDS[:3] if gathers else KINDS)
        setting = sampler(rng, machine, linear=gathers or bool(rng.integers(4)))
        if n % 5 == 4 and not gathers:
            reduction = pick(rng, list(JOINS))
            setting = replace(setting, reduction_type_enable=True, reduction_type=reduction)
        colour, seen = border(rng, format)
        functions = machine.functions(state, setting, colour)
        normalized = not setting.non_normalized_coordinate_enable
        moved = normalized and bool(rng.integers(2))
        offsets = tuple(int(k) for k in rng.integers(-8, 8, 3)) if moved else (0, 0, 0)
        table = machine.bench.tables.pointers.sampler_table
        told = dict(zip(("u_offset", "v_offset", "r_offset"), offsets, strict=True))
        channel = 0 if operation == "gather4_c" or not gathers else int(rng.integers(4))
        given: dict[str, Any] = dict(zip("uvr", points(rng, state, normalized), strict=True))
        given["ref"] = rng.uniform(-0.5, 1.5, (1, LANES)).astype(np.float32)
        given["ref"][0, ::2] = fetch(machine, state)([0] * len(sizes(state)))[0]
        record = SamplerMessage(operation, LANES, len(PARAMETERS[operation]), True, 4)
        found = machine.ask(
            functions,
            record,
            [
                header(sampler_state_pointer=table, gather4_source_channel_select=channel, **told),
                *(given.get(name, np.zeros((1, LANES), np.float32)) for name in record.names),
            ],
            np.ones((1, LANES), bool),
        )
        filter = of_states(state, setting, offsets)
        if "_c" in operation:
            kind = oracle.FORMATS[format][0][2]
            op = PrefilterOp(setting.shadow_function).name
            filter = replace(filter, compare=op, clamps_reference=kind == "unorm")
        want = []
        for lane in range(LANES):
            at = [given[c][0, lane] for c in "uvr"[: len(filter.sizes)]]
            one = replace(filter, reference=float(given["ref"][0, lane]))
            read = fetch(machine, state)
            with np.errstate(all="ignore"):
                if gathers:
                    want.append(oracle.gather(one, at, read, seen, channel))
                else:
                    want.append(oracle.sample(one, at, read, seen))
        check(found, np.array(want, np.float32).T, np.float32, (state, setting, offsets))
        compiled += found.code == 0
    assert compiled > 25


def ladder(machine: Machine, last: int, **more: Any) -> SurfaceState:
    """Levels to the last one; a texel is its level, odd columns a quarter more."""
    state = SurfaceState(
        surface_type=SurfaceType.S2D,
        surface_format=SurfaceFormat.R32_FLOAT,
        width=31,
        height=31,
        mip_count_lod=last,
        surface_base_address=machine.base,
        **IDENTITY,
        **more,
    )
    state = fitted(state, 0)
    floats = machine.bytes.view(np.float32)
    for level in range(last + 1):
        y, x = (k.reshape(-1) for k in np.indices((32 >> level, 32 >> level)))
        found, _ = Surface.of(state).addresses(np.full_like(x, level), x, y, 0 * x)
        floats[(found - machine.backing.address).astype(int) // 4] = level + x % 2 / 4
    return state


@pytest.mark.parametrize("mips", list(MipFilter))
@pytest.mark.parametrize("preclamp", list(LodPreClamp))
@pytest.mark.parametrize("clamp", list(MagnificationClamp))
def test_levels(
    machine: Machine, mips: MipFilter, preclamp: LodPreClamp, clamp: MagnificationClamp
) -> None:
    """In the middle of a level the larger filter sees an even column, the smaller one both."""
    rng = np.random.default_rng(int(mips))
    seen = set()
    for n in range(24):
        base, floor = (float(pick(rng, v)) for v in ((0, 0, 0.5, 1), (0, 0, 0.75, 1)))
        last = 3 if n % 6 else 0
        base, floor = min(base, last), min(floor, last)
        state = ladder(machine, last, base_mip_level=base, resource_min_lod=floor)
        setting = SamplerState(
            lod_preclamp_mode=preclamp,
            lod_clamp_magnification_mode=clamp,
            mip_mode_filter=mips,
            mag_mode_filter=FilterMode.NEAREST,
            min_mode_filter=FilterMode.LINEAR if n else FilterMode.NEAREST,
            texture_lod_bias=float(pick(rng, (0, 0, -0.75, 1.5))),
            min_lod=float(pick(rng, (0, 0, 0.5, 1.75))),
            max_lod=float(pick(rng, (14, 14, 0, 2.25))),
            border_color_pointer=machine.border_pointer(),
        )
        how = oracle.Levels(
            *(mips.name.lower(), last, setting.texture_lod_bias, setting.min_lod, setting.max_lod),
            *(floor, base, preclamp is LodPreClamp.OGL, clamp is MagnificationClamp.MIPFILTER),
        )
        lod = rng.uniform(-2.5, 4.5, (1, LANES)).astype(np.float32)
        lod[0, ::4] = np.rint(lod[0, ::4] * 2) / 2
        lod[0, 1:4] = np.nan, np.inf, -np.inf
        middle, zero = np.full((1, LANES), 0.5, np.float32), np.zeros((1, LANES), np.float32)
        given = {"lod": lod, "u": middle, "v": middle}
        record = SamplerMessage("sample_l", LANES, len(PARAMETERS["sample_l"]), False, 1)
        found = machine.ask(
            machine.functions(state, setting, np.zeros(4, np.float32)),
            record,
            [given.get(name, zero) for name in record.names],
            np.ones((1, LANES), bool),
        )
        want = []
        for x in lod[0]:
            level, magnified = oracle.level(how, float(x))
            want.append(float(level) + (0 if magnified or not n else 0.125))
            seen.add(magnified)
        check(found, np.array([want], np.float32), np.float32, (setting, base, floor, lod))
        assert found.code == 0
    assert seen == {False, True}


def values(rng: Rng, format: str) -> list[Any]:
    """Texels to write, four channels of all lanes."""
    if oracle.is_integer(format):
        wild = [rng.integers(0, 1 << 32, (1, LANES), dtype=np.uint32) for _ in range(4)]
        return [x if rng.integers(2) else x >> pick(rng, (16, 24)) for x in wild]
    found = []
    for _ in range(4):
        x = rng.uniform(-1.3, 1.3, (1, LANES)) * pick(rng, (1, 2.0**-14, 2.0**-16, 3e4))
        x[0, ::3] = np.rint(x[0, ::3] * 510) / 510
        x[0, rng.integers(0, LANES, 3)] = [pick(rng, SPECIAL) for _ in range(3)]
        bits = x.astype(np.float32).view(np.uint32)
        tie = pick(rng, (12, 16, 17))  # halfway between two floats of 16, 11 or 10 bits
        bits[0, 1::3] = bits[0, 1::3] >> (tie + 1) << (tie + 1) | 1 << tie
        found.append(bits)
    return found


@pytest.mark.parametrize("format", sorted(oracle.FORMATS))
def test_typed_reads_and_writes(machine: Machine, format: str) -> None:
    rng = np.random.default_rng(sum(map(ord, format)))
    integer = oracle.is_integer(format)
    for _ in range(6):
        machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
        state = surface(rng, machine, format)
        functions = machine.functions(state, SamplerState(), np.zeros(4, np.float32))
        extent = (*sizes(state), 1, 1)[:3]
        at = [rng.integers(-1, n + 2, (1, LANES)) for n in extent]
        inside = [all(0 <= k[0, lane] < n for k, n in zip(at, sizes(state), strict=False))
                  for lane in range(LANES)]  # fmt: skip
        coordinates = [k.astype(np.int32).view(np.uint32) for k in at]
        ones = np.ones((1, LANES), bool)
        read = machine.ask(functions, TypedRead((0, 1, 2, 3), ("u", "v", "r")), coordinates, ones)
        texel = fetch(machine, state)
        dimensions = len(sizes(state))
        want = [texel([k[0, lane] for k in at[:dimensions]]) if ok else [0, 0, 0, 1]
                for lane, ok in enumerate(inside)]  # fmt: skip
        kind: Any = np.float32
        if integer:
            kind = np.uint32 if oracle.FORMATS[format][0][2] == "uint" else np.int32
        with np.errstate(invalid="ignore"):
            check(read, np.array(want).astype(kind).T, kind, state)
        write = TypedWrite((0, 1, 2, 3), ("u", "v", "r"))
        texels = values(rng, format)
        found = machine.ask(functions, write, [*coordinates, *texels], ones)
        memory = machine.bytes.copy()
        for lane in np.flatnonzero(inside):
            numbers = [x.view(kind)[0, lane].item() for x in texels]
            data = np.frombuffer(oracle.encode(format, numbers), np.uint8)
            start = place(machine, state, [k[0, lane] for k in at[:dimensions]])
            memory[start : start + len(data)] = data
        assert found.code == 0 and not found.refusal, state
        for got in found.memory:
            different = np.flatnonzero(got != memory)
            assert all(_is_nan(format, got, memory, k) for k in different), (state, different)


def _is_nan(format: str, got: Any, want: Any, byte: int) -> bool:
    """Whether a byte is of a NaN in both; which NaN is not said."""
    if (bits := oracle.FORMATS[format][0][1]) not in (16, 32):
        return False
    kind: Any = {16: np.float16, 32: np.float32}[bits]
    start = byte // (bits // 8) * (bits // 8)
    part = slice(start, start + bits // 8)
    return bool(np.isnan(got[part].view(kind)[0]) and np.isnan(want[part].view(kind)[0]))


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("tiles", [TileMode.LINEAR, TileMode.YMAJOR])
def test_texels_beyond_the_edges_of_a_cube(machine: Machine, size: int, tiles: TileMode) -> None:
    """gather4 of a seamless cube, whose texels all differ, at every corner of every texel."""
    state = SurfaceState(
        surface_type=SurfaceType.CUBE,
        surface_format=SurfaceFormat.R32_FLOAT,
        tile_mode=tiles,
        width=size - 1,
        height=size - 1,
        surface_base_address=machine.base,
        **IDENTITY,
    )
    state = fitted(state, 1)
    number = {}
    for n, at in enumerate((f, x, y) for f in range(6) for x in range(size) for y in range(size)):
        number[at] = np.float32(n * n + 1)
        start = place(machine, state, (at[1], at[2], at[0]))
        machine.bytes[start : start + 4] = number[at].reshape(1).view(np.uint8)
    modes = (f"tc{axis}_address_control_mode" for axis in "xyz")
    setting = SamplerState(**dict.fromkeys(modes, AddressMode.CUBE))
    functions = machine.functions(state, setting, np.zeros(4, np.float32))
    corners = [(f, x, y) for f in range(6) for x in range(size + 1) for y in range(size + 1)]
    for first in range(0, len(corners), LANES):
        some = (corners[first:] + corners)[:LANES]
        # A little off the corner of four texels, and inside the face.
        at = [oracle.on_cube(f, *(min(max(k - 0.45, -0.4), size - 0.6) for k in (x, y)), size)
              for f, x, y in some]  # fmt: skip
        given = [np.array(c, np.float32)[None, :] for c in zip(*at, strict=True)]
        zero = np.zeros((1, LANES), np.float32)
        record = SamplerMessage("gather4", LANES, 4, False, 4)
        found = machine.ask(functions, record, [*given, zero], np.ones((1, LANES), bool))
        want = []
        for face, x, y in some:
            around = ((x - 1, y), (x, y), (x, y - 1), (x - 1, y - 1))  # as gather4 has them
            parts = [[number[t] for t in oracle.seamless(face, *k, size)] for k in around]
            want.append([p[0] if len(p) == 1 else (p[0] + p[1] + p[2]) / np.float32(3)
                         for p in parts])  # fmt: skip
        check(found, np.array(want, np.float32).T, np.float32, some)
        assert found.code == 0


@pytest.mark.parametrize(
    "format, order",
    [
        ("YCRCB_NORMAL", "Y0 U Y1 V"),
        ("YCRCB_SWAPUVY", "V Y0 U Y1"),
        ("YCRCB_SWAPUV", "Y0 V Y1 U"),
        ("YCRCB_SWAPY", "U Y0 V Y1"),
    ],
)
def test_pairs_that_share_chrominance(machine: Machine, format: str, order: str) -> None:
    rng = np.random.default_rng(len(order))
    machine.bytes[:] = rng.integers(0, 256, len(machine.bytes), dtype=np.uint8)
    state = SurfaceState(
        surface_type=SurfaceType.S2D,
        surface_format=SurfaceFormat[format],
        width=LANES - 1,
        height=0,
        surface_base_address=machine.base,
        **IDENTITY,
    )
    state = fitted(state, 0)
    functions = machine.functions(state, SamplerState(), np.zeros(4, np.float32))
    zero = np.zeros((1, LANES), np.uint32)
    given = [np.arange(LANES, dtype=np.uint32)[None, :], zero, zero, zero]
    record = SamplerMessage("ld", LANES, len(PARAMETERS["ld"]), False, 4)
    given = given[: len(PARAMETERS["ld"])]
    found = machine.ask(functions, record, given, np.ones((1, LANES), bool))
    start = machine.base - machine.backing.address
    data = machine.bytes[start : start + 2 * LANES].tobytes()
    want = [oracle.pair(order, data[k // 2 * 4 : k // 2 * 4 + 4], k) for k in range(LANES)]
    check(found, np.array(want, np.float32).T, np.float32, format)
    assert found.code == 0


@pytest.mark.parametrize(
    "operation", ["add", "sub", "inc", "dec", "predec", "min", "max", "xchg", "cmpxchg", "load"]
)
def test_atomic_operations_on_floats(machine: Machine, operation: str) -> None:
    rng = np.random.default_rng(len(operation))
    state = SurfaceState(
        surface_type=SurfaceType.S2D,
        surface_format=SurfaceFormat.R32_FLOAT,
        width=7,
        height=0,
        surface_base_address=machine.base,
        **IDENTITY,
    )
    functions = machine.functions(fitted(state, 0), SamplerState(), np.zeros(4, np.float32))
    operands = {"inc": 0, "dec": 0, "predec": 0, "load": 0, "cmpxchg": 2}.get(operation, 1)
    record = TypedAtomic(operation, ("u", "v", "r"), operands, "float", 32)
    start = machine.base - machine.backing.address
    numbers = np.array([*SPECIAL, -2.0, 7.5, 2.0**24], np.float32)
    for _ in range(12):
        old, x, y = (rng.choice(numbers, 8) for _ in range(3))
        y[::2] = old[::2]
        machine.bytes[start : start + 32] = old.view(np.uint8)
        lanes = np.arange(8, dtype=np.uint32)[None, :]
        given = [lanes, lanes * 0, lanes * 0, *(v.view(np.uint32)[None, :] for v in (x, y))]
        found = machine.ask(functions, record, given[: 3 + operands], np.ones((1, 8), bool))
        with np.errstate(all="ignore"):
            new = np.array([oracle.atomic(operation, *v) for v in zip(old, x, y, strict=True)])
        seen = new if operation == "predec" else old
        check(found, seen[None, :], np.float32, (old, x, y))
        assert found.code == 0
        for memory in found.memory:
            got = memory[start : start + 32].view(np.float32)
            assert ((got == new) | (got != got) & (new != new)).all(), (old, x, y)
