"""`eumu fmt`: comments stay with their statement, the program stays what it was."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest

from eumu import text
from eumu.errors import BuildError, Unsupported
from eumu.isa.visa import VISA
from eumu.program import difference
from text.corpus import compiled, lines, program, programs

HEAD = ".version 4.1\n\n"

# What is written, and what becomes of it.
CASES = {
    "comments": (
        """\
// about the file


.version   4.1
//of the kernel
.kernel k   // its name
.decl V v_type = G type = d num_elts = 8   /* eight */
  // first
    /* second,
       longer */
mov (M1,8) V(0,0)<1> 0x1:d /* one */ // more
/* before */ ret (M1,1)   /// $1
// the end
""",
        """\
// about the file

.version 4.1

//of the kernel
.kernel "k"  // its name

.decl V v_type=G type=d num_elts=8  /* eight */
    // first
    /* second,
       longer */
    mov (M1, 8) V(0,0)<1> 0x1:d  /* one */ // more
    /* before */
    ret (M1, 1)  /// $1
// the end
""",
    ),
    "scopes and labels": (
        """\
.version 4.1
.kernel k
.decl V v_type=G type=d num_elts=8
{ // opens
.decl V v_type=G type=f num_elts=8
mov (M1, 8) V(0,0)<1> 0x0:f }
// where it goes on
L1: // here
mov (M1, 8) V(0,0)<1> \\
   0x1:d   // continued
  goto (M1, 8) L1
.function "f"
f:


mov (M1, 8) /* in the
   middle */ V(0,0)<1> 0x2:d

ret (M1, 1)
""",
        """\
.version 4.1

.kernel "k"

.decl V v_type=G type=d num_elts=8
{  // opens
.decl V v_type=G type=f num_elts=8
    mov (M1, 8) V(0,0)<1> 0x0:f
}

// where it goes on
L1:  // here
    mov (M1, 8) V(0,0)<1> 0x1:d  // continued
    goto (M1, 8) L1

.function "f"

f:

    mov (M1, 8) V(0,0)<1> 0x2:d  /* in the
   middle */

    ret (M1, 1)
""",
    ),
    "line ends and marks of other systems": (
        "\ufeff.version 4.1\r\n.kernel k\r\nret (M1, 1) // end  \r\n",
        '.version 4.1\n\n.kernel "k"\n\n    ret (M1, 1)  // end\n',
    ),
    "strings are no comments": (
        '.version 4.1\n.kernel "a//b/*c"\nFILE "x//y" // z\nret (M1, 1)\n',
        '.version 4.1\n\n.kernel "a//b/*c"\n\n    FILE "x//y"  // z\n    ret (M1, 1)\n',
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_layout(case: str) -> None:
    written, expected = CASES[case]
    assert text.format_text(written) == expected
    assert text.format_text(expected) == expected


def test_what_is_wrong_is_not_formatted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildError, match="unknown instruction 'frobnicate'"):
        text.format_text(HEAD + ".kernel k\nfrobnicate (M1, 8)\n")
    with pytest.raises(Unsupported):
        monkeypatch.setitem(VISA.unmodelled, "unheard_of", "nobody has described it")
        text.format_text(HEAD + ".kernel k\nunheard_of (M1, 8)\n")


# ---- any program, comments anywhere


@cache
def _corpus() -> list[str]:
    labels = ("L1", "L2", "L-x", "add")
    texts = [program(*(line.written for line in lines()), labels=labels)]
    return texts + [t.text for device, name in programs() for t in compiled(device, name)]


_COMMENT = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|(//[^\n]*|/\*.*?\*/)', re.DOTALL)


def _words(source: str) -> list[str]:
    """Every comment's words, in order: indents may change."""
    return [" ".join(found[1].split()) for found in _COMMENT.finditer(source) if found[1]]


def _commented(source: str, chance: random.Random) -> tuple[str, dict[str, str]]:
    """A text with comments at random places, and the statement of each of them."""
    out: list[str] = []
    of: dict[str, str] = {}
    for number, line in enumerate(source.split("\n")):
        is_plain = line.strip() != "" and "//" not in line and not line.endswith("\\")
        choice = chance.randrange(14)
        name = f"c{number}"
        gaps = [m.start() for m in re.finditer(r"(?<=\S) ", line)]
        if choice == 5 and is_plain and gaps and '"' not in line:  # between two words
            at = chance.choice(gaps)
            out.append(f"{line[:at]} /* {name} */{line[at:]}")
            of[name] = line
            continue
        if choice < 4 and is_plain:
            of[name] = line
        if choice == 0 and is_plain:
            out += [" " * chance.randrange(9) + f"// {name}", line]
        elif choice == 1 and is_plain:
            out.append(f"{line}{' ' * chance.randrange(3)}// {name}")
        elif choice == 2 and is_plain:
            out.append(f"{line} /* {name}\n   goes on */")
        elif choice == 3 and is_plain:
            out += [f"  /* {name}", "", "\t goes on */", line]
        elif choice == 4:
            out += ["", "", line]
        else:
            out.append(line)
    return "\n".join(out), of


NUMBERS = [
    pytest.param(number, marks=() if number % 12 == 0 else pytest.mark.weekly)
    for number in range(1 + sum(len(compiled(device, name)) for device, name in programs()))
]


@pytest.mark.parametrize("number", NUMBERS)
def test_comments_stay_and_the_program_is_the_same(number: int) -> None:
    source = _corpus()[number]
    written, of = _commented(source, random.Random(number))
    module = text.parse(written)
    formatted = text.format_text(written)
    assert difference(module, text.parse(formatted)) == ""
    names = [[d.name for d in k.declarations] for k in module.kernels]
    assert names == [[d.name for d in k.declarations] for k in text.parse(formatted).kernels]
    assert text.format_text(formatted) == formatted
    assert _words(formatted) == _words(written)
    _check_places(formatted, source, of)


def _check_places(formatted: str, source: str, of: dict[str, str]) -> None:
    """Every comment stands above its statement or ends the line of it."""
    canonical = dict(zip(_code(source), _code(text.format_text(source)), strict=True))
    split = formatted.split("\n")
    seen = set()
    for at, found in enumerate(split):
        if comment := re.search(r"/[/*] (c\d+)\b", found):
            name = comment[1]
            before = _bare(found[: comment.start()])
            rest = "\n".join([found[comment.start() :], *split[at + 1 : at + 20]])
            after = re.sub(r"\A(?:\s*(?:/\*.*?\*/|//[^\n]*))+\s*", "", rest, flags=re.DOTALL)
            following = re.split(r"  /[/*]|\n", after)[0]
            assert canonical[_bare(of[name])] == (before or following), f"{name}: {of[name]}"
            seen.add(name)
    assert seen == of.keys()


def _bare(line: str) -> str:
    return line.split("//")[0].strip()


def _code(source: str) -> list[str]:
    """The statements of a text that has one a line and no block comments."""
    return [_bare(line) for line in source.split("\n") if _bare(line)]


@pytest.mark.parametrize("number", NUMBERS)
def test_what_the_printer_writes_is_canonical(number: int) -> None:
    printed = text.print_module(text.parse(_corpus()[number]))
    assert text.format_text(printed) == printed


def test_the_shipped_files_can_be_formatted() -> None:
    folder = Path(__file__).parents[1]
    files = [*folder.glob("runs/**/*.visa"), *folder.glob("verifier/*.ok.visa")]
    assert len(files) > 50
    for file in files:
        source = file.read_text()
        formatted = text.format_text(source, file.name)
        assert _words(formatted) == _words(source), file.name
        assert text.format_text(formatted) == formatted, file.name
