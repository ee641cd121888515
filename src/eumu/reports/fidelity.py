"""How near a run was to the hardware, as plain data: what was exact, and what the rest reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from eumu.exec.blame import source_place
from eumu.exec.fidelity import Followed, Sink
from eumu.exec.state import instruction_text

LEVELS: Final = {
    "exact": "every bit is as the documents say",
    "ulp": "at most so many units in the last place from the exact result; the vISA pages promise"
    " nothing of hardware, and Gen9's manual 1 to 4 of them (sin, cos: an absolute 2^-11)",
    "approximate": "the documents leave something open",
}
_WORDS: Final = {
    Sink.ADDRESS: "an address",
    Sink.BRANCH: "a branch",
    Sink.PREDICATE: "a predicate",
    Sink.ATOMIC: "an atomic operation",
    Sink.MESSAGE: "a message",
}


def record(followed: Followed) -> dict[str, Any]:
    """Instructions issued by level; those that are not exact; where their results steered.

    Of the lists each entry is one instruction of the program, in its order.
    """
    issued = followed.issued()
    counts = Counter(dict.fromkeys(LEVELS, 0))
    for inst, times in issued.items():
        counts[followed.level(inst).level] += times
    inexact = [
        {
            **place(followed, inst),
            "level": followed.level(inst).level,
            "detail": followed.level(inst).detail,
            "issued": times,
        }
        for inst, times in sorted(issued.items())
        if followed.level(inst).level != "exact"
    ]
    order = list(Sink)
    uses = sorted(followed.uses.items(), key=lambda item: (item[0][0], order.index(item[0][1])))
    reached = [
        {
            **place(followed, inst),
            "reached": sink.value,
            "lanes": use.lanes,
            "from": [
                {**place(followed, source), "level": followed.level(source).level}
                for source in followed.sources(use)
                if source in issued
            ],
        }
        for (inst, sink), use in uses
    ]
    return {"levels": LEVELS, "issued": dict(counts), "inexact": inexact, "reached": reached}


def place(followed: Followed, inst: int) -> dict[str, Any]:
    """An instruction as it reads, and its line of the source."""
    assert followed.function is not None
    source = source_place(followed.function, inst)
    return {
        "instruction": " ".join(instruction_text(followed.function, inst).split()),
        "file": source.file if source else "",
        "line": source.line if source else 0,
    }


def said(record: dict[str, Any]) -> str:
    """An instruction of a record in words: `sqrt (k.cl:3)`."""
    where = f" ({record['file']}:{record['line']})" if record["file"] else ""
    return f"{record['instruction']}{where}"


def sentences(record: dict[str, Any]) -> Iterable[str]:
    """What a record says, in a few sentences."""
    counts = record["issued"]
    total = sum(counts.values())
    shares = ", ".join(f"{counts[level]:,} {word}" for level, word in _SHARES.items())
    yield f"Of {total:,} instructions {shares}."
    if not record["inexact"]:
        return
    reached = [
        _WORDS[sink] for sink in Sink if any(r["reached"] == sink.value for r in record["reached"])
    ]
    not_reached = [word for word in _WORDS.values() if word not in reached]
    if reached:
        yield f"Results that are not exact reached {_listed(reached, 'and')}."
    if not_reached:
        yield f"They reached no {_listed([w.partition(' ')[2] for w in not_reached], 'and no')}."


_SHARES: Final = {
    "exact": "were exact",
    "ulp": "within a bound",
    "approximate": "approximate",
}


def _listed(words: list[str], last: str) -> str:
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end
