"""Native code for `eumu asm` and `eumu dis`: raw files, and the sections of a compiled program."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from eumu import native, zebin
from eumu.cli.status import UsageError
from eumu.errors import BuildError
from eumu.native import foreign
from eumu.platforms import of_product_family, platform

__all__ = ["assemble", "disassemble"]

_DEFAULT_DEVICE = "bxt"


def assemble(options: argparse.Namespace, name: str, source: str) -> bytes:
    """The bytes of native assembly text."""
    program = native.parse(source, name, options.device or _DEFAULT_DEVICE)
    return native.encode(program)


def disassemble(options: argparse.Namespace, name: str, data: bytes) -> str:
    """The text of raw code, or of the kernels of a compiled program."""
    if not zebin.is_elf(data):
        if options.kernel:
            raise UsageError(f"--kernel: {name} is raw code, which names no kernel")
        return _text(data, options.device or _DEFAULT_DEVICE, name)
    program = zebin.read(data, name)
    device = options.device or _made_for(program, name)
    parts = list(_kernels(program, options.kernel, name))
    texts = [_text(code, device, f"{name}:{title}") for title, code in parts]
    if len(parts) == 1:
        return texts[0]
    titled = zip(parts, texts, strict=True)
    return "\n".join(f"// kernel {title}\n{text}" for (title, _), text in titled)


def _text(code: bytes, device: str, name: str) -> str:
    target = platform(device)
    if target.generation != "gen9":
        return foreign.disassemble(code, target, name)
    return native.print_program(native.decode(code, device, name), native.message_note)


def _made_for(program: zebin.Zebin, name: str) -> str:
    family = program.target.product_family
    found = None if family is None else of_product_family(family)
    if found is None:
        raise UsageError(f"{name} does not say which device it is for: add --device")
    return found.name


def _kernels(program: zebin.Zebin, only: str | None, name: str) -> Iterator[tuple[str, bytes]]:
    titles = [kernel.name for kernel in program.kernels]
    if only and only not in titles:
        raise BuildError(f"{name} has no kernel '{only}'; it has {', '.join(titles)}")
    for kernel in program.kernels:
        if only in (None, kernel.name):
            yield kernel.name, kernel.text
