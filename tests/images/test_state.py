"""State objects: every field by itself, real heaps of Intel's compiler, and what is refused."""

from __future__ import annotations

import random
from enum import IntEnum
from pathlib import Path

import pytest

from eumu.cli.main import main
from eumu.device.sampler.header import Header
from eumu.device.state.codes import SurfaceFormat
from eumu.device.state.fields import State, StateError
from eumu.device.state.media import (
    Convolve,
    ConvolveCoefficients,
    ConvolveState,
    MediaFormat,
    MediaSurfaceState,
    MorphologyState,
)
from eumu.device.state.printer import lines
from eumu.device.state.sampler import (
    AddressMode,
    BindingTableState,
    BorderColor,
    Filter,
    MipFilter,
    SamplerState,
)
from eumu.device.state.scaler import Avs, AvsCoefficients, AvsControl, AvsState
from eumu.device.state.surface import SurfaceState, SurfaceType
from eumu.device.surfaces.formats import Encoding, texel_format

KINDS: tuple[type[State], ...] = (
    SurfaceState,
    SamplerState,
    BorderColor,
    BindingTableState,
    Header,
    MediaSurfaceState,
    MorphologyState,
    ConvolveState,
    ConvolveCoefficients,
    AvsState,
    AvsControl,
    AvsCoefficients,
)

# What the compiler put into the heaps of a kernel for apl: a 2D surface, and the sampler of
# CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR.
REAL_SURFACE = "00c01f23000000030000000000000000" + "00" * 48
REAL_SAMPLER = "0040120003000e000000000000f80700"


def values(row: object, rng: random.Random) -> list[object]:
    """Values that a field can hold, the extremes among them."""
    kind, place = row.type, row.bits  # type: ignore[attr-defined]
    if kind is bool:
        return [True]
    if issubclass(kind, IntEnum):
        return [max(kind), rng.choice(list(kind))]
    unit = 1 << place.low if place.address else 1
    scale = 1 << place.fraction
    low = -(1 << place.size - 1) if place.signed else 0
    high = (1 << place.size - place.signed) - 1
    found = [low, high, rng.randint(low, high)]
    return [n / scale if place.fraction else n * unit for n in found]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_every_field_lies_where_its_row_says(kind: type[State]) -> None:
    rng = random.Random(6)
    for row in kind.rows():
        planar = {"surface_format": SurfaceFormat.PLANAR_420_8} if kind is SurfaceState else {}
        needs = row.bits.when is not None
        for value in values(row, rng):
            base: dict[str, object] = {}
            if needs and "plane" in row.name:
                base = planar
            if "media_compressed" in row.name:
                base = {"memory_compression_enable": True}
            given = {**base, row.name: value}
            state = kind(**given)
            data = state.encode()
            assert kind.decode(data) == state, row.name
            zero = kind(**{**base, row.name: row.type(0)}) if not _enum_without_0(row) else None
            if zero is not None:
                changed = int.from_bytes(data, "little") ^ int.from_bytes(zero.encode(), "little")
                first = 32 * row.bits.dword + row.bits.low
                assert changed & ~(((1 << row.bits.size) - 1) << first) == 0, row.name


def _enum_without_0(row: object) -> bool:
    kind = row.type  # type: ignore[attr-defined]
    return issubclass(kind, IntEnum) and 0 not in [int(v) for v in kind]


def test_fields_of_one_object_do_not_overlap() -> None:
    for kind in KINDS:
        taken = 0
        for row in kind.rows():
            if row.bits.when is None:
                mask = ((1 << row.bits.size) - 1) << 32 * row.bits.dword + row.bits.low
                assert taken & mask == 0, f"{kind.TITLE} {row.title}"
                taken |= mask


def test_states_that_the_compiler_wrote() -> None:
    image = SurfaceState.decode(bytes.fromhex(REAL_SURFACE))
    assert (image.surface_type, image.surface_format) == (SurfaceType.S2D, 199)
    assert image.surface_horizontal_alignment.columns == 16
    sampler = SamplerState.decode(bytes.fromhex(REAL_SAMPLER))
    assert sampler.address_modes == (AddressMode.WRAP,) * 3
    assert sampler.mag_mode_filter is sampler.min_mode_filter is Filter.LINEAR
    assert sampler.mip_mode_filter is MipFilter.NEAREST
    assert sampler.max_lod == 14.0
    assert not sampler.non_normalized_coordinate_enable
    assert sampler.rounding(True) == sampler.rounding(False) == (True, True, True)
    assert image.encode().hex() == REAL_SURFACE
    assert sampler.encode().hex() == REAL_SAMPLER


