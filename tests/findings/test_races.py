"""Races: found where kernels have them, nowhere else, and the same for every engine and seed."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import eumu
from eumu.errors import Severity
from eumu.zebin import has_subgroup_barrier, sees_subgroups

SOURCE = Path(__file__).parent / "races.cl"
ENGINES = ("interp", "jit")
# The lines of both accesses; of what is ordered, none.
RACES = {
    "ordered": None,
    "no_barrier": ("t[l] = l;", "t[63 - l]"),
    "lanes_of_a_thread": ("t[l] = l;", "t[l ^ 1]"),
    "in_a_loop": ("t[(l + k) % 64] = k;", "t[(l + 32) % 64]"),
    "all_write_one": ("t[0] = get_local_id(0);", "t[0] = get_local_id(0);"),
    "all_write_the_same": ("out[0] = 7;", "out[0] = 7;"),
    "neighbours_bytes": None,
    "between_groups": ("out[i] = i;", "out[n - 1 - i]"),
    "counted": None,
    "counted_and_read": ("atomic_inc(out);", "out[1 + get_global_id(0)] = out[0];"),
    "exchanged": ("while (atomic_cmpxchg(", "old = *(volatile global int *)out;"),
    "local_counter": None,
    "reduce": None,
    "wrong_fence": ("t[l] = l;", "t[63 - l]"),
    "wrong_fence_of_global": ("out[first + l] = l;", "out[first + 63 - l]"),
    "both_fences": None,
}


@cache
def program(device: str) -> eumu.Program:
    return eumu.load(SOURCE, device=device)


def launch(device: str, engine: str, name: str, seed: int = 0) -> tuple[eumu.Report, bytes]:
    """A launch's report, and what it left."""
    dev = eumu.Device(device, engine=engine, check="races")
    kernel = program(device)[name]
    out = dev.array(512, np.int8 if name == "neighbours_bytes" else np.int32)
    report = kernel.launch(dev, 128, 64, [out, 3][: len(kernel.args)], seed=seed)
    return report, out.numpy().tobytes()


def findings(device: str, engine: str, name: str, seed: int = 0) -> tuple[eumu.Finding, ...]:
    return launch(device, engine, name, seed)[0].findings


@pytest.mark.parametrize("name", RACES)
@pytest.mark.parametrize("device", ["skl", "pvc"])
@pytest.mark.parametrize("engine", ENGINES)
def test_both_lines(engine: str, device: str, name: str, ocloc: str) -> None:
    found = findings(device, engine, name)
    if RACES[name] is None:
        assert found == ()
        return
    (race,) = found
    (other,) = race.related
    assert race.code == other.code == "race"
    for access, text in zip((race, other), RACES[name] or (), strict=True):
        assert access.place is not None and text in access.place.text
        assert access.file == str(SOURCE) and access.global_id is not None
    assert race.global_id != other.global_id
    assert race.severity is (
        Severity.NOTE if name in ("all_write_the_same", "exchanged") else Severity.ERROR
    )


@pytest.mark.parametrize("name", [name for name, lines in RACES.items() if lines])
def test_every_engine_and_seed_says_the_same(name: str, ocloc: str) -> None:
    first = findings("pvc", "interp", name)
    for engine, seed in (("interp", 1), ("interp", 77), ("jit", 2)):
        assert findings("pvc", engine, name, seed) == first
        assert [str(f) for f in findings("pvc", engine, name, seed)] == [str(f) for f in first]


@pytest.mark.parametrize("name", RACES)
@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_the_fast_engine_clears_what_does_not_race(device: str, name: str, ocloc: str) -> None:
    """It runs what has no race to its end; else the interpreter runs, on memory as it was."""
    report, left = launch(device, "jit", name)
    assert report.engine == ("jit" if RACES[name] is None else "interp")
    assert left == launch(device, "interp", name)[1]


@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_random_kernels(device: str, ocloc: str) -> None:
    """The same on both engines, with one worker and with two."""
    from findings.random_races import compare

    counts = compare(range(12), device)
    assert counts["with races"] and counts["without"] == counts["cleared by the fast engine"]


