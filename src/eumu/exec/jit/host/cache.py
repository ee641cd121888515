"""Compiled kernels on disk: one file each, named by a hash of everything that the code depends on.

``EUMU_CACHE=off`` turns the cache off, ``EUMU_CACHE_DIR`` moves it (default: ``eumu`` in the user's
cache directory), ``EUMU_CACHE_MB`` bounds it (`eumu.settings`).  Files appear by renaming, so
processes can share the directory; whatever is damaged or cannot be written is compiled again.

What lies there is run as machine code: `eumu.cache_folder` says which directory and
files may be used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path

from eumu.cache_folder import is_ours, trusted_directory
from eumu.exec.jit.host.launch import Compiled
from eumu.exec.jit.host.loaded import Loaded
from eumu.exec.jit.host.target import Processor
from eumu.exec.jit.interface import FaultSite, HostTarget, Module, Special
from eumu.garbage import seldom_collected
from eumu.ir import Function
from eumu.ir.text import format_function
from eumu.settings import CACHE_MB

_MAGIC = b"eumu kernel 2\n"
_SUFFIX = ".kernel"
_SUPPORT = ".support"  # what many kernels call
_UNFINISHED = ".part"
_LEFT = 3600  # seconds after which a file that nobody finished is rubbish
_TALLY = "tally"  # its size is how many blocks the kernels take, or a few more
_BLOCK = 4096
_LEFT_FULL = 7 / 8  # of the limit: the next look is some time away


def limit_bytes() -> int:
    """The most that the directory may hold."""
    return CACHE_MB.get() << 20


@cache
def engine_version() -> str:
    """A hash of the engine's own sources: code made by another version is not used."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()


def sources() -> list[Path]:
    """The fast engine's files, and those beside it, which say what records and tables look like."""
    engine = Path(__file__).parents[1]
    return sorted([*engine.rglob("*.py"), *engine.parent.glob("*.py")])


def key_of(function: Function, special: Special, processor: Processor) -> str:
    """The name of a compiled kernel."""
    text = "\n".join((engine_version(), processor.identity, repr(special), _text_of(function)))
    return hashlib.sha256(text.encode()).hexdigest()


_WRITTEN: list[tuple[Function, str]] = []  # the function whose text was asked for last


def _text_of(function: Function) -> str:
    """A function's text, whatever it is called: code without a name has one by its address.

    Who looks for its code mostly does so for more than one processor.
    """
    for written, text in _WRITTEN:
        if written is function:
            return text
    text = format_function(replace(function, name=""))
    _WRITTEN[:] = [(function, text)]
    return text


def compiled(function: Function, special: Special, processor: Processor) -> Compiled:
    """The machine code of a function, from disk if it is there."""
    place = trusted_directory()
    path = place / (key_of(function, special, processor) + _SUFFIX) if place else None
    made = read(path) if path else None
    if made is None:
        made = _make(function, special, processor)
        if path:
            write(path, *made)
    return Compiled.of(made[0], Loaded(made[1], processor))


def kept(function: Function, special: Special, processor: Processor) -> Compiled | None:
    """The same, if it is on disk."""
    place = trusted_directory()
    if place is None or not place.exists():
        return None
    made = read(place / (key_of(function, special, processor) + _SUFFIX))
    return None if made is None else Compiled.of(made[0], Loaded(made[1], processor))


def _make(
    function: Function, special: Special, processor: Processor
) -> tuple[Module, tuple[bytes, ...]]:
    """Compile; most launches find their code on disk and do without the compiler's modules."""
    from eumu.exec.jit.host.compiler import compile_text, expect

    expect()
    with seldom_collected():
        module = _module(function, special, processor)
    waited_for = replace(processor, is_patient=False)  # short, and the same for all
    support = (_support(text, waited_for) for text in module.support)
    return module, (compile_text(module.text, processor), *support)


# Any thread changes it while another looks: `list` makes a copy of a dict's keys in one step.
_MODULES: dict[tuple[int, Special, HostTarget], tuple[Function, Module]] = {}
_MOST_MODULES = 8
_LONG_TEXT = 4 << 20


def _module(function: Function, special: Special, processor: Processor) -> Module:
    """A function's LLVM text.  What is made in a hurry is mostly made again: its text is kept."""
    from eumu.exec.jit.driver.module import build

    key = id(function), special, processor.target
    kept = _MODULES.pop(key, None)
    if kept is not None:
        return kept[1]
    module = build(function, special, processor.target)
    if processor.is_hasty and len(module.text) < _LONG_TEXT:
        _MODULES[key] = function, module
        keys = list(_MODULES)
        for earliest in keys[:-_MOST_MODULES]:
            _MODULES.pop(earliest, None)
        for other in keys:
            made = _MODULES.get(other)
            if made is not None and made[0].is_orphan:
                _MODULES.pop(other, None)
    return module


