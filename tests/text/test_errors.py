"""Wrong texts and what is said about them.

In `errors/*.visaasm` a line ends in `// error@COLUMN: part of the message` (or `warning`); a line
without it must be fine.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eumu import text
from eumu.errors import BuildError, Severity
from limits import within
from text.corpus import program

FILES = sorted(Path(__file__).with_name("errors").glob("*.visaasm"))
EXPECTED = re.compile(r"// (error|warning)@(\d+): (.*)")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_error_is_found_in_its_place(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    expected = {}
    for number, line in enumerate(source.splitlines(), 1):
        if match := EXPECTED.search(line):
            expected[number, int(match[2]), match[1]] = match[3]
    _, found = text.parse_with_diagnostics(source, file.name)
    got = {}
    for diagnostic in found:
        assert diagnostic.span is not None
        place = diagnostic.span.line, diagnostic.span.column, diagnostic.severity.value
        assert place not in got, f"two messages in one place: {diagnostic}"
        got[place] = diagnostic.message
    assert sorted(got) == sorted(expected)
    for place, message in got.items():
        assert expected[place] in message, place


def messages(source: str) -> list[str]:
    _, found = text.parse_with_diagnostics(source, "x")
    return [f"{d.span}: {d.message}" for d in found]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "x:1:1: the text is empty; it needs .version"),
        ("// only a comment\n\n", "x:1:1: the text is empty; it needs .version"),
        (".version 4.1\n", "x:1:1: the text has no .kernel"),
        (".version\n", "x:1:9: expected a version such as 4.1, found the end of the line"),
        (".version 4\n", "x:1:11: expected '.' between major and minor version, found the end"),
        (".version four\n", "x:1:10: expected a version such as 4.1, found 'four'"),
        (".version 4.1\n.kernel k\n", "x:2:9: kernel 'k' is empty"),
        ('.kernel "k"\nret (M1, 1)\n', "x:1:1: a program begins with its version"),
        (".version 4.1\nret (M1, 1)\n", "x:2:1: there is no .kernel before this"),
        (".version 4.1\n.decl X v_type=P num_elts=1\n", "x:2:6: there is no .kernel before this"),
        (".version 4.1\n.kernel k\n ret (M1, 1)\n/* open", "x:4:1: this comment is not closed"),
        (".version 4.1\n.kernel k\n ret (M1, 1)\n  /*/", "x:4:3: this comment is not closed"),
    ],
)
def test_what_concerns_the_whole_text(source: str, message: str) -> None:
    found = messages(source)
    assert len(found) == 1
    assert found[0].startswith(message)


@pytest.mark.parametrize(
    "garbage",
    ["\0\0\0\0", "\x7fELF\x02\x01\x01", "\ufffd\ufffd", "%PDF-1.4", "ÿþ.version 4.1", "{}[]<>();"],
)
def test_garbage_is_refused(garbage: str) -> None:
    with pytest.raises(BuildError):
        text.parse(garbage)


def test_a_truncated_text_is_refused_in_the_line_that_is_cut() -> None:
    source = program("mov (M1, 8) D(0,0)<1> D2(0,0)<1;1,0>")
    cut = source.index("<1;1,0>") + 3
    (message,) = messages(source[:cut])
    line = source[:cut].count("\n") + 1
    assert message.startswith(f"x:{line}:")
    assert "found the end of the line" in message


def test_build_error_has_every_error_and_shows_them() -> None:
    source = program("ADX (M1, 8)", "mov (M1, 8) X(0,0)<1> 1:d")
    with pytest.raises(BuildError, match="2 errors in the program") as caught:
        text.parse(source, "bad.visaasm")
    assert [d.code for d in caught.value.diagnostics] == ["opcode", "undeclared"]
    first, second = (str(d).splitlines() for d in caught.value.diagnostics)
    assert first[1:] == ["  ADX (M1, 8)", "  ^^^"]
    assert second[1:] == ["  mov (M1, 8) X(0,0)<1> 1:d", "              ^"]


def test_a_warning_does_not_stop_a_program() -> None:
    source = ".version 4.1\n.kernel k\n.kernel_attr Odd=1\nret (M1, 1)\n"
    _, found = text.parse_with_diagnostics(source)
    assert [d.severity for d in found] == [Severity.WARNING]
    assert text.parse(source).kernels[0].attribute("Odd") == 1


def test_an_error_in_a_continued_line_is_shown_in_its_own_line() -> None:
    source = program("mov (M1, 8) \\\n  D(0,0)<1> \\\n    X(0,0)<1;1,0>")
    line = source[: source.index("X(0,0)")].count("\n") + 1
    assert messages(source) == [f"x:{line}:5: 'X' is not declared"]


def test_an_error_after_a_comment_that_spans_lines_is_in_its_place() -> None:
    source = program("mov (M1, 8) D(0,0)<1> /* one\n two */ X(0,0)<1;1,0>")
    line = source[: source.index("X(0,0)")].count("\n") + 1
    assert messages(source) == [f"x:{line}:9: 'X' is not declared"]


@pytest.mark.parametrize(
    ("what", "statement"),
    [
        ("parentheses", f"mov (M1, 8) D(0,0)<1> {'(' * 100_000}1:d"),
        ("signs", f"mov (M1, 8) D(0,0)<1> {'-~' * 100_000}1:d"),
        ("digits", f"mov (M1, 8) D(0,0)<1> {'9' * 100_000}:d"),
        ("hexadecimal digits", f"mov (M1, 8) D(0,0)<1> 0x{'f' * 100_000}:q"),
        ("shifts", f"mov (M1, 8) D(0,0)<1> ({'1<<' * 50_000}99):d"),
        ("a name", f"mov (M1, 8) {'x' * 100_000}(0,0)<1> 1:d"),
        ("a word", "y" * 200_000),
        ("quotes", "faddr " + '"' * 100_001 + " D(0,0)<1>"),
        ("backslashes", 'faddr "' + "\\" * 100_001),
        ("operators", f"mov (M1, 8) D(0,{'+' * 50_000})<1> 1:d"),
        ("comments", "/*" * 100_000),
        ("braces", "}" * 10_000),
    ],
)
def test_long_lines_neither_hang_nor_crash(what: str, statement: str) -> None:
    with within(20):  # a guard against quadratic time, not a benchmark
        assert messages(program(statement)), what


def test_many_errors_take_bounded_time() -> None:
    wrong = [f"mov (M1, 8) X{k}(0,0)<1> D(0,0)<1;1,0>" for k in range(3000)]
    wrong += [f"unknown{k} (M1, 8)" for k in range(300)]
    with pytest.raises(BuildError) as caught:
        text.parse(program(*wrong))
    assert len(caught.value.diagnostics) == 3300
