"""Races of threads that meet at named and split barriers."""

from __future__ import annotations

import random
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import eumu
from eumu.exec.interp.named import NamedBarriers
from eumu.exec.named import BOTH, CONSUMER, PRODUCER, Signal
from eumu.exec.race_order import GROUP, Event, Orders, Settled, Step, number
from eumu.ir import Function

SOURCE = Path(__file__).with_name("named.cl")
# The lines of both accesses, or None.
RACES = {
    "all_meet": None,
    "nobody_waits": ("t[l] = l;", "t[l ^ 37]"),
    "halves_meet": None,
    "halves_meet_others": ("t[l] = l;", "t[l ^ 33]"),
    "chain": None,
    "broken_chain": ("t[l] = l;", "t[l - 48]"),
    "rounds": None,
    "rounds_without_return": ("t[l] = k;", "t[l - 32]"),
    "in_turn": None,
    "fence_of_local": ("out[g + l] = l;", "out[g + (l ^ 37)]"),
    "split": None,
    "split_too_late": ("t[l] = l;", "t[l ^ 37]"),
    "split_twice": ("t[l] = l;", "t[l - 16]"),
    "lanes": ("t[l] = l;", "t[l ^ 1]"),
    "lanes_behind_the_wait": None,
}


@cache
def program() -> eumu.Program:
    return eumu.load(SOURCE, device="pvc")


def findings(name: str, engine: str = "interp", seed: int = 0) -> tuple[eumu.Finding, ...]:
    dev = eumu.Device("pvc", engine=engine, check="races")
    kernel = program()[name]
    out = dev.array(np.zeros(512, np.int32))
    return kernel.launch(dev, 128, 64, [out, 5][: len(kernel.args)], seed=seed).findings


@pytest.mark.parametrize("name", RACES)
def test_both_lines(name: str, ocloc: str) -> None:
    found = findings(name)
    if RACES[name] is None:
        assert found == ()
        return
    (race,) = found
    (other,) = race.related
    for access, text in zip((race, other), RACES[name] or (), strict=True):
        assert access.code == "race" and access.place is not None and text in access.place.text


@pytest.mark.parametrize("name", [*(name for name, lines in RACES.items() if lines), "any_two"])
def test_every_engine_and_seed_says_the_same(name: str, ocloc: str) -> None:
    first = [str(f) for f in findings(name)]
    for engine, seed in (("interp", 1), ("interp", 77), ("jit", 2)):
        assert [str(f) for f in findings(name, engine, seed)] == first


def test_who_meets_by_chance_is_found(ocloc: str) -> None:
    """Two of four threads open the barrier; it orders nothing."""
    chance, race = sorted(findings("any_two"), key=lambda f: f.code)
    assert (chance.code, chance.severity) == ("named-barrier", eumu.errors.Severity.ERROR)
    assert "depends on the order in which they come" in chance.message
    assert chance.place is not None and "SIGNAL(1, 2)" in chance.place.text
    assert race.code == "race"


COMPILED = """
__attribute__((intel_reqd_sub_group_size(16)))
kernel void k(global int *out, int far) {
    local int t[64];
    local NamedBarrier_t *b = named_barrier_init(2);
    int l = get_local_id(0), s = get_sub_group_id();
    t[l] = l;
    if (s < 2) work_group_named_barrier(b, FENCE);
    out[get_global_id(0)] = s < 2 ? t[l ^ far] : 0;
}
"""


@pytest.mark.parametrize(
    ("fence", "far", "races"),
    [("LOCAL", 17, 0), ("LOCAL", 33, 1), ("GLOBAL", 17, 1)],
)
def test_those_of_the_language(fence: str, far: int, races: int, ocloc: str) -> None:
    """`NamedBarrier_t` by the compiler for pvc: a fence of its memory, and nbarrier."""
    text = COMPILED.replace("FENCE", f"CLK_{fence}_MEM_FENCE")
    kernel = eumu.build(text, "pvc", "-cl-std=CL2.0")["k"]
    for engine in ("interp", "jit"):
        dev = eumu.Device("pvc", engine=engine, check="races")
        out = dev.array(np.zeros(64, np.int32))
        assert len(kernel.launch(dev, 64, 64, [out, far]).findings) == races


