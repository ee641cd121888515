"""What a program says and eumu reads over, with the reason; everything else acts or is a note.

Names are those of the compiler's own specification of its ELF files ("ZEBIN") and of `.ze_info`
("ZEINFO", version 1.73).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_HINT = "a hint for the driver's choice of a mode; all modes give the same results here"
_TOLD = "arguments and buffers say the same, and are what is heeded"
_FOUND = "the code says it itself"
_OWN_MACHINE = "code that eumu runs has no such part"

# Keys of `.ze_info`, wherever they stand.
KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "grf_count": "registers of a thread have no bound here but those of vISA",
        "eu_thread_count": "threads take turns in any number",
        "offset_to_skip_per_thread_data_load": "native code's entry behind the load of local ids",
        "offset_to_skip_set_ffid_gp": "native code's entry behind a workaround",
        "indirect_stateless_count": "all memory of a device is resident",
        "has_no_stateless_write": _HINT,
        "has_4gb_buffers": "offsets of stateless accesses have 64 bits always",
        "private_size": _TOLD,
        "usage": _TOLD,
        "require_assert_buffer": _TOLD,
        "require_sync_buffer": _TOLD,
        "require_iab": _TOLD,
        "is_ptr": "the value of the argument is the same",
        "is_pipe": "an argument of a type that eumu's arguments do not have",
        "image_type": "args_info has the type; a state says what an image is",
        "image_transformable": "whether a driver may tile an image",
        "sampler_type": "a state says what a sampler is",
        "has_dpas": _FOUND,
        "has_fence_for_image_access": _FOUND,
        "has_global_atomics": _FOUND,
        "has_indirect_calls": _FOUND,
        "has_multi_scratch_spaces": _TOLD,
        "has_printf_calls": _TOLD,
        "has_sample": _FOUND,
        "has_bindless_image_read": _FOUND,
        "generate_local_id": "local ids come in the payload, whoever makes them",
        "disable_mid_thread_preemption": "threads are not preempted for other work",
        "subgroup_independent_forward_progress": "every thread goes on by itself",
        "thread_scheduling_mode": "no order of threads is promised",
        "require_disable_eufusion": "what fused threads would do to each other's masks is checked",
        "has_lsc_stores_with_non_default_l1_cache_controls": "memory is coherent",
        "l1_cache_policy": "memory is coherent",
        "quantum_size": "no order of groups is promised",
        "quantum_walk_order": "no order of groups is promised",
        "quantum_partition_dimension": "no order of groups is promised",
        "intel_reqd_thread_group_dispatch_size": "no order of groups is promised",
        "intel_reqd_workgroup_walk_order": "work_group_walk_order_dimensions is what is heeded",
        "has_non_kernel_arg_load": "every access is checked, whatever its address comes from",
        "has_non_kernel_arg_store": "every access is checked, whatever its address comes from",
        "has_non_kernel_arg_atomic": "every access is checked, whatever its address comes from",
        "experimental_properties": "of its three keys none acts",
        "debug_env": _OWN_MACHINE,
        "sip_surface_bti": _OWN_MACHINE,
        "sip_surface_offset": _OWN_MACHINE,
        "kernels_cost_info": "an estimate of the compiler's",
    }
)

# Sections without a reader, by name.
SECTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        r"": "the first section of an ELF file",
        r"\.strtab|\.shstrtab": "the names of other sections",
        r"\.gtpin_info(\..*)?": "for a tool that instruments native code",
        r"\.misc\.specConstants(Ids|Values)": "the vISA has them as constants already",
        r"\.note\.intelgt\.metrics": "counts of the compiler's, about its native code",
        r"\.pisa": "another form of the program",
        r"\.rela?\.debug_\w+(\..*)?|\.debug_\w+(\..*)?": "read where lines are asked for",
        r"\.text": "functions that no kernel of the program calls",
    }
)
# Those that are read.
READ: Final = re.compile(
    r"\.text\..+|\.rela?\..+|\.data\..+|\.bss\..+|\.symtab|\.spv|\.visaasm(\..+)?|\.ze_info"
    r"|\.misc\.buildOptions|\.note\.intelgt\.compat"
)
_IGNORED: Final = re.compile("|".join(SECTIONS))


def is_known_section(name: str) -> bool:
    """Whether a section is read, or read over on purpose."""
    return bool(READ.fullmatch(name) or _IGNORED.fullmatch(name))
