"""Lints on messages: how long they are, where they go, what they overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Final

from eumu.addresses import SLM_POINTER_BIT
from eumu.errors import Severity
from eumu.isa.kinds.lsc import LscAddress, LscData, LscDataKind
from eumu.isa.kinds.operands import General, Immediate
from eumu.isa.kinds.raw import BlockSize, BlockSizeKind
from eumu.isa.kinds.variables import Declared, Variable
from eumu.isa.limits import By
from eumu.isa.spec import Opcode
from eumu.program import Inst
from eumu.verify.dataflow import Facts
from eumu.verify.effects import Effect
from eumu.verify.rules import Finding, On, rule
from eumu.verify.subject import Subject

_KILOBYTE: Final = 1024
_ENDLESS: Final = 1 << 62


@rule(
    "operand-reach",
    "Bytes beyond the variable belong to other variables.",
    on=On.FLOW,
    page="5 Operands",
    by=By.DOCUMENTS,
)
def operand_reach(facts: Facts) -> Iterator[Finding]:
    """What the meaning touches beyond the region: payloads, second halves of results."""
    for inst, verb, declared, end, size in _reaches(facts):
        if not _is_padded(facts, inst, verb, declared, end):
            yield _reach(inst, verb, declared, end, size)


@rule(
    "operand-reach-emitted",
    "A block has whole owords; what lies behind the variable in its last register is stored too.",
    on=On.FLOW,
    page="5 Operands",
    by=By.DOCUMENTS,
)
def operand_reach_emitted(facts: Facts) -> Iterator[Finding]:
    for inst, verb, declared, end, size in _reaches(facts):
        if _is_padded(facts, inst, verb, declared, end):
            reach = _reach(inst, verb, declared, end, size)
            undefined = f"bytes {size} to {end - 1} of what is stored are undefined"
            yield replace(reach, message=f"{reach.message}; {undefined}")


def _reaches(facts: Facts) -> Iterator[tuple[Inst, str, Declared, int, int]]:
    """Instructions that read or write beyond a variable, to which byte, and its size."""
    graph, subject = facts.graph, facts.subject
    sizes: dict[Declared, int] = {}
    for inst, (reads, writes, _) in zip(graph.instructions, graph.effects, strict=True):
        for verb, touches in (("reads", reads), ("writes", writes)):
            for declared, mask in touches:
                size = sizes.get(declared)
                if size is None:
                    size = sizes[declared] = _size(subject, declared)
                if mask.bit_length() > size:
                    yield inst, verb, declared, mask.bit_length(), size


def _is_padded(facts: Facts, inst: Inst, verb: str, declared: Declared, end: int) -> bool:
    """Whether a block store takes no more than the last register of a variable of its own."""
    if verb != "reads" or not isinstance(inst.operand("size"), BlockSize):
        return False
    grf = facts.subject.grf
    own = isinstance(declared, Variable) and declared.alias is None
    return own and end <= -(-_size(facts.subject, declared) // grf) * grf


def _reach(inst: Inst, verb: str, declared: Declared, end: int, size: int) -> Finding:
    message = f"{inst.opcode} {verb} up to byte {end - 1} of '{declared.name}'"
    return Finding(f"{message}, which has {size} bytes", span=inst.span)


def _size(subject: Subject, declared: Declared) -> int:
    """Bytes that may be touched."""
    if isinstance(declared, Variable) and declared.name != "%null":
        return subject.size(declared)
    return _ENDLESS


@rule(
    "overlap",
    "One of two messages loads bytes that the other one overwrites before they are used.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="5 Operands",
    by=None,
)
def overlap(facts: Facts) -> Iterator[Finding]:
    graph = facts.graph
    for node in graph.nodes:
        loaded: dict[Declared, tuple[int, int]] = {}  # variable -> who loaded it, which bytes
        for index in range(node.first, node.end):
            effect = graph.effects[index]
            if not effect.shape.known or effect.shape.indirect:
                loaded.clear()
            for declared, mask in effect.reads:
                if declared in loaded and loaded[declared][1] & mask:
                    del loaded[declared]
            for declared, mask in effect.writes:
                if _loads(effect) and declared in loaded and facts.tracked(declared):
                    yield from _overlapping(facts, index, declared, mask, loaded[declared])
                if _loads(effect):
                    loaded[declared] = index, mask
                else:
                    loaded.pop(declared, None)


def _loads(effect: Effect) -> bool:
    return any(name in ("load", "load_block") for name in effect.shape.memory)


def _overlapping(
    facts: Facts, index: int, declared: Declared, mask: int, earlier: tuple[int, int]
) -> Iterator[Finding]:
    number, before = earlier
    common = mask & before
    inst, other = facts.graph.instructions[index], facts.graph.instructions[number]
    if not common or other.operand("pred") is not None or inst.operand("pred") is not None:
        return
    first, last = (common & -common).bit_length() - 1, common.bit_length() - 1
    line = f" in line {other.span.line}" if other.span else ""
    yield Finding(
        f"{inst.opcode} loads bytes {first} to {last} of '{declared.name}' again, which"
        f" {other.opcode}{line} loaded and nothing has read",
        span=inst.span,
    )


@rule(
    "block-alignment",
    "A block begins at a multiple of an oword, an unaligned one at a multiple of a dword.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="SVM_BLOCK_LD",
    by=None,
)
def block_alignment(facts: Facts) -> Iterator[Finding]:
    for inst in facts.graph.instructions:
        start = _block_start(inst) if _is_block(inst.opcode) else None
        if start is not None and start[0] % start[1]:
            yield Finding(
                f"{inst.opcode} begins at byte {start[0]}; a multiple of {start[1]} is needed",
                span=inst.span,
            )


@cache
def _is_block(opcode: Opcode) -> bool:
    """Whether an instruction may access one stretch of memory."""
    kinds = tuple(type(f.kind) for f in opcode.fields)
    return BlockSizeKind in kinds or LscDataKind in kinds


def _block_start(inst: Inst) -> tuple[int, int] | None:
    """The constant part of a block's address, and what it must be a multiple of."""
    data, address = inst.operand("data"), inst.operand("address")
    if isinstance(address, LscAddress) and isinstance(data, LscData) and data.shape.transposed:
        return address.offset, int(data.shape.size[1:]) // 8
    if not isinstance(inst.operand("size"), BlockSize):
        return None
    unaligned = inst.operand("size").unaligned or inst.opcode.mnemonic.endswith("_unaligned")
    if isinstance(address, Immediate):
        return address.bits, 4 if unaligned else 16
    offset = inst.operand("offset")
    return (offset.bits, 4) if isinstance(offset, Immediate) and unaligned else None


