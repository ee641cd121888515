"""Damaged command lines: ``python tests/mutated_command_lines.py --count 1000000``.

Every command of `eumu` but `gpu`, which starts programs, runs in this process with options that its
parser knows, in a folder of its own: good values and hostile ones, files of every kind, whole and
damaged, and variables of the environment that say anything.  It answers with a status and words; an
internal error, an exception that is no error of eumu's and a command of more than ten seconds are
printed with the seed that makes them again.  A part of it runs as tests/test_mutated_inputs.py.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

import mutated_inputs
from eumu.cli import main
from eumu.cli.status import UsageError
from eumu.errors import EumuError
from eumu.settings import CACHE_DIR, SETTINGS

_MAIN: Final[ModuleType] = sys.modules[main.__module__]
HERE: Final = Path(__file__).parent
_TEXT: Final = """.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.input OUT offset=64 size=8
.kernel_attr SimdSize=16
.kernel_attr PerThreadInputSize=0
    ret (M1, 1)
"""
_NUMBERS: Final = (
    *("", "0", "1", "-1", "7", "64", "0x10", "1e23", "9" * 5000, "0x" + "f" * 40, "nan", "-inf"),
    *("18446744073709551615", "18446744073709551616", "x", "1,2,3", "64,1", "1,2,3,4", "2.5"),
)
_DEVICES: Final = ("pvc", "skl", "apl", "dg2", "bmg", "gen7", "")
_PROGRAMS: Final = ("saxpy.bin", "saxpy_skl.bin", "k.visaasm", "k.isa", "many.bin", "k.cl")
_INPUTS: Final = (*_PROGRAMS, "in.npy", "in.png", "zeros", "batch", "empty", ".", "none", "-")
_OUTPUTS: Final = ("out.npy", "out.png", "out.json", ".", "", "in.npy")
_VALUES: Final = (
    *("zeros:float32:64", "ones:int32:64", "full:uint8:4:9", "random:float64:3:1", "null"),
    *("arange:float16:10", "local:64", "@in.npy", "@in.png", "@in.npy:R32_FLOAT", "@none"),
    *("image:RGBA8_UNORM:4x4", "sampler:linear:repeat", "sampler:nearest:clamp:unnormalized"),
)
# What each option takes by its name in the parser; one without choices that is not here is missed
# by `test_every_option_is_known`.
VALUES: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("program", "other", "file", "files", "source"), _INPUTS),
    **dict.fromkeys(("device", "part"), (*_DEVICES, "skl-gt2", "bxt-3x6")),
    **dict.fromkeys(("output", "timeline", "report"), _OUTPUTS),
    "libraries": _INPUTS,
    **dict.fromkeys(("fuel", "memory", "seed", "pools", "l3", "rtol"), _NUMBERS),
    **dict.fromkeys(("count", "base", "local_size"), _NUMBERS),
    # What has no end is no mistake: no number of work items that only takes long.
    "global_size": ("64", "16,4", "0", "-1", "x", "1e3", "9" * 5000, "1,1,1,1", "64,"),
    "offset": _NUMBERS,
    **dict.fromkeys(("build_options", "other_options"), ("-O0", "-cl-std=CL3.0", "", "-")),
    "kernel": ("saxpy", "k", "none", ""),
    "args": ("",),
    "save": ("y=out.npy", "x=out.png", "a=out.npy", "=", "y"),
    "bug_report": ("bug.md", ".", "missing/bug.md"),
    "copy": ("demo", ".", "in.npy"),
    "check": ("cheap", "all", "races", "undefined,races", "", "none", ",", "x" * 5000),
    "suppressions": (*_INPUTS, "rules"),
    "max_findings": _NUMBERS,
    "timeout": ("1", "0", "-1", "0.001", "1e23", "nan", "inf", "x", ""),
    "opcode": ("add", "lsc_load", "ADD", ".decl", "no such", ""),
}
ALWAYS: Final = {
    "run": ["--engine=interp", "--memory=64", "--fuel=1000"],
    "compare": [],
    "blame": [],
}
_NAMES: Final = ("x", "y", "a", "OUT", "0", "1", "9")
_SLOW: Final = {"lsp": 0.02, "demo": 0.02, "isa": 0.1, "build": 0.1}
# Any word that the one is given is a program to start; the other starts workers.
_STARTS_OTHERS: Final = ("gpu", "campaign")
_ANYTHING: Final = ("on", "off", "-1", "0", "1", "x", "9" * 30, "  ", "cache", "in.npy", "1e3")


@cache
def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    actions = _parser()._actions
    (found,) = (a for a in actions if isinstance(a, argparse._SubParsersAction))
    return {name: parser for name, parser in found.choices.items() if name not in _STARTS_OTHERS}


@cache
def _parser() -> argparse.ArgumentParser:
    """The parser of `eumu`, which takes longer to make than most lines to run."""
    made: argparse.ArgumentParser = _MAIN.parser()
    return made


@cache
def _files() -> dict[str, bytes]:
    """Good files of every kind."""
    import numpy as np

    from eumu import binary, text

    device = HERE / "kernels" / "bin"
    array, picture = io.BytesIO(), io.BytesIO()
    np.save(array, np.arange(64, dtype=np.float32))
    with contextlib.suppress(ImportError):
        from PIL import Image

        Image.new("RGBA", (4, 4)).save(picture, "png")
    return {
        "saxpy.bin": (device / "pvc" / "saxpy.bin").read_bytes(),
        "saxpy_skl.bin": (device / "skl" / "saxpy.bin").read_bytes(),
        "many.bin": (device / "pvc" / "math_functions.bin").read_bytes(),
        "k.visaasm": _TEXT.encode(),
        "k.isa": binary.write(text.parse(_TEXT, "k.visaasm"), 32),
        "k.cl": b"kernel void k(global int* o) { o[0] = 1; }",
        "in.npy": array.getvalue(),
        "in.png": picture.getvalue(),
        "batch": mutated_inputs._batches()[0],
        "zeros": bytes(4096),
        "empty": b"",
    }


def _word(random: Random, known: tuple[str, ...]) -> str:
    """A value of an option; nothing that leads out of the folder."""
    word = random.choice(known)
    if random.random() < 0.15:
        data = mutated_inputs.damaged(random, word.encode(), is_text=True)
        word = data.decode("utf-8", "surrogateescape")
    return word.replace("/", "_")


def _size(random: Random) -> str:
    """A number of work items that does not only take long."""
    word = _word(random, VALUES["global_size"])
    digits = [int(n) for n in word.split(",") if n.isdecimal() and len(n) < 30]
    return "64" if any(n > 1 << 12 for n in digits) else word


def _argument(random: Random) -> str:
    value = _word(random, _VALUES if random.random() < 0.7 else _NUMBERS)
    if random.random() < 0.3:  # one part of it is a number that does not fit
        parts = value.split(":")
        parts[random.randrange(len(parts))] = random.choice(_NUMBERS)
        value = ":".join(parts)
    return f"{random.choice(_NAMES)}={value}"


def _value(random: Random, action: argparse.Action) -> str:
    if action.dest == "args":
        return _argument(random)
    if action.dest == "global_size":
        return _size(random)
    if action.choices and random.random() < 0.95:
        return str(random.choice(list(action.choices)))
    return _word(random, VALUES.get(action.dest, _NUMBERS))


def line(random: Random) -> list[str]:
    """A command with options that its parser knows."""
    known = parsers()
    command = random.choice(sorted(known))
    while random.random() > _SLOW.get(command, 1.0):
        command = random.choice(sorted(known))
    made = [command, *ALWAYS.get(command, ())]
    is_whole = command in ALWAYS and random.random() < 0.6
    if is_whole:  # a launch that can run, but for the rest
        value = _argument(random).partition("=")[2]
        if random.random() < 0.5:
            made += ["saxpy.bin", "--global=64", "--kernel=saxpy", "--arg=x=zeros:float32:64"]
            made += ["--arg=a=1", f"--arg=y={value}"]
        else:
            made += ["k.visaasm", "--global=64", f"--arg=OUT={value}"]
    for action in known[command]._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if not action.option_strings:
            made += [_value(random, action)] if not is_whole else []
        elif random.random() < (0.9 if action.required and not is_whole else 0.1):
            name = random.choice(action.option_strings)
            made.append(name if action.nargs == 0 else f"{name}={_value(random, action)}")
    if command == "demo" and not any(word.startswith("--copy") for word in made):
        made.append("--copy=demo")  # the rest of it is no option, and long
    if random.random() < 0.05:
        made[random.randrange(len(made))] = _word(random, _NUMBERS)
    return made


@contextlib.contextmanager
def _around(random: Random, given: list[str]) -> Iterator[None]:
    """A folder with the files that are named, an environment, and streams."""
    before, place = dict(os.environ), Path.cwd()
    quiet = [io.TextIOWrapper(io.BytesIO(), "utf-8", errors="replace") for _ in range(3)]
    quiet[0] = io.TextIOWrapper(
        io.BytesIO(mutated_inputs.damaged(random, _TEXT.encode() * 2)), encoding="utf-8"
    )
    streams = sys.stdin, sys.stdout, sys.stderr
    with tempfile.TemporaryDirectory() as folder:
        for name, data in _files().items():
            if not any(name in word for word in given):
                continue
            hurt = random.random() < 0.2
            Path(folder, name).write_bytes(mutated_inputs.damaged(random, data) if hurt else data)
        os.chdir(folder)
        os.environ |= {CACHE_DIR.name: "cache", "EUMU_OCLOC": "none"}
        if random.random() < 0.2:
            text = _word(random, _ANYTHING).replace("\0", "")  # there is no such environment
            os.environ[random.choice(SETTINGS).name] = text
        sys.stdin, sys.stdout, sys.stderr = quiet
        try:
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
            os.chdir(place)
            os.environ.clear()
            os.environ |= before


def command(random: Random) -> Callable[[], object]:
    """What runs a damaged command line; AssertionError for an answer that is none."""
    given = line(random)

    def run() -> None:
        with _around(random, given), patch.object(_MAIN, "parser", lambda _: _parser()):
            status: Any = None
            try:
                status = main(given)
            except (EumuError, UsageError, OSError):  # with EUMU_TRACEBACK
                return
            except BaseException as error:
                raise AssertionError(f"{_short(given)}: {error!r}") from error
            err = sys.stderr
            err.flush()
            said = err.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
        if "internal error" in said or "Traceback" in said or status not in (0, 1, 2, 3):
            raise AssertionError(f"{_short(given)}: status {status}: {said}")

    return run


def _short(words: list[str]) -> list[str]:
    return [word if len(word) < 80 else f"{word[:80]}…" for word in words]


READERS: Final = {"command line": (command, 1)}

if __name__ == "__main__":
    sys.exit(mutated_inputs.main(READERS, __doc__))
