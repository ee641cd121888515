"""Builds programs, objects and libraries for the driver with Intel's compiler."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Final

from eumu import processes
from eumu.cl import parts as linking
from eumu.cl import texts
from eumu.cl.facts import absent
from eumu.cl.parts import LinkerInput
from eumu.cl.protocol import Form, Status, Wanted
from eumu.cl.texts import PROGRAM, Sources
from eumu.errors import BuildError, EumuError, Severity, Source, ToolMissing
from eumu.platforms import Platform
from eumu.records import dataclass
from eumu.writing import work_folder
from eumu.zebin import compilers, container, header, kept, log, ocloc, smaller_groups

_SECONDS: Final = 600.0
_ARGUMENTS: Final = "-cl-kernel-arg-info"
# What links objects is no option of the compiler.
_LINKER: Final = ("-create-library", "-enable-link-options")
_OUTPUT: Final = ("-output", "program", "-output_no_suffix", "-out_dir", "out")
_WHOLE: Final = "whole.bc"  # of what is linked

Part = tuple[str, bytes]  # a name and what it has


class Failed(EumuError):
    """A build that failed: its status and log."""

    def __init__(self, status: Status, log: str) -> None:
        super().__init__(log)
        self.status, self.log = status, log


@dataclass(frozen=True, slots=True)
class Made:
    """What a build gave: an ELF, or what is to be linked.

    `smaller_groups` is what the parts of a linked program allow; another's ELF says it.  `sources`
    are those that an ELF was made of.
    """

    data: bytes
    log: str
    of: LinkerInput | None = None
    smaller_groups: bool | None = None
    sources: Sources = field(default_factory=dict)


def _unlinked(part: LinkerInput, log: str) -> Made:
    return Made(part.binary, log, part, part.smaller_groups)


def build(
    wanted: Wanted, form: Form, options: str, parts: Sequence[Part], platform: Platform
) -> Made:
    """Build a program, an object or a library.  Failed has the compiler's log."""
    if "\0" in options or any("\0" in name for name, _ in parts):
        raise Failed(Status.INVALID_BUILD_OPTIONS, "there is a NUL among the options or the names")
    try:
        if form is Form.BINARY:
            return _from_binary(wanted, options, parts[0][1], platform)
        if form is Form.OBJECTS:
            return _linked(wanted, options, [_input(data) for _, data in parts], platform)
        if wanted is Wanted.OBJECT:
            return _object(options, parts, platform, is_il=form is Form.IL)
        return _program(options, parts[0][1], platform)
    except ToolMissing as error:
        raise Failed(_MISSING.get(wanted, Status.COMPILER_NOT_AVAILABLE), str(error)) from None
    except BuildError as error:
        log = "\n".join([str(error), *getattr(error, "__notes__", ())])
        raise Failed(_status(wanted, log), log) from None


_FAILURES: Final = {
    Wanted.PROGRAM: Status.BUILD_PROGRAM_FAILURE,
    Wanted.OBJECT: Status.COMPILE_PROGRAM_FAILURE,
    Wanted.LINKED: Status.LINK_PROGRAM_FAILURE,
    Wanted.LIBRARY: Status.LINK_PROGRAM_FAILURE,
}


_MISSING: Final = {
    Wanted.LINKED: Status.LINKER_NOT_AVAILABLE,
    Wanted.LIBRARY: Status.LINKER_NOT_AVAILABLE,
}
_OPTIONS: Final = {
    Wanted.PROGRAM: Status.INVALID_BUILD_OPTIONS,
    Wanted.OBJECT: Status.INVALID_COMPILER_OPTIONS,
    Wanted.LINKED: Status.INVALID_LINKER_OPTIONS,
    Wanted.LIBRARY: Status.INVALID_LINKER_OPTIONS,
}
_NO_OPTION: Final = "Unrecognized build options"  # the compiler's words


def check_defined(wanted: Wanted, needs: Sequence[str]) -> None:
    """Failed if a program needs what is defined nowhere: nothing is linked to it later."""
    if needs:
        names = ", ".join(map(repr, needs))
        what = "functions without a body, or builtins that the compiler's library lacks"
        raise Failed(_FAILURES[wanted], f"error: {names}: used, and defined nowhere: {what}")


def _status(wanted: Wanted, log: str) -> Status:
    """What went wrong, by the compiler's log."""
    return (_OPTIONS if _NO_OPTION in log else _FAILURES)[wanted]


