"""What a host program calls: devices, arrays, programs, launches."""

from eumu.runtime.array import Array, Local
from eumu.runtime.device import DEFAULT_FUEL, ENGINES, Device
from eumu.runtime.kernel import Kernel
from eumu.runtime.parameters import Parameter
from eumu.runtime.program import Program, build, load
from eumu.runtime.report import Report

__all__ = [
    "DEFAULT_FUEL",
    "ENGINES",
    "Array",
    "Device",
    "Kernel",
    "Local",
    "Parameter",
    "Program",
    "Report",
    "build",
    "load",
]
