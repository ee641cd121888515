"""Messages to the motion estimation and to the check and refinement engine.

The device answers their records; the payload goes there as it is.
"""

from __future__ import annotations

from typing import Final

from eumu.isa.kinds import InstBuilder
from eumu.isa.messages.request import REGISTER_BYTES, Lengths, MessageRequest
from eumu.messages import MotionEstimation
from eumu.types import BOOL, UD

# By shared function and message type.
MESSAGES: Final = {(8, 2): "ime", (13, 1): "sic", (13, 3): "fbr"}
_DWORDS: Final = REGISTER_BYTES // 4


def estimate(b: InstBuilder, request: MessageRequest) -> Lengths:
    """One macroblock for the whole thread; the mask of lanes does not matter."""
    get = request.get
    kind = MESSAGES[request.message.sfid, get("message type")]
    record = MotionEstimation(
        kind,
        registers=request.sent,
        response=get("response length"),
        stream_in=kind == "ime" and bool(get("stream in")),
        stream_out=kind == "ime" and bool(get("stream out")),
    )
    surface = request.surface
    if surface is None:
        surface = b.const(UD, get("binding table index"))
    payload = request.payload.read(b, 0, UD, record.registers * _DWORDS)
    shape = [(UD, record.response * _DWORDS)]
    (answer,) = b.message(record, b.const(BOOL, 1), (surface, payload), shape)
    request.answer(b, 0, answer, b.const(BOOL, 1, answer.width))
    return Lengths(record.registers, record.response)