def _input(binary: bytes) -> LinkerInput:
    part = linking.read(binary)
    if part is None:
        raise Failed(Status.INVALID_BINARY, "the binary is neither an object nor a library")
    return part


def _from_binary(wanted: Wanted, options: str, data: bytes, platform: Platform) -> Made:
    if container.is_elf(data):
        return Made(data, "")
    part = linking.read(data)
    if part is not None:
        return _unlinked(part, "")
    if container.is_spirv(data):
        return _program(options, data, platform) if wanted is Wanted.PROGRAM else Made(data, "")
    raise Failed(Status.INVALID_BINARY, "the binary is neither the compiler's ELF nor SPIR-V")


def _program(options: str, source: bytes, platform: Platform) -> Made:
    if not source.strip(b"\0 \t\r\n"):
        source = b"\n/* nothing */\n"
    words = f"{options} {_ARGUMENTS}".strip()
    built = ocloc.compile(source, platform, words, lines=True, preamble=_hiding(platform))
    warnings = "\n".join(map(str, built.warnings))
    if container.is_spirv(source):
        return Made(built.elf, warnings, sources=texts.sources_of([source]))
    text = source.decode("utf-8", "replace")
    return Made(built.elf, warnings, sources={ocloc.source_path(PROGRAM, None): (PROGRAM, text)})


def _hiding(platform: Platform) -> str:
    """Directives for macros that the compiler's header defines and the device does not list."""
    return "\n".join(f"#undef {name}" for name in absent(platform))


# ---- objects and libraries are SPIR-V


def _object(options: str, parts: Sequence[Part], platform: Platform, *, is_il: bool) -> Made:
    source = parts[0][1]
    may_be_smaller = smaller_groups(options)
    if is_il:
        return _unlinked(LinkerInput(False, may_be_smaller, (source,)), "")
    written = source.decode("utf-8", "replace")
    called = texts.keep(written)
    with work_folder() as folder:
        text = f'{_hiding(platform)}\n#line 1 "{called}"\n'.encode() + source
        (folder / "source.cl").write_bytes(text)
        for name, header_text in parts[1:]:
            _put(_inside(folder / "include", name), header_text, name)
        # The folder's name is a new one each time, and would keep an object from being found again.
        headers = f' -I "{folder / "include"}"' if parts[1:] else ""
        words = f"{options} {_ARGUMENTS}{headers}"
        kept_by = None if parts[1:] else text
        try:
            made = _front(folder, platform, words, called, written, kept_by)
        except BuildError as error:
            raise BuildError(str(error).replace(called, PROGRAM)) from None
    object_ = LinkerInput(False, may_be_smaller, (made.data,))
    return _unlinked(object_, made.log.replace(called, PROGRAM))


def _front(
    folder: Path, platform: Platform, options: str, name: str, source: str, kept_by: bytes | None
) -> Made:
    """SPIR-V of `source.cl`, with tables of lines of a file `name` unless these are too much for
    the compiler; with the header's images if the header alone fails without."""
    compiler = _compiler(platform)
    run = partial(_found_or_run, folder, platform, is_result=container.is_spirv, kept_by=kept_by)

    def made(options: str, *more: str) -> Made:
        return run(["-file", "source.cl", "-spv_only", "-options", options, *more])

    with_images = "-internal_options", header.IMAGES
    wanted = ocloc.without_no_lines(ocloc.with_name(ocloc.with_lines(options), name))
    options = ocloc.without_no_lines(options)
    if header.has_failed(compiler, platform, options, source):
        return made(wanted, *with_images)
    try:
        return made(wanted)
    except BuildError as error:
        found = log.diagnostics(str(error), Source("source.cl", source))
        if wanted != options and not any(d.severity is Severity.ERROR for d in found):
            return made(options)
        if not header.alone_fails(found):
            raise BuildError(header.quiet(str(error))) from None
    header.note_failure(compiler, platform, options)
    return made(wanted, *with_images)


