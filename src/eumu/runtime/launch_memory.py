"""Memory that a launch needs for itself: the printf buffer, private memory, implicit arguments."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import numpy as np

from eumu.addresses import IMPLICIT_ARGUMENTS
from eumu.exec.grid import CONCURRENT_THREADS
from eumu.ir import Function
from eumu.runtime import implicit_arguments, printf
from eumu.runtime.array import Array
from eumu.runtime.board import Board
from eumu.runtime.image import Image
from eumu.runtime.ndrange import Range
from eumu.runtime.payload import Addresses, private_bytes
from eumu.zebin.ze_info import KernelInfo

_STRINGS: Final = ".data.const.string"


def buffers(
    device: Board, info: KernelInfo, image: Image | None, stack: ExitStack
) -> tuple[Addresses, Array | None]:
    """Addresses of implicit buffers, freed with `stack`, and the printf buffer if any."""
    wanted = {slot.arg_type for slot in info.payload_arguments}
    printed = private = None
    if "printf_buffer" in wanted:
        printed = _printf_buffer(device, stack)
    if "private_base_stateless" in wanted and private_bytes(info):
        size = private_bytes(info) * CONCURRENT_THREADS
        private = _temporary(device, size, f"private memory of {info.name}", stack)
        private.forget()  # as scratch space: threads write what they read
    addresses = Addresses(
        printf_buffer=printed.address if printed else 0,
        private_base=private.address if private else 0,
        const_base=image.base(".data.const") if image else 0,
        global_base=image.base(".data.global") if image else 0,
    )
    return addresses, printed


def with_implicit(
    device: Board,
    info: KernelInfo,
    image: Image | None,
    range: Range,
    addresses: Addresses,
    printed: Array | None,
    stack: ExitStack,
) -> tuple[Addresses, Array | None]:
    """The same with the structure that called functions read; they may be all that prints."""
    if printed is None and image and image.has(_STRINGS):
        printed = _printf_buffer(device, stack)
    width = info.execution_env.simd_size
    printf_buffer = printed.address if printed else 0
    size = len(implicit_arguments.contents(range, width, 0, 0))
    array = _temporary(device, size, f"implicit arguments of {info.name}", stack)
    array.memory[:size] = implicit_arguments.contents(range, width, array.address, printf_buffer)
    return replace(addresses, implicit_arguments=array.address), printed


def _printf_buffer(device: Board, stack: ExitStack) -> Array:
    array = _temporary(device, printf.BUFFER_BYTES, "the printf buffer", stack)
    array.memory[:4].view(np.uint32)[0] = printf.FIRST_RECORD
    return array


def _temporary(device: Board, size: int, name: str, stack: ExitStack) -> Array:
    array = Array.allocate(device, (size,), np.dtype(np.uint8), name)
    stack.callback(array.free)
    return array


def symbols(function: Function, image: Image | None, addresses: Addresses) -> dict[str, int]:
    """What the names that code mentions stand for in a launch."""
    names = [name for name in function.symbols if name != IMPLICIT_ARGUMENTS]
    placed = image.addresses(names) if image else {}
    if len(names) < len(function.symbols):
        placed[IMPLICIT_ARGUMENTS] = addresses.implicit_arguments
    return placed
