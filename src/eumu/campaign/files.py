"""Every kernel of files: in all builds and levels, on both engines, with arguments made for it.

Arguments are made up (:mod:`eumu.compare.made_up`): the same for each form of a kernel and in each
run.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import eumu
from eumu.campaign.tasks import (
    DIFFERS,
    FAULT,
    REFUSED,
    SAME,
    UNSUPPORTED,
    Result,
    Task,
)
from eumu.compare import Ending, Launch, Side, compare, describe, sides
from eumu.compare.made_up import made_up
from eumu.compare.search import differing
from eumu.errors import BuildError, LaunchError, Unsupported
from eumu.writing import utf8, work_folder

SUFFIXES: Final = (".bin", ".cl", ".elf", ".isa", ".spv", ".visaasm")
_TEXTS: Final = (".isa", ".visaasm")
_ITEMS: Final = 64  # of a launch
_LOCAL: Final = 16
_RTOL: Final = 1e-3  # of floats in two builds, which may contract and reorder
_FUEL: Final = 10_000_000
_DIGITS: Final = 12  # of a file's digest


def tasks(folder: Path, device: str, options: Iterable[str], limit: float) -> Iterator[Task]:
    """A task for each file of a folder and of those in it, and for each set of options.

    Options are for sources; other files have one task.  Raises `FileNotFoundError`.
    """
    if not folder.is_dir():
        raise FileNotFoundError(2, "no such folder", str(folder))
    every = list(options) or [""]
    for path in sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES and p.is_file()):
        data = path.read_bytes()
        digest, content = sha256(data).hexdigest()[:_DIGITS], b64encode(data).decode()
        name = utf8(path.relative_to(folder).as_posix()).decode()  # it is sent and stored
        for words in every if path.suffix in (".cl", ".spv") else [""]:
            yield Task(
                *("files", device),
                path=name,
                content=content,
                digest=digest,
                options=words,
                limit=limit,
            )


def run(task: Task) -> Iterator[Result]:
    """What each kernel of the file shows."""
    with work_folder() as folder:
        path = folder / Path(task.path).name
        path.write_bytes(b64decode(task.content))
        for result in _run(task, path):
            yield replace(result, what=result.what.replace(f"{folder}/", ""))


def _run(task: Task, path: Path) -> Iterator[Result]:
    try:
        program = eumu.load(path, device=task.device, options=task.options)
    except (BuildError, Unsupported, LaunchError) as error:
        yield Result(task.name, *_refusal(error))
        return
    if not program.kernels:
        yield Result(task.name, REFUSED, "", "it has no kernels")
    for kernel in program.kernels:
        name = f"{task.name}:{kernel.name}"
        try:
            yield Result(name, *_shown(task, path, kernel))
        except eumu.Fault as fault:
            yield Result(name, FAULT, "", str(fault).partition("\n")[0])
        except (BuildError, Unsupported, LaunchError) as error:
            yield Result(name, *_refusal(error))


def _refusal(error: Exception) -> tuple[str, str, str]:
    """Class, sort and message of what cannot run."""
    if isinstance(error, Unsupported):
        return UNSUPPORTED, "", error.what
    return REFUSED, "", str(error).partition("\n")[0]


def _shown(task: Task, path: Path, kernel: eumu.Kernel) -> tuple[str, str, str]:
    """The first difference between forms of a kernel: between builds, levels or engines.

    Raises `Fault` where both forms that were compared first end in one.
    """
    launch = _launch(kernel)
    every = list(sides(str(path), task.device, task.options, kernel.name))
    if path.suffix in _TEXTS:
        every = every[:1]  # only a finalizer makes native code of them
    first, build = every[0], every[0]
    left_out = ""
    for side in every:
        try:
            if side is not first and side.program is build.program:
                difference = compare(build, side, launch)
            elif side is not first:
                build = side
                difference = compare(first, side, launch, rtol=_RTOL)
            else:
                difference = None
            if difference is not None:
                sort = "levels" if side is not build else "builds"
                return (
                    DIFFERS,
                    f"{sort}, a fault" if isinstance(difference, Ending) else sort,
                    (describe(difference)),
                )
            wrong = _engines(side, launch)
        except Unsupported as error:
            if side is first:
                raise
            left_out = left_out or f"not compared: {side.label}: {error.what}"
            continue
        if wrong:
            return DIFFERS, "engines", wrong
    return SAME, "", left_out


def _engines(side: Side, launch: Launch) -> str:
    """How the fast engine differs from the interpreter; raises `Fault` where both fault."""
    slow, fast = side.run(launch), replace(side, engine="jit").run(launch)
    if slow.fault is not None and fast.fault is not None:
        raise slow.fault
    label = side.label.strip()
    if (fault := slow.fault or fast.fault) is not None:
        which = "interpreter" if slow.fault is not None else "fast engine"
        return f"{label} faults on the {which} only: {str(fault).partition(chr(10))[0]}"
    places = sorted(differing(slow, fast, 0.0))
    if places:
        name, byte = places[0]
        return f"{label}: byte {byte} of {name} differs on the fast engine ({len(places)} do)"
    return "" if slow.printed == fast.printed else f"{label} prints other lines on the fast engine"


def _launch(kernel: eumu.Kernel) -> Launch:
    local = kernel.required_local_size
    whole: tuple[int, ...] = (_ITEMS,) if local is None else (2 * local[0], *local[1:])
    return Launch(kernel.name, whole, local or (_LOCAL,), made_up, _FUEL)
