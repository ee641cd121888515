"""Intel's reader of object files: it says what is in one as vISA text, and we read that."""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from eumu import binary, text
from eumu.isa.kinds.variables import SamplerVariable, SurfaceVariable, Variable
from eumu.program import Attribute, Inst, Item, Kernel, LabelMark, Module, ScopeMark
from eumu.text.draft import label_fields

# Its printer writes what its own parser refuses.
_UNREADABLE = (
    (re.compile(r"\b(raw_sendsc?)\.(\d+)\.eot\."), r"\1_eot.\2."),
    (re.compile(r"\b(raw_sendsc(?:_eot)?)\.0\."), r"\1."),
)
# What it names the output after, and what it adds when it is not there.
_ITS_OWN = ("AsmName", "OutputAsmPath", "Target")


def reading(
    genx_ir: str, module: Module, platform: str, grf_bytes: int, seconds: int = 30
) -> list[Module | None]:
    """What Intel reads of a module's kernels; None where it printed nothing: it can crash.

    It may use so many seconds of the processor.
    """
    kernels = tuple(_with_name(k, f"out{n}") for n, k in enumerate(module.kernels))
    data = binary.write(replace(module, kernels=kernels), grf_bytes)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "x.isa").write_bytes(data)
        command = [genx_ir, "x.isa", "-platform", platform, "-noverifyCISA", "-dumpcommonisa"]
        # It prints what it reads before it compiles, and compiling nonsense may never end.
        subprocess.run(
            ["prlimit", "--core=0", f"--cpu={seconds}", *command], cwd=folder, capture_output=True
        )
        files = [Path(folder, f"out{n}.visaasm") for n in range(len(kernels))]
        return [_parsed(f.read_text(), grf_bytes) if f.exists() else None for f in files]


def _with_name(kernel: Kernel, name: str) -> Kernel:
    attributes = [a for a in kernel.attributes if a.name not in ("AsmName", "OutputAsmPath")]
    return replace(kernel, attributes=(*attributes, Attribute("AsmName", name)))


def _parsed(source: str, grf_bytes: int) -> Module:
    for pattern, replacement in _UNREADABLE:
        source = pattern.sub(replacement, source)
    return text.parse(source, "Intel", grf_bytes)


def comparable(module: Module) -> Module:
    """The module without what Intel's reader and printer change: see the tests."""
    return replace(module, kernels=tuple(_comparable(k) for k in module.kernels))


def _comparable(kernel: Kernel) -> Kernel:
    changed = {
        d: replace(d, alternate=None) if _has_alternate(d) else d for d in kernel.declarations
    }
    declarations = sorted(changed.values(), key=lambda d: "GAPST".index(d.category))
    operands = _Renaming(changed, kernel.body)
    return replace(
        kernel,
        declarations=tuple(declarations),
        inputs=tuple(replace(i, variable=changed[i.variable]) for i in kernel.inputs),
        attributes=tuple(a for a in kernel.attributes if a.name not in _ITS_OWN),
        body=tuple(operands.items()),
    )


def _has_alternate(declared: Any) -> bool:
    return isinstance(declared, SurfaceVariable | SamplerVariable)


class _Renaming:
    """The items of a body with labels named in order and declarations replaced."""

    def __init__(self, changed: dict[Any, Any], body: tuple[Item, ...]) -> None:
        self._changed, self._body = changed, body
        marks = [m.name for m in body if isinstance(m, LabelMark)]
        self._labels = {name: f"L{n}" for n, name in enumerate(marks)}

    def items(self) -> Iterator[Item]:
        for item in self._body:
            if isinstance(item, LabelMark):
                yield replace(item, name=self._labels[item.name])
            elif isinstance(item, Inst):
                labels = label_fields(item.opcode)
                yield replace(
                    item,
                    operands=tuple(
                        self._label(o) if n in labels else self._operand(o)
                        for n, o in enumerate(item.operands)
                    ),
                )
            elif not isinstance(item, ScopeMark):
                yield item

    def _label(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._label(v) for v in value)
        return self._labels[value]

    def _operand(self, value: Any) -> Any:
        if not isinstance(value, SurfaceVariable | SamplerVariable):
            variable = getattr(value, "variable", None)
            if variable in self._changed and not isinstance(variable, Variable):
                return replace(value, variable=self._changed[variable])
            return value
        return self._changed.get(value, value)


def written(genx_ir: str, source: str, platform: str) -> bytes | None:
    """The object file that Intel's writer makes of a text; its instructions lack operands."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "x.visaasm").write_text(source, encoding="utf-8")
        command = [genx_ir, "x.visaasm", "-platform", platform, "-noverifyCISA", "-binary"]
        command += ["-outputCisaBinaryName", "y.isa"]
        subprocess.run(command, cwd=folder, capture_output=True, check=False)
        file = Path(folder, "y.isa")
        return file.read_bytes() if file.exists() else None


def before_the_code(data: bytes) -> tuple[bytes, int]:
    """Of a file of version 4.1 with one kernel: its object up to the code, the size of the code."""
    (length,) = struct.unpack_from("<H", data, 8)
    offset, _, inputs = struct.unpack_from("<III", data, 10 + length)
    (count,) = struct.unpack_from("<I", data, inputs)
    size, entry = struct.unpack_from("<II", data, inputs + 4 + 9 * count)
    return data[offset : offset + entry], size
