"""The door under Intel's own driver, for the broker."""

from __future__ import annotations

from typing import Final

from eumu.drm.greeting import DrmProgram, meet
from eumu.drm.options import DrmOptions

__all__ = ["hangs", "meet", "needed", "options", "serve"]

needed: Final = (
    *("numpy", "eumu.device.state.media", "eumu.device.commands.mi", "eumu.device.commands.gpgpu"),
    *("eumu.device.commands", "eumu.exec.grid", "eumu.runtime.device", "eumu.runtime.batches"),
    *("eumu.drm.engine", "eumu.exec.interp", "eumu.native", "eumu.lower_native"),
    *("eumu.native.extent", "eumu.exec.tiered", "elftools.elf.elffile"),
)
hangs: Final = True  # the driver waits for memory to change
options: Final = DrmOptions


def serve(program: DrmProgram, options: DrmOptions) -> None:
    """Run what a program submits until it is gone."""
    from eumu.drm import engine

    engine.serve(program, options)