@lru_cache(maxsize=1 << 10)
def _support(text: str, processor: Processor) -> bytes:
    """The object of support functions, from disk or made now, once for all kernels."""
    from eumu.exec.jit.host.compiler import compile_text

    place = trusted_directory()
    if place is None:
        return compile_text(text, processor)
    key = "\n".join((engine_version(), processor.identity, text))
    path = place / (hashlib.sha256(key.encode()).hexdigest() + _SUPPORT)
    code = _read(path)
    if code is None:
        code = compile_text(text, processor)
        _write(path, code)
    return code


def read(path: Path) -> tuple[Module, tuple[bytes, ...]] | None:
    """A kernel file: magic, a JSON line, the object files, a hash of all that."""
    body = _read(path)
    if body is None:
        return None
    header, _, code = body.partition(b"\n")
    facts = json.loads(header)
    sites = tuple(FaultSite(**site) for site in facts["sites"])
    waiting = tuple(facts["waiting"])
    size, offset = facts["record_size"], facts["waiting_offset"]
    ends = list(accumulate(facts["objects"]))
    objects = tuple(code[start:end] for start, end in zip([0, *ends], ends, strict=False))
    flags = facts["is_tiled"], facts["waits"]
    module = Module("", (), sites, size, facts["resumable"], waiting, offset, *flags)
    return module, objects


def _read(path: Path) -> bytes | None:
    """What a file holds, or None if it is not there, not ours, or damaged."""
    try:
        with path.open("rb") as file:
            if not is_ours(os.fstat(file.fileno())):
                return None
            data = file.read()
        os.utime(path)
    except OSError:
        return None
    body, digest = data[:-32], data[-32:]
    if not body.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        return None
    return body[len(_MAGIC) :]


def write(path: Path, module: Module, objects: Sequence[bytes]) -> None:
    """Keep a kernel; a directory that cannot be written is no error."""
    facts = {
        "objects": [len(code) for code in objects],
        "sites": [asdict(site) for site in module.sites],
        "record_size": module.record_size,
        "resumable": module.resumable,
        "waiting": module.waiting,
        "waiting_offset": module.waiting_offset,
        "is_tiled": module.is_tiled,
        "waits": module.waits,
    }
    _write(path, json.dumps(facts).encode() + b"\n" + b"".join(objects))


def _write(path: Path, content: bytes) -> None:
    body = _MAGIC + content
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_room(path.parent, len(body))
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=_UNFINISHED)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body + hashlib.sha256(body).digest())
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if not isinstance(error, OSError):
            raise


def _make_room(place: Path, more: int) -> None:
    """Count `more` bytes; where all together is over the limit, remove what was used longest ago.

    The folder itself, which may have thousands of files, is looked at only then.  Processes add to
    the tally without a lock; what somebody else has removed is counted until the next look.
    """
    blocks, tally = _blocks(more), place / _TALLY
    size = tally.stat().st_size if tally.exists() else None
    most = limit_bytes() // _BLOCK
    if size is None or size + blocks > most:
        kept = _prune(place, most - blocks)
        with tally.open("ab") as file:
            file.truncate(kept)
    with tally.open("ab") as file:
        file.write(bytes(blocks))


def _blocks(size: int) -> int:
    return -(-size // _BLOCK)


def _prune(place: Path, most: int) -> int:
    """Remove rubbish, and kernels where they take over `most` blocks; how many blocks are left."""
    files = []
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.name.endswith(_UNFINISHED):  # of a process that was killed
                with contextlib.suppress(OSError):
                    if time.time() - entry.stat().st_mtime > _LEFT:
                        os.unlink(entry.path)
            if entry.name.endswith((_SUFFIX, _SUPPORT)):
                with contextlib.suppress(OSError):  # another process removed it
                    status = entry.stat()
                    files.append((status.st_mtime, _blocks(status.st_size), entry.path))
    total = sum(blocks for _, blocks, _ in files)
    if total <= most:
        return total
    for _, blocks, path in sorted(files):
        Path(path).unlink(missing_ok=True)
        total -= blocks
        if total <= most * _LEFT_FULL:
            break
    return total
