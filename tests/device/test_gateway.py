"""The message gateway's barriers over subslices, and vISA's named barriers on the same state.

G2, G4, G6 and M8 of the checklist.  The fast engine has the state machine in compiled form; random
sequences compare it with the model, message by message.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from eumu.device.chip import BarrierKind, Gateway, Gateways, part, pools
from eumu.device.chip.gateway import Votes
from eumu.device.chip.pools import MAP_3X6
from eumu.errors import Fault, LaunchError
from eumu.exec import named
from eumu.exec.gateway import BarrierState, Surplus
from eumu.exec.named import BOTH, CONSUMER, PRODUCER
from eumu.ir import Region, Space, Value
from eumu.ir.operations.ends import Barrier
from eumu.types import UD
from exec.launching import Kernel, on_both, on_memory


def message(number: int, count: int | None = None, predicate: int = 0) -> list[int]:
    word = (number >> 4) << 31 | (number & 15) << 24
    word |= 0 if count is None else 1 << 15 | count << 9
    return [0, 0, word, predicate, 0, 0]


# ---- linked and global


def test_g6_a_linked_barrier_wakes_all_subslices_at_once() -> None:
    gateways = Gateways(range(3))
    number = gateways.allocate({0: 2, 1: 1, 2: 1}, BarrierKind.LINKED)
    order = [(1, 7), (0, 3), (2, 0), (0, 1)]
    told = [gateways.message(at, message(number)) for at in order]
    assert told[:-1] == [(), (), ()]
    assert sorted(told[-1]) == sorted(order)


@pytest.mark.parametrize("kind", list(BarrierKind))
def test_g6_random_rounds(kind: BarrierKind) -> None:
    """Whatever the order, nobody is told before the last has come, and then all are, once."""
    rng = random.Random(kind.value)
    for _ in range(200):
        slices = rng.sample(range(3), 1 if kind is BarrierKind.LOCAL else rng.randrange(1, 4))
        counts = {s: rng.randrange(1, 6) for s in slices}
        gateways = Gateways(range(3))
        others = [gateways.allocate({s: 1}, BarrierKind.LOCAL) for s in range(3)]
        number = gateways.allocate(counts, kind)
        assert number not in {others[s] for s in counts}
        for _ in range(3):
            threads = [(s, t) for s, count in counts.items() for t in range(count)]
            rng.shuffle(threads)
            told = [gateways.message(at, message(number)) for at in threads]
            assert not any(told[:-1]) and sorted(told[-1]) == sorted(threads)
        gateways.release(number, counts)
        assert gateways.allocate(counts, kind) == number


def test_g4_linked_and_global_barriers_take_no_count() -> None:
    for kind in (BarrierKind.LINKED, BarrierKind.GLOBAL):
        gateways = Gateways(range(2))
        number = gateways.allocate({0: 1, 1: 1}, kind)
        with pytest.raises(LaunchError, match=f"is {kind.value} across subslices"):
            gateways.message((0, 0), message(number, count=1))


def test_groups_of_a_pool_have_linked_barriers() -> None:
    """A group of 54 threads in pool 1 of the PRM's example: 3 units in a subslice, 6 in another."""
    pool = pools(part("bxt-3x6"), MAP_3X6)[1]
    counts: dict[int, int] = {}
    for unit in pool.units:
        counts[unit.subslice] = counts.get(unit.subslice, 0) + pool.threads_per_eu
    assert sum(counts.values()) == 54 and len(counts) > 1
    gateways = Gateways(range(3))
    with pytest.raises(LaunchError, match="a local barrier for threads in subslices"):
        gateways.allocate(counts, BarrierKind.LOCAL)
    number = gateways.allocate(counts, BarrierKind.LINKED)
    threads = [(s, t) for s, count in counts.items() for t in range(count)]
    told = [gateways.message(at, message(number)) for at in threads]
    assert [len(t) for t in told] == [0] * 53 + [54]


