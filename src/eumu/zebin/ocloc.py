"""Builds programs with Intel's offline compiler, ocloc, where it is installed.

OpenCL C text or SPIR-V goes in, ELF bytes come out; the compiler works in a directory that is
removed afterwards, because it leaves files behind where it runs.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import struct
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Final

from eumu import platforms, processes
from eumu.errors import BuildError, Diagnostic, EumuError, Severity, Source, ToolMissing
from eumu.records import dataclass
from eumu.writing import work_folder
from eumu.zebin import compilers, container, elf, header, kept, log

LARGEST_SOURCE: Final = 64 << 20
LARGEST_LOG: Final = 1 << 20

# Variables that make the compiler dump files, or another program of the same source.
_SWITCHES: Final = ("IGC_", "NEO_", "OCLOC_", "VISA_")

_INCLUDE: Final = re.compile(r'(?<!\S)-I\s*(?:"(?P<quoted>[^"]*)"|(?P<bare>\S+))')
_DEBUG: Final = re.compile(r"(?<!\S)-g(line-tables-only)?(?!\S)")
_NO_DEBUG: Final = re.compile(r"(?<!\S)-g0(?!\S)")
_LINES: Final = "-gline-tables-only"  # changes no instruction: tests/kernels/line_tables.py
# Makes functions known to other programs; the compiler takes it with SPIR-V only.
_EXPORTS: Final = re.compile(r"(?<!\S)-library-compilation(?!\S)")
_SOURCE_NAME: Final = re.compile(r"(?<!\S)-s(?!\S)")
_KERNEL_NAME: Final = re.compile(r"^//\.kernel (.*)$", re.MULTILINE)
SIMD_WIDTH: Final = "IGC_ForceOCLSIMDWidth"  # a variable that releases of the compiler read


@dataclass(frozen=True, slots=True)
class Built:
    """What a build gave, and by which compiler.

    `native` is the assembly text of each kernel, if it was asked for.
    """

    elf: bytes = field(repr=False)
    log: str = field(repr=False)
    warnings: tuple[Diagnostic, ...]
    command: tuple[str, ...]
    native: Mapping[str, str] = field(default_factory=dict, repr=False)
    compiler: compilers.Compiler | None = None


@dataclass(frozen=True, slots=True)
class _Run:
    status: int
    log: str
    visa_errors: str
    elf: bytes | None
    native: Mapping[str, str]
    inline: tuple[str, ...]


def compile(
    source: str | bytes,
    device: str | platforms.Platform,
    options: str = "",
    internal_options: str = "",
    *,
    name: str = "program.cl",
    directory: str | os.PathLike[str] | None = None,
    optimize: bool = True,
    native: bool = False,
    simd_width: int | None = None,
    timeout: float = 300.0,
    compiler: compilers.Compiler | None = None,
    lines: bool = False,
    preamble: str = "",
    switches: Mapping[str, str] | None = None,
) -> Built:
    """Builds OpenCL C text (str or UTF-8) or a SPIR-V module (bytes) for one device.

    `name` is what messages call the source; `#include "…"` also looks in `directory`, and relative
    `-I` options count from the caller's working directory.  `native` also returns assembly text;
    `simd_width` makes the compiler take that width; `timeout` is in seconds.  The `compiler` is
    the first that knows the device, if none is named.  With `lines` the compiler is asked for
    tables of lines, unless the options have `-g` or `-g0`.  `-library-compilation`, which makes
    functions known to other programs, goes with text, too.  A `preamble` stands before a text and
    changes no number of a line.  `switches` are variables that the compiler reads, such as
    IGC_EnableVISANoSchedule; those of the caller's environment do not act.  BuildError carries the
    compiler's findings with their places, its `__notes__` the whole log; warnings of a build that
    succeeds are in the result.
    """
    target = platforms.platform(device)
    compiler = compiler or compilers.choose(target)
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else bytes(source)
    _check(data, options, internal_options, name)
    text = "" if container.is_spirv(data) else data.decode("utf-8", "replace")
    if text and _EXPORTS.search(options):
        again = partial(compile, name=name, optimize=optimize, timeout=timeout, compiler=compiler)
        again = partial(again, switches=switches)
        front = partial(again, source, directory=directory, lines=lines, preamble=preamble)
        rest = native, simd_width
        return _exporting(front, again, target, options, internal_options, *rest)
    if preamble and text:
        data = f"{preamble}\n#line 1 {_quoted(source_path(name, directory))}\n".encode() + data
    chosen = tuple(sorted((switches or {}).items()))
    build = _Build(compiler, data, target, native, timeout, simd_width, chosen)
    plain = _options(options, name, directory, optimize)
    asked = lines and bool(text) and with_lines(options) != options
    options = _options(with_lines(options), name, directory, optimize) if asked else plain
    return _built(build, Source(name, text), options, plain, internal_options)


def _built(build: _Build, source: Source, options: str, plain: str, internal_options: str) -> Built:
    """What the compiler makes with some options; with `plain` ones if tables are too much for it,
    and with its header's images if that fails without."""
    with_images = f"{internal_options} {header.IMAGES}".strip()
    if build.fails_by_header(options, with_images, source.text):
        internal_options = with_images
    run = build.run(options, internal_options)
    diagnostics = log.diagnostics(run.log, source, run.visa_errors)
    is_silent = not any(d.severity is Severity.ERROR for d in diagnostics)
    if options != plain and run.elf is None and is_silent:
        options, run = plain, build.run(plain, internal_options)
        diagnostics = log.diagnostics(run.log, source, run.visa_errors)
    if run.elf is None and header.alone_fails(diagnostics):
        header.note_failure(build.compiler, build.device, options)
        internal_options = with_images
        run = build.run(options, internal_options)
        diagnostics = log.diagnostics(run.log, source, run.visa_errors)
    if run.elf is None:
        raise _failure(build, run, header.others(diagnostics), source.name)
    warnings = tuple(d for d in diagnostics if d.severity is Severity.WARNING)
    command = build.command(options, internal_options)
    return Built(run.elf, run.log, warnings, command, run.native, build.compiler)


