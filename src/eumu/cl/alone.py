"""The engine process of a program that was started without `eumu run`: `python -m eumu.cl.alone`.

The driver's library starts it with a socket as descriptor 3.  It leaves a process of its own
behind, so that the program has no child that it does not know.
"""

from __future__ import annotations

import os
import signal
import socket
from typing import Final

_SOCKET: Final = 3
_MOST_FILES: Final = 1 << 20


def main() -> int:
    """Serve the program at the other end of the socket."""
    if os.fork():
        os._exit(0)
    os.closerange(_SOCKET + 1, _MOST_FILES)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from eumu.cl.door import meet, needed, serve
    from eumu.cl.meeting import options_of_environment

    peer = socket.socket(fileno=_SOCKET)
    try:
        options = options_of_environment()
        program = meet(peer, options)
        from eumu.beside.broker import warm

        for _ in warm(needed, options):  # the program has its answer, and goes on
            pass
        serve(program, options)
    except Exception as error:
        from eumu.beside.door import explained, say

        text, is_typed = explained(error)
        if not is_typed:
            raise
        say(f"eumu: {text}")
        return 1
    return 0


if __name__ == "__main__":
    os._exit(main())
