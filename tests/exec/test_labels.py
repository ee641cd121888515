"""What comes of an instruction has its label: what differs where its results do is labelled.

Run files are run twice, as they are and with the lowest bit of what one instruction writes turned
over.  Bytes of memory that differ then must be labelled, unless what was reached is said to decide
which bytes are written: branches, stores and atomic operations by address or predicate, messages.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runfile
import visa_thread
from eumu.errors import Fault, Unsupported
from eumu.exec.fidelity import Followed, Sink
from eumu.exec.interp import Interpreter
from eumu.exec.interp.labels import Labels
from eumu.exec.observe import Observer
from eumu.ir import Builder, Function, Space, Value
from eumu.ir.fidelity import Fidelity
from eumu.ir.operations.memory import Access
from eumu.ir.operations.state import Write, WriteFlag, WriteIndirect
from eumu.types import BOOL, integer

SLOW = {"long_loop"}
RUNS = sorted((Path(__file__).parents[1] / "runs").rglob("*.visa"))
RUNS = [path for path in RUNS if path.stem not in SLOW]
MOST = 2  # instructions of a file
OPEN = Fidelity("approximate", "a test")


class Watching(Observer):
    """Keeps what a launch reached, and the labels of its memory."""

    def __init__(self) -> None:
        self.kept = Followed()

    @property
    def followed(self) -> Followed:
        return self.kept


def turned(function: Function, inst: int) -> None:
    """Turn over the lowest bit of what an instruction writes."""
    used = [v.id for block in function.blocks for op in block.ops for v in op.results]
    b = Builder(function, max(used, default=-1) + 1)
    for block in function.blocks:
        old, block.ops = block.ops, []
        end, block.end = block.end, None
        b.block = block
        for op in old:
            if op.inst == inst and isinstance(op, Write | WriteFlag | WriteIndirect):
                b.inst = inst
                place = 1 if isinstance(op, WriteIndirect) else 0
                args = list(op.args)
                args[place] = _other(b, args[place])
                op = replace(op, args=tuple(args))
            block.ops.append(op)
        block.end = end


def _other(b: Builder, x: Value) -> Value:
    if x.type is BOOL:
        return b.not_(x)
    raw = integer(x.type.bits, signed=False)
    return b.bitcast(b.xor(b.bitcast(x, raw), b.const(raw, 1, x.width)), x.type)


def _writes(function: Function) -> list[int]:
    kinds = Write | WriteFlag | WriteIndirect
    found = {op.inst for block in function.blocks for op in block.ops if isinstance(op, kinds)}
    return sorted(inst for inst in found if inst >= 0)


def _decides(function: Function, inst: int, sink: Sink) -> bool:
    """Whether what was reached decides which bytes are written."""
    if sink in (Sink.BRANCH, Sink.MESSAGE):
        return True
    ops = (op for block in function.blocks for op in block.ops if op.inst == inst)
    return sink is not Sink.ATOMIC and any(isinstance(op, Access) and op.data for op in ops)


def _memory(
    file: runfile.RunFile, run: runfile.Run, change: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[np.ndarray[Any, Any], Labels | None, Followed]:
    """The memory that a run leaves, its labels, and what was reached."""
    lowered, made, hosts = visa_thread.lower, list[Labels](), list[Any]()
    watching, start = Watching(), Labels.__init__

    def lower(*args: Any) -> Function:
        function = lowered(*args)
        change(function)
        return function

    def keep(self: Labels, *args: Any) -> None:
        start(self, *args)
        made.append(self)

    def init(self: Any, *args: Any) -> None:
        plain(self, *args)
        self.observer = watching
        hosts.append(self)

    plain = visa_thread.FlatHost.__init__
    with monkeypatch.context() as patch:
        patch.setattr(visa_thread, "lower", lower)
        patch.setattr(Labels, "__init__", keep)
        patch.setattr(visa_thread.FlatHost, "__init__", init)
        runfile.run(file, run, file.platforms[0], Interpreter())
    return hosts[0].arena, made[0] if made else None, watching.kept


@pytest.mark.parametrize("path", RUNS, ids=lambda p: p.stem)
def test_what_differs_is_labelled(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = runfile.read(path)
    if file.pictures or "interp" not in file.engines:
        return  # memory of images has no labels
    found: list[Function] = []
    run = file.runs[0]
    before, _, _ = _memory(file, run, found.append, monkeypatch)
    insts = _writes(found[0])
    for inst in insts[:: max(1, len(insts) // MOST)]:

        def mark(function: Function, inst: int = inst) -> None:
            function.fidelity = {inst: OPEN}

        def turn(function: Function, inst: int = inst) -> None:
            turned(function, inst)

        _, labels, reached = _memory(file, run, mark, monkeypatch)
        assert labels is not None
        try:
            after, _, _ = _memory(file, run, turn, monkeypatch)
        except (Fault, Unsupported):
            continue  # it was an address, or %cr0
        if any(_decides(found[0], *use) for use in reached.uses):
            continue
        marked = np.zeros(len(before), bool)
        for (space, page), bits in labels._pages.items():
            if space is Space.FLAT:
                part = marked[page << 12 : (page + 1) << 12]
                part[...] = bits[: len(part)] != 0
        lost = np.flatnonzero((before != after) & ~marked)
        assert not len(lost), f"{found[0].texts[inst]} in {file.kernel.name}: bytes {lost[:8]}"


def test_the_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the labels of what is read, bytes that differ have none."""
    monkeypatch.setattr(Labels, "read", lambda *args: None)
    path = next(p for p in RUNS if p.stem == "add")
    with pytest.raises(AssertionError, match="bytes"):
        test_what_differs_is_labelled(path, monkeypatch)
