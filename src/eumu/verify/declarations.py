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


def _general(given: KernelInput) -> Variable | None:
    return given.variable if isinstance(given.variable, Variable) else None


@rule(
    "input-overlap",
    "Two inputs cannot get different values in the same bytes.",
    on=On.KERNEL,
    page=PAGE,
)
def input_overlap(subject: Subject) -> Iterator[Finding]:
    last: KernelInput | None = None
    for given in sorted(subject.kernel.inputs, key=lambda i: (i.offset, i.offset + i.size)):
        if last is not None and given.offset < last.offset + last.size:
            yield Finding(
                f"input '{given.variable.name}' at bytes {_extent(given)} overlaps"
                f" '{last.variable.name}' at {_extent(last)}",
                span=given.span,
            )
        if last is None or given.offset + given.size > last.offset + last.size:
            last = given


def _extent(given: KernelInput) -> str:
    return f"{given.offset} to {given.offset + given.size - 1}"


@rule(
    "input-bounds",
    "The thread's payload ends with the last register but one.",
    on=On.KERNEL,
    page=PAGE,
)
def input_bounds(subject: Subject) -> Iterator[Finding]:
    limit = 255 * subject.grf
    for given in subject.kernel.inputs:
        if given.offset + given.size >= limit:
            yield Finding(
                f"input '{given.variable.name}' at bytes {_extent(given)} passes the end of the"
                f" payload, byte {limit - 2}",
                span=given.span,
            )


@rule(
    "input-size",
    "An input fills its variable.",
    on=On.KERNEL,
    page=PAGE,
)
def input_size(subject: Subject) -> Iterator[Finding]:
    for given in subject.kernel.inputs:
        found = _general(given)
        size = found.size if found else 4 * given.variable.count
        checked = found is not None or isinstance(given.variable, SurfaceVariable)
        if checked and given.size != size:
            yield Finding(
                f"input '{given.variable.name}' has {given.size} bytes, its variable {size}",
                span=given.span,
            )


@rule(
    "input-straddles",
    "An input smaller than a register must lie in one register.",
    on=On.KERNEL,
    page=PAGE,
)
def input_straddles(subject: Subject) -> Iterator[Finding]:
    grf = subject.grf
    for given in subject.kernel.inputs:
        if _general(given) and given.size < grf:
            first, last = given.offset // grf, (given.offset + given.size - 1) // grf
            if first != last:
                yield Finding(
                    f"input '{given.variable.name}' of {given.size} bytes lies in two registers,"
                    f" {first} and {last}",
                    span=given.span,
                )


@rule(
    "input-alignment",
    "Whole registers are aligned to a register, elements to their size, state to a dword.",
    on=On.KERNEL,
    page=PAGE,
    by=By.DOCUMENTS,
)
def input_alignment(subject: Subject) -> Iterator[Finding]:
    for given in subject.kernel.inputs:
        found = _general(given)
        needed = 4 if found is None else found.type.size
        if found is not None and found.size >= subject.grf:
            needed = subject.grf
        if given.offset % needed:
            yield Finding(
                f"offset {given.offset} of input '{given.variable.name}' is no multiple of"
                f" {needed}",
                span=given.span,
            )


@rule(
    "input-alias",
    "An input states its own place.",
    on=On.KERNEL,
    page=PAGE,
    by=By.DOCUMENTS,
)
def input_alias(subject: Subject) -> Iterator[Finding]:
    for given in subject.kernel.inputs:
        found = _general(given)
        if found is not None and found.alias is not None:
            yield Finding(
                f"input '{found.name}' is an alias of '{found.alias.name}'", span=given.span
            )


@rule(
    "input-order",
    "The runtime numbers the user's arguments first.",
    on=On.KERNEL,
    page=PAGE,
)
def input_order(subject: Subject) -> Iterator[Finding]:
    implicit: KernelInput | None = None
    for given in subject.kernel.inputs:
        if given.implicit:
            implicit = implicit or given
        elif implicit is not None:
            yield Finding(
                f"input '{given.variable.name}' follows the implicit input"
                f" '{implicit.variable.name}'; explicit ones come first",
                span=given.span,
            )


@rule(
    "input-header",
    "Register 0 is the thread's header; the hardware overwrites an input there.",
    on=On.KERNEL,
    page=PAGE,
    by=By.DOCUMENTS,
)
def input_header(subject: Subject) -> Iterator[Finding]:
    for given in subject.kernel.inputs:
        if _general(given) and given.offset < subject.grf:
            yield Finding(
                f"input '{given.variable.name}' lies in register 0, the header; inputs begin at"
                f" byte {subject.grf}",
                span=given.span,
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
