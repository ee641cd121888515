"""Fields of the payloads, and the parts of the model that need no kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eumu.device.vme import mb_type, payload
from eumu.device.vme.costs import Costs, u4u4
from eumu.device.vme.payload import ResultHeader, UniversalInput
from eumu.device.vme.search import search_path
from eumu.device.vme.shapes import BLOCKS, MAJORS, MEMBERS, MINORS, SLOTS
from eumu.errors import Unsupported
from motion import oracle

STATES = (UniversalInput, ResultHeader)


@pytest.mark.parametrize("state", STATES, ids=lambda s: s.__name__)
def test_fields_do_not_overlap_and_come_back(state: type[UniversalInput | ResultHeader]) -> None:
    used = 0
    for row in state.rows():
        place = row.bits
        mask = ((1 << place.size) - 1) << (32 * place.dword + place.low)
        assert not used & mask, row.name
        used |= mask
    rng = np.random.default_rng(1)
    for _ in range(20):
        data = int.from_bytes(rng.bytes(state.size()), "little") & used
        octets = data.to_bytes(state.size(), "little")
        assert state.decode(octets).encode() == octets


def test_sizes_are_whole_registers() -> None:
    sizes = {"VECTORS": 192, "SEARCH": 64, "RECORD": 64, "SKIP_AND_INTRA": 128}
    assert {name: getattr(payload, name).itemsize for name in sizes} == sizes
    assert (UniversalInput.size(), ResultHeader.size()) == (128, 32)


# Places that the CM compiler's header names: register, byte, and a value put there.
@pytest.mark.parametrize(
    ("field", "value", "register", "byte", "octets"),
    [
        ("src_x", 0x1234, 0, 8, "3412"),
        ("inter_sad", 2, 0, 14, "20"),
        ("sub_mb_part_mask", 0x77, 0, 15, "77"),
        ("ref_width", 48, 0, 22, "30"),
        ("early_ime_stop", 0x35, 1, 3, "35"),
        ("max_num_mvs", 32, 1, 4, "20"),
        ("bi_weight", 21, 1, 6, "15"),
        ("len_sp", 48, 1, 8, "30"),
        ("blk_ref_ids", 0x11, 1, 24, "11"),
        ("mb_intra_struct", 0x7C, 1, 29, "7c"),
        ("skip_center_mask", 0x55, 1, 31, "55"),
        ("ref_id_cost", 7, 2, 10, "07"),
        ("mv_costs", 0x8877665544332211, 2, 12, "1122334455667788"),
        ("fbr_sub_pred_mode", 0xAA, 2, 22, "aa"),
        ("fwd_t_coeff_threshold_dc", 0x0102, 2, 24, "0201"),
        ("fwd_t_coeff_threshold_6", 9, 2, 31, "09"),
        ("cost_centers", 5, 3, 0, "05"),
    ],
)
def test_places(field: str, value: int, register: int, byte: int, octets: str) -> None:
    data = UniversalInput(**{field: value}).encode()
    where = 32 * register + byte
    expected = bytearray(128)
    expected[where : where + len(octets) // 2] = bytes.fromhex(octets)
    assert data == expected


@given(
    st.integers(0, 2**64 - 1), st.integers(0, 3),
    st.tuples(*[st.integers(-2000, 2000)] * 2), st.tuples(*[st.integers(-2000, 2000)] * 2),
)  # fmt: skip
def test_vector_costs(
    table: int, precision: int, mv: tuple[int, int], center: tuple[int, int]
) -> None:
    packed = int.from_bytes(np.array([center, (0, 0)] * 4, "<i2").tobytes(), "little")
    uni = UniversalInput(mv_costs=table, mv_cost_scale_factor=precision, cost_centers=packed)
    found = int(Costs(uni).vector(np.array([mv]), 2, 0)[0])
    assert found == oracle.vector_cost(mv, center, table, precision)


def test_flat_costs() -> None:
    codes = int.from_bytes(bytes([1, 0x12, 3, 4, 5, 6, 7, 8, 9, 0x1A]), "little")
    costs = Costs(UniversalInput(mode_costs=codes, ref_id_cost=0x13, chroma_intra_mode_cost=0x21))
    assert [u4u4(c) for c in (0, 0x0F, 0x1F, 0x8F)] == [0, 15, 30, 3840]
    assert [costs.major(k) for k in range(3)] == [9, 5, 5]
    assert [costs.minor(k) for k in range(4)] == [6, 7, 7, 8]
    assert [costs.intra_shape(k) for k in range(3)] == [4, 3, 4]
    assert [costs.direction(False), costs.direction(True), costs.not_predicted] == [0, 20, 1]
    assert [costs.reference(k) for k in range(16)] == [0, 6, 6, *[12] * 4, *[18] * 9]
    assert [costs.chroma(k) for k in range(4)] == [0, 4, 4, 8]
    with pytest.raises(Unsupported, match="RefIDCostMode"):
        Costs(UniversalInput(ref_id_cost=1, ref_id_cost_mode=True))


# The path that the compiler writes for the exhaustive search of 48x40 pixels.
EXHAUSTIVE = bytes.fromhex(
    "0ff00101 10100f0f 0ff0f0f0 01010101 10101010 0f0f0f0f 0ff0f0f0"
    "f0f00101 01010101 10101010 10100f0f 0f0f0f0f 0ff0f0f0 f0f0f0f0".replace(" ", "")
)


def test_the_path_is_the_spiral_of_the_manual() -> None:
    """Figure "Exhaustive search path for a 48x40 search window"; the last column is far away."""
    path = search_path(EXHAUSTIVE, (4, 3), (8, 6), 48, 48, False)
    assert len(set(path)) == len(path) == 48
    places = {0: (4, 3), 1: (3, 3), 3: (4, 2), 9: (2, 4), 25: (1, 5), 30: (1, 0), 36: (7, 0)}
    places |= {41: (7, 5), 42: (0, 5), 47: (0, 0)}
    assert {k: path[k] for k in places} == places


def test_short_paths() -> None:
    assert search_path(EXHAUSTIVE, (1, 1), (3, 3), 9, 9, False) == (
        *((1, 1), (0, 1), (0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2)),
    )
    assert search_path(EXHAUSTIVE, (1, 1), (3, 3), 4, 9, True)[4:] == (
        *((2, 0), (2, 1), (0, 2), (1, 2), (2, 2)),
    )
    assert search_path(EXHAUSTIVE, (1, 1), (3, 3), 4, 6, True)[4:] == ((2, 0), (2, 1))


def test_shapes() -> None:
    assert len(BLOCKS) == len(set(BLOCKS)) == 41
    for indices in (*MAJORS, *(tuple(i for q in MINORS for i in q[m]) for m in range(4))):
        assert (sum(MEMBERS[i].astype(int) for i in indices) == 1).all()
        taken = [k for i in indices for k in range(16)[SLOTS[i]]]
        assert taken == list(range(16))


def test_macroblock_types() -> None:
    """H.264, table 7-14: B_L0_16x16 is 1, B_Bi_Bi_8x16 is 21, B_8x8 is 22."""
    types = [mb_type.inter(0, (d,)) for d in range(3)]
    types += [mb_type.inter(m, (a, b)) for m in (1, 2) for a in range(3) for b in range(3)]
    assert sorted([*types, mb_type.inter(3, (0, 1, 2, 0))]) == list(range(1, 23))
    assert (mb_type.inter(2, (2, 2)), mb_type.inter(1, (0, 1)), mb_type.inter(2, (1, 0))) == (
        21,
        8,
        11,
    )
