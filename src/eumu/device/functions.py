"""The shared functions that answer messages: sampler, typed accesses, blocks, events, flushes.

States are reached as on hardware: a surface by its binding-table index, through the table at
Surface State Base + Binding Table Pointer; a sampler by its index in the table at Dynamic State
Base + Sampler State Pointer; both, bindless, by their offset from Bindless Surface State Base.
The Sampler State Pointer of a message header leads there if a bit of GT_MODE says so: then it is
that of one state, and the index does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.addresses import BTI_BINDLESS, SURFACE_STATE_BASE
from eumu.device import decoded
from eumu.device.compiled import inline_caches as compiled
from eumu.device.compiled.known import KnownMessage
from eumu.device.events import Events
from eumu.device.lanes import ARRAYS
from eumu.device.memory import Memory
from eumu.device.sampler import unit
from eumu.device.sampler.header import Header
from eumu.device.sampler.media import answer as media
from eumu.device.sampler.request import SamplerRequest
from eumu.device.state.cache import StateCache
from eumu.device.state.fields import State, StateError
from eumu.device.state.media import Table
from eumu.device.state.sampler import BindingTableState, BorderColor, SamplerState
from eumu.device.state.surface import SurfaceState
from eumu.device.surfaces import typed
from eumu.device.surfaces.numbers import float_bits
from eumu.device.surfaces.surface import Surface
from eumu.device.surfaces.texels import missing
from eumu.device.surfaces.texture import Texture
from eumu.device.vme import unit as vme
from eumu.errors import InternalError, Unsupported
from eumu.exec.gate import in_extents
from eumu.exec.grid import StatePointers
from eumu.exec.host import InlineCache, Places, Refusal
from eumu.messages import (
    BlockRead,
    BlockWrite,
    CounterAddress,
    FlushStateCaches,
    MotionEstimation,
    Sample8x8,
    SamplerMessage,
    StateInfo,
    ThreadEvent,
    TypedAtomic,
    TypedRead,
    TypedStatus,
    TypedWrite,
)
from eumu.records import dataclass

Lanes = NDArray[Any]
Mask = NDArray[np.bool_]

_READS: Final = (BlockRead, SamplerMessage, TypedRead)
_WRITES: Final = (BlockWrite, TypedAtomic, TypedWrite)
_DECLARED: Final = {"r": "read-only", "w": "write-only"}
_SAMPLERS: Final = 16  # of a table
_BORDER_BYTES: Final = BorderColor.size()


@dataclass(slots=True)
class StateCaches:
    """The caches of the sampler; they last as long as the device."""

    surfaces: StateCache[Surface] = field(default_factory=lambda: StateCache("surface state"))
    samplers: StateCache[SamplerState] = field(default_factory=lambda: StateCache("sampler state"))
    media: media.MediaCaches = field(default_factory=media.MediaCaches)

    def invalidate(self) -> None:
        self.surfaces.invalidate()
        self.samplers.invalidate()
        self.media.invalidate()


@dataclass(frozen=True, slots=True)
class SharedRows:
    """The rows of a request that name the same states, and their arguments."""

    rows: NDArray[np.intp]
    mask: Mask
    arguments: list[Lanes]

    def scalar(self, index: int) -> int:
        """An argument that is the same for all rows."""
        return int(self.arguments[index][0, 0])


class SharedFunctions:
    """The answers to the messages of one launch (`message` is an `eumu.exec.host.Answer`)."""

    def __init__(
        self,
        memory: Memory,
        state: StatePointers,
        caches: StateCaches,
        *,
        preemptible: bool = False,
    ) -> None:
        """`preemptible` launches may stop between any two instructions of a thread."""
        self._memory, self._state, self._caches = memory, state, caches
        self._preemptible = preemptible
        self._textures: dict[int, tuple[Surface, Texture]] = {}
        self._inline_caches: list[InlineCache] = []
        self._events = Events()

    # ---- messages

    def message(
        self, record: Any, threads: NDArray[np.intp], mask: Mask, arguments: Sequence[Lanes]
    ) -> list[Lanes]:
        """Answer one message of several threads; `Refusal` for what it or its states do wrong."""
        if isinstance(record, FlushStateCaches):
            self._caches.invalidate()
            self._forget_inline_caches()
            return []
        if isinstance(record, ThreadEvent):
            return self._events.answer(record.kind, threads, arguments)
        answer = _ANSWERS.get(type(record))
        if answer is None:
            raise InternalError(f"a message of type {type(record).__name__}")
        results: list[Lanes] | None = None
        for part in _parts(record, mask, arguments):
            try:
                self._may(record, part)
                with np.errstate(all="ignore"):
                    reply = answer(self, record, part)
            except StateError as error:
                lanes = np.flatnonzero(part.mask[0])
                raise Refusal(str(error), row=int(part.rows[0]), lanes=tuple(lanes)) from error
            if len(part.rows) == len(mask):
                return reply
            if results is None:
                results = [np.zeros((len(mask), x.shape[1]), x.dtype) for x in reply]
            for whole, piece in zip(results, reply, strict=True):
                whole[part.rows] = piece
        return results or []

    def inline_cache(
        self, record: Any, arguments: Sequence[Lanes], places: Places
    ) -> InlineCache | None:
        """Compiled code for requests of the same states, for the fast engine."""
        if not compiled.can_answer(record):
            return None
        is_free = isinstance(record, (BlockRead, BlockWrite, CounterAddress))
        if not is_free and len({x.shape[1] for x in arguments[_states_of(record) :]}) != 1:
            return None
        try:
            if self._denied(record, int(arguments[0][0, 0])):
                return None
            cache = compiled.inline_cache(self._known(record, arguments, places))
        except (StateError, Unsupported):
            return None  # the model says what is wrong
        if cache is not None:
            self._inline_caches.append(cache)
        return cache

    def _denied(self, record: Any, surface: int) -> str:
        """What the host has declared an image to be, if a message must not do what it does."""
        if not isinstance(record, (*_READS, *_WRITES)) or not self._memory.restricted:
            return ""
        access = self._memory.access(self._texture(surface).surface.base)
        needed = "w" if isinstance(record, _WRITES) else "r"
        return "" if needed in access else _DECLARED[access]

    def _may(self, record: Any, part: SharedRows) -> None:
        """`Refusal` of a message that does to an image what the host has not allowed."""
        if part.mask.any() and (denied := self._denied(record, part.scalar(0))):
            base = self._texture(part.scalar(0)).surface.base
            verb = "write to" if isinstance(record, _WRITES) else "read from"
            row = int(np.flatnonzero(part.mask.any(axis=1))[0])
            raise Refusal(
                f"{verb} an image that the host has declared {denied}",
                row=int(part.rows[row]),
                lanes=tuple(np.flatnonzero(part.mask[row])),
                code=denied,
                memory=self._memory.nearest(base),
            )

    def _forget_inline_caches(self) -> None:
        """States are to be read again: compiled answers are for no request from now on."""
        for cache in self._inline_caches:
            compiled.disable(cache)
        self._inline_caches.clear()

    def _known(self, record: Any, arguments: Sequence[Lanes], places: Places) -> KnownMessage:
        surface = int(arguments[0][0, 0])
        texture = self._texture(surface)
        address = self._memory.arena.ctypes.data + texture.surface.base - self._memory.base
        key, key_at = [surface] * 4, [(0, 0)] * 4
        header: Header | None = None
        sampler, border = SamplerState(), missing(texture.surface.format, 1)[0]
        if isinstance(record, SamplerMessage) and record.has_header:
            n = 1 + record.uses_sampler
            header = decoded.header(arguments[n][0].tobytes())
            key[2:], key_at[2:] = map(int, arguments[n][0, 2:4]), [(n, 8), (n, 12)]
        if isinstance(record, SamplerMessage) and record.uses_sampler:
            key[1], key_at[1] = int(arguments[1][0, 0]), (1, 0)
            bindless = surface >= SURFACE_STATE_BASE
            sampler = self._sampler(key[1], header, bindless_surface=bindless)
            border = self._border(sampler, texture.surface)
        beside = arguments[_states_of(record) :]
        lanes = beside[0].shape[1] if beside else 1
        lanes = record.simd if isinstance(record, SamplerMessage) else lanes
        states = texture, address, header or Header(), sampler, border
        return KnownMessage(record, lanes, places, tuple(key), tuple(key_at), *states)

    def _sampler_message(self, record: SamplerMessage, part: SharedRows) -> list[Lanes]:
        arguments = list(part.arguments)
        surface_index = int(arguments.pop(0)[0, 0])
        sampler_index = int(arguments.pop(0)[0, 0]) if record.uses_sampler else 0
        header = Header.decode(arguments.pop(0)[0].tobytes()) if record.has_header else None
        texture = self._texture(surface_index)
        sampler = SamplerState()
        border = missing(texture.surface.format, 1)[0]
        if record.uses_sampler:
            is_bindless = surface_index >= SURFACE_STATE_BASE
            sampler = self._sampler(sampler_index, header, bindless_surface=is_bindless)
            border = self._border(sampler, texture.surface)
        names = record.names
        if self._preemptible:
            record = replace(record, preemptible=True)
        request = SamplerRequest(
            record,
            header or Header(),
            texture,
            sampler,
            border,
            part.mask,
            dict(zip(names, arguments, strict=True)),
            self._state.chroma_keys[sampler.chromakey_index],
        )
        answer = _returned(record, request.header, unit.execute(request))
        if record.bits == 16 and record.operation != "sample_unorm":
            return [_narrow(x, texture.surface, record) for x in answer]
        return answer

    def _typed_read(self, record: TypedRead, part: SharedRows) -> list[Lanes]:
        texture = self._texture(part.scalar(0))
        values = typed.read(texture, _coordinates(part, record.coordinates))
        return [_spread(values[:, c], part.mask) for c in record.channels]

    def _typed_write(self, record: TypedWrite, part: SharedRows) -> list[Lanes]:
        texture = self._texture(part.scalar(0))
        data = np.zeros((int(part.mask.sum()), 4), np.uint32)
        lanes = part.arguments[1 + len(record.coordinates) :]
        for c, values in zip(record.channels, lanes, strict=True):
            data[:, c] = values[part.mask]
        typed.write(texture, _coordinates(part, record.coordinates), data, record.channels)
        return []

    def _typed_atomic(self, record: TypedAtomic, part: SharedRows) -> list[Lanes]:
        texture = self._texture(part.scalar(0))
        data = [x[part.mask] for x in part.arguments[1 + len(record.coordinates) :]]
        old = typed.atomic(texture, _coordinates(part, record.coordinates), record, data)
        return [_spread(old, part.mask)]

    def _typed_status(self, record: TypedStatus, part: SharedRows) -> list[Lanes]:
        texture = self._texture(part.scalar(0))
        bits = 1 << np.arange(part.mask.shape[1], dtype=np.uint64)
        resident = part.mask if not texture.surface.is_null else np.zeros_like(part.mask)
        return [(resident * bits).sum(1).astype(np.uint32)[:, None]]

    def _counter_address(self, record: CounterAddress, part: SharedRows) -> list[Lanes]:
        address = self._texture(part.scalar(0)).surface.counter if part.mask.any() else 0
        return [np.full((len(part.rows), 1), address, np.uint64)]

    def _state_info(self, record: StateInfo, part: SharedRows) -> list[Lanes]:
        raise Unsupported("what lsc_read_state_info returns: no public description has its layout")

    def _block_read(self, record: BlockRead, part: SharedRows) -> list[Lanes]:
        texture = self._texture(part.scalar(0))
        x, y = (part.arguments[k][:, 0].view(np.int32).astype(np.int64) for k in (1, 2))
        data = typed.read_block(texture, record, x, y)
        return [np.where(part.mask[:, :1], data, np.uint8(0))]

    def _block_write(self, record: BlockWrite, part: SharedRows) -> list[Lanes]:
        texture = self._texture(part.scalar(0))
        some = np.flatnonzero(part.mask[:, 0])
        x, y = (part.arguments[k][some, 0].view(np.int32).astype(np.int64) for k in (1, 2))
        typed.write_block(texture, record, x, y, np.ascontiguousarray(part.arguments[3][some]))
        return []

    def _sample_8x8(self, record: Sample8x8, part: SharedRows) -> list[Lanes]:
        reach = media.Reach(
            self._memory,
            self._caches.media,
            self._state.dynamic_state_base,
            self._state.bindless_surface_state_base if self._state.bindless_samplers else None,
            self._surface_address,
            self._bytes,
            self._texture,
        )
        return media.answer(record, part.arguments, reach)

    def _motion(self, record: MotionEstimation, part: SharedRows) -> list[Lanes]:
        index, payloads = part.scalar(0), part.arguments[1].astype("<u4")
        out = np.zeros((len(part.rows), 8 * record.response), np.uint32)
        for row in np.flatnonzero(part.mask[:, 0]):
            answer = vme.execute(record, index, payloads[row].tobytes(), self._texture)
            out[row] = np.frombuffer(answer, "<u4")
        return [out]

    # ---- states

    def _texture(self, index: int) -> Texture:
        address = self._surface_address(index)
        surface = self._caches.surfaces.get(
            address,
            self._bytes(address, SurfaceState),
            decoded.surface_gen8 if self._state.is_gen8 else decoded.surface,
        )
        kept = self._textures.get(address)
        if kept is None or kept[0] is not surface:
            kept = self._textures[address] = surface, Texture(surface, self._memory)
        return kept[1]

    def _surface_address(self, index: int) -> int:
        """Where the state of a surface is."""
        state = self._state
        if index >= SURFACE_STATE_BASE:
            offset = index - SURFACE_STATE_BASE
            if offset % 64:
                raise StateError(
                    f"a bindless surface state at offset {offset:#x}, no multiple of 64",
                    "Surface State Offset",
                )
            most = state.bindless_surfaces
            if most is not None and offset // 64 >= most:
                raise StateError(
                    f"a bindless surface state at offset {offset:#x}; Bindless Surface State Size"
                    f" ends them at {64 * most:#x}",
                    "Bindless Surface State Size",
                )
            return state.bindless_surface_state_base + offset
        if index >= BTI_BINDLESS:
            raise StateError(
                f"binding-table index {index} names no surface with a format",
                "Binding Table Index",
            )
        entry = state.surface_state_base + state.binding_table + 4 * index
        pointer = decoded.binding(self._bytes(entry, BindingTableState))
        return state.surface_state_base + pointer.surface_state_pointer

    def _sampler(
        self, index: int, header: Header | None, *, bindless_surface: bool
    ) -> SamplerState:
        state = self._state
        pointer = state.sampler_table if header is None else header.sampler_state_pointer
        is_selected = state.bindless_samplers and header is not None
        if is_selected or index >= SURFACE_STATE_BASE:
            if not bindless_surface:
                raise StateError(
                    "a bindless sampler needs a bindless surface; this one is from the"
                    " binding table",
                    "Sampler State Pointer",
                )
            offset = index - SURFACE_STATE_BASE if index >= SURFACE_STATE_BASE else pointer
            address = state.bindless_surface_state_base + offset
        elif index >= _SAMPLERS:
            raise StateError(
                f"sampler index {index} is outside a table of {_SAMPLERS}", "Sampler Index"
            )
        else:
            address = state.dynamic_state_base + pointer + SamplerState.size() * index
        read = decoded.sampler_gen8 if state.is_gen8 else decoded.sampler
        return self._caches.samplers.get(address, self._bytes(address, SamplerState), read)

    def _border(self, sampler: SamplerState, surface: Surface) -> Lanes:
        """The border colour [4] in the type of the texels; channels the format lacks as usual."""
        out: Lanes = missing(surface.format, 1)[0]
        if not sampler.has_border:
            return out
        address = self._state.dynamic_state_base + sampler.border_color_pointer
        colour = np.frombuffer(self._bytes(address, BorderColor), out.dtype)
        for k in surface.format.outputs:
            out[k] = colour[k]
        return out

    def _bytes(self, address: int, kind: type[State | Table], size: int = 0) -> bytes:
        """The bytes of a state object, or the first `size` of them."""
        size = size or kind.size()
        if not in_extents(self._memory.extents(), address, size):
            raise StateError(
                f"{kind.TITLE} at {address:#x} is outside every allocation"
                f" ({self._memory.describe(address)})",
                kind.TITLE,
            )
        first = address - self._memory.base
        data: bytes = self._memory.arena[first : first + size].tobytes()
        return data


_ANSWERS: Final[dict[type, Callable[[SharedFunctions, Any, SharedRows], list[Lanes]]]] = {
    SamplerMessage: SharedFunctions._sampler_message,
    TypedRead: SharedFunctions._typed_read,
    TypedWrite: SharedFunctions._typed_write,
    TypedAtomic: SharedFunctions._typed_atomic,
    TypedStatus: SharedFunctions._typed_status,
    CounterAddress: SharedFunctions._counter_address,
    StateInfo: SharedFunctions._state_info,
    BlockRead: SharedFunctions._block_read,
    BlockWrite: SharedFunctions._block_write,
    MotionEstimation: SharedFunctions._motion,
    Sample8x8: SharedFunctions._sample_8x8,
}


def _states_of(record: Any) -> int:
    """How many arguments say what is used: surface, sampler, header."""
    if isinstance(record, SamplerMessage):
        return 1 + record.uses_sampler + record.has_header
    return 1


def _parts(record: Any, mask: Mask, arguments: Sequence[Lanes]) -> Iterator[SharedRows]:
    """A request cut into parts with one surface, one sampler and one header each."""
    told = list(arguments[: _states_of(record)])
    if isinstance(record, Sample8x8):  # header and payload differ in places and groups of messages
        told = [*arguments[:2], arguments[2][:, [2, 3, 5]], arguments[3][:, 7:] >> 23]
    keys = np.concatenate([x.astype(np.uint32) for x in told], axis=1)
    if (keys == keys[0]).all():
        yield SharedRows(np.arange(len(mask)), mask, list(arguments))
        return
    order, which = np.unique(keys, axis=0, return_inverse=True)
    for k in range(len(order)):
        rows = np.flatnonzero(which.reshape(-1) == k)
        yield SharedRows(rows, mask[rows], [x[rows] for x in arguments])


def _coordinates(part: SharedRows, names: tuple[str, ...]) -> dict[str, NDArray[np.int64]]:
    """Unsigned coordinates of the active lanes by name; what is not given is 0."""
    count = int(part.mask.sum())
    coordinates = {n: np.zeros(count, np.int64) for n in ("u", "v", "r", "lod")}
    for name, lanes in zip(names, part.arguments[1:], strict=False):
        coordinates[name] = lanes[part.mask].view(np.uint32).astype(np.int64)
    return coordinates


def _spread(values: NDArray[np.uint32], mask: Mask) -> NDArray[np.uint32]:
    out = np.zeros(mask.shape, np.uint32)
    out[mask] = values
    return out


def _returned(record: SamplerMessage, header: Header | None, texels: list[Lanes]) -> list[Lanes]:
    """The parts that a response has room for: its last channels may be left out, no mask."""
    asked = header is not None and header.pixel_null_mask_enable and not record.is_4x2
    if not 0 < record.results <= len(texels) or (
        asked and (len(texels) > record.results or not record.takes_mask)
    ):
        mask = ", the last of them a register of the pixel null mask" if asked else ""
        raise StateError(
            f"the response has {len(texels)} parts{mask}, the message expects {record.results}",
            "Response Length",
        )
    return texels[: record.results]


def _narrow(x: Lanes, surface: Surface, record: SamplerMessage) -> NDArray[np.uint16]:
    """Results of sixteen bits: floats to nearest even, the low half of integers."""
    if surface.format.is_integer or record.operation in ("resinfo", "sampleinfo"):
        return np.asarray(x, np.uint32).astype(np.uint16)
    floats: NDArray[np.float32] = np.ascontiguousarray(x).view(np.float32)
    return float_bits(ARRAYS, floats, 16).astype(np.uint16)
