"""Local ids of threads that run side by side are numbers in their code: groups of many forms."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from eumu.exec.jit.host.specials import members_of, specialise
from eumu.exec.jit.interface import Special
from eumu.ir import Space, Value
from eumu.ir.passes import fold_modes
from eumu.types import UD, UW
from exec.launching import RNE, Host, Kernel, grid_of, on_both

_GROUPS, _MOST = 5, 3


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_ABREAST", "0")
    monkeypatch.setenv("EUMU_CACHE", "off")


def _item(k: Kernel, local: tuple[int, int, int]) -> Value:
    x, y, z = (k.b.convert(k.get(name, UW), UD, rounding=RNE) for name in "XYZ")
    rows = k.add(y, k.mul(z, k.number(UD, local[1])))
    return k.add(x, k.mul(rows, k.number(UD, local[0])))


def _kernel(local: tuple[int, int, int], *, meets: bool) -> Kernel:
    """Each item's number in its group, times what is loaded in some turns; by way of local memory
    where threads meet, from the item on the other end of the group."""
    k = Kernel("entry", "loop", "next", "again", "done")
    items = prod(local)
    for name in ("TURN", "SUM"):
        k.root(name, 64)
    k.put("TURN", k.number(UD, 0))
    k.put("SUM", _item(k, local))
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    x = k.input(0, k.add(k.add(k.get("TURN"), _item(k, local)), k.group_id()), UD)
    if meets:
        k.b.store(Space.SLM, k.mul(_item(k, local), k.number(UD, 4)), k.mask(), [x])
        k.go("barrier", "next", kind="sync")
    else:
        k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 3)), x))
        k.go("jump", "next")
    k.at("next")
    k.inst(2)
    if meets:
        other = k.b.sub(k.number(UD, items - 1), _item(k, local), RNE)
        (x,) = k.b.load(Space.SLM, k.mul(other, k.number(UD, 4)), k.mask(), UD)
        k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 3)), x))
        k.go("barrier", "again", kind="sync")
    else:
        k.go("jump", "again")
    k.at("again")
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    more = k.b.cmp("lt", k.get("TURN"), k.number(UD, _MOST))
    k.go("diverge", "loop", "done", mask=more)
    k.at("done")
    k.inst(3)
    index = k.add(k.mul(k.group_id(), k.number(UD, items)), _item(k, local))
    k.result(1, index, k.get("SUM"))
    k.end()
    return k


def _arrays(items: int) -> list[np.ndarray]:
    values = np.random.default_rng(5).integers(0, 1 << 32, items + 16, np.uint32)
    return [values, np.zeros(_GROUPS * items, np.uint32)]


def _special(k: Kernel, local: tuple[int, int, int]) -> Special:
    host = Host(_arrays(prod(local)))
    grid = grid_of(fold_modes(k.function), host, _GROUPS, local, slm_bytes=4096)
    return specialise(grid, members_of(grid))


# Of local sizes: members, and which of their ids are numbers, or numbers beyond the first one's.
_FORMS = {
    (16, 4, 1): (4, "nnn"),
    (64, 1, 1): (4, "nnn"),
    (8, 4, 2): (4, "nnn"),
    (4, 4, 4): (4, "nnn"),
    (16, 32, 1): (16, "nbn"),
    (512, 1, 1): (16, "bnn"),
    (16, 3, 16): (16, "n--"),
    (24, 2, 1): (2, "--n"),
}


@pytest.mark.parametrize("local", _FORMS)
def test_what_is_known(local: tuple[int, int, int]) -> None:
    special = _special(_kernel(local, meets=False), local)
    known = "".join("-" if x is None else "n" if x.all else "b" for x in special.member_ids)
    members, expected = _FORMS[local]
    assert special.members == members
    for have, want in zip(known, expected, strict=True):
        assert have == want or (have, want) == ("b", "n")  # the first one is 0 in all of them


_ALONE = [(local, False) for local in _FORMS]
_MEETING = [(local, True) for local in _FORMS if prod(local) <= 256]  # else there are too many


@pytest.mark.parametrize(("local", "meets"), _ALONE + _MEETING)
def test_results(local: tuple[int, int, int], meets: bool) -> None:
    items = prod(local)
    on_both(_kernel(local, meets=meets), _arrays(items), _GROUPS, local, slm_bytes=4 * items)


def test_nothing_is_known_of_threads_that_run_by_themselves() -> None:
    k = _kernel((16, 4, 1), meets=False)
    grid = grid_of(fold_modes(k.function), Host(_arrays(64)), _GROUPS, (16, 4, 1))
    assert specialise(grid).member_ids == ()
