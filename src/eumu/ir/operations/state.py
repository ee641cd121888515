"""Roots: variables, flags, registers by address; and values of the run."""

from __future__ import annotations

from eumu.ir.function import Findings, Function, Op, Region, Root, RootKind, Value
from eumu.ir.operations.row import ANY, DATA, INT, Emitter, operation, same
from eumu.records import dataclass
from eumu.types import BOOL, UD, UQ, Type


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRoot(Op):
    """An operation on a root."""

    root: Root

    def problems(self, function: Function) -> Findings:
        if function.roots.get(self.root.name) != self.root:
            yield f"{self.root} is no root of the function"


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRegion(OnRoot):
    """An operation on elements of a root that is not a flag."""

    region: Region

    @property
    def value(self) -> Value:
        """The value that is read or written."""
        return (self.results or self.args)[0]

    @property
    def offsets(self) -> tuple[int, ...]:
        """The byte offsets of the elements in the root."""
        return self.region.offsets((self.results or self.args)[0].width)

    def problems(self, function: Function) -> Findings:
        yield from OnRoot.problems(self, function)
        if self.root.kind is RootKind.FLAG:
            yield f"{self.root} is a flag"
        elif self.region.width < 1:
            yield "the region has rows of no element"
        elif min(self.offsets) < 0 or self.end > self.root.size:
            yield (
                f"bytes {min(self.offsets)}..{self.end - 1} are outside the"
                f" {self.root.size} bytes of {self.root}"
            )

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return max(self.offsets) + self.value.type.size


class Read(OnRegion):
    __slots__ = ()


class Partner(OnRegion):
    __slots__ = ()


class Write(OnRegion):
    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OnFlag(OnRoot):
    """An operation on bits of a flag, from bit `offset` on."""

    offset: int

    @property
    def bits(self) -> tuple[int, ...]:
        """The bits that are read or written."""
        return tuple(range(self.offset, self.offset + (self.results or self.args)[0].width))

    def problems(self, function: Function) -> Findings:
        yield from OnRoot.problems(self, function)
        end = self.offset + (self.results or self.args)[0].width
        if self.root.kind is not RootKind.FLAG:
            yield f"{self.root} is no flag"
        elif self.offset < 0 or end > self.root.size:
            yield (
                f"bits {self.offset}..{end - 1} are outside the {self.root.size} bits of"
                f" {self.root}"
            )


class ReadFlag(OnFlag):
    __slots__ = ()


class WriteFlag(OnFlag):
    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RootAddress(OnRoot):
    offset: int

    def problems(self, function: Function) -> Findings:
        yield from OnRoot.problems(self, function)
        if self.root.kind is not RootKind.GRF:
            yield f"{self.root} is not in the register space"


