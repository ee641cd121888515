"""Calls over the stack by the newest compiler: implicit arguments, pointers to functions, -O0."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path

import numpy as np
import pytest

import eumu
from eumu import zebin

ENGINES = ("interp", "jit")
SOURCES = Path(__file__).with_name("kernels") / "newest_features"
OPTIONS = ("-cl-std=CL3.0", "-cl-std=CL3.0 -cl-opt-disable")
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _newest(newest_ocloc: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only this compiler."""
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    yield


GLOBAL, LOCAL, OFFSET = (12, 4, 2), (6, 2, 2), 2


def facts(n: int, place: tuple[int, ...], group: tuple[int, ...]) -> int:
    if n < 2:
        groups, sizes = GLOBAL[1] // LOCAL[1], 5 * LOCAL[2] + 11 * GLOBAL[1]
        ids = place[0] + 10 * place[1] + 100 * place[2] + 7 * group[1]
        return ids + 1000 * OFFSET + 30000 + 100000 * groups + 1000000 * LOCAL[1] + sizes
    return facts(n - 1, place, group) ^ facts(n - 2, place, group) * 3 & (1 << 64) - 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("device", ["tgllp", "dg2", "bmg"])
def test_functions_know_sizes_and_ids(device: str, options: str, engine: str) -> None:
    printed: list[str] = []
    dev = eumu.Device(device, engine=engine, sink=printed.append)
    program = eumu.build(SOURCES / "calls.cl", device, options)
    out = dev.array(prod(GLOBAL), np.uint64)
    program["recursive"].launch(dev, GLOBAL, LOCAL, [out], global_offset=(OFFSET, 0, 0))
    want, lines = [], []
    for z, y, x in np.ndindex(*GLOBAL[::-1]):
        place, n = (x % 6, y % 2, z % 2), len(want) & 7
        want.append(facts(n, place, (x // 6, y // 2, z // 2)))
        lines += [f"{place[0]} {x // 6}"] * (n == 7)
    assert out.numpy().tolist() == want
    assert sorted("".join(printed).splitlines()) == sorted(lines)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("device", ["dg2", "bmg"])
def test_functions_by_address(device: str, options: str, engine: str) -> None:
    """The compiler takes such source where it is told to."""
    source = (SOURCES / "pointers.cl").read_text()
    made = zebin.compile(source, device, options, "-cl-ext=+__cl_clang_function_pointers")
    dev = eumu.Device(device, engine=engine)
    out = dev.array(64, np.int32)
    eumu.load(made.elf)["indirect"].launch(dev, 64, 16, [out, 5])
    i = np.arange(64)
    assert (out.numpy() == np.where(i % 3, i * (i // 16) + 16, i + i % 16) + 5).all()


def test_the_older_release_on_dg2_ends_with_a_fault(
    ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its functions read the same structure through %scratch, which is not modelled."""
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    program = eumu.build(SOURCES / "calls.cl", "dg2", "-cl-std=CL2.0")
    dev = eumu.Device("dg2")
    with pytest.raises(eumu.Fault, match=r"at 0x7ffff\w+ is outside the .* scratch space"):
        program["recursive"].launch(dev, 8, 8, [dev.array(8, np.uint64)])
