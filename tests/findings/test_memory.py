"""Misuse of memory: found with its code, line, work item and array, the same by both engines."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.errors import Finding, Severity
from eumu.runtime.array import Array
from eumu.zebin import has_subgroup_barrier, promised_alignments

SOURCE = Path(__file__).parent / "memory.cl"
DEVICES, ENGINES = ("skl", "pvc"), ("interp", "jit")


@cache
def program(device: str, source: Path = SOURCE) -> eumu.Program:
    return eumu.load(source, device=device)


def findings(
    device: str, engine: str, name: str, *arrays: Any, check: str = "cheap", items: int = 32
) -> tuple[Finding, ...]:
    dev = eumu.Device(device, engine=engine, check=check)
    kernel = program(device)[name]
    given = [dev.array(a, name=p.name) for a, p in zip(arrays, kernel.args, strict=True)]
    return kernel.launch(dev, items, args=given).findings


BYTES = np.zeros(400, np.uint8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
def test_misaligned(device: str, engine: str, ocloc: str) -> None:
    found = findings(device, engine, "misaligned", BYTES, BYTES)[0]
    assert (found.code, found.severity) == ("misaligned", Severity.ERROR)
    assert found.place is not None and "*(global int *)" in found.place.text
    assert found.global_id == (1, 0, 0) and found.work_items == (12 if device == "skl" else 24)
    assert found.memory is not None and (found.memory.array, found.memory.offset) == ("in", 1)
    (atomic,) = findings(device, engine, "misaligned_atomic", BYTES)
    assert atomic.code == "misaligned" and atomic.reason.startswith("misaligned atomic")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
def test_what_the_language_allows_is_aligned(device: str, engine: str, ocloc: str) -> None:
    assert not findings(device, engine, "packed_fields", BYTES, BYTES)
    assert not findings(device, engine, "vectors_of_elements", BYTES, BYTES)


@pytest.mark.parametrize("engine", ENGINES)
def test_division_by_zero_is_a_note(engine: str, ocloc: str) -> None:
    some = np.arange(32, dtype=np.int32) % 20  # items 0 and 20, in both halves of the thread
    first, last = findings("skl", engine, "divided", some, some)
    assert (first.code, first.severity) == ("division-by-zero", Severity.NOTE)
    assert first.place is not None and "out[i] / in[i]" in first.place.text
    assert first.global_id == (0, 0, 0) and first.work_items == 1
    assert last.global_id == (20, 0, 0) and last.lanes == (20,)


def fault(
    device: str,
    engine: str,
    name: str,
    *args: Any,
    check: str | bool = False,
    source: Path = SOURCE,
) -> Finding:
    """The finding of a launch of 32 work items that ends with a fault."""
    dev = eumu.Device(device, engine=engine, check=check)
    given = [a(dev) if callable(a) else a for a in args]
    with pytest.raises(eumu.Fault) as caught:
        program(device, source)[name].launch(dev, 32, args=given)
    return caught.value.finding


def array(name: str, access: str = "rw", dtype: type = np.int32) -> Any:
    return lambda dev: dev.array(np.arange(32, dtype=dtype), name=name, access=access)


@pytest.mark.parametrize("engine", ENGINES)
def test_behind_a_part_of_an_array(engine: str, ocloc: str) -> None:
    """What is behind the part is in the array, and is not called behind that."""
    dev = eumu.Device("skl", engine=engine)
    whole = dev.array(np.arange(32, dtype=np.int32), name="in")
    part = Array.lent(dev, whole.address, 64, "a part")
    with pytest.raises(eumu.Fault, match="outside the 64 bytes of surface") as caught:
        program("skl")["add_one"].launch(dev, 32, args=[array("out")(dev), part])
    memory = caught.value.finding.memory
    assert memory is not None and (memory.array, memory.offset) == ("in", 64)
    assert memory.state == "inside" and str(memory).endswith("this is offset 64, element 16")
    with pytest.raises(eumu.Fault) as caught:
        program("skl")["add_one"].launch(dev, 48, args=[array("out")(dev), whole])
    memory = caught.value.finding.memory
    assert memory is not None and memory.state == "after"


DECLARED = {
    "read-only": ("add_one", [array("out"), array("in", "r")], "in[i]++", "in"),
    "write-only": ("add_one", [array("out", "w"), array("in")], "out[i] += in[i]++", "out"),
    "atomic": ("count", [array("out", "r")], "atomic_inc(out)", "out"),
    "constant": ("writes_a_constant", [array("out"), 0], "(ulong)table", ""),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", DECLARED)
def test_what_the_host_forbids(case: str, device: str, engine: str, ocloc: str) -> None:
    name, args, text, array = DECLARED[case]
    found = fault(device, engine, name, *args)
    assert found.code == ("write-only" if case == "write-only" else "read-only")
    assert found.place is not None and text in found.place.text
    assert found.global_id == (0, 0, 0) and found.memory is not None
    assert (found.memory.array, found.memory.offset) == (array, 0) or not array


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
def test_stores_through_const(device: str, engine: str, ocloc: str) -> None:
    given = array("out"), array("in")
    found = fault(device, engine, "casts_const_away", *given, check="const")
    assert (found.code, found.line) == ("read-only", 39)
    # Without the check, and where the array is passed for another pointer as well, it may.
    for check, args in (("undefined", given), ("const", None)):
        dev = eumu.Device(device, engine=engine, check=check)
        arrays = [a(dev) for a in args] if args else [array("both")(dev)] * 2
        assert not program(device)["casts_const_away"].launch(dev, 32, args=arrays).findings


@pytest.mark.parametrize("engine", ENGINES)
def test_images(engine: str, ocloc: str) -> None:
    def image(access: str) -> Any:
        shape, what = (4, 64, 4), {"format": "RGBA32_FLOAT", "name": "picture"}
        return lambda dev: dev.image(np.zeros(shape, np.float32), access=access, **what)

    source = SOURCE.with_name("pictures.cl")
    found = fault("skl", engine, "paint", image("r"), source=source)
    assert found.code == "read-only" and found.place is not None
    assert "write_imagef" in found.place.text
    assert found.memory is not None and found.memory.array == "picture"
    out = array("out", dtype=np.float32)
    assert fault("skl", engine, "look", out, image("w"), source=source).code == "write-only"
    dev = eumu.Device("skl", engine=engine)
    program("skl", source)["paint"].launch(dev, 32, args=[image("w")(dev)])
    program("skl", source)["look"].launch(
        dev, 32, args=[dev.array(32, np.float32), image("r")(dev)]
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
def test_freed_memory_and_registers_outside(device: str, engine: str, ocloc: str) -> None:
    dev = eumu.Device(device, engine=engine, check=True)
    out, given = array("out")(dev), array("given")(dev)
    at = given.address + 8
    given.free()
    with pytest.raises(eumu.Fault) as caught:
        program(device)["reads_at"].launch(dev, 32, args=[out, at])
    freed = caught.value.finding
    assert freed.code == "use-after-free" and freed.memory is not None
    assert (freed.memory.array, freed.memory.element) == ("given", 2)
    out = dev.array(64, np.int32)
    assert not program(device)["spills"].launch(dev, 32, args=[out, 1]).findings
    found = program(device)["spills"].launch(dev, 32, args=[out, 100_000]).findings
    assert {f.code for f in found} == {"undefined"}
    assert all(f.place is not None and "own[i * n]" in f.place.text for f in found)


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_without_content(device: str, ocloc: str) -> None:
    dev = eumu.Device(device, check="uninitialized")
    out, given = dev.array(32, np.float32), dev.array(4, np.float32, name="in")
    found = program(device)["broadcast"].launch(dev, 32, args=[out, given]).findings[0]
    assert (found.code, found.severity) == ("uninitialized", Severity.ERROR)
    assert found.place is not None and "= *in;" in found.place.text
    assert found.memory is not None and (found.memory.array, found.memory.offset) == ("in", 0)
    (read,) = found.related
    assert read.line == found.line and read.memory == found.memory
    given.fill(1)  # the host has written it
    assert not program(device)["broadcast"].launch(dev, 32, args=[out, given]).findings
    out, given = dev.array(32, np.int32), dev.array(32, np.int32)
    found = program(device)["chosen"].launch(dev, 32, args=[out, given]).findings[0]
    assert found.code == "uninitialized" and found.place is not None
    assert "in[i] > 3" in found.place.text


@pytest.mark.parametrize("device", DEVICES)
def test_padding_is_copied(device: str, ocloc: str) -> None:
    dev = eumu.Device(device, check="uninitialized")
    kernels = program(device)
    first, second = (dev.array(24 * 32, np.uint8) for _ in range(2))
    out = dev.array(32, np.int64)
    for name, args in (("fill", [first]), ("copy", [second, first]), ("sums", [out, second])):
        assert not kernels[name].launch(dev, 32, args=args).findings, name
    assert np.array_equal(out.numpy(), 3 * np.arange(32))


@pytest.mark.parametrize("device", DEVICES)
def test_copies_that_nobody_waits_for(device: str, ocloc: str) -> None:
    given = np.zeros(32, np.int32), np.arange(32, dtype=np.int32)
    found = findings(device, "jit", "not_waited_for", *given, check="races")
    assert found and {f.code for f in found} == {"race"}
    waited = findings(device, "jit", "not_waited_for", given[0] + 1, given[1], check="races")
    assert not [f for f in waited if f.memory and "local" in f.memory.array]


@pytest.mark.parametrize(("device", "engine"), [("skl", "jit"), ("pvc", "interp")])
def test_text_without_room(
    device: str, engine: str, ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EUMU_PRINTF_MB", "0")  # as formatting takes long
    dev = eumu.Device(device, engine=engine, check=True, sink=lambda text: None)
    talk = program(device)["talk"]
    assert not talk.launch(dev, 32, args=[4]).findings
    (found,) = talk.launch(dev, 640, args=[100]).findings
    assert (found.code, found.severity) == ("printf-overflow", Severity.WARNING)
    assert found.memory is not None and found.memory.offset > found.memory.size == 4 << 20


def test_leaks() -> None:
    with pytest.warns(ResourceWarning) as told, eumu.Device(check="leaks") as dev:
        kept = dev.array(4, np.int32, name="kept")
        dev.array(4, np.int32, name="freed").free()
        dev.array(4, np.int32, name="collected")
        picture = dev.image((4, 4), format="R32_UINT", name="picture")
    first, second = dev.leaks()
    assert [str(w.message) for w in told] == [str(first), str(second)]
    assert (first.code, first.line, first.file) == ("leak", second.line - 3, __file__)
    assert first.place is not None and "kept = dev.array(" in first.place.text
    assert first.memory is not None and (first.memory.array, first.memory.size) == ("kept", 16)
    assert second.memory is not None and second.memory.array == "picture"
    kept.free()
    del picture
    assert not dev.leaks()


def test_leaks_of_many_arrays_cost_no_memory() -> None:
    dev = eumu.Device(check="leaks")
    for _ in range(2000):
        dev.array(1, np.int32).free()
    assert len(dev.origins._made) < 600


def test_damaged_modules_promise_nothing(ocloc: str) -> None:
    elf = program("pvc").elf
    assert elf is not None
    good = elf.spirv
    assert promised_alignments(good)
    for end in range(0, len(good), 97):
        assert all(size > 0 for size in promised_alignments(good[:end]).values())
    for at in range(20, len(good), 41):
        promised_alignments(good[:at] + b"\xff\x7f" + good[at + 2 :])


def test_instructions_that_are_too_short_are_damage(ocloc: str) -> None:
    elf = program("pvc").elf
    assert elf is not None
    words = np.frombuffer(elf.spirv, np.uint32).copy()
    at = 5
    while at < len(words):
        whole = words[at]
        for length in range(min(whole >> 16, 5)):
            words[at] = length << 16 | whole & 0xFFFF
            has_subgroup_barrier(words.tobytes())
            assert all(size > 0 for size in promised_alignments(words.tobytes()).values())
        words[at] = whole
        at += int(whole >> 16)


def behind(device: str, engine: str, name: str, seed: int, *, local: bool) -> eumu.Fault:
    """The fault of a launch whose arrays are too small, with all that was found."""
    dev = eumu.Device(device, engine, check="uninitialized")
    kernel = program(device)[name]
    sizes = {"out": 128, "a": 24, "b": 28}
    args: list[Any] = [
        dev.array(np.arange(sizes[p.name], dtype=np.int32), name=p.name)
        for p in kernel.args
        if p.name in sizes
    ]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, 64, 16, [*args, *([eumu.Local(16)] * local)], seed=seed)
    return caught.value


@pytest.mark.parametrize("device", DEVICES)
def test_a_launch_goes_on_behind_reads_outside(device: str, ocloc: str) -> None:
    """Every access outside is found, each once, and the uses of what they read."""
    told = set()
    for engine, seed in (("interp", 0), ("jit", 0), ("interp", 7)):
        fault = behind(device, engine, "sums_behind", seed, local=True)
        every = (*fault.findings, fault.finding)
        told.add("\n".join(map(str, every)))
        assert fault.code == "out-of-bounds" and fault.finding.place is not None
        assert "atomic_add" in fault.finding.place.text  # of the first thread
        where = {f.memory.array for f in every if f.code == "out-of-bounds" and f.memory}
        assert where == {"a", "b", "shared local memory"}
        used = [f for f in every if f.place and "= sum + " in f.place.text and "stored" in f.reason]
        assert {f.code for f in used} <= {"undefined", "uninitialized"} and used
        assert any("undefined memory" in f.reason for f in every)  # which the atomic adds to
    assert len(told) == 1


@pytest.mark.parametrize("device", DEVICES)
def test_a_store_outside_ends_the_launch(device: str, ocloc: str) -> None:
    """Behind reads outside, whose finding stays."""
    fault = behind(device, "jit", "then_stores", 0, local=False)
    assert fault.code == "out-of-bounds" and fault.reason.startswith("store")
    assert [f.memory.array for f in fault.findings if f.code == "out-of-bounds" and f.memory] == [
        "a"
    ]
