"""Every key, section and relocation of the newest specification acts, is refused, or has a reason.

`newest_keys.txt` lists the keys of `.ze_info` 1.73, a record of ours in each paragraph.
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import eumu
from eumu import zebin
from eumu.platforms import platform
from eumu.runtime.ndrange import Range
from eumu.runtime.payload import Addresses, bind
from eumu.runtime.signature import parameters
from eumu.runtime.wanted import refuse_unmodelled
from eumu.zebin import ignored, ze_info

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
# Keys that are joined to others while they are read.
JOINED = {"kernels_misc_info": "args_info"}
# Types of arguments that no launch can give.
REFUSED = {f"region_group_{x}" for x in ("size", "dimension", "wg_count", "barrier_buffer")}

ONE = Range.of(1, 1, 0, platform=platform("bmg"), simd_width=16, required=None)


def _listed() -> dict[str, list[str]]:
    """The keys of each record."""
    paragraphs = re.split(r"\n(?! )", (HERE / "newest_keys.txt").read_text().rstrip())
    pairs = (p.split(":", 1) for p in paragraphs)
    return {name: keys.split() for name, keys in pairs}


LISTED = _listed()
RECORDS = [getattr(ze_info, name) for name in LISTED if name != "arg_type"]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_key_has_a_field_or_a_reason(record: type) -> None:
    known = {f.name for f in dataclasses.fields(record)} | set(ignored.KEYS) | set(JOINED)
    assert [key for key in LISTED[record.__name__] if key not in known] == []


def test_a_field_is_heeded_or_has_a_reason() -> None:
    """Nothing is decoded and dropped: somebody reads it, or it is read over on purpose."""
    files = (p for p in SOURCE.rglob("*.py") if p.name not in ("ze_info.py", "ignored.py"))
    text = "\n".join(p.read_text() for p in files)
    names = {f.name for r in RECORDS for f in dataclasses.fields(r)} - {"extra", "unknown"}
    unread = {n for n in names if not re.search(rf'\.{n}\b|"{n}"', text)}
    unread -= {"device_name", "host_name"}  # a row is shown whole
    assert unread <= set(ignored.KEYS)


def test_what_is_read_over_is_no_field_that_acts() -> None:
    listed = {key for keys in LISTED.values() for key in keys}
    assert set(ignored.KEYS) <= listed


def test_types_of_arguments_are_known_or_refused() -> None:
    assert set(LISTED["arg_type"]) - set(ze_info.ARG_TYPES) == REFUSED


def _info(more: str) -> ze_info.KernelInfo:
    text = f"""---
version: '1.73'
kernels:
  - name: k
{more}
    execution_env:
      grf_count: 128
      simd_size: 16
"""
    return ze_info.parse(text, "k").kernels[0]


def test_an_argument_that_no_launch_can_give() -> None:
    info = _info("""    payload_arguments:
      - arg_type: region_group_size
        offset: 0
        size: 12""")
    with pytest.raises(eumu.Unsupported, match="takes region_group_size"):
        bind(info, parameters(info), (), ONE, platform("bmg"), Addresses())


WRONG = [
    ("      has_rtcalls: true", "traces rays"),
    ("      has_device_enqueue: true", "enqueues kernels"),
    ("      work_group_walk_order_dimensions: [1, 0, 2]", "in the order y, x, z"),
]


@pytest.mark.parametrize(("line", "says"), WRONG, ids=[says for _, says in WRONG])
def test_what_is_not_modelled_is_refused(line: str, says: str) -> None:
    info = ze_info.parse(
        "---\nversion: '1.73'\nkernels:\n  - name: k\n    execution_env:\n"
        f"      grf_count: 128\n      simd_size: 16\n{line}\n",
        "k",
    ).kernels[0]
    with pytest.raises(eumu.Unsupported, match=says):
        refuse_unmodelled(info)


def test_an_invalid_kernel_is_not_run() -> None:
    info = _info("    user_attributes:\n      invalid_kernel: uses-fp64-math")
    with pytest.raises(eumu.LaunchError, match="marked kernel k as invalid: uses-fp64-math"):
        refuse_unmodelled(info)


@pytest.mark.parametrize(("mode", "offset"), [(0, 0), (1, 64)])
def test_who_adds_the_kernels_own_local_memory(mode: int, offset: int) -> None:
    """Offsets of local arguments begin at 0, or behind it; a group has the same bytes."""
    info = ze_info.parse(
        f"""---
version: '1.73'
kernels:
  - name: k
    execution_env:
      grf_count: 128
      simd_size: 16
      slm_size: 64
      slm_alloc_mode: {mode}
    payload_arguments:
      - arg_type: arg_bypointer
        offset: 0
        size: 8
        arg_index: 0
        addrmode: slm
        addrspace: local
        access_type: readwrite
        slm_alignment: 16
""",
        "k",
    ).kernels[0]
    found = bind(info, parameters(info), (eumu.Local(32),), ONE, platform("bmg"), Addresses())
    assert int.from_bytes(found.payload.cross_thread[:8], "little") == offset
    assert found.slm_bytes == 96


# ---- what the newest compiler writes

MANY = """
typedef struct { int a; char b[3]; } S;
constant int table[4] = {1, 2, 3, 4};
global int counter = 5;
global int zeros[64];
int helper(int x) __attribute__((noinline));
int helper(int x) { return x < 2 ? x : helper(x - 1) + counter + table[x & 3]; }
kernel void many(global int *a, read_only image2d_t image, write_only image3d_t o,
                 read_only image2d_array_t layers, sampler_t s, local int *l, constant float *c,
                 S st, float4 v) {
  const sampler_t repeat = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
  int i = get_global_id(0);
  l[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  a[i] = helper(i) + l[i ^ 1] + st.a + zeros[i & 63];
  printf("%d %s\\n", i, "x");
  float4 f = read_imagef(image, repeat, (float2)(i, 1)) + read_imagef(image, s, (float2)(1, 1));
  write_imagef(o, (int4)(i, 2, 0, 0), f * get_image_width(layers) + v + c[i]);
  atomic_add(a + get_global_offset(0) + get_enqueued_local_size(0) + get_work_dim(), 2);
}
__attribute__((reqd_work_group_size(64, 1, 1))) __attribute__((vec_type_hint(float4)))
kernel void spills(global char *a, global char *b) {
  int big[300];
  for (int i = 0; i < 300; i++) big[i] = a[i];
  for (int i = 0; i < 300; i++) b[i] = big[(a[i] * 7) % 300];
}
"""
CHOICES = [
    ("bmg", "-g"),
    ("dg2", "-cl-opt-disable -cl-intel-has-buffer-offset-arg"),
    ("nvlp", "-g -cl-opt-disable"),
    ("ptl", "-cl-intel-256-GRF-per-thread -cl-intel-greater-than-4GB-buffer-required"),
]


def _types(elf: bytes) -> Iterator[int]:
    for section in ELFFile(io.BytesIO(elf)).iter_sections():
        if section["sh_type"] in ("SHT_REL", "SHT_RELA") and "debug" not in section.name:
            yield from (row["r_info_type"] for row in section.iter_relocations())


@pytest.mark.slow
@pytest.mark.parametrize(("device", "options"), CHOICES)
def test_the_newest_compiler_writes_nothing_else(
    device: str, options: str, newest_ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    program = eumu.build(MANY, device, f"-cl-std=CL3.0 {options}")
    assert program.elf is not None and program.elf.unknown == ()
    data = zebin.compile(MANY, device, f"-cl-std=CL3.0 {options}").elf
    assert set(_types(data)) <= {1, 2, 3, 7}
