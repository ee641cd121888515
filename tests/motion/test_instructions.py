"""The instructions of motion estimation in plain vISA text: what they send, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.vme.payload import RECORD, SEARCH, SKIP_AND_INTRA, VECTORS, ResultHeader
from eumu.device.vme.payload import UniversalInput as Universal
from motion.test_kernels import moved, smooth

# SEARCHED is the payload of a search with what is streamed in; ADDED that of other messages.
_TEXT = """.version 4.1
.kernel "k"
.decl SRC v_type=T num_elts=1 v_name=SRC
.decl FORWARD v_type=T num_elts=1 v_name=FORWARD
.decl BACKWARD v_type=T num_elts=1 v_name=BACKWARD
.decl GIVEN v_type=G type=uq num_elts=1 align=qword
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl AT v_type=G type=uq num_elts=1 align=qword
.decl IN v_type=G type=ub num_elts=512 align=GRF
.decl IN_UW v_type=G type=uw num_elts=256 alias=<IN, 0>
.decl RESULT v_type=G type=ub num_elts=512 align=GRF
.input GIVEN offset=32 size=8
.input OUT offset=40 size=8
.input SRC offset=48 size=4
.input FORWARD offset=52 size=4
.input BACKWARD offset=56 size=4
.kernel_attr Target="cm"
.kernel_attr SimdSize=8
.function "k"
{body}
    ret (M1, 1)
