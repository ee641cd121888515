"""Commands and state objects as Gen8 has them."""

from __future__ import annotations

import pytest

from eumu.device.commands import CommandError, Packet, decode, encode, gen8, gpgpu, mi, render
from eumu.device.commands.unheeded import UNHEEDED
from eumu.device.state import gen8 as states
from eumu.device.state.fields import StateError
from eumu.device.state.sampler import SamplerState
from eumu.device.state.surface import SurfaceState, SurfaceType


def test_lengths() -> None:
    """STATE_BASE_ADDRESS without bindless surfaces: header as public drivers have it."""
    command = gen8.StateBaseAddress(dynamic_state_base_address=0x1000)
    data = encode([command])
    assert data[:4] == (0x6101000E).to_bytes(4, "little") and len(data) == 64
    assert decode(data, is_gen8=True).packet.command == command
    with pytest.raises(CommandError, match="says it has 16 dwords; it has 19"):
        decode(data)
    with pytest.raises(CommandError, match="says it has 19 dwords; it has 16"):
        decode(encode([render.StateBaseAddress()]), is_gen8=True)


def test_a_selection_always_counts() -> None:
    placed = decode((0x69040002).to_bytes(4, "little"), is_gen8=True)
    assert isinstance(placed.packet.command, render.PipelineSelect)
    assert placed.packet.command.mask_bits == 3 and placed.packet.command.pipeline_selection == 2
    with pytest.raises(CommandError, match="reserved bit 8 of dword 0"):
        decode((0x69040102).to_bytes(4, "little"), is_gen8=True)


def test_fields_that_gen9_added_are_reserved() -> None:
    for command in (
        render.PipeControl(flush_llc=True),
        mi.MiSemaphoreWait(register_poll_mode=True),
    ):
        with pytest.raises(CommandError, match="reserved bit"):
            decode(Packet(command).encode(), is_gen8=True)
    clears = gen8.PipeControl(protected_memory_disable=True)
    assert decode(encode([clears]), is_gen8=True).packet.command == clears
    vfe = gen8.MediaVfeState(bypass_gateway_control=True)
    assert decode(encode([vfe]), is_gen8=True).packet.command == vfe
    with pytest.raises(CommandError, match="reserved bit 6 of dword 3"):
        decode(encode([vfe]))


def test_what_is_laid_out_in_another_way_is_refused() -> None:
    for kind in gen8.UNMODELLED:
        with pytest.raises(CommandError, match=f"{kind.TITLE} .*is not modelled on Gen8"):
            decode(encode([kind()]), is_gen8=True)


def test_what_does_nothing_has_the_reasons_of_gen9() -> None:
    for older, kind in gen8.COMMANDS.items():
        names = {row.name for row in kind.rows()}
        assert UNHEEDED.get(older, {}).keys() & names <= UNHEEDED[kind].keys() <= names


@pytest.mark.parametrize(("code", "size"), [(0, 0), (1, 4), (2, 8), (4, 16), (8, 32), (16, 64)])
def test_shared_local_memory(code: int, size: int) -> None:
    """The code counts 4 KB."""
    words = [0] * 8
    words[6] = code << 16
    data = b"".join(w.to_bytes(4, "little") for w in words)
    found = gpgpu.InterfaceDescriptorData.decode(states.interface_descriptor(data))
    told = int(found.shared_local_memory_size)
    assert (1 << told + 9 if told else 0) == size << 10
    words[6] = 3 << 16
    with pytest.raises(StateError, match="is 3, which is reserved on Gen8"):
        states.interface_descriptor(b"".join(w.to_bytes(4, "little") for w in words))


def test_volumes_have_no_pitch_of_their_own() -> None:
    """Slices follow each other, their heights aligned."""
    volume = SurfaceState(surface_type=SurfaceType.S3D, height=6, width=49, depth=4)
    assert SurfaceState.decode(states.surface(volume.encode())).surface_qpitch == 8 // 4
    flat = SurfaceState(surface_type=SurfaceType.S2D, height=6, surface_qpitch=5)
    assert SurfaceState.decode(states.surface(flat.encode())) == flat


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (SurfaceState(auxiliary_surface_mode=1), "Auxiliary Surface Mode"),
        (SurfaceState(tiled_resource_mode=1), "bits 19:18 of dword 5 are reserved on Gen8"),
        (SurfaceState(surface_type=SurfaceType.S3D, mip_count_lod=2), "MIP Count LOD"),
    ],
)
def test_surfaces_that_gen8_does_not_have(state: SurfaceState, reason: str) -> None:
    with pytest.raises(StateError, match=reason):
        states.surface(state.encode())


def test_samplers() -> None:
    plain = SamplerState(min_lod=1.0).encode()
    assert states.sampler(plain) == plain
    for state, reason in (
        (SamplerState(coarse_lod_quality_mode=3), "Base Mip Level .* is 1.5"),
        (SamplerState(reduction_type_enable=True), "bits 9 of dword 3"),
    ):
        with pytest.raises(StateError, match=reason):
            states.sampler(state.encode())
