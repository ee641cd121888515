"""Command buffers as a driver submits them: commands, their fields, and the streamer."""

from eumu.device.commands.batch import COMMANDS, Placed, decode, encode, packets, words
from eumu.device.commands.bus import Bus, MemoryBus
from eumu.device.commands.jobs import Bases, MediaJob, MediaThread, WalkerJob
from eumu.device.commands.packet import Command, CommandError, Packet
from eumu.device.commands.streamer import Context, Stop, Streamer

__all__ = [
    "COMMANDS",
    "Bases",
    "Bus",
    "Command",
    "CommandError",
    "Context",
    "MediaJob",
    "MediaThread",
    "MemoryBus",
    "Packet",
    "Placed",
    "Stop",
    "Streamer",
    "WalkerJob",
    "decode",
    "encode",
    "packets",
    "words",
]
