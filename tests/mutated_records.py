"""Damaged records of drivers to their readers: ``python tests/mutated_records.py --count 100000``.

Captures of Intel's own driver, records of ``eumu gpu --dump``, what programs send to engine
processes, SPIR-V modules, stores of campaigns; as tests/mutated_inputs.py does it with everything
else.
"""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import zlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Final

from eumu.writing import work_folder
from mutated_inputs import Readers, damaged, main


def _capture(random: Random) -> Callable[[], object]:
    from drm.test_captures import TWICE
    from eumu.drm.aub import Capture
    from eumu.drm.captured import shift_of
    from eumu.drm.protocol import ADDRESS_END

    data = bytearray(TWICE)
    for _ in range(random.choice((1, 2, 4))):  # most of a capture are zeros that nobody reads
        at = random.choice([k for k in range(len(data)) if data[k]])
        data[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, data[at] ^ 1 << random.randrange(8)))
    given = bytes(data) if random.random() < 0.8 else damaged(random, bytes(data))

    def read() -> None:
        fd = os.memfd_create("capture")
        try:
            os.ftruncate(fd, ADDRESS_END)
            for ready in Capture(io.BytesIO(given), "x.aub", fd):
                if ready.objects:
                    shift_of([(m.address, m.end) for m in ready.objects], [])
        finally:
            os.close(fd)

    return read


def _entry(fields: dict[str, object], data: bytes) -> bytes:
    return json.dumps(fields | {"size": len(data)}).encode() + b"\n" + data


@cache
def _a_record() -> bytes:
    from eumu.drm.record import RECORD

    page = zlib.compress(bytes(range(256)) * 16)
    first = {"gpu": "skl", "engine": "interp", "check": "", "strict_bounds": True}
    step = {"objects": [[1, 1 << 32, 4096, 4096]], "step": "submit", "context": 0}
    rows: list[tuple[dict[str, object], bytes]] = [
        ({"what": RECORD, **first}, b""),
        ({"entry": "pages", "addresses": [[1 << 32, 1]]}, page),
        ({"entry": "built", "source": 3}, zlib.compress(b"abcELF")),
        ({"entry": "reset", "context": 1}, b""),
        ({"entry": "step", **step, "batch": 1 << 32}, b""),
        ({"entry": "changed", "clock": [5], "outcome": "fine"}, zlib.compress(bytes(16))),
    ]
    return b"".join(_entry(fields, data) for fields, data in rows)


def _record(random: Random) -> Callable[[], object]:
    """A record is read, and run up to where objects are mapped: those are made nowhere."""
    from eumu.drm import replay
    from eumu.drm.memory import DriverMemory
    from eumu.errors import LaunchError

    whole = damaged(random, _a_record(), is_text=random.random() < 0.5)

    class Nowhere(DriverMemory):
        def bind(self, objects: object) -> None:
            raise LaunchError("no memory")

    def read() -> None:
        found = replay.entries(io.BytesIO(whole), "x")
        first, _ = next(found, ({}, b""))
        made = replay._Replay("x", first, None, "", False)
        made.memory = Nowhere(made.fd)
        try:
            made.run(found)
        finally:
            os.close(made.fd)

    return read


def _message(random: Random) -> Callable[[], object]:
    """A submission of two objects, or a program that was built."""
    from eumu.drm.protocol import _decode

    objects = b"".join(
        struct.pack("<IIQQQ4Q", k, 2, at, 8192, 100, 0, 4096, 8192, 4096)
        for k, at in enumerate((1 << 32, 1 << 33))
    )
    kind = random.choice((1, 1, 1, 2, 3, 4, 5))
    body = {
        1: struct.pack("<IIQQ", 1, 2, 1, 1 << 32) + objects,
        4: struct.pack("<Q", 3) + b"abcELF",
    }.get(kind, bytes(8))
    return partial(_decode, kind, damaged(random, body), 1 << 20)


@cache
def _module() -> bytes:
    """Pointers, loads and stores with alignments, a line, a barrier."""
    rows = (
        *((43, 1, 2, 3), (32, 4, 5, 1), (59, 4, 6, 5), (8, 7, 12, 1)),
        *((61, 1, 8, 6, 2, 4), (62, 6, 8, 2, 16), (12, 1, 9, 2, 173, 6), (317,)),
        *((65, 4, 10, 6, 2), (63, 6, 10), (224, 2, 2, 2)),
    )
    words = [w for code, *rest in rows for w in (len(rest) + 1 << 16 | code, *rest)]
    return struct.pack(f"<{5 + len(words)}I", 0x0723_0203, 0x1_0000, 0, 11, 0, *words)


def _spirv(random: Random) -> Callable[[], object]:
    from eumu.zebin import has_subgroup_barrier, promised_alignments, sees_subgroups

    data = damaged(random, _module())

    def read() -> None:
        has_subgroup_barrier(data)
        sees_subgroups(data)
        assert all(size > 0 for size in promised_alignments(data).values())

    return read


@cache
def _a_store() -> bytes:
    from eumu.campaign import random_visa
    from eumu.campaign.store import Store
    from eumu.campaign.tasks import SAME, failed

    with work_folder() as folder:
        with Store(folder / "store") as store:
            for task in random_visa.tasks("skl", 96, 60.0):
                store.add(task, failed(task, SAME, "x" * 100))
        return (folder / "store").read_bytes()


def _store(random: Random) -> Callable[[], object]:
    """A store is read, summed up, and written to."""
    from eumu.campaign.campaign import Summary
    from eumu.campaign.store import Store
    from eumu.campaign.tasks import SAME, Task, failed

    data = bytearray(_a_store())
    used = [k for k in range(len(data)) if data[k]]
    for _ in range(random.choice((1, 1, 2, 8))):
        data[random.choice(used)] = random.randrange(256)
    given = bytes(data) if random.random() < 0.8 else damaged(random, bytes(data))

    def read() -> None:
        with work_folder() as folder:
            path = folder / "store"
            path.write_bytes(given)
            with Store(path) as store:
                found = Summary(store.of_tasks(store.done()))
                assert found.line() and all(isinstance(r.what, str) for r in found.results)
                task = Task("random-visa", "skl")
                store.add(task, failed(task, SAME, ""))

    return read


READERS: Final[Readers] = {
    "capture": (_capture, 10),
    "record": (_record, 1),
    "message": (_message, 10),
    "SPIR-V": (_spirv, 10),
    "store": (_store, 1),
}

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main(READERS, __doc__))
