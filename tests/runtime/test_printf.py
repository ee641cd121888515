"""Printf records are decoded and formatted as C formats them."""

from __future__ import annotations

import ctypes
import struct
import sys

import pytest

from eumu.runtime.printf import decode

INT, FLOAT, STRING, LONG, POINTER, DOUBLE = 3, 4, 5, 6, 7, 8


def printed(template: bytes, arguments: bytes = b"", more: dict[int, bytes] | None = None) -> str:
    """What one record with these raw arguments prints."""
    record = struct.pack("<Q", 1000) + arguments
    buffer = struct.pack("<I", 4 + len(record)) + record
    strings = {1000: template, **(more or {})}
    return decode(buffer.ljust(4096, b"\0"), strings.get)


def argument(kind: int, code: str, *values: float) -> bytes:
    return struct.pack(f"<I{code}", kind, *values)


@pytest.mark.parametrize(
    "conversion",
    [
        *("%d", "%i", "%5d", "%-5d|", "%05d", "%+d", "% d", "%.3d", "%8.3d", "%08.3d", "%-+7d|"),
        *("%u", "%x", "%X", "%#x", "%#010x", "%o", "%#o", "%.0d", "%hd", "%hhu", "%hhd", "%hx"),
    ],
)
@pytest.mark.parametrize("value", [0, 1, 42, -1, -42, 2**31 - 1, -(2**31), 1000000])
def test_integers_are_formatted_as_c_formats_them(conversion: str, value: int) -> None:
    expected = _c(conversion, ctypes.c_int(value))
    assert printed(conversion.encode(), argument(INT, "i", value)) == expected


@pytest.mark.parametrize(
    "conversion",
    [
        *("%f", "%.0f", "%#.0f", "%10.3f", "%-10.2f|", "%+.2f", "%010.3f", "% f", "%e", "%.2E"),
        *("%g", "%G", "%#g", "%.10g", "%a", "%.3a", "%A", "%.0a", "%20a", "%F"),
    ],
)
@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.0, -1.5, 0.1, 1e10, 1e-10, 123456.789, float("inf"), float("nan")]
)
def test_floats_are_formatted_as_c_formats_them(conversion: str, value: float) -> None:
    expected = _c(conversion, ctypes.c_double(value))
    assert printed(conversion.encode(), argument(DOUBLE, "d", value)) == expected


@pytest.mark.parametrize("conversion", ["%c", "%5c", "%-5c|"])
def test_characters(conversion: str) -> None:
    assert printed(conversion.encode(), argument(INT, "i", 97)) == _c(conversion, ctypes.c_int(97))


def _c(conversion: str, value: object) -> str:
    if not sys.platform.startswith("linux"):
        pytest.skip("the C library's snprintf is the reference, on Linux")
    text = ctypes.create_string_buffer(256)
    ctypes.CDLL(None).snprintf(text, ctypes.c_size_t(256), conversion.encode(), value)
    return text.value.decode()


@pytest.mark.parametrize(
    ("template", "arguments", "expected"),
    [
        (b"plain 100%%\n", b"", "plain 100%\n"),
        (b"%ld", argument(LONG, "q", -(2**40)), "-1099511627776"),
        (b"%lu", argument(LONG, "q", -1), "18446744073709551615"),
        (b"%d", argument(LONG, "q", 2**32 + 7), "7"),
        (b"%p", argument(POINTER, "Q", 4096), "0x1000"),
        (b"%f", argument(FLOAT, "f", 0.5), "0.500000"),
        (b"%.1v4hlf", struct.pack("<2I4f", 13, 4, 1, 2, 3, 4), "1.0,2.0,3.0,4.0"),
        (b"%v2d", struct.pack("<2I2i", 11, 2, -1, 5), "-1,5"),
        (b"%v2hhx", struct.pack("<2I2b4x2x", 9, 2, -1, 5), "ff,5"),
        (b"%s!", argument(STRING, "Q", 2000), "text!"),
        (b"%.2s|%6s|", argument(STRING, "Q", 2000) * 2, "te|  text|"),
        (b"%s", argument(STRING, "Q", 0), "(null)"),
        (b"%d %s", argument(INT, "i", 7) + argument(STRING, "Q", 2000), "7 text"),
        (b"%d", argument(FLOAT, "f", 1.5), "<%d of 1.5>"),
        (b"%s", argument(INT, "i", 7), "<%s of 7>"),
        (b"caf\xc3\xa9 %c%c", argument(INT, "i", 0xC3) + argument(INT, "i", 0xA9), "café é"),
        (b"no conversion % z", b"", "no conversion % z"),
    ],
)
def test_records(template: bytes, arguments: bytes, expected: str) -> None:
    assert printed(template, arguments, {2000: b"text"}) == expected


