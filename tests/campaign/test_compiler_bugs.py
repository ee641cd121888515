"""Bugs of Intel's compiler that random OpenCL C and kernels like it have found, in the releases
that have them (docs/findings.md): a difference that one of them explains is nobody else's.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import eumu

_OFF = "-cl-opt-disable"
_THREE = "clamp((uchar4)(1), (uchar4)(3), (uchar4)(7))"
_TYPES = {"uint": np.uint32, "int": np.int32, "char": np.int8}


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