def test_m8_kinds_that_exclude_each_other() -> None:
    gateways = Gateways(range(2))
    linked = gateways.allocate({0: 1, 1: 1}, BarrierKind.LINKED)
    with pytest.raises(LaunchError, match="global and linked"):
        gateways.allocate({0: 1}, BarrierKind.GLOBAL)
    gateways.stall()  # the group has not ended: the stall has not either
    with pytest.raises(LaunchError, match="global and linked"):
        gateways.allocate({0: 1}, BarrierKind.GLOBAL)
    gateways.release(linked, (0, 1))
    gateways.stall()
    gateways.allocate({0: 1}, BarrierKind.GLOBAL)
    gateways.allocate({0: 1}, BarrierKind.LOCAL)
    strict = Gateways(range(2), legacy_dispatch=False)
    strict.allocate({0: 1}, BarrierKind.LOCAL)
    with pytest.raises(LaunchError, match="Legacy policy"):
        strict.allocate({0: 1}, BarrierKind.GLOBAL)


def test_numbers_run_out_and_groups_must_have_ended() -> None:
    gateways = Gateways(range(2))
    for _ in range(32):
        gateways.allocate({0: 1, 1: 1}, BarrierKind.LINKED)
    with pytest.raises(LaunchError, match="all 32 barriers"):
        gateways.allocate({1: 1}, BarrierKind.LOCAL)
    with pytest.raises(LaunchError, match="no group has"):
        gateways.allocate({5: 1}, BarrierKind.LOCAL)
    gateways.message((0, 0), message(3))
    with pytest.raises(LaunchError, match="wait at it"):
        gateways.release(3, (0, 1))


def test_g2_predicates_of_a_round() -> None:
    gateway = Gateway()
    number = gateway.allocate(2)
    gateway.message(0, message(number, predicate=0b0110))
    gateway.message(1, message(number, predicate=0b1100))
    assert gateway.barriers[number].outcome == Votes(0b1110, 0b0100, 4)
    gateway.message(0, message(number, predicate=1))
    assert gateway.barriers[number].outcome == Votes(0b1110, 0b0100, 4)  # of the last whole round


# ---- named barriers: the model, and both engines on random sequences

THREADS = 6
Step = tuple[int, int, int, int, int, int]  # thread, signals, barrier, role, producers, consumers


class Model:
    """The group's named barriers by `BarrierState` alone."""

    def __init__(self) -> None:
        self.states: dict[int, BarrierState] = {}
        self.notices: set[tuple[int, int]] = set()

    def step(self, step: Step) -> str:
        """What is wrong, or nothing."""
        thread, signals, barrier, role, *counts = step
        if not signals:
            stays = (thread, barrier) not in self.notices
            self.notices.discard((thread, barrier))
            return "deadlock" if stays else ""
        if barrier >= named.MOST:
            return named.no_barrier(barrier)
        if role > CONSUMER:
            return named.no_role(role)
        state = self.states.get(barrier)
        if state is None or not state.is_waited_at:
            state = self.states[barrier] = BarrierState(*counts)
        if state.expected != tuple(counts):
            return named.other_counts(barrier, state.expected, (counts[0], counts[1]))
        try:
            told = state.arrive(thread, role)
        except Surplus:
            return named.too_many(barrier, state.expected)
        self.notices |= {(t, barrier) for t in told or ()}
        return ""


def player() -> Kernel:
    """Threads play a list of steps, one at a time: the group meets after each.

    Argument 0 has the steps, argument 1 gets the number of the last step that each thread saw.
    """
    k = Kernel(
        *("entry", "loop", "mine", "signal", "signalled"),
        *("wait", "waited", "meet", "next", "done"),
    )
    b = k.b
    for name in ("STEP", *"ABCDEF"):
        k.root(name, 64)

    def scalar(name: str) -> Value:
        return b.read(k.function.roots[name], Region.scalar(0), UD, 1)

    k.go("jump", "loop")
    k.at("loop")
    for place, name in enumerate("ABCDEF"):
        index = k.add(k.mul(k.get("STEP"), k.number(UD, 6)), k.number(UD, place))
        k.put(name, k.input(0, index, UD))
    thread = b.special("thread_id", UD)
    k.go("branch", "mine", "meet", mask=b.cmp("eq", scalar("A"), thread))
    k.at("mine")
    k.go("branch", "signal", "wait", mask=b.cmp("ne", scalar("B"), b.const(UD, 0)))
    k.at("signal")
    args = [scalar(name) for name in "CDEF"]
    b.terminate(Barrier(args, (k.labels["signalled"],), kind="signal"))
    k.at("signalled")
    k.go("jump", "meet")
    k.at("wait")
    b.terminate(Barrier((scalar("C"),), (k.labels["waited"],), kind="wait"))
    k.at("waited")
    k.go("jump", "meet")
    k.at("meet")
    b.terminate(Barrier((), (k.labels["next"],), kind="sync"))
    k.at("next")
    k.result(1, k.local_id(), k.get("STEP"))
    k.put("STEP", k.add(k.get("STEP"), k.number(UD, 1)))
    last = b.cmp("eq", k.input(0, k.mul(k.get("STEP"), k.number(UD, 6)), UD), k.number(UD, 99))
    k.go("diverge", "done", "loop", mask=last)
    k.at("done")
    k.end()
    return k


