"""One text on both levels: as vISA, and as the native code that Intel's finalizer makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Final

from eumu import binary
from eumu.compare.finalizer import Refusal, finalize_each
from eumu.compare.harness import INPUT_BYTES, INPUT_OFFSET, Harness
from eumu.errors import BuildError
from eumu.exec.grid import BufferSurface, Grid, Payload, StatePointers
from eumu.ir import Function
from eumu.lower import lower
from eumu.lower_native import lower as lower_native
from eumu.native import Program
from eumu.platforms import Platform, platform
from eumu.program import Kernel
from eumu.records import dataclass
from eumu.text import parse

_HEADER_DWORDS: Final = INPUT_OFFSET // 4
# Of a processor.  The finalizer takes a hundredth of one, and of few texts it makes no end.
_SECONDS: Final = 2


@dataclass(frozen=True)
class Pair:
    """A text at both levels, or why there is no native one.

    `is_object`: the finalizer read it as an object file, not as a text.
    """

    harness: Harness
    target: Platform
    native: Program | Refusal
    is_object: bool = False

    def function(self, level: str) -> Function:
        """The IR at level "visa" or "native".

        Raises `BuildError` for a native level that the finalizer refused to make.
        """
        (kernel,) = (k for k in self._kernels if not k.is_function)
        if level == "visa":
            return lower(kernel, self.target, [k for k in self._kernels if k.is_function])
        if isinstance(self.native, Refusal):
            raise BuildError(f"no native code: {self.native.message}")
        return lower_native(self.native, kernel.simd_width, INPUT_OFFSET + INPUT_BYTES)

    @cached_property
    def _kernels(self) -> Sequence[Kernel]:
        return parse(self.harness.text, "program").kernels


def pairs(
    harnesses: Iterable[Harness],
    device: str | Platform = "skl",
    options: Sequence[str] = (),
    *,
    jobs: int | None = None,
) -> Iterator[Pair]:
    """Harnesses with their native code, in their order; `options` are the finalizer's.

    What the finalizer's reader of text does not know, newer spellings above all, it gets as an
    object file.
    """
    target = platform(device)
    every = list(harnesses)
    each = partial(finalize_each, device=target, options=options, jobs=jobs, seconds=_SECONDS)
    made = list(each(h.text for h in every))
    again = [k for k, m in enumerate(made) if isinstance(m, Refusal) and not m.died]
    objects = ((k, _object(every[k].text, target)) for k in again)
    finalized = [(k, data) for k, data in objects if data is not None]
    as_object = set()
    outcomes = each(d for _, d in finalized)
    for (k, _), outcome in zip(finalized, outcomes, strict=True):
        if not isinstance(outcome, Refusal):
            made[k] = outcome
            as_object.add(k)
    for k, (harness, native) in enumerate(zip(every, made, strict=True)):
        yield Pair(harness, target, native, k in as_object)


def _object(text: str, target: Platform) -> bytes | None:
    """The object file of a text, None where its instructions have no place in one."""
    try:
        return binary.write(parse(text, "program", target.grf_bytes), target.grf_bytes)
    except BuildError:
        return None


def grid(
    function: Function,
    address: int,
    *,
    lanes: int | None = None,
    threads: int = 1,
    surfaces: Mapping[int, BufferSurface] | None = None,
    state: StatePointers | None = None,
    slm_bytes: int = 0,
    scratch_bytes: int = 0,
    groups: int = 1,
    fuel: int = 1_000_000,
) -> Grid:
    """A launch of a harness's text whose image is at `address`; `lanes` run in the last thread."""
    payload = address.to_bytes(INPUT_BYTES, "little")
    header = (0,) * _HEADER_DWORDS
    record = Payload(header, None, 0, INPUT_OFFSET, payload, numbers_threads=True)
    local_size = ((threads - 1) * function.width + (lanes or function.width), 1, 1)
    return Grid(
        *(function, (groups, 1, 1), local_size, record, dict(surfaces or {})),
        *(slm_bytes, scratch_bytes),
        fuel=fuel,
        state=state,
    )
