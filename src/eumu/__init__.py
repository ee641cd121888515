"""eumu runs Intel GPU kernels, as Intel's own compiler emits them, on a CPU.

import eumu
import numpy as np

device = eumu.Device("pvc")
program = eumu.build(source, device)  # OpenCL C; or eumu.load("k.bin" | "k.visaasm" | bytes)
x = device.array(np.arange(1024, dtype=np.float32))
report = program["scale"].launch(device, global_size=1024, args=[x, 2.0])
x.numpy()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from eumu.errors import (
    ArgumentError,
    BuildError,
    Diagnostic,
    EumuError,
    Fault,
    Finding,
    FormatError,
    InternalError,
    LaunchError,
    OutOfMemory,
    ToolMissing,
    UnknownDevice,
    Unsupported,
)

if TYPE_CHECKING:
    from eumu.checking import check
    from eumu.runtime import (
        Array,
        Device,
        Image,
        Kernel,
        Local,
        Parameter,
        Program,
        Report,
        Sampler,
        build,
        load,
    )

__version__ = "0.1.0"

# Loaded when first used: they need NumPy, which takes longer to load than all the rest.
_RUNTIME = frozenset(
    {
        *("Array", "Device", "Image", "Kernel", "Local", "Parameter", "Program", "Report"),
        *("Sampler", "build", "load"),
    }
)

__all__ = [
    "ArgumentError",
    "Array",
    "BuildError",
    "Device",
    "Diagnostic",
    "EumuError",
    "Fault",
    "Finding",
    "FormatError",
    "Image",
    "InternalError",
    "Kernel",
    "LaunchError",
    "Local",
    "OutOfMemory",
    "Parameter",
    "Program",
    "Report",
    "Sampler",
    "ToolMissing",
    "UnknownDevice",
    "Unsupported",
    "build",
    "check",
    "load",
]


def __getattr__(name: str) -> object:
    if name not in _RUNTIME and name != "check":
        raise AttributeError(f"module 'eumu' has no attribute {name!r}")
    module = "eumu.runtime" if name in _RUNTIME else "eumu.checking"
    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
