"""The things that are compared: each prepares an item and returns a function that runs it once."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from item import Data, Item, LocalBytes

Prepared = tuple[Callable[[], None], Callable[[], Data]]

_WARM = 0.25  # seconds, see EUMU_ABREAST

# Where drivers lie that no package registers.
_INTEL = Path(sys.prefix) / "lib" / "libintelocl.so"
_OCLGRIND = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
_SYSTEM = Path("/etc/OpenCL/vendors")


class Missing(Exception):
    """A rival that is not installed; the message is the reason."""


def arguments(device: Any, data: Data) -> dict[str, Any]:
    """What kernels of a device get, by name."""
    import eumu

    given: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, LocalBytes):
            given[name] = eumu.Local(value.size)
        else:
            given[name] = device.array(value) if isinstance(value, np.ndarray) else value
    return given


class Emulator:
    """eumu itself with one of its engines; `lane_ops` are those of the last run.

    What `check` looks for is not to be found.
    """

    def __init__(self, engine: str, check: bool | str = False) -> None:
        self.name, self._engine, self._check = f"eumu-{engine}", engine, check
        self.version = "memory checks on"
        self.lane_ops = 0

    def warm_up(self, run: Callable[[], None]) -> None:
        """Run for as long as the engine waits until it makes better code, and wait for that."""
        end = time.perf_counter() + _WARM
        while self._engine == "jit" and time.perf_counter() < end:
            run()
        if self._engine == "jit":
            self._jit.settle()

    def prepare(self, item: Item, data: Data) -> Prepared:
        import eumu

        device = eumu.Device("pvc", engine=self._engine, check=self._check)
        if self._engine == "jit":
            from eumu.exec.jit import Jit

            self._jit = Jit()
            device.use("jit", self._jit)
        program, given = eumu.load(item.binary), arguments(device, data)
        steps = [(program[s.kernel], s, [given[name] for name in s.args]) for s in item.steps]

        def run() -> None:
            self.lane_ops = 0
            for kernel, step, args in steps:
                report = kernel.launch(device, step.global_size, step.local_size, args)
                self.lane_ops += report.instructions * kernel.simd_width
                if report.engine != self._engine:
                    raise RuntimeError(f"{item.name} ran on {report.engine}")
                if report.findings:
                    raise RuntimeError(f"{item.name}: {report.findings[0]}")

        def results() -> Data:
            return {n: a.numpy() for n, a in given.items() if isinstance(a, eumu.Array)}

        return run, results


class OpenCL:
    """A CPU device of an installed OpenCL platform."""

    def __init__(self, name: str, platform: str) -> None:
        self.name = name
        cl = self.cl = _pyopencl()
        found = [p for p in cl.get_platforms() if platform in p.name.lower()]
        devices = [d for p in found for d in p.get_devices() if d.type & cl.device_type.CPU]
        if not devices:
            raise Missing(f"no OpenCL platform called {platform!r} with a CPU device")
        self.version = f"{found[0].version}, driver {devices[0].driver_version}"
        self.context = cl.Context(devices[:1])
        self.queue = cl.CommandQueue(self.context)
        self._kept: list[Any] = []

    def prepare(self, item: Item, data: Data) -> Prepared:
        cl = self.cl
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compilers' greetings
            program = cl.Program(self.context, item.source.read_text()).build(item.source_options)
        given = {name: self._argument(value) for name, value in data.items()}
        launches = []
        for step in item.steps:
            kernel = cl.Kernel(program, step.kernel)
            kernel.set_args(*(given[name] for name in step.args))
            launches.append((kernel, step.global_size, step.local_size))

        def run() -> None:
            events = [cl.enqueue_nd_range_kernel(self.queue, *launch) for launch in launches]
            self.queue.finish()
            # PoCL 3.1 still looks at a finished command: nothing of it may be released soon.
            self._kept.append(events)

        def results() -> Data:
            out = {}
            for name, value in data.items():
                if isinstance(value, np.ndarray):
                    out[name] = np.empty_like(value)
                    cl.enqueue_copy(self.queue, out[name], given[name])
            return out

        self._kept.append((launches, given))
        return run, results

    def _argument(self, value: Any) -> Any:
        cl = self.cl
        if isinstance(value, LocalBytes):
            return cl.LocalMemory(value.size)
        if isinstance(value, np.ndarray):
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
            return cl.Buffer(self.context, flags, hostbuf=value)
        return value


def _pyopencl() -> Any:
    try:
        import pyopencl
    except ImportError as error:
        raise Missing("pyopencl is not installed") from error
    try:
        pyopencl.get_platforms()
    except pyopencl.Error as error:
        raise Missing(f"no OpenCL platform: {error}") from error
    return pyopencl


def find_drivers() -> tempfile.TemporaryDirectory[str]:
    """Names every driver there is in a directory of our own; before pyopencl is imported.

    Nothing of the system is changed: Intel's runtime is a Python package, Oclgrind's driver is not
    registered by its Debian package.  EUMU_BENCH_ICDS adds libraries, separated by colons.
    """
    place = tempfile.TemporaryDirectory(prefix="eumu-bench-")
    drivers = [_INTEL, _OCLGRIND, *map(Path, os.environ.get("EUMU_BENCH_ICDS", "").split(":"))]
    lines = [str(path) for path in drivers if path.is_file()]
    if _SYSTEM.is_dir():
        lines += [p.read_text().strip() for p in sorted(_SYSTEM.glob("pocl*.icd"))]
    for number, line in enumerate(lines):
        Path(place.name, f"{number}.icd").write_text(line + "\n", encoding="utf-8")
    os.environ["OCL_ICD_VENDORS"] = place.name
    return place


def engines(names: list[str]) -> tuple[list[Any], dict[str, str]]:
    """The engines that are there, and why others are not."""
    makers: dict[str, Callable[[], Any]] = {
        "jit": lambda: Emulator("jit"),
        "interp": lambda: Emulator("interp"),
        "pocl": lambda: OpenCL("pocl", "portable"),
        "intel": lambda: OpenCL("intel", "intel"),
        "oclgrind": lambda: OpenCL("oclgrind", "oclgrind"),
    }
    found, missing = [], {}
    for name in names:
        try:
            found.append(makers[name]())
        except Missing as reason:
            missing[name] = str(reason)
    return found, missing
