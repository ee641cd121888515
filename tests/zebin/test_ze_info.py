"""`.ze_info`: what the compiler writes becomes records, everything else an error with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from eumu.errors import FormatError
from eumu.zebin import ze_info
from eumu.zebin.ze_info import (
    ARG_TYPES,
    BindingTableIndex,
    InlineSampler,
    KernelInfo,
    PayloadArgument,
    PerThreadMemoryBuffer,
    PerThreadPayloadArgument,
)
from limits import within

DATA = Path(__file__).with_name("data")
TEXTS = {d: (DATA / f"arguments.{d}.ze_info").read_text() for d in ("skl", "pvc")}


@pytest.fixture(scope="module", params=["C", "Python"])
def skl(request: pytest.FixtureRequest) -> dict[str, KernelInfo]:
    """The kernels of arguments.cl for skl, read by either of PyYAML's parsers."""
    if request.param == "C" and not hasattr(yaml, "CBaseLoader"):
        pytest.skip("PyYAML is here without libyaml")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "Python":
            patch.delattr(yaml, "CBaseLoader", raising=False)
        return {k.name: k for k in ze_info.parse(TEXTS["skl"], "k").kernels}


def row(kernel: KernelInfo, **values: object) -> list[PayloadArgument]:
    """The payload arguments with these values."""
    return [
        p for p in kernel.payload_arguments if all(getattr(p, k) == v for k, v in values.items())
    ]


def test_names_that_yaml_would_take_for_other_things(skl: dict[str, KernelInfo]) -> None:
    names = [a.name for a in skl["no"].args_info]
    assert names == ["on", "off", "yes", "null", "y", "e1", "l1", "l2"]


def test_execution_environment(skl: dict[str, KernelInfo]) -> None:
    env = skl["structs"].execution_env
    assert (env.simd_size, env.grf_count, env.barrier_count) == (32, 128, 0)
    assert env.required_work_group_size == (16, 4, 1)
    assert env.subgroup_independent_forward_progress
    assert skl["no"].execution_env.barrier_count == 1
    assert skl["sub_groups"].user_attributes.intel_reqd_sub_group_size == 16
    assert skl["sub_groups"].execution_env.simd_size == 16
    assert skl["sizes"].user_attributes.work_group_size_hint == (8, 8, 1)
    assert skl["sizes"].user_attributes.vec_type_hint == "float4"
    assert skl["sizes"].execution_env.required_work_group_size == (0, 0, 0)


def test_a_struct_is_one_row_per_used_run_of_bytes(skl: dict[str, KernelInfo]) -> None:
    rows = row(skl["structs"], arg_type="arg_byvalue", arg_index=1)
    assert [(r.source_offset, r.size) for r in rows] == [(0, 20), (24, 8)]
    struct, vector, pointer = skl["structs"].args_info[1:]
    assert (struct.type, struct.size) == ("S", 32)
    assert (vector.type, vector.size) == ("short3", 8)
    assert pointer.type_qualifiers == "restrict const volatile"
    assert pointer.address_qualifier == "__global"


def test_local_pointers(skl: dict[str, KernelInfo]) -> None:
    rows = row(skl["no"], addrmode="slm")
    assert [(r.arg_index, r.size, r.slm_alignment, r.addrspace) for r in rows] == [
        (6, 8, 16, "local"),
        (7, 8, 1, "local"),
    ]


def test_stateful_buffers_on_skl(skl: dict[str, KernelInfo]) -> None:
    kernel = skl["private_array"]
    (pointer,) = row(kernel, arg_type="arg_bypointer")
    assert (pointer.addrmode, pointer.size, pointer.access_type) == ("stateful", 0, "readwrite")
    assert kernel.binding_table_indices == (BindingTableIndex(bti_value=0, arg_index=0),)
    assert row(kernel, arg_type="buffer_address")[0].size == 8
    assert row(kernel, arg_type="buffer_offset") == []  # no access that needs one
    assert row(skl["no"], arg_type="buffer_offset")[0].arg_index == 0
    assert kernel.per_thread_memory_buffers == (
        PerThreadMemoryBuffer(type="scratch", usage="single_space", size=16384),
    )
    assert kernel.per_thread_payload_arguments == (
        PerThreadPayloadArgument(arg_type="local_id", offset=0, size=192),
    )