# ---- shared local memory


@rule(
    "slm-bounds",
    "Local memory beyond the size that the kernel requested belongs to other thread groups.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="4 vISA header",
    by=None,
)
def slm_bounds(facts: Facts) -> Iterator[Finding]:
    size, what = _slm_size(facts)
    for index, inst in enumerate(facts.graph.instructions):
        if not _has_space(inst.opcode) or not _in_slm(inst):
            continue
        start = _constant_address(facts, index, inst)
        if start is not None and (start := start & ~SLM_POINTER_BIT) >= size:
            yield Finding(
                f"{inst.opcode} accesses byte {start} of local memory; {what}", span=inst.span
            )


def _slm_size(facts: Facts) -> tuple[int, str]:
    declared = facts.subject.kernel.attribute("SLMSize")
    if isinstance(declared, int) and declared:
        return declared * _KILOBYTE, f"SLMSize={declared} gives {declared * _KILOBYTE} bytes"
    most = facts.subject.platform.max_slm_bytes
    return most, f"{facts.subject.platform} has {most} bytes a group"


@cache
def _has_space(opcode: Opcode) -> bool:
    return opcode.field("surface") is not None or opcode.field("sfid") is not None


def _in_slm(inst: Inst) -> bool:
    surface = inst.operand("surface")
    return inst.operand("sfid") == "slm" or getattr(surface, "name", "") == "%slm"


def _constant_address(facts: Facts, index: int, inst: Inst) -> int | None:
    """The byte that an access begins at, where it can be told from this block alone."""
    address = inst.operand("address")
    if isinstance(address, LscAddress):
        base = _constant(facts, index, address.base.variable, address.base.offset)
        return None if base is None else base * address.scale + address.offset
    offset = inst.operand("offset")
    if not isinstance(offset, Immediate):
        return None
    if isinstance(inst.operand("size"), BlockSize):
        unaligned = inst.opcode.mnemonic.endswith("_unaligned")
        return offset.bits * (1 if unaligned else 16)
    lanes = inst.operand("offsets")
    base = None if lanes is None else _constant(facts, index, lanes.variable, lanes.offset)
    return None if base is None else base + offset.bits


def _constant(facts: Facts, index: int, variable: Variable | None, offset: int) -> int | None:
    """The immediate that a variable was last set to before an instruction, in its block."""
    if variable is None:
        return None
    graph = facts.graph
    owner, base = variable.origin()
    wanted = 0xF << base + offset
    first = graph.nodes[graph.node_of(index)].first
    for before in range(index - 1, first - 1, -1):
        inst = graph.instructions[before]
        touched = [m for d, m in graph.effects[before].writes if d is owner and m & wanted]
        if touched:
            return _moved(inst, wanted, touched[0])
    return None


def _moved(inst: Inst, wanted: int, mask: int) -> int | None:
    source: Any = inst.operand("src0")
    plain = len(inst.opcode.fields) == 4 and inst.opcode.mnemonic == "mov"
    if not plain or wanted & ~mask or inst.operand("pred") is not None:
        return None
    if not isinstance(source, Immediate) or not source.type.is_int:
        return None
    dst = inst.operand("dst")
    return source.bits if isinstance(dst, General) and dst.type.size == 4 else None
