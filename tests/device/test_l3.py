"""The L3 as a cache: allocation of ways, replacement, states, and the hooks that feed it.

L1, L2, L7, L8 and SL2 of the checklist of the PRM chapter "L3 Cache and URB".
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import eumu
from eumu.cli import main
from eumu.device.chip import L3, part
from eumu.device.chip.l3 import BANK_KB, LINE, allocations
from eumu.device.chip.l3_cache import SETS, Line, Mesi, SurfaceClass, Ways
from eumu.device.profile import Profile
from eumu.errors import LaunchError
from test_kernels import _load

SET = SETS * LINE  # bytes from a line to the next of its set, in a single bank


def touch(ways: Ways, number: int) -> bool:
    """Whether a line was there; it is now."""
    if ways.find(number) is not None:
        return True
    ways.fill(Line(number))
    return False


@pytest.mark.parametrize(("banks", "ways"), [(2, 96), (1, 160)])
@pytest.mark.parametrize("has_slm", [False, True])
def test_l1_l2_clients_have_the_ways_of_their_row(banks: int, ways: int, has_slm: bool) -> None:
    for row in allocations(banks == 1, has_slm):
        l3 = L3(banks, row.config)
        l3.start(has_slm=has_slm)
        assert l3.row == row and l3.bank_ways == ways == BANK_KB[banks == 1] // 2
        assert l3.ways("DC") == (row.dc or row.rest) // 2
        assert {l3.ways(c) for c in "ISCT"} == {(row.ro or row.rest) // 2}
        tagged = row.tagged // 2
        assert tagged + (row.urb + row.slm) // 2 == ways
        # As many lines stay as the client has, and no more.
        lines = tagged * SETS * banks
        for address in range(0, 2 * lines * LINE, LINE):
            l3.access(address)
        kept = l3.ways("DC") * SETS * banks
        assert len(l3.lines()) == kept and l3.fills == (2 * lines if kept else 0)


def test_l3_clients_without_ways_always_miss() -> None:
    """Row 2 without shared local memory: 128 KB for the data cluster, nothing for the others."""
    l3 = L3(2, 2)
    assert not any(l3.access(0, "T") for _ in range(3)) and l3.misses["T"] == 3
    assert [l3.access(0, "DC") for _ in range(2)] == [False, True]


def test_l7_pseudo_lru_of_four_ways() -> None:
    ways = Ways(4, sets=1)
    assert [touch(ways, k) for k in range(4)] == [False] * 4
    touch(ways, 0)
    touch(ways, 4)  # replaces the tree's choice: 2, not the recent 3 or 0
    assert [touch(ways, k) for k in (0, 4, 1, 3)] == [True] * 4
    assert not touch(ways, 2)


def test_l7_one_bit_lru() -> None:
    ways = Ways(3, sets=1, policy="lru1")
    for k in (0, 1, 2, 1):  # with 2 all have been used: its bit stays, then 1 gets its own
        touch(ways, k)
    assert not touch(ways, 3)  # in place of 0
    assert [touch(ways, k) for k in (1, 2, 3)] == [True] * 3


@pytest.mark.parametrize("policy", ["plru", "lru1"])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 24, 48])
def test_l7_any_number_of_ways(count: int, policy: str) -> None:
    """What was used last is there; a set never holds more lines than ways, nor one twice."""
    rng = random.Random(count)
    ways = Ways(count, sets=2, policy=policy)  # type: ignore[arg-type]
    for _ in range(40 * count):
        number = rng.randrange(4 * count)
        touch(ways, number)
        assert ways.find(number) is not None
        found = [line.number for line in ways.lines()]
        assert len(found) == len(set(found)) <= 2 * count
    assert len(found) == 2 * count
    # Lines that fit are never replaced.
    fitting = Ways(count, sets=1, policy=policy)  # type: ignore[arg-type]
    assert not any(touch(fitting, k) for k in range(count))
    assert all(touch(fitting, rng.randrange(count)) for _ in range(100))


def test_l7_state_bits() -> None:
    l3 = L3(1)
    l3.access(0)
    l3.access(LINE, is_write=True)
    l3.access(2 * LINE, "T")
    states = [(x.mesi, x.surface) for x in sorted(l3.lines(), key=lambda x: x.number)]
    assert states == [
        (Mesi.EXCLUSIVE, SurfaceClass.DATA),
        (Mesi.MODIFIED, SurfaceClass.DATA),
        (Mesi.EXCLUSIVE, SurfaceClass.SAMPLED),
    ]
    line = Line(0, Mesi.MODIFIED, SurfaceClass.STATE, is_virtual=False, is_global=True)
    assert line.bits == 0b10_10_11 and Line(0, Mesi.SHARED, is_global=False).bits == 0b01_00_01


def test_l8_modified_lines_are_written_back_once() -> None:
    l3 = L3(1)
    count = l3.ways("DC")
    for k in range(count):
        l3.access(k * SET, is_write=True)
    assert (l3.fills, l3.writebacks, l3.dirty) == (count, 0, count)
    l3.access(count * SET)
    assert (l3.writebacks, l3.dirty) == (1, count - 1)
    assert l3.flush() == count - 1 and l3.writebacks == count and not l3.lines()


def test_sl2_a_change_of_mode_flushes() -> None:
    l3 = L3(2)
    l3.access(0, is_write=True)
    l3.start(has_slm=False)
    assert l3.access(0)
    l3.start(has_slm=True)
    assert l3.writebacks == 1 and not l3.access(0) and l3.row.slm == 64


def test_wrong_uses() -> None:
    with pytest.raises(LaunchError, match="no client 'X'"):
        L3(2).access(0, "X")
    with pytest.raises(LaunchError, match="not validated"):
        L3(2, 9)
    l3 = L3(2, 0)  # a row of the mode without shared local memory only
    with pytest.raises(LaunchError, match="not validated"):
        l3.start(has_slm=True)


def test_launches_feed_it() -> None:
    """Each line of both arrays misses once; the stores hit, and the second launch does."""
    dev = eumu.Device("apl", engine="interp")
    dev.observer = profile = Profile(l3=L3(part("bxt-3x6").l3_banks, config=1))
    x, y = (dev.array(np.ones(1024, np.float32)) for _ in range(2))
    kernel = _load("saxpy", "apl")["saxpy"]
    kernel.launch(dev, (1024,), (64,), [x, y, 2.0])
    l3, lines = profile.l3, 4096 // LINE
    assert l3 is not None and l3.ways("DC") == 16
    assert (l3.misses["DC"], l3.hits["DC"], l3.dirty) == (2 * lines, lines, lines)
    kernel.launch(dev, (1024,), (64,), [x, y, 2.0])
    assert (l3.misses["DC"], l3.hits["DC"]) == (2 * lines, 4 * lines)
    assert l3.hit_rate("DC") == pytest.approx(4 / 6) and l3.hit_rate("T") == 0


def test_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        *("run", "tests/kernels/bin/apl/saxpy.bin", "--kernel", "saxpy", "--global", "1024"),
        *("--local", "64", "--arg", "x=zeros:float32:1024", "--arg", "y=zeros:float32:1024"),
        *("--arg", "a=1"),
    ]
    assert main([*arguments, "--l3", "1"]) == 0
    out = capsys.readouterr().out
    assert "L3, DC (16 of 96 ways, 2 banks): 64 hits, 128 misses, 33.3% hits." in out
    assert main([*arguments, "--l3", "7"]) == 2
    assert "configuration 7" in capsys.readouterr().err
