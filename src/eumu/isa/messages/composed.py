"""Messages whose descriptors are known at run time only: a small function for each pair of them."""

from __future__ import annotations

from typing import Final, NoReturn

from eumu.errors import Unsupported
from eumu.ir import Block, Function, Root, RootKind, Terminator, Value
from eumu.ir.operations.ends import Ret
from eumu.ir.passes.modes import fold_modes
from eumu.ir.verify import check_lowered
from eumu.isa.kinds import InstBuilder, Rows
from eumu.isa.kinds.operands import ExecSize
from eumu.isa.messages.descriptor import describe
from eumu.isa.messages.known import known_bits
from eumu.isa.messages.port_addresses import is_stateless
from eumu.isa.messages.request import MessagePayload, MessageRequest
from eumu.isa.messages.resolve import constant_state
from eumu.isa.messages.route import send
from eumu.platforms import platform
from eumu.records import dataclass
from eumu.types import BOOL, UD, Type

_DWORDS: Final = 4  # bytes of a dword
_GATEWAY: Final = 3  # the shared function
_EOT: Final = 1 << 5  # of an extended descriptor
_GAP: Final = 1 << 16  # between the addresses of roots


@dataclass(frozen=True, slots=True)
class Composed:
    """The room that an instruction leaves for its message, in registers: an `ir.operations.Form`.

    `lanes` is the execution size.  The first stretch has as many registers as the descriptor says,
    the second one, too, with `by_descriptor`; else it has as many as the instruction says, which
    the compiler puts into the extended descriptor.  A message that ends the thread is refused
    unless it `may_end`, one with 32-bit stateless addresses unless these are in scratch space.
    """

    device: str
    lanes: int
    sources: tuple[int, ...]
    results: int
    by_descriptor: bool = False
    may_end: bool = True
    may_be_stateless: bool = True

    @property
    def stretches(self) -> tuple[int, ...]:
        return tuple(count * self._grf for count in self.sources)

    @property
    def answer(self) -> int:
        return self.results * self._grf

    @property
    def _grf(self) -> int:
        return platform(self.device).grf_bytes

    def function(self, ex_desc: int, desc: int) -> Function:
        """See :class:`eumu.ir.operations.Form`."""
        b = _Message(self.device, self.lanes)
        sizes = {"src0": self.sources[0], "src1": sum(self.sources[1:]), "dst": self.results}
        rows = {name: b.registers_of(name, count * self._grf) for name, count in sizes.items()}
        b.start()
        self.lower(b, ex_desc, desc, rows)
        b.finish()
        function = fold_modes(b.function)
        check_lowered(function)
        return function

    def lower(self, b: InstBuilder, ex_desc: int, desc: int, rows: dict[str, Rows]) -> None:
        """What the message does to the registers."""
        taken = self.check(ex_desc, desc)
        payload = MessagePayload(rows["src0"], taken[0] * b.grf, rows["src1"], taken[1] * b.grf)
        surface = constant_state(b, ex_desc, desc)
        request = MessageRequest(ex_desc, desc, payload, rows["dst"], surface)
        if ex_desc & _EOT and not self.may_end:
            raise request.unsupported("what is added to its extended descriptor ends the thread")
        if is_stateless(request.message) and not self.may_be_stateless:
            raise request.unsupported(
                "32-bit stateless addresses are modelled where the descriptor is in the code"
            )
        send(b, request)

    def check(self, ex_desc: int, desc: int) -> tuple[int, int]:
        """The registers that are sent; raise if the instruction has not that many."""
        message = describe(ex_desc, desc)
        if not message.is_known:
            raise Unsupported(f"the message '{message}': Gen9 has no such message")
        there = sum(self.sources[1:])
        said = ex_desc >> 6 & 15 if self.by_descriptor or there else 0
        counts = desc >> 25 & 15, said
        self.check_lengths(str(message), counts, desc >> 20 & 31)
        if not counts[0]:
            raise Unsupported(f"the message '{message}': it has no registers")
        if self.by_descriptor:
            return counts
        if said not in (0, there):
            raise Unsupported(
                f"the message '{message}': its extended descriptor says {said} registers, the"
                f" instruction {there}"
            )
        return counts[0], there

    def check_lengths(self, name: str, sent: tuple[int, int], answered: int) -> None:
        """Raise if a descriptor asks for more registers than there are."""
        there = self.sources[0], sum(self.sources[1:])
        for has, wants in zip(there, sent, strict=True):
            if wants > has:
                raise Unsupported(
                    f"the message '{name}': its descriptor says {wants} registers, {has} are there"
                )
        if self.results and answered > self.results:
            raise Unsupported(
                f"the message '{name}': its answer has {answered} registers, there is room for"
                f" {self.results}"
            )

    def describe(self, ex_desc: int, desc: int) -> str:
        """See :class:`eumu.ir.operations.Form`."""
        fields = ", ".join(map(str, describe(ex_desc, desc).fields))
        return f"descriptor {desc:#010x}, extended {ex_desc:#x}: {fields}"