@dataclass(frozen=True, slots=True, kw_only=True)
class Indirect(Op):
    """Register-indirect access; strides in bytes."""

    offset: int
    hstride: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadIndirect(Indirect):
    vstride: int
    row: int

    def problems(self, function: Function) -> Findings:
        addresses, width = self.args[0].width, self.result.width
        if self.row < 1 or addresses not in (1, -(-width // self.row)):
            yield f"{addresses} addresses for {width} elements in rows of {self.row}"


class WriteIndirect(Indirect):
    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecMask(Op):
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol(Op):
    symbol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Special(Op):
    fact: str


def addressed(function: Function) -> dict[str, Root]:
    """By name, the roots whose address is taken: all that a register-indirect access may reach."""
    return {
        op.root.name: op.root
        for block in function.blocks
        for op in block.ops
        if isinstance(op, RootAddress)
    }


class StateEmitter(Emitter):
    @operation("read", Read, DATA, "-> x")
    def read(self, root: Root, region: Region, type: Type, width: int) -> Value:
        """Read elements of a root (not of a flag)."""
        results = self.fresh(type, width)
        return self.append(Read("read", (), results, self.inst, root=root, region=region))[0]

    @operation("partner", Partner, DATA, "-> x")
    def partner(self, root: Root, region: Region, type: Type, width: int) -> Value:
        """Read the root of the other thread of the pair (threads 2k and 2k+1 of a group)."""
        results = self.fresh(type, width)
        return self.append(Partner("partner", (), results, self.inst, root=root, region=region))[0]

    @operation("write", Write, DATA, "x m ->")
    def write_root(self, root: Root, region: Region, x: Value, mask: Value) -> None:
        """Write elements of a root (not of a flag), in the lanes of the mask."""
        same("write", mask, Value(-1, BOOL, x.width))
        self.append(Write("write", (x, mask), (), self.inst, root=root, region=region))

    @operation("read_flag", ReadFlag, ANY, "-> m")
    def read_flag(self, root: Root, offset: int, width: int) -> Value:
        """Read flag bits from bit `offset` on."""
        results = self.fresh(BOOL, width)
        return self.append(ReadFlag("read_flag", (), results, self.inst, root=root, offset=offset))[
            0
        ]

    @operation("write_flag", WriteFlag, ANY, "m m ->")
    def write_flag(self, root: Root, offset: int, x: Value, mask: Value) -> None:
        """Write flag bits from bit `offset` on, those of the mask."""
        same("write_flag", x, mask)
        self.append(WriteFlag("write_flag", (x, mask), (), self.inst, root=root, offset=offset))

    @operation("read_indirect", ReadIndirect, DATA, "ud* m? -> x")
    def read_indirect(
        self,
        addresses: Value,
        type: Type,
        width: int,
        mask: Value | None = None,
        *,
        offset: int,
        vstride: int,
        row: int,
        hstride: int,
    ) -> Value:
        """Read elements at register-space addresses.

        There is one address for each `row` elements, or one address for all, and rows are then
        `vstride` apart; strides are in bytes.  Elements whose mask bit is clear give 0.  Elements
        that are not inside one root whose address is taken give 0, too, and are undefined.
        """
        op = ReadIndirect(
            "read_indirect",
            (addresses, *([mask] if mask else [])),
            self.fresh(type, width),
            self.inst,
            offset=offset,
            vstride=vstride,
            row=row,
            hstride=hstride,
        )
        return self.append(op)[0]

    @operation("write_indirect", WriteIndirect, DATA, "ud1 x m ->")
    def write_indirect(
        self, address: Value, x: Value, mask: Value, *, offset: int, hstride: int
    ) -> None:
        """Write from one address on.

        A masked element that is not inside one root whose address is taken faults.
        """
        args = (address, x, mask)
        self.append(
            WriteIndirect("write_indirect", args, (), self.inst, offset=offset, hstride=hstride)
        )

    @operation("root_address", RootAddress, ANY, "-> ud1")
    def root_address(self, root: Root, offset: int) -> Value:
        """The register-space address of a GRF root."""
        op = RootAddress("root_address", (), self.fresh(UD, 1), self.inst, root=root, offset=offset)
        return self.append(op)[0]

    @operation("exec_mask", ExecMask, ANY, "-> m")
    def exec_mask(self, offset: int, width: int) -> Value:
        """The lanes of this thread that now execute, from lane `offset` on."""
        results = self.fresh(BOOL, width)
        return self.append(ExecMask("exec_mask", (), results, self.inst, offset=offset))[0]

    @operation("symbol", Symbol, ANY, "-> uq1")
    def symbol(self, name: str) -> Value:
        """The run-time address of a function or data symbol."""
        if name not in self.function.symbols:
            self.function.symbols.append(name)
        return self.append(Symbol("symbol", (), self.fresh(UQ, 1), self.inst, symbol=name))[0]

    @operation("special", Special, INT, "-> x")
    def special(self, name: str, type: Type, width: int = 1) -> Value:
        """A value of the run, by name.

        timestamp (instructions run), thread_id (in the group), group_threads, hardware_thread
        (unique among the threads that run at once), fftid (the same, below 512), eu_id,
        subslice_id, slice_id.
        """
        results = self.fresh(type, width)
        return self.append(Special("special", (), results, self.inst, fact=name))[0]
