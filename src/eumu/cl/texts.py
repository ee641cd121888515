"""The sources of objects that this process has compiled: findings of programs that are linked of
them show their lines.

An object has no source in it, as programs hand objects on; it has the name of a file, which is made
of the source.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

Sources = dict[str, tuple[str, str]]  # by names in debug information: what a user reads, and text

PROGRAM: Final = "program.cl"  # what messages call a program's source
_MOST: Final = 16 << 20  # characters of all texts
_NAME: Final = re.compile(rb"/eumu/[0-9a-f]{32}\.cl")
_lock = threading.Lock()
_texts: OrderedDict[str, str] = OrderedDict()


def keep(text: str) -> str:
    """Keep a source; the name that its object is to give it."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    name = f"/eumu/{digest[:32]}.cl"
    with _lock:
        _texts[name] = text
        _texts.move_to_end(name)
        while len(_texts) > 1 and sum(map(len, _texts.values())) > _MOST:
            _texts.popitem(last=False)
    return name


def sources_of(modules: Iterable[bytes]) -> Sources:
    """The sources of what is linked of modules; of those that are not known the names."""
    found = (match[0].decode() for module in modules for match in _NAME.finditer(module))
    names = list(dict.fromkeys(found))
    shown = [PROGRAM] if len(names) == 1 else [f"program-{n}.cl" for n in range(1, 1 + len(names))]
    with _lock:
        return {name: (show, _texts.get(name, "")) for name, show in zip(names, shown, strict=True)}
