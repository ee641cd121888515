"""Which messages have compiled answers.

An inline cache is made from states that the model's own checks have passed; what has none, and what
is wrong, goes to the model.  The code is kept by what it depends on, for the life of the process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from eumu.device.compiled.data_port import (
    block_message,
    counter_address,
    typed_atomic,
    typed_read,
    typed_write,
)
from eumu.device.compiled.known import KnownMessage
from eumu.device.compiled.record import MAX_SIZE
from eumu.device.compiled.sampler_messages import sampler_message
from eumu.device.state.surface import AuxiliaryMode, TileMode
from eumu.exec.host import InlineCache
from eumu.messages import (
    BlockRead,
    BlockWrite,
    CounterAddress,
    SamplerMessage,
    TypedAtomic,
    TypedRead,
    TypedWrite,
)

_MOST: Final = 512
_PLAIN: Final = (AuxiliaryMode.AUX_NONE, AuxiliaryMode.AUX_APPEND)  # texels are as without it
_MADE: dict[tuple[Any, ...], InlineCache | None] = {}  # of messages and their states
_UNKNOWN: Final = InlineCache(0, None)


def can_answer(message: Any) -> bool:
    """Whether there is code for some messages like one."""
    return type(message) in _MAKERS


def disable(made: InlineCache) -> None:
    """Let compiled code be for no message any more."""
    _, record, _ = cast(tuple[Any, Any, Any], made.keep)
    record["key"] = 0xFFFF_FFFF  # no surface has this number


def inline_cache(asked: KnownMessage) -> InlineCache | None:
    """Compiled code for messages like one, with a record of its own, or None.

    StateError or Unsupported if the states are wrong.
    """
    told = asked.told
    made = _MADE.get(told, _UNKNOWN)
    if made is _UNKNOWN:
        if len(_MADE) >= _MOST:
            _MADE.clear()
        made = _MADE[told] = _inline_cache(asked)
    if made is None:
        return None
    code, record, kept = cast(tuple[Any, Any, Any], made.keep)
    record = record.copy()
    return InlineCache(int(record.ctypes.data), (code, record, kept))


def _inline_cache(asked: KnownMessage) -> InlineCache | None:
    surface = asked.surface
    is_odd = asked.lanes & (asked.lanes - 1)
    if is_odd or surface.is_null or surface.size > MAX_SIZE or surface.samples > 1:
        return None
    pairs = surface.is_buffer and surface.format.block != (1, 1)
    if pairs or surface.state.auxiliary_surface_mode not in _PLAIN:
        return None
    if surface.state.tile_mode is TileMode.WMAJOR or surface.state.vertical_line_stride:
        return None
    if asked.sampler.chromakey_enable:
        return None
    return _MAKERS[type(asked.message)](asked)


_MAKERS: Final[dict[type, Callable[[KnownMessage], InlineCache | None]]] = {
    SamplerMessage: sampler_message,
    TypedRead: typed_read,
    TypedWrite: typed_write,
    TypedAtomic: typed_atomic,
    BlockRead: block_message,
    BlockWrite: block_message,
    CounterAddress: counter_address,
}