ROLES = """.version 4.1
.kernel "k"
.decl LID v_type=G type=uw num_elts=16 align=GRF
.decl T v_type=G type=ud num_elts=1 align=GRF
.decl A v_type=G type=ud num_elts=1 align=GRF
.decl P1 v_type=P num_elts=1
.input LID offset=64 size=32
.kernel_attr SimdSize=16
.kernel_attr SLMSize=1
    mov (M1_NM, 1) A(0,0)<1> 0x0:ud
    mov (M1_NM, 1) T(0,0)<1> LID(0,0)<0;1,0>
    shr (M1_NM, 1) T(0,0)<1> T(0,0)<0;1,0> 0x4:ud
    cmp.eq (M1_NM, 1) P1 T(0,0)<0;1,0> 0x0:ud
    (P1) jmp (M1, 1) producer
    {first}
    nbarrier.signal 0x3:ub 0x2:ub 0x1:ub 0x3:ub
    nbarrier.wait 0x3:ub
    {behind}
    jmp (M1, 1) done
producer:
    lsc_store.slm (M1_NM, 1)  flat[A]:a32  T:d32
    nbarrier.signal 0x3:ub 0x1:ub 0x1:ub 0x3:ub
    {after}
done:
    ret (M1, 1)
"""
LOAD = "lsc_load.slm (M1_NM, 1)  T:d32  flat[A]:a32"
STORE = "lsc_store.slm (M1_NM, 1)  flat[A]:a32  T:d32"


@pytest.mark.parametrize(
    ("first", "behind", "after", "races"),
    [
        ("", LOAD, "", 0),
        (LOAD, "", "", 1),  # nobody has told the consumer yet
        ("", LOAD, STORE, 1),  # what the producer does later, it tells nobody
        ("", STORE, "", 1),  # three consumers behind one producer
    ],
)
def test_producers_and_consumers(first: str, behind: str, after: str, races: int) -> None:
    text = ROLES.format(first=first, behind=behind, after=after)
    kernel = eumu.load(text.encode(), device="pvc")["k"]
    said = set()
    for engine, seed in product(("interp", "jit"), (0, 1, 5)):
        dev = eumu.Device("pvc", engine=engine, check="races")
        found = kernel.launch(dev, 64, 64, [], seed=seed).findings
        assert len(found) == races
        said.add("\n".join(map(str, found)))
    assert len(said) == 1


# ---- against another account of the same: the closure of a graph of events

Thread = list[tuple[str, int, Signal | None]]


def _threads(rng: random.Random, count: int) -> list[Thread]:
    """Threads that meet in rounds; each round has a barrier and roles for some of them."""
    threads: list[Thread] = [[] for _ in range(count)]
    for _ in range(rng.randint(1, 6)):
        barrier, some = rng.randint(0, 2), rng.sample(range(count), rng.randint(1, count))
        if rng.random() < 0.2:
            for thread in threads:
                thread += [("signal", GROUP, None), ("wait", GROUP, None)]
            continue
        roles = {m: rng.choice((BOTH, BOTH, PRODUCER, CONSUMER)) for m in some}
        producers = sum(role != CONSUMER for role in roles.values())
        consumers = sum(role != PRODUCER for role in roles.values())
        for m, role in roles.items():
            threads[m].append(("signal", barrier, Signal(role, producers, consumers)))
            if role != PRODUCER:
                threads[m].append(("wait", barrier, None))
    return threads


class _Stuck(Exception):
    """These threads end with a fault in this order."""


