"""A device: a platform, its memory, and the engine that runs kernels on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from eumu.device import Memory
from eumu.device.functions import SharedFunctions
from eumu.errors import ArgumentError, ToolMissing, Unsupported
from eumu.exec.grid import Grid, RunStats
from eumu.exec.host import Engine, Host
from eumu.ir import Function
from eumu.platforms import Platform, platform
from eumu.runtime.array import Array
from eumu.runtime.heaps import StateHeaps
from eumu.runtime.images import Image, make_image
from eumu.runtime.samplers import Sampler, make_sampler

__all__ = ["DEFAULT_FUEL", "ENGINES", "Device"]

ENGINES: Final = ("jit", "interp")

# Instructions that one thread may run: seconds of the JIT, minutes of the interpreter.
DEFAULT_FUEL: Final = {"jit": 1 << 28, "interp": 1 << 22}


class Device:
    """An emulated GPU.

    `name` is a platform ("pvc", "skl", "apl", …).  `engine` is "jit" or "interp"; without one it is
    the JIT where it can be used.  `memory_bytes` is the address space of the device's memory.
    With `strict_bounds` an access outside a surface is a fault; without, reads give 0 and writes
    vanish, as on hardware.  With `check` every launch looks for uses of undefined values, slower,
    and lists them in `Report.findings`.  `sink` gets what kernels print (standard output by
    default).  `progress` is called during a launch with the groups that are done and all groups,
    from any thread.

    >>> dev = Device("pvc", engine="interp")
    >>> dev.array([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        name: str | Platform = "pvc",
        engine: str | None = None,
        *,
        check: bool = False,
        memory_bytes: int | None = None,
        strict_bounds: bool = True,
        sink: Callable[[str], object] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self.platform = platform(name)
        self.check = check
        self.strict_bounds = strict_bounds
        self.memory = Memory(memory_bytes, sink)
        self.memory.progress = progress
        if engine is not None and engine not in ENGINES:
            raise ValueError(f"unknown engine {engine!r}; the engines are {', '.join(ENGINES)}")
        if engine == "jit" and not _has_jit():
            raise ToolMissing("engine 'jit' needs llvmlite: pip install llvmlite")
        # The variables of each program that has run here (eumu.runtime.image), by program.
        self.images: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._engine = engine or ("jit" if _has_jit() else "interp")
        self._engines: dict[str, Engine] = {}
        self._refused: dict[int, Function] = {}  # what the JIT does not take, by identity
        self._arrays = 0

    @property
    def engine(self) -> str:
        """The name of the engine that runs kernels first."""
        return self._engine

    def __repr__(self) -> str:
        return f"<Device {self.platform} ({self.platform.title}), engine {self.engine}>"

    def array(
        self,
        data: ArrayLike | int | tuple[int, ...],
        dtype: DTypeLike | None = None,
        *,
        name: str = "",
    ) -> Array:
        """A device array: a copy of `data`, or zeros if `data` is a shape (an int or a tuple).

        A list of Python floats becomes float32, one of ints int32, unless `dtype` says otherwise.
        `name` is what messages call it; else it gets the name of the parameter it is passed for.
        """
        self._arrays += 1
        label = f"array '{name}'" if name else f"array #{self._arrays}"
        if isinstance(data, int) or (
            isinstance(data, tuple) and all(isinstance(n, int) for n in data)
        ):
            if dtype is None:
                raise ArgumentError(f"Device.array({data!r}): a shape needs a dtype")
            shape = (data,) if isinstance(data, int) else data
            return Array.allocate(self, shape, np.dtype(dtype), label, is_named=bool(name))
        values = _values(data, dtype)
        array = Array.allocate(self, values.shape, values.dtype, label, is_named=bool(name))
        array.write(values)
        return array

    @cached_property
    def heaps(self) -> StateHeaps:
        """Where the states of images and samplers lie; made for the first of them."""
        return StateHeaps(self)

    def image(
        self,
        data: ArrayLike | tuple[int, ...],
        *,
        format: str = "RGBA8_UNORM",
        kind: str | None = None,
        layers: int | None = None,
        levels: int | Sequence[ArrayLike] = 1,
        tiling: str = "linear",
        samples: int = 1,
        swizzle: str = "RGBA",
        name: str = "",
    ) -> Image:
        """An image: a copy of `data`, or zeros if `data` is a shape.

        Shapes are (w[, c]), (h, w[, c]) and (d, h, w[, c]); the channels are the last axis if the
        format has several of one size.  Elements have the type that the format stores, or are
        floats that it converts.  `layers` says that the first axis are the layers of an array,
        `kind` "cube" that it are the faces; `levels` is the number of mip levels, or the data of
        those below the first.  `tiling` is "linear", "x" or "y".

        >>> Device("skl").image(np.zeros((4, 8, 4), np.uint8), format="RGBA8_UNORM").shape()
        (4, 8, 4)
        """
        self._arrays += 1
        label = f"image '{name}'" if name else f"image #{self._arrays}"
        return make_image(
            self,
            data,
            format,
            kind=kind,
            layers=layers,
            levels=levels,
            tiling=tiling,
            samples=samples,
            swizzle=swizzle,
            name=label,
            is_named=bool(name),
        )

    def sampler(
        self,
        *,
        normalized: bool = True,
        address: str = "clamp_to_edge",
        filter: str = "nearest",
        **more: Any,
    ) -> Sampler:
        """A sampler: `address` is none, clamp_to_edge, clamp_to_border, repeat, mirrored_repeat …,

        `filter` nearest, linear or anisotropic.  More: `mag_filter`, `mip_filter`, `lod` (least,
        greatest), `lod_bias`, `border` (four channels), `compare`, `anisotropy`, `reduction`.
        """
        return make_sampler(normalized=normalized, address=address, filter=filter, **more)

    def invalidate_states(self) -> None:
        """Make the sampler forget cached states: for whoever changes their bytes in memory."""
        self.heaps.caches.invalidate()

    def _host(self, grid: Grid) -> Host:
        """Memory for a grid; with answers to messages if it has states."""
        if grid.state is None:
            return self.memory
        functions = SharedFunctions(self.memory, grid.state, self.heaps.caches)
        return self.memory.answering(functions.message)

    def run(self, grid: Grid) -> tuple[RunStats, str]:
        """Run a grid to its end; what was counted, and the engine that ran it."""
        name = self._engine
        function = grid.function
        if name == "jit" and id(function) not in self._refused:
            try:
                return self._get("jit").run(grid, self._host(grid)), name
            except Unsupported as reason:
                if reason.is_late:
                    raise
                # The JIT refused before it ran anything: memory is as it was.
                self._refused[id(function)] = function
                first = str(reason).splitlines()[0]
                warnings.warn(
                    f"kernel {function.name} runs on the interpreter: {first}", RuntimeWarning, 4
                )
        if name == "jit" and grid.fuel == DEFAULT_FUEL[name]:
            grid = replace(grid, fuel=DEFAULT_FUEL["interp"])
        return self._get("interp").run(grid, self._host(grid)), "interp"

    def _get(self, name: str) -> Engine:
        if name not in self._engines:
            self._engines[name] = _make(name)
        return self._engines[name]


def _has_jit() -> bool:
    return find_spec("llvmlite") is not None


def _make(name: str) -> Engine:
    """Engines are imported when the first kernel runs: LLVM takes a while to load."""
    if name == "jit":
        try:
            from eumu.exec.jit import Jit
        except (ImportError, OSError) as error:
            raise Unsupported(f"the fast engine cannot be loaded here ({error})") from error
        return Jit()
    from eumu.exec.interp import Interpreter

    return Interpreter()


def _values(data: Any, dtype: DTypeLike | None) -> np.ndarray[Any, Any]:
    values = np.asarray(data, dtype)
    if dtype is None and not isinstance(data, (np.ndarray, np.generic)):
        smaller = {"float64": np.float32, "int64": np.int32}.get(values.dtype.name)
        if smaller is not None:
            values = values.astype(smaller)
    if values.dtype.hasobject or values.dtype.kind not in "biufVc":
        raise ArgumentError(f"a device array cannot hold {values.dtype} elements")
    return values
