"""Findings of programs that are linked of objects show the lines of the objects' sources."""

from __future__ import annotations

import numpy as np
import pytest

import eumu
from eumu.cl.builds import Made, build
from eumu.cl.protocol import Form, Wanted
from eumu.platforms import platform
from eumu.runtime.program import load_built

_CALLS = b"""int helper(global int *p, int k);

kernel void far(global int *p) {
    int i = get_global_id(0);
    p[i] = helper(p, i);
}
"""
_HELPS = b"""// a part of its own
int helper(global int *p, int k) {
    return p[k + 100000] + 1;
}
"""
_ALONE = b"\nkernel void far(global int *p) {\n    p[get_global_id(0) + 100000] = 1;\n}\n"


def _object(text: bytes, device: str, options: str = "") -> Made:
    return build(Wanted.OBJECT, Form.SOURCE, options, [("", text)], platform(device))


def _linked(device: str, *objects: Made) -> Made:
    parts = [("", made.data) for made in objects]
    return build(Wanted.LINKED, Form.OBJECTS, "", parts, platform(device))


def _fault(made: Made, device: str) -> eumu.Fault:
    target = eumu.Device(device)
    program = load_built(made.data, target, made.sources)
    with pytest.raises(eumu.Fault) as caught:
        program["far"].launch(target, 32, 32, [target.array(np.zeros(32, np.int32))])
    return caught.value


@pytest.mark.parametrize(("release", "device"), [("old", "skl"), ("old", "pvc"), ("new", "dg2")])
def test_a_line_of_the_second_object(
    release: str,
    device: str,
    ocloc: str,
    newest_ocloc: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EUMU_OCLOC", ocloc if release == "old" else newest_ocloc)
    made = _linked(device, _object(_CALLS, device), _object(_HELPS, device))
    said = str(_fault(made, device))
    assert "  at program-2.cl:3:" in said, said
    assert "    return p[k + 100000] + 1;" in said, said


@pytest.mark.parametrize("options", ["", "-g", "-cl-std=CL2.0"])
def test_one_object_is_the_program(
    options: str, ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    said = str(_fault(_linked("pvc", _object(_ALONE, "pvc", options)), "pvc"))
    assert "  at program.cl:3:" in said, said
    assert "    p[get_global_id(0) + 100000] = 1;" in said, said


def test_an_object_with_a_header(ocloc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    parts = [("", b'#include "far.h"\n' + _ALONE), ("far.h", b"#define FAR 1\n")]
    made = build(Wanted.OBJECT, Form.SOURCE, "", parts, platform("pvc"))
    said = str(_fault(_linked("pvc", made), "pvc"))
    assert "  at program.cl:4:" in said and "get_global_id" in said, said


def test_lines_change_no_instruction(ocloc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    texts = []
    for options in ("", "-g0"):
        objects = [_object(text, "pvc", options) for text in (_CALLS, _HELPS)]
        program = load_built(_linked("pvc", *objects).data, eumu.Device("pvc"), {})
        assert program.elf is not None
        texts.append(program.elf.kernels[0].text)
    assert texts[0] == texts[1]


def test_what_the_compiler_says_names_the_source(
    ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    with pytest.raises(eumu.EumuError, match=r"^program\.cl:2:37: error: use of undeclared"):
        _object(b"\nkernel void f(global int *p) { *p = q; }", "pvc")


def test_objects_of_another_process_have_lines_without_text(
    ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an object holds is no source, but a name for it."""
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    made = _object(_ALONE, "pvc")
    assert b"100000" not in made.data
    monkeypatch.setattr("eumu.cl.texts._texts", {})
    said = str(_fault(_linked("pvc", made), "pvc"))
    assert "  at program.cl:3:" in said and "get_global_id" not in said, said
