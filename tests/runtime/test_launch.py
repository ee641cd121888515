"""Launches of compiled kernels: results, reports, and what is refused before anything runs."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.exec.grid import Grid, RunStats
from eumu.exec.host import Host
from eumu.runtime.payload import private_bytes
from kernels import build

F32 = np.float32


@cache
def load(name: str, device: str = "pvc") -> eumu.Program:
    return eumu.load(build.BIN / device / f"{name}.bin")


@pytest.fixture
def dev() -> eumu.Device:
    return eumu.Device("pvc", engine="interp")


def saxpy_arguments(dev: eumu.Device, n: int = 64) -> dict[str, Any]:
    return {"x": dev.array(np.arange(n, dtype=F32)), "y": dev.array(np.ones(n, F32)), "a": 2.0}


def test_arguments_in_order_and_by_name(dev: eumu.Device) -> None:
    kernel = load("saxpy")["saxpy"]
    for by_name in (False, True):
        args = saxpy_arguments(dev)
        report = kernel.launch(dev, 64, 32, args if by_name else list(args.values()))
        assert (args["y"].numpy() == 2 * np.arange(64) + 1).all()
        assert (report.kernel, report.engine) == ("saxpy", "interp")
        assert (report.groups, report.threads) == (2, 2)
        assert report.instructions > 10
        assert report.seconds > 0
        assert report.printf == ""


@pytest.mark.parametrize("device", ["pvc", "skl", "apl"])
def test_ids_offsets_and_sizes(device: str) -> None:
    dev = eumu.Device(device, engine="interp")
    size, local, offset = np.array((8, 6, 4)), np.array((4, 3, 2)), np.array((100, 20, 3))
    out = dev.array((4, 6, 8, 3, 8), np.uint32)
    load("work_items", device)["work_items"].launch(
        dev, tuple(size), tuple(local), [out], global_offset=tuple(offset)
    )
    for z, y, x in ((0, 0, 0), (3, 5, 7), (1, 4, 2)):
        here = np.array((x, y, z))
        want = (here + offset, here % local, here // local, size, local, size // local, offset)
        got = out.numpy()[z, y, x]
        assert (want == got[:, :7].T).all()
        assert (got[:, 7] == 3).all()


def test_sizes_that_need_a_partial_thread(dev: eumu.Device) -> None:
    args = saxpy_arguments(dev, 40)
    report = load("saxpy")["saxpy"].launch(dev, 40, 20, args)
    assert (args["y"].numpy() == 2 * np.arange(40) + 1).all()
    assert report.threads == 2


def test_the_array_is_called_by_its_parameter_in_faults(dev: eumu.Device) -> None:
    x, y = dev.array(64, F32), dev.array(8, F32)
    with pytest.raises(eumu.Fault, match=r"array 'y' \(32 bytes at") as fault:
        load("saxpy")["saxpy"].launch(dev, 64, 32, [x, y, 1.0])
    assert fault.value.kernel == "saxpy"


def test_out_of_bounds_of_a_surface_may_be_harmless() -> None:
    dev = eumu.Device("skl", engine="interp", strict_bounds=False)
    x, y = dev.array(np.ones(8, F32)), dev.array(64, F32)
    load("saxpy", "skl")["saxpy"].launch(dev, 64, 32, [x, y, 1.0])
    assert y.numpy().tolist() == [1.0] * 8 + [0.0] * 56


def test_printf_of_a_kernel_that_faults_still_comes_out(capsys: pytest.CaptureFixture[str]) -> None:
    out: list[str] = []
    dev = eumu.Device("pvc", engine="interp", sink=out.append)
    report = load("print_values")["print_values"].launch(dev, 8, args=[dev.array([1.5] * 8), 1])
    assert report.printf == "item 0 of x: 1.500 0 a\n"
    assert "".join(out) == report.printf
    assert capsys.readouterr().out == ""


def test_temporary_memory_is_given_back(dev: eumu.Device) -> None:
    x = dev.array([1.5] * 8)
    load("print_values")["print_values"].launch(dev, 8, args=[x, 0])
    before = len(dev.memory.live)
    for _ in range(3):
        load("print_values")["print_values"].launch(dev, 8, args=[x, 0])
    assert len(dev.memory.live) == before


# ---- what is refused


def test_wrong_number_of_arguments(dev: eumu.Device) -> None:
    with pytest.raises(eumu.ArgumentError) as error:
        load("saxpy")["saxpy"].launch(dev, 64, args=[1, 2])
    assert str(error.value) == (
        "kernel saxpy takes 3 arguments (global float* x, global float* y, float a), 2 were given"
    )


def test_unknown_and_missing_names(dev: eumu.Device) -> None:
    args = saxpy_arguments(dev)
    args["alpha"] = args.pop("a")
    with pytest.raises(eumu.ArgumentError, match=r"unknown: alpha; missing: a"):
        load("saxpy")["saxpy"].launch(dev, 64, args=args)


def test_an_array_of_another_device(dev: eumu.Device) -> None:
    args = saxpy_arguments(dev)
    args["y"] = eumu.Device("pvc").array([1.0], name="foreign")
    with pytest.raises(eumu.ArgumentError, match=r"argument 1 'y'.*array 'foreign' is in the mem"):
        load("saxpy")["saxpy"].launch(dev, 64, args=args)


def test_a_freed_array(dev: eumu.Device) -> None:
    args = saxpy_arguments(dev)
    args["x"].free()
    with pytest.raises(eumu.ArgumentError, match=r"argument 0 'x'.* has been freed"):
        load("saxpy")["saxpy"].launch(dev, 64, args=args)


def test_a_program_for_another_device(dev: eumu.Device) -> None:
    with pytest.raises(eumu.LaunchError, match="program for skl, the device is pvc; use Device"):
        load("saxpy", "skl")["saxpy"].launch(dev, 64, args=saxpy_arguments(dev))


def test_a_limit_of_instructions_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is that of devices which are made, of launches that name none."""
    free, kernel = eumu.Device("pvc", "interp"), load("saxpy")["saxpy"]
    monkeypatch.setenv("EUMU_FUEL", "5")
    limited = eumu.Device("pvc", "interp")
    with pytest.raises(eumu.Fault, match="fuel=5 instructions"):
        kernel.launch(limited, 64, args=saxpy_arguments(limited))
    kernel.launch(limited, 64, args=saxpy_arguments(limited), fuel=1000)
    kernel.launch(free, 64, args=saxpy_arguments(free))
    assert eumu.Device("pvc", "jit").fuel == 5 and free.fuel == 1 << 22


