"""`.ze_info`: what each kernel needs from whoever launches it, as frozen records.

The records keep the compiler's names of keys and values, so its own specification ("ZEINFO" in the
graphics compiler's sources) reads as their manual.  A closed set of words (`arg_type`, `addrmode`,
…) is kept as a word even if it is unknown, and unknown keys are kept in `extra`: whoever needs one
that eumu does not model raises `Unsupported`, a kernel that never needs it runs.

Offsets are bytes in the cross-thread data; in vISA's `.input` they come after r0 and the local ids
(ABI: `grf_bytes + per-thread size + offset`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Annotated, Final, TypeAlias

from eumu.errors import FormatError
from eumu.records import dataclass
from eumu.zebin import ignored, yaml_tree
from eumu.zebin.schema import Among, Range, record, records
from eumu.zebin.yaml_tree import Node

# Every `arg_type` of the specification, and what the launcher puts there.
ARG_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "arg_byvalue": "an argument by value, or the part of it at source_offset",
        "arg_bypointer": "a pointer: 64-bit address, SLM offset, or nothing if it is stateful",
        "buffer_address": "the address of a buffer that the kernel uses as a surface",
        "buffer_offset": "what to add to every offset into that surface (0: the base is exact)",
        "buffer_size": "the size in bytes of a buffer",
        "local_id": "per thread: 16-bit local ids, a row of registers for each dimension",
        "packed_local_ids": "per thread: x, y, z of the one work item of a SIMD1 kernel",
        "local_size": "work items per group in x, y, z",
        "enqueued_local_size": "the same, as get_enqueued_local_size returns it",
        "global_size": "work items of the grid in x, y, z",
        "global_id_offset": "the offset of get_global_id in x, y, z",
        "group_count": "groups of the grid in x, y, z",
        "work_dimensions": "the number of dimensions of the grid",
        "private_base_stateless": "the address of the private memory of all threads",
        "printf_buffer": "the address of the buffer that printf writes records to",
        "implicit_arg_buffer": "the address of the implicit arguments that called functions read",
        "sync_buffer": "the address of the buffer of a barrier over the whole grid",
        "assert_buffer": "the address of the buffer that assert writes to",
        "indirect_data_pointer": "the address of the data behind the inline data, not seen in vISA",
        "scratch_pointer": "what names the surface of scratch space",
        "rt_global_buffer": "the address of the ray tracing globals",
        "const_base": "the address of .data.const",
        "global_base": "the address of .data.global",
        "image_width": "the width of an image in pixels",
        "image_height": "the height of an image in pixels",
        "image_depth": "the depth of an image in pixels",
        "image_array_size": "the layers of an image array",
        "image_num_mip_levels": "the mip levels of an image",
        "image_num_samples": "the samples per pixel of an image",
        "image_channel_order": "the channel order of an image, a cl_channel_order",
        "image_channel_data_type": "the channel type of an image, a cl_channel_type",
        "image_srgb_channel_order": "the sRGB channel order of an image",
        "flat_image_baseoffset": "the address of an image's first byte",
        "flat_image_width": "the width of an image's rows in bytes, less 1",
        "flat_image_height": "the rows of an image, less 1",
        "flat_image_pitch": "the distance of an image's rows in bytes, less 1",
        "sampler_address": "the addressing mode of a sampler",
        "sampler_normalized": "whether a sampler's coordinates are normalized",
        "sampler_snap_wa": "-1 if nearest sampling must snap coordinates in the kernel, else 0",
        "inline_sampler": "the state of a sampler declared in the program",
    }
)

_LARGEST_PAYLOAD: Final = 1 << 16

Extra: TypeAlias = Mapping[str, object]
Offset: TypeAlias = Annotated[int, Range(0, _LARGEST_PAYLOAD)]
Index: TypeAlias = Annotated[int, Range(-1, 0xFFFF)]
Bytes: TypeAlias = Annotated[int, Range(0, 0x7FFF_FFFF)]
Count: TypeAlias = Annotated[int, Range(0, 0xFFFF)]
Flag: TypeAlias = Annotated[int, Range(-1, 1)]
Sizes: TypeAlias = Annotated[tuple[int, int, int], Range(0, 0x7FFF_FFFF)]
Order: TypeAlias = Annotated[tuple[int, int, int], Range(0, 2)]


@dataclass(frozen=True, slots=True)
class ExecutionEnv:
    """How a kernel wants to be run; sizes in bytes, `slm_size` without `__local` arguments.

    Offsets of these begin at 0 and the kernel adds `slm_size`; with `slm_alloc_mode` 1 they begin
    at `slm_size`.
    """

    simd_size: Annotated[int, Among((1, 8, 16, 32))]
    grf_count: Annotated[int, Range(1, 512)]
    slm_size: Annotated[int, Range(0, 1 << 24)] = 0
    slm_alloc_mode: Annotated[int, Range(0, 1)] = 0
    barrier_count: Annotated[int, Range(0, 64)] = 0
    required_work_group_size: Sizes = (0, 0, 0)
    required_sub_group_size: Annotated[int, Range(0, 32)] = 0
    work_group_walk_order_dimensions: Order = (0, 1, 2)
    inline_data_payload_size: Offset = 0
    offset_to_skip_per_thread_data_load: Bytes = 0
    offset_to_skip_set_ffid_gp: Bytes = 0
    indirect_stateless_count: Count = 0
    eu_thread_count: Count = 0
    private_size: Bytes = 0
    spill_size: Bytes = 0
    thread_scheduling_mode: str = ""
    disable_mid_thread_preemption: bool = False
    subgroup_independent_forward_progress: bool = False
    generate_local_id: bool = False
    has_4gb_buffers: bool = False
    has_device_enqueue: bool = False
    has_dpas: bool = False
    has_fence_for_image_access: bool = False
    has_global_atomics: bool = False
    has_indirect_calls: bool = False
    has_multi_scratch_spaces: bool = False
    has_no_stateless_write: bool = False
    has_printf_calls: bool = False
    has_rtcalls: bool = False
    has_sample: bool = False
    has_stack_calls: bool = False
    require_assert_buffer: bool = False
    require_disable_eufusion: bool = False
    require_iab: bool = False
    require_sync_buffer: bool = False
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UserAttributes:
    """What the source asks for, hints included."""

    intel_reqd_sub_group_size: Annotated[int, Range(0, 32)] = 0
    intel_reqd_workgroup_walk_order: Order = (0, 0, 0)
    reqd_work_group_size: Sizes = (0, 0, 0)
    work_group_size_hint: Sizes = (0, 0, 0)
    vec_type_hint: str = ""
    invalid_kernel: str = ""
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PayloadArgument:
    """One slot of the cross-thread data.

    `addrmode` is stateless, stateful (no bytes here: a binding table index), bindless or slm;
    `addrspace` global, local, constant, image or sampler.  One pointer may have several rows: a
    stateful one of size 0 and a stateless one.  A struct by value has a row for each used run of
    its bytes, `source_offset` says where the run begins.
    """

    arg_type: str
    offset: Offset
    size: Offset
    arg_index: Index = -1
    addrmode: str = ""
    addrspace: str = ""
    access_type: str = ""
    sampler_index: Index = -1
    source_offset: Annotated[int, Range(-1, _LARGEST_PAYLOAD)] = -1
    slm_alignment: Annotated[int, Among((0, *(1 << n for n in range(17))))] = 0
    image_type: str = ""
    image_transformable: bool = False
    sampler_type: str = ""
    is_pipe: bool = False
    is_ptr: bool = False
    bti_value: Index = -1
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PerThreadPayloadArgument:
    """Data that every hardware thread gets between r0 and the cross-thread data."""

    arg_type: str
    offset: Offset
    size: Offset
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BindingTableIndex:
    """The surface index by which the kernel names a stateful argument."""

    bti_value: Annotated[int, Range(0, 255)]
    arg_index: Index
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PerThreadMemoryBuffer:
    """Memory for private variables, spills or the stack.

    `type` is scratch, global or slm; `usage` private_space, spill_fill_space or single_space.
    `size` is per hardware thread, or per work item if `is_simt_thread`.
    """

    type: str
    usage: str
    size: Bytes
    slot: Count = 0
    is_simt_thread: bool = False
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InlineSampler:
    """A sampler declared in the program: none, clamp_border, …; nearest or linear."""

    sampler_index: Index
    addrmode: str
    filtermode: str
    normalized: bool = False
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ExperimentalProperties:
    """Whether accesses come from elsewhere than the arguments: 1 yes, 0 no, -1 not known."""

    has_non_kernel_arg_load: Flag = -1
    has_non_kernel_arg_store: Flag = -1
    has_non_kernel_arg_atomic: Flag = -1
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DebugEnv:
    """Where a debugger's surface is, -1 for none."""

    sip_surface_bti: Annotated[int, Range(-1, 255)] = -1
    sip_surface_offset: Annotated[int, Range(-1, 0x7FFF_FFFF)] = -1
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ArgInfo:
    """An argument as the source declares it; `type_name` is spelled "float*;8"."""

    index: Annotated[int, Range(0, 0xFFFF)]
    address_qualifier: str = ""
    access_qualifier: str = ""
    type_name: str = ""
    type_qualifiers: str = ""
    name: str = ""
    extra: Extra = field(default_factory=dict, compare=False, repr=False)

    @property
    def type(self) -> str:
        """The type without its size: float*."""
        return self.type_name.rpartition(";")[0] or self.type_name

    @property
    def size(self) -> int | None:
        """The size in bytes of the declared type, None if it is not recorded."""
        digits = self.type_name.rpartition(";")[2]
        return int(digits) if digits.isascii() and digits.isdigit() else None


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """Everything `.ze_info` says of a kernel; `args_info` is in the order of the arguments."""

    name: str
    execution_env: ExecutionEnv
    user_attributes: UserAttributes = field(default_factory=UserAttributes)
    payload_arguments: tuple[PayloadArgument, ...] = ()
    per_thread_payload_arguments: tuple[PerThreadPayloadArgument, ...] = ()
    binding_table_indices: tuple[BindingTableIndex, ...] = ()
    per_thread_memory_buffers: tuple[PerThreadMemoryBuffer, ...] = ()
    inline_samplers: tuple[InlineSampler, ...] = ()
    experimental_properties: ExperimentalProperties = field(default_factory=ExperimentalProperties)
    debug_env: DebugEnv = field(default_factory=DebugEnv)
    args_info: tuple[ArgInfo, ...] = ()
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A function that other programs may call."""

    name: str
    execution_env: ExecutionEnv
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class HostAccess:
    """The name by which the host finds a variable of the program."""

    device_name: str
    host_name: str
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class _MiscInfo:
    name: str
    args_info: tuple[ArgInfo, ...] = ()
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ZeInfo:
    """The whole section; `extra` has the top-level keys that have no record here.

    `unknown` names every key that has none, with its place: "kernel 'k', execution_env: grf_size".
    """

    version: str
    kernels: tuple[KernelInfo, ...]
    functions: tuple[FunctionInfo, ...] = ()
    global_host_access_table: tuple[HostAccess, ...] = ()
    extra: Extra = field(default_factory=dict, compare=False, repr=False)
    unknown: tuple[str, ...] = field(default=(), compare=False, repr=False)


def parse(text: str, name: str) -> ZeInfo:
    """The records of a `.ze_info` text; `name` is the file's, for messages."""
    where = f"{name}: .ze_info"
    tree = yaml_tree.parse(text, where)
    if not isinstance(tree.value, dict) or "kernels" not in tree.value:
        raise FormatError(f"{where}: a mapping with the key 'kernels' is expected")
    top = dict(tree.value)
    kernels = _kernels(top.pop("kernels"), name)
    misc = top.pop("kernels_misc_info", None)
    miscellany = records(_MiscInfo, misc, where) if misc else ()
    arguments = {m.name: m.args_info for m in miscellany}
    rest = record(_Top, Node(top, tree.line), where)
    return ZeInfo(
        version=rest.version,
        kernels=tuple(_with_arguments(k, arguments.get(k.name, ()), name) for k in kernels),
        functions=rest.functions,
        global_host_access_table=rest.global_host_access_table,
        extra=rest.extra,
        unknown=tuple(
            dict.fromkeys(
                (
                    *_unknown(rest, ""),
                    *(u for k in kernels for u in _unknown(k, f"kernel {k.name!r}")),
                    *(u for m in miscellany for u in _unknown(m, f"kernels_misc_info {m.name!r}")),
                )
            )
        ),
    )