@pytest.mark.parametrize(
    ("template", "arguments", "expected"),
    [
        (b"%zd %zu", argument(LONG, "q", -5) + argument(LONG, "q", 6), "-5 6"),
        (b"%lld%td%jd", argument(LONG, "q", -(2**40)) * 3, "-1099511627776" * 3),
        (b"%Lf", argument(FLOAT, "f", 1.5), "1.500000"),
        (b"%*d|", argument(INT, "i", 5) + argument(INT, "i", 42), "   42|"),
        (b"%*d|", argument(INT, "i", -5) + argument(INT, "i", 42), "42   |"),
        (b"%.*f", argument(INT, "i", 2) + argument(FLOAT, "f", 1.5), "1.50"),
        (
            b"%*.*f",
            argument(INT, "i", 9) + argument(INT, "i", -1) + argument(FLOAT, "f", 1.5),
            " 1.500000",
        ),
        (b"%*d", argument(INT, "i", 5), "%*d"),
        (b"%*d", b"", "%*d"),
        (b"50% sure %d\n", b"", "50% sure %d\n"),
        (b"%d of %d\n", argument(INT, "i", 7), "7 of %d\n"),
        (
            b"one\n",
            argument(INT, "i", 7) + argument(LONG, "q", 8) + argument(FLOAT, "f", 1),
            "one\n",
        ),
        (b"%d\n", argument(INT, "i", 7) + argument(STRING, "Q", 2000), "7\n"),
        (b"%d\n", argument(INT, "i", 7) + struct.pack("<2I2i", 11, 2, -1, 5), "7\n"),
        (b"%y %d\n", argument(INT, "i", 7) + argument(INT, "i", 8), "%y 7\n"),
    ],
)
def test_what_is_not_as_the_format_says_leaves_later_records_alone(
    template: bytes, arguments: bytes, expected: str
) -> None:
    last = struct.pack("<QIi", 3000, INT, 1)
    records = struct.pack("<Q", 1000) + arguments + last
    buffer = struct.pack("<I", 4 + len(records)) + records
    strings = {1000: template, 2000: b"text", 3000: b"last %d"}
    assert decode(buffer + bytes(100), strings.get) == expected + "last 1"
    assert printed(template, arguments) == expected


def test_records_follow_each_other() -> None:
    one = struct.pack("<QIi", 1000, INT, 1)
    two = struct.pack("<QIi", 1000, INT, 2)
    buffer = struct.pack("<I", 36) + one + two + bytes(100)
    assert decode(buffer, {1000: b"%d\n"}.get) == "1\n2\n"


def test_overflow_is_told() -> None:
    record = struct.pack("<Q", 1000)
    buffer = struct.pack("<I", 200) + record + b"\xff" * 4 + bytes(20)
    text = decode(buffer, {1000: b"hi\n"}.get)
    assert text.startswith("hi\n[printf: 164 bytes found no room")


def test_damage_is_told() -> None:
    assert "no format string at 0x3e8" in decode(struct.pack("<IQ", 12, 1000), {}.get)
    assert "damaged arguments" in printed(b"%d", struct.pack("<Ii", 77, 1))


def test_an_unused_buffer_prints_nothing() -> None:
    assert decode(struct.pack("<I", 4) + bytes(100), {}.get) == ""
