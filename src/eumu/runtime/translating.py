"""From what a program holds of a kernel to its meaning: which code, with which functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial

from eumu import zebin
from eumu.errors import BuildError, Place, Unsupported
from eumu.ir import Function
from eumu.ir.operations.ends import Barrier
from eumu.platforms import Platform
from eumu.program import Kernel as Code
from eumu.runtime.image import undefined
from eumu.runtime.libraries import Linkage
from eumu.runtime.payload_layout import payload_bytes
from eumu.runtime.sources import Sources
from eumu.zebin.ze_info import KernelInfo


class Promises:
    """How the SPIR-V of a program says that its lines access memory; read when it is asked.

    Lines of several files are not told apart, so a program with libraries promises nothing.
    """

    def __init__(self, linked: Linkage) -> None:
        self._spirv = linked.files[0].spirv if len(linked.files) == 1 else b""

    @cached_property
    def _lines(self) -> dict[int, int]:
        return zebin.promised_alignments(self._spirv)

    def of(self, place: Place) -> int:
        """Bytes of which all addresses that a line accesses are multiples."""
        return self._lines.get(place.line, 1)


def in_lockstep(linked: Linkage) -> bool | None:
    """Whether lanes must wait for each other at barriers of sub-groups; None if nobody knows."""
    found = [zebin.has_subgroup_barrier(f.spirv) for f in linked.files]
    return True if True in found else None if None in found else False


def keep_order(linked: Linkage, function: Function) -> bool:
    """Whether lanes of a thread must not run ahead of others that wait for another thread: not to
    a barrier, nor to where the lanes of a sub-group give each other something."""
    if any(isinstance(block.end, Barrier) for block in function.blocks):
        return True
    return any(zebin.sees_subgroups(file.spirv) for file in linked.files)


def translator(
    linked: Linkage,
    kernel: zebin.Kernel,
    sources: Sources,
    lockstep: bool | None,
    promised: Callable[[Place], int],
) -> Callable[[Platform], Function]:
    """The vISA of a kernel and of what it may call, in IR."""
    files = linked.files

    def translate(target: Platform) -> Function:
        callees = linked.callees(kernel)
        texts = (kernel.visaasm, *(c.function.visaasm for c in callees if c.file == 0))
        _check_defined(linked, kernel, texts)
        functions = [
            linked.titled(c.file, _parsed(files[c.file], c.function, is_function=True), c.title)
            for c in callees
        ]
        title = linked.title(0, kernel.name)
        code = linked.titled(0, _parsed(files[0], kernel, is_function=False), title)
        function = lowered(code, target, functions)
        function.sources, function.lockstep = sources.place, lockstep is not False
        function.together = lockstep is True or keep_order(linked, function)
        function.promised = promised
        return function

    return translate


def native_translator(
    linked: Linkage, kernel: zebin.Kernel, info: KernelInfo, sources: Sources, lockstep: bool | None
) -> Callable[[Platform], Function]:
    """The machine code of a kernel and of what it may call in its own file, in IR."""
    elf = linked.files[0]

    def translate(target: Platform) -> Function:
        from eumu.lower_native import lower
        from eumu.runtime.linking import link

        _check_native(target)
        _check_defined(linked, kernel)
        for relocation in kernel.relocations:
            if not relocation.symbol.is_defined:
                raise Unsupported(
                    f"level 'native' of kernel {kernel.name}, which uses {relocation.symbol.name!r}"
                    " of a library; level 'visa' runs it"
                )
        code = link(elf, kernel, target)
        for relocation in code.relocations:
            relocation.check()
        size, width = payload_bytes(info, target), info.execution_env.simd_size
        function = lower(
            *(code.code, width, size),
            entry=kernel.entry,
            relocations=code.relocations,
            functions=code.functions,
            line_of=partial(sources.at, kernel.name),
        )
        function.sources, function.lockstep = sources.place, lockstep is not False
        return function

    return translate


def lowered(code: Code, target: Platform, callees: Sequence[Code]) -> Function:
    """vISA in IR."""
    from eumu.lower import lower

    return lower(code, target, callees)


def lowered_native(
    data: bytes, code: Code, callees: Sequence[Code], info: KernelInfo, target: Platform
) -> Function:
    """The native code of a kernel of an object file; the vISA tells of a thread space."""
    from eumu import native
    from eumu.lower_native import lower

    _check_native(target)
    thread_space = lowered(code, target, callees).thread_space
    size, width = payload_bytes(info, target), info.execution_env.simd_size
    program = native.decode(data, target, code.name)
    return lower(program, width, size, thread_space=thread_space)


def _check_native(target: Platform) -> None:
    if not target.has_native_level:
        raise Unsupported(f"level 'native' on {target}: eumu runs the native code of Gen9 and Gen8")


def _parsed(file: zebin.Zebin, what: zebin.Kernel | zebin.Function, *, is_function: bool) -> Code:
    """The one kernel or function of a text, under the name that the program has for it."""
    from eumu import text

    module = text.parse(what.visaasm, f"{file.name}:{what.name}.visaasm")
    (code,) = (k for k in module.kernels if k.is_function == is_function)
    return replace(code, name=what.name)


def _check_defined(
    linked: Linkage, kernel: zebin.Kernel, texts: Sequence[str] | None = None
) -> None:
    """The compiler builds a call to nothing without a word.

    With `texts`, only names that vISA text mentions count: drivers put numbers of their own into
    native code, under names that nothing defines.
    """
    names = sorted({r.symbol.name for r in kernel.relocations if not r.symbol.is_defined})
    names = [name for name in names if not linked.is_defined(0, name)]
    if texts is not None:
        names = [name for name in names if any(zebin.mentions(text, name) for text in texts)]
    if names:
        uses = f"kernel {kernel.name} uses {', '.join(map(repr, names))}"
        raise BuildError(undefined(linked.files[0].name, uses))