def inline_assembly(
    source: str,
    device: str | platforms.Platform,
    options: str = "",
    *,
    name: str = "program.cl",
    directory: str | os.PathLike[str] | None = None,
    timeout: float = 300.0,
) -> tuple[str, ...]:
    """The vISA text of the kernels with inline assembly, also where the compiler refuses it."""
    data = source.encode("utf-8", "surrogatepass")
    _check(data, options, "", name)
    target = platforms.platform(device)
    build = _Build(compilers.choose(target), data, target, True, timeout)
    return build.run(_options(options, name, directory, True), "").inline


def _check(data: bytes, options: str, internal_options: str, name: str) -> None:
    if not data.strip():
        raise BuildError(f"{name}: the source is empty")
    if len(data) > LARGEST_SOURCE:
        raise BuildError(f"{name}: {len(data)} bytes of source; at most {LARGEST_SOURCE} are taken")
    if container.is_spirv(data):
        _check_spirv(data, name)
    if "\0" in options or "\0" in internal_options:
        raise BuildError(f"{name}: the build options contain a NUL character")


def _exporting(
    front: Callable[..., Built],
    again: Callable[..., Built],
    target: platforms.Platform,
    options: str,
    internal_options: str,
    native: bool,
    simd_width: int | None,
) -> Built:
    """A build that exports functions: of the SPIR-V module that a build without them leaves."""
    first = front(target, _EXPORTS.sub("", options), internal_options)
    spirv = spirv_of(first.elf, "the program")
    made = again(spirv, target, options, internal_options, native=native, simd_width=simd_width)
    return replace(made, log=first.log + made.log, warnings=first.warnings)


def spirv_of(program: bytes, name: str) -> bytes:
    """The SPIR-V module that a program was made from."""
    module = next((s.data for s in elf.parse(program, name).of_type(elf.Type.SPIRV)), b"")
    if not module:
        raise BuildError(f"{name}: the compiler left no SPIR-V, from which a library is made")
    return module


