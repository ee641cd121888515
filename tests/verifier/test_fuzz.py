"""Damaged and hostile texts: only diagnostics come out, in bounded time and memory.

Damaged object files go through the verifier in `tests/binary/test_malformed.py`.
"""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable

import pytest

from eumu.errors import Severity
from eumu.platforms import PLATFORMS, platform
from eumu.verify import check_text
from text.test_fuzz import MUTATIONS
from verifier.test_rules import FILES
from verifier.verdicts import instructions

# Too long for every run; `pytest -m weekly` runs them.
WEEKLY = (pytest.mark.slow, pytest.mark.weekly)

DEVICES = [platform(name) for name in PLATFORMS]
HEAD = '.version 4.1\n.kernel "k"\n'
DECLARED = """\
.decl V v_type=G type=d num_elts=16 align=GRFx2
.decl P v_type=P num_elts=16
main:
"""
END = " ret (M1_NM, 1)\n"


def check(text: str, chance: random.Random) -> bool:
    """Check a text; whether it has no errors.  Each finding must have a place in it."""
    device, parity = chance.choice(DEVICES), chance.random() < 0.3
    found = check_text(text, "k.visaasm", device, parity=parity)
    lines = text.count("\n") + 1
    for diagnostic in found:
        span = diagnostic.span
        assert diagnostic.message and diagnostic.code
        assert span is None or 1 <= span.line <= span.end_line <= lines
        str(diagnostic)
    return not any(d.severity is Severity.ERROR for d in found)


def damaged(chance: random.Random, sources: list[str]) -> str:
    text = chance.choice(sources)
    for _ in range(chance.choice((1, 1, 2, 4))):
        if len(text) > 1 and any(c.isdigit() for c in text):
            text = chance.choice(MUTATIONS)(text, chance)
    return text


@pytest.mark.parametrize(
    "count", [pytest.param(10_000, id="quick"), pytest.param(100_000, id="full", marks=WEEKLY)]
)
def test_damaged_texts(count: int) -> None:
    """Check files, which stand at the edge of a rule, and the statements of the parity tables."""
    sources = [file.text for file in FILES]
    sources += [verdict.text for verdict in list(instructions())[::7]]
    chance = random.Random(count)
    fine = sum(check(damaged(chance, sources), chance) for _ in range(count))
    assert 0 < fine < count


N = 3000
HOSTILE: dict[str, Callable[[], str]] = {
    "parentheses": lambda: f" mov (M1,16) V(0,0)<1> {'(' * N}1{')' * N}:d\n",
    "signs": lambda: f" mov (M1,16) V(0,0)<1> {'-' * N}1:d\n",
    "products": lambda: f" mov (M1,16) V(0,0)<1> {'*'.join(['99999999999'] * N)}:d\n",
    "shifts": lambda: " mov (M1,16) V(0,0)<1> 1<<99999999999:d\n",
    "digits": lambda: f" mov (M1,16) V(0,0)<1> {'9' * 100 * N}:d\n",
    "branches to one place": lambda: " (P) goto (M1,16) L\n" * N + "L:\n",
    "branches one in another": lambda: (
        "".join(f" (P) goto (M1,16) L{n}\n" for n in range(N))
        + "".join(f"L{n}:\n" for n in reversed(range(N)))
    ),
    "branches back": lambda: (
        "".join(f"L{n}:\n" for n in range(N))
        + "".join(f" yield\n (P) goto (M1,16) L{n}\n" for n in range(N))
    ),
    "calls of one subroutine": lambda: (
        " call (M1_NM,1) f\n" * N
        + END
        + '.function "f"\nf:\n'
        + " (P) goto (M1,16) M\n" * N
        + "M:\n"
    ),
    "a chain of calls": lambda: (
        f" call (M1_NM,1) f0\n{END}"
        + "".join(f'.function "f{n}"\nf{n}:\n call (M1_NM,1) f{n + 1}\n{END}' for n in range(N))
        + f'.function "f{N}"\nf{N}:\n'
    ),
    "jumps across joins": lambda: (
        " (P) goto (M1,16) L\n" * 1000 + " jmp (M1,1) M\n" * 1000 + "L:\n yield\nM:\n"
    ),
    "barriers": lambda: " (P) goto (M1,16) L\n barrier\n" * N + "L:\n",
    "switches": lambda: (
        f" switchjmp (M1,1) V(0,0)<0;1,0> ({','.join(['L'] * 32)})\n" * (N // 4) + "L:\n"
    ),
    "continued lines": lambda: " mov \\\n" * N,
    "comments": lambda: "/*" * N,
    "quotes": lambda: 'FILE "' + "\\" * N + '"\n',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts(name: str) -> None:
    check(HEAD + DECLARED + HOSTILE[name]() + END, random.Random(1))


def test_hostile_declarations() -> None:
    aliases = "".join(
        f".decl A{n + 1}x v_type=G type=ud num_elts=16 alias=<A{n}x, 0>\n" for n in range(N)
    )
    inputs = "".join(
        f".decl I{n} v_type=G type=ub num_elts=1\n.input I{n} offset={64 + n} size=1\n"
        for n in range(N)
    )
    first = ".decl A0x v_type=G type=ud num_elts=16\n"
    for text in (first + aliases, inputs, first * N):
        check(HEAD + text + DECLARED + END, random.Random(1))


def test_nothing_is_made_before_it_is_checked() -> None:
    """Large numbers in a text are no large objects in memory."""
    large = "65535", "99999999999999", "0x7fffffff", "-2147483648"
    places = (
        ".decl X v_type=G type=uq num_elts={}\n",
        ".decl X v_type=P num_elts={}\n",
        ".decl X v_type=G type=ud num_elts=4 alias=<V, {}>\n",
        ".input V offset={} size=4\n",
        ".kernel_attr SLMSize={}\n",
        " mov (M1, {}) V(0,0)<1> 0x1:d\n",
        " mov (M1, 16) V({},0)<1> 0x1:d\n",
        " mov (M1, 16) V(0,0)<1> V(0,0)<{};16,1>\n",
        " svm_block_ld ({}) 0x0:uq V.{}\n",
        " raw_send (M1, 16) 0x2 {} {} 0x2280001:ud V.0 V.0\n",
        " LOC {}\n",
    )
    tracemalloc.start()
    for place in places:
        for number in large:
            text = place.replace("{}", number)
            declared = DECLARED.replace(
                "main:\n", text + "main:\n" if text[0] == "." else "main:\n"
            )
            check(HEAD + declared + (text if text[0] == " " else "") + END, random.Random(1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20