def test_levels_and_fuel(dev: eumu.Device) -> None:
    kernel, args = load("saxpy")["saxpy"], saxpy_arguments(dev)
    with pytest.raises(eumu.Unsupported, match="level 'native' on pvc"):
        kernel.launch(dev, 64, args=args, level="native")
    with pytest.raises(eumu.LaunchError, match="level 'x' is none of 'visa' and 'native'"):
        kernel.launch(dev, 64, args=args, level="x")
    with pytest.raises(eumu.LaunchError, match="fuel is 0"):
        kernel.launch(dev, 64, args=args, fuel=0)
    with pytest.raises(eumu.Fault, match="fuel=5"):
        kernel.launch(dev, 64, args=args, fuel=5)


PRIVATE = """
kernel void pick(global const int *in, global int *out, int n) {
    local int shared[64];
    int own[8], i = get_global_id(0), l = get_local_id(0);
    for (int k = 0; k < 8; k++)
        own[k] = in[i] * 10 + k;
    shared[l] = -l;
    barrier(CLK_LOCAL_MEM_FENCE);
    int *p = n == 1 ? (int *)shared : own; // a generic pointer keeps `own` in memory
    out[i] = p[(n + l) & 7];
}
"""


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", ["pvc", "skl", "dg2"])
def test_private_memory_is_private(device: str, engine: str, ocloc: str) -> None:
    """Kernels find their part of it by the number of the hardware thread (%hw_id or %sr0)."""
    program = eumu.build(PRIVATE, device, "-cl-std=CL2.0")
    kernel = program["pick"]
    assert private_bytes(kernel.info) > 0
    dev = eumu.Device(device, engine=engine)
    values = np.arange(512, dtype=np.int32)
    out = dev.array(512, np.int32)
    kernel.launch(dev, 512, 64, [dev.array(values), out, 3])
    assert (out.numpy() == values * 10 + (3 + values % 64) % 8).all()


