"""Fields of what motion estimation is given that do nothing: ``python tests/motion/fields.py``.

Other values of each field are tried on messages that are answered, until the answer changes.  Every
field must act, or stand in the table `payload.UNHEEDED` with a reason.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import eumu
from eumu.device.state.fields import StateError
from eumu.device.surfaces.texture import Texture
from eumu.device.vme.payload import RECORD, SEARCH, SKIP_AND_INTRA, UNHEEDED, UniversalInput
from eumu.device.vme.unit import execute
from eumu.errors import Unsupported
from eumu.messages import MotionEstimation
from motion.test_kernels import smooth
from motion.test_robust import LIKELY, UNKNOWN

UNIVERSAL = UniversalInput.size()
MESSAGES = {"ime": 6, "fbr": 12, "sic": 24}
TRIALS = 6  # other values of a field
# What a message has behind the universal input: name, layout, where.
BEHIND = {
    "ime": (("search", SEARCH, 0), ("record", RECORD, 64), ("record", RECORD, 128)),
    "fbr": (("vectors", np.dtype([("mv", "<i2", (16, 2, 2))]), 0),),
    "sic": (("skip and intra", SKIP_AND_INTRA, 0),),
}
SIZES = {"ime": 192, "fbr": 128, "sic": 128}
CHOSEN = LIKELY | {
    **{"src_x": range(0, 64, 2), "src_y": range(0, 48, 2), "search_ctrl": (7, 7, 0)},
    **{"non_skip_zmv_added": (False,), "skip_mode_type": (True, False), "inter_sad": (0,)},
    **{"ref_width": (32,), "ref_height": (32,), "early_ime_stop": (0xBF, 0xAF, 0)},
    **dict.fromkeys(("ref0_x", "ref0_y", "ref1_x", "ref1_y"), range(-8, 8)),  # in the picture
    **dict.fromkeys(("start_center0_x", "start_center0_y"), range(4)),
    **dict.fromkeys(("start_center1_x", "start_center1_y"), range(4)),
    **{"len_sp": range(1, 8), "max_num_su": (3, 30), "adaptive_en": (False, True)},
    **{"max_num_mvs": (1, 4, 32), "sub_mb_part_mask": (0, 0x77, 0x7E), "sub_pel_mode": (1, 3, 3)},
    **{"fbr_mb_mode": (3,), "fbr_sub_mb_shape": (0, 0x1B, 0xE4), "uni_mix_disable": (False, True)},
    **{
        "intra_part_mask": (3, 5, 6),
        "mb_intra_struct": (0xFC,),
        "mv_costs": (0x2221_1111_1010,),
        "cost_centers": (0,),
        "ref_id_cost": (0, 1),
        "mode_costs": (0, 0x01_0203_0401_0201),
    },
    **{"intra_corner_swap": (False,), "chroma_intra_mode_cost": range(4)},
    **{f"fwd_t_coeff_threshold_{k}": range(9) for k in ("dc", *range(1, 7))},
    **{"t8x8_flag_for_inter_en": (False,), "ft_enable": (True,), "skip_mode_en": (True, False)},
}
BOTH = (False, True)
FLAGS = {row.name for row in UniversalInput.rows() if row.type is bool}


@dataclass
class Message:
    """A message that is answered."""

    record: MotionEstimation
    payload: bytes
    answer: bytes | str


class Unit:
    """Motion estimation on pictures of one device."""

    def __init__(self, messages: Mapping[str, int]) -> None:
        device = eumu.Device("skl")
        self.random = np.random.default_rng(8)
        planes = [np.concatenate([smooth(s), smooth(s + 9)[:24]]) for s in range(21, 27)]
        images = [device.image(p[:72], format="PLANAR_420_8") for p in planes]
        self._device = device
        self._pictures = [Texture(image.surface, device.memory) for image in images]
        self.messages = [m for kind, n in messages.items() for m in self._answered(kind, n)]

    def see(self, record: MotionEstimation, payload: bytes) -> bytes | str:
        try:
            return execute(record, 0, payload, lambda index: self._pictures[index % 6])
        except (StateError, Unsupported) as error:
            return str(error)

    def _answered(self, kind: str, count: int) -> Iterator[Message]:
        random, found = self.random, 0
        while found < count:
            streams = (bool(found & 1), bool(found & 2)) if kind == "ime" else (False, False)
            uni = UniversalInput.decode(random.bytes(UNIVERSAL))
            chosen = {n: v[int(random.integers(len(v)))] for n, v in CHOSEN.items()}
            chosen["intra_part_mask"] = (3, 5, 6)[found % 3]
            if not streams[0]:  # the path alone decides
                chosen |= {"adaptive_en": False, "len_sp": 7, "max_num_su": 30}
            if streams[0]:  # what is streamed in may be the best
                chosen |= {"sub_mb_part_mask": 0, "max_num_mvs": 32, "mode_costs": 0}
                chosen |= {"search_ctrl": 7, "mv_costs": 0}
            uni = replace(uni, **(chosen | {n: type(getattr(uni, n))(0) for n in UNKNOWN}))
            behind = bytearray(random.bytes(SIZES[kind]))
            if kind == "ime":  # short steps, and records that are better than some of what is found
                behind[:56] = random.choice([0x01, 0x10, 0x0F, 0xF0], 56).astype(np.uint8).tobytes()
                for at in (64, 128):
                    low = random.integers(0, 600, 9).astype("<u2")
                    low[8] += 9000 * (found & 2)  # of the whole macroblock
                    behind[at : at + 18] = low.tobytes()
            else:
                vectors = 64 if kind == "fbr" else 16
                near = random.integers(-40, 40, vectors).astype("<i2")
                behind[: near.nbytes] = near.tobytes()
            if kind == "sic":
                at = SKIP_AND_INTRA.fields["intra_4x4_mode_mask"][1]
                behind[at : at + 6] = 0, 1, 0, 1, 1, 0  # few modes are off, all is estimated
                at = SKIP_AND_INTRA.fields["non_dc_penalty"][1]
                behind[at : at + 4] = 1, 1, 1, 1
            record = MotionEstimation(kind, 18, 11, *streams)
            payload = uni.encode() + bytes(behind)
            answer = self.see(record, payload)
            if isinstance(answer, bytes):
                found += 1
                yield Message(record, payload, answer)

    def differs(self, message: Message, name: str, at: int, mask: bytes) -> bool:
        """Whether other values of a field, or other bits of the mask, give another answer."""
        words = bytearray(message.payload)
        for value in CHOSEN.get(name, BOTH if name in FLAGS else ()):
            uni = replace(UniversalInput.decode(message.payload[:UNIVERSAL]), **{name: value})
            if self.see(message.record, uni.encode() + words[UNIVERSAL:]) != message.answer:
                return True
        for _ in range(TRIALS):
            for k, bits in enumerate(mask):
                new = int(self.random.integers(256))
                words[at + k] = (words[at + k] & ~bits) | (new & bits)
            if self.see(message.record, bytes(words)) != message.answer:
                return True
        return False

    def acts(self, name: str, kinds: str, at: int, mask: bytes) -> bool:
        return any(self.differs(m, name, at, mask) for m in self.messages if m.record.kind in kinds)


def fields() -> Iterator[tuple[str, str, int, bytes]]:
    """Name, kinds of messages, first byte, and the bits of every field."""
    for row in UniversalInput.rows():
        found, bits = np.zeros(UNIVERSAL // 4, "<u4"), row.bits
        found[bits.dword : bits.last + 1] = 0xFFFF_FFFF
        found[bits.dword] &= 0xFFFF_FFFF << bits.low & 0xFFFF_FFFF
        found[bits.last] &= (1 << bits.high + 1) - 1
        yield row.name, "ime fbr sic", 0, found.tobytes()
    for kind, parts in BEHIND.items():
        for name, layout, start in parts:
            for field, (inner, at, *_) in (layout.fields or {}).items():
                yield f"{name}.{field}", kind, UNIVERSAL + start + at, b"\xff" * inner.itemsize


def idle(unit: Unit) -> set[str]:
    """Fields of which no value that was tried changed an answer."""
    return {name for name, kinds, at, mask in fields() if not unit.acts(name, kinds, at, mask)}


def main() -> int:
    """Compare with the table."""
    found, known = idle(Unit(MESSAGES)), set(UNHEEDED)
    print("idle, and not in the table:", *sorted(found - known))
    print("in the table, and not idle:", *sorted(known - found))
    return int(found != known)


if __name__ == "__main__":
    sys.exit(main())
