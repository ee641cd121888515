"""Every field of every state of sampler and data port acts, is refused by name, or is in the table.

Each field of a state is changed, and messages that use it are sent.  If nothing that they answer,
write or refuse changes, it must be in `eumu.device.state.unheeded.UNHEEDED`; and what is in that
table does what the table says.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.functions import SharedFunctions, StateCaches
from eumu.device.sampler.header import Header, OutputControl, OutputFormat, SimdExtension
from eumu.device.state import media, sampler, scaler, surface
from eumu.device.state.codes import SurfaceFormat
from eumu.device.state.fields import State
from eumu.device.state.sampler import AddressMode, BorderColor, Filter, MipFilter, SamplerState
from eumu.device.state.surface import AuxiliaryMode, SurfaceState, SurfaceType, TileMode
from eumu.device.state.unheeded import UNHEEDED, Unheeded, WhenSet
from eumu.errors import EumuError
from eumu.exec.grid import StatePointers
from eumu.exec.host import Refusal
from eumu.messages import (
    PARAMETERS,
    BlockRead,
    BlockWrite,
    CounterAddress,
    MotionEstimation,
    Sample8x8,
    SamplerMessage,
    TypedAtomic,
    TypedRead,
    TypedStatus,
    TypedWrite,
)

SCENE = 0x30000
# Offsets: tables and states, then the pixels of the surface, a control surface, and another one.
TABLE, SURFACES, SAMPLERS, BORDER, OTHER = 0x0, 0x400, 0x1000, 0x4000, 0x2C000
PIXELS, CONTROL = 0x8000, 0x28000
KEYS = ((0, 0), (0, 0xFFFFFFFF), (0, 0x80808080), (5, 5))
LANES = 8

Message = tuple[Any, tuple[Any, ...]]  # a record, and its arguments behind surface and sampler


@dataclass(frozen=True)
class Case:
    """States, and messages to them; each state may be the one that is changed."""

    surface: State
    messages: tuple[Message, ...]
    sampler: State | media.Table = field(default_factory=SamplerState)
    border: BorderColor = field(default_factory=BorderColor)
    header: Header | None = None
    universal: State | None = None


class Scene:
    """A device's memory with states and pixels at known places."""

    def __init__(self) -> None:
        self.device = eumu.Device("skl", "interp", memory_bytes=1 << 20)
        self.base = self.device.memory.allocate(SCENE, "the scene").start
        start = self.base - self.device.memory.base
        self.memory = self.device.memory.arena[start : start + SCENE]
        rng = np.random.default_rng(5)
        self.image = rng.integers(0, 256, SCENE).astype(np.uint8)
        self.image[CONTROL : CONTROL + 0x1000 : 3] = 0xFF  # some pixels are clear
        self.image[:PIXELS] = 0

    def see(self, case: Case) -> Iterator[Any]:
        """What each message does, one after the other."""
        self.memory[:] = self.image
        other = SurfaceState(
            surface_format=SurfaceFormat.R8_UNORM,
            width=255,
            height=63,
            surface_pitch=255,
            surface_base_address=self.base + OTHER,
        )
        try:
            self._put(SURFACES, moved(case.surface, self.base).encode())
            self._put(SAMPLERS, case.sampler.encode())
            self._put(BORDER, case.border.encode())
            header = None if case.header is None else case.header.encode()
            universal = None if case.universal is None else case.universal.encode()
        except EumuError as error:
            yield from [("error", str(error))] * len(case.messages)
            return
        self._put(SURFACES + 0x100, other.encode())
        for k in range(16):
            entry = SURFACES + (0x100 if k % 2 else 0)
            self._put(TABLE + 4 * k, entry.to_bytes(4, "little"))
        pointers = StatePointers(self.base, self.base, self.base, TABLE, SAMPLERS, KEYS)
        functions = SharedFunctions(self.device.memory, pointers, StateCaches())
        for record, arguments in case.messages:
            yield self._answer(functions, record, arguments, header, universal)

    def _put(self, at: int, data: bytes) -> None:
        self.memory[at : at + len(data)] = np.frombuffer(data, np.uint8)

    def _answer(
        self,
        functions: SharedFunctions,
        record: Any,
        arguments: tuple[Any, ...],
        header: bytes | None,
        universal: bytes | None,
    ) -> Any:
        given = [np.zeros((1, 1), np.uint32)]
        if isinstance(record, Sample8x8) or getattr(record, "uses_sampler", False):
            given.append(np.zeros((1, 1), np.uint32))
        if isinstance(record, Sample8x8) or getattr(record, "has_header", False):
            given.append(np.frombuffer(header or bytes(32), np.uint32)[None])
        if isinstance(record, MotionEstimation):
            assert universal is not None
            given.append(np.frombuffer(universal + arguments[0], np.uint32)[None])
            arguments = ()
        given += [np.atleast_2d(a) for a in arguments]
        count = 1 if len(given) < 2 or isinstance(record, _SCALAR) else given[-1].shape[1]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mask = np.ones((1, count), bool)
                found = functions.message(record, np.array([0]), mask, given)
        except (EumuError, Refusal) as error:
            return ("error", str(error))
        written = self.memory[PIXELS:].tobytes() if isinstance(record, _WRITES) else b""
        return [x.tobytes() for x in found], written