def sequence(rng: random.Random, model: Model, count: int) -> tuple[list[Step], str]:
    """Steps that are mostly legal, and what is wrong with the last."""
    counts = {n: (rng.randrange(1, 4), rng.randrange(1, 4)) for n in range(4)}
    steps: list[Step] = []
    for _ in range(count):
        thread, barrier = rng.randrange(THREADS), rng.randrange(4)
        if model.notices and rng.random() < 0.4:
            thread, barrier = rng.choice(sorted(model.notices))
            step: Step = (thread, 0, barrier, 0, 0, 0)
        elif rng.random() < 0.02:
            step = rng.choice([(thread, 0, barrier, 0, 0, 0), (thread, 1, 40, 0, 1, 1)])
        else:
            state = model.states.get(barrier, BarrierState(*counts[barrier]))
            roles = [
                role
                for role in (BOTH, PRODUCER, CONSUMER)
                if (role == CONSUMER or len(state.come_producers) < state.producers)
                and (role == PRODUCER or len(state.come_consumers) < state.consumers)
            ]
            role = rng.choice(roles) if rng.random() < 0.97 else rng.randrange(4)
            said = counts[barrier] if rng.random() < 0.97 else (2, 5)
            step = (thread, 1, barrier, role, *said)
        steps.append(step)
        wrong = model.step(step)
        if wrong:
            return steps, wrong
    return steps, ""


def play(k: Kernel, steps: Sequence[Step]) -> str:
    """What both engines say of the steps; they must agree, and nobody may be ahead."""
    table = np.array([*(x for step in steps for x in step), *[99] * 6], np.uint32)
    try:
        host = on_both(k, [table, np.zeros(16 * THREADS, np.uint32)], 1, 16 * THREADS)
    except Fault as fault:
        return fault.reason
    assert (host.read(1) == len(steps) - 1).all()
    return ""


@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=pytest.mark.weekly)])
def test_named_barriers_of_both_engines_are_the_model(count: int) -> None:
    k = player()
    ends = set()
    for seed in range(count):
        steps, wrong = sequence(random.Random(seed), Model(), 40)
        found = play(k, steps)
        assert found.startswith(wrong) and bool(found) == bool(wrong), (seed, found, wrong)
        ends.add(wrong.split()[0] if wrong else "")
    assert {"", "deadlock", "more", "there", "named"} <= ends or count < 50


# ---- the same without anybody who says whose turn it is

ROUNDS = 24
Told = tuple[int, int, int, int]  # a thread's part in a round: barrier, role, producers, consumers


