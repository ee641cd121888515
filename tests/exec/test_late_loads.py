"""Which loads wait for the store to local memory that takes what they load."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from eumu.exec.jit.analysis import late_loads
from eumu.exec.jit.driver import abreast
from eumu.ir import Space
from eumu.types import UD
from exec.launching import Kernel, on_both
from exec.side_by_side import ITEMS, LOCAL, WIDTH, item_of, row_of


def _load(k: Kernel, name: str, moved: int = 0) -> None:
    k.root(name, 64)
    k.put(name, k.input(0, k.add(item_of(k), k.number(UD, moved)), UD))


def _keep(k: Kernel, name: str, place: int = 0, space: Space = Space.SLM) -> None:
    at = k.mul(k.add(item_of(k), k.number(UD, place)), k.number(UD, 4))
    k.b.store(space, at, k.mask(), [k.get(name)])


def _copied(k: Kernel) -> None:
    """Two loads, then two stores."""
    _load(k, "A")
    _load(k, "B", 7)
    _keep(k, "A")
    _keep(k, "B", ITEMS)


def _twice(k: Kernel) -> None:
    """What is loaded is stored twice, and used behind that."""
    _load(k, "A")
    _load(k, "B", 3)
    _keep(k, "A")
    _keep(k, "A", ITEMS)
    k.put("SUM", k.add(k.get("A"), k.get("B")))


def _changed(k: Kernel) -> None:
    """The register is changed before the store."""
    _load(k, "A")
    k.put("A", k.add(k.get("A"), k.number(UD, 1)))
    _keep(k, "A")
    _keep(k, "A", ITEMS)


def _overwritten(k: Kernel) -> None:
    """A part of the register is another value in the store."""
    _load(k, "A")
    k.put("A", k.b.const(UD, 5, 4), offset=16)
    _keep(k, "A")
    _keep(k, "A", ITEMS)


def _addressed(k: Kernel) -> None:
    """What is loaded says where it is stored."""
    _load(k, "A")
    at = k.b.and_(k.get("A"), k.number(UD, 4 * (2 * ITEMS - 1)))
    k.b.store(Space.SLM, at, k.mask(), [k.get("A")])


def _written(k: Kernel) -> None:
    """Memory that may be loaded from changes in between."""
    _load(k, "A")
    k.result(1, k.add(k.mul(k.group_id(), k.number(UD, ITEMS)), item_of(k)), k.number(UD, 9))
    _keep(k, "A")
    _keep(k, "A", ITEMS)


def _fenced(k: Kernel) -> None:
    _load(k, "A")
    k.b.fence("group")
    _keep(k, "A")
    _keep(k, "A", ITEMS)


def _kernel(make: Callable[[Kernel], None]) -> Kernel:
    """What it stores is read by another thread."""
    k = Kernel("entry", "next")
    k.root("SUM", 64)
    k.put("SUM", k.number(UD, 1))
    k.inst(1)
    make(k)
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.inst(2)
    row = k.b.and_(k.add(row_of(k), k.number(UD, 1)), k.number(UD, 3))
    other = k.add(k.mul(row, k.number(UD, WIDTH)), k.local_id())
    for far in (0, ITEMS):
        at = k.mul(k.add(other, k.number(UD, far)), k.number(UD, 4))
        (x,) = k.b.load(Space.SLM, at, k.mask(), UD)
        k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 3)), x))
    k.result(1, k.add(k.mul(k.group_id(), k.number(UD, ITEMS)), item_of(k)), k.get("SUM"))
    k.end()
    return k


_EXPECTED = {_copied: 2, _twice: 1, _changed: 0, _overwritten: 0, _addressed: 0, _written: 0}
_EXPECTED[_fenced] = 0


@pytest.mark.parametrize("make", _EXPECTED)
def test_which_wait(make: Callable[[Kernel], None]) -> None:
    k = _kernel(make)
    block = k.function.blocks[0]
    found = late_loads.find(block, ())
    assert len(found) == _EXPECTED[make]
    for store, places in found.items():
        assert block.ops[store].name == "store" and block.ops[places[0]].name == "load"
        assert list(places) == sorted(places) and places[-1] < store


@pytest.mark.parametrize("make", _EXPECTED)
def test_results(make: Callable[[Kernel], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_ABREAST", "0")
    monkeypatch.setenv("EUMU_CACHE", "off")
    values = np.random.default_rng(5).integers(0, 1 << 32, 2 * ITEMS, np.uint32)
    arrays = [values, np.zeros(5 * ITEMS, np.uint32)]
    on_both(_kernel(make), arrays, 5, LOCAL, slm_bytes=8 * ITEMS)


def test_a_register_that_addresses_lead_to_does_not_wait() -> None:
    block = _kernel(_copied).function.blocks[0]
    assert len(late_loads.find(block, ("A",))) == 1


def test_members_load_just_before_they_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of the first member stores before the second one loads."""
    monkeypatch.setenv("EUMU_ABREAST", "0")
    monkeypatch.setenv("EUMU_CACHE", "off")
    order: list[str] = []
    lower_at = abreast.Member.lower_at

    def noted(k: abreast.Member, place: int, op: object) -> None:
        name = getattr(op, "name", "")
        if name in ("load", "store") and k.block == 0:
            order.append(f"{name} {id(k)}")
        lower_at(k, place, op)  # type: ignore[arg-type]

    monkeypatch.setattr(abreast.Member, "lower_at", noted)
    values = np.zeros(2 * ITEMS, np.uint32)
    on_both(_kernel(_copied), [values, values], 2, LOCAL, slm_bytes=8 * ITEMS)
    names = [entry.split()[0] for entry in order]
    assert names and names[:4] == ["load", "store", "load", "store"]