_SCALAR = (Sample8x8, BlockRead, BlockWrite, MotionEstimation, CounterAddress)
_WRITES = (TypedWrite, TypedAtomic, BlockWrite, Sample8x8)


def moved(state: State, base: int) -> State:
    """A state whose addresses count from the scene's base."""
    names = ("surface_base_address", "auxiliary_surface_base_address")
    old = {n: getattr(state, n) for n in names if getattr(state, n, 0)}
    return replace(state, **{n: v + base for n, v in old.items()})  # type: ignore[type-var]


# ---- messages


def lanes(*values: float, dtype: Any = np.float32) -> Any:
    return np.resize(np.array(values, dtype), LANES)


def send(
    operation: str, *given: Any, header: bool = False, results: int = 4, **more: Any
) -> Message:
    count = len(given)
    assert count <= len(PARAMETERS[operation])
    record = SamplerMessage(operation, LANES, count, header, results, **more)
    return record, given


U, V = (
    lanes(0.1, 0.35, 0.8, -0.3, 1.2, 0.5, 0.93, 2.6),
    lanes(0.2, 0.7, -0.2, 0.4, 1.7, 0.1, 0.6, 0.3),
)
R = lanes(0.4, 0.1, 1.6, 0.7, -0.4, 0.9, 2.2, 1.1)
LOD = lanes(0, 0.4, 1.3, 2.2, 0.7, 1.0, 3.0, -1.0)
X, Y, Z = (
    lanes(*v, dtype=np.uint32) for v in ((0, 3, 1, 7, 2, 9, 4, 5), (1, 2, 0, 3, 2, 1), (0, 1, 2))
)
ZERO, ONE = lanes(0, dtype=np.uint32), lanes(1, dtype=np.uint32)
WIDE = lanes(0.9, 0.02, 0.4)
SAMPLES = (
    send("sample_l", LOD, U, V, R),
    send("sample_c", lanes(0.5, 0.2), U, V, R),
    send("sample_d", U, WIDE, lanes(0.01), V, lanes(0.03), lanes(0.05), R, lanes(0.02), lanes(0.3)),
    send("gather4", U, V, R),
    send("lod", U, V, R),
)
LOADS = (
    send("ld", X, Y, ZERO, Z),
    send("ld", X, Y, ONE, Z),
    send("resinfo", ZERO),
    send("sampleinfo"),
)
FACES = tuple(send("sample_l", LOD, u, v, r, ai) for u, v, r, ai in (
    (lanes(1, 0.3, -1, 0.2, -0.2, 0.1, 0.9, 0.98), lanes(0.2, 1, 0.3, -1, 0.1, 0.5, 0.97, 1),
     lanes(0.3, 0.4, 0.1, -0.4, 1, -1, 0.2, 0.99), lanes(0, 1)),
))  # fmt: skip
DATA = lanes(5, 0x3F000000, 77, 0x12345678, dtype=np.uint32)
NAMES = ("u", "v", "r", "lod")
TYPED = (
    (TypedRead((0, 1, 2, 3), NAMES), (X, Y, Z, ZERO)),
    (TypedWrite((0, 1, 2, 3), NAMES), (X, Y, Z, ZERO, DATA, DATA, DATA, DATA)),
    (TypedStatus(NAMES), (X, Y, Z, ZERO)),
    (TypedAtomic("add", NAMES, 1), (X, Y, Z, ZERO, DATA)),
)
CORNER = (np.array([[4]], np.uint32), np.array([[1]], np.uint32))
BLOCKS = (
    (BlockRead(8, 3, 8), CORNER),
    (BlockRead(8, 3, 8, field="top"), CORNER),
    (BlockRead(8, 3, 8, plane=1), CORNER),
    (BlockWrite(8, 2, 8), (*CORNER, np.arange(16, dtype=np.uint8)[None])),
    (CounterAddress(), ()),
)

