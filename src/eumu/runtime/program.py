"""Programs: kernels by name, from an ELF file, from vISA text, or built from source."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path

from eumu import zebin
from eumu.errors import (
    ArgumentError,
    BuildError,
    Diagnostic,
    FormatError,
    LaunchError,
    Severity,
)
from eumu.exec.checks import COPIES, INDICES, Checks, checks
from eumu.platforms import Platform, of_product_family, platform
from eumu.program import Kernel as Code
from eumu.program import Module
from eumu.runtime import bare
from eumu.runtime.device import Device
from eumu.runtime.image import Image
from eumu.runtime.image_needs import dropped_reads
from eumu.runtime.kernel import Kernel
from eumu.runtime.libraries import Linkage
from eumu.runtime.miscompiled import cut_addresses
from eumu.runtime.payload_layout import no_local_ids
from eumu.runtime.signature import parameters
from eumu.runtime.sources import Sources
from eumu.runtime.translating import (
    Promises,
    in_lockstep,
    lowered,
    lowered_native,
    native_translator,
    translator,
)
from eumu.zebin.indices import Site
from eumu.zebin.ze_info import KernelInfo


class Program(Mapping[str, Kernel]):
    """Kernels by name: `program["saxpy"]`.

    `platform` is the device of the program, None for vISA text that was loaded without a device.
    `elf` is the ELF file, None for vISA text; `module` is the content of an object file.
    `warnings` are the compiler's, and eumu's for kernels that read images on a device without a
    sampler.  `made_by` is the compiler, if known.  `smaller_groups`: whether the last groups of a
    launch may be smaller than the local size.
    """

    def __init__(self, name: str, platform: Platform | None, linked: Linkage | None = None) -> None:
        self.name = name
        self.platform = platform
        self._linked = linked
        self.elf = elf = linked.files[0] if linked else None
        self.module: Module | None = None
        self.warnings: tuple[Diagnostic, ...] = ()
        self.sites: tuple[Site, ...] = ()  # of indices that the program looks at
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
        if self._linked is None:
            return None
        with device.turn:
            image: Image | None = device.images.get(self)
            if image is None:
                image = device.images[self] = Image(self._linked, device)
            return image

    @property
    def variable_bytes(self) -> int:
        """How many bytes the program's variables take."""
        files = self._linked.files if self._linked else ()
        return sum(s.size for file in files for s in file.data if s.writable)

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
    libraries: Sequence[str | PathLike[str] | bytes] = (),
    check: bool | str | Iterable[str] | None = None,
) -> Program:
    """Read a program from a path or from bytes.

    The compiler's ELF, vISA text and vISA object files are read as they are; OpenCL C (`.cl`) and
    SPIR-V are compiled for `device` with ocloc and `options`.  An ELF file names its device.  The
    arguments of a vISA kernel are the `.input` variables after the local ids, see
    :mod:`eumu.runtime.bare`.  `libraries` are ELF files with functions and variables that the
    program uses (as with Level Zero's `zeModuleDynamicLink`); each program has its own copy of
    their variables.
    `check` says what a source is built to look for ("copies", "indices"); by default what a
    `Device` looks for.
    """
    if isinstance(libraries, (str, bytes, PathLike)):
        raise ArgumentError("libraries must be a list, even for one library")
    others = tuple(_library(library, number) for number, library in enumerate(libraries, 1))
    if not (check is None or isinstance(check, (bool, str))):
        check = tuple(check)
    path = None if isinstance(program, bytes) else Path(fspath(program))
    data = program if isinstance(program, bytes) else Path(fspath(program)).read_bytes()
    name, wanted = path.name if path else "program", _checks(device, check)
    made = _from_bytes(data, name, _platform(device), options, path, others, wanted)
    is_text = path is not None and path.suffix.lower() == ".cl" and not zebin.is_spirv(data)
    made.warnings += () if is_text else tuple(_never_looked_for(name, check))
    return made


def load_built(elf: bytes, device: Device, sources: Mapping[str, tuple[str, str]]) -> Program:
    """A compiler's ELF, of sources without a file: by their names in its debug information, what
    findings are to call them and their text."""
    return _from_elf(elf, "program", device.platform, sources)


def _never_looked_for(
    name: str, check: bool | str | tuple[str, ...] | None
) -> Iterator[Diagnostic]:
    """A warning if somebody names a check that only builds of text can have."""
    names = check.split(",") if isinstance(check, str) else check or ()
    asked = {} if isinstance(names, bool) else dict.fromkeys(n.strip() for n in names)
    if what := " and ".join(n for n in asked if n in (COPIES, INDICES)):
        reason = f"{name} is not checked for mistakes with {what}: eumu does not build it from text"
        yield Diagnostic("build-unchecked", reason, None, Severity.WARNING)


def _library(library: str | PathLike[str] | bytes, number: int) -> zebin.Zebin:
    if isinstance(library, bytes):
        return zebin.read(library, f"library {number}")
    path = Path(fspath(library))
    return zebin.read(path.read_bytes(), path.name)


