"""Messages to shared functions: what their descriptors say, and what they do.

Native `send` and vISA's raw sends compose the same messages; both come here with registers and
descriptors.
"""

from eumu.isa.messages.descriptor import Message, describe
from eumu.isa.messages.request import Payload, Request, known_dword, known_sum
from eumu.isa.messages.route import send

__all__ = ["Message", "Payload", "Request", "describe", "known_dword", "known_sum", "send"]
