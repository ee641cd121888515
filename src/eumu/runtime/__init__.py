"""What a host program calls: devices, arrays, programs, launches."""

from eumu.runtime.array import Array, Local
from eumu.runtime.device import DEFAULT_FUEL, ENGINES, Device
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