# ---- what is sampled, loaded and written

RGBA = SurfaceState(
    surface_format=SurfaceFormat.R8G8B8A8_UNORM,
    width=7,
    height=7,
    surface_pitch=63,
    mip_count_lod=2,
    surface_base_address=PIXELS,
)
LINEAR = SamplerState(
    mip_mode_filter=MipFilter.LINEAR,
    mag_mode_filter=Filter.LINEAR,
    min_mode_filter=Filter.LINEAR,
    max_lod=14.0,
    border_color_pointer=BORDER,
)
TILED = replace(RGBA, tile_mode=TileMode.YMAJOR, surface_pitch=255)
ARRAY = replace(TILED, surface_array=True, depth=2, surface_qpitch=8, minimum_array_element=1)
VOLUME = replace(ARRAY, surface_type=SurfaceType.S3D, surface_array=False, minimum_array_element=0)
CUBE = replace(ARRAY, surface_type=SurfaceType.CUBE, depth=1, **{
    f"cube_face_enable_{sign}_{axis}": True for sign in ("negative", "positive") for axis in "xyz"
})  # fmt: skip
SAMPLED_4 = replace(
    RGBA,
    mip_count_lod=0,
    tile_mode=TileMode.YMAJOR,
    surface_pitch=127,
    surface_qpitch=8,
    number_of_multisamples=surface.SampleCount.COUNT_4,
    auxiliary_surface_mode=AuxiliaryMode.AUX_CCS_D,
    auxiliary_surface_base_address=CONTROL,
    auxiliary_surface_qpitch=8,
    surface_array=True,
    depth=1,
)
MULTI = (
    send("ld_mcs", X, Y, Z, ZERO, results=1),
    send("ld2dms", ONE, lanes(0xFF, 0xE4, dtype=np.uint32), X, Y, Z, ZERO),
    send("ld2dss", ONE, X, Y, Z, ZERO),
    *LOADS,
)
PLANAR = replace(
    RGBA,
    surface_format=SurfaceFormat.PLANAR_420_8,
    mip_count_lod=0,
    y_offset_for_u_or_uv_plane=8,
    width=15,
)
BUFFER = SurfaceState(
    surface_type=SurfaceType.BUFFER,
    surface_format=SurfaceFormat.R32_UINT,
    width=9,
    height=1,
    surface_pitch=3,
    surface_base_address=PIXELS,
)
SURFACES_OF = [
    Case(RGBA, (*SAMPLES, *LOADS, *TYPED, *BLOCKS), LINEAR),
    Case(RGBA, SAMPLES[:1], replace(LINEAR, mag_mode_filter=Filter.NEAREST)),
    Case(ARRAY, (*SAMPLES, *LOADS, *TYPED), LINEAR),
    Case(VOLUME, (*SAMPLES, *LOADS, *TYPED), LINEAR),
    Case(CUBE, (*FACES, *LOADS, *TYPED), LINEAR),
    Case(BUFFER, (*LOADS, *TYPED)),
    Case(replace(BUFFER, surface_type=SurfaceType.S1D, height=0), (*SAMPLES[:1], *LOADS, *TYPED)),
    Case(SAMPLED_4, MULTI),
    Case(PLANAR, (*SAMPLES[:1], *LOADS, *BLOCKS), LINEAR),
    Case(replace(RGBA, mip_count_lod=0, vertical_line_stride=1), (*LOADS, *TYPED, *BLOCKS)),
    Case(
        replace(
            RGBA,
            mip_count_lod=0,
            auxiliary_surface_mode=AuxiliaryMode.AUX_APPEND,
            auxiliary_surface_base_address=CONTROL,
        ),
        BLOCKS,
    ),
    Case(replace(RGBA, surface_type=SurfaceType.NULL), (*LOADS, *TYPED)),
]
BORDERED = replace(
    LINEAR,
    tcx_address_control_mode=AddressMode.CLAMP_BORDER,
    tcy_address_control_mode=AddressMode.CLAMP_BORDER,
    tcz_address_control_mode=AddressMode.CLAMP_BORDER,
)
ANISOTROPIC = replace(
    LINEAR,
    min_mode_filter=Filter.ANISOTROPIC,
    mag_mode_filter=Filter.ANISOTROPIC,
    maximum_anisotropy=sampler.AnisotropyRatio.RATIO_4,
)
KEYED = replace(
    LINEAR, chromakey_enable=True, chromakey_index=1, chromakey_mode=sampler.KeyMode.REPLACE_BLACK
)
NEAREST = replace(LINEAR, mag_mode_filter=Filter.NEAREST, min_mode_filter=Filter.NEAREST)
LEAST = replace(LINEAR, reduction_type_enable=True, reduction_type=sampler.Reduction.MINIMUM)
SAMPLERS_OF = [
    Case(RGBA, SAMPLES, LINEAR),
    Case(RGBA, SAMPLES, NEAREST),
    Case(VOLUME, SAMPLES, BORDERED),
    Case(VOLUME, SAMPLES, LINEAR),
    Case(CUBE, FACES, LINEAR),
    Case(RGBA, SAMPLES, ANISOTROPIC),
    Case(RGBA, SAMPLES, KEYED),
    Case(RGBA, SAMPLES, LEAST),
    Case(RGBA, SAMPLES, replace(LINEAR, max_lod=0.0)),
    Case(RGBA, SAMPLES, replace(LINEAR, min_lod=1.0)),
    Case(RGBA, SAMPLES, replace(LINEAR, min_lod=1.5, mag_mode_filter=Filter.NEAREST)),
]  # fmt: skip
BORDERS = [
    Case(RGBA, SAMPLES, BORDERED, BorderColor(0x3F000000, 0x3E800000, 0x3F400000, 0x3F800000))
]

