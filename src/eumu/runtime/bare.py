"""Arguments of plain vISA text, which has no `.ze_info`: they are its `.input` variables.

The rules, from the lowest payload offset on:

* r0 comes first (32 or 64 bytes); `.kernel_attr PerThreadInputSize=N` says that N bytes of local
  ids follow.  Without it, leading inputs of type `w` or `uw` with at least 8 elements are local
  ids, a row for each of x, y and z.
* An input of 8 `d` right after them is the compiler's header: global offset and local size.  If it
  is there, a last input of 3 `d` is the enqueued local size.  Neither is an argument.
* Every other `.input` is an argument with the variable's name.  One of 8 bytes takes an array (its
  address) or a number, a surface (`v_type=T`) an array or an image, `v_type=S` a sampler; others
  are numbers, vectors, bytes.
* A kernel with `Target="cm"` has no work items and no local ids: behind r0 come its arguments.  Of
  its implicit inputs it gets `LOCAL_SIZE` and `GROUP_COUNT`, which count threads, and `LOCAL_ID`,
  three dwords for the thread's place in its group.  Those of the software scoreboard (kinds 4 to 6:
  distances, surface, number of dependencies) come from the caller, as arguments.
* Arrays and surfaces are also bound to the binding table, the n-th of them to entry n; a tuple of
  images takes as many entries as it has.
* `SLMSize` (in KiB) and `SpillMemOffset` (bytes) say what memory the kernel has; without them a
  kernel that uses shared local memory or scratch space gets all that a group or a thread can have.
"""

from __future__ import annotations

from typing import Final

from eumu.errors import BuildError, Unsupported
from eumu.ir import Function, Space
from eumu.ir.operations.memory import Access
from eumu.isa.kinds.variables import Variable
from eumu.platforms import Platform
from eumu.program import Kernel, KernelInput
from eumu.runtime.parameters import Parameter, Passing
from eumu.runtime.thread_space import PLACE_IN_GROUP
from eumu.types import UQ, D, Q, Type
from eumu.zebin.ze_info import (
    BindingTableIndex,
    ExecutionEnv,
    KernelInfo,
    PayloadArgument,
    PerThreadMemoryBuffer,
    PerThreadPayloadArgument,
)

_SCRATCH_BYTES: Final = 16 << 10
_IMPLICIT: Final = {
    **{"LOCAL_SIZE": "local_size", "GROUP_COUNT": "group_count", "LOCAL_ID": PLACE_IN_GROUP},
}
_SCOREBOARD: Final = {"UNDEFINED_4", "UNDEFINED_5", "UNDEFINED_6"}
_WORDS: Final = {
    "ub": "uchar",
    "b": "char",
    "uw": "ushort",
    "w": "short",
    "ud": "uint",
    "d": "int",
    "uq": "ulong",
    "q": "long",
    "hf": "half",
    "f": "float",
    "df": "double",
}


def describe(code: Kernel, target: Platform | None) -> tuple[KernelInfo, tuple[Parameter, ...]]:
    """What `.ze_info` would say of a kernel, and its parameters."""
    grf = _grf_bytes(code, target)
    inputs = sorted((i for i in code.inputs if i.offset >= grf), key=lambda i: i.offset)
    per_thread = 0 if code.is_explicit else _local_id_bytes(code, inputs, grf)
    start = grf + per_thread
    rows = [i for i in inputs if i.offset >= start]
    divide = _named_implicit if code.is_explicit else _implicit
    implicit, rows = divide(rows, start)
    args = tuple(_parameter(code, k, row) for k, row in enumerate(rows))
    payload = _slots(rows, args, start)
    pointers = [p for p in args if p.passing in (Passing.ADDRESS, Passing.BUFFER)]
    info = KernelInfo(
        name=code.name,
        execution_env=ExecutionEnv(
            simd_size=code.simd_width, grf_count=128, slm_size=_number(code, "SLMSize") * 1024
        ),
        payload_arguments=(*implicit, *payload),
        per_thread_payload_arguments=(
            (PerThreadPayloadArgument("local_id", 0, per_thread),) if per_thread else ()
        ),
        binding_table_indices=tuple(
            BindingTableIndex(entry, p.index) for entry, p in enumerate(pointers)
        ),
        per_thread_memory_buffers=_scratch(_number(code, "SpillMemOffset")),
    )
    return info, args


def _slots(
    rows: list[KernelInput], args: tuple[Parameter, ...], start: int
) -> list[PayloadArgument]:
    """Where the arguments lie; samplers are numbered in order."""
    slots: list[PayloadArgument] = []
    samplers = 0
    for k, (row, parameter) in enumerate(zip(rows, args, strict=True)):
        slots.append(_slot(k, row, parameter, start, samplers))
        samplers += parameter.passing is Passing.SAMPLER
    return slots


