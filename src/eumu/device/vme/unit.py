"""The messages of motion estimation: payload in, registers out, one macroblock at a time.

The source is at the message's binding-table index; the reference of identifier n is 1 + 2n behind
it, its backward partner one further.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.addresses import BTI_BINDLESS
from eumu.device.state.fields import StateError
from eumu.device.surfaces.texture import Texture
from eumu.device.vme import intra, mb_type, search
from eumu.device.vme.costs import Costs
from eumu.device.vme.distortion import MOST
from eumu.device.vme.partition import Partition, Record, best_partition
from eumu.device.vme.payload import (
    RECORD,
    SEARCH,
    SKIP_AND_INTRA,
    VECTORS,
    ResultHeader,
    UniversalInput,
)
from eumu.device.vme.pictures import Picture
from eumu.device.vme.prediction import Predictor
from eumu.device.vme.refine import BIDIRECTIONAL, refine
from eumu.device.vme.shapes import BLOCKS, MAJORS, MEMBERS, SLOTS
from eumu.device.vme.skip import skip_check
from eumu.errors import Unsupported
from eumu.messages import MotionEstimation

Ints = NDArray[np.int64]
Surfaces = Callable[[int], Texture]

_SIZE: Final = 16
_UNIVERSAL: Final = UniversalInput.size()
# SearchCtrl: one reference, one record; two starts; one reference, two records; two references.
_ONE_START, _TWO_STARTS, _TWO_REFERENCES = 0, 1, 7
_EDGES: Final = 4  # bits of what each reference says about its edges
_INTRA_LUMA_AND_CHROMA, _INTRA_LUMA = 0, 1
_WEIGHTS: Final = (16, 21, 32, 43, 48)

_UNDESCRIBED: Final = {
    "src_size": "SrcSize",
    "mb_type_remap": "MbTypeRemap",
    "ref_pixel_offset": "RefPixelOffset",
    "ref_pixel_shift": "RefPixelShift",
    "fixed_7x7_weights": "Fixed7x7Weights",
    "weighted_sad_haar": "WeightedSADHAAR",
}


def execute(record: MotionEstimation, index: int, payload: bytes, surfaces: Surfaces) -> bytes:
    """The answer to a message; `surfaces` finds a surface by its binding-table index."""
    if index >= BTI_BINDLESS:
        raise StateError(
            f"binding-table index {index} names no picture; motion estimation finds them by their"
            " places in the table",
            "Binding Table Index",
        )
    uni = UniversalInput.decode(payload[:_UNIVERSAL])
    for name, title in _UNDESCRIBED.items():
        if value := getattr(uni, name):
            raise Unsupported(
                f"motion estimation with {title} {int(value)}: what it does is described nowhere"
            )
    message = _Message(record, index, uni, payload[_UNIVERSAL:], surfaces)
    return _KINDS[record.kind](message)


class _Message:
    """One message and what is common to all kinds."""

    def __init__(
        self,
        record: MotionEstimation,
        index: int,
        uni: UniversalInput,
        rest: bytes,
        surfaces: Surfaces,
    ) -> None:
        self.record, self.uni, self.rest = record, uni, rest
        self._index, self._surfaces = index, surfaces
        self.costs = Costs(uni)
        field = int(uni.src_field_polarity) if uni.src_access else None
        self.source_picture = Picture.of(surfaces(index), field)
        surface = self.source_picture.texture.surface
        height = surface.height if field is None else surface.height // 2
        if uni.src_x >= surface.width or uni.src_y >= max(1, height):
            raise uni.error(
                "src_x", f"and Src Y are {uni.src_x}, {uni.src_y}, outside the source picture"
            )
        self.source = self.source_picture.luma(uni.src_x, uni.src_y, _SIZE, _SIZE)

    def payload(self, kind: np.dtype[Any], offset: int = 0) -> Any:
        return np.frombuffer(self.rest, kind, 1, offset)[0]

    def ref_id(self, quarter: int, direction: int) -> int:
        return self.uni.blk_ref_ids >> (8 * quarter + 4 * direction) & 15

    def ref_ids(self) -> Ints:
        """[quarter, direction]."""
        return np.array([[self.ref_id(q, d) for d in (0, 1)] for q in range(4)])

    def reference(self, quarter: int, direction: int) -> Picture:
        uni, index = self.uni, self._index + 1 + 2 * self.ref_id(quarter, direction) + direction
        polarity = (uni.ref0_polarity, uni.ref1_polarity)[direction] >> quarter & 1
        return Picture.of(self._surfaces(index), polarity if uni.ref_access else None)

    def predictor(self, used: list[tuple[int, int]]) -> Predictor:
        """`used` are quarters and directions whose references are looked at."""
        uni = self.uni
        is_mixed = any((q, 0) in used and (q, 1) in used for q in range(4))
        if is_mixed and uni.bi_weight not in _WEIGHTS:
            raise uni.error("bi_weight", f"is {uni.bi_weight}; it is 16, 21, 32, 43 or 48")
        pictures = [
            (
                self.reference(q, 0) if (q, 0) in used else None,
                self.reference(q, 1) if (q, 1) in used else None,
            )
            for q in range(4)
        ]
        place = uni.src_x, uni.src_y
        return Predictor(tuple(pictures), *place, uni.bi_weight, uni.bilinear_enable)

    def answer(self, header: dict[str, Any], vectors: Any, *records: Any) -> bytes:
        """The registers of the answer, as many as the message asks for."""
        uni = self.uni
        fields = {
            "skip_raw_distortion": MOST,
            "best_intra_distortion": MOST,
            "best_chroma_intra_distortion": MOST,
            "field_mb_flag": uni.src_access,
            "field_mb_polarity_flag": uni.src_access and uni.src_field_polarity,
        }
        data = ResultHeader(**(fields | header)).encode() + vectors.tobytes()
        data += b"".join(r.tobytes() for r in records)
        room = 32 * self.record.response
        if len(data) > room:
            raise StateError(
                f"the answer has {len(data) // 32} registers, the message expects"
                f" {self.record.response}",
                "Response Length",
            )
        return bytes(data.ljust(room, b"\0"))


# ---- whole pixels


def _integer(message: _Message) -> bytes:
    uni, record = message.uni, message.record
    if uni.search_ctrl not in (_ONE_START, _TWO_STARTS, _TWO_REFERENCES):
        raise Unsupported(
            f"motion estimation with SearchCtrl {uni.search_ctrl}: which record keeps what is"
            " described nowhere"
        )
    count = 2 if uni.search_ctrl == _TWO_REFERENCES else 1
    if uni.dual_search_path and uni.search_ctrl != _ONE_START:
        raise Unsupported("motion estimation with DualSearchPath: the paths are described nowhere")
    grid = search.grid(uni)
    windows = [_window(message, d, grid) for d in range(count)]
    records = [
        _streamed_in(message.payload(RECORD, SEARCH.itemsize + d * RECORD.itemsize))
        if record.stream_in
        else Record()
        for d in range(count)
    ]
    stopped = search.search(message.source, windows, records, uni, message.costs)
    limit = uni.max_num_mvs or 1
    mask = uni.sub_mb_part_mask
    if mask & 0x7F == 0x7F:
        raise uni.error("sub_mb_part_mask", "is 0x7f; it leaves no shape")
    best, truncated = best_partition(
        records, message.costs, mask, limit, mix=not uni.uni_mix_disable
    )
    vectors = _integer_vectors(message, best, records)
    header = {
        "inter_mb_mode": best.major,
        "inter_mb_type": mb_type.inter(best.major, best.directions),
        "mv_quantity": best.count & 31,
        "best_inter_distortion": best.distortion,
        "sub_mb_shape": best.sub_mb_shape,
        "sub_mb_pred_mode": _packed(best.directions),
        "early_ime_stopped": stopped,
        "max_num_mvs_truncated": truncated,
        "ref0_border_reached": _borders(best, records, windows, 0, grid),
        "ref1_border_reached": _borders(best, records, windows, 1, grid),
    }
    out = [_streamed_out(r) for r in records] if record.stream_out else []
    return message.answer(header, vectors, *out)


def _window(message: _Message, direction: int, grid: tuple[int, int]) -> search.Window:
    uni = message.uni
    x, y = ((uni.ref0_x, uni.ref0_y), (uni.ref1_x, uni.ref1_y))[direction]
    path = message.payload(SEARCH)["path"].tobytes()
    starts = [(uni.start_center0_x, uni.start_center0_y)]
    second = uni.start_center1_x, uni.start_center1_y
    if direction:
        starts = [second]
    elif uni.search_ctrl == _TWO_STARTS:
        starts.append(second)
    units: dict[tuple[int, int], None] = {}
    for start in starts:
        way = search.search_path(path, start, grid, uni.len_sp, uni.max_num_su, uni.adaptive_en)
        units |= dict.fromkeys(way)
    if not units:
        raise uni.error(f"start_center{direction}_x", "and Y are outside the search window")
    picture = message.reference(0, direction)
    size = uni.ref_width, uni.ref_height
    pixels = picture.luma(uni.src_x + x, uni.src_y + y, *size)
    return search.Window(pixels, x, y, tuple(units), direction, message.ref_id(0, direction))


def _integer_vectors(message: _Message, best: Partition, records: list[Record]) -> Any:
    """Vectors of both directions, distortions of the one chosen, identifiers of the quarters."""
    vectors = np.zeros((), VECTORS)
    ids = 0
    for pieces, direction in zip(best.parts, best.directions, strict=True):
        for piece in pieces:
            for d, record in enumerate(records):
                vectors["mv"][SLOTS[piece], d] = record.mv[piece]
            distortion = records[direction].distortion[piece]
            vectors["inter_distortion"][SLOTS[piece]] = distortion
            for quarter in {int(k) // 4 for k in np.flatnonzero(MEMBERS[piece])}:
                for d, record in enumerate(records):
                    place = 8 * quarter + 4 * d
                    ids = ids & ~(15 << place) | int(record.ref_id[piece]) << place
    vectors["blk_ref_ids"] = ids
    return vectors


def _borders(
    best: Partition,
    records: list[Record],
    windows: list[search.Window],
    direction: int,
    grid: tuple[int, int],
) -> int:
    """Which edges of its window a vector of the result reaches: left, right, top, bottom."""
    if direction >= len(records):
        return 0
    borders, window = 0, windows[direction]
    last = 4 * grid[0] - 1, 4 * grid[1] - 1
    for pieces, way in zip(best.parts, best.directions, strict=True):
        for piece in pieces if way == direction else ():
            x, y = (int(v) >> 2 for v in records[direction].mv[piece])
            x, y = x - window.x, y - window.y
            reached = (x <= 0, x >= last[0], y <= 0, y >= last[1])
            borders |= sum(1 << k for k in range(_EDGES) if reached[k])
    return borders


_STREAMED: Final = tuple(k for major in MAJORS[1:] for k in major)


def _streamed_in(payload: Any) -> Record:
    record = Record()
    every = list(_STREAMED)
    record.distortion[0], record.distortion[every] = (
        payload["distortion_16x16"],
        payload["distortion"],
    )
    record.mv[0], record.mv[every] = payload["mv_16x16"], payload["mv"]
    nibbles = [int(v) >> s & 15 for v in payload["ref_ids"] for s in (0, 4)]
    record.ref_id[0], record.ref_id[every] = int(payload["ref_id_16x16"]) & 15, nibbles
    return record


def _streamed_out(record: Record) -> Any:
    payload = np.zeros((), RECORD)
    every = list(_STREAMED)
    payload["distortion_16x16"], payload["distortion"] = (
        record.distortion[0],
        record.distortion[every],
    )
    payload["mv_16x16"], payload["mv"] = record.mv[0], record.mv[every]
    ids = record.ref_id[every]
    payload["ref_id_16x16"], payload["ref_ids"] = record.ref_id[0], ids[::2] | ids[1::2] << 4
    return payload


# ---- parts of pixels


def _fractional(message: _Message) -> bytes:
    uni = message.uni
    mv = message.payload(np.dtype(("<i2", (16, 2, 2)))).astype(np.int64)
    used = set()
    for k, index in enumerate(MAJORS[uni.fbr_mb_mode]):
        direction = uni.fbr_sub_pred_mode >> 2 * k & 3
        is_both = direction == BIDIRECTIONAL or not uni.bme_disable_fbr
        for d in (0, 1) if is_both else (direction,):
            used |= {(q, d) for q in range(4) if MEMBERS[index][4 * q]}
    predictor = message.predictor(sorted(used))
    ids = message.ref_ids()
    best = refine(message.source, mv, uni, predictor, ids, message.costs)
    vectors = np.zeros((), VECTORS)
    vectors["mv"], vectors["inter_distortion"] = best.mv, best.distortion
    vectors["blk_ref_ids"] = uni.blk_ref_ids
    header = {
        "inter_mb_mode": uni.fbr_mb_mode,
        "inter_mb_type": mb_type.inter(uni.fbr_mb_mode, tuple(best.directions)),
        "mv_quantity": best.count & 31,
        "best_inter_distortion": best.total,
        "sub_mb_shape": uni.fbr_sub_mb_shape if uni.fbr_mb_mode == 3 else 0,
        "sub_mb_pred_mode": _packed(best.directions),
    }
    return message.answer(header, vectors)


# ---- skip and intra


def _skip_and_intra(message: _Message) -> bytes:
    uni, payload = message.uni, message.payload(SKIP_AND_INTRA)
    vectors = np.zeros((), VECTORS)
    header: dict[str, Any] = {"best_inter_distortion": MOST, "mb_intra_struct": uni.mb_intra_struct}
    if uni.skip_mode_en:
        header |= _skip(message, payload, vectors)
    kind = int(payload["intra_compute_type"]) & 3
    if kind <= _INTRA_LUMA:
        estimate = intra.luma_estimate(message.source, payload, uni, message.costs)
        header["intra_mb_mode"] = estimate.shape
        header["best_intra_distortion"] = estimate.distortion
        header["luma_intra_pred_modes"] = sum(
            mode << 4 * k for k, mode in enumerate(estimate.modes)
        )
    if kind == _INTRA_LUMA_AND_CHROMA:
        if uni.src_x & 1 or uni.src_y & 1:
            raise uni.error("src_x", "or Src Y is odd, which chrominance forbids")
        pairs = message.source_picture.chroma(uni.src_x // 2, uni.src_y // 2, 8, 8)
        mode, distortion = intra.chroma_estimate(pairs, payload, uni, message.costs)
        header["best_chroma_intra_distortion"] = distortion
        header["mb_intra_struct"] = uni.mb_intra_struct & ~3 | mode
    return message.answer(header, vectors)


def _skip(message: _Message, payload: Any, vectors: Any) -> dict[str, Any]:
    uni, used = message.uni, set()
    for k, index in enumerate(MAJORS[3 if uni.skip_mode_type else 0]):
        for d in (0, 1):
            if uni.skip_center_mask >> (2 * k + d) & 1:
                used.add((BLOCKS[index].quarter, d))
    check = skip_check(
        message.source,
        payload["skip_center"].astype(np.int64),
        uni,
        message.predictor(sorted(used)),
        message.ref_ids(),
        message.costs,
    )
    vectors["mv"], vectors["inter_distortion"] = check.mv, check.distortion
    vectors["blk_ref_ids"] = uni.blk_ref_ids
    vectors["luma_nzc"], vectors["luma_coefficient_sum"] = check.counts, check.sums
    return {
        "inter_mb_mode": 3 if uni.skip_mode_type else 0,
        "best_inter_distortion": check.total,
        "skip_raw_distortion": check.raw,
    }


def _packed(directions: tuple[int, ...] | list[int]) -> int:
    return sum(d << 2 * k for k, d in enumerate(directions))


_KINDS: Final[dict[str, Callable[[_Message], bytes]]] = {
    "ime": _integer,
    "fbr": _fractional,
    "sic": _skip_and_intra,
}
