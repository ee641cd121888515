"""The last byte of an array, a surface and shared local memory is inside, the next one is not."""

from __future__ import annotations

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.ir import Space
from eumu.types import UB, UD, UQ, Type
from exec.launching import BufferSurface, Host, Kernel, launch

ENGINES = {"interp": Interpreter, "jit": lambda: Jit(workers=1)}
SIZE = 40  # bytes
PLACES = {"flat": Space.FLAT, "surface": Space.SURFACE, "local": Space.SLM}


def access(space: Space, type: Type, first: int, stride: int, *, store: bool) -> Kernel:
    """Lane n of 16 accesses byte first + n * stride, as one element of the type."""
    k = Kernel()
    wide = UQ if space is Space.FLAT else UD
    n = k.b.iota(wide, k.width)
    place = k.add(k.mul(n, k.number(wide, stride)), k.number(wide, first))
    if space is Space.FLAT:
        place = k.add(place, k.argument(0))
    surface = k.lanes(UD, 3) if space is Space.SURFACE else None
    if store:
        k.b.store(space, place, k.mask(), [k.number(type, 7)], surface)
    else:
        k.b.load(space, place, k.mask(), type, surface=surface)
    k.end()
    return k


def run(kernel: Kernel, engine: str) -> None:
    data = [np.zeros(SIZE, np.uint8)]
    surfaces = {3: BufferSurface(Host(data).addresses[0], SIZE)}
    launch(kernel, data, engine=ENGINES[engine](), surfaces=surfaces, slm_bytes=SIZE)


# In a row and apart: the fast engine has code of its own for each.
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("type", [UB, UD], ids=str)
@pytest.mark.parametrize("store", [True, False], ids=["store", "load"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("engine", ENGINES)
def test_bounds(engine: str, place: str, store: bool, type: Type, stride: int) -> None:
    last = SIZE - type.size - 15 * stride
    space = PLACES[place]
    run(access(space, type, last, stride, store=store), engine)
    with pytest.raises(Fault, match="lane"):
        run(access(space, type, last + 1, stride, store=store), engine)
