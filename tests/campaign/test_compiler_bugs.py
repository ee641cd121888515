"""Bugs of Intel's compiler that random OpenCL C and kernels like it have found, in the releases
that have them (docs/findings.md): a difference that one of them explains is nobody else's.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import eumu
from eumu.platforms import platform
from eumu.zebin import ocloc as intel
from eumu.zebin import reader

_OFF = "-cl-opt-disable"
_THREE = "clamp((uchar4)(1), (uchar4)(3), (uchar4)(7))"
_TYPES = {
    "uint": np.uint32,
    "int": np.int32,
    "short": np.int16,
    "char": np.int8,
    "ulong": np.uint64,
}


def _ran(
    body: str,
    place: Path,
    device: str,
    options: str,
    numbers: list[int],
    type: str = "uint",
    before: str = "",
) -> list[int]:
    """What a kernel stores to `c`, with as many work items `i` as there are numbers in `a`."""
    source = place / "found.cl"
    source.write_text(
        f"{before}kernel void found(global {type} *c, global const {type} *a, uint n) {{"
        f" uint i = get_global_id(0); {body} }}"
    )
    dev = eumu.Device(device)
    kernel = eumu.build(source, device, options)["found"]
    arrays = {name: dev.array(np.array(numbers, _TYPES[type])) for name in ("c", "a")}
    given = {name: (arrays | {"n": 2})[name] for name in (p.name for p in kernel.args)}
    kernel.launch(dev, len(numbers), None, given)
    return [int(number) for number in arrays["c"].numpy()]


@pytest.mark.parametrize("operation", ["+", "-", "*"])
def test_vectors_of_constants(
    operation: str, ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without optimization, one lane is computed; the others are those of an unwritten register."""
    text = (
        f"uchar4 v = (uchar4)(5) {operation} {_THREE};"
        " c[i] = i == 0 ? v.s0 : i == 1 ? v.s1 : i == 2 ? v.s2 : v.s3;"
    )
    right = {"+": 8, "-": 2, "*": 15}[operation]
    for compiler in (ocloc, newest_ocloc):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        assert _ran(text, tmp_path, "dg2", "", [0] * 4) == [right] * 4
        assert _ran(text, tmp_path, "dg2", _OFF, [0] * 4) == [right, 0, 0, 0]


