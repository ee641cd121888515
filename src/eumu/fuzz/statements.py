"""A random program as a tree, so that parts of it can be left out.

A `Node` is text with blocks of nodes in it.  Whatever is left out, a valid program remains: labels
are defined in the node that uses them, and every variable has a value from the start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from eumu.records import dataclass

Block = tuple["Node", ...]


@dataclass(frozen=True)
class Node:
    """Lines of text, and blocks between them; `what` names the family for the statistics."""

    what: str
    parts: tuple[str | Block, ...]

    def lines(self) -> Iterator[str]:
        for part in self.parts:
            if isinstance(part, str):
                yield part
            else:
                yield from lines(part)

    @property
    def blocks(self) -> list[Block]:
        return [p for p in self.parts if not isinstance(p, str)]


def lines(block: Block) -> Iterator[str]:
    for node in block:
        yield from node.lines()


def count(block: Block) -> int:
    """Nodes of a block and of the blocks in it."""
    return sum(1 + sum(count(inner) for inner in node.blocks) for node in block)


def families(block: Block) -> Iterator[str]:
    """What each node is."""
    for node in block:
        yield node.what
        for inner in node.blocks:
            yield from families(inner)


def smaller(block: Block) -> Iterator[Block]:
    """Programs with less in them, the much smaller ones first."""
    size = len(block)
    step = size
    while step >= 1:
        for start in range(0, size, step):
            yield block[:start] + block[start + step :]
        step //= 2
    for k, node in enumerate(block):
        for inner in node.blocks:
            yield block[:k] + inner + block[k + 1 :]
        for n, part in enumerate(node.parts):
            if not isinstance(part, str):
                for less in smaller(part):
                    parts = (*node.parts[:n], less, *node.parts[n + 1 :])
                    yield (*block[:k], replace(node, parts=parts), *block[k + 1 :])


@dataclass(frozen=True)
class Section:
    """One random kernel: its body, and the subroutines and functions that it calls, by name."""

    seed: int
    body: Block
    subroutines: tuple[tuple[str, Block], ...] = ()
    functions: tuple[tuple[str, Block], ...] = ()

    def smaller(self) -> Iterator[Section]:
        for body in smaller(self.body):
            yield replace(self, body=body)
        for less in _less(self.subroutines):
            yield replace(self, subroutines=less)
        for less in _less(self.functions):
            yield replace(self, functions=less)

    @property
    def called(self) -> Iterator[Block]:
        return (block for _, block in (*self.subroutines, *self.functions))

    @property
    def nodes(self) -> int:
        return count(self.body) + sum(map(count, self.called))

    def families(self) -> Iterator[str]:
        yield from families(self.body)
        for block in self.called:
            yield from families(block)


def _less(named: tuple[tuple[str, Block], ...]) -> Iterator[tuple[tuple[str, Block], ...]]:
    """The same names with less in their blocks; each must stay, as it may be called."""
    for k, (name, block) in enumerate(named):
        for less in smaller(block):
            yield (*named[:k], (name, less), *named[k + 1 :])