# ---- headers

HEADED = (
    send("sample_lz", U, V, R, header=True),
    send("sample_lz", U, V, R, header=True, results=2),
    send("sample_lz", U, V, R, header=True, results=5),
    send("gather4", U, V, R, header=True),
    send("ld", X, Y, ZERO, Z, header=True),
)
MASKED = Header(alpha_write_channel_mask=True, sampler_state_pointer=SAMPLERS)
PAIRED = replace(MASKED, simd_mode_extension=SimdExtension.SIMD4X2)
PAIR = (
    SamplerMessage("sample_lz", 2, 4, True, 5, is_4x2=True),
    tuple(a[:2] for a in (U, V, R, R)),
)
UNORM = (
    SamplerMessage("sample_unorm", 32, 4, True, 4, bits=16, takes_mask=False),
    tuple(np.array([[x]], np.float32) for x in (0.1, 0.2, 0.05, 0.07)),
)

# ---- sample_8x8

VIDEO = media.MediaSurfaceState(
    width=31,
    height=15,
    surface_pitch=63,
    surface_format=media.MediaFormat.Y8_UNORM_VA,
    surface_base_address=PIXELS,
)
GREEN_ONLY = Header(
    sampler_state_pointer=SAMPLERS,
    red_write_channel_mask=True,
    blue_write_channel_mask=True,
    alpha_write_channel_mask=True,
)
OCTETS = replace(GREEN_ONLY, output_format_control=OutputControl.FULL_8)
DIRECT = replace(
    GREEN_ONLY,
    output_format=OutputFormat.Y8_UNORM,
    destination_binding_table_index=1,
    destination_x_address=8,
    destination_y_address=2,
)


def video(
    function: int, sequence: int = 0, mode: int = 0, registers: int = 4, **more: Any
) -> Message:
    """sample_8x8 at a corner that is not on the edge."""
    words = np.zeros(8, np.uint32)
    words[2:6] = np.array([more.get("u", 10.5 / 32), 6.5 / 16, 1 / 32, 1 / 16], np.float32).view(
        np.uint32
    )
    words[7] = function << 28 | sequence << 25 | mode << 23
    return Sample8x8(registers), (words,)