def test_comparing_vectors_of_constants(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without optimization, neither release builds it."""
    text = f"c[i] = as_uint((uchar4)(5) < {_THREE});"
    for compiler in (ocloc, newest_ocloc):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        assert _ran(text, tmp_path, "dg2", "", [0]) == [0]
        with pytest.raises(eumu.BuildError):
            _ran(text, tmp_path, "dg2", _OFF, [0])


def test_a_number_less_a_constant_with_saturation(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without optimization, negative numbers become the limit, and what overflows wraps."""
    for compiler, device, type, bits in (
        (ocloc, "skl", "int", 32),
        (ocloc, "skl", "char", 8),
        (ocloc, "dg2", "char", 8),
        (newest_ocloc, "dg2", "char", 8),
    ):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        least = -(1 << (bits - 1))
        given = [3, 10, -2, least]
        for options, wanted in (("", [-2, 5, -7, least]), (_OFF, [least, 5, -7, -least - 5])):
            made = _ran(f"c[i] = sub_sat(a[i], ({type})5);", tmp_path, device, options, given, type)
            assert made == wanted, (compiler, device, type, options)


def test_a_vector_of_three_in_a_structure(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With optimization, 22.43 loses its second and third lane where they become shorter."""
    before = "struct s { int3 v; uint more[2]; };\n"
    text = (
        "struct s s; s.v = (int3)(i, n, i); for (uint k = 0; k < 2; k++) s.more[k] = n + k;"
        " c[i] = (short)s.v.s2 + (s.more[a[i] & 1] << 16);"
    )
    numbers = [0, 1, 0, 1]
    for compiler, device, options in ((newest_ocloc, "dg2", ""), (ocloc, "dg2", _OFF)):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        made = _ran(text, tmp_path, device, options, numbers, before=before)
        assert made == [0x20000, 0x30001, 0x20002, 0x30003], (compiler, device)
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    for device in ("skl", "dg2", "pvc"):
        assert _ran(text, tmp_path, device, "", numbers, before=before) != made


def test_a_vector_of_three_that_says_an_element(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With optimization, nothing is left in 22.43 of a kernel that asks a shortened lane for it."""
    text = (
        "ulong3 p[4]; for (uint k = 0; k < 4; k++) p[k] = (ulong3)(i + k + 1, n, a[i]);"
        " p[(uint)p[i & 3].s2 & 3] = p[i & 3]; c[i] = p[0].s0;"
    )
    numbers = [0, 1, 0, 1]
    for compiler, options in ((newest_ocloc, ""), (newest_ocloc, _OFF), (ocloc, _OFF)):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        assert _ran(text, tmp_path, "dg2", options, numbers) == [1, 2, 5, 4], (compiler, options)
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    for device in ("skl", "dg2"):
        assert _ran(text, tmp_path, device, "", numbers) == numbers  # `c` as it was


def test_a_vector_of_constants_made_shorter(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without optimization, 22.43 builds no product of zeros that come of it for `pvc`."""
    text = "uchar8 v = (uchar8)((uchar)a[i]) * convert_uchar8((short8)(0x7f00)); c[i] = v.s1 + 1;"
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    assert _ran(text, tmp_path, "pvc", _OFF, [3]) == [1]
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    assert _ran(text, tmp_path, "pvc", "", [3]) == [1]
    with pytest.raises(eumu.BuildError, match="does not say why"):
        _ran(text, tmp_path, "pvc", _OFF, [3])


def test_global_ids_of_groups_of_a_required_size(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With optimization, 26.27 stores the first lane's id in every lane on `pvc`."""
    required = "__attribute__((reqd_work_group_size(32, 1, 1))) "
    for compiler, options, before in (
        (ocloc, "", required),
        (newest_ocloc, _OFF, required),
        (newest_ocloc, "", ""),
    ):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        made = _ran("c[i] = i;", tmp_path, "pvc", options, [0] * 32, before=before)
        assert made == list(range(32)), (compiler, options, before)
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    assert _ran("c[i] = i;", tmp_path, "pvc", "", [0] * 32, before=required) == [0] * 32


def test_a_rounding_mode_that_stays(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With optimization, a branch of 22.43 changes it, so what follows rounds as lanes went."""
    text = (
        "ulong u = (ulong)a[i] << 20 | a[i];"
        " c[i] = as_uint(convert_float_rtn(u) * 1.3f) ^ as_uint(convert_float_rtz((uint)u));"
    )
    numbers = [1, 7, 3, 0x12345]  # only the last one takes the branch
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    right = _ran(text, tmp_path, "dg2", "", numbers)
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    assert _ran(text, tmp_path, "skl", _OFF, numbers) == right
    for device in ("skl", "dg2", "pvc"):
        assert _ran(text, tmp_path, device, "", numbers[:3]) == right[:3]
        wrong = [*right[:2], right[2] - 1, right[3]]
        assert _ran(text, tmp_path, device, "", numbers) == wrong


def test_a_difference_of_a_generic_pointer_and_an_array(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the two addresses has the bit that says "private"."""
    text = "int p[24]; p[a[i]] = 1; int *q = p + a[i]; long d = q - PLACE; c[i] = (d >> 32) + d;"
    for compiler in (ocloc, newest_ocloc):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        for place, options, high in (
            ("p", "-cl-std=CL3.0 " + _OFF, 0x8000000),
            ("(int *)p", "-cl-std=CL3.0 " + _OFF, 0),
            ("p", "-cl-std=CL1.2 " + _OFF, 0),
        ):
            made = _ran(text.replace("PLACE", place), tmp_path, "dg2", options, [3, 9])
            assert made == [high + 3, high + 9], (compiler, place, options)


def test_a_private_array_of_short_vectors_that_changes_in_a_branch(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With optimization, both releases read what nothing has written, for `pvc` and later ones."""
    text = (
        "short v = a[0], w = v; {type} p[2]; for (uint k = 0; k < 2; k++) p[k] = 1;"
        " for (uint k = i & 7; k > 0; k--) if (n == 4) {{ v |= w; p[0] = p[i & 1]; }}"
        " c[i] = v + p[0]{lane};"
    )
    wrong, right = text.format(type="uchar2", lane=".s0"), text.format(type="uchar", lane="")
    numbers = [9] * 8
    for compiler in (ocloc, newest_ocloc):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        assert _ran(wrong, tmp_path, "pvc", "", numbers) != [10] * 8
        assert _ran(wrong, tmp_path, "pvc", _OFF, numbers) == [10] * 8
        assert _ran(wrong, tmp_path, "dg2", "", numbers) == [10] * 8
        assert _ran(right, tmp_path, "pvc", "", numbers) == [10] * 8


def test_the_last_three_bytes_of_a_copied_structure(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With optimization, 26.27 takes them for 24 bits, of which it loads 16."""
    before = "struct s { uchar2 a[2]; char b; ushort c; };\n"
    text = (
        "struct s s, t; for (uint k = 0; k < 2; k++) s.a[k] = (uchar2)((uchar)i);"
        " s.b = n; s.c = a[i] * 0x1111; t = s; uint sum = t.b;"
        " for (uint k = 0; k < 2; k++) sum += t.a[k].s0 + s.a[i & 1].s1;"
        " c[i] = t.c + (sum << 16);"
    )
    numbers = [1, 2, 3, 4]
    right = [number * 0x1111 + (2 + 4 * k << 16) for k, number in enumerate(numbers)]
    wrong = [number * 0x11 + (2 + 4 * k << 16) for k, number in enumerate(numbers)]
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    for device in ("skl", "dg2", "pvc"):
        assert _ran(text, tmp_path, device, "", numbers, before=before) == right, device
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    for device in ("dg2", "pvc"):
        assert _ran(text, tmp_path, device, _OFF, numbers, before=before) == right, device
        assert _ran(text, tmp_path, device, "", numbers, before=before) == wrong, device


def test_a_negated_word_made_wider(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With optimization, 26.27 multiplies and adds it as 32 bits on `dg2`."""
    text = (
        "uint4 v = convert_uint4((ushort4)((ushort)get_local_id(0)) * (ushort4)(0xffff));"
        " c[i] = ((v.s0 * 31ul + v.s1) * 31 + v.s2) * 31 + v.s3;"
    )
    right = [(0x10000 - k) % 0x10000 * (31**3 + 31**2 + 31 + 1) for k in range(3)]
    for compiler, device, options in (
        (ocloc, "dg2", ""),
        (newest_ocloc, "pvc", ""),
        (newest_ocloc, "dg2", _OFF),
    ):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        made = _ran(text, tmp_path, device, options, [0] * 3, "ulong")
        assert made == right, (compiler, device, options)
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    wrong = [right[0], 0xFFFF87C0, 0xFFFF87C0 - 0x7840]
    assert _ran(text, tmp_path, "dg2", "", [0] * 3, "ulong") == wrong


@pytest.mark.parametrize("operation", ["add_sat", "sub_sat"])
def test_a_comparison_added_with_saturation(
    operation: str, ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without optimization, both releases add 0 for `pvc`."""
    text = f"c[i] = {operation}(a[i], (char)(i <= a[1]));"
    step = {"add_sat": 1, "sub_sat": -1}[operation]
    for compiler in (ocloc, newest_ocloc):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        for device, options, added in (("pvc", "", step), ("dg2", _OFF, step), ("pvc", _OFF, 0)):
            made = _ran(text, tmp_path, device, options, [5, 1, 7, -9], "char")
            assert made == [5 + added, 1 + added, 7, -9], (compiler, device, options)


def test_an_array_in_a_structure_that_a_loop_changes(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With optimization, both releases take an element for what it was before the loop."""
    text = (
        "for (uint k = 0; k < 2; k++) s.f[k] = 9;"
        " for (uint k = n; k > 0; k--) s.f[i & 1] = k - s.f[0];"
        " for (uint k = 0; k < 2; k++) c[i] = c[i] * 100 + s.f[k];"
    )
    before = "struct s { uint f[2]; };\n"
    right, wrong = [809, 892], [(1 - 9) * 100 + 9 & 0xFFFFFFFF, 892]
    array = "uint f[2]; " + text.replace("s.f", "f")
    for compiler, device in ((ocloc, "skl"), (ocloc, "pvc"), (newest_ocloc, "pvc")):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        for body, options, made in (
            ("struct s s; " + text, "", wrong),
            ("struct s s; " + text, _OFF, right),
            (array, "", right),
        ):
            ran = _ran(body, tmp_path, device, options, [0, 0], before=before)
            assert ran == made, (compiler, device, body, options)


@pytest.mark.parametrize(("type", "bits"), [("char", 8), ("short", 16)])
def test_the_lowest_number_negated(
    type: str,
    bits: int,
    ocloc: str,
    newest_ocloc: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With optimization, it is not the lowest number to what uses it."""
    least = -(1 << (bits - 1))
    shift, choice = f"({type})-a[i] >> 1", f"max(({type})-a[i], ({type})4)"
    for compiler, device, text, wrong in (
        (ocloc, "skl", shift, -least // 2),
        (ocloc, "dg2", shift, -least // 2),
        (newest_ocloc, "dg2", shift, -least // 2),
        (ocloc, "skl", choice, least),
        (ocloc, "dg2", choice, least),
        (newest_ocloc, "dg2", choice, 4),
    ):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        for options, first in ((_OFF, least // 2 if text == shift else 4), ("", wrong)):
            made = _ran(f"c[i] = {text};", tmp_path, device, options, [least, -8, -12], type)
            others = [4, 6] if text == shift else [8, 12]
            assert made == [first, *others], (compiler, device, text, options)


def test_two_sources_that_become_one_instruction(
    ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number made wider and then negated, and one that is negated first, have one native code."""
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    first, second = (
        reader.read(
            intel.compile(
                "kernel void found(global int *c, global const short *a)"
                f" {{ uint i = get_global_id(0); c[i] = {text}; }}",
                platform("skl"),
            ).elf,
            "found",
        ).kernels[0]
        for text in ("-(int)a[i]", "(int)(short)-a[i]")
    )
    assert first.text == second.text


@pytest.mark.parametrize(
    ("device", "type", "text"),
    [
        ("dg2", "int", "int2 v = ~as_int2((short4)(1)); c[i] = v.s1;"),
        (
            "pvc",
            "ulong",
            "ulong2 p[4]; for (uint k = 0; k < 4; k++) p[k] = (ulong2)(get_local_id(0), 7);"
            " struct s s, t; for (uint k = 0; k < 2; k++) s.f[k] = n; t = s;"
            " p[t.f[a[i] & 1] & 3] = p[get_local_id(0) & 3];"
            " for (uint k = 0; k < 4; k++) c[i] += p[k].s0;",
        ),
    ],
    ids=["constant", "array"],
)
def test_what_ends_the_compiler(
    device: str,
    type: str,
    text: str,
    ocloc: str,
    newest_ocloc: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """22.43 ends by SIGABRT. What a comparison `p | p` does hangs on what lies in its memory."""
    before = "struct s { int f[2]; };\n"
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    with pytest.raises(eumu.BuildError, match="SIGABRT"):
        _ran(text, tmp_path, device, "", [1, 2], type, before)
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    optimized = _ran(text, tmp_path, device, "", [1, 2], type, before)
    assert optimized == _ran(text, tmp_path, device, _OFF, [1, 2], type, before)