"""
PLACE = (16, 16)
SPIRAL = bytes.fromhex("0ff001011010 0f0f0f f0f0f0".replace(" ", ""))


@pytest.fixture(scope="module", params=["interp", "jit"])
def device(request: pytest.FixtureRequest) -> Iterator[eumu.Device]:
    yield eumu.Device("skl", engine=request.param)


def ask(device: eumu.Device, instruction: str, pictures: list[Any], given: bytes) -> bytes:
    """512 bytes to IN, the instruction, 512 bytes of RESULT."""
    body = []
    for name, register, word in (("GIVEN", "IN", "ld"), ("OUT", "RESULT", "st")):
        if name == "OUT":
            body.append(f"    {instruction}")
        for k in range(0, 512, 128):
            body.append(f"    add (M1, 1) AT(0,0)<1> {name}(0,0)<0;1,0> {k:#x}:uq")
            body.append(f"    svm_block_{word} (8) AT(0,0)<0;1,0> {register}.{k}")
    program = eumu.load(_TEXT.format(body="\n".join(body)).encode(), device="skl")
    data = np.frombuffer(given.ljust(512, b"\0"), np.uint8)
    out = device.array(512, np.uint8)
    images = [device.image(p, format="R8_UNORM") for p in pictures]
    program["k"].launch(device, 1, args=[device.array(data), out, *images])
    return bytes(out.numpy())


def parts(answer: bytes) -> tuple[ResultHeader, Any, Any]:
    """The header, the vectors, and up to four records."""
    records = np.frombuffer(answer[224:480], RECORD)
    return ResultHeader.decode(answer), np.frombuffer(answer[32:224], VECTORS)[0], records


def universal(**fields: Any) -> Universal:
    known = {"src_x": PLACE[0], "src_y": PLACE[1], "ref_width": 28, "ref_height": 28}
    known |= {"len_sp": 9, "max_num_su": 9, "start_center0_x": 1, "start_center0_y": 1}
    return Universal(**known | {"max_num_mvs": 32, "sub_mb_part_mask": 0x70} | fields)


def searched(uni: Universal, ref0: tuple[int, int], ref1: tuple[int, int] = (0, 0)) -> bytes:
    """Universal input, search path; references and cost centres in registers of their own.

    What those say goes before what the universal input says.
    """
    search = np.zeros((), SEARCH)
    search["path"][: len(SPIRAL)] = np.frombuffer(SPIRAL, np.uint8)
    corners = [np.array(r, np.int16).tobytes().ljust(32, b"\0") for r in (ref0, ref1)]
    return uni.encode() + search.tobytes() + b"\0" * 128 + b"".join(corners)


PICTURES = [moved(smooth(60), 2, -3, 9), smooth(60), smooth(61)]


def test_a_search(device: eumu.Device) -> None:
    given = searched(universal(ref0_x=99, search_ctrl=7), (-6, -6))
    answer = ask(
        device, "vme_ime(0,0) SRC  IN.0 IN.128 IN_UW.320 IN_UW.352 IN_UW.384 RESULT.0",
        PICTURES, given,
    )  # fmt: skip
    header, vectors, _ = parts(answer)
    assert (header.inter_mb_mode, header.inter_mb_type, header.mv_quantity) == (3, 22, 4) or (
        header.inter_mb_mode < 3
    )
    assert vectors["mv"][0, 0].tolist() == [8, -12]
    assert header.skip_raw_distortion == header.best_intra_distortion == 0xFFFF
    assert answer[224:] == b"\0" * 288


@pytest.mark.parametrize("search", [0, 3])
def test_streams(device: eumu.Device, search: int) -> None:
    """What is streamed out of a search, streamed into another one, is not lost there."""
    count = 2 if search == 3 else 1
    first = searched(universal(start_center1_x=1, start_center1_y=1), (-6, -6), (-6, -6))
    where = "SRC  IN.0 IN.128 IN_UW.320 IN_UW.352 IN_UW.384 RESULT.0"
    answer = ask(device, f"vme_ime(1,{search}) {where}", PICTURES, first)
    _, vectors, records = parts(answer)
    assert records["mv_16x16"][0].tolist() == [8, -12]
    again = bytearray(searched(universal(start_center1_x=1, start_center1_y=1), (9, 9), (9, 9)))
    again[192 : 192 + 64 * count] = answer[224 : 224 + 64 * count]
    both = ask(device, f"vme_ime(3,{search}) {where}", PICTURES, bytes(again))
    _, later, kept = parts(both)
    for k in range(count):
        assert (kept["distortion"][k] <= records["distortion"][k]).all()
        assert kept["distortion_16x16"][k] <= records["distortion_16x16"][k]
    assert later["mv"][0, 0].tolist() == vectors["mv"][0, 0].tolist() == [8, -12]
    quiet = ask(device, f"vme_ime(2,{search}) {where}", PICTURES, bytes(again))
    assert quiet[:224] == both[:224]


def test_refinement(device: eumu.Device) -> None:
    """The three operands go before what the universal input says of the partition."""
    uni = universal(sub_pel_mode=3, fbr_mb_mode=3, fbr_sub_mb_shape=255, bme_disable_fbr=True)
    vectors = np.zeros((16, 2, 2), np.int16)
    vectors[:8, 0], vectors[8:, 1] = (8, -12), (0, 4)
    given = uni.encode() + vectors.tobytes()
    answer = ask(
        device, "vme_fbr ( 0x1:ud, 0x0:ud, 0x4:ud) SRC  IN.0 IN.128 RESULT.0", PICTURES, given
    )
    header, found, _ = parts(answer)
    assert (header.inter_mb_mode, header.inter_mb_type, header.sub_mb_pred_mode) == (1, 8, 4)
    assert abs(found["mv"][0, 0] - (8, -12)).max() <= 3
    assert abs(found["mv"][8, 1] - (0, 4)).max() <= 3
    assert header.best_inter_distortion == int(found["inter_distortion"][[0, 8]].sum())
    assert found["mv"][8, 0].tolist() == [0, 0]


def test_skip_and_intra(device: eumu.Device) -> None:
    uni = universal(skip_mode_en=True, skip_center_mask=1, mb_intra_struct=0x7C)
    payload = np.zeros((), SKIP_AND_INTRA)
    payload["skip_center"][0, 0] = (8, -12)
    payload["intra_compute_type"] = 1
    source, reference = (p.astype(np.int64) for p in PICTURES[:2])
    x, y = PLACE
    payload["top_luma"], payload["left_luma"] = source[y - 1, x : x + 24], source[y : y + 16, x - 1]
    payload["corner_luma"] = source[y - 1, x - 1]
    answer = ask(
        device, "vme_sic SRC  IN.0 IN.128 RESULT.0", PICTURES, uni.encode() + payload.tobytes()
    )
    header, _, _ = parts(answer)
    here, there = source[y : y + 16, x : x + 16], reference[y - 3 : y + 13, x + 2 : x + 18]
    assert header.skip_raw_distortion == header.best_inter_distortion == abs(here - there).sum()
    assert 0 < header.best_intra_distortion < 0xFFFF
    assert header.best_chroma_intra_distortion == 0xFFFF


def test_the_mesh_is_refused(device: eumu.Device) -> None:
    with pytest.raises(eumu.Unsupported, match="where the points of the distortion mesh are"):
        ask(device, "vme_idm SRC  IN.0 IN.128 RESULT.0", PICTURES, b"")
