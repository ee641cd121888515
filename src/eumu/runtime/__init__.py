"""The API for host programs: devices, arrays, programs, launches."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eumu.runtime.array import Array, Local
    from eumu.runtime.device import Device
    from eumu.runtime.engines import DEFAULT_FUEL, ENGINES
    from eumu.runtime.images import Image
    from eumu.runtime.kernel import Kernel
    from eumu.runtime.parameters import Parameter
    from eumu.runtime.program import Program, build, load
    from eumu.runtime.report import Report
    from eumu.runtime.samplers import Sampler

__all__ = [
    "DEFAULT_FUEL",
    "ENGINES",
    "Array",
    "Device",
    "Image",
    "Kernel",
    "Local",
    "Parameter",
    "Program",
    "Report",
    "Sampler",
    "build",
    "load",
]

# Loaded when first used: batches of native code, say, need no vISA.
_HOMES: Final = {
    "DEFAULT_FUEL": "engines",
    "ENGINES": "engines",
    "Array": "array",
    "Device": "device",
    "Image": "images",
    "Kernel": "kernel",
    "Local": "array",
    "Parameter": "parameters",
    "Program": "program",
    "Report": "report",
    "Sampler": "samplers",
    "build": "program",
    "load": "program",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
