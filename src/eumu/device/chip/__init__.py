"""The hardware around the threads: units of a part, placement of groups, contents of caches."""

from eumu.device.chip.clock import Clock, HostClock, InstructionClock
from eumu.device.chip.context_image import ContextImage
from eumu.device.chip.gateway import Barrier, BarrierKind, Gateway, Gateways
from eumu.device.chip.l3 import Allocation, allocation, allocations, control_register
from eumu.device.chip.l3_cache import L3
from eumu.device.chip.parts import Part, part
from eumu.device.chip.pools import Occupancy, Pool, occupancy, pool_map, pools
from eumu.device.chip.slm import Conflicts

__all__ = [
    "L3",
    "Allocation",
    "Barrier",
    "BarrierKind",
    "Clock",
    "Conflicts",
    "ContextImage",
    "Gateway",
    "Gateways",
    "HostClock",
    "InstructionClock",
    "Occupancy",
    "Part",
    "Pool",
    "allocation",
    "allocations",
    "control_register",
    "occupancy",
    "part",
    "pool_map",
    "pools",
]
