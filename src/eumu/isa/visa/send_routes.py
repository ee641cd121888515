"""What messages do that a program composes, from what is known of their descriptors."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.ir.operations.ends import Barrier, Ret
from eumu.isa import messages
from eumu.isa.kinds import InstBuilder, Rows
from eumu.isa.messages import describe
from eumu.isa.visa.lsc_sends import LSC_PORTS, LscMessage, lsc_send, operation
from eumu.records import dataclass
from eumu.types import BOOL, UD

_GATEWAY: Final = 3
_SPAWNER: Final = 7
_BARRIER: Final = 4
_EOT: Final = 1 << 5  # of an extended descriptor
_DWORD: Final = 0xFFFF_FFFF


def run(
    b: InstBuilder,
    sfid: int | None,
    ex_desc: Value | int,
    desc: Value,
    stretches: tuple[tuple[Rows, int], ...],
    dst: Rows,
    results: int,
    *,
    ends: bool = False,
) -> None:
    """Route a message: stretches are registers and how many; `sfid` where `ex_desc` lacks it."""
    if sfid is not None:
        ex_desc = _with_function(b, ex_desc, sfid)
    route = _run_lsc if b.platform.has_lsc else _run_gen9
    says = route(b, ex_desc, desc, _Room(stretches, dst, results))
    if ends or says is True:
        lanes = b.const(BOOL, 1, b.width)
        b.transfer(Ret((lanes,), offset=b.exec.offset))
    elif isinstance(says, Value):
        b.transfer(Ret((b.splat(says, b.width),), offset=b.exec.offset))


def _run_gen9(b: InstBuilder, ex_desc: Value | int, desc: Value, room: _Room) -> Value | bool:
    """Route a message; whether its extended descriptor ends the thread."""
    descriptors = messages.resolve(b, ex_desc, desc)
    if descriptors is None:
        _compose(b, room.form(b, messages.Composed), ex_desc, desc, room)
        return _ends(b, ex_desc)
    mask = None
    if descriptors.sure is not None:
        mask = b.mask
        b.only_if(descriptors.sure)
    form = room.form(b, messages.Composed)
    counts = form.check(descriptors.ex_desc, descriptors.desc)
    payload = messages.MessagePayload(*room.payload(b, counts))
    request = messages.MessageRequest(
        descriptors.ex_desc, descriptors.desc, payload, room.dst, descriptors.surface
    )
    messages.send(b, request)
    if descriptors.sure is not None:
        form = replace(form, may_end=False)
        _compose(b, form, ex_desc, desc, room, unless=descriptors.sure, mask=mask)
    return bool(descriptors.ex_desc & _EOT)


@dataclass(frozen=True, slots=True)
class _Room:
    """The registers of an instruction: those sent, those of the answer."""

    stretches: tuple[tuple[Rows, int], ...]
    dst: Rows
    results: int

    def payload(
        self, b: InstBuilder, counts: tuple[int, int]
    ) -> tuple[Rows, int, Rows | None, int]:
        """Both stretches with their bytes, of so many registers."""
        (first, _), *rest = self.stretches
        second = rest[0][0] if rest and rest[0][1] else None
        return first, counts[0] * b.grf, second, counts[1] * b.grf

    def form(self, b: InstBuilder, form: type[messages.Composed]) -> messages.Composed:
        """What a message may look like that is known at run time only."""
        if not self.stretches[0][1]:
            raise Unsupported("a message of no registers")
        counts = tuple(count for _, count in self.stretches if count)
        return form(b.platform.name, b.width, counts, self.results if self.dst.root else 0)


def _with_function(b: InstBuilder, ex_desc: Value | int, sfid: int) -> Value | int:
    """An extended descriptor with the shared function of the instruction."""
    if isinstance(ex_desc, int):
        return ex_desc & ~0xF | sfid
    others = b.and_(b.convert(ex_desc, UD), b.const(UD, ~0xF))
    return b.or_(others, b.const(UD, sfid))


def _ends(b: InstBuilder, ex_desc: Value | int) -> Value | bool:
    bits = messages.known_bits(b, ex_desc)
    if isinstance(ex_desc, int) or bits.covers(_EOT):
        return bool(bits.value & _EOT)
    eot = b.and_(b.convert(ex_desc, UD), b.const(UD, _EOT))
    return b.cmp("ne", eot, b.const(UD, 0))


def _compose(
    b: InstBuilder,
    form: messages.Composed,
    ex_desc: Value | int,
    desc: Value,
    room: _Room,
    *,
    unless: Value | None = None,
    mask: Value | None = None,
) -> None:
    """A message of which more than a surface is known at run time only."""
    ex = b.const(UD, ex_desc) if isinstance(ex_desc, int) else ex_desc
    rows = tuple(rows for rows, count in room.stretches if count)
    messages.compose(b, form, ex, desc, rows, room.dst, unless=unless, mask=mask)


def _run_lsc(b: InstBuilder, ex_desc: Value | int, desc: Value, room: _Room) -> bool:
    """The same on a platform with LSC, where the text says which instructions end a thread."""
    ex_bits, bits = messages.known_bits(b, ex_desc), messages.known_bits(b, desc)
    ends = bool(ex_bits.value & ex_bits.known & _EOT)
    if not bits.covers(_DWORD) or not ex_bits.covers(0xF):
        _compose(b, room.form(b, LscComposed), ex_desc, desc, room)
        return ends
    first, _, second, _ = room.payload(b, (0, 0))
    word = b.const(UD, ex_desc) if isinstance(ex_desc, int) else ex_desc
    extended = ex_bits.value if ex_bits.covers(_DWORD) else None
    sfid = ex_bits.value & 0xF
    _lsc_message(b, LscMessage(sfid, word, extended, bits.value, first, second, room.dst))
    return ends


def _lsc_message(b: InstBuilder, message: LscMessage) -> None:
    if message.sfid in LSC_PORTS:
        lsc_send(b, message)
    elif message.sfid == _GATEWAY and message.desc & 7 == _BARRIER:
        b.transfer(Barrier(kind="signal"))
    elif message.sfid != _SPAWNER:
        described = describe(message.sfid, message.desc)
        raise Unsupported(f"the message '{described}' on {b.platform}")


@dataclass(frozen=True, slots=True)
class LscComposed(messages.Composed):
    """The same with LSC's descriptors."""

    def lower(self, b: InstBuilder, ex_desc: int, desc: int, rows: dict[str, Rows]) -> None:
        message = self._message(b, ex_desc, desc, rows)
        name = str(message) if message.sfid in LSC_PORTS else str(describe(ex_desc, desc))
        self.check_lengths(name, (desc >> 25 & 15, 0), desc >> 20 & 31)
        _lsc_message(b, message)

    def _message(
        self, b: InstBuilder, ex_desc: int, desc: int, rows: dict[str, Rows]
    ) -> LscMessage:
        second = rows["src1"] if len(self.sources) > 1 else None
        word = b.const(UD, ex_desc)
        return LscMessage(ex_desc & 0xF, word, ex_desc, desc, rows["src0"], second, rows["dst"])

    def describe(self, ex_desc: int, desc: int) -> str:
        """See :class:`eumu.ir.operations.Form`."""
        words = f"descriptor {desc:#010x}, extended {ex_desc:#x}: "
        port = LSC_PORTS.get(ex_desc & 0xF)
        if port is None:
            return words + str(describe(ex_desc, desc))
        lengths = f"message length {desc >> 25 & 15}, response length {desc >> 20 & 31}"
        return words + f"lsc_{operation(desc)}.{port}, {lengths}"
