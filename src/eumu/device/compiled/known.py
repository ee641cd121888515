"""What an inline cache is made from, its code and its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from eumu.device.compiled.loads import storing
from eumu.device.compiled.record import RECORD, set_surface
from eumu.device.compiled.texels import Texels, tables
from eumu.device.sampler.header import Header
from eumu.device.state.sampler import SamplerState
from eumu.device.state.surface import ONE, ZERO
from eumu.device.surfaces.surface import Surface
from eumu.device.surfaces.texture import Texture
from eumu.exec.host import InlineCache, Places
from eumu.records import dataclass

VECTOR: Final = 8  # lanes of a step


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """A message that is asked, and what it names; `address` is that of the surface on the host.

    `key` are surface, sampler and dwords 2 and 3 of the header, `key_at` the arguments and bytes in
    them that have these.
    """

    message: Any
    lanes: int
    places: Places
    key: tuple[int, ...]
    key_at: tuple[tuple[int, int], ...]
    texture: Texture
    address: int
    header: Header
    sampler: SamplerState
    border: Any

    @property
    def surface(self) -> Surface:
        return self.texture.surface

    @property
    def told(self) -> tuple[Any, ...]:
        """All of it that a record and its code depend on; not the memory behind the texture."""
        states = self.surface, self.address, self.header, self.sampler, self.border.tobytes()
        return self.message, self.lanes, self.places, self.key, self.key_at, *states


@cache
def _compiled(make: Callable[..., str], width: int, *spec: Any) -> Any:
    """The machine code of a function; the compiler is imported when it is needed."""
    from eumu.exec.jit.host.compiler import compile_text
    from eumu.exec.jit.host.loaded import Loaded
    from eumu.exec.jit.host.target import host

    return Loaded([compile_text(make(*spec, width), host())], host(), has_again=False)


def record_of(asked: KnownMessage, first_level: int = 0) -> Any:
    """A record with all but what samplers add; its arguments are all of the message's."""
    record = np.zeros(1, RECORD)
    places = asked.places.arguments
    record["key"] = asked.key
    record["key_at"] = [places[1 + n] + more for n, more in asked.key_at]
    record["lanes"], record["mask"] = asked.lanes, places[0]
    record["argument"][0, : len(places) - 1] = places[1:]
    record["result"][0, : len(asked.places.results)] = asked.places.results
    set_surface(record, asked.surface, asked.address, first_level)
    return record


def made(
    asked: KnownMessage, record: Any, make: Callable[..., str], *spec: Any, width: int = 0
) -> InlineCache:
    """An inline cache of a record and the code that `make` writes for `spec` and a width."""
    code = _compiled(make, width or _width(asked.lanes), *spec)
    format = asked.surface.format
    lookup = tables(format, writes=make is storing)
    record["table"][0, : len(lookup)] = [t.ctypes.data for t in lookup]
    record["function"] = code.run
    return InlineCache(int(record.ctypes.data), (code, record, lookup))


def _width(lanes: int) -> int:
    return min(lanes, VECTOR)


def texels_of(surface: Surface, *, slices: bool) -> Texels:
    layout = surface.layout
    return Texels(layout.format, layout.tiles, layout.rows, slices, block=layout.block)


def chosen(surface: Surface, channels: Sequence[int]) -> tuple[int, ...]:
    """What each channel is after the shader's selects: a channel of the format, ZERO or ONE."""
    lacking = {k: ONE if k == 3 else ZERO for k in range(4) if k not in surface.format.outputs}
    sources = surface.state.channel_sources
    return tuple(lacking.get(sources[k], sources[k]) for k in channels)