class _Message(InstBuilder):
    """Builds the one block of a message's function."""

    def __init__(self, device: str, lanes: int) -> None:
        target = platform(device)
        super().__init__(Function("message", lanes, target.grf_bytes), target)
        self.function.texts.append("message")
        self.function.spans.append(None)
        self.lanes = lanes

    def registers_of(self, name: str, size: int) -> Rows:
        """A root for so many bytes, none for nothing."""
        if not size:
            return Rows(None, 0, UD)
        root = Root(name, RootKind.GRF, size, _GAP * (1 + len(self.function.roots)))
        self.function.roots[name] = root
        return Rows(root, 0, UD)

    def start(self) -> None:
        mask = Root("mask", RootKind.FLAG, self.lanes)
        self.function.roots["mask"] = mask
        self.block, self.inst = Block("message"), 0
        self.function.blocks.append(self.block)
        self.begin(ExecSize(self.lanes, 0, True))
        self.predicate(self.read_flag(mask, 0, self.lanes))

    def finish(self) -> None:
        every = self.const(BOOL, 1, self.function.width)
        self.terminate(Ret((every,), (0,), offset=0))

    def row_read(
        self, rows: Rows, offset: int, type: Type, width: int, stride: int | None = None
    ) -> Value:
        self._check_inside(rows, offset + (width - 1) * (stride or type.size) + type.size)
        return super().row_read(rows, offset, type, width, stride)

    def row_write(
        self, rows: Rows, offset: int, value: Value, mask: Value, stride: int | None = None
    ) -> None:
        size = value.type.size
        if not value.width:
            raise Unsupported("a message whose answer has no register")
        self._check_inside(rows, offset + (value.width - 1) * (stride or size) + size)
        super().row_write(rows, offset, value, mask, stride)

    def _check_inside(self, rows: Rows, end: int) -> None:
        if rows.root is not None and rows.offset + end > rows.root.size:
            there = rows.root.size // self.grf
            raise Unsupported(f"a message that needs more than the {there} registers that it has")

    def transfer(self, end: Terminator) -> NoReturn:
        raise Unsupported(f"a {end.name} by a descriptor that is known at run time only")

    def dispatch_header(self, registers: int = 2) -> NoReturn:
        raise Unsupported("a message without a header by a descriptor known at run time only")


def compose(
    b: InstBuilder,
    form: Composed,
    ex_desc: Value,
    desc: Value,
    stretches: tuple[Rows, ...],
    dst: Rows,
    *,
    unless: Value | None = None,
    mask: Value | None = None,
) -> None:
    """The message of an instruction in the channels of a mask, its own if none is given.

    With `unless`, nothing happens if that lane is set.
    """
    function = known_bits(b, ex_desc)
    if function.covers(0xF) and function.value & 0xF == _GATEWAY:
        raise Unsupported("a message to the gateway whose descriptor is known at run time only")
    sent = [
        b.row_read(rows, 0, UD, size // _DWORDS)
        for rows, size in zip(stretches, form.stretches, strict=True)
    ]
    width = form.answer // _DWORDS
    old = b.row_read(dst, 0, UD, width) if width else None
    on = b.const(BOOL, 1) if unless is None else b.not_(unless)
    words = b.convert(ex_desc, UD), b.convert(desc, UD)
    answer = b.send(form, *words, on, b.mask if mask is None else mask, sent, old)
    if answer is not None:
        every = b.const(BOOL, 1, width) if unless is None else b.splat(on, width)
        b.row_write(dst, 0, answer, every)
