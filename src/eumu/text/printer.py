"""Programs as text: what `parse` reads back as the same program and Intel's front end accepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from eumu.isa.kinds.control import LabelKind
from eumu.isa.kinds.literals import quoted
from eumu.isa.kinds.variables import Declared, SamplerVariable, SurfaceVariable, Variable
from eumu.isa.spec import Opcode
from eumu.program import (
    Attribute,
    Inst,
    Item,
    Kernel,
    KernelInput,
    LabelMark,
    Module,
    ScopeMark,
    SourceMark,
)
from eumu.text.names import is_label, is_reserved, is_variable_name

_INDENT = "    "


def print_module(module: Module) -> str:
    """All kernels of a module; names that cannot be written, or clash, are changed."""
    major, minor = module.version
    texts = [f".version {major}.{minor}\n", *(print_kernel(k) for k in module.kernels)]
    return "\n".join(texts)


def print_kernel(kernel: Kernel) -> str:
    """One kernel or function, without `.version`."""
    kernel = _renamed(kernel)
    directive = ".global_function" if kernel.is_function else ".kernel"
    lines = [f"{directive} {quoted(kernel.name)}", ""]
    lines += [print_declaration(d) for d in kernel.declarations]
    lines += [print_input(i) for i in kernel.inputs]
    lines += [print_attribute(a) for a in kernel.attributes]
    for item in kernel.body:
        if isinstance(item, LabelMark) and lines[-1]:
            lines.append("")
        lines += _item(item)
    return "\n".join(lines) + "\n"


def print_declaration(declared: Declared) -> str:
    """`.decl …`."""
    words = [f".decl {declared.name} v_type={declared.category}"]
    if isinstance(declared, Variable):
        words.append(f"type={declared.type.name}")
    words.append(f"num_elts={declared.count}")
    if isinstance(declared, Variable):
        if declared.align is not None:
            words.append(f"align={declared.align}")
        if declared.alias is not None:
            words.append(f"alias=<{declared.alias.name}, {declared.alias_offset}>")
    elif isinstance(declared, SurfaceVariable | SamplerVariable) and declared.alternate:
        words.append(f"v_name={declared.alternate}")
    if declared.attrs:
        shown = (n if v is None else f"{n}={_attribute_value(v)}" for n, v in declared.attrs)
        words.append(f"attrs={{{', '.join(shown)}}}")
    return " ".join(words)


def print_input(argument: KernelInput) -> str:
    """`.input …`, or the directive of an implicit one."""
    word = f".implicit_{argument.implicit}" if argument.implicit else ".input"
    return f"{word} {argument.variable.name} offset={argument.offset} size={argument.size}"


def print_attribute(attribute: Attribute) -> str:
    """`.kernel_attr …`."""
    value = attribute.value
    shown = "" if value is None else f"={quoted(value) if isinstance(value, str) else value}"
    return f".kernel_attr {attribute.name}{shown}"


def _attribute_value(value: str) -> str:
    return value if value.lstrip("-").isdecimal() else quoted(value)


def _item(item: Item) -> Iterator[str]:
    yield print_item(item)
    if isinstance(item, LabelMark) and item.kind == "subroutine":
        yield ""
        if is_label(item.name):
            yield f"{item.name}:"


def print_item(item: Item) -> str:
    """The line of something in a body, with its indent."""
    match item:
        case Inst():
            return _INDENT + print_instruction(item)
        case LabelMark(kind="subroutine"):
            return f".function {quoted(item.name)}"
        case LabelMark():
            return f"{item.name}:"
        case SourceMark(file=str(name)):
            return f"{_INDENT}FILE {quoted(name)}"
        case SourceMark():
            return f"{_INDENT}LOC {item.line}"
        case ScopeMark():
            return "{" if item.opens else "}"


def print_instruction(inst: Inst) -> str:
    """One instruction, without indent."""
    opcode: Opcode = inst.opcode
    words = []
    for piece in opcode.pieces:
        if piece.field is None:
            words.append(piece.literal)
            continue
        operand = inst.operands[piece.field.index]
        if piece.part:
            words.append(piece.field.kind.print_part(piece.part, operand))
            continue
        text = piece.field.kind.print(operand)
        if isinstance(piece.field.kind, LabelKind) and is_reserved(text):
            text = quoted(text)
        words.append(text)
    return "".join(words).rstrip()


# ---- names


def _renamed(kernel: Kernel) -> Kernel:
    """The kernel with names that are unique and can be written.

    Inner scopes may shadow outer names; their declarations are printed with the others.
    """
    taken = {d.name for d in kernel.declarations}
    used: set[str] = set()
    names: dict[Declared, str] = {}
    for declared in kernel.declarations:
        name = declared.name
        if name in used or not is_variable_name(name):
            name = _fresh(name, taken)
            names[declared] = name
        used.add(name)
        taken.add(name)
    return _substituted(kernel, names) if names else kernel


def _fresh(name: str, taken: set[str]) -> str:
    base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name) or "V"
    base = f"_{base}" if base[0].isdigit() else base
    number = 1
    while f"{base}_{number}" in taken or not is_variable_name(f"{base}_{number}"):
        number += 1
    return f"{base}_{number}"


def _substituted(kernel: Kernel, names: dict[Declared, str]) -> Kernel:
    new: dict[Declared, Declared] = {}
    for declared in kernel.declarations:
        changed = declared
        if declared in names:
            changed = replace(changed, name=names[declared])
        alias = new.get(changed.alias) if isinstance(changed, Variable) and changed.alias else None
        if isinstance(changed, Variable) and isinstance(alias, Variable):
            changed = replace(changed, alias=alias)
        if changed is not declared:
            new[declared] = changed
    return replace(
        kernel,
        declarations=tuple(new.get(d, d) for d in kernel.declarations),
        inputs=tuple(replace(i, variable=new.get(i.variable, i.variable)) for i in kernel.inputs),
        body=tuple(
            replace(i, operands=_mapped(i.operands, new)) if isinstance(i, Inst) else i
            for i in kernel.body
        ),
    )


def _mapped(value: Any, new: dict[Declared, Declared]) -> Any:
    """An operand with the declarations in it replaced."""
    if isinstance(value, Declared):
        return new.get(value, value)
    if isinstance(value, tuple):
        return tuple(_mapped(v, new) for v in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for item in fields(value):
        old = getattr(value, item.name)
        mapped = _mapped(old, new)
        if mapped is not old:
            changed[item.name] = mapped
    return replace(value, **changed) if changed else value