class _Run:
    """One order in which threads do their steps, and what comes before what in it."""

    def __init__(self, threads: list[Thread], rng: random.Random) -> None:
        self.named, self.count = NamedBarriers(len(threads)), len(threads)
        self.events: list[Event] = []
        self.edges: set[tuple[object, object]] = set()
        self.at, self.come = [0] * self.count, [0] * self.count
        self.passed = [0] * self.count
        self.round: dict[int, int] = {}
        self.told: dict[tuple[int, int], list[object]] = {}
        while waiting := [m for m in range(self.count) if self.at[m] < len(threads[m])]:
            ready = [m for m in waiting if self._may(m, *threads[m][self.at[m]][:2])]
            if not ready:
                raise _Stuck
            m = rng.choice(ready)
            self._step(m, *threads[m][self.at[m]])

    def _may(self, m: int, step: str, barrier: int) -> bool:
        if step == "signal":
            return True
        if barrier == GROUP:
            return min(self.come) > self.passed[m]
        return self.named.has_notice(m, barrier)

    def _step(self, m: int, step: str, barrier: int, signal: Signal | None) -> None:
        here, behind = (m, self.at[m]), (m, self.at[m] + 1)
        self.edges.add((here, behind))
        told = None
        if signal is not None:
            if self.named.signal(m, barrier, signal):
                raise _Stuck
            opening = ("opening", barrier, self.round.setdefault(barrier, 0))
            self.edges.add((here, opening))
            told, self.named.told = self.named.told, None
            if told is not None:
                self.round[barrier] += 1
                for consumer in told:
                    self.told.setdefault((consumer, barrier), []).append(opening)
        elif step == "signal":
            self.come[m] += 1
            self.edges.add((here, ("group", self.come[m])))
        elif barrier == GROUP:
            self.passed[m] += 1
            self.edges.add((("group", self.passed[m]), behind))
        else:
            self.named.take(m, barrier)
            self.edges.add((self.told[m, barrier].pop(0), behind))
        kind = Step.SIGNAL if step == "signal" else Step.WAIT
        self.events.append(Event(kind, m, barrier, 0, told))
        self.at[m] += 1

    def closure(self) -> set[tuple[object, object]]:
        after: dict[object, set[object]] = {}
        for a, b in self.edges:
            after.setdefault(a, set()).add(b)
        pairs = set()
        for start in after:
            seen: set[object] = set()
            stack = [start]
            while stack:
                for other in after.get(stack.pop(), ()):
                    if other not in seen:
                        seen.add(other)
                        stack.append(other)
            pairs |= {(start, other) for other in seen}
        return pairs


def _settled(run: _Run) -> Settled:
    orders = Orders(Function("f", 16, []), run.count)
    orders.add(0, run.events)
    return orders.settled()


def test_clocks_say_what_the_graph_of_events_says() -> None:
    """For many programs and orders; where it is chance who meets, every order says so."""
    seen = {"ordered": 0, "not": 0, "chance": 0, "stuck": 0}
    for seed in range(150):
        rng = random.Random(seed)
        threads = _threads(rng, 4)
        nodes = [(m, k) for m, thread in enumerate(threads) for k in range(len(thread) + 1)]
        verdicts = set()
        for order in range(4):
            try:
                run = _Run(threads, random.Random(order))
            except _Stuck:
                seen["stuck"] += 1
                continue
            settled, before = _settled(run), run.closure()
            chance = tuple(u.barrier for u in settled.undetermined)
            ranks = settled.rank(number(*np.array(nodes).T))
            said = []
            for i, a in enumerate(nodes):
                for j, b in enumerate(nodes):
                    if a[0] == b[0]:
                        continue
                    is_ordered = bool(settled.local.orders(ranks[i : i + 1], ranks[j : j + 1])[0])
                    said.append(is_ordered)
                    if not chance:
                        assert is_ordered == ((a, b) in before or (b, a) in before), (seed, a, b)
                        if (a, b) in before:
                            assert ranks[i] < ranks[j]
                    low, high = sorted((ranks[i], ranks[j]))
                    assert is_ordered or high < settled.local.beyond[low]
                    seen["ordered" if is_ordered else "not"] += 1
            seen["chance"] += bool(chance)
            verdicts.add((chance, tuple(said)))
        assert len(verdicts) <= 1, seed
    assert min(seen.values()) > 20, seen