def _check_spirv(data: bytes, name: str) -> None:
    """Follows the instructions to the end: a damaged module builds, and has no kernels."""
    order = "<" if data[0] == 0x03 else ">"
    words = struct.unpack(f"{order}{len(data) // 4}I", data[: len(data) & ~3])
    position = 5
    while position < len(words) and words[position] >> 16:
        position += words[position] >> 16
    if position != len(words) or len(data) % 4:
        raise BuildError(f"{name}: the SPIR-V module is cut off or damaged at word {position}")


@dataclass(frozen=True, slots=True)
class _Build:
    """One source for one device; each run has a directory of its own."""

    compiler: compilers.Compiler
    data: bytes
    device: platforms.Platform
    native: bool
    timeout: float
    simd_width: int | None = None
    switches: tuple[tuple[str, str], ...] = ()

    def command(self, options: str, internal_options: str) -> tuple[str, ...]:
        spirv = container.is_spirv(self.data)
        format_name, format_value, internal, visa = container.FORMAT_OPTIONS
        return (
            *(self.compiler.path, "compile", "-file", "source.spv" if spirv else "source.cl"),
            *(("-spirv_input",) if spirv else ()),
            *("-device", self.device.ocloc, "-output", "program", "-output_no_suffix"),
            *("-out_dir", "out", format_name, format_value),
            *(("-options", options) if options else ()),
            *(internal, f"{visa} {internal_options}".strip()),
        )

    @property
    def _variables(self) -> str:
        """What the code depends on besides the command."""
        return " ".join((str(self.simd_width), *("=".join(pair) for pair in self.switches)))

    def fails_by_header(self, options: str, with_images: str, source: str) -> bool:
        """Whether the compiler's header alone would fail: another program's has, or there is what
        was made of this one after that."""
        if self.device.has_sampler or container.is_spirv(self.data):
            return False
        if header.has_failed(self.compiler, self.device, options, source):
            return True
        place = self._place(self.command(options, with_images))
        if place is None or not place.exists():
            return False
        header.note_failure(self.compiler, self.device, options)
        return True

    def _place(self, command: tuple[str, ...]) -> Path | None:
        """Where the program is kept."""
        if self.native:
            return None
        return kept.place_of(self.compiler, command, self.data, self._variables)

    def run(self, options: str, internal_options: str) -> _Run:
        """What the compiler does, now or when it was asked before."""
        command = self.command(options, internal_options)
        place = self._place(command)
        earlier = kept.find(place) if place is not None else None
        if earlier is not None:
            return _Run(0, earlier[0]["log"], earlier[0]["visa_errors"], earlier[1], {}, ())
        with work_folder() as directory:
            run = self._run(command, directory)
        if place is not None and run.elf is not None:
            kept.keep(place, {"log": run.log, "visa_errors": run.visa_errors}, run.elf)
        return run

    def _run(self, command: tuple[str, ...], directory: Path) -> _Run:
        (directory / command[3]).write_bytes(self.data)
        status, text = self._call(command, directory)
        errors = directory / "kernel.errors.txt"
        return _Run(
            status,
            text,
            errors.read_text("utf-8", "replace") if errors.is_file() else "",
            _program(directory / "out") if status == 0 else None,
            _assembly(directory / "native") if self.native else {},
            tuple(
                path.read_text("utf-8", "replace")
                for path in sorted(directory.glob("native/*.inline.visaasm"))
            ),
        )

    def _call(self, command: tuple[str, ...], directory: Path) -> tuple[int, str]:
        variables = environment()
        if self.simd_width is not None:
            variables[SIMD_WIDTH] = str(self.simd_width)
        if self.native:
            variables |= {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCustomDir": "native"}
        variables |= dict(self.switches)
        try:
            done = processes.run(
                command,
                cwd=directory,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=self.timeout,
            )
        except subprocess.TimeoutExpired:
            raise BuildError(f"ocloc did not finish within {self.timeout:g} s") from None
        except OSError as error:
            raise not_started(self.compiler.path, error) from None
        return done.returncode, done.stdout[:LARGEST_LOG].decode("utf-8", "replace")


def environment() -> dict[str, str]:
    """The caller's variables, without those that make the compiler another one."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(_SWITCHES)}
    return variables | {"LC_ALL": "C"}


def _options(
    options: str, name: str, directory: str | os.PathLike[str] | None, optimize: bool
) -> str:
    """The user's options, with every directory absolute: the compiler runs elsewhere.

    Debug information gets the source's own name, or it would name a file that is gone.
    """

    def absolute(match: re.Match[str]) -> str:
        path = match["quoted"] if match["bare"] is None else match["bare"]
        return f'-I "{os.path.abspath(path)}"'

    parts = [without_no_lines(_INCLUDE.sub(absolute, options))]
    if directory is not None:
        parts.append(f'-I "{os.path.abspath(directory)}"')
    words = " ".join(filter(None, parts))
    if '"' not in name:
        words = with_name(words, source_path(name, directory))
    return words if optimize else f"{words} -cl-opt-disable".strip()


def source_path(name: str, directory: str | os.PathLike[str] | None) -> str:
    """The path of a source that debug information gets."""
    return os.path.abspath(name if directory is None else Path(directory, Path(name).name))


def with_lines(options: str) -> str:
    """Options that ask for tables of lines, unless they have `-g` or `-g0`."""
    has = _DEBUG.search(options) or _NO_DEBUG.search(options)
    return options if has else f"{options} {_LINES}".strip()


def without_no_lines(options: str) -> str:
    """Options without `-g0`, which the compiler does not know: no tables is what it makes."""
    return _NO_DEBUG.sub("", options).strip()


def with_name(options: str, path: str) -> str:
    """Options that give debug information, if there is some, the path of the source."""
    has = not _DEBUG.search(options) or _SOURCE_NAME.search(options)
    return options if has else f'{options} -s "{path}"'


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _program(directory: Path) -> bytes | None:
    """The ELF that a build left: `program`, or `program.bin` from newer compilers."""
    for path in sorted(directory.glob("program*")):
        data = path.read_bytes() if path.is_file() else b""
        if container.is_elf(data):
            return data
    return None


def _assembly(directory: Path) -> dict[str, str]:
    texts = {}
    for path in sorted(directory.glob("*.asm")):
        text = path.read_text("utf-8", "replace")
        if title := _KERNEL_NAME.search(text):
            texts[title[1].strip()] = text
    return texts


def _failure(
    build: _Build, run: _Run, diagnostics: tuple[Diagnostic, ...], name: str
) -> BuildError | ToolMissing:
    if "library has failed" in run.log:
        return ToolMissing(
            f"ocloc is there, but not its compiler libraries\n  {compilers.INSTALL}\n{run.log}"
        )
    if (
        build.device not in build.compiler.devices
        or "Could not determine device target" in run.log  # one that does not say what it knows
    ):
        return compilers.unknown_device(build.device, (build.compiler,))
    if any(d.severity is Severity.ERROR for d in diagnostics):
        error = BuildError.of(diagnostics)
    elif run.status < 0:
        error = BuildError(f"{name}: the compiler crashed ({_signal(-run.status)})", diagnostics)
    elif run.status == 0:
        error = BuildError(f"{name}: ocloc wrote no program\n{run.log.strip()}", diagnostics)
    else:
        reason = f"{name}: the compiler refuses it and does not say why (status {run.status})"
        error = BuildError(f"{reason}\n{run.log.strip()}", diagnostics)
    error.add_note(f"The compiler's log:\n{header.quiet(run.log).strip()}")
    return error


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def not_started(path: str, error: OSError) -> EumuError:
    """Why a compiler did not start: options that no command line has room for, or the compiler."""
    if error.errno == errno.E2BIG:
        return BuildError("the build options are longer than a command line may be")
    return ToolMissing(f"{path} cannot be started: {error.strerror}")
