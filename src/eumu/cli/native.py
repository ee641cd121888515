"""Native code for `eumu asm` and `eumu dis`: raw files, and the sections of a compiled program."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import zip_longest

from eumu import native, zebin
from eumu.cli.status import UsageError
from eumu.errors import BuildError
from eumu.native import foreign
from eumu.platforms import of_product_family, platform

_DEFAULT_DEVICE = "bxt"


def assemble(options: argparse.Namespace, name: str, source: str) -> bytes:
    """The bytes of native assembly text."""
    program = native.parse(source, name, options.device or _DEFAULT_DEVICE)
    return native.encode(program)


def disassemble(options: argparse.Namespace, name: str, data: bytes) -> str:
    """The text of raw code."""
    if options.kernel:
        raise UsageError(f"--kernel: {name} is raw code, which names no kernel")
    return _text(data, options.device or _DEFAULT_DEVICE, name)


def of_program(options: argparse.Namespace, name: str, data: bytes, level: str) -> str:
    """The text of a compiled program's kernels at level "visa", "native", or "both" in columns."""
    program = zebin.read(data, name)
    device = "" if level == "visa" else options.device or _made_for(program, name)
    parts = list(_parts(program, options.kernel, name))
    texts = []
    for title, visa, native_code in parts:
        code = _text(native_code, device, f"{name}:{title}") if device else ""
        texts.append(_beside(visa, code) if level == "both" else code or visa)
    if len(parts) == 1:
        return texts[0]
    titled = zip(parts, texts, strict=True)
    return "\n".join(f"// {title}\n{text}" for (title, *_), text in titled)


def _beside(left: str, right: str) -> str:
    """Two texts side by side, without what the left one has before its code."""
    code = left[left.find("\n.function") + 1 :]
    rows = [line.partition("//")[0].rstrip().expandtabs() for line in code.splitlines()]
    width = max(map(len, rows), default=0)
    others = [line.rstrip() for line in right.splitlines()]
    pairs = zip_longest(rows, others, fillvalue="")
    return "".join(f"{row:<{width}} | {other}".rstrip() + "\n" for row, other in pairs)


def _text(code: bytes, device: str, name: str) -> str:
    target = platform(device)
    if not target.has_native_level:
        return foreign.disassemble(code, target, name)
    return native.print_program(native.decode(code, device, name), native.message_note)


def _made_for(program: zebin.Zebin, name: str) -> str:
    family = program.target.product_family
    target = None if family is None else of_product_family(family)
    if target is None:
        raise UsageError(f"{name} does not say which device it is for: add --device")
    return target.name


def _parts(program: zebin.Zebin, only: str | None, name: str) -> Iterator[tuple[str, str, bytes]]:
    """A title, the vISA text and the native code of each kernel, and of functions that all share.

    The functions that a kernel alone calls are in its code.
    """
    titles = [kernel.name for kernel in program.kernels]
    if only and only not in titles:
        raise BuildError(f"{name} has no kernel '{only}'; it has {', '.join(titles)}")
    for kernel in program.kernels:
        if only in (None, kernel.name):
            yield (
                f"kernel {kernel.name}",
                _joined(program, kernel.name, kernel.visaasm),
                kernel.text,
            )
    if program.library is not None and only is None:
        yield "functions of all kernels", _joined(program, ""), program.library.text


def _joined(program: zebin.Zebin, owner: str, *first: str) -> str:
    texts = [*first, *(f.visaasm for f in program.functions if f.owner == owner)]
    return "\n".join(texts).rstrip() + "\n"
