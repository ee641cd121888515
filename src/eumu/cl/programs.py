"""Programs as the driver's library knows them: kernels, and what their parameters are."""

from __future__ import annotations

import struct
from dataclasses import field
from typing import Final

from eumu.cl.protocol import Passed, packed
from eumu.records import dataclass
from eumu.runtime import Kernel, Program
from eumu.runtime.parameters import Parameter, Passing
from eumu.runtime.payload import private_bytes
from eumu.zebin.ze_info import ArgInfo

# The compiler's own, which holds symbols.
_HIDDEN: Final = "Intel_Symbol_Table_Void_Program"
_PASSED: Final = {
    Passing.VALUE: Passed.VALUE,
    Passing.ADDRESS: Passed.VALUE,
    Passing.BUFFER: Passed.BUFFER,
    Passing.LOCAL: Passed.LOCAL,
    Passing.IMAGE: Passed.IMAGE,
    Passing.SAMPLER: Passed.SAMPLER,
}
# As they follow each other in OpenCL's numbers.
_ADDRESSES: Final = {"__global": 0, "__local": 1, "__constant": 2, "__private": 3}
_ACCESSES: Final = {"read_only": 0, "write_only": 1, "read_write": 2}
_QUALIFIERS: Final = {"const": 1, "restrict": 2, "volatile": 4, "pipe": 8}
_SIZES: Final = struct.Struct("<2Q")


@dataclass(slots=True)
class Loaded:
    """A program and its kernels in order; `arguments` are those of launches, by their bytes."""

    program: Program
    kernels: tuple[Kernel, ...] = ()
    arguments: dict[tuple[int, bytes], list[object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kernels = tuple(k for k in self.program.kernels if k.name != _HIDDEN)


def described(loaded: Loaded) -> bytes:
    """The kernels of a program for the driver's library."""
    return packed(len(loaded.kernels)) + b"".join(map(_kernel, loaded.kernels))


def _kernel(kernel: Kernel) -> bytes:
    env = kernel.info.execution_env
    group = kernel.required_local_size or (0, 0, 0)
    parts = packed(
        *(kernel.name, _attributes(kernel)),
        *(kernel.simd_width, env.required_sub_group_size, kernel.slm_bytes, *group),
    )
    sizes = _SIZES.pack(private_bytes(kernel.info), env.spill_size)
    infos = {info.index: info for info in kernel.info.args_info}
    rows = (_parameter(p, infos.get(p.index)) for p in kernel.args)
    return parts + sizes + packed(len(kernel.args)) + b"".join(rows)


def _attributes(kernel: Kernel) -> str:
    asked = kernel.info.user_attributes
    words = []
    if asked.vec_type_hint:
        words.append(f"vec_type_hint({asked.vec_type_hint})")
    if any(asked.work_group_size_hint):
        words.append(f"work_group_size_hint({','.join(map(str, asked.work_group_size_hint))})")
    if kernel.required_local_size:
        words.append(f"reqd_work_group_size({','.join(map(str, kernel.required_local_size))})")
    if asked.intel_reqd_sub_group_size:
        words.append(f"intel_reqd_sub_group_size({asked.intel_reqd_sub_group_size})")
    return " ".join(words)


def _parameter(parameter: Parameter, info: ArgInfo | None) -> bytes:
    passed = int(_PASSED[parameter.passing])
    if info is None:
        return packed(passed, parameter.size, 0, 0, 0, 0, "", "")
    qualifiers = sum(bit for word, bit in _QUALIFIERS.items() if word in info.type_qualifiers)
    access = _ACCESSES.get(info.access_qualifier.removeprefix("__").lower(), 3)
    return packed(
        *(passed, parameter.size, _ADDRESSES.get(info.address_qualifier, 3), access),
        *(qualifiers, 1, info.type, info.name),
    )