SMALLER = """
kernel void inside(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    if (get_local_size(0) == 64) barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[get_local_size(0) - 1 - l];
}
kernel void between(global int *out) {
    int i = get_global_id(0);
    if (get_local_size(0) == 64) out[0] = 1 + i / 64;
    else out[i] = out[0];
}
kernel void same(global int *out) { out[get_global_id(0) % 128] = 7; }
kernel void counted(global int *out) { atomic_inc(out); }
"""


@pytest.mark.parametrize(
    ("name", "lines", "groups"),
    [
        ("inside", (5, 7), {(2, 0, 0)}),  # only the small group has no barrier
        ("between", (11, 12), {(0, 0, 0), (2, 0, 0)}),
        ("same", (14, 14), {(0, 0, 0), (2, 0, 0)}),  # elements that the small group has again
        ("counted", None, set()),
    ],
)
def test_groups_of_several_sizes(
    name: str, lines: tuple[int, int] | None, groups: set[tuple[int, int, int]], ocloc: str
) -> None:
    """The last group is smaller; races inside of it, and with the others, are found."""
    for device in ("skl", "pvc"):
        kernel = eumu.build(SMALLER, device, "-cl-std=CL2.0")[name]
        said = set()
        for engine, seed in (("interp", 0), ("interp", 5), ("jit", 0)):
            dev = eumu.Device(device, engine=engine, check="races")
            found = kernel.launch(dev, 150, 64, [dev.array(256, np.int32)], seed=seed).findings
            said.add("".join(map(str, found)))
            if lines is None:
                assert found == ()
                continue
            races = [f for f in found if {f.group, f.related[0].group} == groups]
            assert [(f.line, f.related[0].line) for f in races] == [lines], name
        assert len(said) == 1


def test_the_same_launch_again_says_the_same(ocloc: str) -> None:
    """What is kept of a launch for the next one has nothing of its accesses."""
    kernel = eumu.build(SMALLER, "skl", "-cl-std=CL2.0")["same"]
    dev = eumu.Device("skl", check="races")
    out = dev.array(256, np.int32)
    said = ["".join(map(str, kernel.launch(dev, 150, 64, [out]).findings)) for _ in range(3)]
    assert said[0] and said == [said[0]] * 3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("after", [None, 20])
def test_a_launch_that_looks_for_races_is_not_stopped(
    engine: str, after: int | None, ocloc: str
) -> None:
    """What it did before would be forgotten."""
    dev = eumu.Device("skl", engine=engine, check="races")
    out = dev.array(512, np.int32)
    dev.preempt() if after is None else dev.preempt(after=after)
    report = program("skl")["between_groups"].launch(dev, 128, 64, [out])
    assert not report.preempted and len(report.findings) == 1


# Of barriers in native code nothing says that they leave local memory unordered; and where there is
# no fence, nothing says that they leave global memory unordered.
NOT_SEEN = {"wrong_fence", "wrong_fence_of_global"}


@pytest.mark.parametrize("name", RACES)
def test_native_code(name: str, ocloc: str) -> None:
    """What races in vISA races in native code; its halves of an instruction are two."""
    reports = []
    for engine, seed in (("interp", 0), ("interp", 7), ("jit", 0)):
        dev = eumu.Device("skl", engine=engine, check="races")
        kernel = program("skl")[name]
        out = dev.array(512, np.int8 if name == "neighbours_bytes" else np.int32)
        args = [out, 3][: len(kernel.args)]
        reports.append(kernel.launch(dev, 128, 64, args, seed=seed, level="native").findings)
    assert bool(reports[0]) == (RACES[name] is not None and name not in NOT_SEEN)
    assert len({"".join(map(str, r)) for r in reports}) == 1
    assert {f.severity for f in reports[0]} == {
        f.severity for f in findings("skl", "jit", name)
    } or (name in NOT_SEEN)


def test_shadow_memory_has_a_limit(monkeypatch: pytest.MonkeyPatch, ocloc: str) -> None:
    monkeypatch.setenv("EUMU_SHADOW_MB", "1")
    dev = eumu.Device("pvc", engine="jit", check="races")
    said = []
    for size in (200_000, 500_000):  # copies fit, and shadow memory does not; neither does
        out = dev.array(size, np.int32)
        with pytest.raises(eumu.Unsupported, match="EUMU_SHADOW_MB=1 is the limit") as caught:
            program("pvc")["ordered"].launch(dev, 128, 64, [out])
        said.append(str(caught.value))
        out.free()
    assert "3 MiB of shadow memory here" in said[0] and "1 MiB of a copy of arrays" in said[1]


