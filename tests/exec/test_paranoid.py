"""``EUMU_PARANOID=1``: an access that got past the checks is an internal error, not a crash."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from eumu.errors import InternalError
from eumu.exec.jit import Jit
from eumu.exec.jit.codegen import ahead, block_accesses, irregular, memory, rows, stores
from eumu.exec.jit.host.target import host
from eumu.exec.jit.llvm.paranoid import asserted
from eumu.ir import Space
from eumu.ir.passes import fold_modes
from eumu.types import UD, UQ
from exec.launching import Host, Kernel, grid_of
from exec.test_ahead import walk
from exec.test_messages import Answering, arrays
from exec.test_messages import run as ask
from hostile.run import run


@pytest.fixture(autouse=True)
def paranoid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_PARANOID", "1")
    monkeypatch.setenv("EUMU_CACHE", "off")


def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code finds every access right."""

    def check(*_: Any) -> tuple[str, str]:
        return "true", "%flat"

    for module in (memory, stores, block_accesses):
        monkeypatch.setattr(module, "check", check)
        monkeypatch.setattr(module, "is_expected", lambda *_: False, raising=False)


def kernel(what: str, far: int) -> Kernel:
    k = Kernel()
    place = k.add(k.argument(0), k.number(UQ, far))
    one, data = k.b.shuffle(k.mask(), (0,)), k.b.const(UD, tuple(range(16)), 16)
    if what == "store":
        k.b.store(Space.FLAT, k.add(place, k.mul(k.b.convert(k.lane(), UQ), k.number(UQ, 4))),
                  k.mask(), [k.lane()])  # fmt: skip
    elif what == "load":
        k.result(0, k.lane(), k.b.load(Space.FLAT, place, k.mask(), UD)[0])
    else:
        k.b.store_block(Space.FLAT, k.b.shuffle(place, (0,)), one, data)
    k.end()
    return k


@pytest.mark.parametrize("far", [1 << 40, -(1 << 40), 1 << 20])
@pytest.mark.parametrize("what", ["store", "load", "block"])
def test_what_no_check_stopped_is_named(
    what: str, far: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    blind(monkeypatch)
    host = Host([np.zeros(64, np.uint32)])
    before = host.arena.copy()
    grid = grid_of(fold_modes(kernel(what, far).function), host)
    with pytest.raises(InternalError, match="kernel k accesses"):
        Jit(workers=1).run(grid, host)
    assert what == "load" or (host.arena == before).all()


@pytest.mark.parametrize("blind", [rows, ahead])
def test_rows_are_looked_at(blind: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read for lanes that follow no pattern, and for turns to come."""
    if not host().target.gathers:
        pytest.skip("without wide vectors no rows are loaded")
    places = irregular.places
    monkeypatch.setattr(irregular, "places", lambda *a: replace(places(*a), inside="true"))
    monkeypatch.setattr(irregular, "is_rare", lambda *_: False)
    monkeypatch.setattr(ahead, "_may_fill", lambda *_: "true")
    monkeypatch.setattr(ahead, "_BEFORE", 0)
    if blind is rows:
        k = Kernel()
        place = k.add(k.argument(0), k.mul(k.b.convert(k.lane(), UQ), k.number(UQ, 1 << 40)))
        k.result(0, k.lane(), k.b.load(Space.FLAT, place, k.mask(), UD, 3)[0])
        k.end()
    else:
        k = walk(UD, 4, "all", "diverge", apart=1 << 40)
    memory = Host([np.zeros(1024, np.uint32), np.zeros(16, np.uint64)])
    with pytest.raises(InternalError, match="kernel k accesses"):
        Jit(workers=1).run(grid_of(fold_modes(k.function), memory), memory)


@pytest.mark.parametrize("what", ["store", "load", "block"])
def test_what_is_right_runs(what: str) -> None:
    host = Host([np.zeros(64, np.uint32)])
    grid = grid_of(fold_modes(kernel(what, 0).function), host)
    assert Jit(workers=1).run(grid, host).groups == 1


def test_an_access_of_another_form_is_not_left_out() -> None:
    text = "define void @f(ptr %ctx) {\n  %x = load { i32, i32 }, ptr %p\n}"
    with pytest.raises(InternalError, match="cannot be asserted"):
        asserted(text)


def test_what_accesses_memory_has_the_context() -> None:
    text = "define void @f(ptr %p) {\n  %x = load i32, ptr %p\n}"
    with pytest.raises(InternalError, match="without context"):
        asserted(text)


def test_hostile_kernels_pass() -> None:
    _, findings = run(100, 3)
    assert not findings


@pytest.mark.parametrize("workers", [1, 2])
def test_messages_reach_python(workers: int) -> None:
    """Its functions, and the word that lets workers leave, are no memory of the launch."""
    host = Answering(arrays())
    ask(host, Jit(workers=workers))
    assert (host.read(3) == 7).all()
    with pytest.raises(KeyboardInterrupt):
        ask(Answering(arrays(), wrong=KeyboardInterrupt(), at=7), Jit(workers=workers))
