"""Message descriptors: fields as Intel's assembler shows them, names as the public headers do."""

from __future__ import annotations

import re
import subprocess

import pytest

from eumu.isa.messages.descriptor import describe
from native.samples import iga64, rows

CASES = rows("descriptors.txt")


def _case(line: str) -> tuple[int, int, str, dict[str, int]]:
    head, fields = line.split(" | ")
    ex_desc, desc, name = head.split(maxsplit=2)
    values = dict(part.split("=") for part in fields.split())
    return int(ex_desc, 16), int(desc, 16), name, {k: int(v) for k, v in values.items()}


def _bits(ex_desc: int, desc: int) -> dict[str, int]:
    found = {}
    for field in describe(ex_desc, desc).fields:
        row = field.row
        span = f"{row.high}:{row.low}" if row.high > row.low else f"{row.low}"
        found["ex." * row.extended + span] = field.value
    return found


@pytest.mark.parametrize("line", CASES, ids=[line.split(" |")[0] for line in CASES])
def test_fields(line: str) -> None:
    ex_desc, desc, name, expected = _case(line)
    assert str(describe(ex_desc, desc)) == name
    ours = _bits(ex_desc, desc)
    assert {bits: ours.get(bits) for bits in expected} == expected


def test_messages_of_other_generations_are_not_known() -> None:
    assert not describe(0x9, 0x02164002).is_known
    assert not describe(0xF, 0).is_known
    assert describe(0xC, 0x04205E00).is_known


def test_values_have_names() -> None:
    message = describe(0x8C, 0x04025EFE)
    assert str(message) == "data cache data port 1: untyped surface write"
    assert message.get("extended message length") == 2
    assert message.get("message length") == 2 and message.get("response length") == 0
    assert message.get("no such field") is None
    printed = [str(field) for field in message.fields]
    assert "SIMD mode SIMD16" in printed and "binding table index shared local memory" in printed
    assert describe(0x27, 0x02000010).name == "dereference resource, end of thread"


@pytest.mark.slow
def test_intels_assembler_agrees() -> None:
    command = [iga64(), "-p=9", "-Xdsd"]
    for line in CASES:
        ex_desc, desc, _, expected = _case(line)
        done = subprocess.run(
            [*command, hex(ex_desc), hex(desc)], capture_output=True, text=True, check=False
        )
        shown = re.findall(r"(Ex)?Desc\[([\d:]+)\]\s+\S+\s+(0x[0-9A-Fa-f]+)", done.stdout)
        assert shown, done.stdout + done.stderr
        theirs = {"ex." * bool(ex) + bits: int(value, 16) for ex, bits, value in shown}
        assert {bits: theirs.get(bits) for bits in expected} == expected
