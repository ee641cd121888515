"""Whatever the bits of a payload are: an answer of the size asked for, or an error with a name."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import eumu
from eumu.device.state.fields import StateError
from eumu.device.surfaces.texture import Texture
from eumu.device.vme.payload import UniversalInput
from eumu.device.vme.unit import execute
from eumu.errors import Unsupported
from eumu.messages import MotionEstimation
from motion.test_kernels import smooth

KINDS = ("ime", "fbr", "sic")
# Without these most payloads are refused for the same few reasons.
LIKELY = {
    "ref_width": (20, 32, 48), "ref_height": (20, 28, 40), "bi_weight": (16, 21, 32, 43, 48),
    "inter_sad": (0, 2), "intra_sad": (0, 2), "search_ctrl": (0, 7), "src_x": range(80),
    "src_y": range(64), "sub_pel_mode": (0, 1, 3), "ref_id_cost_mode": (False,),
    "inter_chroma_mode": (False,), "dual_search_path": (False,), "early_ime_stop": (0, 0x42),
}  # fmt: skip
UNKNOWN = (
    *("src_size", "mb_type_remap", "ref_pixel_offset", "ref_pixel_shift"),
    *("fixed_7x7_weights", "weighted_sad_haar"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_random_payloads(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    device = eumu.Device("skl")
    images = [device.image(smooth(seed), format="R8_UNORM") for seed in (21, 22)]
    pictures = [Texture(image.surface, device.memory) for image in images]
    ends: Counter[str] = Counter()
    for number in range(120):
        uni = UniversalInput.decode(rng.bytes(UniversalInput.size()))
        if number % 4:
            chosen = {n: values[int(rng.integers(len(values)))] for n, values in LIKELY.items()}
            known = {name: type(getattr(uni, name))(0) for name in UNKNOWN}
            uni = replace(uni, **(chosen | known))
        record = MotionEstimation(kind, 18, 11, *(bool(b) for b in rng.integers(0, 2, 2)))
        payload = uni.encode() + rng.bytes(448)
        try:
            answer = execute(record, 0, payload, lambda index: pictures[index % 2])
        except (StateError, Unsupported) as reason:
            assert str(reason)
            ends[type(reason).__name__] += 1
        else:
            assert len(answer) == 32 * record.response
            ends["answer"] += 1
    assert ends["answer"] > 20 and ends["StateError"] and ends["Unsupported"]
