"""Support functions are compiled once, beside the kernels that call them."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from eumu.exec.jit.codegen.shared import divide
from eumu.exec.jit.driver.module import build
from eumu.exec.jit.host import cache, compiler
from eumu.exec.jit.host.specials import specialise
from eumu.exec.jit.host.target import Processor, compile_object, host
from eumu.exec.jit.interface import Module, Special
from exec.jit_programs import Program

SLOW = """
define internal i1 @slow.{name}(ptr %ctx, i64 %a) noinline {{
  %p = call ptr @locate.slm(ptr %ctx, ptr %ctx, i64 0, i64 %a, i64 4, i64 4, i1 false)
  %none = icmp eq ptr %p, null
  {call}ret i1 %none
}}
"""
RECORD = "call void @record(ptr %ctx, i64 0, i64 1, i64 %a, i64 0)\n  "
OTHER = "call void @own(ptr %ctx)\n  "
OWN = "define internal void @own(ptr %ctx) noinline {\n  ret void\n}\n"
KERNEL = """
define i32 @run(ptr %ctx, i64 %groups) #0 {
  %x = call i1 @slow.a(ptr %ctx, i64 0)
  ret i32 0
}
"""


def divided(**calls: str) -> tuple[str, tuple[str, ...]]:
    slow = {f"slow.{n}": SLOW.format(name=n, call=c) for n, c in calls.items()}
    found = divide({**slow, "own": OWN}, (), KERNEL, is_arm=False)
    return found.text, found.objects


def test_a_slow_access_is_an_object_and_what_calls_the_kernels_own_stays() -> None:
    text, objects = divided(a=RECORD, b=OTHER)
    assert [re.findall(r"define hidden \S+ @([\w.]+)", o)[-1] for o in objects[1:]] == ["slow.a"]
    assert "declare i1 @slow.a(" in text
    assert "define internal i1 @slow.b(" in text
    assert "define internal void @own(" in text
    assert all(compile_object(t, host()) for t in (text, *objects))


def test_the_same_access_is_the_same_object_whatever_else_there_is() -> None:
    assert divided(a=RECORD)[1] == divided(a=RECORD, b=OTHER)[1]


def modules() -> list[Module]:
    """Those of two kernels that load and store alike."""
    grids = [Program(Random(seed), branches=False).grid(tail=False) for seed in (1, 1)]
    functions = [grid.function for grid in grids]
    functions[1].name = "another"
    return [
        build(function, special, host().target)
        for function, special in zip(functions, map(specialise, grids), strict=True)
    ]


def test_kernels_have_their_objects_in_common(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is compiled once, by this process or an earlier one."""
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("EUMU_CACHE", raising=False)
    made: list[str] = []

    def counted(text: str, processor: Processor) -> bytes:
        made.append(text)
        return compile_object(text, processor)

    monkeypatch.setattr(compiler, "compile_text", counted)
    for module in modules():
        cache._support.cache_clear()  # as a new process
        found = [cache._support(text, host()) for text in module.support]
        assert len(found) >= 2
    assert sorted(made) == sorted(set(made))
    assert len(list(tmp_path.glob("*.support"))) == len(made)
    (damaged, *_) = tmp_path.glob("*.support")
    damaged.write_bytes(b"")
    cache._support.cache_clear()
    assert [cache._support(text, host()) for text in modules()[0].support] == found
    assert len(made) == len(set(made)) + 1
    cache._support.cache_clear()


def test_kernels_define_nothing_that_others_have() -> None:
    for module in modules():
        names = re.findall(r"^define .*?@([\w.]+)\(", module.text, re.MULTILINE)
        assert not [n for n in names if n.startswith(("slow.", "locate.flat", "extent", "look"))]


def test_where_every_access_is_asserted_all_is_one_text() -> None:
    grid = Program(Random(1), branches=False).grid(tail=False)
    special = specialise(grid)
    given = {name: getattr(special, name) for name in special.__slots__}
    module = build(grid.function, Special(**given | {"paranoid": True}), host().target)
    assert not module.support
    assert "@look.thread(" in module.text
