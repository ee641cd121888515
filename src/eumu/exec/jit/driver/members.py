"""A member of the threads that run abreast, and what it hands on where it goes on by itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from eumu.exec.jit.codegen.kernel import KernelLowering, Place
from eumu.exec.jit.driver.planning import (
    copies_of,
    is_global_load,
    is_global_store,
    is_parted,
    original,
    united,
)
from eumu.exec.jit.driver.speculative import CannotSpeculate
from eumu.exec.jit.driver.suspend import Resume
from eumu.exec.jit.interface import FaultSite
from eumu.exec.jit.llvm.layout import SITE_WORDS, Context, Record, SiteWord
from eumu.ir.operations.memory import LoadBlock

Key = tuple[object, ...]  # what a variable is of, in whichever version


class Member(KernelLowering):
    """A thread that runs abreast: it has no faults, as it begins again.

    In loops where nobody is left out there is no access that may need a call, nor any whose lanes
    may be anywhere elsewhere: around it the values of all members would be saved.  If it `stores`
    to global memory, which arrays it accesses is known when it begins.
    """

    __slots__ = ("stores",)
    stores: bool

    def fault(self, *_: object) -> None:
        raise CannotSpeculate

    def lose(self, faulty: str) -> None:
        op = self.function.blocks[self.block].ops[self.place]
        is_rare = isinstance(op, LoadBlock) and self.block not in self.looped
        if is_global_store(op) or not (is_rare or is_parted(self.block)):
            raise CannotSpeculate
        if self.stores and is_global_load(op):
            faulty = "true"  # its site may have learned of another array
        on = self.e.name("on")
        self.e.do(f"br i1 {faulty}, label %lost, label %{on}, !prof !0")
        self.e.label(on)

    def site(self, inst: int, what: str) -> int:
        """Copies of a block, and members, have their sites in common."""
        block, shared = original(self.block), self.shared_sites
        assert shared is not None
        key = (block, self.place), what
        if key not in shared:
            self.sites.append(FaultSite(inst, block, self.place, what))
            shared[key] = len(self.sites) - 1
        return shared[key]


def compared(k: Member) -> list[str]:
    """Lines that find whether something may be loaded from an array that is stored to: `%same`.

    While members run no site learns of another array.
    """
    lines, loads, stores = list[str](), list[str](), list[str]()
    for (block, place), site in _sites(k).items():
        name, op = f"%array{site}", k.function.blocks[block].ops[place]
        word = Context.SITES + site * SITE_WORDS + SiteWord.WHOLE_START
        lines += [f"  {name}.p = getelementptr i64, ptr %ctx, i64 {word}"]
        lines += [f"  {name} = load i64, ptr {name}.p"]
        (stores if is_global_store(op) else loads).append(name)
    same = "false"
    for n, (x, y) in enumerate(product(loads, stores)):
        lines += [f"  %equal{n} = icmp eq i64 {x}, {y}", f"  %known{n} = icmp ne i64 {x}, 0"]
        lines += [
            f"  %both{n} = and i1 %equal{n}, %known{n}",
            f"  %same{n} = or i1 {same}, %both{n}",
        ]
        same = f"%same{n}"
    return [*lines, f"  %same = or i1 {same}, false"]


def _sites(k: Member) -> dict[Place, int]:
    """The sites of accesses to global memory, by a copy that has them."""
    found: dict[Place, int] = {}
    for ((block, place), _), site in (k.shared_sites or {}).items():
        for copy in copies_of(block):
            ops = k.function.blocks[copy].ops
            if place < len(ops) and (is_global_load(ops[place]) or is_global_store(ops[place])):
                found[copy, place] = site
                break
    return found


def hand_on(k: Member, resume: Resume, cut: int, record: str, ran: str) -> None:
    """Write what a member has at a cut, and what it ran, into its record."""
    word = k.e.op(f"getelementptr i64, ptr {record}, i64 {int(Record.COUNT)}")
    k.e.do(f"store i64 {ran}, ptr {word}")
    for kind, value, offset in _state(k, resume, cut):
        there = k.e.op(f"getelementptr i8, ptr {record}, i64 {offset}")
        k.e.do(f"store {kind} {value}, ptr {there}, align 8")


def _state(k: Member, resume: Resume, cut: int) -> Iterator[tuple[str, str, int]]:
    """Type, value and place of each variable that goes on."""
    names, own = _keys(resume.k), {key: variable for variable, key in _keys(k).items()}
    kept = _kept(k, resume.k, cut)
    for variable, offset in resume.places.items():
        if variable == resume.parks:
            yield resume.k.registers.variables[variable], "zeroinitializer", offset
            continue
        key = names.get(variable)
        if key is None:  # a mask
            waits = variable.startswith("%park")
            yield f"i{k.width}", "0" if waits else "-1", offset
            continue
        mine = own.get(key)
        if mine is not None:
            kind = k.registers.variables[mine]
            yield kind, k.e.op(f"load {kind}, ptr {mine}"), offset
        elif key[0] in ("part", "flag") or key[1:3] in kept:
            raise CannotSpeculate


def _keys(k: KernelLowering) -> dict[str, Key]:
    """The variables of a version, and what each is of."""
    found: dict[str, Key] = {}
    for name, parts in k.registers.parts.items():
        for part in parts:
            if part.variable:
                found[part.variable] = ("part", name, part.start, part.llvm)
    for name, variable in k.registers.flags.items():
        found[variable] = ("flag", name)
    for (slot, shape), (heads, sure) in k.shadows.items():
        for n, head in enumerate(heads):
            found[head] = ("head", slot, shape, n)
        found[sure] = ("sure", slot, shape)
    return found


def _kept(k: Member, other: KernelLowering, cut: int) -> set[Key]:
    """The affine forms that the other version knows at the cut: members must know them, too."""
    kept = set[Key]()
    entry = k.analysis.entry.get(united(cut))
    for slot, shape in other.analysis.entry[cut].items():
        if shape.constant is not None:
            continue
        mine = entry.get(slot) if entry is not None else None
        same = mine is not None and (mine.groups, mine.offsets, mine.constant) == (
            *(shape.groups, shape.offsets),
            None,
        )
        if mine is None or not same or (shape.certain and not mine.certain):
            raise CannotSpeculate
        kept.add((slot, type(shape)(shape.groups, shape.offsets)))
    return kept
