"""Arguments for kernels of which nobody says what theirs mean.

Each kernel gets some that many kernels can use: arrays of small numbers, sizes of a few elements,
images of a few texels.  They are the same each time.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import eumu
from eumu.runtime.parameters import Parameter, Passing, element_type

_ELEMENTS: Final = 4096  # of an array, so that indices of a few dimensions stay inside
_TEXELS: Final = 16  # of an image in each direction, and elements that a size says


def made_up(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
    """A value for each argument, by name."""
    return {parameter.name: _value(device, parameter) for parameter in kernel.args}


def _value(device: eumu.Device, parameter: Parameter) -> Any:
    random = np.random.default_rng(parameter.index)
    match parameter.passing:
        case Passing.LOCAL:
            return eumu.Local(_ELEMENTS)
        case Passing.SAMPLER:
            return device.sampler()
        case Passing.IMAGE:
            texels = random.integers(0, 256, (_TEXELS, _TEXELS, 4)).astype(np.uint8)
            return device.image(texels, name=parameter.name)
        case Passing.BUFFER | Passing.ADDRESS:
            element = element_type(parameter.type_name.rstrip("* "))
            dtype = element[0] if element else np.dtype(np.uint8)
            count = _ELEMENTS * (element[1] if element else 64)
            data = random.random(count) if dtype.kind == "f" else random.integers(0, 16, count)
            return device.array(data.astype(dtype), name=parameter.name)
    element = element_type(parameter.type_name)
    if element is None:
        return bytes(parameter.size)
    one = 0.5 if element[0].kind == "f" else _TEXELS
    return one if element[1] == 1 else [one] * element[1]
