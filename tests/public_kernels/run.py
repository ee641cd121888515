"""What becomes of public OpenCL C: ``python tests/public_kernels/run.py FOLDER ... [--log FILE]``.

Each source below the folders is compiled by ocloc for four devices, checked, lowered, and each of
its kernels launched with arguments that are made up, on both engines, on Gen9 at both levels.
Results must be the same, bit for bit but for NaNs; PoCL gets the same arguments, or Intel's runtime
for CPUs where the source has half or sub-groups, if it needs nothing that these lack.  Runs with a
fault, with races or without an end are counted as such.  The exit status is 1 if anything is left
unexplained.  With `--log`, results are kept and a later call goes on where the last one stopped;
`--report` only shows them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_kernels.sources import Text, sources
from public_kernels.trial import Task, name, preload, tasks, trial
from random_kernels.isolated import each

DEVICES = "skl,dg2,pvc,tgllp"
# What no reason excuses.
BAD = {
    ("check", "error"),
    ("rules", "error"),
    ("engines", "different"),
    ("engines", "not compiled"),
    ("engines", "NaNs read as integers"),
    ("levels", "different"),
    ("levels", "NaNs read as integers"),
    ("pocl", "different"),
    ("intel", "different"),
    ("launch", "InternalError"),
    ("launch", "Unsupported"),
    ("load", "InternalError"),
    ("load", "Unsupported"),
    ("source", "died"),
}
Record = dict[str, Any]


def main() -> int:
    os.environ.setdefault("EUMU_VERIFY_IR", "on")
    options = _options()
    log = Path(options.log) if options.log else None
    records = _known(log)
    if not options.report:
        if shutil.which("ocloc") is None:
            print("skipped: ocloc is not installed (Debian: apt-get install intel-opencl-icd)")
            return 0
        suites = (
            sorted(sources(Path(folder)), key=lambda source: source.work)[: options.most]
            for folder in options.folders
        )
        turns = zip_longest(*suites)  # breadth first: a source of each folder, then another one
        found = [s for turn in turns for s in turn if s is not None]
        records = _run(options, found, records, log)
    return _show(records)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--devices", default=DEVICES)
    parser.add_argument("--options", default="-cl-std=CL2.0", help="the compiler's")
    parser.add_argument("--log")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a source")
    parser.add_argument("--most", type=int, help="sources of a folder")
    parser.add_argument("--only", default="", help="sources with this in their path")
    parser.add_argument("--again", help="drop and repeat what the log has with this in an outcome")
    parser.add_argument("--fast", help="devices that the compiled engine runs too (default: all)")
    parser.add_argument("--no-others", action="store_true")
    parser.add_argument("--report", action="store_true")
    return parser.parse_args()


def _known(log: Path | None) -> list[Record]:
    if log is None or not log.exists():
        return []
    return [json.loads(line) for line in log.read_text().splitlines() if line]


def _run(
    options: argparse.Namespace, found: list[Text], records: list[Record], log: Path | None
) -> list[Record]:
    if options.again:
        again = {(r["source"], r["device"]) for r in records if options.again in r["outcome"]}
        records = [r for r in records if (r["source"], r["device"]) not in again]
        if log is not None:
            log.write_text("".join(json.dumps(r) + "\n" for r in records))
    done = {(r["source"], r["device"]) for r in records}
    wanted = [s for s in found if options.only in str(s.path)]
    devices = options.devices.split(",")
    fast = devices if options.fast is None else options.fast.split(",")
    with TemporaryDirectory() as kept:
        given = tasks(
            wanted, devices, fast, options.options, Path(kept), others=not options.no_others
        )
        todo = [t for t in given if (str(t.source.path), t.device) not in done]
        preload()
        return _each(options, todo, records, log)


def _each(
    options: argparse.Namespace, todo: list[Task], records: list[Record], log: Path | None
) -> list[Record]:
    for number, (task, answer) in enumerate(each(trial, todo, options.jobs, options.limit), 1):
        if not answer.startswith("{"):
            lost = {"stage": "source", "outcome": "died", "detail": answer or "no answer"}
            lost |= {"source": str(task.source.path), "device": task.device}
            answer = json.dumps(lost | {"kernel": "", "level": ""})
        new = [json.loads(line) for line in answer.splitlines()]
        records += new
        if log is not None:
            with log.open("a") as file:
                file.write(answer + "\n")
        _progress(number, len(todo), new)
    return records


def _progress(number: int, count: int, new: Iterable[Record]) -> None:
    for record in new:
        if _is_bad(record):
            print(_line(record), flush=True)
    if number % 20 == 0:
        print(f"{number} of {count}", file=sys.stderr, flush=True)


def _is_bad(record: Record) -> bool:
    outcome = record["outcome"]
    return (record["stage"], outcome) in BAD or outcome.startswith("endings differ")


def _line(r: Record) -> str:
    where = f"{name(r['source'])} {r['kernel']} {r['device']} {r['level']}"
    return f"{where}: {r['stage']} {r['outcome']}: {r['detail'].strip()}"


def _show(records: list[Record]) -> int:
    counts = Counter((r["stage"], r["outcome"]) for r in records)
    kernels = {(r["source"], r["kernel"]) for r in records if r["kernel"]}
    on_devices = {(r["source"], r["kernel"], r["device"]) for r in records if r["kernel"]}
    print(f"{len({r['source'] for r in records})} sources, {len(kernels)} kernels that compile,")
    print(f"{len(on_devices)} with their devices")
    for (stage, outcome), count in sorted(counts.items()):
        print(f"{stage:8} {outcome:40} {count}")
    bad = [r for r in records if _is_bad(r)]
    print("", *map(_line, bad), sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
