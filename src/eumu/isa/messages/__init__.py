"""Messages to shared functions: the fields of their descriptors, and what each message does.

Native `send` and vISA's raw sends compose the same messages; both use this package, with registers
and descriptors.
"""

from eumu.isa.messages.composed import Composed, compose
from eumu.isa.messages.descriptor import Message, describe
from eumu.isa.messages.known import known_bits, known_dword
from eumu.isa.messages.port_addresses import is_stateless
from eumu.isa.messages.request import MessagePayload, MessageRequest
from eumu.isa.messages.resolve import Descriptors, bindless_surface, resolve
from eumu.isa.messages.route import send

__all__ = [
    "Composed",
    "Descriptors",
    "Message",
    "MessagePayload",
    "MessageRequest",
    "bindless_surface",
    "compose",
    "describe",
    "is_stateless",
    "known_bits",
    "known_dword",
    "resolve",
    "send",
]
