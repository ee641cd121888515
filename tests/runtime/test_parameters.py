"""Python values as kernel arguments: conversion, ranges, sizes, and what errors say."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from eumu.errors import ArgumentError
from eumu.runtime.parameters import Parameter, Passing, element_type


def parameter(type_name: str, size: int) -> Parameter:
    return Parameter("k", 2, "a", type_name, size, Passing.VALUE)


@pytest.mark.parametrize(
    ("type_name", "size", "value", "expected"),
    [
        ("int", 4, -5, struct.pack("<i", -5)),
        ("uint", 4, 2**32 - 1, b"\xff" * 4),
        ("int", 4, True, b"\1\0\0\0"),
        ("char", 1, np.int64(-128), b"\x80"),
        ("uchar", 1, np.uint8(200), b"\xc8"),
        ("long", 8, -(2**63), struct.pack("<q", -(2**63))),
        ("half", 2, 1.5, struct.pack("<e", 1.5)),
        ("float", 4, 2, struct.pack("<f", 2)),
        ("float", 4, np.float64(0.1), struct.pack("<f", 0.1)),
        ("float", 4, np.array(3.5), struct.pack("<f", 3.5)),
        ("float", 4, float("inf"), struct.pack("<f", float("inf"))),
        ("double", 8, 1e300, struct.pack("<d", 1e300)),
        ("unsigned int", 4, 7, b"\7\0\0\0"),
        ("float4", 16, [1, 2, 3, 4], struct.pack("<4f", 1, 2, 3, 4)),
        ("int3", 16, (1, -2, 3), struct.pack("<3i4x", 1, -2, 3)),
        ("uchar2", 2, np.array([1, 255]), b"\1\xff"),
        ("float2", 8, np.array([1, 2], np.float16), struct.pack("<2f", 1, 2)),
        ("int", 4, b"abcd", b"abcd"),
        ("Item", 8, b"abcdefgh", b"abcdefgh"),
        ("Item", 8, np.array((1, 2.0), "i4,f4"), struct.pack("<if", 1, 2)),
        ("Item", 8, np.array([(1, 2.0)], "i4,f4")[0], struct.pack("<if", 1, 2)),
        ("Item", 8, np.array([1, 2], np.int32), struct.pack("<2i", 1, 2)),
        ("my_int", 4, np.int32(9), b"\t\0\0\0"),
    ],
)
def test_values(type_name: str, size: int, value: Any, expected: bytes) -> None:
    assert parameter(type_name, size).encode(value) == expected


@pytest.mark.parametrize(
    ("type_name", "size", "value", "message"),
    [
        ("int", 4, 2**31, "2147483648 does not fit, the range is -2147483648 to 2147483647"),
        ("uint", 4, -1, "-1 does not fit, the range is 0 to 4294967295"),
        ("char", 1, np.uint8(200), "200 does not fit, the range is -128 to 127"),
        ("int", 4, 2.0, r"an integer is needed, not 2.0 \(float\)"),
        ("int", 4, "7", r"an integer is needed, not '7' \(str\)"),
        ("int", 4, None, r"an integer is needed, not None \(NoneType\)"),
        ("float", 4, 1e39, r"1e\+39 \(float\) does not fit, the largest is 3.4"),
        ("half", 2, 65520, r"65520 \(int\) does not fit, the largest is 65504"),
        ("float", 4, 10**400, "does not fit"),
        ("float", 4, 1j, r"a number is needed, not 1j \(complex\)"),
        ("float", 4, np.zeros(1, np.float32), "a number is needed, not a NumPy array of shape"),
        ("float4", 16, [1, 2, 3], "4 elements are needed, 3 were given"),
        ("float4", 16, 1.0, r"4 elements are needed, not 1.0 \(float\)"),
        ("int2", 8, [1, 0.5], "an integer is needed, not 0.5"),
        ("int", 4, b"abc", "it has 4 bytes, but bytes of 3 bytes was given"),
        ("Item", 8, 5, "pass its 8 bytes as a NumPy scalar or array, np.void or bytes, not 5"),
        ("Item", 8, np.zeros(3, np.float32), r"has 8 bytes, but a NumPy array of .* 12 bytes"),
    ],
)
def test_bad_values(type_name: str, size: int, value: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as error:
        parameter(type_name, size).encode(value)
    assert str(error.value).startswith(f"kernel k: argument 2 'a' is {type_name}: ")


def test_an_argument_error_is_what_python_callers_catch() -> None:
    with pytest.raises(TypeError):
        parameter("int", 4).encode("x")
    with pytest.raises(ValueError):
        parameter("int", 4).encode("x")


@pytest.mark.parametrize("name", ["float5", "Item", "float*", "image2d_t", ""])
def test_other_types_are_not_guessed(name: str) -> None:
    assert element_type(name) is None
