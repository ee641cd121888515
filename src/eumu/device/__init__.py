"""The device around the engines: its memory, as :class:`eumu.exec.host.Host` asks for it."""

from eumu.device.memory import Allocation, Claim, Memory

__all__ = ["Allocation", "Claim", "Memory"]
