"""Messages to the host: what it is given, what comes back, and what happens when it does not."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.errors import Fault, Unsupported
from eumu.exec.host import Engine, Refusal
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.ir.passes import fold_modes
from eumu.types import BF, UB, UD, UQ, F
from exec.launching import RNE, Host, Kernel, grid_of

WIDTH, GROUPS, LOCAL = 16, 6, 40  # three threads a group, the last with half of its lanes
THREADS = GROUPS * 3


@dataclass(frozen=True)
class Sum:
    """Adds up what it is sent."""

    scale: int


@dataclass
class Answering(Host):
    """A host that answers `Sum` and keeps what it was asked."""

    wrong: BaseException | None = None
    at: int = 0  # the thread that gets `wrong`
    seen: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    inside: int = 0

    def message(
        self,
        record: Sum,
        threads: NDArray[np.intp],
        mask: NDArray[np.bool_],
        arguments: Sequence[NDArray[Any]],
    ) -> list[NDArray[Any]]:
        self.inside += 1
        assert self.inside == 1, "two messages at once"
        try:
            for row, thread in enumerate(threads):
                self.seen[int(thread)] = (mask[row].copy(), *(x[row].copy() for x in arguments))
                if self.wrong is not None and int(thread) == self.at:
                    if isinstance(self.wrong, Refusal):
                        self.wrong.row = row
                    raise self.wrong
            index, single, octet, wide, half = arguments
            total = index * np.uint32(record.scale) + octet
            return [
                total.astype(np.uint32),
                single * np.float32(2),
                np.uint64(3) + wide[:, :1],
                half,
                np.array([[7]], np.uint8),
            ]
        finally:
            self.inside -= 1


def kernel() -> Kernel:
    """Sends five arrays of several types and widths, and stores four answers."""
    k = Kernel()
    b, item = k.b, k.item(LOCAL)
    k.inst(1)
    single = b.convert(item, F, rounding=RNE)
    octet = b.convert(item, UB, rounding=RNE)
    wide = b.slice(k.argument(0), 0, 1)
    half = b.const(BF, [0x3F80] * 3, 3)
    shape = [(UD, WIDTH), (F, WIDTH), (UQ, 1), (BF, 3), (UB, WIDTH)]
    total, double, more, same, seven = b.message(
        Sum(10), k.mask(), [item, single, octet, wide, half], shape
    )
    k.inst(2)
    k.result(0, item, total)
    k.result(1, item, double)
    k.result(2, item, b.sub(b.splat(more, WIDTH), k.argument(0), RNE))
    k.result(3, item, seven)
    assert same.type is BF
    k.end()
    return k


def run(host: Host, engine: Engine) -> None:
    engine.run(grid_of(fold_modes(kernel().function), host, GROUPS, LOCAL), host)


def arrays() -> list[NDArray[Any]]:
    return [np.zeros(GROUPS * LOCAL, t) for t in (np.uint32, np.float32, np.uint64, np.uint8)]


ENGINES: list[Engine] = [Interpreter(), Interpreter(batch_lanes=64), Jit(workers=1), Jit(workers=2)]
each = pytest.mark.parametrize("engine", ENGINES, ids=["interp", "small", "jit", "jit2"])


@each
def test_what_is_sent_and_what_comes_back(engine: Engine) -> None:
    host, item = Answering(arrays()), np.arange(GROUPS * LOCAL)
    run(host, engine)
    assert (host.read(0) == item * 10 + item % 256).all()
    assert (host.read(1) == 2 * item).all()
    assert (host.read(2) == 3).all() and (host.read(3) == 7).all()
    assert set(host.seen) == set(range(THREADS))
    for thread, (mask, index, *_, half) in host.seen.items():
        group, member = divmod(thread, 3)
        exists = np.arange(16) + member * 16 < LOCAL
        assert (mask == exists).all()
        assert (index[exists] == group * LOCAL + member * 16 + np.arange(16)[exists]).all()
        assert (half == 0x3F80).all()


@each
def test_a_refusal_is_a_fault_of_the_thread(engine: Engine) -> None:
    wrong = Refusal("no such surface", lanes=(2, 3), address=0x40, notes=("a note",))
    host = Answering(arrays(), wrong=wrong, at=4)
    with pytest.raises(Fault) as caught:
        run(host, engine)
    fault = caught.value
    assert (fault.reason, fault.group, fault.thread) == ("no such surface", (1, 0, 0), 1)
    assert (fault.lanes, fault.address, fault.notes) == ((2, 3), 0x40, ("a note",))
    assert fault.kernel == "k" and fault.span is not None and fault.span.line == 2


class Strange(BaseException):
    """Not even an Exception."""


@each
@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyboardInterrupt, Strange])
def test_any_other_error_comes_out_and_the_engine_works_on(
    engine: Engine, kind: type[BaseException]
) -> None:
    with pytest.raises(kind):
        run(Answering(arrays(), wrong=kind("by the host"), at=7), engine)
    host = Answering(arrays())
    run(host, engine)
    assert (host.read(3) == 7).all()


@each
def test_wrong_results_are_an_internal_error(engine: Engine) -> None:
    class Short(Answering):
        def message(self, *given: Any) -> list[NDArray[Any]]:
            return super().message(*given)[:4]

    class Odd(Answering):
        def message(self, *given: Any) -> list[NDArray[Any]]:
            found = super().message(*given)
            return [found[0].astype(np.int64), *found[1:]]

    for host in (Short(arrays()), Odd(arrays())):
        with pytest.raises(AssertionError, match="message"):
            run(host, engine)


@each
def test_a_host_without_answers(engine: Engine) -> None:
    host = Host(arrays())
    with pytest.raises(Unsupported, match=r"k\.visaasm:2:1: .*Sum messages") as caught:
        run(host, engine)
    assert not caught.value.is_late and (host.read(0) == 0).all()


def test_a_late_refusal_of_the_model_does_not_run_the_kernel_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import eumu

    device = eumu.Device("pvc", engine="jit")
    calls = []

    def message(record: Sum, threads: Any, mask: Any, arguments: Any) -> list[NDArray[Any]]:
        calls.append(threading.current_thread())
        raise Unsupported("that kind of sum")

    monkeypatch.setattr(device, "_host", lambda grid, stop: device.memory.answering(message))
    array = device.array(GROUPS * LOCAL * 8, "u1")
    host = Host(arrays())
    host.addresses = [array.address] * 4
    grid = grid_of(fold_modes(kernel().function), host, 1, 16)
    with warnings.catch_warnings(), pytest.raises(Unsupported, match="that kind of sum"):
        warnings.simplefilter("error")
        device.run(grid)
    assert len(calls) == 1
