"""The compiler's own native code, on both engines: it gives what the vISA beside it gives."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.zebin import compilers
from kernels.build import DEVICES as ARCHIVED
from kernels.build import PROGRAMS
from kernels.case import Buffer, Case, Local, Value
from kernels.references import CASES

DEVICES = ("apl", "skl", "bdw")
ENGINES = ("interp", "jit")
LEVELS = ("visa", "native")
# One case for each feature, on one device.
FAST = {
    *("saxpy-part-of-a-thread", "reduce-small-groups", "mandelbrot", "atomics-atomics_loop"),
    *("call_noinline", "print_values", "private_array", "constant_table", "local_pointers"),
    *("control_flow", "arithmetic_half-half_arithmetic"),
}
# Gen8's are compiled here; the compiler's fabs of half leaves -0 there, at both levels.
FAST_GEN8 = {"saxpy-part-of-a-thread", "call_noinline", "arithmetic_half-float_comparison"}
NOT_GEN8 = {"arithmetic_half-float_arithmetic"}


def _fast(device: str) -> set[str]:
    return {"apl": FAST, "bdw": FAST_GEN8}.get(device, set())


def _parameters() -> list[Any]:
    programs = {program.name: program for program in PROGRAMS}
    return [
        pytest.param(
            *(case, device, engine),
            id=f"{case.id}-{device}-{engine}",
            marks=() if case.id in _fast(device) else pytest.mark.weekly,
        )
        for case in CASES
        for device in DEVICES
        if device not in programs[case.program].cannot
        and not (device == "bdw" and case.id in NOT_GEN8)
        for engine in ENGINES
    ]


@cache
def _load(program: str, device: str) -> Any:
    found = next(p for p in PROGRAMS if p.name == program)
    if device in ARCHIVED:
        return eumu.load(found.elf(device))
    if compilers.find() is None:
        pytest.skip("ocloc is not installed")
    return eumu.build(found.path, device, found.options)


def _argument(device: Any, argument: Buffer | Local | Value) -> Any:
    match argument:
        case Buffer(array):
            return device.array(np.ascontiguousarray(array))
        case Local(size_bytes):
            return eumu.Local(size_bytes)
        case Value(value):
            return value


def _run(case: Case, device: str, engine: str, level: str) -> tuple[list[Any], list[str]]:
    """The arguments after the launch, and what was printed."""
    setup = case.make(case)
    dev = eumu.Device(device, engine=engine)
    args = [_argument(dev, a) for a in setup.args]
    kernel = _load(case.program, device)[case.kernel]
    sizes = case.global_size, case.local_size
    report = kernel.launch(dev, *sizes, args, level=level)
    for output in setup.outputs:
        wrong = output.as_compiled().mismatch(args[output.argument].numpy())
        assert not wrong, f"{level}: {wrong}"
    return args, sorted(report.printf.splitlines())


def _equal(x: Any, y: Any) -> bool:
    """Bit for bit, but for the padding of structures."""
    if x.dtype.fields:
        return all(_equal(x[name], y[name]) for name in x.dtype.fields)
    return np.array_equal(
        np.ascontiguousarray(x).view(np.uint8), np.ascontiguousarray(y).view(np.uint8)
    )


@pytest.mark.parametrize(("case", "device", "engine"), _parameters())
def test_native_is_visa(
    case: Case, device: str, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (left, printed), (right, printed_too) = (_run(case, device, engine, v) for v in LEVELS)
    assert printed == printed_too
    capsys.readouterr()
    for number, (x, y) in enumerate(zip(left, right, strict=True)):
        if isinstance(x, eumu.Array):
            assert _equal(x.numpy(), y.numpy()), f"argument {number} differs"


def test_levels_are_named() -> None:
    kernel = _load("saxpy", "apl")["saxpy"]
    dev = eumu.Device("apl")
    with pytest.raises(eumu.LaunchError, match="'nativ' is none of 'visa' and 'native'"):
        kernel.launch(dev, 32, args=[None, None, 1.0], level="nativ")


def test_native_code_of_another_generation_is_not_run() -> None:
    kernel = _load("saxpy", "pvc")["saxpy"]
    with pytest.raises(eumu.Unsupported, match="native code of Gen9"):
        kernel.launch(eumu.Device("pvc"), 32, args=[None, None, 1.0], level="native")


@pytest.mark.parametrize(
    ("type", "other", "is_right"),
    [("char", "uchar", False), ("short", "ushort", False), ("short", "uchar", True)],
)
def test_divisions_of_short_numbers_with_a_sign_by_those_without(
    ocloc: str, type: str, other: str, is_right: bool
) -> None:
    """The finalizer divides without signs (docs/findings.md)."""
    short = {"char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16}
    device, x, y = eumu.Device("skl"), short[type]([-7, 7, -9, 100]), short[other]([2, 2, 3, 7])
    for sign, wanted in (("/", [-3, 3, -3, 14]), ("%", [-1, 1, 0, 2])):
        source = f"kernel void k(global int *o, global const {type} *x, global const {other} *y)"
        source += f" {{ int i = get_global_id(0); o[i] = x[i] {sign} y[i]; }}"
        kernel = eumu.build(source, "skl")["k"]
        for level in LEVELS:
            out = device.array(4, np.int32)
            kernel.launch(device, 4, 4, [out, device.array(x), device.array(y)], level=level)
            found = out.numpy().tolist()
            assert (found == wanted) == (is_right or level == "visa"), (level, found)


@pytest.mark.parametrize(
    ("options", "beside", "wanted"),
    [
        ("", "kernel void z(global uint *o) { o[0] = 1; }", 0),
        ("", "", 2),
        ("-cl-opt-disable", "kernel void z(global uint *o) { o[0] = 1; }", 2),
    ],
)
def test_a_kernel_whose_code_is_gone(ocloc: str, options: str, beside: str, wanted: int) -> None:
    """Beside another one, the compiler leaves nothing of a kernel (docs/findings.md)."""
    source = """
    struct s { uchar2 some[2]; ulong3 more; };
    kernel void k(global uint *o, global const uint *a, uint n) {
        uint i = get_global_id(0);
        struct s s;
        s.some[0] = s.some[1] = (uchar2)((uchar)n);
        s.more = (ulong3)(a[i]);
        o[i] = s.some[(uint)s.more.s2 & 1].s0;
    }"""
    device = eumu.Device("skl")
    for level in LEVELS:
        out, given = device.array(16, np.uint32), device.array(np.arange(16, dtype=np.uint32))
        kernel = eumu.build(source + beside, "skl", options)["k"]
        kernel.launch(device, 16, 16, [out, given, 2], level=level)
        assert set(out.numpy().tolist()) == {wanted}
