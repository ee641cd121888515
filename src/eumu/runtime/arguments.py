"""What a launch is given: one value for each parameter, on the right device, numbers in range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eumu.errors import ArgumentError, LaunchError, shortened
from eumu.runtime.array import Array
from eumu.runtime.board import Board
from eumu.runtime.image_needs import Pictured
from eumu.runtime.parameters import Parameter

Arguments = Sequence[Any] | Mapping[str, Any]


def in_order(kernel: str, parameters: Sequence[Parameter], args: Arguments) -> list[Any]:
    """One value for each parameter; ArgumentError for names and numbers of them that do not fit."""
    if isinstance(args, Mapping):
        names = [p.name for p in parameters]
        unknown = [n for n in args if n not in names]
        missing = [n for n in names if n not in args]
        if unknown or missing:
            raise ArgumentError(
                f"kernel {kernel} takes {_listed(names)};"
                + (f" unknown: {', '.join(map(str, unknown))};" if unknown else "")
                + (f" missing: {', '.join(missing)}" if missing else "")
            )
        return [args[n] for n in names]
    values = list(args)
    if len(values) != len(parameters):
        names = [p.name for p in parameters]
        raise ArgumentError(
            f"kernel {kernel} takes {len(names)} arguments"
            f" ({', '.join(map(str, parameters)) or 'none'}), {len(values)} were given"
        )
    return values


def check_devices(parameters: Sequence[Parameter], device: Board, values: Sequence[Any]) -> None:
    """Arrays and images must lie on the device; they are called by the parameters from now on."""
    for parameter, argument in zip(parameters, values, strict=True):
        for value in argument if isinstance(argument, tuple) else (argument,):
            if not isinstance(value, (Array, Pictured)):
                continue
            if value.device is not device:
                raise parameter.error(
                    f"{value.name} is in the memory of another device ({value.device!r})"
                )
            if value.is_freed:
                raise parameter.error(f"{value.name} has been freed")
            value.label(parameter.name)


def check_number(name: str, value: object, least: int, most: int) -> None:
    """LaunchError unless a value is a whole number in a range."""
    if not isinstance(value, (int, np.integer)) or not least <= value <= most:
        # Python writes no decimal number of more than 4300 digits.
        said = f"{value:#x}" if isinstance(value, int) and abs(value) > most else repr(value)
        said = said if len(said) < 60 else shortened(said)
        raise LaunchError(f"{name} is {said}; it is a whole number from {least} to {most}")


def _listed(names: list[str]) -> str:
    return f"the arguments {', '.join(names)}" if names else "no arguments"


def read_only(parameters: Sequence[Parameter], values: Sequence[Any]) -> tuple[int, ...]:
    """Where arrays start that are passed for pointers to const or constant, and for no others."""
    pairs = [
        (p.is_const, v.address)
        for p, v in zip(parameters, values, strict=True)
        if isinstance(v, Array)
    ]
    others = {start for is_const, start in pairs if not is_const}
    return tuple(sorted({start for is_const, start in pairs if is_const} - others))
