"""A kernel's parameters, from what `.ze_info` says of its arguments."""

from __future__ import annotations

from eumu.runtime.parameters import Parameter, Passing
from eumu.zebin.ze_info import ArgInfo, KernelInfo, PayloadArgument


def parameters(info: KernelInfo) -> tuple[Parameter, ...]:
    """The parameters in order; without `args_info` they are called arg0, arg1, ….

    An argument that the compiler did not need has no row in the payload; it is still passed.
    """
    rows: dict[int, list[PayloadArgument]] = {}
    for row in info.payload_arguments:
        if row.arg_index >= 0 and row.arg_type in ("arg_byvalue", "arg_bypointer"):
            rows.setdefault(row.arg_index, []).append(row)
    declared = {a.index: a for a in info.args_info}
    count = max((*rows, *declared), default=-1) + 1
    return tuple(_parameter(info, k, declared.get(k), rows.get(k, [])) for k in range(count))


def _parameter(
    info: KernelInfo, index: int, declared: ArgInfo | None, rows: list[PayloadArgument]
) -> Parameter:
    passing = _passing(declared, rows)
    if declared is not None:
        name = declared.name or f"arg{index}"
        size = declared.size
        size = _extent(rows) if size is None else size
        const = "const" in declared.type_qualifiers.split()
        is_const = const or declared.address_qualifier == "__constant"
        return Parameter(info.name, index, name, declared.type, size, passing, is_const)
    size = _extent(rows)
    type_name = f"{size} bytes" if passing is Passing.VALUE else "void*"
    return Parameter(info.name, index, f"arg{index}", type_name, size, passing)


def _extent(rows: list[PayloadArgument]) -> int:
    """The bytes of an argument that the kernel reads."""
    return max((max(r.source_offset, 0) + r.size for r in rows), default=0)


def _passing(declared: ArgInfo | None, rows: list[PayloadArgument]) -> Passing:
    for row in rows:
        if row.addrspace == "image":
            return Passing.IMAGE
        if row.addrspace == "sampler":
            return Passing.SAMPLER
        if row.addrmode == "slm":
            return Passing.LOCAL
        if row.arg_type == "arg_bypointer":
            return Passing.BUFFER
    if rows or declared is None:
        return Passing.VALUE
    if declared.type.startswith("image"):
        return Passing.IMAGE
    if declared.type == "sampler_t":
        return Passing.SAMPLER
    if not declared.type.endswith("*"):
        return Passing.VALUE
    return Passing.LOCAL if declared.address_qualifier == "__local" else Passing.BUFFER
