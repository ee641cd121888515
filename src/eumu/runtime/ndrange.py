"""The sizes of a launch: checked, completed, and divided into groups."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, Final

from eumu.errors import LaunchError
from eumu.exec.grid import Dim3
from eumu.platforms import Platform
from eumu.records import dataclass

_PREFERRED_GROUP: Final = 256
_MAX_DIMENSION: Final = (1 << 32) - 1
Size = int | Sequence[int]


@dataclass(frozen=True, slots=True)
class Range:
    """A launch's sizes in work items (or threads); unused dimensions are 1 (offsets 0).

    Groups at the end may be smaller than `local_size`: such a launch has several `parts`.  A part
    has the sizes of the whole, and `group_size`, `first_group` and `groups` of its own.
    """

    dimensions: int
    global_size: Dim3
    local_size: Dim3
    offset: Dim3
    group_size: Dim3
    first_group: Dim3
    groups: Dim3

    @property
    def group_count(self) -> Dim3:
        """Groups of all parts."""
        gx, gy, gz = self.global_size
        lx, ly, lz = self.local_size
        return -(-gx // lx), -(-gy // ly), -(-gz // lz)

    @property
    def first_item(self) -> Dim3:
        """The first global id of this part."""
        x, y, z = (
            start + first * size
            for start, first, size in zip(
                self.offset, self.first_group, self.local_size, strict=True
            )
        )
        return x, y, z

    @property
    def is_uniform(self) -> bool:
        """Whether all groups have the same size."""
        sizes = zip(self.global_size, self.local_size, strict=True)
        return not any(n % size for n, size in sizes)

    def parts(self) -> tuple[Range, ...]:
        """Up to 2^3 parts whose groups have one size each; those of the full size come first."""
        if self.is_uniform:
            return (self,)
        axes = zip(self.global_size, self.local_size, strict=True)
        return tuple(
            replace(
                self,
                group_size=(x[2], y[2], z[2]),
                first_group=(x[0], y[0], z[0]),
                groups=(x[1], y[1], z[1]),
            )
            for z, y, x in product(*reversed([_axis(n, size) for n, size in axes]))
        )

    def lanes(self, width: int) -> Dim3:
        """The size of a group in lanes, where it counts threads of so many lanes."""
        x, y, z = self.group_size
        return x * width, y, z

    @classmethod
    def of(
        cls,
        global_size: Size,
        local_size: Size | None,
        offset: Size,
        *,
        platform: Platform,
        simd_width: int,
        required: Dim3 | None,
        by_threads: bool = False,
        smaller_groups: bool = False,
    ) -> Range:
        """Sizes as the caller gave them; LaunchError for those that cannot run.

        With `smaller_groups` the local size need not divide the global size.

        Without a local size it is the one that the kernel requires, or one if sizes count threads
        (`by_threads`), or else what `default_local_size` finds.
        """
        shape = _sizes("global_size", global_size)
        whole = _three(shape, 1)
        if local_size is not None:
            sizes = _sizes("local_size", local_size)
            if len(sizes) > len(shape):
                raise LaunchError(
                    f"local_size {sizes} has more dimensions than global_size {shape}"
                )
            local = _three(sizes, 1)
        else:
            one = (1, 1, 1) if by_threads else None
            local = required or one or default_local_size(whole, simd_width)
        if required and local != required:
            raise LaunchError(
                f"the kernel requires local_size {required} (reqd_work_group_size), not {local}"
            )
        start = _three(_sizes("global_offset", offset, least=0), 0)
        _check(whole, local, start, platform, smaller_groups)
        made = cls(len(shape), whole, local, start, local, (0, 0, 0), (1, 1, 1))
        return replace(made, groups=made.group_count)


def _axis(size: int, local: int) -> list[tuple[int, int, int]]:
    """In one dimension: the first group, how many groups, and their size; without empty parts."""
    count, rest = divmod(size, local)
    return [row for row in ((0, count, local), (count, 1, rest)) if row[1] and row[2]]


def default_local_size(whole: Dim3, simd_width: int) -> Dim3:
    """The greatest divisors of the global size with a product of at most 256, x first.

    When x has so few divisors that a SIMD thread would stay empty, up to 1024 work items are
    tried.
    """
    sizes = _divisors(whole, _PREFERRED_GROUP)
    if prod(sizes) < min(simd_width, prod(whole)):
        sizes = _divisors(whole, 4 * _PREFERRED_GROUP)
    return sizes


def _divisors(whole: Dim3, room: int) -> Dim3:
    divisors = []
    for n in whole:
        size = next(d for d in range(min(n, room), 0, -1) if n % d == 0)
        divisors.append(size)
        room //= size
    return divisors[0], divisors[1], divisors[2]


def _sizes(name: str, value: Size, least: int = 1) -> tuple[int, ...]:
    given: Any = value
    several = isinstance(given, Sequence) or getattr(given, "ndim", 0) == 1  # an array of NumPy
    sizes = tuple(given) if several else (given,)
    if not 1 <= len(sizes) <= 3:
        raise LaunchError(f"{name} has {len(sizes)} dimensions, 1 to 3 are possible")
    for n in sizes:
        if (size := _integer(n)) is None or not least <= size <= _MAX_DIMENSION:
            raise LaunchError(f"{name} is {value}: {n!r} is not an integer from {least} to 2^32-1")
    return tuple(map(operator.index, sizes))


def _integer(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:
        return None


def _three(sizes: tuple[int, ...], rest: int) -> Dim3:
    x, y, z = (*sizes, *[rest] * (3 - len(sizes)))
    return x, y, z


def _check(whole: Dim3, local: Dim3, start: Dim3, platform: Platform, smaller_groups: bool) -> None:
    for axis, n, size, first in zip("xyz", whole, local, start, strict=True):
        if n % size and not smaller_groups:
            near = n // size * size
            raise LaunchError(
                f"global size {n} in {axis} does not divide into groups of {size}"
                f" (global_size {whole}, local_size {local}); {near + size} does"
                + (f", and so does {near}" if near else "")
                + "; programs built with -cl-std=CL2.0 or newer may have smaller groups at the end"
            )
        if first + n - 1 > _MAX_DIMENSION:
            raise LaunchError(f"global ids in {axis} end at {first + n - 1}, beyond 2^32-1")
    if prod(local) > platform.max_group_size:
        raise LaunchError(
            f"a group of {prod(local)} work items (local_size {local}) is too large: {platform}"
            f" runs up to {platform.max_group_size}"
        )
