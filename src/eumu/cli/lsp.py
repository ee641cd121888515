"""`eumu lsp`: a language server for editors, over standard input and output."""

from __future__ import annotations

import argparse
import logging
import sys
from importlib.util import find_spec

from eumu.checking import DEFAULT_DEVICE
from eumu.cli.status import FINE
from eumu.errors import ToolMissing
from eumu.platforms import platform
from eumu.settings import TRACEBACK


def command(options: argparse.Namespace) -> int:
    """Serve until the editor says exit."""
    device = platform(options.device or DEFAULT_DEVICE)
    if find_spec("pygls") is None:
        raise ToolMissing("the language server needs pygls: pip install 'eumu[lsp]'")
    from eumu.lsp.server import serve

    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="eumu lsp: %(message)s")
    if not TRACEBACK.get():  # the server says in one line what the library shows
        logging.getLogger("pygls").setLevel(logging.CRITICAL)
    serve(device)
    return FINE
