"""All suites: what is compiled together, and which of it is quick."""

from __future__ import annotations

from opencl_c import conversion_tables, half_tables, sub_group_tables
from opencl_c.suite import Suite


def everything() -> dict[str, Suite]:
    """Every table; functions and types are apart, so that programs stay small."""
    found = {
        "half": Suite(half_tables.TABLES),
        "half functions": Suite(half_tables.FUNCTIONS),
        "conversions": Suite(conversion_tables.TABLES),
    }
    for size in sub_group_tables.SIZES:
        tables = sub_group_tables.tables(size)
        found[f"sub-groups of {size}"] = Suite(tables, extensions=sub_group_tables.EXTENSIONS)
    return found


def quick() -> dict[str, Suite]:
    """A part that takes seconds."""
    conversions = [t for t in conversion_tables.TABLES if t.name in _CONVERSIONS]
    sub_groups = [t for t in sub_group_tables.tables(16) if t.name in _SUB_GROUPS]
    return {
        "half": Suite(half_tables.TABLES),
        "conversions": Suite(conversions),
        "sub_groups": Suite(sub_groups, extensions=sub_group_tables.EXTENSIONS),
    }


_CONVERSIONS = ("half_of_float", "half_of_int", "uint_of_half", "char_of_half", "halves_of_float4")
_SUB_GROUPS = (
    "arithmetic_half_16", "arithmetic_int_16_of_37", "shuffles_half_16", "shuffles_int_16_of_37",
    "blocks_ushort_16", "non_uniform_int_16", "votes_int_16", "votes_int_16_of_37", "counts_int_16",
)  # fmt: skip
