"""A message of the sampler with all that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.device.sampler.filtering import Filtering
from eumu.device.sampler.header import Header
from eumu.device.sampler.keys import key_of
from eumu.device.state.sampler import SamplerState
from eumu.device.surfaces.texture import Texture
from eumu.messages import SamplerMessage
from eumu.records import dataclass

Ints = NDArray[np.int64]
Lanes = NDArray[Any]


@dataclass(frozen=True, slots=True)
class SamplerRequest:
    """A message with what it names: `sampler` and `border` only if the message uses a sampler.

    `parameters` by name are float32 or uint32 [threads, lanes]; missing ones are 0.  `key` are the
    low and the high value of the sampler's chroma key.
    """

    message: SamplerMessage
    header: Header
    texture: Texture
    sampler: SamplerState
    border: Lanes
    mask: NDArray[np.bool_]
    parameters: Mapping[str, Lanes]
    key: tuple[int, int] = (0, 0)

    def parameter(self, name: str, dtype: type[Any] = np.float32) -> Lanes:
        """A parameter of every lane, [threads, lanes]."""
        value = self.parameters.get(name)
        if value is None:
            return np.zeros(self.mask.shape, dtype)
        return np.broadcast_to(value.view(dtype), self.mask.shape)

    def filtering(self) -> Filtering:
        """The surface seen through the sampler."""
        key = key_of(self.sampler, self.texture.surface.format, self.key)
        gathers = self.message.operation.startswith("gather4")
        return Filtering(self.texture, self.sampler, self.border, key, gathers=gathers)

    def integers(self, name: str) -> Ints:
        """An integer parameter of the active lanes, [N]."""
        return self.parameter(name, np.int32)[self.mask].astype(np.int64)
