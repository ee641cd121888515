"""Programs: kernels by name, from an ELF file, from vISA text, or built from source."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike, fspath
from pathlib import Path

from eumu import binary, zebin
from eumu.errors import (
    ArgumentError,
    BuildError,
    Diagnostic,
    FormatError,
    LaunchError,
    Place,
    Severity,
    Unsupported,
)
from eumu.ir import Function
from eumu.platforms import Platform, of_product_family, platform
from eumu.program import Kernel as Code
from eumu.program import Module
from eumu.runtime import bare
from eumu.runtime.device import Device
from eumu.runtime.image import Image
from eumu.runtime.image_arguments import dropped_reads
from eumu.runtime.kernel import Kernel
from eumu.runtime.payload import no_local_ids, payload_bytes
from eumu.runtime.signature import parameters
from eumu.runtime.sources import Sources
from eumu.zebin.ze_info import KernelInfo


class Program(Mapping[str, Kernel]):
    """Kernels by name: `program["saxpy"]`.

    `platform` is the device that the program is made for, None if vISA text was loaded without
    saying; `elf` is what was read, None for vISA text; `module` is what was read of an object file;
    `warnings` are the compiler's, and those of kernels that read images on a device without a
    sampler; `made_by` says which compiler made it, as far as that is known.  `smaller_groups` says
    whether groups at the end of a range may be smaller than the local size.
    """

    def __init__(
        self, name: str, platform: Platform | None, elf: zebin.Zebin | None = None
    ) -> None:
        self.name = name
        self.platform = platform
        self.elf = elf
        self.module: Module | None = None
        self.warnings: tuple[Diagnostic, ...] = ()
        self.made_by = elf.made_by if elf else ""
        self.smaller_groups = elf is not None and zebin.smaller_groups(elf.build_options)
        self._kernels: dict[str, Kernel] = {}

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels, in the program's order."""
        return tuple(self._kernels.values())

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self._kernels[name]
        except KeyError:
            close = difflib.get_close_matches(str(name), self._kernels, 1)
            guess = f"; did you mean {close[0]!r}?" if close else ""
            raise UnknownKernel(
                f"{self.name} has no kernel {name!r}{guess}"
                f" (it has {', '.join(self._kernels) or 'none'})"
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        where = f" for {self.platform}" if self.platform else ""
        return f"<Program {self.name}{where}: {', '.join(self._kernels)}>"

    def image(self, device: Device) -> Image | None:
        """The program's variables in a device's memory; they keep their values between launches."""
        if self.elf is None:
            return None
        with device.turn:
            image: Image | None = device.images.get(self)
            if image is None:
                image = device.images[self] = Image(self.elf, device)
            return image

    def add(self, kernel: Kernel) -> None:
        """Put a kernel into the program."""
        self._kernels[kernel.name] = kernel


class UnknownKernel(LaunchError, KeyError):
    """A program has no kernel of this name; the message lists those it has."""

    def __str__(self) -> str:
        return str(self.args[0])


def load(
    program: str | PathLike[str] | bytes,
    *,
    device: Device | Platform | str | None = None,
    options: str = "",
) -> Program:
    """Read a program from a path or from bytes.

    The compiler's ELF, vISA text and vISA object files are read as they are; OpenCL C (`.cl`) and
    SPIR-V are compiled for `device` with ocloc and `options`.  An ELF file knows its device.  Of
    vISA, arguments are the `.input` variables after the local ids, see :mod:`eumu.runtime.bare`.
    """
    if isinstance(program, bytes):
        return _from_bytes(program, "program", _platform(device), options, None)
    path = Path(fspath(program))
    return _from_bytes(path.read_bytes(), path.name, _platform(device), options, path)


def build(
    source: str | bytes | PathLike[str],
    device: Device | Platform | str = "pvc",
    options: str = "",
) -> Program:
    """Compile OpenCL C text, a SPIR-V module (bytes) or a file of either with ocloc.

    BuildError has every finding of the compiler, ToolMissing says how to install it; ArgumentError
    is for a source or options of another type.
    """
    if not isinstance(source, (str, bytes, PathLike)):
        raise ArgumentError(f"a source is text, bytes or a path, not {type(source).__name__}")
    if not isinstance(options, str):
        raise ArgumentError(f"build options are one text, not {type(options).__name__}")
    directory = None
    name = shown = "program.cl"
    if isinstance(source, PathLike):
        path = Path(source)
        name, directory, source = path.name, path.parent, path.read_bytes()
        shown = str(path)
    target = _platform(device) or platform("pvc")
    return _compile(source, name, target, options, directory, shown)


def _platform(device: Device | Platform | str | None) -> Platform | None:
    if isinstance(device, Device):
        return device.platform
    return None if device is None else platform(device)


def _from_bytes(
    data: bytes, name: str, target: Platform | None, options: str, path: Path | None
) -> Program:
    if zebin.is_elf(data):
        return _from_elf(data, name, target)
    if binary.is_object_file(data):
        return _from_object_file(data, name, target)
    suffix = path.suffix.lower() if path else ""
    if zebin.is_spirv(data) or suffix == ".cl":
        if target is None:
            raise BuildError(f"{name} must be compiled for a device; name one: device='pvc'")
        shown = str(path) if path else name
        return _compile(data, name, target, options, path.parent if path else None, shown)
    if suffix == ".visaasm" or b".version" in data[:4096]:
        return _from_text(_decoded(data, name), name, target)
    # Neither: the reader of ELF files knows many formats by their first bytes.
    return _from_elf(data, name, target)


def _compile(
    source: str | bytes,
    name: str,
    target: Platform,
    options: str,
    directory: Path | None,
    shown: str,
) -> Program:
    """`shown` is what findings call the source."""
    from eumu.zebin import ocloc

    built = ocloc.compile(source, target, options, name=name, directory=directory, lines=True)
    text = source if isinstance(source, str) else source.decode("utf-8", "replace")
    is_text = isinstance(source, str) or not zebin.is_spirv(source)
    known = {ocloc.source_path(name, directory): (shown, text)} if is_text else {}
    program = _from_elf(built.elf, name, target, known)
    program.warnings = (*built.warnings, *program.warnings)
    if built.compiler is not None and built.compiler.version:
        program.made_by = f"ocloc {built.compiler.version} ({program.made_by})"
    return program


def _from_elf(
    data: bytes,
    name: str,
    target: Platform | None,
    known: Mapping[str, tuple[str, str]] | None = None,
) -> Program:
    elf = zebin.read(data, name)
    family = elf.target.product_family
    made_for = None if family is None else of_product_family(family)
    if made_for is None and family is not None and target is None:
        raise FormatError(f"{name} is for product family {family:#x}, which eumu does not know")
    if elf.pointer_bits != 64:
        raise FormatError(f"{name} has {elf.pointer_bits}-bit pointers; eumu runs 64-bit programs")
    program = Program(name, made_for or target, elf)
    lockstep = not elf.spirv or zebin.has_subgroup_barrier(elf.spirv)
    sources = Sources(known, partial(zebin.read_lines, data, name))
    promised = _Promises(elf.spirv).of
    for kernel in elf.kernels:
        # Those of all kernels first: so they have the same address in each.
        functions = sorted(elf.functions_of(kernel.name), key=lambda f: f.owner != "")
        translate = _translator(name, kernel, functions, sources, lockstep, promised)
        info = _with_thread_data(kernel.info, program.platform)
        native = _native_translator(elf, kernel, info, sources)
        alone = b"" if functions or kernel.relocations else kernel.text
        program.add(
            Kernel(
                *(program, info, parameters(info), translate),
                translate_native=native,
                native_code=alone,
            )
        )
    program.warnings = tuple(_dropped(program))
    return program


class _Promises:
    """How the SPIR-V of a program says that its lines access memory; read when it is asked."""

    def __init__(self, spirv: bytes) -> None:
        self._spirv = spirv

    @cached_property
    def _lines(self) -> dict[int, int]:
        return zebin.promised_alignments(self._spirv)

    def of(self, place: Place) -> int:
        """Bytes of which all addresses that a line accesses are multiples."""
        return self._lines.get(place.line, 1)


def _dropped(program: Program) -> Iterator[Diagnostic]:
    """A warning for each kernel that reads images where there is no sampler."""
    for kernel in program.kernels:
        text = "" if program.platform is None else dropped_reads(kernel.info, program.platform)
        if text:
            yield Diagnostic("no-sampler", text, None, Severity.WARNING)


def _with_thread_data(info: KernelInfo, target: Platform | None) -> KernelInfo:
    """Older platforms have a register of per-thread data in any case; `.ze_info` is silent."""
    if info.per_thread_payload_arguments or target is None or not target.least_thread_data:
        return info
    unused = no_local_ids(target.least_thread_data)
    return replace(info, per_thread_payload_arguments=(unused,))


def _translator(
    program: str,
    kernel: zebin.Kernel,
    functions: Sequence[zebin.Function],
    sources: Sources,
    lockstep: bool,
    promised: Callable[[Place], int],
) -> Callable[[Platform], Function]:
    def translate(target: Platform) -> Function:
        texts = (kernel.visaasm, *(f.visaasm for f in functions))
        _check_defined(program, kernel, texts)
        callees = [_code(program, f.name, f.visaasm, is_function=True) for f in functions]
        code = _code(program, kernel.name, kernel.visaasm, is_function=False)
        function = _lowered(code, target, callees)
        function.sources, function.lockstep = sources.place, lockstep
        function.promised = promised
        return function

    return translate


def _native_translator(
    elf: zebin.Zebin, kernel: zebin.Kernel, info: KernelInfo, sources: Sources
) -> Callable[[Platform], Function]:
    def translate(target: Platform) -> Function:
        from eumu.lower_native import lower
        from eumu.runtime.linking import link

        _check_native(target)
        _check_defined(elf.name, kernel)
        linked = link(elf, kernel, target)
        for relocation in linked.relocations:
            relocation.check()
        size, width = payload_bytes(info, target), info.execution_env.simd_size
        function = lower(
            *(linked.code, width, size),
            entry=kernel.entry,
            relocations=linked.relocations,
            functions=linked.functions,
            line_of=partial(sources.at, kernel.name),
        )
        function.sources = sources.place
        return function

    return translate


def _check_native(target: Platform) -> None:
    if target.generation != "gen9":
        raise Unsupported(f"level 'native' on {target}: eumu runs the native code of Gen9")


def _code(program: str, name: str, visaasm: str, *, is_function: bool) -> Code:
    """The one kernel or function of a text, under the name that the program has for it."""
    from eumu import text

    module = text.parse(visaasm, f"{program}:{name}.visaasm")
    (code,) = (k for k in module.kernels if k.is_function == is_function)
    return replace(code, name=name)


def _check_defined(program: str, kernel: zebin.Kernel, texts: Sequence[str] | None = None) -> None:
    """The compiler builds a call to nothing without a word.

    With `texts`, only names that vISA text mentions count: drivers put numbers of their own into
    native code, under names that nothing defines.
    """
    names = sorted({r.symbol.name for r in kernel.relocations if not r.symbol.is_defined})
    if texts is not None:
        names = [name for name in names if any(_mentions(text, name) for text in texts)]
    if names:
        raise BuildError(
            f"{program}: kernel {kernel.name} uses {', '.join(map(repr, names))}, defined nowhere:"
            " a function without a body, or a builtin that the compiler's library lacks"
        )


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text) is not None


