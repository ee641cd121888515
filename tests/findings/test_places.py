"""Faults say the line of the source, the work item and the array, on both engines and levels."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.errors import Place
from eumu.runtime.sources import Sources
from eumu.zebin import DebugLines

HERE = Path(__file__).parent
SOURCE = HERE / "bad.cl"
ENGINES = ("interp", "jit")


def fault(
    device: str, engine: str, options: str = "", level: str = "visa", **more: Any
) -> eumu.Fault:
    dev = eumu.Device(device, engine=engine)
    out, given = (dev.array(np.ones(64, np.float32)) for _ in range(2))
    kernel = eumu.build(SOURCE, device, options)["windows"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, 64, 32, [out, given, 3], level=level, **more)
    return caught.value


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_line_column_function_and_call(device: str, engine: str, ocloc: str) -> None:
    found = fault(device, engine).finding
    assert (found.file, found.line, found.column) == (str(SOURCE), 2, 12)
    assert found.place is not None and found.place.function == "square"
    (call,) = found.place.inlined
    assert (call.file, call.line, call.function) == (str(SOURCE), 9, "windows")
    assert found.place.text == "    return p[i] * p[i];"
    assert found.code == "out-of-bounds"
    # The last thread has work items that read elements 64 and 65.
    assert (found.global_id, found.local_id, found.group) == ((63, 0, 0), (31, 0, 0), (1, 0, 0))
    memory = found.memory
    assert memory is not None
    assert (memory.array, memory.size, memory.offset, memory.element) == ("in", 256, 256, 64)
    assert memory.state == "after"


def test_text_has_the_line_and_a_caret(ocloc: str) -> None:
    lines = str(fault("skl", "interp")).splitlines()
    assert lines[1].endswith("bad.cl:2:12 in square, inlined at " + f"{SOURCE}:9 in windows")
    assert lines[2].strip() == "return p[i] * p[i];"
    assert lines[3].index("^") == lines[2].index("p[i]")


def test_a_long_line_is_shown_around_its_column() -> None:
    text = "a" * 1000 + "bad" + "c" * 1000
    shown = Place("k.cl", 7, 1001, text=text).excerpt()
    assert len(shown[0]) < 210 and shown[0].strip()[0] == shown[0][-1] == "…"
    assert shown[0].index("bad") == shown[1].index("^")
    begin, end = (
        Place("k.cl", 7, 1, text=text).excerpt(),
        Place("k.cl", 7, 2003, text=text).excerpt(),
    )
    assert begin[0].startswith("  aaa") and begin[0].endswith("…") and begin[1] == "  ^"
    assert end[0].startswith("  …") and end[0].endswith("ccc") and len(end[1]) == len(end[0])
    whole = Place("k.cl", 7, text=text).excerpt()
    assert len(whole[0]) < 210 and len(whole[1]) < 210 and set(whole[1].strip()) == {"^"}


def test_both_engines_say_the_same(ocloc: str) -> None:
    first, second = (fault("skl", engine) for engine in ENGINES)
    assert first.finding == second.finding and str(first) == str(second)


def test_native_code_has_exact_columns(ocloc: str) -> None:
    found = fault("skl", "interp", level="native").finding
    assert (found.file, found.line, found.column) == (str(SOURCE), 2, 12)


def test_without_tables(ocloc: str) -> None:
    """The vISA text is what is left; the code is the same."""
    found = fault("skl", "interp", "-g0").finding
    assert found.place is None and found.file.endswith(".visaasm")
    assert found.code == "out-of-bounds" and found.global_id == (63, 0, 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_an_access_across_the_end(device: str, engine: str, ocloc: str) -> None:
    """It begins in the last element, and goes on behind the array."""
    dev = eumu.Device(device, engine=engine)
    text = "int i = get_global_id(0); o[i] = p[i] + p[i + 1];"
    kernel = eumu.build(f"kernel void f(global int *o, global int *p) {{ {text} }}", dev)["f"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, 16, 16, [dev.array(16, np.int32), dev.array(16, np.int32, name="p")])
    memory = caught.value.finding.memory
    assert memory is not None and (memory.offset, memory.state) == (60, "after")
    assert str(memory).endswith("this is offset 60, element 15, and goes on behind it")


def test_local_memory_is_no_array_of_the_host(ocloc: str) -> None:
    dev = eumu.Device("pvc")
    text = "kernel void f(global int *o, local int *t) { t[o[0]] = 1; o[1] = t[2]; }"
    with pytest.raises(eumu.Fault) as caught:
        eumu.build(text, dev)["f"].launch(
            dev, 1, 1, [dev.array(np.full(2, 1 << 20, np.int32)), eumu.Local(64)]
        )
    assert str(caught.value.finding.memory).startswith("shared local memory has 64 bytes")


def test_global_offset_counts(ocloc: str) -> None:
    found = fault("skl", "interp", global_offset=8).finding
    assert (found.global_id, found.local_id) == ((64, 0, 0), (24, 0, 0))


def test_how_many_more(ocloc: str) -> None:
    dev = eumu.Device("skl", engine="interp")
    kernel = eumu.build("kernel void f(global int *p) { p[get_global_id(0) * 8] = 1; }", dev)["f"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, 16, 16, [dev.array(64, np.int32)])
    found = caught.value.finding
    assert (found.global_id, found.work_items) == ((8, 0, 0), 8)
    assert "work item (8, 0, 0), local id (8, 0, 0), and 7 more" in str(caught.value)
    assert (found.file, found.line) == ("program.cl", 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_freed_memory(engine: str, ocloc: str) -> None:
    dev = eumu.Device("pvc", engine=engine)
    source = "kernel void f(global ulong *p) { *(global int *)p[0] = 1; }"
    kernel = eumu.build(source, dev)["f"]
    gone = dev.array(np.zeros(16, np.int32), name="gone")
    address = gone.address
    gone.free()
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, 1, 1, [dev.array([address + 8], np.uint64)])
    found = caught.value.finding
    assert found.code == "use-after-free" and found.memory is not None
    memory = found.memory
    assert (memory.array, memory.offset, memory.element, memory.state) == ("gone", 8, 2, "freed")


@pytest.mark.parametrize("engine", ENGINES)
def test_null_pointer(engine: str, ocloc: str) -> None:
    dev = eumu.Device("pvc", engine=engine)
    kernel = eumu.build("kernel void f(global int *p) { p[2] = 1; }", dev)["f"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, 1, 1, [None])
    assert (caught.value.code, caught.value.address) == ("null-pointer", 8)


def test_a_header_that_is_included(tmp_path: Path, ocloc: str) -> None:
    (tmp_path / "put.h").write_text("\nvoid put(global int *p, int i) {\n    p[i] = 1;\n}\n")
    file = tmp_path / "k.cl"
    file.write_text('#include "put.h"\nkernel void f(global int *p) { put(p, 64); }\n')
    dev = eumu.Device("skl", engine="interp")
    with pytest.raises(eumu.Fault) as caught:
        eumu.build(file, dev)["f"].launch(dev, 1, 1, [dev.array(64, np.int32)])
    place = caught.value.finding.place
    assert place is not None and place.file.endswith("put.h") and place.line == 3
    assert place.text == "    p[i] = 1;" and place.inlined[0].file == str(file)


def test_a_program_names_no_file_that_is_none() -> None:
    from eumu.runtime.sources import Sources

    for name in ("/dev/zero", "/nowhere/k.cl", "/tmp", "a\0b"):
        assert Sources().place(Place(name, 3), True).text == ""


def test_several_columns_of_a_line_are_none() -> None:
    """Where it is not certain which access it was, no column is said."""
    from eumu.zebin.lines import _Row

    two = (_Row(3, True, "f", ()), _Row(9, True, "f", ()))
    found = DebugLines({("k.cl", 4): two}).more(Place("k.cl", 4), access=True)
    assert found.column is None and found.function == "f"
    mixed = (_Row(3, True, "f", ()), _Row(9, False, "f", ()))
    assert DebugLines({("k.cl", 4): mixed}).more(Place("k.cl", 4), access=True).column == 3


@pytest.mark.parametrize("again", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_errors_pickle(again: Any) -> None:
    source = eumu.errors.Source("k.cl", "a\nb\n")
    span = eumu.errors.Span(source, 2, 1, 2, 2)
    wrong = eumu.Diagnostic("parse", "no", span)
    errors: list[eumu.EumuError] = [
        eumu.Fault("lost", kernel="f", span=span, group=(1, 2, 3), lanes=(4,), address=5),
        eumu.BuildError.of([wrong]),
        eumu.Unsupported("that", span=span, spec="ADD"),
        eumu.ToolMissing("ocloc"),
        eumu.LaunchError("no"),
        eumu.OutOfMemory("full"),
        eumu.ArgumentError("of another kind"),
    ]
    for error in errors:
        copied = again(error)
        assert type(copied) is type(error) and str(copied) == str(error)
        assert repr(copied) == repr(error) and copied.args == error.args
        assert copied.__dict__ == error.__dict__
        assert type(type(error).__new__(type(error))) is type(error)  # as other picklers make them
    assert again(errors[0]).finding == errors[0].finding  # type: ignore[attr-defined]


def test_lines_that_there_are_not_have_no_text() -> None:
    """The compiler writes line 0 where it knows none."""
    sources = Sources({"k.cl": ("k.cl", "first\nlast")})
    texts = [sources.place(Place("k.cl", line), access=False).text for line in (0, 1, 2, 3)]
    assert texts == ["", "first", "last", ""]