def memory_needs(function: Function, info: KernelInfo, platform: Platform) -> tuple[int, int]:
    """Shared local memory and scratch space of a kernel that uses them without saying how much."""
    accesses = (op for block in function.blocks for op in block.ops if isinstance(op, Access))
    spaces = {op.space for op in accesses}
    slm = 0 if info.execution_env.slm_size or Space.SLM not in spaces else platform.max_slm_bytes
    scratch = 0 if info.per_thread_memory_buffers else _SCRATCH_BYTES * (Space.SCRATCH in spaces)
    return slm, scratch


def _grf_bytes(code: Kernel, target: Platform | None) -> int:
    """The size of r0: of the device's register, or else where the first input begins."""
    if target is not None:
        return target.grf_bytes
    first = min((i.offset for i in code.inputs if i.offset >= 32), default=32)
    return 32 if first < 64 else 64


def _local_id_bytes(code: Kernel, inputs: list[KernelInput], grf: int) -> int:
    if code.attribute("PerThreadInputSize") is not None:
        return _number(code, "PerThreadInputSize")
    end = grf
    for row in inputs:
        if row.offset != end or not _is_local_ids(row):
            break
        end = row.offset + row.size
    pitch = -(-code.simd_width * 2 // grf) * grf
    if end == grf:
        return 0
    if end - grf > 3 * pitch:
        raise BuildError(
            f"kernel {code.name}: {end - grf} bytes of word inputs follow r0; local ids"
            f" of SIMD{code.simd_width} take 3 rows of {pitch} bytes"
            " (.kernel_attr PerThreadInputSize=N says how many bytes are local ids)"
        )
    return 3 * pitch


def _is_local_ids(row: KernelInput) -> bool:
    variable = row.variable
    return isinstance(variable, Variable) and variable.type.size == 2 and variable.count >= 8


def _implicit(
    rows: list[KernelInput], start: int
) -> tuple[list[PayloadArgument], list[KernelInput]]:
    """The compiler's own inputs, and the rest."""
    if not (rows and rows[0].offset == start and _is_dwords(rows[0], 8)):
        return [], rows
    arguments = [PayloadArgument("global_id_offset", 0, 12), PayloadArgument("local_size", 12, 12)]
    rows = rows[1:]
    if rows and _is_dwords(rows[-1], 3):
        arguments.append(PayloadArgument("enqueued_local_size", rows[-1].offset - start, 12))
        rows = rows[:-1]
    return arguments, rows


def _named_implicit(
    rows: list[KernelInput], start: int
) -> tuple[list[PayloadArgument], list[KernelInput]]:
    """The inputs that the file says are implicit, and the rest."""
    arguments = [
        PayloadArgument(_IMPLICIT.get(row.implicit, row.implicit), row.offset - start, row.size)
        for row in rows
        if row.implicit and row.implicit not in _SCOREBOARD
    ]
    return arguments, [row for row in rows if not row.implicit or row.implicit in _SCOREBOARD]


def _is_dwords(row: KernelInput, count: int) -> bool:
    variable = row.variable
    return isinstance(variable, Variable) and variable.type is D and variable.count == count


def _parameter(code: Kernel, index: int, row: KernelInput) -> Parameter:
    variable = row.variable
    if variable.category == "T":
        return Parameter(code.name, index, variable.name, "surface", row.size, Passing.BUFFER)
    if variable.category == "S":
        return Parameter(code.name, index, variable.name, "sampler_t", row.size, Passing.SAMPLER)
    if not isinstance(variable, Variable):
        raise Unsupported(
            f"kernel {code.name}: .input {variable.name} of v_type={variable.category}",
            span=row.span,
        )
    type, count = variable.type, row.size // variable.type.size
    if count == 1 and type in (Q, UQ):
        return Parameter(code.name, index, variable.name, "ulong", 8, Passing.ADDRESS)
    return Parameter(
        code.name, index, variable.name, _type_name(type, count), row.size, Passing.VALUE
    )


def _type_name(type: Type, count: int) -> str:
    """The OpenCL C name of so many elements; a count that OpenCL lacks is a type of its own."""
    word = _WORDS.get(type.name)
    if word is None or count not in (1, 2, 3, 4, 8, 16):
        return f"{type.name}[{count}]"
    return word if count == 1 else f"{word}{count}"


def _slot(
    index: int, row: KernelInput, parameter: Parameter, start: int, sampler: int
) -> PayloadArgument:
    offset = row.offset - start
    if parameter.passing is Passing.SAMPLER:
        return PayloadArgument(
            "arg_bypointer",
            offset,
            row.size,
            arg_index=index,
            addrmode="stateful",
            addrspace="sampler",
            sampler_index=sampler,
        )
    if parameter.passing is Passing.BUFFER:
        return PayloadArgument("binding_table_entry", offset, row.size, arg_index=index)
    return PayloadArgument("arg_byvalue", offset, row.size, arg_index=index)


def _scratch(size: int) -> tuple[PerThreadMemoryBuffer, ...]:
    return (PerThreadMemoryBuffer("scratch", "single_space", size),) if size else ()


def _number(code: Kernel, attribute: str) -> int:
    value = code.attribute(attribute)
    return value if isinstance(value, int) else 0
