"""The manual page of an instruction, made from its declaration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eumu.isa.kinds.control import ExecKind
from eumu.isa.limits import EVERY_PLATFORM, By, TypeRow, before, since
from eumu.isa.spec import Field, Opcode
from eumu.isa.visa import VISA
from eumu.isa.visa.unused import unused_sources
from eumu.platforms import PLATFORMS
from eumu.types import TYPES, Type

_PAGES: Final = "https://github.com/intel/intel-graphics-compiler/blob/master/documentation/visa/"
# Named by the documents, and without a page among those that are public.
_MISSING: Final = frozenset({"DP2", "DP3", "DP4", "DPH", "LINE", "LOAD", "SAMPLE", "SRND"})


# Directives: what they say, and an example.  The documents have pages of the first four.
DIRECTIVES: Final = {
    "FILE": ("The source file that the instructions up to the next one come from.", 'FILE "k.cl"'),
    "LOC": ("The line of that file that the instructions up to the next one come from.", "LOC 12"),
    "LABEL": ("A place that jmp and goto go to: a name and a colon, alone on a line.", "again:"),
    "SUBROUTINE": (
        "A place that call goes to: a label with the name of a .function before it.",
        '.function "twice"\ntwice:',
    ),
    ".version": ("The version of vISA; the first line of a file.", ".version 4.1"),
    ".kernel": ("Begins a kernel; names are known up to the next one.", '.kernel "k"'),
    ".global_function": ("Begins a function that fcall calls.", '.global_function "f"'),
    ".function": ("The name of the subroutine that follows.", '.function "twice"'),
    ".decl": (
        "A variable: general (G), address (A), predicate (P), sampler (S) or surface (T).",
        ".decl V v_type=G type=d num_elts=16 align=GRF",
    ),
    ".input": ("A variable that has a value at entry; bytes of the payload.", ".input V offset=64"),
    ".kernel_attr": ("What holds for the whole kernel.", ".kernel_attr SimdSize=16"),
}


def directive(name: str) -> list[str]:
    """The lines about a directive, none if there is no such one."""
    for word, (meaning, written) in DIRECTIVES.items():
        if word.lower() == name.lower():
            first, *more = written.splitlines()
            lines = [word, "", f"  {meaning}", "", f"  example      {first}"]
            return [*lines, *(f"{'':15}{line}" for line in more)]
    return []


def address(page: str) -> str:
    """Where a page of the vISA specification can be read, empty if it is not public.

    Pages are called as in a diagnostic's `spec`: `ADD` for an instruction, `5 Operands` for a
    chapter.
    """
    if not page or page in _MISSING:
        return ""
    if " " in page:
        return f"{_PAGES}{page.lower().replace(' ', '_')}.md"
    return f"{_PAGES}instructions/{page}.md"


def example(opcode: Opcode) -> str:
    """An instruction as it may be written; variables are called like the operands they are for."""
    parts = [
        piece.literal if piece.field is None else forms(opcode, piece.field)[0][1]
        for piece in opcode.pieces
        if not piece.part  # a part may always be left out
    ]
    return "".join(parts).strip()


def page(opcode: Opcode) -> Iterator[str]:
    """The lines of the manual page; the first one is the mnemonic and its template."""
    yield f"{opcode.mnemonic}    {opcode.template}"
    yield ""
    yield from (f"  {line}".rstrip() for line in opcode.doc.splitlines())
    yield ""
    yield f"  example      {example(opcode)}"
    for field in opcode.fields:
        yield f"  {field.name:<12} {_operand(forms(opcode, field))}"
    for row in opcode.types:
        if row.by is not By.FRONT_END:
            yield f"  types        {_row(row)}"
    yield f"  opcode       {_number(opcode)}"
    yield f"  platforms    {_platforms(opcode.platforms or EVERY_PLATFORM)}"
    yield f"  fidelity     {opcode.fidelity}"
    where = f"{VISA.document} {opcode.page}" if opcode.page else "no public one"
    yield f"  page         {where}"


def native_page(opcode: Opcode, document: str) -> Iterator[str]:
    """The same for an instruction of native Gen9 code, whose operands are those of its text."""
    yield f"{opcode.mnemonic}    {opcode.template}"
    yield ""
    yield from (f"  {line}".rstrip() for line in opcode.doc.splitlines())
    yield ""
    yield f"  opcode       {_number(opcode)}"
    yield f"  fidelity     {opcode.fidelity}"
    yield f"  page         {document} {opcode.page}"


def _number(opcode: Opcode) -> str:
    return f"{opcode.number:#04x}" + ("" if opcode.sub is None else f", sub-opcode {opcode.sub}")


def forms(opcode: Opcode, field: Field) -> list[tuple[str, str]]:
    """What an operand may be, in words and as an example, the usual form first."""
    classes = opcode.limits.operands.get(field.name, "")
    # The name of an instruction cannot be that of a variable.
    name = f"{field.name}0" if VISA.find(field.name) else field.name
    samples = [(words, sample.format(name=name)) for words, sample in field.kind.forms(classes)]
    operation = opcode.field("operation")
    if field.name in unused_sources(opcode, operation.kind.example if operation else ""):
        samples = [(words, "%null.0") for words, _ in samples[:1]]
    if isinstance(field.kind, ExecKind):
        lanes = _lanes(opcode)
        samples = [(words, sample.replace("16", str(lanes))) for words, sample in samples]
    return samples


def _lanes(opcode: Opcode) -> int:
    """How many lanes an example has: 16 if the instruction can on the latest platform it is on."""
    latest = [p for p in PLATFORMS if p in (opcode.platforms or EVERY_PLATFORM)][-1]
    return max(n for n in opcode.limits.sizes_on(latest) if n <= 16)


def _operand(samples: list[tuple[str, str]]) -> str:
    if len(samples) == 1:
        return samples[0][0]
    *first, last = (f"{words} {sample}" for words, sample in samples)
    return f"{', '.join(first)} or {last}"


def _row(row: TypeRow) -> str:
    """A row of a type map: what goes to what, operands with types of their own, platforms."""
    sides = (("dst", row.dst), ("sources", row.src))
    if row.dst and row.src:
        parts = [f"{_types(row.dst)} ← {_types(row.src)}"]
    else:
        parts = [f"{side} {_types(types)}" for side, types in sides if types]
    parts += [f"{name} {_types(types)}" for name, types in row.fields]
    everywhere = row.platforms == EVERY_PLATFORM
    return ", ".join(parts) + ("" if everywhere else f"  (on {_platforms(row.platforms)})")


def _platforms(names: frozenset[str]) -> str:
    """Platforms in order of appearance, as a stretch of them where they are one."""
    if names == EVERY_PLATFORM:
        return "all"
    order = list(PLATFORMS)
    listed = [n for n in order if n in names]
    if len(listed) > 2 and names == since(listed[0]):
        return f"{listed[0]} and later ({', '.join(listed)})"
    if len(listed) > 2 and names == before(order[len(listed)]):
        return f"up to {listed[-1]} ({', '.join(listed)})"
    return ", ".join(listed)


def _types(types: frozenset[Type]) -> str:
    return " ".join(t.name for t in TYPES.values() if t in types)