def _unknown(tree: object, where: str) -> Iterator[str]:
    """The keys of a record and of those in it that no field is named after, nor read over."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from _unknown(part, where)
    elif is_dataclass(tree):
        for f in fields(tree):
            value = getattr(tree, f.name)
            if f.name == "extra":
                unknown = [key for key in value if key not in ignored.KEYS]
                yield from (f"{where}: {key}" if where else key for key in unknown)
            else:
                yield from _unknown(value, f"{where}, {f.name}" if where else f.name)


@dataclass(frozen=True, slots=True)
class _Top:
    version: str
    functions: tuple[FunctionInfo, ...] = ()
    global_host_access_table: tuple[HostAccess, ...] = ()
    extra: Extra = field(default_factory=dict, compare=False, repr=False)


def _kernels(node: Node, name: str) -> list[KernelInfo]:
    kernels: dict[str, KernelInfo] = {}
    if not isinstance(node.value, list):
        raise FormatError(f"{name}: .ze_info: 'kernels' is {node.what}, not a list")
    for index, child in enumerate(node.value):
        title = child.value.get("name") if isinstance(child.value, dict) else None
        label = title.what if title else f"number {index}"
        kernel = record(KernelInfo, child, f"{name}: kernel {label}")
        if kernel.name in kernels:
            raise FormatError(f"{name}: .ze_info has kernel {label} twice")
        _check_payload(kernel, f"{name}: kernel {label}")
        kernels[kernel.name] = kernel
    return list(kernels.values())


def _check_payload(kernel: KernelInfo, where: str) -> None:
    rows: tuple[PayloadArgument | PerThreadPayloadArgument, ...]
    rows = (*kernel.payload_arguments, *kernel.per_thread_payload_arguments)
    for row in rows:
        if row.offset + row.size > _LARGEST_PAYLOAD:
            raise FormatError(
                f"{where}: {row.arg_type} ends at byte {row.offset + row.size} of the payload, "
                f"which has at most {_LARGEST_PAYLOAD}"
            )
    for argument in kernel.payload_arguments:
        if argument.arg_type in ("arg_byvalue", "arg_bypointer") and argument.arg_index < 0:
            raise FormatError(f"{where}: {argument.arg_type} without arg_index")


def _with_arguments(kernel: KernelInfo, args: tuple[ArgInfo, ...], name: str) -> KernelInfo:
    ordered = tuple(sorted(args, key=lambda a: a.index))
    if [a.index for a in ordered] != list(range(len(ordered))):
        raise FormatError(
            f"{name}: kernel {kernel.name!r}: args_info has the indices "
            f"{[a.index for a in ordered]}; 0, 1, 2, … are expected"
        )
    return replace(kernel, args_info=ordered)
