"""The GPU around the engines: its memory, which implements :class:`eumu.exec.host.Host`."""

from eumu.device.allocator import Allocation, Claim
from eumu.device.memory import Memory

__all__ = ["Allocation", "Claim", "Memory"]