def build(
    source: str | bytes | PathLike[str],
    device: Device | Platform | str = "pvc",
    options: str = "",
    *,
    check: bool | str | Iterable[str] | None = None,
) -> Program:
    """Compile OpenCL C text, a SPIR-V module (bytes) or a file of either with ocloc.

    `check` says what a source is built to look for ("copies", "indices"); by default what a
    `Device` looks for.
    BuildError has every finding of the compiler; ToolMissing says how to install it; ArgumentError
    means a source or options of a wrong type.
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
    return _compile(source, name, target, options, directory, shown, wanted=_checks(device, check))


def _checks(
    device: Device | Platform | str | None, check: bool | str | Iterable[str] | None
) -> Checks:
    """What a program is to look for that is built for a device."""
    if check is not None:
        return checks(check)
    return device.check if isinstance(device, Device) else frozenset()


def _platform(device: Device | Platform | str | None) -> Platform | None:
    if isinstance(device, Device):
        return device.platform
    return None if device is None else platform(device)


def _from_bytes(
    data: bytes,
    name: str,
    target: Platform | None,
    options: str,
    path: Path | None,
    libraries: Sequence[zebin.Zebin] = (),
    wanted: Checks = frozenset(),
) -> Program:
    if zebin.is_elf(data):
        return _from_elf(data, name, target, libraries=libraries)
    suffix = path.suffix.lower() if path else ""
    if zebin.is_spirv(data) or suffix == ".cl":
        if target is None:
            raise BuildError(f"{name} must be compiled for a device; name one: device='pvc'")
        shown = str(path) if path else name
        directory = path.parent if path else None
        return _compile(data, name, target, options, directory, shown, libraries, wanted)
    if libraries:
        raise ArgumentError(f"{name} is vISA; libraries go with the compiler's ELF and with source")
    from eumu import binary

    if binary.is_object_file(data):
        return _from_object_file(data, name, target)
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
    libraries: Sequence[zebin.Zebin] = (),
    wanted: Checks = frozenset(),
) -> Program:
    """`shown` is what findings call the source; `wanted` what the program is to look for."""
    from eumu.runtime import instrumented
    from eumu.zebin import ocloc

    request = source, target, options, wanted
    built, sites = instrumented.compile(*request, name=name, directory=directory)
    text = source if isinstance(source, str) else source.decode("utf-8", "replace")
    is_text = isinstance(source, str) or not zebin.is_spirv(source)
    sources = {ocloc.source_path(name, directory): (shown, text)} if is_text else {}
    program = _from_elf(built.elf, name, target, sources, libraries)
    program.warnings, program.sites = (*built.warnings, *program.warnings), sites
    if built.compiler is not None and built.compiler.version:
        program.made_by = f"ocloc {built.compiler.version} ({program.made_by})"
    return program


def _from_elf(
    data: bytes,
    name: str,
    target: Platform | None,
    known: Mapping[str, tuple[str, str]] | None = None,
    libraries: Sequence[zebin.Zebin] = (),
) -> Program:
    elf = zebin.read(data, name)
    family = elf.target.product_family
    made_for = None if family is None else of_product_family(family)
    if made_for is None and family is not None and target is None:
        raise FormatError(f"{name} is for product family {family:#x}, which eumu does not know")
    if elf.pointer_bits != 64:
        raise FormatError(f"{name} has {elf.pointer_bits}-bit pointers; eumu runs 64-bit programs")
    linked = Linkage((elf, *libraries))
    program = Program(name, made_for or target, linked)
    sources = Sources(known, partial(zebin.read_lines, data, name))
    promised, lockstep = Promises(linked).of, in_lockstep(linked)
    for kernel in elf.kernels:
        info = _with_thread_data(kernel.info, program.platform)
        alone = b"" if linked.callees(kernel) or kernel.relocations else kernel.text
        program.add(
            Kernel(
                *(program, info, parameters(info)),
                translator(linked, kernel, sources, lockstep, promised),
                translate_native=native_translator(linked, kernel, info, sources, lockstep),
                native_code=alone,
                doubt=cut_addresses(kernel),
            )
        )
    program.warnings = tuple(_warnings(program))
    return program


def _warnings(program: Program) -> Iterator[Diagnostic]:
    """A warning for each kernel that reads images where there is no sampler, or that is known to be
    compiled wrongly."""
    for kernel in program.kernels:
        text = "" if program.platform is None else dropped_reads(kernel.info, program.platform)
        for code, why in (("no-sampler", text), ("cut-addresses", kernel.doubt)):
            if why:
                yield Diagnostic(code, why, None, Severity.WARNING)


def _with_thread_data(info: KernelInfo, target: Platform | None) -> KernelInfo:
    """Older platforms have a register of per-thread data in any case; `.ze_info` is silent."""
    if info.per_thread_payload_arguments or target is None or not target.least_thread_data:
        return info
    unused = no_local_ids(target.least_thread_data)
    return replace(info, per_thread_payload_arguments=(unused,))


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
    from eumu import binary, text

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
        partial(lowered, code, callees=functions),
        bare.memory_needs,
        partial(lowered_native, native, code, functions, info) if native else None,
        by_threads=code.is_explicit,
    )


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: byte {error.start:#x} is not UTF-8 text") from None