def test_a_barrier_of_the_sub_group_orders_lanes(ocloc: str) -> None:
    """The compiler makes no instruction of it; the SPIR-V has it."""
    source = SOURCE.read_text().replace(
        "    t[l] = l;\n    out",
        "    t[l] = l;\n    sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n    out",
    )
    built = eumu.build(source, "pvc", "-cl-std=CL2.0")
    dev = eumu.Device("pvc", engine="interp", check="races")
    for name, races in (("lanes_of_a_thread", 0), ("no_barrier", 1)):
        report = built[name].launch(dev, 128, 64, [dev.array(512, np.int32)])
        assert len(report.findings) == races, name


LAST_GROUP = """
kernel void sum(global int *out, global volatile atomic_int *done) {
    local int last;
    int l = get_local_id(0);
    out[2 + get_global_id(0)] = l;
    FENCE(release);
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (l == 0)
        last = atomic_fetch_add_explicit(done, 1, memory_order_relaxed, memory_scope_device) == 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (last) {
        FENCE(acquire);
        out[2 + get_global_id(0)] += out[2 + (get_global_id(0) + 64) % 128];
    }
}
"""
FENCE = "atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_##x, memory_scope_device)"


@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_the_last_group_reads_what_fences_have_published(device: str, ocloc: str) -> None:
    for fence, races in ((FENCE, 0), ("", 1)):
        text = f"#define FENCE(x) {fence}\n{LAST_GROUP}"
        kernel = eumu.build(text, device, "-cl-std=CL2.0")["sum"]
        dev = eumu.Device(device, engine="interp", check="races")
        arrays = [dev.array(512, np.int32), dev.array(1, np.int32)]
        report = kernel.launch(dev, 128, 64, arrays)
        if races:
            assert report.findings, "without fences nothing is published"
        else:
            assert report.findings == ()


def test_spirv_that_says_nothing() -> None:
    """Lanes are taken to run together unless the module says otherwise."""
    for module in (b"", b"\0" * 64, b"\x03\x02\x23\x07" + b"\0" * 16 + b"\xff" * 4):
        assert has_subgroup_barrier(module) is None and not sees_subgroups(module)
    nothing = struct.pack("<6I", 0x07230203, 0x10000, 0, 8, 0, 1 << 16)
    assert has_subgroup_barrier(nothing) is False


@pytest.mark.parametrize(("scope", "is_one"), [(2, False), (3, True), (None, None)])
def test_spirv_that_has_a_barrier(scope: int | None, is_one: bool | None) -> None:
    """Its scope is a constant, or nobody knows."""
    constant = [] if scope is None else [4 << 16 | 43, 1, 7, scope]
    words = [0x07230203, 0x10000, 0, 8, 0, *constant, 4 << 16 | 224, 7, 7, 7]
    assert has_subgroup_barrier(struct.pack(f"<{len(words)}I", *words)) is is_one


@pytest.mark.parametrize("engine", ENGINES)
def test_values_and_memory(engine: str, ocloc: str) -> None:
    (race,) = findings("pvc", engine, "all_write_one")
    assert race.memory is not None
    assert (race.memory.array, race.memory.size) == ("shared local memory", 64 * 4) or (
        race.memory.offset == 0
    )
    (other,) = race.related
    for access in (race, other):
        assert access.local_id is not None
        assert access.notes == (f"the store writes {access.local_id[0]:#x}",)


def test_global_memory_is_named(ocloc: str) -> None:
    (race,) = findings("skl", "interp", "between_groups")
    assert race.memory is not None and race.memory.array == "out"
    assert race.group != race.related[0].group


def test_without_the_check_nothing_is_noted(ocloc: str) -> None:
    dev = eumu.Device("pvc", engine="interp", check=True)
    report = program("pvc")["no_barrier"].launch(dev, 128, 64, [dev.array(512, np.int32)])
    assert report.findings == ()


