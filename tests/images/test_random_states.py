"""Random states: a message answers or says which field is wrong, and stays in the surface."""

from __future__ import annotations

import warnings
from dataclasses import replace
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

from eumu.device.state.fields import StateError
from eumu.device.state.sampler import SamplerState
from eumu.device.surfaces.surface import Surface
from eumu.errors import Unsupported
from eumu.exec.host import Refusal
from images.test_checklist import Bench

MESSAGES = (
    ("sample_lz", (0.4, 1.7, 0.2)),
    ("sample_l", (1.5, -3.0, 0.7, 2.0)),
    ("gather4", (0.4, 1.7, 0.2)),
    ("ld", (3, 2, 0, 1)),
    ("ld", (1 << 31, 5, 1, 9)),
    ("resinfo", (1,)),
)


def changed(rng: np.random.Generator, state: Any, count: int) -> Any:
    """A state with some fields set to anything they can hold, small values as often as any."""
    rows = [r for r in state.rows() if r.bits.when is None and "address" not in r.name]
    new: dict[str, Any] = {}
    for k in rng.choice(len(rows), count, replace=False):
        row = rows[k]
        if row.type is bool or issubclass(row.type, IntEnum):
            choices = [False, True] if row.type is bool else list(row.type)
            new[row.name] = choices[rng.integers(len(choices))]
            continue
        bits = int(rng.integers(1, row.bits.size + 1))
        number = int(rng.integers(0, 1 << bits)) >> row.bits.signed
        unit = (1 << row.bits.low) if row.bits.address else 1
        new[row.name] = number / (1 << row.bits.fraction) if row.bits.fraction else number * unit
    return replace(state, **new)


@pytest.mark.parametrize("seed", range(6))
def test_random_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bench = Bench(data=np.zeros((40, 24, 4), np.float32))
    memory = bench.device.memory
    first, last = bench.image.address, bench.image.address + bench.image.nbytes
    answered = 0
    for _ in range(60):
        surface = changed(rng, bench.image.state, int(rng.integers(0, 5)))
        sampler = changed(rng, SamplerState(), int(rng.integers(0, 6)))
        sampler = replace(sampler, border_color_pointer=0)
        try:
            bench.image.slot.write(surface.encode())
            checked = Surface.of(surface)
            if not checked.is_null:
                assert checked.size > 0
        except (StateError, Unsupported):
            pass
        tables = bench.tables.pointers
        place = tables.dynamic_state_base + tables.sampler_table + 48 - memory.base
        memory.arena[place : place + 16] = np.frombuffer(sampler.encode(), np.uint8)
        bench.device.invalidate_states()
        before = memory.arena[last - memory.base : last - memory.base + 4096].copy()
        for operation, parameters in MESSAGES:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", RuntimeWarning)
                    bench.send(operation, parameters)
                answered += 1
            except (Refusal, Unsupported) as error:
                assert str(error)
        assert (memory.arena[last - memory.base : last - memory.base + 4096] == before).all()
        assert first < last
    assert answered > 30


def test_every_texel_of_a_checked_surface_has_a_place_of_its_own() -> None:
    """No two texels share bytes, and none lies outside `size`."""
    rng = np.random.default_rng(7)
    bench = Bench(data=np.zeros((64, 64, 4), np.float32))
    seen = 0
    for _ in range(2500):
        state = changed(rng, replace(bench.image.state, width=9, height=6), int(rng.integers(1, 6)))
        try:
            surface = Surface.of(state)
        except (StateError, Unsupported):
            continue
        small = surface.slices <= 8 and surface.width * surface.height <= 4096
        if surface.is_null or not small or surface.levels > 5 or not surface.format.bytes:
            continue
        seen += 1
        places = []
        bw, bh = surface.format.block
        for k in range(surface.levels):
            v = surface.level(k)
            y, x, s = np.meshgrid(
                np.arange(0, v.height, bh), np.arange(0, v.width, bw),
                np.arange(surface.slices if surface.depth == 1 else v.depth), indexing="ij",
            )  # fmt: skip
            flat = [a.reshape(-1).astype(np.int64) for a in (x, y, s)]
            places.append(surface.addresses(np.full_like(flat[0], k), *flat)[0])
        found = np.concatenate(places).astype(np.int64) - surface.base
        assert found.min() >= 0, state
        assert found.max() + surface.format.bytes <= surface.size, state
        order = np.sort(found)
        assert (np.diff(order) >= min(surface.format.bytes, 16)).all(), state
    assert seen > 100