def test_images_and_samplers(skl: dict[str, KernelInfo]) -> None:
    kernel = skl["images"]
    assert kernel.inline_samplers == (InlineSampler(1, "repeat", "linear", normalized=True),)
    assert [r.image_type for r in row(kernel, addrspace="image")] == ["image_2d", "image_3d"]
    (sampler,) = row(kernel, addrspace="sampler")
    assert (sampler.sampler_type, sampler.sampler_index, sampler.arg_index) == ("texture", 0, 2)
    kinds = {r.arg_type for r in kernel.payload_arguments}
    assert {"image_width", "image_depth", "sampler_snap_wa"} <= kinds
    assert kernel.args_info[0].access_qualifier == "__read_only"


def test_pvc_has_both_rows_of_a_pointer() -> None:
    kernels = {k.name: k for k in ze_info.parse(TEXTS["pvc"], "k").kernels}
    rows = row(kernels["sub_groups"], arg_index=0)
    assert [(r.addrmode, r.size) for r in rows] == [("stateful", 0), ("stateless", 8)]
    env = kernels["sub_groups"].execution_env
    assert (env.has_4gb_buffers, env.offset_to_skip_per_thread_data_load) == (True, 128)


@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_nothing_that_the_compiler_writes_is_unknown(device: str) -> None:
    info = ze_info.parse(TEXTS[device], "k")
    assert info.version == "1.20"
    assert not info.extra
    for kernel in info.kernels:
        records: list[Any] = [kernel, kernel.execution_env, kernel.user_attributes]
        records += [*kernel.payload_arguments, *kernel.per_thread_payload_arguments]
        records += [*kernel.binding_table_indices, *kernel.per_thread_memory_buffers]
        records += [*kernel.inline_samplers, *kernel.args_info]
        assert [r for r in records if r.extra] == []
        assert {p.arg_type for p in kernel.payload_arguments} <= set(ARG_TYPES)


MINIMAL = """---
version: '1.20'
kernels:
  - name: k
    execution_env:
      grf_count: 128
      simd_size: 16
    payload_arguments:
      - arg_type: arg_byvalue
        offset: 32
        size: 4
        arg_index: 0
kernels_misc_info:
  - name: k
    args_info:
      - index: 0
        name: n
        type_name: 'int;4'
...
"""


def changed(old: str, new: str) -> str:
    assert old in MINIMAL
    return MINIMAL.replace(old, new, 1)


def test_unknown_keys_and_words_are_kept() -> None:
    text = changed("size: 4", "size: 4\n        is_new: [1, {a: b}]")
    text = text.replace("arg_byvalue", "arg_by_magic").replace("version:", "later: 7\nversion:")
    info = ze_info.parse(text, "k")
    (argument,) = info.kernels[0].payload_arguments
    assert argument.arg_type == "arg_by_magic"
    assert argument.extra == {"is_new": ("1", {"a": "b"})}
    assert info.extra == {"later": "7"}


def test_an_argument_without_names_or_sizes() -> None:
    text = changed("        name: n\n        type_name: 'int;4'\n", "")
    (argument,) = ze_info.parse(text, "k").kernels[0].args_info
    assert (argument.name, argument.type, argument.size) == ("", "", None)


