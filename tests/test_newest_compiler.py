"""Kernels by the newest compiler that Debian has, for GPUs that people own today.

`tests/kernels/newest.py` runs all of them on all devices; here are those of the fast loop, and what
only this compiler makes: two-dimensional blocks, products of matrices, barriers in two halves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu import zebin
from eumu.cli.main import main
from eumu.compare import Divergence, Launch, compare, sides
from eumu.errors import Severity
from eumu.platforms import platform
from eumu.text import parse, print_module
from kernels import choices, feature_references, newest, references
from kernels.case import Case
from test_kernels import FAST

ENGINES = ("interp", "jit")
DEVICES = ("dg2", "bmg")
XE2 = ("bmg", "lnl")
SOURCES = Path(__file__).with_name("kernels") / "newest_features"
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _newest(newest_ocloc: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only this compiler."""
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    yield


@cache
def _program(name: str, device: str) -> eumu.Program:
    return eumu.build(SOURCES / f"{name}.cl", device, "-cl-std=CL3.0")


CASES = [c for c in references.CASES if c.id in FAST]
XE3P = (
    "reduce-small-groups",
    "local_pointers",
    "private_array",
    "private_array-private_memory",
    "call_noinline",
)
XE3P_CASES = [c for c in references.CASES if c.id in XE3P]
BARRIERS = [c for c in feature_references.CASES if "barrier" in c.program]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_kernel(case: Case, device: str, engine: str) -> None:
    assert not newest.run(case, device, engine, newest=True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", XE2)
@pytest.mark.parametrize("case", BARRIERS, ids=lambda case: case.id)
def test_barriers(case: Case, device: str, engine: str) -> None:
    """Named ones, and those in two halves."""
    assert not newest.run(case, device, engine, newest=True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", XE3P_CASES, ids=lambda case: case.id)
def test_xe3p(case: Case, engine: str) -> None:
    """Pointers of surfaces, scratch space by %scratchloc, 32 addresses, 64 bytes inline."""
    assert not newest.run(case, "nvlp", engine, newest=True)


@pytest.mark.parametrize(
    ("name", "device"),
    [*(("reduce", d) for d in newest.DEVICES), *(("private_array", d) for d in (*DEVICES, "nvlp"))],
)
def test_what_it_writes_reads_prints_and_checks_clean(name: str, device: str) -> None:
    """Text that prints the same again, with no error; and the file says who made it."""
    program = eumu.load(newest.build(name, device))
    assert program.elf is not None
    assert program.made_by.startswith("IGC, zebin 1.")
    assert "vISA 4.2" in program.made_by
    grf = platform(device).grf_bytes
    for kernel in program.elf.kernels:
        printed = print_module(parse(kernel.visaasm, kernel.name, grf))
        assert print_module(parse(printed, kernel.name, grf)) == printed
    found = eumu.check(newest.build(name, device), device)
    assert [d for d in found if d.severity is Severity.ERROR] == []


def test_what_built_it_is_said() -> None:
    program = eumu.build("kernel void k(global int* a) { *a = 1; }", "bmg")
    assert program.made_by.startswith("ocloc 2")
    dev = eumu.Device("bmg")
    report = program["k"].launch(dev, 1, 1, [dev.array(1, np.int32)])
    assert report.made_by == program.made_by


def test_it_says_which_devices_it_does_not_know(newest_ocloc: str) -> None:
    with pytest.raises(eumu.EumuError, match="no ocloc that is installed compiles for skl"):
        zebin.compile("kernel void k() {}", "skl")


# ---- two-dimensional blocks

WIDTH, HEIGHT, PITCH = 128, 40, 256  # bytes, rows, bytes


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", XE2)
@pytest.mark.parametrize("corner", [(4, 3), (20, 36), (-3, -2)])
def test_blocks_are_read(device: str, engine: str, corner: tuple[int, int]) -> None:
    """What lies outside the surface reads as zero."""
    x, y = corner
    dev = eumu.Device(device, engine=engine)
    memory = np.random.default_rng(1).integers(0, 256, (HEIGHT, PITCH)).astype(np.uint8)
    source, out = dev.array(memory), dev.array(640, np.uint32)
    sizes = map(np.int32, (WIDTH, HEIGHT, PITCH, x, y))
    _program("blocks", device)["read_blocks"].launch(dev, 16, 16, [source, out, *sizes])
    got = out.numpy()
    assert (got[:128].reshape(8, 16) == _window(memory, np.uint32, x, y, 16, 8)).all()
    halves = _window(memory, np.uint16, x, y, 16, 16).astype(np.uint32)
    transformed = halves[0::2] | halves[1::2] << 16
    assert (got[128:256].reshape(8, 16) == transformed).all()
    assert (got[256:384].reshape(8, 16) == _window(memory, np.uint32, x, y, 8, 16).T).all()
    both = _window(memory, np.uint16, x, y, 32, 8).reshape(8, 2, 16).transpose(1, 0, 2)
    assert (got[384:].reshape(2, 8, 16) == both).all()


def _window(
    memory: np.ndarray[Any, Any], dtype: type, x: int, y: int, width: int, height: int
) -> np.ndarray[Any, Any]:
    """Elements from (x, y) on, zero where the surface has none."""
    inside = memory[:, :WIDTH].copy().view(dtype)
    border = 64
    padded = np.pad(inside, border)
    return padded[y + border : y + border + height, x + border : x + border + width]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", XE2)
def test_blocks_by_addresses_in_a_register(device: str, engine: str) -> None:
    x, y, shape = 40, 34, (HEIGHT, PITCH // 2)  # the block leaves the surface
    dev = eumu.Device(device, engine=engine)
    memory = np.random.default_rng(2).integers(-999, 999, shape).astype(np.int16)
    source, out = dev.array(memory), dev.array(np.zeros(shape, np.int16))
    sizes = map(np.int32, (WIDTH, HEIGHT, PITCH, x, y))
    _program("blocks", device)["blocks_by_payload"].launch(dev, 16, 16, [source, out, *sizes])
    parts = ((3, 0, 0), (5, 1, 2), (1, 3, 0))
    windows = [
        n * _window(memory.view(np.uint8), np.int16, x + right, y + down, 16, 8)
        for n, right, down in parts
    ]
    want = np.zeros(shape, np.int16)
    want[y : y + 8, x : x + 16] = sum(windows)[: HEIGHT - y]
    assert (out.numpy() == want).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", XE2)
def test_blocks_are_written(device: str, engine: str) -> None:
    """Only what lies inside the surface changes."""
    dev = eumu.Device(device, engine=engine)
    out = dev.array(np.zeros((HEIGHT, PITCH), np.uint8))
    sizes = map(np.int32, (WIDTH, HEIGHT, PITCH, 20, 36))
    _program("blocks", device)["write_block"].launch(dev, 16, 16, [out, *sizes])
    want = np.zeros((HEIGHT, PITCH // 4), np.uint32)
    want[36:, 20:32] = (100 * np.arange(4)[:, None] + np.arange(16) + 1)[:, :12]
    assert (out.numpy().reshape(HEIGHT, PITCH).view(np.uint32) == want).all()


# ---- products of matrices


def _bf16(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _factors(name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Any]:
    """A [8, K] and B [K, 16] in numbers, and how an element lies in memory."""
    rng = np.random.default_rng(2)
    depth = int(name.rpartition("_k")[2])
    if name[0] in "iu":
        low, high = (-128, 128) if name[0] == "i" else (0, 256)
        a, b = (rng.integers(low, high, shape) for shape in ((8, depth), (depth, 16)))
        return a, b, lambda x: x.astype(np.uint8)
    # Numbers with few bits, so that every format has them.
    a, b = (rng.integers(-64, 64, shape) / 16.0 for shape in ((8, depth), (depth, 16)))
    stored = {"f16": lambda x: x.astype(np.float16), "bf16": _bf16}
    return a, b, stored.get(name.split("_")[0], lambda x: x.astype(np.float32))


def _tile(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Rows of A as lanes have them: each lane a part of every row."""
    rows, depth = a.shape
    if depth * a.itemsize == 32:  # 16 lanes of two bytes
        return np.ascontiguousarray(a.view(np.uint16).reshape(rows, 16).T)
    raise AssertionError(depth)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", XE2)
@pytest.mark.parametrize(
    "name",
    [
        "f16_f16_matrix_mad_k16",
        "bf16_bf16_matrix_mad_k16",
        "i8_i8_matrix_mad_k32",
        "u8_u8_matrix_mad_k32",
        "tf32_tf32_matrix_mad_k8",
    ],
)
def test_products(device: str, engine: str, name: str) -> None:
    a, b, stored = _factors(name)
    dev = eumu.Device(device, engine=engine)
    exact = np.int32 if name[0] in "iu" else np.float32
    c = np.random.default_rng(3).integers(-9, 9, (8, 16)).astype(exact)
    if name.startswith("tf32"):  # two rows of eight dwords fill the sixteen lanes
        left = np.ascontiguousarray(stored(a).reshape(4, 16).T)
    else:
        left = _tile(np.ascontiguousarray(stored(a)))
    right = np.ascontiguousarray(stored(b).T).view(np.int32)  # a lane has its column
    sums = dev.array(np.ascontiguousarray(c.T))
    left_bits = left.view(np.float32 if name.startswith("tf32") else np.uint16)
    args = [dev.array(left_bits), dev.array(right.view(np.uint32)), sums]
    _program("matrices", device)[name].launch(dev, 16, 16, args)
    assert (c + (a @ b).astype(exact) == sums.numpy().reshape(16, 8).T).all()


def test_the_square_of_a_root(ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both compilers say that it is the number, a negative one, too (docs/findings.md)."""
    source = tmp_path / "root.cl"
    source.write_text(
        "kernel void root(global float *c, global const float *a) {"
        " float r = sqrt(a[get_global_id(0)]); c[get_global_id(0)] = r * r; }"
    )
    numbers = np.float32([-1, 4, -9, 16])
    for compiler in (os.environ["EUMU_OCLOC"], ocloc):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        for options, wanted in (("", numbers), ("-cl-opt-disable", [np.nan, 4, np.nan, 16])):
            device = eumu.Device("dg2")
            c, a = device.array(np.zeros(4, np.float32)), device.array(numbers)
            eumu.build(source, "dg2", options)["root"].launch(device, 4, 4, [c, a])
            assert np.array_equal(c.numpy(), wanted, equal_nan=True), (compiler, options)


def test_the_high_half_of_a_product_of_ushorts(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both compilers take it for less than 0x8000 where they optimise (docs/findings.md)."""
    source = tmp_path / "high.cl"
    source.write_text(
        "kernel void high(global ushort *c, global const ushort *a) {"
        " int i = get_global_id(0); c[i] = mul_hi(a[i], a[i]) > 0x7fff; }"
    )
    numbers = np.uint16([0xFFFF, 0xC000, 0x8000, 3])
    for compiler in (ocloc, newest_ocloc):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        for options, wanted in (("", [0, 0, 0, 0]), ("-cl-opt-disable", [1, 1, 0, 0])):
            device = eumu.Device("dg2")
            c, a = device.array(np.zeros(4, np.uint16)), device.array(numbers)
            eumu.build(source, "dg2", options)["high"].launch(device, 4, 4, [c, a])
            assert c.numpy().tolist() == wanted, (compiler, options)


def test_arrays_of_long_in_registers(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On pvc with SIMD32, the older compiler loses stores of the last lanes (docs/findings.md)."""
    source = tmp_path / "own.cl"
    source.write_text(
        "kernel void own(global long *c, global const int *a) { int i = get_global_id(0);"
        " long own[4]; for (int k = 0; k < 4; k++) own[k] = a[i]; own[a[i + 32] & 3] = i + 1;"
        " c[i] = own[0] + own[1] + own[2] + own[3]; }"
    )
    every = list(range(1, 33))
    for compiler, options, wanted in (
        (ocloc, "", [*every[:16], *every[24:], *([0] * 8)]),
        (ocloc, "-cl-opt-disable", every),
        (newest_ocloc, "", every),
    ):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        device = eumu.Device("pvc")
        c, a = device.array(np.zeros(32, np.int64)), device.array(np.zeros(64, np.int32))
        eumu.build(source, "pvc", options)["own"].launch(device, 32, 32, [c, a])
        assert c.numpy().tolist() == wanted, (compiler, options)


def test_a_long_quotient_of_constants() -> None:
    """Without optimization, code for pvc reads two dwords of a variable that has one
    (docs/findings.md)."""
    most = (1 << 63) - 1
    source = f"kernel void k(global long *c) {{ c[0] = 5L / ((max({most}L, 5L) & {most}L) | 1L); }}"
    dev = eumu.Device("pvc")
    c = dev.array(np.ones(1, np.int64))
    with pytest.raises(eumu.BuildError, match=r"mov reaches byte 7 of 'V[0-9]+', which has 4"):
        eumu.build(source, "pvc", "-cl-opt-disable")["k"].launch(dev, 1, 1, [c])
    eumu.build(source, "pvc")["k"].launch(dev, 1, 1, [c])
    assert c.numpy().tolist() == [0]


def test_numbers_of_work_items_in_groups_of_a_required_size(
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On pvc the newest compiler stores that of the first lane in all lanes (docs/findings.md)."""
    source = tmp_path / "numbers.cl"
    source.write_text(
        "kernel __attribute__((reqd_work_group_size(64, 1, 1))) void numbers(global uint *c) {"
        " uint i = get_global_id(0); c[i] = i; }"
    )
    every = np.arange(128)
    for compiler, device_name, options, wanted in (
        (newest_ocloc, "pvc", "", every & ~31),
        (newest_ocloc, "pvc", "-cl-opt-disable", every),
        (newest_ocloc, "bmg", "", every),
        (ocloc, "pvc", "", every),
    ):
        monkeypatch.setenv("EUMU_OCLOC", compiler)
        device = eumu.Device(device_name)
        c = device.array(np.zeros(128, np.uint32))
        eumu.build(source, device_name, options)["numbers"].launch(device, 128, 64, [c])
        assert np.array_equal(c.numpy(), wanted), (compiler, device_name, options)


POWERS = (  # compiler, options, the power of 3 and 1, whether it is right
    ("old", "-cl-fast-relaxed-math", "pow(a[i], (float)n[i])", False),
    ("old", "-cl-fast-relaxed-math", "pown(a[i], n[i])", False),
    ("old", "-cl-unsafe-math-optimizations", "pow(a[i], (float)n[i])", True),
    ("old", "-cl-unsafe-math-optimizations", "powr(a[i], (float)n[i])", True),
    ("new", "-cl-fast-relaxed-math", "pow(a[i], (float)n[i])", True),
    ("new", "-cl-unsafe-math-optimizations", "powr(a[i], (float)n[i])", False),
    ("new", "-cl-unsafe-math-optimizations", "pown(a[i], n[i])", False),
)


@pytest.mark.parametrize(("compiler", "options", "power", "is_right"), POWERS)
def test_powers_with_fast_mathematics(
    compiler: str, options: str, power: str, is_right: bool,
    ocloc: str, newest_ocloc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What each compiler makes of them (docs/findings.md)."""
    source = tmp_path / "power.cl"
    source.write_text(
        "kernel void power(global float *c, global const float *a, global const int *n)"
        f" {{ int i = get_global_id(0); c[i] = {power}; }}"
    )
    monkeypatch.setenv("EUMU_OCLOC", ocloc if compiler == "old" else newest_ocloc)
    device = eumu.Device("dg2")
    given = np.zeros(8, np.float32), np.full(8, 3, np.float32), np.ones(8, np.int32)
    c, a, n = map(device.array, given)
    eumu.build(source, "dg2", options)["power"].launch(device, 8, 8, [c, a, n])
    assert bool(np.allclose(c.numpy(), 3, rtol=1e-5)) == is_right, c.numpy()


def test_two_compilers_side_by_side(ocloc: str, newest_ocloc: str, monkeypatch: Any) -> None:
    """The first store that differs: the newest release's sub_sat of zero and the lowest number."""
    monkeypatch.setenv("EUMU_OCLOC", f"{ocloc}:{newest_ocloc}")
    source = SOURCES / "saturated.cl"

    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        a, b = np.array([3, 0], np.int64), np.array([5, np.iinfo(np.int64).min], np.int64)
        return {"a": device.array(a), "b": device.array(b), "c": device.array(2, np.int64)}

    forms = sides(source, "pvc")
    first = next(forms)
    other = next(form for form in forms if form.label.split()[0] != first.label.split()[0])
    found = compare(first, other, Launch("saturated", (2,), (2,), values))
    assert isinstance(found, Divergence)
    assert (found.array, found.index) == ("c", 1)
    assert (found.left, found.right) == (np.iinfo(np.int64).max, np.iinfo(np.int64).min)
    assert all(trace is not None for trace in found.traces)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("-cl-intel-use-bindless-mode", "metadata declare, and that are bound, are none"),
        ("-cl-intel-use-bindless-buffers", "the lower half of .* array 'table'.* an address"),
    ],
)
def test_code_that_contradicts_its_metadata(option: str, said: str, engine: str) -> None:
    """The compiler's own mistakes with buffers: a fault says which of the two it is."""
    made = zebin.compile((SOURCES / "bindless.cl").read_text(), "dg2", "", option)
    kernel = eumu.load(made.elf)["mixed"]
    dev = eumu.Device("dg2", engine=engine)
    values = {"out": dev.array(64, np.int32), "table": dev.array(np.arange(4, dtype=np.int32))}
    with pytest.raises(eumu.Fault, match="(?s)no surface is bound.*" + said):
        kernel.launch(dev, 64, 16, values)


def test_random_choices_of_options_meet_no_internal_error() -> None:
    """A few of those that `tests/kernels/choices.py` makes by the thousand."""
    found = [choices.choose(2, index) for index in range(12)]
    assert not [outcome for outcome in found if outcome.startswith("internal")]
    assert {"right", "translated"} & set(found)


# ---- forms side by side


def _difference(device: str, kernel: str, labels: list[str]) -> dict[str, list[str]]:
    """For each kind of form, those whose first store differs from the first form's."""

    def values(dev: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        x, edge = np.arange(64, dtype=np.int64), np.iinfo(np.int64)
        return {
            "a": dev.array(x % 2 * edge.max),
            "b": dev.array(x % 3 * edge.min // 2),
            "c": dev.array(64, np.int64),
        }

    forms = list(sides(SOURCES / "forms.cl", device, kernel=kernel))
    labels += [form.label for form in forms]
    launch = Launch(kernel, (64,), (32,), values)
    outcomes = {form.label: compare(forms[0], form, launch) for form in forms[1:]}
    return {
        "same": [label for label, found in outcomes.items() if found is None],
        "other": [label for label, found in outcomes.items() if found is not None],
    }


@pytest.mark.parametrize("device", ["dg2"])
def test_forms_of_both_compilers(
    device: str, ocloc: str, newest_ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old and new, -O2 and -O0, narrow and wide, 128 and 256 registers: the sums are the same."""
    monkeypatch.setenv("EUMU_OCLOC", f"{ocloc}:{newest_ocloc}")
    labels: list[str] = []
    found = _difference(device, "sums", labels)
    assert not found["other"]
    words = " ".join(labels)
    widths = ("SIMD8", "SIMD16", "SIMD32") if device == "dg2" else ("SIMD16", "SIMD32")
    for form in ("22.43", "26.27", "-O0", "-O2", *widths):
        assert form in words, (form, labels)


def test_forms_whose_result_depends_on_the_width() -> None:
    """Each lane stores the size of its sub-group: forms of another size differ, and only they."""
    labels: list[str] = []
    found = _difference("bmg", "widths", labels)
    first = labels[0].split()[-2]  # as in -O2 SIMD16 visa
    assert found["other"] and all(first not in label for label in found["other"])
    assert all(first in label for label in found["same"])


def test_the_command_says_which_builds_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a source by this compiler alone, for the first device that it knows."""
    source = tmp_path / "k.cl"
    source.write_text("kernel void k(global int *a) { a[get_global_id(0)] += 5; }")
    words = ("compare", str(source), "--global", "32", "--arg", "a=arange:int32:32")
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "-O0 SIMD16 visa is -O2 SIMD32 visa" in lines
    assert [x for x in lines if "GRF" in x] == [
        f"256 GRF SIMD{n} has the code of -O2 SIMD{n}" for n in (32, 16)
    ]


def test_the_large_register_file_runs_alike() -> None:
    """The vISA is often the same, so that it is no form of its own."""
    source = (SOURCES / "forms.cl").read_text()
    plain = eumu.build(source, "bmg")["sums"]
    large = eumu.build(source, "bmg", "-cl-intel-256-GRF-per-thread")["sums"]
    assert (plain.info.execution_env.grf_count, large.info.execution_env.grf_count) == (128, 256)
    results = []
    for kernel in (plain, large):
        dev = eumu.Device("bmg")
        a, b = dev.array(np.arange(64)), dev.array(np.arange(64) * 5)
        out = dev.array(64, np.int64)
        kernel.launch(dev, 64, 32, [a, b, out])
        results.append(out.numpy().tolist())
    assert results[0] == results[1] and any(results[0])
