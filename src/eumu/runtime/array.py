"""Arrays in device memory, and memory that a thread group shares."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, Final, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from eumu.device import Allocation, Memory
from eumu.errors import ArgumentError, LaunchError
from eumu.records import dataclass

_PIECE: Final = 16 << 20  # bytes that are copied at once


@dataclass(frozen=True, slots=True)
class Local:
    """The argument for a `local` pointer: `nbytes` of memory for each thread group."""

    nbytes: int

    def __post_init__(self) -> None:
        if self.nbytes < 0:
            raise LaunchError(f"Local({self.nbytes}): a size in bytes must not be negative")


class Holder(Protocol):
    """What arrays lie on: a device."""

    memory: Memory


class Array:
    """An array in the memory of `device`; make one with :meth:`Device.array`.

    :meth:`free` frees the memory.  Otherwise the device frees it at its next allocation, free or
    launch after the array and its views have been garbage-collected.
    """

    def __init__(
        self, device: Holder, owner: _Owner | _Lent, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.device = device
        self.shape = shape
        self.dtype = dtype
        self._owner = owner

    @classmethod
    def allocate(
        cls,
        device: Holder,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        name: str,
        *,
        is_named: bool = True,
        spread: bool = False,
        align: int = 1,
        access: str = "rw",
    ) -> Array:
        """A new array of zeros; without `is_named` a launch may call it otherwise.

        `spread`, `align`, `access`: see `Memory.allocate`.
        """
        if access not in ("rw", "r", "w"):
            raise ArgumentError(f"access={access!r}: kernels may do 'rw', 'r' or 'w'")
        if dtype.hasobject:
            raise ArgumentError(f"an array of {dtype} holds Python objects, which no kernel reads")
        if any(n < 0 for n in shape):
            raise LaunchError(f"an array cannot have the shape {shape}")
        nbytes = prod(shape) * dtype.itemsize
        owner = _Owner(device.memory, is_named=is_named)
        owner.allocate(nbytes, name, spread=spread, align=align, item=dtype.itemsize, access=access)
        return cls(device, owner, shape, dtype)

    @classmethod
    def of_allocation(cls, device: Holder, allocation: Allocation) -> Array:
        """The bytes of an allocation that nobody owns yet; it is freed with the array."""
        owner = _Owner(device.memory)
        owner.adopt(allocation)
        return cls(device, owner, (allocation.size,), np.dtype(np.uint8))

    @classmethod
    def lent(cls, device: Holder, address: int, size: int, name: str) -> Array:
        """An array on `size` bytes at a device address that it does not own and cannot free."""
        owner = _Lent(device.memory, Allocation(address, size, name))
        return cls(device, owner, (size,), np.dtype(np.uint8))

    @property
    def address(self) -> int:
        """The device address of the first byte."""
        return self._owner.live().start

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def name(self) -> str:
        """The name of the array in messages."""
        return self._owner.allocation.name

    @property
    def memory(self) -> NDArray[Any]:
        """The device's own bytes as a NumPy array, not a copy; do not use it after the array.

        From then on, the array counts as written by the host (``check="uninitialized"``).
        """
        self._owner.memory.written(self._owner.live())
        return self._bytes()

    def _bytes(self) -> NDArray[Any]:
        return self._owner.view().view(self.dtype).reshape(self.shape)

    def forget(self) -> None:
        """Mark the array as never written, for ``check="uninitialized"``."""
        self._owner.memory.forget(self._owner.live())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of no dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        state = "freed" if self._owner.freed else f"at {self.address:#x}"
        return f"<Array {self.name} shape={self.shape} dtype={self.dtype} {state}>"

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("device memory is copied to be a NumPy array; use .memory for a view")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def numpy(self) -> NDArray[Any]:
        """A NumPy copy of the contents, with the array's shape and dtype."""
        memory = self._bytes()
        made = np.empty_like(memory)
        _copy(made, memory)
        return made

    def write(self, data: Any) -> None:
        """Copy in an array of the same shape; its elements are cast if their kind is the same."""
        values = np.asarray(data)
        if values.shape != self.shape:
            raise ArgumentError(f"{self.name} has shape {self.shape}, the data {values.shape}")
        if not np.can_cast(values.dtype, self.dtype, "same_kind"):
            raise ArgumentError(
                f"{self.name}: Cannot cast {values.dtype} to {self.dtype}, which is of another kind"
            )
        _copy(self.memory, values)

    def fill(self, value: Any) -> None:
        """Set every element to `value`, or to an array that broadcasts to the shape."""
        memory = self.memory
        _copy(memory, np.broadcast_to(np.asarray(value), memory.shape))

    def view(self, dtype: DTypeLike, shape: int | Sequence[int] | None = None) -> Array:
        """The same memory with another element type or shape; the size in bytes must agree."""
        new = np.dtype(dtype)
        if shape is None:
            last = self.shape[-1] if self.shape else 1
            wide = last * self.dtype.itemsize
            if new.itemsize == 0 or wide % new.itemsize:
                raise ArgumentError(f"{self.name}: rows of {wide} bytes do not divide into {new}")
            shape = (*self.shape[:-1], wide // new.itemsize)
        dims = (shape,) if isinstance(shape, int) else tuple(shape)
        if prod(dims) * new.itemsize != self.nbytes:
            raise ArgumentError(
                f"{self.name} has {self.nbytes} bytes; {new} of shape {dims} has"
                f" {prod(dims) * new.itemsize}"
            )
        return Array(self.device, self._owner, dims, new)

    @property
    def is_freed(self) -> bool:
        """Whether the memory has been freed."""
        return self._owner.freed

    def label(self, parameter: str) -> None:
        """Call an array that the user did not name by the parameter it is passed for."""
        self._owner.label(f"array '{parameter}'")

    def free(self) -> None:
        """Free the memory now; using the array or its views later is an error."""
        self._owner.free()


def _copy(target: NDArray[Any], source: NDArray[Any]) -> None:
    """target[...] = source in pieces, between which Python hears of Ctrl-C."""
    if target.nbytes <= _PIECE or target.ndim == 0:
        target[...] = source
        return
    rows = max(1, _PIECE * len(target) // target.nbytes)
    if len(target) == 1:
        _copy(target[0], source[0])
        return
    for first in range(0, len(target), rows):
        _copy(target[first : first + rows], source[first : first + rows])


class _Owner:
    """Holds an allocation for an array and its views; `allocate` or `adopt` comes first."""

    allocation: Allocation

    def __init__(self, memory: Memory, *, is_named: bool = True) -> None:
        self.memory = memory
        self.is_named = is_named
        self.freed = False
        self._claim = memory.claim(self)

    def allocate(
        self, size: int, name: str, *, spread: bool, align: int, item: int, access: str
    ) -> None:
        self.allocation = self.memory.allocate(
            size,
            name,
            spread=spread,
            align=align,
            claim=self._claim,
            item=item,
            access=access,
        )

    def adopt(self, allocation: Allocation) -> None:
        self.memory.adopt(allocation, self._claim)
        self.allocation = allocation

    def live(self) -> Allocation:
        if self.freed:
            raise LaunchError(f"{self.allocation.name} has been freed")
        return self.allocation

    def view(self) -> NDArray[np.uint8]:
        return self.memory.view(self.live())

    def label(self, name: str) -> None:
        if not self.is_named and self.allocation.name != name:
            self.allocation = self.memory.rename(self.live(), name)

    def free(self) -> None:
        self.live()
        self.freed = True
        self.memory.release(self._claim)


@dataclass(frozen=True, slots=True)
class _Lent:
    """Stands for the owner of bytes that are not an array's own."""

    memory: Memory
    allocation: Allocation
    freed: ClassVar[bool] = False

    def live(self) -> Allocation:
        return self.allocation

    def view(self) -> NDArray[np.uint8]:
        return self.memory.view(self.allocation)

    def label(self, name: str) -> None:
        """It has a name."""

    def free(self) -> None:
        raise LaunchError(
            f"{self.allocation.name} is not owned by this array, which cannot free it"
        )
