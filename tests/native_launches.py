"""Runs what tests launch as vISA as the native code beside it.

`python -m pytest --native tests/images tests/test_features.py` runs whole folders so: their
kernels are launched at level "native" on devices whose native code eumu knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import eumu
from eumu.runtime.kernel import Kernel


@contextmanager
def natively() -> Iterator[list[str]]:
    """In the context, launches are native where they can be; gives the kernels' names."""
    launch, launched = Kernel.launch, []

    def instead(kernel: Kernel, device: eumu.Device, *args: Any, **options: Any) -> Any:
        if _has_native_code(kernel, device) and options.setdefault("level", "native") == "native":
            launched.append(kernel.name)
        return launch(kernel, device, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "launch", instead)
        yield launched


def _has_native_code(kernel: Kernel, device: eumu.Device) -> bool:
    elf = kernel.program.elf
    return device.platform.has_native_level and elf is not None and not device.check
