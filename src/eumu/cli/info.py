"""`eumu info`: a program's kernels and what they need; the compilers that are there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import eumu
from eumu import binary
from eumu.cli.run import _load
from eumu.cli.status import FINE, UsageError
from eumu.cli.terminal import Paint
from eumu.findings import plain
from eumu.platforms import PLATFORMS
from eumu.runtime.payload import private_bytes, scratch_bytes
from eumu.zebin import compilers


def command(options: argparse.Namespace) -> int:
    """Print the program, the compilers, or both."""
    if options.compilers:
        _list_compilers()
        if options.program is None:
            return FINE
    if options.program is None:
        raise UsageError("give a program, or --compilers")
    program = _load(options)
    paint = Paint.for_stream(sys.stdout)
    made_for = program.platform
    print(
        f"{program.name}: " + (f"for {made_for} ({made_for.title})" if made_for else _form(program))
    )
    if program.made_by:
        print(f"made by {program.made_by}")
    for kernel in program.kernels:
        arguments = ", ".join(map(str, kernel.args))
        print(f"\nkernel {paint.bold(plain(kernel.name))}({plain(arguments)})")
        for label, value in (*_facts(kernel), *_native(program, kernel.name)):
            print(f"  {label:<16} {value}")
    for section in program.elf.data if program.elf else ():
        print(f"\n{section.name}: {section.size} bytes of variables")
    for line in _links(program):
        print(line)
    for unknown in program.elf.unknown if program.elf else ():
        print(f"note: eumu does not know {unknown}")
    return FINE


def _links(program: eumu.Program) -> Iterator[str]:
    """What other files must define, and what this one has for them."""
    elf = program.elf
    if elf is None:
        return
    if elf.needs:
        yield f"\nuses, and does not define: {', '.join(elf.needs)}"
    if exported := [f.name for f in elf.functions if f.info is not None]:
        yield f"\nfunctions for other programs: {', '.join(exported)}"


def _list_compilers() -> None:
    """Each compiler with the devices it knows; the first that knows a device is taken."""
    installed = compilers.installed()
    taken: set[str] = set()
    for compiler in installed:
        names = [p.name for p in compiler.devices]
        print(f"ocloc {compiler.version or 'of an unknown version'}: {compiler.path}")
        print(f"  compiles for {', '.join(names) or 'no device that eumu knows'}")
        rest = [name for name in names if name not in taken]
        if taken and rest != names:
            print(f"  is taken for {', '.join(rest) or 'none: others come before it'}")
        taken.update(names)
    if not installed:
        print("no ocloc, Intel's offline compiler, is installed")
    if missing := [p.name for p in PLATFORMS.values() if p.name not in taken]:
        print(f"none compiles for {', '.join(missing)}")
        print(f"  {compilers.HOW_TO_GET}")


def _form(program: eumu.Program) -> str:
    module = program.module
    return f"vISA object file {'.'.join(map(str, module.version))}" if module else "vISA text"


def _native(program: eumu.Program, kernel: str) -> Iterator[tuple[str, object]]:
    """The native code that an object file has beside a kernel."""
    for code in program.module.kernels if program.module else ():
        for built in code.gen_binaries if code.name == kernel else ():
            device = binary.PLATFORMS.get(built.platform, f"platform {built.platform}")
            yield "native code", f"{len(built.code)} bytes for {device}"


def _facts(kernel: eumu.Kernel) -> Iterator[tuple[str, object]]:
    yield "SIMD width", kernel.simd_width
    if kernel.required_local_size:
        yield "local size", f"{kernel.required_local_size} required"
    if kernel.slm_bytes:
        yield "local memory", f"{kernel.slm_bytes} bytes a group"
    if kernel.barriers:
        yield "barriers", kernel.barriers
    if scratch := scratch_bytes(kernel.info):
        yield "scratch space", f"{scratch} bytes a thread"
    if private := private_bytes(kernel.info):
        yield "private memory", f"{private} bytes a thread"
    for parameter in kernel.args:
        rows = [s for s in kernel.info.payload_arguments if s.arg_index == parameter.index]
        ways = dict.fromkeys(s.addrmode or s.arg_type.removeprefix("arg_") for s in rows)
        how = ", ".join(ways) or "not used"
        yield (f"argument {parameter.index}", f"{parameter} ({parameter.size} bytes; {how})")
