"""The same kernel as vISA, as native code, and through Intel's driver: the same bytes.

    python tests/drivers/three_ways.py FOLDER ... --log FILE [--device bdw]

Each source below the folders is compiled by ocloc and by the driver, and each of its kernels gets
the arguments that tests/public_kernels makes up: by `launch`, by `launch(level="native")`, and by
an OpenCL program under `eumu gpu`.  Kernels with images, with a fault or without an end are left
out, and said to be.  A call goes on where the last one stopped; the status is 1 if bytes differ
that no race explains.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

HERE = Path(__file__).resolve()
SECONDS = 600
# Kernels whose results are no matter of their arguments.
EXPLAINED = {"hardware_ids": "it asks which unit it runs on"}


# ---- the program under the driver: reads a source and its kernels, answers with their buffers


def _program(path: str) -> None:
    import pyopencl as cl

    text, options, kernels = pickle.loads(Path(path).read_bytes())
    context = cl.Context(cl.get_platforms()[0].get_devices())
    program = cl.Program(context, text).build(options=options)
    for name, global_size, local_size, contents in kernels:
        answer: Any
        try:
            answer = _launched(cl, context, program, name, global_size, local_size, contents)
        except cl.Error as error:
            answer = str(error).splitlines()[0]
        with open(path + ".out", "ab") as file:
            file.write(pickle.dumps((name, answer)))
        if isinstance(answer, str):
            return  # the context may hang: what follows is asked anew


def _launched(
    cl: Any, context: Any, program: Any, name: str, global_size: Any, local_size: Any, contents: Any
) -> list[bytes]:
    import numpy as np

    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers, arguments = [], []
    for kind, content in contents:
        if kind == "BUFFER":
            buffers.append(cl.Buffer(context, flags, hostbuf=content))
            arguments.append(buffers[-1])
        else:
            arguments.append(cl.LocalMemory(content) if kind == "LOCAL" else content)
    queue, kernel = cl.CommandQueue(context), cl.Kernel(program, name)
    for number, argument in enumerate(arguments):
        kernel.set_arg(number, argument)
    cl.enqueue_nd_range_kernel(queue, kernel, global_size, local_size)
    queue.finish()
    found = []
    for buffer in buffers:
        made = np.empty(buffer.size, np.uint8)
        cl.enqueue_copy(queue, made, buffer)
        found.append(made.tobytes())
    return found


def by_the_driver(
    text: str, options: str, kernels: list[Any], device: str
) -> dict[str, list[bytes] | str]:
    """The buffers of each kernel in the end, or why there are none."""
    found: dict[str, list[bytes] | str] = {}
    while left := [kernel for kernel in kernels if kernel[0] not in found]:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place, "task")
            path.write_bytes(pickle.dumps((text, options, left)))
            words = [sys.executable, "-m", "eumu", "gpu", "--device", device, "--"]
            words += [sys.executable, str(HERE)]
            try:
                done = subprocess.run(
                    [*words, "--program", str(path)],
                    env=os.environ | {"PYOPENCL_NO_CACHE": "1"},
                    capture_output=True,
                    text=True,
                    timeout=SECONDS,
                )
                said = done.stderr.strip().splitlines()
            except subprocess.TimeoutExpired:
                said = ["out of time"]
            before = len(found)
            output = Path(place, "task.out")
            with output.open("rb") if output.exists() else open(os.devnull, "rb") as file:
                while True:
                    try:
                        name, answer = pickle.load(file)
                    except EOFError:
                        break
                    is_told = isinstance(answer, str) and bool(said)
                    found[name] = f"{answer}: {said[0]}" if is_told else answer
            if len(found) == before:  # it ended in the first of them
                found[left[0][0]] = said[-1] if said else "no answer"
    return found


# ---- the three of them


def compared(source: Any, options: str, device: str) -> list[dict[str, str]]:
    """What came of each kernel of a source."""
    import eumu
    from public_kernels.arguments import LOCAL_BYTES, contents
    from public_kernels.cases import Case, Task, ways
    from public_kernels.sources import build

    task = Task(source, device, options)
    try:
        built, options = build(source, device, options)
        program = eumu.load(built.elf)
    except eumu.EumuError as error:
        return [_row(source, "", "not built", str(error).splitlines()[0])]
    rows, asked, runs = [], [], {}
    for kernel in program.kernels:
        kinds = [p.passing.name for p in kernel.args]
        if set(kinds) & {"IMAGE", "SAMPLER"}:
            rows.append(_row(source, kernel.name, "left out", "images"))
            continue
        way = next(ways(task, kernel, options))
        case = Case(task, program, kernel, way)
        pair = [case.launch(level, "jit") for level in ("visa", "native")]
        if bad := next((run for run in pair if run.ending), None):
            rows.append(_row(source, kernel.name, "left out", f"{bad.ending}: {bad.detail}"))
            continue
        values = [
            (kind, LOCAL_BYTES if kind == "LOCAL" else _value(p, c))
            for kind, p, c in zip(kinds, kernel.args, contents(kernel, way), strict=True)
        ]
        asked.append((kernel.name, way.global_size, way.local_size, values))
        runs[kernel.name] = case, [[a.tobytes() for a in run.memory] for run in pair]
    theirs = by_the_driver(source.text, options, asked, device) if asked else {}
    for name, (case, (visa, native)) in runs.items():
        rows.append(_row(source, name, *_verdict(case, visa, native, theirs[name])))
    return rows


def _value(parameter: Any, content: Any) -> Any:
    """What clSetKernelArg takes: vectors of three have room for four."""
    from eumu.runtime.parameters import Passing, element_type

    known = element_type(parameter.type_name)
    if parameter.passing is Passing.BUFFER or known is None:
        return content
    if known[1] == 3:
        return content.take([0, 1, 2, 0])
    return content[0] if known[1] == 1 else content


def _verdict(case: Any, visa: list[bytes], native: list[bytes], theirs: Any) -> tuple[str, str]:
    from public_kernels.cases import conflicts

    if isinstance(theirs, str):
        return "the driver", theirs
    if visa == native == theirs:
        return "equal", ""
    if reason := EXPLAINED.get(case.kernel.name):
        return "explained", reason
    pairs = {"visa and native": (visa, native), "native and driver": (native, theirs)}
    wrong = [which for which, (a, b) in pairs.items() if a != b]
    found = conflicts(case, "visa")
    return ("race" if found else "different"), f"{', '.join(wrong)}; {', '.join(sorted(found))}"


def _row(source: Any, kernel: str, outcome: str, why: str = "") -> dict[str, str]:
    return {"source": str(source.path), "kernel": kernel, "outcome": outcome, "why": why[:300]}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--options", default="-cl-std=CL2.0", help="the compiler's")
    parser.add_argument("--device", default="skl", help="skl (default), bdw")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.program:
        _program(given.program)
        return 0
    from eumu.drm.session import missing_packages
    from public_kernels.sources import sources

    if missing := [line for line in missing_packages() if "Level Zero alone" not in line]:
        print("skipped:", *missing, sep="\n")
        return 0
    log = given.log or Path(os.devnull)
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []
    known = {row["source"] for row in rows}
    for source in (s for folder in given.folders for s in sources(folder)):
        if str(source.path) in known:
            continue
        new = compared(source, given.options, given.device)
        rows += new
        with log.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in new)
        counts = Counter(row["outcome"] for row in new)
        print(f"{source.path.name}: {dict(counts)}", flush=True)
    return _show(rows)


def _show(rows: list[dict[str, str]]) -> int:
    for outcome, count in Counter(row["outcome"] for row in rows).most_common():
        print(f"{count:5} {outcome}")
    bad = [row for row in rows if row["outcome"] in ("different", "the driver")]
    for row in bad:
        print(f"  {Path(row['source']).name} {row['kernel']}: {row['outcome']}: {row['why']}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