@pytest.mark.parametrize(
    ("bound", "what"),
    [
        *(("_GROUP", "groups"), ("_INST", "instructions"), ("_EPOCH", "waits")),
        ("_PAIRS", "pairs of accesses"),
    ],
)
def test_what_is_too_much_to_follow_is_refused(
    monkeypatch: pytest.MonkeyPatch, bound: str, what: str, ocloc: str
) -> None:
    """A launch that nobody follows is not one without races."""
    monkeypatch.setattr(f"eumu.exec.races.{bound}", 1)
    with pytest.raises(eumu.Unsupported, match=f"looking for races with \\d+ {what}"):
        findings("pvc", "interp", "ordered" if bound != "_PAIRS" else "no_barrier")


MUCH = """
kernel void own(global int *o, int n) {
  for (int i = 0; i < n; i++) o[get_global_id(0) + i * 512] += i;
}
kernel void waits(global int *o, int n) {
  local int t[512];
  for (int i = 0; i < n; i++) {
    t[get_local_id(0)] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  o[get_global_id(0)] = t[get_local_id(0)];
}
"""


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch, ocloc: str) -> None:
    """What a loop accesses is kept up to a limit, beyond which the launch is refused."""
    from eumu.exec import races

    monkeypatch.setattr(races, "_PENDING", 1 << 14)
    monkeypatch.setattr(races, "_ROWS", 1 << 16)
    dev = eumu.Device("pvc", engine="interp", check="races")
    made, out = eumu.build(MUCH, dev), dev.array(1 << 16, np.int32)
    for kernel, few, many in (("own", 4, 64), ("waits", 4, 64)):
        assert made[kernel].launch(dev, 512, 512, [out, few]).findings == ()
        with pytest.raises(eumu.Unsupported, match=r"looking for races with \d+ bytes, waits"):
            made[kernel].launch(dev, 512, 512, [out, many])


def test_what_one_work_item_accesses_costs_no_pairs(
    monkeypatch: pytest.MonkeyPatch, ocloc: str
) -> None:
    """However many instructions do."""
    monkeypatch.setattr("eumu.exec.races._PAIRS", 1)
    stores = "".join(f"o[i] = s + {k};" for k in range(40))
    text = f"kernel void k(volatile global int *o, int s) {{ int i = get_global_id(0); {stores} }}"
    dev = eumu.Device("pvc", engine="interp", check="races")
    report = eumu.build(text, dev)["k"].launch(dev, 64, 64, [dev.array(64, np.int32), 1])
    assert report.findings == ()


@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_what_is_done_once_is_done_by_all_lanes(device: str, ocloc: str) -> None:
    """Four work items are one thread, which loads for all of its lanes at once."""
    dev = eumu.Device(device, check="races")
    kernel = program(device)["one_for_all"]
    found = kernel.launch(dev, 4, 4, [dev.array(4, np.int32)]).findings
    assert [f.severity for f in found] == [Severity.ERROR]
    assert found[0].place is not None and "t[l & 3]" in found[0].place.text


@pytest.mark.parametrize("name", ["reduce", "no_barrier", "between_groups"])
def test_shadow_memory_is_memory_of_the_launch(
    name: str, ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every access of compiled code is asserted, those of shadow memory are, too."""
    expected = findings("pvc", "jit", name)
    monkeypatch.setenv("EUMU_PARANOID", "1")
    assert findings("pvc", "jit", name) == expected


def test_what_others_write_meanwhile_stays(ocloc: str) -> None:
    """A suspect launch is undone, and nothing else: other threads may write other arrays."""
    values: list[int] = []

    def progress(done: int, groups: int) -> None:
        if values:  # once in a launch: on the fast engine
            beside.fill(values.pop())

    dev = eumu.Device("pvc", engine="jit", check="races", progress=progress)
    beside, out = dev.array(64, np.int32), dev.array(512, np.int32)
    kernel = program("pvc")["between_groups"]
    kernel.launch(dev, 128, 64, [out])  # learns which arrays it stores to
    values.append(7)
    assert kernel.launch(dev, 128, 64, [out]).findings
    assert not values and (beside.numpy() == 7).all()
