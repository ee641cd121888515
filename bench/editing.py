"""How long an editor waits for the diagnostics of a text of 5 000 lines after an edit.

    python bench/editing.py [--lines 5000] [--edits 40]

The language server runs as an editor runs it; a time is from the sending of the changed text to the
arrival of the answer.  Four kinds of edit: in an instruction, a new instruction, a new declaration,
and a line that is not finished.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from lsp.client import client
from text.corpus import compiled

KINDS = ("instruction changed", "instruction added", "declaration added", "unfinished line")


def source(lines: int) -> list[str]:
    """A compiled kernel with instructions of its own repeated up to a number of lines."""
    text = compiled("apl", "math_functions")[0].text.split("\n")
    plain = [t for t in text if t.startswith("    ") and "(M" in t and "goto" not in t]
    plain = [t for t in plain if "ret" not in t]
    at = next(k for k, t in enumerate(text) if "ret (" in t)
    missing = lines - len(text)
    return text[:at] + (plain * (1 + missing // len(plain)))[:missing] + text[at:]


def edited(text: list[str], kind: str, chance: random.Random) -> list[str]:
    """A text with one edit."""
    instructions = [k for k, t in enumerate(text) if t.startswith("    add (")]
    at = chance.choice(instructions)
    number = chance.randrange(1 << 16)
    if kind == "instruction changed":
        return [*text[:at], text[at].replace("add", "mul", 1), *text[at + 1 :]]
    if kind == "instruction added":
        return [*text[:at], text[at], *text[at:]]
    if kind == "declaration added":
        declared = next(k for k, t in enumerate(text) if t.startswith(".decl"))
        line = f".decl N{number} v_type=G type=d num_elts=8"
        return [*text[:declared], line, *text[declared:]]
    return [*text[:at], text[at][: len(text[at]) // 2], *text[at + 1 :]]


def processor_time(process: int) -> float:
    """Seconds that a process has computed so far, in all its threads (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--edits", type=int, default=40)
    options = parser.parse_args()
    text, chance = source(options.lines), random.Random(0)
    with client("--device", "skl") as server:
        server.start()
        begin = time.perf_counter()
        found = server.open("\n".join(text))
        first = time.perf_counter() - begin
        print(f"{len(text)} lines, {len(found)} diagnostics; opened in {1e3 * first:.0f} ms")
        version = 1
        for kind in KINDS:
            times = []
            used = processor_time(server.process.pid)
            for _ in range(options.edits):
                version += 1
                changed = "\n".join(edited(text, kind, chance))
                begin = time.perf_counter()
                server.change(changed, version)
                times.append(1e3 * (time.perf_counter() - begin))
            times.sort()
            worst = times[int(0.95 * (len(times) - 1))]
            used = (processor_time(server.process.pid) - used) / options.edits
            print(
                f"{kind:<22} median {statistics.median(times):4.0f} ms, 95 % {worst:4.0f} ms;"
                f" processor time {1e3 * used:.0f} ms an edit"
            )
        server.stop()


if __name__ == "__main__":
    main()
