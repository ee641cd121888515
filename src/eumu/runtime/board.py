"""What a device has before anything runs: its platform, its memory, and what lies there for good.

Arrays, images, states and submissions stand on a board; :class:`~eumu.runtime.device.Device` is the
board with engines.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from eumu.device import Memory
from eumu.errors import ArgumentError
from eumu.platforms import Platform
from eumu.runtime.array import Array
from eumu.runtime.leaks import Origins

if TYPE_CHECKING:
    from eumu.device.functions import StateCaches
    from eumu.runtime.heaps import StateHeaps

URB_ROWS: Final = 4096  # 64 KiB, the least that a chip has


class Board:
    """The memory of one device; with `strict_bounds` an access outside a surface is a fault."""

    def __init__(self, target: Platform, memory: Memory, *, strict_bounds: bool = True) -> None:
        self.platform = target
        self.memory = memory
        self.strict_bounds = strict_bounds
        # What submissions have in memory until they are closed.
        self.submitted: set[ExitStack] = set()
        self._numbers = count(1)
        self.origins = Origins(memory)
        self._making = threading.RLock()  # what is made when it is first wanted
        self._urb: Array | None = None
        self._caches: StateCaches | None = None
        self._heaps: StateHeaps | None = None

    def next_label(self, what: str, name: str) -> str:
        """What messages call an array or image: by its name, or else by a number."""
        return f"{what} '{name}'" if name else f"{what} #{next(self._numbers)}"

    def array(
        self,
        data: ArrayLike | int | tuple[int, ...],
        dtype: DTypeLike | None = None,
        *,
        name: str = "",
        access: str = "rw",
    ) -> Array:
        """A device array: a copy of `data`, or zeros if `data` is a shape (an int or a tuple).

        A list of Python floats becomes float32, one of ints int32, unless `dtype` says otherwise.
        A shape needs a `dtype`.  `name` is used in messages; by default it is the name of the
        parameter that the array is passed for.  `access` is what kernels may do, "rw", "r" or "w"
        (atomic operations are writes); anything else is a fault.
        """
        label = self.next_label("array", name)
        make = partial(
            Array.allocate, self, name=label, is_named=bool(name), spread=True, access=access
        )
        if isinstance(data, int) or (
            isinstance(data, tuple) and all(isinstance(n, int) for n in data)
        ):
            if dtype is None:
                raise ArgumentError(f"Device.array({data!r}): a shape needs a dtype")
            shape = (data,) if isinstance(data, int) else data
            array = make(shape, np.dtype(dtype))
            array.forget()
        else:
            values = _values(data, dtype)
            array = make(values.shape, values.dtype)
            array.write(values)
        self.origins.note(array.address)
        return array

    @property
    def urb(self) -> Array:
        """The URB, uint32[rows, 4]: what kernels write by `urb_write_3d`."""
        with self._making:
            if self._urb is None:
                self._urb = self.array((URB_ROWS, 4), np.uint32, name="urb")
            return self._urb

    @property
    def caches(self) -> StateCaches:
        """What the sampler and the data port know of states; made for the first message."""
        from eumu.device.functions import StateCaches

        with self._making:
            if self._caches is None:
                self._caches = StateCaches()
            return self._caches

    @property
    def heaps(self) -> StateHeaps:
        """Where the states of images and samplers lie; made for the first of them."""
        from eumu.runtime.heaps import StateHeaps

        with self._making:
            if self._heaps is None:
                self._heaps = StateHeaps(self, self.caches)
            return self._heaps

    def invalidate_states(self) -> None:
        """Make the sampler forget cached states: for whoever changes their bytes in memory."""
        if self._caches is not None:
            self._caches.invalidate()


def _values(data: Any, dtype: DTypeLike | None) -> np.ndarray[Any, Any]:
    values = np.asarray(data, dtype)
    if dtype is None and not isinstance(data, (np.ndarray, np.generic)):
        smaller = {"float64": np.float32, "int64": np.int32}.get(values.dtype.name)
        if smaller is not None:
            values = values.astype(smaller)
    if values.dtype.hasobject or values.dtype.kind not in "biufVc":
        raise ArgumentError(f"a device array cannot hold {values.dtype} elements")
    return values
