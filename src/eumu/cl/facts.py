"""What the driver says of a device; quick to import, as a program waits for the answer."""

from __future__ import annotations

import struct
from typing import Final

from eumu.cl.protocol import packed
from eumu.errors import ToolMissing
from eumu.platforms import Platform
from eumu.zebin import compilers

MEMORY_BYTES: Final = 4 << 30
MOST_BYTES: Final = 1 << 30  # of one allocation
_CLOCK_MHZ: Final = 1000
_VERSION: Final = "1"  # of what kernels may come out as; programs keep binaries by it

_ALWAYS: Final = (
    *("cl_khr_icd", "cl_khr_byte_addressable_store", "cl_khr_fp16", "cl_khr_il_program"),
    *("cl_khr_global_int32_base_atomics", "cl_khr_global_int32_extended_atomics"),
    *("cl_khr_local_int32_base_atomics", "cl_khr_local_int32_extended_atomics"),
    *("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"),
    *("cl_khr_subgroups", "cl_khr_subgroup_extended_types", "cl_khr_subgroup_ballot"),
    *("cl_khr_subgroup_shuffle", "cl_khr_subgroup_shuffle_relative"),
    *("cl_khr_subgroup_non_uniform_vote", "cl_khr_subgroup_non_uniform_arithmetic"),
    *("cl_khr_subgroup_clustered_reduce", "cl_khr_create_command_queue"),
    *("cl_khr_suggested_local_work_size", "cl_khr_extended_versioning"),
    *("cl_intel_subgroups", "cl_intel_subgroups_short", "cl_intel_subgroups_char"),
    *("cl_intel_subgroups_long", "cl_intel_required_subgroup_size"),
    *("cl_intel_unified_shared_memory", "cl_intel_device_attribute_query"),
)
# Of these 22.43 has no functions, or not all.
_LATER: Final = (
    *("cl_khr_extended_bit_ops", "cl_khr_expect_assume", "cl_khr_integer_dot_product"),
    *("cl_intel_split_work_group_barrier", "cl_intel_subgroup_local_block_io"),
    "cl_ext_float_atomics",
)
_FLOAT_ATOMICS: Final = tuple(  # of halves there are no sums
    f"__opencl_c_ext_{type}_{memory}_atomic_{kind}"
    for type, kinds in (("fp16", ("min_max",)), ("fp32", ("add", "min_max")))
    for memory in ("global", "local")
    for kind in kinds
)
_LATER_FEATURES: Final = (
    *_FLOAT_ATOMICS,
    "__opencl_c_integer_dot_product_input_4x8bit",
    "__opencl_c_integer_dot_product_input_4x8bit_packed",
)
_MATRICES: Final = ("cl_intel_subgroup_matrix_multiply_accumulate", "cl_intel_bfloat16_conversions")
_OF_64_BYTES: Final = (  # of devices with such registers
    *("cl_intel_subgroup_matrix_multiply_accumulate_tf32", "cl_intel_subgroup_2d_block_io"),
    "cl_intel_subgroup_buffer_prefetch",
)
_DP4A, _DPAS = 1, 2  # of Intel's device attributes
_WITHOUT_DP4A: Final = ("gen8", "gen9", "gen11")
_FEATURES: Final = (
    *("__opencl_c_int64", "__opencl_c_generic_address_space", "__opencl_c_subgroups"),
    *("__opencl_c_program_scope_global_variables", "__opencl_c_atomic_order_acq_rel"),
    *("__opencl_c_atomic_order_seq_cst", "__opencl_c_atomic_scope_device"),
    "__opencl_c_work_group_collective_functions",
)
# What OpenCL C may have besides; compilers' headers define some of them for every device, even
# where their library lacks the functions (products of octets).
_OPTIONAL: Final = (
    *("__opencl_c_pipes", "__opencl_c_device_enqueue", "__opencl_c_images"),
    *("__opencl_c_3d_image_writes", "__opencl_c_read_write_images", "__opencl_c_fp64"),
    *("__opencl_c_atomic_scope_all_devices", "__opencl_c_integer_dot_product_input_4x8bit"),
    *("__opencl_c_integer_dot_product_input_4x8bit_packed", "cl_khr_integer_dot_product"),
    *("cl_khr_depth_images", "cl_khr_device_enqueue_local_arg_types", "cl_khr_expect_assume"),
    *("cl_khr_extended_bit_ops", "cl_khr_fp64", "cl_khr_gl_msaa_sharing", "cl_khr_kernel_clock"),
    *("cl_khr_mipmap_image", "cl_khr_mipmap_image_writes", "cl_khr_3d_image_writes"),
    *("cl_khr_subgroup_named_barrier", "cl_khr_subgroup_rotate", "cl_ext_float_atomics"),
    *(
        f"__opencl_c_ext_{type}_{memory}_atomic_{kind}"
        for type in ("fp16", "fp32", "fp64")
        for memory in ("global", "local")
        for kind in ("load_store", "add", "min_max")
    ),
)
# Numbers of the hardware as Intel's OpenCL extension gives them: major << 22 | minor << 14.
_IP_VERSIONS: Final = {
    **{"bdw": 8 << 22, "skl": 9 << 22, "bxt": 9 << 22 | 1 << 14, "icllp": 11 << 22},
    **{"tgllp": 12 << 22, "xehp": 12 << 22 | 50 << 14, "dg2": 12 << 22 | 55 << 14},
    **{"mtl": 12 << 22 | 70 << 14, "arl": 12 << 22 | 74 << 14, "pvc": 12 << 22 | 60 << 14},
    **{"bmg": 20 << 22 | 1 << 14, "lnl": 20 << 22 | 4 << 14, "ptl": 30 << 22},
}
_CHIPS: Final = {"skl": 0x1912, "bxt": 0x5A84, "dg2": 0x56A0, "pvc": 0x0BDA}
_NUMBERS: Final = struct.Struct("<16I2Q")


