"""The device around the engines: its memory, as :class:`eumu.exec.host.Host` asks for it."""

from eumu.device.allocator import Allocation, Claim
from eumu.device.memory import Memory

__all__ = ["Allocation", "Claim", "Memory"]
