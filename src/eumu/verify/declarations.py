"""Rules on variables, inputs and attributes.

Source: vISA pages "Variables", "Input variables", "Attributes".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from eumu.isa.kinds.variables import Declared, SamplerVariable, SurfaceVariable, Variable
from eumu.isa.limits import By
from eumu.program import KernelInput
from eumu.verify.rules import Finding, On, rule
from eumu.verify.subject import Subject

PAGE: Final = "4 vISA header"

MAX_ELEMENTS: Final = 4096
MAX_BYTES: Final = 4096
MAX_COUNTS: Final = {"G": 65536, "A": 4096, "P": 4096, "S": 32, "T": 256}
MAX_NAME: Final = 64
# The predefined variables that the documents let an alias begin in.
ALIASABLE: Final = frozenset({"%r0", "%arg", "%retval"})


@rule(
    "elements",
    "A variable lives in registers; the object file gives its size 12 bits.",
    on=On.DECLARATION,
    page=PAGE,
    by=By.DOCUMENTS,
)
def elements(subject: Subject, declared: Declared) -> Iterator[str]:
    if not isinstance(declared, Variable):
        return
    if declared.count > MAX_ELEMENTS:
        yield f"'{declared.name}' has {declared.count} elements; 1 to {MAX_ELEMENTS} are allowed"
    elif declared.size > MAX_BYTES:
        yield f"'{declared.name}' has {declared.size} bytes; up to {MAX_BYTES} are allowed"


@rule(
    "front-end-elements",
    "Intel's front end counts up to 256 elements a byte of a register, and 128 state indices.",
    on=On.DECLARATION,
    page=PAGE,
    by=By.FRONT_END,
)
def front_end_elements(subject: Subject, declared: Declared) -> Iterator[str]:
    limit = 256 * subject.grf
    if isinstance(declared, Variable) and declared.count > limit:
        yield f"'{declared.name}' has {declared.count} elements; 1 to {limit} are allowed"
    if isinstance(declared, SamplerVariable) and declared.count > 128:
        yield f"'{declared.name}' has {declared.count} elements; 1 to 128 are allowed"


@rule(
    "name-length",
    "The object file keeps 64 characters of a name.",
    on=On.DECLARATION,
    page=PAGE,
    by=By.DOCUMENTS,
)
def name_length(subject: Subject, declared: Declared) -> Iterator[str]:
    if len(declared.name) > MAX_NAME:
        yield f"a name of {len(declared.name)} characters; up to {MAX_NAME} are allowed"


@rule(
    "alias-bounds",
    "An alias is a part of its base; bytes beyond it belong to other variables.",
    on=On.DECLARATION,
    page=PAGE,
    by=By.DOCUMENTS,
)
def alias_bounds(subject: Subject, declared: Declared) -> Iterator[str]:
    if isinstance(declared, Variable) and declared.alias is not None:
        owner, offset = declared.origin()
        end, size = offset + declared.size, subject.size(owner)
        if end > size:
            yield (
                f"'{declared.name}' reaches byte {end - 1} of '{owner.name}', which has {size}"
                " bytes"
            )


@rule(
    "alias-offset",
    "Elements are aligned to their size.",
    on=On.DECLARATION,
    page=PAGE,
    by=By.DOCUMENTS,
)
def alias_offset(subject: Subject, declared: Declared) -> Iterator[str]:
    if isinstance(declared, Variable) and declared.alias is not None:
        size = declared.type.size
        if declared.alias_offset % size:
            yield (
                f"offset {declared.alias_offset} of '{declared.name}' is no multiple of {size},"
                f" the size of :{declared.type}"
            )


@rule(
    "alias-alignment",
    "The base decides where an alias lies, so it must be aligned at least as well.",
    on=On.DECLARATION,
    page=PAGE,
)
def alias_alignment(subject: Subject, declared: Declared) -> Iterator[str]:
    if isinstance(declared, Variable) and declared.alias is not None:
        owner = declared.origin()[0]
        if owner.predefined is not None:
            return
        needed, has = subject.natural_alignment(declared), subject.alignment(owner)
        if has < needed:
            yield (
                f"'{declared.name}' needs an alignment of {needed} bytes, its base"
                f" '{owner.name}' has {has}; give the base align=…"
            )


@rule(
    "alias-predefined",
    "A program can name only %r0, %arg and %retval as places in the register file.",
    on=On.DECLARATION,
    page=PAGE,
    by=By.DOCUMENTS,
)
def alias_predefined(subject: Subject, declared: Declared) -> Iterator[str]:
    if isinstance(declared, Variable) and declared.alias is not None:
        owner = declared.origin()[0]
        if owner.predefined is not None and owner.name not in ALIASABLE:
            allowed = ", ".join(sorted(ALIASABLE))
            yield f"'{owner.name}' cannot be aliased; of the predefined ones, {allowed} can"


@rule(
    "declaration-count",
    "The object file numbers variables in fields of fixed size.",
    on=On.KERNEL,
    page=PAGE,
    by=By.DOCUMENTS,
)
def declaration_count(subject: Subject) -> Iterator[Finding]:
    counts = Counter(d.category for d in subject.kernel.declarations)
    for category, count in counts.items():
        if count > MAX_COUNTS[category]:
            last = [d for d in subject.kernel.declarations if d.category == category][-1]
            yield Finding(
                f"{count} variables of class {category}; up to {MAX_COUNTS[category]} are allowed",
                span=last.span,
            )


# ---- inputs


def _general(argument: KernelInput) -> Variable | None:
    return argument.variable if isinstance(argument.variable, Variable) else None


@rule(
    "input-overlap",
    "Two inputs cannot get different values in the same bytes.",
    on=On.KERNEL,
    page=PAGE,
)
def input_overlap(subject: Subject) -> Iterator[Finding]:
    last: KernelInput | None = None
    for argument in sorted(subject.kernel.inputs, key=lambda i: (i.offset, i.offset + i.size)):
        if last is not None and argument.offset < last.offset + last.size:
            yield Finding(
                f"input '{argument.variable.name}' at bytes {_extent(argument)} overlaps"
                f" '{last.variable.name}' at {_extent(last)}",
                span=argument.span,
            )
        if last is None or argument.offset + argument.size > last.offset + last.size:
            last = argument


def _extent(argument: KernelInput) -> str:
    return f"{argument.offset} to {argument.offset + argument.size - 1}"


@rule(
    "input-bounds",
    "The thread's payload ends with the last register but one.",
    on=On.KERNEL,
    page=PAGE,
)
def input_bounds(subject: Subject) -> Iterator[Finding]:
    limit = 255 * subject.grf
    for argument in subject.kernel.inputs:
        if argument.offset + argument.size >= limit:
            yield Finding(
                f"input '{argument.variable.name}' at bytes {_extent(argument)} passes the end of"
                f" the payload, byte {limit - 2}",
                span=argument.span,
            )


@rule(
    "input-size",
    "An input fills its variable.",
    on=On.KERNEL,
    page=PAGE,
)
def input_size(subject: Subject) -> Iterator[Finding]:
    for argument in subject.kernel.inputs:
        variable = _general(argument)
        size = variable.size if variable else 4 * argument.variable.count
        checked = variable is not None or isinstance(argument.variable, SurfaceVariable)
        if checked and argument.size != size:
            yield Finding(
                f"input '{argument.variable.name}' has {argument.size} bytes, its variable {size}",
                span=argument.span,
            )


@rule(
    "input-straddles",
    "An input smaller than a register must lie in one register.",
    on=On.KERNEL,
    page=PAGE,
)
def input_straddles(subject: Subject) -> Iterator[Finding]:
    grf = subject.grf
    for argument in subject.kernel.inputs:
        if _general(argument) and argument.size < grf:
            first, last = argument.offset // grf, (argument.offset + argument.size - 1) // grf
            if first != last:
                yield Finding(
                    f"input '{argument.variable.name}' of {argument.size} bytes lies in two"
                    f" registers, {first} and {last}",
                    span=argument.span,
                )


@rule(
    "input-alignment",
    "Whole registers are aligned to a register, elements to their size, state to a dword.",
    on=On.KERNEL,
    page=PAGE,
    by=By.DOCUMENTS,
)
def input_alignment(subject: Subject) -> Iterator[Finding]:
    for argument in subject.kernel.inputs:
        variable = _general(argument)
        needed = 4 if variable is None else variable.type.size
        if variable is not None and variable.size >= subject.grf:
            needed = subject.grf
        if argument.offset % needed:
            yield Finding(
                f"offset {argument.offset} of input '{argument.variable.name}' is no multiple of"
                f" {needed}",
                span=argument.span,
            )


@rule(
    "input-alias",
    "An input states its own place.",
    on=On.KERNEL,
    page=PAGE,
    by=By.DOCUMENTS,
)
def input_alias(subject: Subject) -> Iterator[Finding]:
    for argument in subject.kernel.inputs:
        variable = _general(argument)
        if variable is not None and variable.alias is not None:
            yield Finding(
                f"input '{variable.name}' is an alias of '{variable.alias.name}'",
                span=argument.span,
            )


@rule(
    "input-order",
    "The runtime numbers the user's arguments first.",
    on=On.KERNEL,
    page=PAGE,
)
def input_order(subject: Subject) -> Iterator[Finding]:
    implicit: KernelInput | None = None
    for argument in subject.kernel.inputs:
        if argument.implicit:
            implicit = implicit or argument
        elif implicit is not None:
            yield Finding(
                f"input '{argument.variable.name}' follows the implicit input"
                f" '{implicit.variable.name}'; explicit ones come first",
                span=argument.span,
            )


@rule(
    "input-header",
    "Register 0 is the thread's header; the hardware overwrites an input there.",
    on=On.KERNEL,
    page=PAGE,
    by=By.DOCUMENTS,
)
def input_header(subject: Subject) -> Iterator[Finding]:
    for argument in subject.kernel.inputs:
        if _general(argument) and argument.offset < subject.grf:
            yield Finding(
                f"input '{argument.variable.name}' lies in register 0, the header; inputs begin at"
                f" byte {subject.grf}",
                span=argument.span,
            )


@rule(
    "attribute-twice",
    "Both values cannot hold.",
    on=On.KERNEL,
    page=PAGE,
)
def attribute_twice(subject: Subject) -> Iterator[Finding]:
    counts = Counter(a.name for a in subject.kernel.attributes)
    for name in ("SLMSize", "NBarrierCnt"):
        if counts[name] > 1:
            yield Finding(f"attribute '{name}' is given {counts[name]} times")