def extensions(platform: Platform) -> tuple[str, ...]:
    """The extensions of a device."""
    more: tuple[str, ...] = ("cl_khr_fp64",) if platform.has_double else ()
    if platform.has_sampler:
        more += ("cl_khr_3d_image_writes", "cl_khr_image2d_from_buffer", "cl_khr_depth_images")
    return (*_ALWAYS, *more, *(_later(platform) if _is_later(platform) else ()))


def _is_later(platform: Platform) -> bool:
    try:
        return compilers.choose(platform).is_later
    except ToolMissing:
        return False


def _later(platform: Platform) -> tuple[str, ...]:
    """What a device has by releases after 22.43."""
    more: tuple[str, ...] = _LATER
    if platform.has_sampler and platform.grf_bytes == 32:
        more += ("cl_intel_media_block_io",)
    if platform.has_systolic:
        more += _MATRICES
        more += _OF_64_BYTES if platform.grf_bytes == 64 else ()
    return more


def _of_binaries(platform: Platform) -> tuple[str, ...]:
    """The extensions without a compiler: programs are binaries.  A profile without a compiler is
    the embedded one, which has longs by an extension."""
    rest = (name for name in extensions(platform) if name != "cl_khr_il_program")
    return (*rest, "cles_khr_int64")


def features(platform: Platform) -> tuple[str, ...]:
    """The optional features of OpenCL C 3.0 of a device."""
    more: tuple[str, ...] = ("__opencl_c_fp64",) if platform.has_double else ()
    if platform.has_sampler:
        more += ("__opencl_c_images", "__opencl_c_3d_image_writes")
        more += ("__opencl_c_read_write_images",)
    if _is_later(platform):
        more += _LATER_FEATURES
        doubles = (n.replace("fp32", "fp64") for n in _FLOAT_ATOMICS if "fp32" in n)
        more += tuple(doubles) if platform.has_double else ()
    return (*_FEATURES, *more)


def absent(platform: Platform) -> tuple[str, ...]:
    """Macros of optional features and extensions that programs for a device must not see."""
    there = {*features(platform), *extensions(platform)}
    return tuple(name for name in _OPTIONAL if name not in there)


def least_simd(platform: Platform) -> int:
    """The smallest sub-group that the compiler makes."""
    return 8 if platform.grf_bytes == 32 else 16


def _products(platform: Platform) -> int:
    """Which instructions for sums of products a device has, as Intel's attributes say it."""
    has_dp4a = platform.generation not in _WITHOUT_DP4A
    return _DP4A * has_dp4a | _DPAS * platform.has_systolic


def local_bytes(platform: Platform) -> int:
    """Bytes of local memory that a group may have: not more than its compiler reaches."""
    if platform.max_slm_bytes <= compilers.CUT_BEHIND:
        return platform.max_slm_bytes
    try:
        cuts = compilers.choose(platform).cuts_addresses
    except ToolMissing:
        return platform.max_slm_bytes  # nothing is built, and what is loaded is warned of
    return compilers.CUT_BEHIND if cuts else platform.max_slm_bytes


def facts(platform: Platform, *, checks: bool, units: int | None = None) -> bytes:
    """The answer to a greeting; `units` are compute units, if not those of the device."""
    builds = compilers.is_known(platform)
    numbers = _NUMBERS.pack(
        *(platform.has_sampler, platform.has_double),
        units or platform.subslices * platform.eus_per_subslice,
        *(platform.max_group_size, local_bytes(platform), _CLOCK_MHZ),
        *(_IP_VERSIONS.get(platform.name, 0), _CHIPS.get(platform.name, 0)),
        *(1, platform.subslices, platform.eus_per_subslice, platform.threads_per_eu),
        *(least_simd(platform), checks, builds, _products(platform), MEMORY_BYTES, MOST_BYTES),
    )
    texts = (
        f"Intel(R) {platform.title} ({platform.name}), emulated by eumu",
        f"{_VERSION}.{platform.name}",
        " ".join(extensions(platform) if builds else _of_binaries(platform)),
        " ".join(features(platform) if builds else ()),
    )
    return numbers + packed(*texts)