def _from_text(
    source: str, name: str, target: Platform | None, natives: Mapping[str, bytes] | None = None
) -> Program:
    """`natives` is the native code of kernels that have some."""
    from eumu import text

    module = text.parse(source, name)
    program = Program(name, target)
    functions = [code for code in module.kernels if code.is_function]
    for code in module.kernels:
        if not code.is_function:
            native = (natives or {}).get(code.name)
            program.add(_bare_kernel(program, code, functions, target, native))
    if not program:
        raise BuildError(f"{name} has no kernel")
    return program


def _from_object_file(data: bytes, name: str, target: Platform | None) -> Program:
    """Places in messages are lines of the text that `eumu dis` prints."""
    from eumu import text

    module = binary.read(data, name, target.grf_bytes if target else 32)
    target = target or binary.made_for(module)
    printed = text.print_module(module)
    if target is None and printed != text.print_module(binary.read(data, name, 64)):
        raise BuildError(f"{name} has addresses of registers; name a device, as in device='skl'")
    natives = {k.name: k.gen_binaries[0].code for k in module.kernels if k.gen_binaries}
    program = _from_text(printed, name, target, natives)
    program.module = module
    return program


def _bare_kernel(
    program: Program,
    code: Code,
    functions: Sequence[Code],
    target: Platform | None,
    native: bytes | None,
) -> Kernel:
    info, args = bare.describe(code, target)
    return Kernel(
        program,
        info,
        args,
        partial(_lowered, code, callees=functions),
        bare.memory_needs,
        partial(_lowered_native, native, code, functions, info) if native else None,
        by_threads=code.is_explicit,
    )


def _lowered_native(
    data: bytes, code: Code, callees: Sequence[Code], info: KernelInfo, target: Platform
) -> Function:
    """The native code of a kernel of an object file; the vISA tells of a thread space."""
    from eumu import native
    from eumu.lower_native import lower

    _check_native(target)
    thread_space = _lowered(code, target, callees).thread_space
    size, width = payload_bytes(info, target), info.execution_env.simd_size
    program = native.decode(data, target, code.name)
    return lower(program, width, size, thread_space=thread_space)


def _lowered(code: Code, target: Platform, callees: Sequence[Code]) -> Function:
    from eumu.lower import lower

    return lower(code, target, callees)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: byte {error.start:#x} is not UTF-8 text") from None
