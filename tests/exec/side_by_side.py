"""What tests of threads side by side have in common: groups of four rows of sixteen lanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eumu.exec.jit import Jit
from eumu.exec.jit.llvm.layout import SITE_WORDS, Context
from eumu.ir import Value
from eumu.ir.passes import fold_modes
from eumu.types import UD, UW
from exec.launching import RNE, Host, Kernel, grid_of

WIDTH, ROWS = 16, 4
LOCAL = (WIDTH, ROWS, 1)
ITEMS = WIDTH * ROWS


def row_of(k: Kernel) -> Value:
    """The local id y, of a thread."""
    return k.b.convert(k.get("Y", UW), UD, rounding=RNE)


def item_of(k: Kernel) -> Value:
    """The number of a work item in its group."""
    return k.add(k.mul(row_of(k), k.number(UD, k.width)), k.local_id())


def misses(k: Kernel, arrays: Sequence[np.ndarray], groups: int, **more: object) -> int:
    """How often threads that ran side by side had to begin again; nothing if none did."""
    jit, host = Jit(workers=1), Host(arrays)
    jit.run(grid_of(fold_modes(k.function), host, groups, LOCAL, **more), host)
    ((ready,),) = [jit._ready.values()]
    sites = [n for n, site in enumerate(ready.compiled.module.sites) if site.what == "abreast"]
    assert len(sites) == 1, "no version that runs threads side by side"
    return int(ready.idle[0].words[Context.SITES + SITE_WORDS * sites[0]])
