"""The NumPy references against PoCL: another compiler runs the same sources."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernels.build import PROGRAMS, Program
from kernels.case import Buffer, Case, Local, Setup, Value
from kernels.references import CASES

cl = pytest.importorskip(
    "pyopencl", reason="PyOpenCL is not installed (pip install pyopencl)", exc_type=ImportError
)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def context() -> Any:
    """A context on PoCL's CPU device."""
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        platforms = []
    for platform in platforms:
        if platform.name == "Portable Computing Language":
            return cl.Context(platform.get_devices()[:1])
    pytest.skip("PoCL is not installed (Debian: apt-get install pocl-opencl-icd)")


@pytest.fixture(scope="module")
def built(context: Any) -> Callable[[Program], Any]:
    """Builds a program once."""
    done: dict[str, Any] = {}

    def build(program: Program) -> Any:
        if program.name not in done:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                source = cl.Program(context, program.path.read_text())
                done[program.name] = source.build(options=program.options.split())
        return done[program.name]

    return build


def _argument(context: Any, argument: Buffer | Local | Value) -> Any:
    match argument:
        case Buffer(array):
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
            return cl.Buffer(context, flags, hostbuf=array)
        case Local(size_bytes):
            return cl.LocalMemory(size_bytes)
        case Value(value) if isinstance(value, np.ndarray) and value.size == 3:
            return np.append(value, value.dtype.type(0))  # OpenCL's 3-vectors take four places
        case Value(value):
            return value


def _run(context: Any, program: Any, case: Case, setup: Setup) -> list[Any]:
    """Launches a case; returns its arguments as PoCL objects."""
    queue = cl.CommandQueue(context)
    arguments = [_argument(context, a) for a in setup.args]
    kernel = cl.Kernel(program, case.kernel)
    kernel.set_args(*arguments)
    cl.enqueue_nd_range_kernel(queue, kernel, case.global_size, case.local_size)
    queue.finish()
    return arguments


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_reference(
    context: Any, built: Callable[[Program], Any], case: Case, capfd: pytest.CaptureFixture[str]
) -> None:
    program = next(p for p in PROGRAMS if p.name == case.program)
    if "half" in program.options and "cl_khr_fp16" not in context.devices[0].extensions:
        pytest.skip("PoCL has no half-precision arithmetic on this processor")
    setup = case.make(case)
    arguments = _run(context, built(program), case, setup)
    queue = cl.CommandQueue(context)
    for output in setup.outputs:
        before = setup.args[output.argument]
        assert isinstance(before, Buffer)
        got = np.empty_like(before.array)
        cl.enqueue_copy(queue, got, arguments[output.argument])
        assert not output.mismatch(got), output.mismatch(got)
    assert sorted(capfd.readouterr().out.splitlines()) == sorted(setup.prints)
