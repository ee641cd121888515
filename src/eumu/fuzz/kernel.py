"""IR under construction, without a program: a builder with roots, a payload and blocks."""

from __future__ import annotations

from typing import Any, Final

from eumu.errors import Source, Span
from eumu.ir import Block, Builder, Function, Input, Region, Root, RootKind, Rounding, Space, Value
from eumu.ir.operations.ends import Barrier, Branch, Call, Diverge, Jump, Ret, Trap
from eumu.types import BOOL, UD, UQ, UW, Type

_ENDS: Final[dict[str, Any]] = {
    kind.name: kind for kind in (Barrier, Branch, Call, Diverge, Jump, Ret, Trap)
}
RNE: Final = Rounding.RNE


class Kernel:
    """A function under construction; `b` builds its operations.

    Blocks are listed first, since their order is their priority.  Argument k of the launch is an
    address in root ``ARG<k>``; instruction k reads ``inst k`` in its source.
    """

    def __init__(self, *blocks: str, width: int = 16, arguments: int = 4) -> None:
        self.width = width
        self.function = Function("k", width, 64)
        self.b = Builder(self.function)
        self.labels = {label: k for k, label in enumerate(blocks or ("entry",))}
        self.function.blocks = [Block(label) for label in self.labels]
        self._address = 0x10000
        r0 = self.root("R0", 64)
        self.function.inputs.append(Input(r0, 0, 0, 64))
        for k, name in enumerate("XYZ"):
            root = self.root(name, 2 * width)
            self.function.inputs.append(Input(root, 0, 64 + 64 * k, 2 * width))
        for k in range(arguments):
            root = self.root(f"ARG{k}", 8)
            self.function.inputs.append(Input(root, 0, 256 + 8 * k, 8))
        self.arguments = arguments
        self.inst(0)
        self.at(next(iter(self.labels)))

    # ---- program

    def inst(self, index: int) -> None:
        """The operations that follow belong to instruction `index`."""
        source = Source("k.visaasm", "\n".join(f"inst {k}" for k in range(index + 1)))
        while len(self.function.spans) <= index:
            line = len(self.function.spans) + 1
            self.function.spans.append(Span(source, line, 1, line, 7))
            self.function.texts.append(f"inst {line - 1}")
        self.b.inst = index

    def at(self, label: str) -> Builder:
        """Go on in a block."""
        self.b.block = self.function.blocks[self.labels[label]]
        return self.b

    def root(self, name: str, size: int, kind: RootKind = RootKind.GRF) -> Root:
        root = Root(name, kind, size, self._address if kind is RootKind.GRF else 0)
        self._address += 0x1000
        self.function.roots[name] = root
        return root

    def go(self, name: str, *labels: str, mask: Value | None = None, **attrs: Any) -> None:
        """End the block with a terminator whose targets are labels."""
        if name in ("diverge", "call", "ret"):
            attrs.setdefault("offset", 0)
        args = () if mask is None else (mask,)
        targets = tuple(self.labels[label] for label in labels)
        self.b.terminate(_ENDS[name](args, targets, **attrs))

    def end(self) -> None:
        """End every active lane."""
        here = self.function.blocks.index(self.b.block) if self.b.block else 0
        self.b.terminate(Ret((self.true(),), (here,), offset=0))

    # ---- operands

    def true(self, width: int | None = None) -> Value:
        return self.b.const(BOOL, 1, width or self.width)

    def mask(self) -> Value:
        return self.b.exec_mask(0, self.width)

    def number(self, type: Type, value: int | float) -> Value:
        return self.b.const(type, value, self.width)

    def lanes(self, type: Type, *values: int) -> Value:
        return self.b.const(type, values, len(values))

    def get(self, name: str, type: Type = UD, offset: int = 0) -> Value:
        """Packed lanes of a root."""
        region = Region.packed(offset, type.size)
        return self.b.read(self.function.roots[name], region, type, self.width)

    def put(self, name: str, x: Value, mask: Value | None = None, offset: int = 0) -> None:
        region = Region.packed(offset, x.type.size)
        root = self.function.roots[name]
        self.b.write_root(root, region, x, mask or self.b.exec_mask(0, x.width))

    def add(self, x: Value, y: Value) -> Value:
        return self.b.add(x, y, RNE)

    def mul(self, x: Value, y: Value) -> Value:
        return self.b.mul(x, y, RNE)

    def lane(self) -> Value:
        return self.b.iota(UD, self.width)

    def local_id(self) -> Value:
        """x in the group, as ud."""
        return self.b.convert(self.get("X", UW), UD, rounding=RNE)

    def group_id(self) -> Value:
        x = self.b.read(self.function.roots["R0"], Region.scalar(4), UD, 1)
        return self.b.splat(x, self.width)

    def argument(self, k: int) -> Value:
        root = self.function.roots[f"ARG{k}"]
        return self.b.splat(self.b.read(root, Region.scalar(0), UQ, 1), self.width)

    def item(self, local: int) -> Value:
        """The linear work item of each lane, for one-dimensional groups of `local`."""
        return self.add(self.mul(self.group_id(), self.number(UD, local)), self.local_id())

    def address(self, argument: int, index: Value, size: int) -> Value:
        """Addresses of elements of an array argument."""
        wide = self.b.convert(index, UQ, rounding=RNE)
        scaled = self.mul(wide, self.number(UQ, size))
        return self.add(self.argument(argument), scaled)

    def input(self, argument: int, index: Value, type: Type) -> Value:
        """One element per lane of an array argument."""
        place = self.address(argument, index, type.size)
        return self.b.load(Space.FLAT, place, self.mask(), type)[0]

    def result(self, argument: int, index: Value, x: Value, mask: Value | None = None) -> None:
        """Store a lane value at `index` of an array argument of that element type."""
        place = self.address(argument, index, x.type.size)
        self.b.store(Space.FLAT, place, mask or self.mask(), [x])
