"""Modules, kernels and what stands in their bodies.

Source: vISA pages "Program structure" and "Kernel and function objects".
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from eumu.errors import Span
from eumu.isa.kinds.variables import Declared
from eumu.isa.spec import Opcode
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Inst:
    """One instruction: `operands` in the order of the opcode's fields."""

    opcode: Opcode
    operands: tuple[Any, ...]
    span: Span | None = field(default=None, compare=False)

    def operand(self, name: str) -> Any:
        """The operand of the field called `name`, None if the opcode has none."""
        field = self.opcode.field(name)
        return None if field is None else self.operands[field.index]


@dataclass(frozen=True, slots=True)
class LabelMark:
    """`name:`; `kind` is 'block', or 'subroutine' after a `.function` directive."""

    name: str
    kind: str = "block"
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SourceMark:
    """`FILE "name"` or `LOC line`: where the instructions that follow come from."""

    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ScopeMark:
    """`{` or `}`: declarations inside are not visible outside."""

    opens: bool


Item = Inst | LabelMark | SourceMark | ScopeMark


@dataclass(frozen=True, slots=True)
class KernelInput:
    """`.input V offset=N size=M`, bytes of the payload; `implicit` is the name of the kind."""

    variable: Declared
    offset: int
    size: int
    implicit: str = ""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """`.kernel_attr Name=value`; a flag has no value."""

    name: str
    value: int | str | None = None


@dataclass(frozen=True, slots=True)
class GenBinary:
    """Native code of a kernel in an object file; `platform` is a number of the file's own."""

    platform: int
    code: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ObjectForm:
    """What an object file says beyond the program, so that it can be written as it was.

    `names` are the numbers in the pool of `strings` of all names, in the order a writer meets them;
    `values` are the bytes of all attributes; `labels` is the order of the table of labels, each
    with the name that stands in the pool.  Of a function, `linkage` and `sizes` (of arguments and
    results, in registers) are kept.
    """

    strings: tuple[bytes, ...]
    names: tuple[int, ...]
    values: tuple[bytes, ...]
    labels: tuple[tuple[str, str], ...]
    linkage: int = 0
    sizes: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel, or (`is_function`) a function that is called with `fcall`.

    `declarations` has every declared variable in order, inner scopes included.  Of a kernel from an
    object file, `gen_binaries` are kept as they are.
    """

    name: str
    declarations: tuple[Declared, ...] = ()
    inputs: tuple[KernelInput, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    body: tuple[Item, ...] = ()
    is_function: bool = False
    span: Span | None = field(default=None, compare=False)
    gen_binaries: tuple[GenBinary, ...] = ()
    form: ObjectForm | None = field(default=None, compare=False, repr=False)

    def attribute(self, name: str) -> int | str | None:
        """The value of the last attribute of this name."""
        values = [a.value for a in self.attributes if a.name == name]
        return values[-1] if values else None

    @property
    def instructions(self) -> tuple[Inst, ...]:
        return tuple(item for item in self.body if isinstance(item, Inst))

    @property
    def is_explicit(self) -> bool:
        """`Target="cm"`: explicit SIMD, in threads that have all their lanes, not in work items."""
        return self.attribute("Target") == "cm"

    @property
    def simd_width(self) -> int:
        """`SimdSize`, or as many lanes as the widest instruction reaches."""
        declared = self.attribute("SimdSize")
        if isinstance(declared, int):
            return declared
        reach = [1]
        for inst in self.instructions:
            exec = inst.operand("exec")
            if exec is not None:
                reach.append(exec.offset + exec.size)
        return 1 << (max(reach) - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Module:
    """Everything in one file; `tail` is what an object file has behind its last object."""

    version: tuple[int, int]
    kernels: tuple[Kernel, ...]
    name: str = ""
    tail: bytes = field(default=b"", compare=False, repr=False)
