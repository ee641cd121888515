"""State objects of their bytes, kept: a launch reads its states again, and most are as before."""

from __future__ import annotations

from functools import lru_cache

from eumu.device.sampler.header import Header
from eumu.device.state import gen8
from eumu.device.state.sampler import BindingTableState, SamplerState
from eumu.device.state.surface import SurfaceState
from eumu.device.surfaces.surface import Surface


@lru_cache(256)
def surface(data: bytes) -> Surface:
    return Surface.of(SurfaceState.decode(data))


@lru_cache(256)
def surface_gen8(data: bytes) -> Surface:
    return Surface.of(SurfaceState.decode(gen8.surface(data)))


@lru_cache(256)
def sampler(data: bytes) -> SamplerState:
    return SamplerState.decode(data)


@lru_cache(256)
def sampler_gen8(data: bytes) -> SamplerState:
    return SamplerState.decode(gen8.sampler(data))


@lru_cache(256)
def binding(data: bytes) -> BindingTableState:
    return BindingTableState.decode(data)


@lru_cache(256)
def header(data: bytes) -> Header:
    return Header.decode(data)
