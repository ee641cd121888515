"""Runs the kernels with which Oclgrind tests its detectors, and compares what is found.

    python tests/findings/oclgrind.py FOLDER [--devices skl,pvc] [--only WORD] [--engine interp]
        [--options=-cl-opt-disable]

FOLDER is `tests/kernels` of a checkout of Oclgrind (jrprice/Oclgrind); nothing of it is kept here.
Each test has a kernel, a description of its launch (`.sim`) and what Oclgrind says (`.ref`).  What
is expected are the kinds of errors of each test, and of a test without errors that nothing is
found.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "src")]

import eumu  # noqa: E402
from eumu.errors import Severity  # noqa: E402
from eumu.runtime.parameters import Passing, element_type  # noqa: E402

DETECTORS: Final = (
    *("memcheck", "uninitialized", "alignment", "data-race", "atomics"),
    *("barrier", "async_copy", "wait_event"),
)
# Words of Oclgrind's errors, and the codes that mean the same here.
KINDS: Final = {
    r"Invalid (read|write) of size": {"out-of-bounds", "null-pointer", "use-after-free"},
    r"Invalid read from write-only": {"write-only"},
    r"Invalid write to read-only": {"read-only"},
    r"Uninitialized": {"undefined", "uninitialized"},
    r"exceeds static array size": {"array-index"},
    r"data race": {"race"},
    r"divergence detected \(async copy\)": {"divergent-copy"},
    r"divergence detected \(barrier\)": {"divergent-barrier", "deadlock", "divergent-wait"},
    r"not aligned": {"misaligned"},
    r"without waiting for events": {"copy-not-waited"},
    r"Invalid wait event": {"wait-event"},
}
NUMPY: Final = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"long": "i8", "ulong": "u8", "float": "f4", "double": "f8"},
}


def expected(ref: Path) -> list[str]:
    """The kinds of errors that Oclgrind reports, each once."""
    lines = [x[6:] for x in ref.read_text(encoding="utf-8").splitlines() if x.startswith("ERROR")]
    return [kind for kind in KINDS if any(re.search(kind, line) for line in lines)]


def described(
    sim: Path,
) -> tuple[str, str, tuple[int, ...], tuple[int, ...], list[tuple[str, str]]]:
    """Source, kernel, sizes, and the arguments: what stands in brackets, and the data behind it."""
    lines = [
        x.strip() for x in sim.read_text(encoding="utf-8").splitlines() if not x.startswith("#")
    ]
    words = "\n".join(x for x in lines if x).split("\n", 4)
    source, kernel, *sizes = words[:4]
    whole, local = (tuple(int(n) for n in size.split()) for size in sizes)
    found = re.findall(r"<([^>]*)>([^<]*)", words[4] if len(words) > 4 else "")
    return source, kernel, whole, local, found


def argument(device: eumu.Device, parameter: eumu.Parameter, how: str, text: str) -> Any:
    """The value of an argument."""
    words = shlex.split(how)
    if "null" in words:
        return None
    facts = dict(word.split("=") for word in words if "=" in word)
    size = int(facts["size"])
    if parameter.passing is Passing.LOCAL:
        return eumu.Local(size)
    element = element_type(parameter.type_name.removesuffix("*"))
    dtype = np.dtype(next((NUMPY[w] for w in words if w in NUMPY), element[0] if element else "u1"))
    count = size // dtype.itemsize
    access = "r" if "ro" in words else "w" if "wo" in words else "rw"
    if "noinit" in words:
        return device.array(count, dtype, name=parameter.name, access=access)
    if "fill" in facts:
        data = np.full(count, float(facts["fill"])).astype(dtype)
    elif "range" in facts:
        first, step, _ = (float(n) for n in facts["range"].split(":"))
        data = (first + step * np.arange(count)).astype(dtype)
    else:
        base = 16 if "hex" in words else 0
        numbers = [float(x) if dtype.kind == "f" else int(x, base) for x in text.split()]
        data = np.array(numbers).astype(dtype)
    if parameter.passing is Passing.VALUE:
        return data.tobytes()
    if element is not None and dtype.itemsize == 1 != element[0].itemsize:
        data = data.view(element[0])
    return device.array(data, name=parameter.name, access=access)


def codes(sim: Path, device: str, engine: str, more: str = "") -> set[str]:
    """The codes of what is found, notes left out."""
    source, kernel, whole, local, args = described(sim)
    dev = eumu.Device(device, engine, check="all", sink=lambda text: None)
    first = sim.read_text(encoding="utf-8").partition("\n")[0]
    options = re.search(r"--build-options (\S+)", first) if first.startswith("# ARGS") else None
    given = " ".join([*(options.groups() if options else ()), *more.split()])
    program = eumu.load(sim.with_name(source), device=dev, options=given)
    found = program[kernel]
    pairs = zip(found.args, args, strict=True)
    values = [argument(dev, parameter, how, text) for parameter, (how, text) in pairs]
    try:
        findings = found.launch(dev, whole, local, values).findings
    except eumu.Fault as fault:
        findings = (*fault.findings, fault.finding)
    return {f.code for f in findings if f.severity is not Severity.NOTE}


def outcomes(
    folder: Path, device: str, engine: str, only: str, options: str
) -> Iterator[tuple[str, str, bool]]:
    """For each test and kind: what was expected and found, and whether that is the same."""
    for sim in sorted(s for d in DETECTORS for s in (folder / d).glob("*.sim")):
        if only not in str(sim):
            continue
        wanted = expected(sim.with_suffix(".ref"))
        try:
            got = codes(sim, device, engine, options)
        except (eumu.BuildError, eumu.Unsupported, eumu.LaunchError) as error:
            for kind in wanted or ["nothing"]:
                yield f"{sim.parent.name}/{sim.stem}", f"{kind}: {error}", False
            continue
        told = ", ".join(sorted(got)) or "nothing"
        for kind in wanted:
            yield f"{sim.parent.name}/{sim.stem}", f"{kind}: {told}", bool(got & KINDS[kind])
        if not wanted:
            yield f"{sim.parent.name}/{sim.stem}", f"nothing: {told}", not got


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--devices", default="skl,pvc")
    parser.add_argument("--engine", default="interp")
    parser.add_argument("--only", default="")
    parser.add_argument("--options", default="", help="of the compiler")
    given = parser.parse_args()
    if not (given.folder / "memcheck").is_dir():
        print(f"skipped: {given.folder} has no tests of Oclgrind; see {Path(__file__).name}")
        return 0
    for device in given.devices.split(","):
        found = list(outcomes(given.folder, device, given.engine, given.only, given.options))
        for name, words, good in found:
            print(f"{device} {'as expected' if good else 'OTHERWISE'}: {name}: {words}", flush=True)
        same = sum(good for _, _, good in found)
        print(f"{device}: {same} of {len(found)} as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
