"""Instructions that together have every pair of choices: types, operands, modifiers, masks …

For each vector instruction of the registry, `cases` draws types, classes of operands, modifiers,
saturation, predicate and mask control so that any two choices meet in some case (where they may),
and for each pair of source types every pair of edge values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from random import Random

from eumu.fuzz.edges import EDGES
from eumu.fuzz.vocabulary import (
    Signature,
    destinations,
    exec_sizes,
    masks,
    modifiers,
    operand_classes,
    operands,
    predicates,
    saturates,
    signatures,
    sources,
    text,
)
from eumu.isa.limits import DESTINATION
from eumu.isa.spec import Opcode
from eumu.isa.visa.graphics import QuadKind, RegistersKind
from eumu.platforms import platform
from eumu.types import BOOL, TYPES, Kind, Type
from oracle.meanings import packed

SIMD = 32
ACTIVE = 20  # lanes of the thread that exist
CANDIDATES = 12
LEAST = 30  # cases, also where there are few choices of types
# Bits of the predicate variables: mixed, all, none.
PREDICATE_BITS = {"P1": 0xA5C3_0FF1, "P2": 0xFFFF_FFFF, "P3": 0}
_BF = [bits >> 16 for bits in EDGES["f"]]


def edges(type: Type) -> list[int]:
    return _BF if type.name == "bf" else EDGES[type.name]


def columns(types: tuple[Type, ...], seed: int) -> list[list[int]]:
    """For each type its edge values, so that any two columns have every pair; packed ones none."""
    random = Random(seed)
    lists = [edges(t) if t.kind is not Kind.PACKED and t is not BOOL else [0] for t in types]
    if len(lists) < 3:
        rows = list(product(*lists))
    else:  # every pair of the first two, of the third (and fourth) with each
        rows = [
            (*pair, *more) for pair in product(*lists[:2]) for more in [_pick(lists[2:], random)]
        ]
        rows += [(*_pick(lists[:1], random), y, *_pick(lists[2:], random)) for y in lists[1]]
        rows += [(x, *_pick(lists[1:2], random), z, *_pick(lists[3:], random))
                 for x, z in product(lists[0], lists[2])]  # fmt: skip
    return [list(column) for column in zip(*rows, strict=True)]


def _pick(lists: list[list[int]], random: Random) -> tuple[int, ...]:
    return tuple(random.choice(choices) for choices in lists)


@dataclass(frozen=True)
class Source:
    """How a source is written: `g` a region, `s` one element, `r` by address, `i` a constant."""

    type: Type
    kind: str
    modifier: str
    lanes: tuple[int, ...]  # the bits that the variable has, before the modifier


@dataclass(frozen=True)
class Case:
    """One instruction, with everything that is chosen."""

    signature: Signature
    size: int
    mask: str
    guard: str  # with the name of its predicate variable
    saturate: bool
    place: str  # of the destination: `1` or `2` the stride, `r` by address
    sources: tuple[Source, ...]
    relation: str = ""
    table: int = 0

    @property
    def opcode(self) -> Opcode:
        return self.signature.opcode

    def choices(self) -> frozenset[tuple[str, str]]:
        """What is to be covered by pairs."""
        found = {
            ("mask", self.mask), ("guard", _form(self.guard)), ("sat", str(self.saturate)),
            ("place", self.place), ("size", str(self.size)), ("relation", self.relation),
        }  # fmt: skip
        for field, type in zip(operands(self.opcode), self.signature.types, strict=True):
            found.add((field.name, type.name))
        for field, source in zip(sources(self.opcode), self.sources, strict=True):
            found.add((f"{field.name} class", source.kind))
            found.add((f"{field.name} modifier", source.modifier))
        return frozenset(found)

    # ---- what runs

    def enabled(self) -> list[bool]:
        """The lanes that write, the condition of `sel` aside."""
        guard = [True] * self.size if self.opcode.mnemonic == "sel" else self.guarded()
        return [a and g for a, g in zip(self.active(), guard, strict=True)]

    def active(self) -> list[bool]:
        if self.mask.endswith("_NM"):
            return [True] * self.size
        return [self.first + k < ACTIVE for k in range(self.size)]

    @property
    def first(self) -> int:
        """The lane of the thread that the mask control names."""
        return 4 * (int(self.mask[1]) - 1)

    def guarded(self) -> list[bool]:
        """The lanes that the predicate lets through."""
        if not self.guard:
            return [True] * self.size
        form = self.guard.strip("()")
        name, _, combine = form.lstrip("!").partition(".")
        bits = [bool(PREDICATE_BITS[name] >> k & 1) for k in range(SIMD)]
        if combine:  # of all bits, also of those that are no lanes of the instruction
            bits = [any(bits) if combine == "any" else all(bits)] * self.size
        else:
            bits = bits[self.first : self.first + self.size]
        return [not b for b in bits] if form.startswith("!") else bits

    def lane(self, source: Source, k: int) -> tuple[Type, int]:
        """The type and the bits that lane k reads, the modifier not applied."""
        if source.type.kind is Kind.PACKED:
            return packed(source.type, source.lanes[0], k)
        return source.type, source.lanes[0 if source.kind in "si" else k]


def _form(guard: str) -> str:
    for name in PREDICATE_BITS:
        guard = guard.replace(name, "P")
    return guard


def cases(opcode: Opcode, device: str) -> list[Case]:
    """Cases of an instruction; see the module.  The same in every run."""
    random = Random(opcode.mnemonic)
    drawn = _Drawer(opcode, device, random)
    found: list[Case] = []
    covered: set[frozenset[tuple[str, str]]] = set()
    drafts = [
        (signature, rows)
        for signature in _pairs_of_types(opcode, device, random)
        for rows in _chunks(signature, device)
    ]
    if drafts:
        drafts *= -(-LEAST // len(drafts))
    for signature, rows in drafts:
        made = [drawn.case(signature, rows) for _ in range(CANDIDATES)]
        best = max(made, key=lambda c: len(_pairs(c) - covered))
        covered |= _pairs(best)
        found.append(best)
    return found


def has_cases(opcode: Opcode, device: str) -> bool:
    """Whether an instruction has any, without making them."""
    return any(_is_plain(s) for s in signatures(opcode, device))


def _pairs(case: Case) -> set[frozenset[tuple[str, str]]]:
    return {frozenset(pair) for pair in combinations(sorted(case.choices()), 2)}


def _pairs_of_types(opcode: Opcode, device: str, random: Random) -> list[Signature]:
    """Signatures in which any two types meet that may: few, chosen greedily."""
    left = [s for s in signatures(opcode, device) if _is_plain(s)]
    random.shuffle(left)
    found: list[Signature] = []
    covered: set[tuple[int, str, int, str]] = set()
    while left:
        best = max(left[:60], key=lambda s: len(_type_pairs(s) - covered))
        if not _type_pairs(best) - covered:  # none of these, perhaps one of the others
            left = [s for s in left[60:] if _type_pairs(s) - covered]
            continue
        covered |= _type_pairs(best)
        found.append(best)
        left.remove(best)
    return found


def _type_pairs(signature: Signature) -> set[tuple[int, str, int, str]]:
    names = [t.name for t in signature.types]
    places = combinations(range(len(names)), 2) if len(names) > 1 else [(0, 0)]
    return {(i, names[i], j, names[j]) for i, j in places}


def _is_plain(signature: Signature) -> bool:
    """Predicates as sources are the business of run files."""
    return BOOL not in signature.sources and signature.opcode.mnemonic != "setp"


def _chunks(signature: Signature, device: str) -> Iterator[list[list[int]]]:
    """Rows of edge values, as many as an instruction has lanes."""
    size = max(exec_sizes(signature, device, SIMD))
    table = columns(signature.sources, len(signature.types))
    count = len(table[0])
    for start in range(0, count, size):
        yield [[c[(start + k) % count] for k in range(size)] for c in table]


class _Drawer:
    """Draws the choices of a case."""

    def __init__(self, opcode: Opcode, device: str, random: Random) -> None:
        self.opcode, self.device, self.random = opcode, device, random

    def case(self, signature: Signature, rows: list[list[int]]) -> Case:
        opcode, random = self.opcode, self.random
        largest = max(exec_sizes(signature, self.device, SIMD))
        sizes = exec_sizes(signature, self.device, SIMD)
        size = largest if random.random() < 0.7 else random.choice(sizes)
        guard = random.choice(predicates(opcode))
        if signature.dst is BOOL and opcode.mnemonic != "cmp":
            guard = ""
        return Case(
            signature,
            size,
            random.choice(masks(size, SIMD)),
            guard.replace("P", random.choice(("P1", "P1", "P2", "P3"))),
            saturates(opcode, signature.dst) and random.random() < 0.5,
            self._place(signature, size),
            tuple(self._sources(signature, size, rows)),
            random.choice(("eq", "ne", "lt", "le", "gt", "ge")) if self._has("rel") else "",
            random.randrange(256) if self._has("table") else 0,
        )

    def _has(self, name: str) -> bool:
        return self.opcode.field(name) is not None

    def _place(self, signature: Signature, size: int) -> str:
        dst = destinations(self.opcode)[0]
        if signature.dst is BOOL:
            return "p"
        classes = self.opcode.limits.operands.get(dst.name, DESTINATION)
        if self.opcode.mnemonic == "madw" or self.opcode.limits.aligned:
            return "1"
        wide = 2 * size * signature.dst.size <= 2 * platform(self.device).grf_bytes
        return self.random.choice(("1", "2" if wide else "1", "r" if "r" in classes else "1"))

    def _sources(self, signature: Signature, size: int, rows: list[list[int]]) -> Iterator[Source]:
        random = self.random
        constants = 0
        fields = sources(self.opcode)
        for field, type, lanes in zip(fields, signature.sources, rows, strict=True):
            if type.kind is Kind.PACKED:
                yield Source(type, "i", "", (random.getrandbits(32),))
                continue
            allowed = operand_classes(self.opcode, field)
            kinds = ["g", "g", "s"]
            kinds += ["r"] * ("r" in allowed and not self.opcode.limits.aligned)
            kinds += ["i"] * ("i" in allowed and type.name != "bf" and not constants)
            kind = random.choice(kinds)
            if isinstance(field.kind, QuadKind | RegistersKind) or (size == 1 and kind == "r"):
                kind = "g"
            constants += kind == "i"
            modifier = "" if kind == "i" else random.choice(modifiers(self.opcode, type))
            yield Source(type, kind, modifier, tuple(lanes[:size] if kind in "gr" else lanes[:1]))


# ---- the text


def lines(case: Case, number: int) -> Iterator[str]:
    """The lines of a case; its variables have its number in their names."""
    words: dict[str, str] = {"rel": case.relation, "table": f"x{case.table:02x}"}
    fields = zip(sources(case.opcode), case.sources, strict=True)
    for k, (field, source) in enumerate(fields):
        yield from _address(f"A{k + 1}", f"S{k}_{number}", source.kind)
        words[field.name] = _source(case, field.kind, source, k, number)
    name = f"D{number}"
    yield from _address("A5", name, case.place)
    for field, type in zip(destinations(case.opcode), case.signature.types, strict=False):
        if type is BOOL:
            words[field.name] = f"PD{number}"
        elif field.name in ("carry", "borrow"):
            words[field.name] = f"C{number}(0,0)<1>"
        elif case.place == "r":
            words[field.name] = f"r[A5(0),0]<1>:{type.name}"
        else:
            words[field.name] = f"{name}(0,0)<{case.place}>"
    exec = f"({case.mask}, {case.size})"
    guard = f"(PD{number})" if case.opcode.field("overflow") and case.guard else case.guard
    yield text(case.opcode, exec, guard, words, saturate=case.saturate)


def _address(address: str, variable: str, kind: str) -> Iterator[str]:
    if kind == "r":
        yield f"addr_add (M1_NM, 1) {address}(0)<1> &{variable} 0x0:uw"


def _source(case: Case, kind: object, source: Source, k: int, number: int) -> str:
    if source.kind == "i":
        return f"{source.lanes[0]:#x}:{source.type.name}"
    prefix = f"({source.modifier})" if source.modifier else ""
    if source.kind == "r":
        return f"{prefix}r[A{k + 1}(0),0]<1;1,0>:{source.type.name}"
    scalar = source.kind == "s" or case.size == 1
    return f"{prefix}S{k}_{number}(0,0){'<0;1,0>' if scalar else '<1;1,0>'}"


def declarations(case: Case, number: int) -> Iterator[str]:
    for k, source in enumerate(case.sources):
        if source.kind != "i":
            count = 2 * SIMD if case.opcode.mnemonic in ("plane", "line") else SIMD
            yield _variable(f"S{k}_{number}", source.type, count)
    for field, type in zip(destinations(case.opcode), case.signature.types, strict=False):
        if field.name in ("carry", "borrow"):
            yield _variable(f"C{number}", type, SIMD)
        elif type is not BOOL:
            yield _variable(f"D{number}", type, 2 * SIMD)
    if _writes_flag(case):
        yield f".decl PD{number} v_type=P num_elts={SIMD}"
        yield _variable(f"B{number}", TYPES["ud"], 1)


def _writes_flag(case: Case) -> bool:
    written = case.signature.types[: len(destinations(case.opcode))]
    return BOOL in written or case.opcode.field("overflow") is not None


def has_flag(case: Case) -> bool:
    """Whether the instruction writes a predicate."""
    written = case.signature.types[: len(destinations(case.opcode))]
    return BOOL in written or case.opcode.field("overflow") is not None


def _variable(name: str, type: Type, count: int) -> str:
    return f".decl {name} v_type=G type={type} num_elts={count} align=GRFx2"


def kernel(numbered: list[tuple[int, Case]]) -> str:
    """A kernel that runs these cases."""
    out = [".version 4.1", '.kernel "pairwise"']
    for number, case in numbered:
        out += declarations(case, number)
    out += [f".decl {name} v_type=P num_elts={SIMD}" for name in PREDICATE_BITS]
    out += [f".decl A{k} v_type=A num_elts=1" for k in range(1, 6)]
    out += [f".kernel_attr SimdSize={SIMD}"]
    out += ["    or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud"]
    out += [f"    setp (M1_NM, {SIMD}) {n} {bits:#x}:ud" for n, bits in PREDICATE_BITS.items()]
    for number, case in numbered:
        flag = _writes_flag(case)
        if flag:
            out.append(f"    setp (M1_NM, {SIMD}) PD{number} {FLAG_BEFORE:#x}:ud")
        out += [f"    {line}" for line in lines(case, number)]
        if has_flag(case):
            out.append(f"    mov (M1_NM, 1) B{number}(0,0)<1> PD{number}")
    return "\n".join([*out, "    ret (M1, 1)", ""])


FLAG_BEFORE = 0x0F0F_3C5A  # what a predicate holds before it is written
FILL = 0x5A  # the byte that destinations are filled with