def coefficients(kind: type[State], scale: float) -> State:
    values = {row.name: scale * (1 + 3 * k % 7) for k, row in enumerate(kind.rows())}
    return kind(**values)


CONVOLVE = media.Convolve(
    (
        media.ConvolveState(
            height=3, width=5, size_of_the_coefficient=media.CoefficientSize.BITS_16
        ),
        *(coefficients(media.ConvolveCoefficients, 1 / 512 + 1 / 4096) for _ in range(62)),
    )
)
MORPHOLOGY = media.MorphologyState(
    height_of_the_kernel=15,
    width_of_the_kernel=15,
    **{f"mask_for_row_{k}": 1 << 7 for k in range(15)},
)
TAPS = scaler.AvsState(enable_8_tap_filter=scaler.FilterTaps.EIGHT)
AVS = scaler.Avs(
    tuple(
        TAPS
        if kind is scaler.AvsState
        else (coefficients(kind, 1 / 64) if kind is scaler.AvsCoefficients else kind())
        for kind in scaler.Avs.KINDS
    )
)
LARGE_HEAD = replace(CONVOLVE.head, height=1, width=1, msb_height=1, msb_width=1)
LARGE = media.Convolve((LARGE_HEAD, *CONVOLVE.states[1:]))
CONVOLUTIONS = (
    video(1),
    video(1, mode=1),
    video(8),
    video(9),
    video(0xA, sequence=3, registers=1),
)
PICTURE = replace(VIDEO, surface_format=media.MediaFormat.R8G8B8A8_UNORM, surface_pitch=127)
NV12 = replace(
    VIDEO,
    surface_format=media.MediaFormat.PLANAR_420_8,
    interleave_chroma=True,
    y_offset_for_u=16,
)
ADAPTIVE = scaler.AvsControl(
    bypass_x_adaptive_filtering=True, bypass_y_adaptive_filtering=True, default_sharpness_level=255
)


def with_part(table: media.Table, place: int, part: State) -> media.Table:
    states = list(table.states)
    states[place] = part
    return type(table)(tuple(states))


