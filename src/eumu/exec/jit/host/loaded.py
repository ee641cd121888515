"""Object files to code that can be called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import llvmlite.binding as llvm

from eumu.exec.jit.host.frames import taken
from eumu.exec.jit.host.target import LOCK, Processor, initialize

_MOST_LIBRARIES: Final = 64  # of a linker


class Loaded:
    """Object files in executable memory; `run` and `again` are addresses of the driver's.

    `stack` is how many bytes of a thread's stack the code takes.

    Code that is no kernel's has no `again`, which is 0 then.
    """

    _linkers: ClassVar[dict[Processor, tuple[Any, int]]] = {}  # and how many libraries each has had
    _count: ClassVar[int] = 0

    def __init__(
        self, objects: Sequence[bytes], processor: Processor, *, has_again: bool = True
    ) -> None:
        with LOCK:
            initialize()
            linker = self._linker(processor)
            self.stack = taken(objects, processor.triple)
            builder = llvm.JITLibraryBuilder()
            for code in objects:
                builder.add_object_img(code)
            builder.export_symbol("run")
            if has_again:
                builder.export_symbol("again")
            builder.add_current_process()
            self._library = builder.link(linker, f"kernel{Loaded._count}")
            self.run: int = self._library["run"]
            self.again: int = self._library["again"] if has_again else 0

    @staticmethod
    def _linker(processor: Processor) -> Any:
        """What links the next library.

        A library that goes leaves some 10 KB in its linker, so a linker has so many and no more: it
        lives as long as one of them does.
        """
        linker, count = Loaded._linkers.get(processor, (None, _MOST_LIBRARIES))
        if count == _MOST_LIBRARIES:
            machine = llvm.Target.from_triple(processor.triple).create_target_machine(
                cpu=processor.cpu, features=processor.features, jit=True
            )
            # JITLink puts code and constants into one piece of memory; the older linker may put
            # them more than 2 GiB apart, around a device's arena, and aborts the process.
            linker, count = llvm.create_lljit_compiler(machine, use_jit_link=True), 0
        Loaded._linkers[processor] = linker, count + 1
        Loaded._count += 1
        return linker