def _put(path: Path, text: bytes, name: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    except OSError as error:  # no file has such a name, or a folder has it
        raise BuildError(f"the header {name[:99]!r} cannot be written: {error.strerror}") from None


def _inside(folder: Path, name: str) -> Path:
    path = Path(os.path.normpath(folder / name))
    if path == folder:
        raise BuildError(f"the header {name!r} has no name")
    if not path.is_relative_to(folder):
        raise BuildError(f"the header {name!r} lies outside the program")
    return path


def _linked(wanted: Wanted, options: str, parts: Sequence[LinkerInput], platform: Platform) -> Made:
    may_be_smaller = all(part.smaller_groups for part in parts)
    modules = tuple(module for part in parts for module in part.modules)
    if wanted is Wanted.LIBRARY:
        _check_together(modules, platform)
        return _unlinked(LinkerInput(True, may_be_smaller, modules), "")
    made = _executable(_words(options), modules, platform)
    return replace(made, smaller_groups=may_be_smaller, sources=texts.sources_of(modules))


def _check_together(modules: Sequence[bytes], platform: Platform) -> None:
    """A library keeps its modules as they are; that they do not fit is to be known at once."""
    if len(modules) > 1:
        with work_folder() as folder:
            _link(folder, platform, modules)


def _executable(options: list[str], parts: Sequence[bytes], platform: Platform) -> Made:
    words = shlex.join(w for w in options if w not in _LINKER)
    if len(parts) == 1:
        return _program(words, parts[0], platform)
    more = ["-file", _WHOLE, "-llvm_input", *container.FORMAT_OPTIONS]
    more += ["-options", words] if words else []
    with work_folder() as folder:
        return _found_or_run(
            *(folder, platform, more, container.is_elf),
            kept_by=b"".join(b"%d\n%s" % (len(part), part) for part in parts),
            before=partial(_link, folder, platform, parts),
        )


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError as error:
        raise Failed(Status.INVALID_BUILD_OPTIONS, f"{options!r}: {error}") from None


def _link(folder: Path, platform: Platform, parts: Sequence[bytes]) -> None:
    """Write a file of all parts, which has LLVM's form but not SPIR-V's."""
    compiler = _compiler(platform)
    names = [f"part{k}.spv" for k in range(len(parts))]
    for name, data in zip(names, parts, strict=True):
        (folder / name).write_bytes(data)
    files = [word for name in names for word in ("-file", name)]
    log = _call([compiler.path, "link", *files, "-out", _WHOLE, "-out_format", "LLVM_BC"], folder)
    if not (folder / _WHOLE).is_file():
        raise BuildError(f"the parts cannot be linked\n{log}")


def _found_or_run(
    folder: Path,
    platform: Platform,
    words: list[str],
    is_result: Callable[[bytes], bool],
    *,
    kept_by: bytes | None,
    before: Callable[[], None] | None = None,
) -> Made:
    """What the compiler makes of its files, or has made before of what `kept_by` says that they
    have; `before` makes them, if the compiler has to be asked."""
    compiler = _compiler(platform)
    command = [compiler.path, "compile", "-device", platform.ocloc, *words, *_OUTPUT]
    place = None if kept_by is None else kept.place_of(compiler, tuple(command), kept_by)
    earlier = kept.find(place) if place is not None else None
    if earlier is not None:
        return Made(earlier[1], earlier[0]["log"])
    if before is not None:
        before()
    made = _run(command, folder, is_result)
    if place is not None:
        kept.keep(place, {"log": made.log}, made.data)
    return made


def _compiler(platform: Platform) -> compilers.Compiler:
    """The compiler of a device; ToolMissing if none knows it, also if there is only one."""
    compiler = compilers.choose(platform)
    if platform not in compiler.devices:
        raise compilers.unknown_device(platform, (compiler,))
    return compiler


def _run(command: list[str], folder: Path, is_result: Callable[[bytes], bool]) -> Made:
    log = _call(command, folder)
    for path in sorted((folder / "out").glob("program*")):
        data = path.read_bytes()
        if is_result(data):
            return Made(data, log)
    raise BuildError(f"the compiler made nothing\n{log}")


def _call(command: list[str], folder: Path) -> str:
    try:
        done = processes.run(
            command,
            cwd=folder,
            env=ocloc.environment(),
            capture_output=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"{command[1]} did not end within {_SECONDS:g} s") from None
    except OSError as error:
        raise ocloc.not_started(command[0], error) from None
    said = (done.stdout + done.stderr)[: ocloc.LARGEST_LOG]
    text = said.decode("utf-8", "replace").strip()
    if done.returncode:
        raise BuildError(text or f"the compiler ended with status {done.returncode}")
    return ""