SCALED = (video(0, registers=16), video(0, sequence=2, registers=32))
FOUR_TAPS = with_part(AVS, 0, scaler.AvsState())
SMOOTH = with_part(
    with_part(AVS, 0, scaler.AvsState(enable_8_tap_filter=scaler.FilterTaps.EIGHT_ADAPTIVE)),
    18,
    ADAPTIVE,
)
EVERY = Header(sampler_state_pointer=SAMPLERS)
VIDEOS = [
    Case(VIDEO, CONVOLUTIONS, CONVOLVE, header=GREEN_ONLY),
    Case(VIDEO, CONVOLUTIONS[:2], LARGE, header=GREEN_ONLY),
    Case(VIDEO, (video(1, registers=0),), CONVOLVE, header=DIRECT),
    Case(VIDEO, (video(1, u=-0.2), video(1, u=1.1)), CONVOLVE, header=GREEN_ONLY),
    Case(PICTURE, SCALED, AVS, header=EVERY),
    Case(PICTURE, SCALED, FOUR_TAPS, header=EVERY),
    Case(PICTURE, SCALED, SMOOTH, header=EVERY),
    Case(NV12, SCALED, AVS, header=EVERY),
    Case(
        PICTURE, (video(0, registers=0),), AVS, header=replace(DIRECT, red_write_channel_mask=False)
    ),
]
HEADERS = [
    Case(RGBA, HEADED, LINEAR, header=MASKED),
    Case(RGBA, HEADED[3:4], LINEAR, header=EVERY),
    Case(VOLUME, HEADED, LINEAR, header=MASKED),
    Case(VOLUME, (PAIR,), LINEAR, header=PAIRED),
    Case(RGBA, (UNORM,), replace(LINEAR, mip_mode_filter=MipFilter.NONE), header=EVERY),
    *VIDEOS,
]  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where a case has the state that is changed."""

    name: str
    part: int | None = None

    def of(self, case: Case) -> State:
        found = getattr(case, self.name)
        return found if self.part is None else found.states[self.part]

    def put(self, case: Case, state: State) -> Case:
        old = getattr(case, self.name)
        new = state if self.part is None else with_part(old, self.part, state)
        return replace(case, **{self.name: new})


Row = tuple[type[State], Place, list[Case]]
AVS_CASES = [c for c in VIDEOS if isinstance(c.sampler, scaler.Avs)]
ROWS: list[Row] = [
    (SurfaceState, Place("surface"), SURFACES_OF),
    (SamplerState, Place("sampler"), SAMPLERS_OF),
    (BorderColor, Place("border"), BORDERS),
    (Header, Place("header"), HEADERS),
    (media.MediaSurfaceState, Place("surface"), VIDEOS),
    (media.ConvolveState, Place("sampler", 0), VIDEOS[:2]),
    (media.ConvolveCoefficients, Place("sampler", 1), VIDEOS[1:2]),
    (
        media.MorphologyState,
        Place("sampler"),
        [Case(VIDEO, (video(3, mode=1),), MORPHOLOGY, header=OCTETS)],
    ),
    (scaler.AvsState, Place("sampler", 0), AVS_CASES),
    (scaler.AvsControl, Place("sampler", 18), AVS_CASES),
    (scaler.AvsCoefficients, Place("sampler", 1), AVS_CASES[:2]),
]


def values(state: State, row: Any) -> Iterator[Any]:
    """Other values of a field."""
    now = getattr(state, row.name)
    if row.bits.when is not None and not row.bits.when(state):
        return
    if row.type is bool:
        yield not now
    elif issubclass(row.type, IntEnum):
        yield from (v for v in row.type if v != now)
    else:
        unit = 1 / (1 << row.bits.fraction) if row.bits.fraction else 1
        unit = 1 << row.bits.low if row.bits.address else unit
        most = (1 << row.bits.size - row.bits.signed) - 1
        low = -most - 1 if row.bits.signed else 0
        for value in (*(now + k * unit for k in (1, -1, 16, most // 2)), 0):
            if low * unit <= value <= most * unit and value != now:
                yield value


def check(scene: Scene, kind: type[State], place: Place, cases: list[Case]) -> None:
    """AssertionError for a field that does nothing and is not in the table, or contradicts it."""
    table: Mapping[str, Unheeded] = UNHEEDED.get(kind, {})
    assert set(table) <= {row.name for row in kind.rows()}
    idle = {row.name for row in kind.rows()} - set(table)
    for case in cases:
        before, base = list(scene.see(case)), place.of(case)

        def differs(
            changes: dict[str, Any], case: Case = case, before: Any = before, base: Any = base
        ) -> bool:
            seen = scene.see(place.put(case, replace(base, **changes)))
            return any(a != b for a, b in zip(seen, before, strict=True))

        hints = ((r, list(values(base, r))) for r in kind.rows() if r.name in table)
        together = {r.name: found[-1] for r, found in hints if found}
        assert not differs(together), f"{kind.TITLE}: one of {sorted(together)} does something"
        for row in kind.rows():
            if row.name in idle and any(differs({row.name: v}) for v in values(base, row)):
                idle.discard(row.name)
    assert not idle, f"{kind.TITLE}: nothing depends on {sorted(idle)}"


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize(("kind", "place", "cases"), ROWS, ids=[k.TITLE for k, _, _ in ROWS])
def test_every_field_acts_or_is_in_the_table(
    scene: Scene, kind: type[State], place: Place, cases: list[Case]
) -> None:
    check(scene, kind, place, cases)


@pytest.mark.parametrize("case", SURFACES_OF + SAMPLERS_OF + HEADERS)
def test_cases_are_answered(scene: Scene, case: Case) -> None:
    """Most of their messages: what is refused whatever a state says shows nothing."""
    answers = list(scene.see(case))
    assert any(a[0] != "error" for a in answers), answers


def test_a_field_that_is_forgotten_fails(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first test sees a field that neither acts nor stands in the table, and a false hint."""
    kept = {k: v for k, v in UNHEEDED[SamplerState].items() if k != "anisotropic_algorithm"}
    monkeypatch.setitem(UNHEEDED, SamplerState, kept)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="anisotropic_algorithm"):
        check(scene, SamplerState, Place("sampler"), SAMPLERS_OF)
    false = {**UNHEEDED.get(BorderColor, {}), "border_color_red": Unheeded(WhenSet.HINT, "false")}
    monkeypatch.setitem(UNHEEDED, BorderColor, false)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="border_color_red"):
        check(scene, BorderColor, Place("border"), BORDERS)