# ---- engines


class Refusing:
    """An engine that runs nothing."""

    name = "jit"

    def run(self, grid: Grid, host: Host, *rest: object) -> RunStats:
        raise eumu.Unsupported("gadgets")


def test_what_the_jit_refuses_runs_on_the_interpreter() -> None:
    dev = eumu.Device("pvc", engine="jit")
    dev._engines["jit"] = Refusing()
    args = saxpy_arguments(dev)
    with pytest.warns(RuntimeWarning, match="saxpy runs on the interpreter: .*gadgets") as caught:
        report = load("saxpy")["saxpy"].launch(dev, 64, args=args)
    assert caught[0].filename == __file__
    assert report.engine == "interp"
    assert (args["y"].numpy() == 2 * np.arange(64) + 1).all()
    report = load("saxpy")["saxpy"].launch(dev, 64, args=args)  # told once
    assert report.engine == "interp"


def test_a_jit_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "eumu.exec.jit", None)
    dev = eumu.Device("pvc", engine="jit")
    with pytest.warns(RuntimeWarning, match="the fast engine cannot be loaded here"):
        report = load("saxpy")["saxpy"].launch(dev, 64, args=saxpy_arguments(dev))
    assert report.engine == "interp"


def test_without_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eumu.runtime.device.has_jit", lambda: False)
    with pytest.warns(UserWarning, match="the interpreter runs kernels, a hundred times slower"):
        assert eumu.Device("pvc").engine == "interp"
    assert eumu.Device("pvc", engine="interp").engine == "interp"  # asked for: nothing to say
    with pytest.raises(eumu.ToolMissing, match="pip install llvmlite"):
        eumu.Device("pvc", engine="jit")


def test_what_no_engine_runs_is_unsupported() -> None:
    dev = eumu.Device("pvc", engine="interp")
    dev._engines["interp"] = Refusing()
    with pytest.raises(eumu.Unsupported, match="gadgets"):
        load("saxpy")["saxpy"].launch(dev, 64, args=saxpy_arguments(dev))


@pytest.mark.parametrize("engine", eumu.runtime.device.ENGINES)
def test_progress_counts_groups(engine: str) -> None:
    seen: list[tuple[int, int]] = []
    dev = eumu.Device("pvc", engine, progress=lambda *groups: seen.append(groups))
    items = 1 << 16
    load("saxpy")["saxpy"].launch(dev, items, 64, saxpy_arguments(dev, items))
    assert seen == sorted(seen)
    assert seen[-1] == (1024, 1024)
    if engine == "interp":
        assert seen == [(256 * k, 1024) for k in range(1, 5)]


def test_progress_of_the_fast_engine_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eumu.exec.jit.host.progress._EVERY", 0.0005)
    seen: list[int] = []
    dev = eumu.Device("pvc", "jit", progress=lambda done, groups: seen.append(done))
    arrays = [dev.array((1 << 14, 4), F32) for _ in range(3)]
    load("nbody")["nbody"].launch(dev, 1 << 14, 64, [*arrays, eumu.Local(1024), 1 << 12, 1.0, 1.0])
    assert seen == sorted(seen)
    assert any(0 < done < 256 for done in seen)
    assert seen[-1] == 256


@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_local_memory_of_hardware(device: str, ocloc: str) -> None:
    """Without strict bounds a group has a power of two of it, 1 KiB at least."""
    source = (
        "kernel void f(global int *o, local int *t, int far) { int l = get_local_id(0);"
        " t[l] = l; t[far] = 0; barrier(1); o[l] = t[l ^ 1]; }"
    )
    for asked, last in ((24, 255), (1024, 255), (1028, 511)):
        dev = eumu.Device(device, strict_bounds=False)
        out = dev.array(64, np.int32)
        kernel = eumu.build(source, dev)["f"]
        kernel.launch(dev, 64, 64, [out, eumu.Local(asked), last])
        assert (out.numpy() == np.arange(64) ^ 1).all()
        with pytest.raises(eumu.Fault, match=f"outside the {4 * last + 4} bytes of shared local"):
            kernel.launch(dev, 64, 64, [out, eumu.Local(asked), last + 1])
