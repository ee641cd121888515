"""What Intel's finalizer sends for the instructions of the media sampler is what we send.

The kernel of `test_media_engines.py` goes to it as our object file, as its text has no `va`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from eumu.binary import write
from eumu.device.sampler.media import answer as media
from eumu.text import parse
from images.test_media_engines import ASKED, run, text

IEF_BYPASS = 1 << 27  # set for some functions that have no such filter
_NUMBER = r"<1>:\w+\s+(0x[0-9A-Fa-f]+|\d+):\w+"


def sent(listing: str) -> list[tuple[int, int, int, int, int]]:
    """Registers, M0.2, M0.4, M0.5 and the function, block and mode of each message."""
    found = []
    words: dict[str, int] = {}
    for line in listing.splitlines():
        if copy := re.search(r"mov \(8\|M0\)\s+r(\d+)\.0<1>:ud\s+r(\d+)\.0<8;8,1>", line):
            for k in (2, 4, 5):  # a header made from the one before
                words[f"{copy[1]}.{k}"] = words.get(f"{copy[2]}.{k}", 0)
        if constant := re.search(rf"(?:mov|add) \(1\|M0\)\s+r(\d+)\.(\d){_NUMBER}", line):
            words[f"{constant[1]}.{constant[2]}"] = int(constant[3], 0)
        if added := re.search(r"add .*r(\d+)\.7<1>:ud\s+\S+\s+(0x\w+):ud", line):
            words[f"{added[1]}.7"] = int(added[2], 0)
        if total := re.search(r"add .*a0\.0<1>:ud\s+r\S+\s+(0x\w+):ud", line):
            descriptor = int(total[1], 0)
        if asked := re.search(r"\bsend \(\d+\|M0\)\s+\S+\s+r(\d+) .*sampler", line):
            m0 = int(asked[1])
            header = [words.get(f"{m0}.{k}", 0) for k in (2, 4, 5)]
            code = words[f"{m0 + 1}.7"] & ~IEF_BYPASS
            found.append((descriptor >> 20 & 31, *header, code >> 23))
    return found


def test_messages_are_the_finalizers(
    genx_ir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.isa").write_bytes(write(parse(text(), "k", 32), 32))
    command = [genx_ir, "k.isa", "-platform", "SKL", "-output", "-noschedule"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=600)
    expected = sent(next(tmp_path.glob("*.asm")).read_text())
    ours: list[tuple[int, int, int, int, int]] = []
    original = media.answer

    def watch(record: Any, arguments: Any, reach: Any) -> Any:
        header, payload = arguments[2][0], arguments[3][0]
        destination = 0xFFFFFF  # the surface's index is a variable
        code = int(payload[7]) & ~IEF_BYPASS
        ours.append(
            (record.registers, int(header[2]) & destination, *map(int, header[4:6]), code >> 23)
        )
        return original(record, arguments, reach)

    monkeypatch.setattr(media, "answer", watch)
    run("interp")
    assert len(expected) == len(ASKED)
    for (size, words), theirs, mine in zip(ASKED, expected, ours, strict=True):
        # Of a variable of dwords the finalizer takes more registers than sixteen-bit pixels have.
        assert mine[0] <= theirs[0] and bool(mine[0]) == bool(size) == bool(theirs[0]), words
        open_bits = 3 if " M(" in words else 0  # the mode of minmaxfilter is a variable here
        assert mine[1:4] == theirs[1:4], words
        assert mine[4] & ~open_bits == theirs[4] & ~open_bits, words