def free_player() -> Kernel:
    """Threads play their own steps (signals, barrier, role, producers, consumers) and wait.

    Argument 1 is a counter; argument 2 gets its value before a signal and behind a wait.
    """
    k = Kernel("entry", "loop", "signal", "signalled", "wait", "waited", "next", "done")
    b = k.b
    for name in ("STEP", "BEFORE", *"ABCDE"):
        k.root(name, 64)

    def scalar(name: str) -> Value:
        return b.read(k.function.roots[name], Region.scalar(0), UD, 1)

    def note() -> None:
        """The next number of the counter, where this step's is kept."""
        zero, one = k.number(UD, 0), b.cmp("eq", k.lane(), k.number(UD, 0))
        taken = b.atomic("add", Space.FLAT, k.address(1, zero, 4), one, UD, (k.number(UD, 1),))
        k.result(2, mine(), taken, one)

    def mine() -> Value:
        thread = b.splat(b.special("thread_id", UD), k.width)
        return k.add(k.mul(thread, k.number(UD, 2 * ROUNDS + 1)), k.get("STEP"))

    k.go("jump", "loop")
    k.at("loop")
    for place, name in enumerate("ABCDE"):
        index = k.add(k.mul(mine(), k.number(UD, 5)), k.number(UD, place))
        k.put(name, k.input(0, index, UD))
    k.go("branch", "signal", "wait", mask=b.cmp("ne", scalar("A"), b.const(UD, 0)))
    k.at("signal")
    note()
    args = [scalar(name) for name in "BCDE"]
    b.terminate(Barrier(args, (k.labels["signalled"],), kind="signal"))
    k.at("signalled")
    k.go("jump", "next")
    k.at("wait")
    b.terminate(Barrier((scalar("B"),), (k.labels["waited"],), kind="wait"))
    k.at("waited")
    note()
    k.go("jump", "next")
    k.at("next")
    k.put("STEP", k.add(k.get("STEP"), k.number(UD, 1)))
    index = k.mul(mine(), k.number(UD, 5))
    last = b.cmp("eq", k.input(0, index, UD), k.number(UD, 99))
    k.go("diverge", "done", "loop", mask=last)
    k.at("done")
    k.end()
    return k


def rounds_of(rng: random.Random) -> list[dict[int, Told]]:
    """Meetings in an order that all threads keep.

    A barrier always has the same members; one where somebody only produces is used once, as that
    thread could come again before the others.
    """
    fixed: dict[int, dict[int, Told]] = {}
    found = []
    fresh = iter(range(32))
    for _ in range(ROUNDS):
        again = [n for n, who in fixed.items() if all(told[1] == BOTH for told in who.values())]
        if again and rng.random() < 0.4:
            found.append(fixed[rng.choice(again)])
            continue
        members = rng.sample(range(THREADS), rng.randrange(2, THREADS + 1))
        roles = [BOTH] * len(members)
        if rng.random() < 0.5:
            roles = [PRODUCER, CONSUMER, *(rng.randrange(3) for _ in members[2:])]
        counts = sum(r != CONSUMER for r in roles), sum(r != PRODUCER for r in roles)
        number = next(fresh)
        fixed[number] = {t: (number, r, *counts) for t, r in zip(members, roles, strict=True)}
        found.append(fixed[number])
    return found


@pytest.mark.parametrize("count", [8, pytest.param(1000, marks=pytest.mark.weekly)])
def test_nobody_passes_before_the_last_has_come(count: int) -> None:
    """Random teams of producers and consumers; the counter says who was where when."""
    k, size = free_player(), 2 * ROUNDS + 1
    for seed in range(count):
        rounds = rounds_of(random.Random(seed))
        steps: list[list[tuple[int, ...]]] = [[] for _ in range(THREADS)]
        places: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]] = []
        for who in rounds:
            signals, waits = [], []
            for thread, (barrier, role, producers, consumers) in who.items():
                signals.append((thread, len(steps[thread])))
                steps[thread].append((1, barrier, role, producers, consumers))
                if role != PRODUCER:
                    waits.append((thread, len(steps[thread])))
                    steps[thread].append((0, barrier, 0, 0, 0))
            places.append((signals, waits))
        table = np.full((THREADS, size, 5), 99, np.uint32)
        for thread, own in enumerate(steps):
            own = own or [(1, 31, PRODUCER, 1, 0)]  # somebody must do something
            table[thread, : len(own)] = own
        arrays = [table, np.zeros(1, np.uint32), np.zeros((THREADS, size), np.uint32)]
        for host in on_memory(k, arrays, 1, 16 * THREADS):
            noted = host.read(2)
            for signals, waits in places:
                came = [int(noted[place]) for place in signals]
                passed = [int(noted[place]) for place in waits]
                assert max(came) < min(passed, default=1 << 31), seed