BAD = (
    (lambda: SurfaceState(width=1 << 14).encode(), "Width", "0 to 16383"),
    (lambda: SurfaceState(surface_base_address=1 << 64).encode(), "Surface Base Address", "is"),
    (lambda: SamplerState(border_color_pointer=32).encode(), "Border Color Pointer", "multiple"),
    (lambda: SamplerState(texture_lod_bias=16.0).encode(), "Texture LOD Bias", "-16.0 to 15.99"),
    (lambda: SamplerState(min_lod=-1.0).encode(), "Min LOD", "is -1.0"),
    (lambda: SurfaceState(x_offset_for_v_plane=1).encode(), "X Offset for V Plane", "not exist"),
    (lambda: SurfaceState.decode(bytes(10)), "length", "64 bytes"),
    (
        lambda: SurfaceState.decode(b"\0\0\0\xc0" + bytes(60)),
        "Surface Type",
        "6, which is reserved",
    ),
    (lambda: SamplerState.decode(b"\0\0\6\0" + bytes(12)), "Mag Mode Filter", "reserved"),
)


@pytest.mark.parametrize(("make", "field", "words"), BAD, ids=[row[1] for row in BAD])
def test_bad_state_names_its_field(make: object, field: str, words: str) -> None:
    with pytest.raises(StateError) as caught:
        make()  # type: ignore[operator]
    assert caught.value.field == field
    assert words in str(caught.value)


def test_bytes_of_any_kind_give_a_state_or_an_error() -> None:
    rng = random.Random(2)
    for kind in KINDS:
        for _ in range(300):
            data = rng.randbytes(kind.size())
            try:
                state = kind.decode(data)
            except StateError:
                continue
            assert kind.decode(state.encode()) == state
            assert list(lines(state, everything=True))


@pytest.mark.parametrize("kind", [Convolve, Avs])
def test_objects_with_tables_come_back(kind: type[Convolve | Avs]) -> None:
    data = random.Random(3).randbytes(kind.size())
    found = kind.decode(data)
    assert kind.decode(found.encode()) == found
    with pytest.raises(StateError, match=f"{kind.TITLE} has {kind.size()} bytes"):
        kind.decode(data[:-1])
    with pytest.raises(StateError, match="parts in their order"):
        kind(found.states[::-1])


def test_where_the_tables_lie() -> None:
    """Columns 16 to 31 of a kernel are 31 entries further; phase 17 of the scaler is at 160."""
    data = bytearray(Convolve.size())
    data[64 + 32 * 2 + 10 : 64 + 32 * 2 + 12] = (0x0800).to_bytes(2, "little")
    data[64 + 32 * 33 + 10 : 64 + 32 * 33 + 12] = (0xF000).to_bytes(2, "little")
    rows = Convolve.decode(bytes(data)).coefficients
    assert (rows[2][5], rows[2][21]) == (0.5, -1.0)
    assert sum(c != 0 for row in rows for c in row) == 2
    data = bytearray(Avs.size())
    data[4 * 160 + 2], data[4 * 152 + 3] = 0xC0, 0xFF
    state = Avs.decode(bytes(data))
    assert state.phases[17].taps("0x")[1] == -1.0
    assert state.control.default_sharpness_level == 255


def test_the_printer_shows_tables_and_media_surfaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "heap.bin"
    coefficients = ConvolveCoefficients(filter_coefficient_3=-0.5)
    states = [ConvolveState(height=3, width=5), *[ConvolveCoefficients()] * 62]
    states[4] = coefficients
    file.write_bytes(Convolve(tuple(states)).encode())
    assert main(["state", str(file), "--as", "convolve"]) == 0
    out = capsys.readouterr().out
    assert "SAMPLER_STATE_8x8_CONVOLVE_COEFFICIENTS (dword 40)" in out
    assert "Filter Coefficient 3  -0.5" in out and "COEFFICIENTS (dword 48)" not in out
    file.write_bytes(MediaSurfaceState(width=15, surface_format=MediaFormat.Y8_UNORM).encode())
    assert main(["state", str(file), "--as", "media-surface"]) == 1
    found = capsys.readouterr()
    assert "Y8_UNORM (12)" in found.out and "Surface Pitch (dword 2 bits 20:3)" in found.err


def test_every_format_number_is_known_once() -> None:
    assert len({int(f) for f in SurfaceFormat}) == len(SurfaceFormat)
    kinds = [texel_format(f).encoding for f in SurfaceFormat]
    assert kinds.count(Encoding.PLAIN) > 160
    assert texel_format(SurfaceFormat.R8G8B8A8_UNORM).bytes == 4
    assert texel_format(SurfaceFormat.B5G5R5A1_UNORM).channels[3].shift == 15


def test_the_printer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "heap.bin"
    file.write_bytes(bytes(16) + bytes.fromhex(REAL_SAMPLER))
    assert main(["state", str(file), "--as", "sampler", "--offset", "16"]) == 0
    out = capsys.readouterr().out
    assert "SAMPLER_STATE at byte 0x10" in out
    assert "Mag Mode Filter" in out and "LINEAR (1)" in out and "dword 0 bits 19:17" in out
    file.write_bytes(b"\0\0\0\xc0" + bytes(60))
    assert main(["state", str(file), "--as", "surface"]) == 1
    assert "Surface Type" in capsys.readouterr().err
    assert main(["state", str(file), "--as", "surface", "--offset", "8"]) == 2
