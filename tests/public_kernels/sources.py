"""OpenCL C sources of a folder, and builds of them without their host programs.

A host program defines names that its kernels need.  Those that the compiler misses are made up:
a number for an identifier, `float` for a type.  A source that is a string literal of C++ loses its
quotes, and gets the file `common.opencl` beside or above it in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from eumu import zebin
from eumu.errors import BuildError, Severity

_SUFFIXES = (".cl", ".ocl", ".opencl")
_KERNEL = re.compile(r"^[^/\n]*\b(?:__)?kernel\b", re.M)
_LITERAL = re.compile(r'^\s*(?:R"\(|\)")\s*;?.*$', re.M)
_MACRO = re.compile(
    r"\b(?:MSTRINGIFY|CONVERT_KERNEL_TO_STRING)\s*\((.*)\)\s*;?\s*(?:#endif[^\n]*)?\s*$", re.S
)
_LINE_END = re.compile(r"^\s*\\n", re.M)  # before a directive inside of a macro's argument
_MISSING = (
    (re.compile(r"use of undeclared identifier '(\w+)'"), "16"),
    (re.compile(r"unknown type name '(\w+)'"), "float"),
)
_TYPEDEF = re.compile(r"\btypedef\s+([\w ]+?)\s+(\w+)\s*;")
_DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)[ \t]+(\w+)\s*$", re.M)
_OPTION = re.compile(r"-D(\w+)=(\w+)")
_ATTEMPTS = 8
_ABOVE = 3  # folders above a source in which headers are looked for
_TOGETHER = "common.opencl"
_HALF = re.compile(r"\bhalf\b|cl_khr_fp16")


@dataclass(frozen=True, slots=True)
class Text:
    """A source."""

    path: Path
    text: str

    def sizes(self, kernel: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """A global and a local size in the directions of which a kernel asks ids."""
        text = self._body(kernel)
        if re.search(r"get_(?:global|local)_id\s*\(\s*1\s*\)", text):
            return (32, 4), (16, 2)
        if re.search(r"get_group_id\s*\(\s*1\s*\)", text):
            return (64, 2), (32, 1)
        return (64,), (32,)

    def _body(self, kernel: str) -> str:
        """A kernel up to the next one; the whole text if others ask ids for it."""
        found = re.search(rf"\b{re.escape(kernel)}\s*\(", self.text)
        if found is None:
            return self.text
        following = _KERNEL.search(self.text, found.end())
        body = self.text[found.start() : following.start() if following else len(self.text)]
        return body if "_id" in body else self.text

    def types(self, options: str) -> dict[str, str]:
        """What the names of types stand for, by the source and the compiler's options.

        Where the preprocessor has a choice it is taken to be float.
        """
        found: dict[str, str] = {}
        typedefs = ((name, text.strip()) for text, name in _TYPEDEF.findall(self.text))
        for name, text in [*typedefs, *_DEFINE.findall(self.text), *_OPTION.findall(options)]:
            found[name] = text if text == "float" else found.get(name, text)
        return found

    @property
    def work(self) -> float:
        """How much text there is for a kernel."""
        return len(self.text) / max(1, len(_KERNEL.findall(self.text)))

    @property
    def witness(self) -> str:
        """Which implementation can run it, too: "pocl", "intel" (its runtime for CPUs) or none.

        PoCL has no half and no sub-groups; of these the size must be said, as it changes results.
        """
        if any(word in self.text for word in ("__asm", "image", "intel_media", "_matrix_mad")):
            return ""
        if "sub_group" in self.text:
            return "intel" if "intel_reqd_sub_group_size" in self.text else ""
        if _HALF.search(self.text):
            return "intel"
        return "" if "intel_" in self.text else "pocl"


def sources(folder: Path) -> Iterator[Text]:
    """The files with kernels in a folder and below."""
    for path in sorted(p for p in folder.rglob("*") if p.suffix in _SUFFIXES and p.is_file()):
        text = path.read_text("utf-8", "replace")
        if not _KERNEL.search(text):
            continue
        if literal := _MACRO.search(text):
            text = _LINE_END.sub("\n", literal[1])
        if 'R"(' in text:
            text = _whole(path, text)
        yield Text(path, text)


def _whole(path: Path, text: str) -> str:
    """A literal without its quotes, behind what the host program puts before it."""
    parts = []
    for folder in (path.parent.parent, path.parent):
        for name in (_TOGETHER, f"{path.parent.name}.opencl"):
            if (folder / name).is_file() and folder / name != path:
                parts.append((folder / name).read_text("utf-8", "replace"))
    # Files in parts: `x_part2` needs `x_part1`.
    if found := re.fullmatch(r"(.*_part)(\d+)", path.stem):
        for number in range(1, int(found[2])):
            part = path.with_name(f"{found[1]}{number}{path.suffix}")
            if part.is_file():
                parts.append(part.read_text("utf-8", "replace"))
    return _LITERAL.sub("", "\n".join([*parts, text]))


def build(source: Text, device: str, options: str) -> tuple[zebin.ocloc.Built, str]:
    """The compiled program, and the options with which it compiled; raises BuildError.

    Options that this returned for another device are taken as they are.
    """
    folders = {*list(source.path.parents)[:_ABOVE], source.path.parent / "include"}
    if "-I " not in options:
        options = " ".join([options, *(f'-I "{folder}"' for folder in sorted(folders))])
    error: BuildError | None = None
    for _ in range(_ATTEMPTS):
        try:
            built = zebin.compile(source.text, device, options, name=source.path.name)
        except BuildError as failed:
            error, more = failed, _made_up(failed, options)
            if not more:
                raise
            options = f"{options} {more}"
        else:
            return built, options
    assert error is not None
    raise error


def _made_up(error: BuildError, options: str) -> str:
    """Definitions of the names that the compiler misses."""
    found = {}
    for diagnostic in error.diagnostics:
        if diagnostic.severity is Severity.ERROR:
            for pattern, value in _MISSING:
                for name in pattern.findall(diagnostic.message):
                    found.setdefault(name, value)
    return " ".join(f"-D{n}={v}" for n, v in found.items() if f"-D{n}=" not in options)