def test_functions_and_host_names() -> None:
    text = MINIMAL.replace(
        "kernels_misc_info",
        "functions:\n  - name: f\n    execution_env: {grf_count: 128, simd_size: 8}\n"
        "global_host_access_table:\n  - {device_name: d, host_name: h}\nkernels_misc_info",
    )
    info = ze_info.parse(text, "k")
    assert [(f.name, f.execution_env.simd_size) for f in info.functions] == [("f", 8)]
    assert [(h.device_name, h.host_name) for h in info.global_host_access_table] == [("d", "h")]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("      simd_size: 16\n", "", "kernel 'k', execution_env: the key 'simd_size' is missing"),
        ("simd_size: 16", "simd_size: 12", "simd_size: 12 is not allowed (1, 8, 16, 32) (line 7"),
        ("simd_size: 16", "simd_size: 0x10000000000000000", "an integer is expected"),
        ("simd_size: 16", "simd_size: 1_6", "an integer is expected, not '1_6'"),
        ("simd_size: 16", "simd_size: \u0661\u0666", "an integer is expected"),
        ("simd_size: 16", "simd_size: [16]", "an integer is expected, not a list"),
        ("simd_size: 16", "simd_size: {}", "an integer is expected, not a mapping"),
        ("simd_size: 16", "simd_size: 16\n      slm_size: -1", "slm_size: -1 is not allowed (0 …"),
        ("simd_size: 16", "simd_size: 16\n      has_dpas: maybe", "true or false is expected"),
        (
            "simd_size: 16",
            "simd_size: 16\n      required_work_group_size: [1, 2]",
            "a list of three integers is expected, not a list",
        ),
        (
            "simd_size: 16",
            "simd_size: 16\n      required_work_group_size: [1, x, 2]",
            "required_work_group_size[1]: an integer is expected, not 'x'",
        ),
        ("offset: 32", "offset: -4", "payload_arguments[0], offset: -4 is not allowed (0 … 65536)"),
        ("offset: 32", "offset: 65537", "offset: 65537 is not allowed"),
        ("offset: 32", "offset: 65534", "kernel 'k': arg_byvalue ends at byte 65538"),
        ("        offset: 32\n", "", "payload_arguments[0]: the key 'offset' is missing"),
        ("        arg_index: 0\n", "", "kernel 'k': arg_byvalue without arg_index"),
        ("arg_type: arg_byvalue", "arg_type: [a]", "arg_type: a word is expected, not a list"),
        ("        arg_index: 0", "        slm_alignment: 3", "slm_alignment: 3 is not allowed"),
        ("      - arg_type: arg_byvalue", "      - 1\n      - arg_type: x", "not '1'"),
        ("- name: k\n    exec", "- exec", "kernel number 0: the key 'name' is missing"),
        ("  - name: k\n    exec", "  - name: [k]\n    exec", "name: a word is expected"),
        ("kernels:", "kernels: {}\nother:", "'kernels' is a mapping, not a list"),
        ("kernels:", "others:", "a mapping with the key 'kernels' is expected"),
        ("version: '1.20'\n", "", "the key 'version' is missing"),
        ("index: 0\n        name: n", "index: 1\n        name: n", "args_info has the indices [1]"),
        ("name: k\n    exec", "name: k\n    name: k\n    exec", "'name' is there twice"),
        ("name: k\n    exec", "name: &a k\n    other: *a\n    exec", "line 5: an alias"),
        ("name: k\n    exec", "name: k\n    {}: 1\n    exec", "a mapping as a key"),
        ("name: k\n    exec", "name: k\n  bad\n    exec", "line 6"),
        ("grf_count", "\tgrf_count", "line"),
        ("grf_count", "\x01", "control characters are not allowed"),
        ("grf_count: 128", "grf_count: " + "[" * 500, "nested more than 16 deep"),
        ("grf_count: 128", "grf_count: " + "[" * 5000, "nest"),  # newer libyaml says it first
        ("grf_count: 128", "grf_count: " + "{a: " * 30, "nested more than 16 deep"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(old: str, new: str, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        ze_info.parse(changed(old, new), "k.bin")
    assert says in str(caught.value)
    assert str(caught.value).startswith("k.bin: ")


@pytest.mark.parametrize(
    "text", ["", "...", "7", "[]", "- a", "--- a\n--- b", "\ufeff", "kernels:"]
)
def test_other_documents_are_refused(text: str) -> None:
    with pytest.raises(FormatError):
        ze_info.parse(text, "k.bin")


def test_a_kernel_twice() -> None:
    kernels = changed(
        "kernels:\n", "kernels:\n  - {name: k, execution_env: {grf_count: 1, simd_size: 8}}\n"
    )
    with pytest.raises(FormatError, match=r"has kernel 'k' twice"):
        ze_info.parse(kernels, "k.bin")


@pytest.mark.parametrize("hostile", [
    lambda: "[" * 300_000,
    lambda: "- " * 100_000,
    lambda: "kernels: [" + "{}, " * 20_000 + "]",
    lambda: "? " * 50_000,
])  # fmt: skip
def test_hostile_texts_end_quickly(hostile: Callable[[], str]) -> None:
    with within(5), pytest.raises(FormatError):
        ze_info.parse(hostile(), "k.bin")
