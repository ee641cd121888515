"""BC6H and BC7 are not modelled yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Unsupported

__all__ = ["decode_bc6", "decode_bc7"]


def decode_bc6(data: NDArray[np.uint8], place: NDArray[Any], *, signed: bool) -> NDArray[Any]:
    raise Unsupported("texels of the format BC6H")


def decode_bc7(data: NDArray[np.uint8], place: NDArray[Any]) -> NDArray[Any]:
    raise Unsupported("texels of the format BC7")
