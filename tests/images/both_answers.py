"""One message answered by the model and by compiled code, on the same bytes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eumu.compare.nans import unequal
from eumu.device.functions import SharedFunctions
from eumu.device.sampler.header import Header
from eumu.device.state.sampler import SamplerState
from eumu.device.state.surface import SurfaceState, SurfaceType
from eumu.device.surfaces.surface import Surface, align
from eumu.errors import Unsupported
from eumu.exec.host import Places, Refusal
from eumu.messages import (
    BlockRead,
    BlockWrite,
    SamplerMessage,
    TypedAtomic,
    TypedRead,
    TypedWrite,
)
from images.test_checklist import Bench

BYTES = 1 << 18
_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


@dataclass
class Answers:
    """What both said; `code` is what compiled code returned, None if there is none."""

    model: list[np.ndarray[Any, Any]] | None
    refusal: str
    code: int | None
    compiled: list[np.ndarray[Any, Any]]
    memory: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]

    def agree(self) -> bool:
        """Bit for bit, NaN as NaN."""
        assert self.model is not None
        pairs = zip(self.model, self.compiled, strict=True)
        return _same(*self.memory) and all(_same(x, y) for x, y in pairs)


def _same(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    if (x == y).all():
        return True
    if x.itemsize == 1:
        return False
    kind = np.float32 if x.itemsize == 4 else np.float16
    return not unequal(x.reshape(-1).view(kind), y.reshape(-1).view(kind)).any()


class Machine:
    """Memory with a surface, a sampler and a border colour that a test says."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.device = self.bench.device
        self.memory = self.device.memory
        self.backing = self.device.array(BYTES + 8192, np.uint8)
        self.base = align(self.backing.address, 4096)
        first = self.backing.address - self.memory.base
        self.bytes = self.memory.arena[first : first + BYTES + 8192]

    def functions(self, surface: SurfaceState, sampler: SamplerState, border: Any) -> Any:
        """Shared functions that see these states."""
        self.bench.image.slot.write(surface.encode())
        tables = self.bench.tables.pointers
        self._write(tables.dynamic_state_base + tables.sampler_table + 48, sampler.encode())
        colour = tables.dynamic_state_base + sampler.border_color_pointer
        self._write(colour, np.asarray(border).tobytes())
        self.device.invalidate_states()
        return SharedFunctions(self.memory, tables, self.device.heaps.caches)

    def border_pointer(self) -> int:
        """A place for a border colour, that of the sampler of the tables."""
        tables = self.bench.tables.pointers
        place = tables.dynamic_state_base + tables.sampler_table + 48 - self.memory.base
        return SamplerState.decode(
            self.memory.arena[place : place + 16].tobytes()
        ).border_color_pointer

    def _write(self, address: int, data: bytes) -> None:
        first = address - self.memory.base
        self.memory.arena[first : first + len(data)] = np.frombuffer(data, np.uint8)

    def ask(
        self, functions: Any, record: Any, arguments: list[Any], mask: np.ndarray[Any, Any]
    ) -> Answers:
        """A message of one thread, to both."""
        given = [np.array([[self.bench.bti]], np.uint32)]
        if isinstance(record, SamplerMessage):
            if record.uses_sampler:
                given.append(np.array([[3]], np.uint32))
            if record.has_header:
                given.append(arguments.pop(0))
        given += arguments
        before = self.bytes.copy()
        model, refusal = None, ""
        try:
            model = functions.message(record, np.array([0]), mask, given)
            model = [np.array(np.broadcast_to(x, (1, x.shape[1]))) for x in model]
        except (Refusal, Unsupported) as error:
            refusal = str(error)
        wanted = self.bytes.copy()
        self.bytes[:] = before
        code, compiled = self._compiled(functions, record, given, mask)
        got = self.bytes.copy()
        self.bytes[:] = before
        return Answers(model, refusal, code, compiled, (wanted, got))

    def _compiled(
        self, functions: Any, record: Any, arguments: list[Any], mask: np.ndarray[Any, Any]
    ) -> tuple[int | None, list[np.ndarray[Any, Any]]]:
        arrays = [mask.view(np.uint8), *arguments, *results(record, mask.shape[1])]
        starts, end = [], 0
        for x in arrays:
            starts.append(end)
            end += align(x.nbytes, 8)
        count = 1 + len(arguments)
        made = functions.inline_cache(
            record, arguments, Places(tuple(starts[:count]), tuple(starts[count:]))
        )
        if made is None:
            return None, []
        data = np.full(end + 64, 0xA5, np.uint8)
        for x, start in zip(arrays, starts, strict=True):
            data[start : start + x.nbytes] = x.reshape(-1).view(np.uint8)
        code = _RUN(ctypes.c_uint64.from_address(made.record).value)(made.record, data.ctypes.data)
        assert (data[end:] == 0xA5).all(), "behind the results"
        found = [
            data[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
            for x, start in zip(arrays[count:], starts[count:], strict=True)
        ]
        return code, found


def results(record: Any, lanes: int) -> list[np.ndarray[Any, Any]]:
    """Arrays like the results of a message, filled with what they do not have."""
    match record:
        case SamplerMessage():
            kind = np.uint16 if record.bits == 16 else np.uint32
            return [np.full((1, lanes), 0x5A5A, kind) for _ in range(record.results)]
        case TypedRead():
            return [np.full((1, lanes), 0x5A5A, np.uint32) for _ in record.channels]
        case TypedAtomic():
            return [np.full((1, lanes), 0x5A5A, np.uint32)]
        case BlockRead():
            return [np.full((1, record.height * record.pitch), 0x5A, np.uint8)]
    assert isinstance(record, (TypedWrite, BlockWrite))
    return []


def fitted(state: SurfaceState, extra: int) -> SurfaceState:
    """A state with pitches that are enough, `extra` units more."""
    surface = Surface(state, *_sizes(state))
    block = surface.format.block
    across = max(v.x + -(-v.width // block[0]) for v in surface.all_levels)
    down = max(v.y + -(-v.height // block[1]) for v in surface.all_levels)
    unit = {0: max(1, surface.format.bytes), 2: 512, 3: 128}.get(int(state.tile_mode), 128)
    pitch = align(across * surface.format.bytes, unit) + extra * unit
    rows = across if state.surface_type is SurfaceType.S1D else down
    return replace(state, surface_pitch=pitch - 1, surface_qpitch=align(rows, 4) // 4 + extra)


def _sizes(state: SurfaceState) -> tuple[Any, int, int, int, int]:
    from eumu.device.surfaces.formats import texel_format

    format = texel_format(state.surface_format)
    depth = state.depth + 1 if state.surface_type is SurfaceType.S3D else 1
    height = 1 if state.surface_type is SurfaceType.S1D else state.height + 1
    return format, state.width + 1, height, depth, 1


def header(**fields: Any) -> Any:
    """A message header as an argument."""
    return np.frombuffer(Header(**fields).encode(), np.uint32)[None, :].copy()
