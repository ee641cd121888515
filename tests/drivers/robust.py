"""What may happen to a program on the virtual GPU, or with `--own DEVICE` on eumu's own driver:

    python tests/drivers/robust.py [--own DEVICE] [--launches N] [--only NAME]

Eight threads that submit; 100 000 launches with flat memory; the program killed, the engine process
killed, Ctrl-C; a child process; a fault.  Each must end in time, with the status that it has by
rights, and leave no process.  The status is 1 where one does not.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

HERE = Path(__file__).resolve().parent
SECONDS = 60.0  # in which a program ends after it was killed
DRIVER = ["gpu"]  # what starts programs, behind `eumu`
GROWTH = 16 << 20  # bytes that a process may take beyond what it had after a tenth of its launches


def descendants(pid: int) -> Iterator[int]:
    """Processes below one, itself not."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # it has ended
        if parent == pid:
            yield int(path.parent.name)
            yield from descendants(int(path.parent.name))


def title(pid: int) -> str:
    """What a process is: the program, the engine process, or another."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
        parent = int(
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1]
        )
        above = Path(f"/proc/{parent}/cmdline").read_text(encoding="utf-8")
    except OSError:
        return ""
    if "eumu.beside.broker" in words:
        return "engine" if "eumu.beside.broker" in above else "broker"
    return "program"


def resident(pid: int) -> int:
    """Bytes of memory of its own, without those that it shares: the pages of the GPU are both's."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:"))


def processor(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Running:
    """A case of opencl.c on the virtual GPU, in a process group of its own."""

    def __init__(self, program: Path, *cases: str, launches: int = 1_000_000) -> None:
        words = [sys.executable, "-m", "eumu", *DRIVER, "--", str(program), *cases]
        self.process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=os.environ | {"LAUNCHES": str(launches)},
        )

    def wait_until(self, line: str) -> None:
        assert self.process.stdout is not None
        while (said := self.process.stdout.readline()).strip() != line:
            if not said:
                raise RuntimeError(f"the program ended before it said {line!r}")

    def the(self, what: str) -> int:
        return next(pid for pid in descendants(self.process.pid) if title(pid) == what)

    def ends(self, *statuses: int) -> str:
        """Nothing, or what is wrong with its end."""
        below = list(descendants(self.process.pid))
        try:
            said, _ = self.process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return f"it did not end in {SECONDS:.0f} s"
        end = time.monotonic() + SECONDS
        while left := [pid for pid in below if title(pid)]:
            if time.monotonic() > end:
                return f"processes are left: {left}"
            time.sleep(0.05)
        if self.process.returncode not in statuses:
            return f"status {self.process.returncode}: {said.strip()[-300:]}"
        return ""


def threads(program: Path, launches: int) -> str:
    return _ends_well(program, *["threads"] * max(1, launches // 2000))


def child(program: Path, launches: int) -> str:
    return _ends_well(program, "forks", "add")


def fault(program: Path, launches: int) -> str:
    """The program is told, and `eumu` ends with 3; another program runs."""
    return _ends_well(program, "fault", status=3) or _ends_well(program, "add")


def _ends_well(program: Path, *cases: str, status: int = 0) -> str:
    words = [sys.executable, "-m", "eumu", *DRIVER, "--", str(program), *cases]
    done = subprocess.run(words, capture_output=True, text=True, timeout=3600)
    said = done.stdout + done.stderr
    good = done.returncode == status and said.count(" ok") == len(cases)
    return "" if good else f"status {done.returncode}: {said[-300:]}"


def flat(program: Path, launches: int) -> str:
    """Memory of the program and of the engine process does not grow with launches."""
    begun = time.monotonic()
    running = Running(program, "steady", launches=launches)
    running.wait_until("begun")
    pids = {name: running.the(name) for name in ("program", "engine")}
    seen: dict[str, list[int]] = {name: [] for name in pids}
    before = used = {name: processor(pid) for name, pid in pids.items()}
    while running.process.poll() is None:
        for name, pid in pids.items():
            if now := resident(pid):
                seen[name].append(now)
                used = used | {name: processor(pid)}
        time.sleep(0.2)
    wrong = running.ends(0)
    figures = []
    took = {name: 1e3 * (used[name] - before[name]) / launches for name in pids}
    for name, found in seen.items():
        early = max(found[: len(found) // 10 + 1])
        figures.append(f"{name} {early >> 20} MiB, then {max(found) >> 20}")
        if max(found) > early + GROWTH:
            wrong = wrong or f"the {name} grows"
    each = 1e3 * (time.monotonic() - begun) / launches
    busy = ", ".join(f"{ms:.2f} ms the {name}" for name, ms in took.items())
    print(f"  {launches} launches, {each:.2f} ms each with a wait; of a processor {busy}")
    print(f"  memory: {'; '.join(figures)}")
    return wrong


def killed_program(program: Path, launches: int) -> str:
    running = Running(program, "steady")
    running.wait_until("begun")
    os.kill(running.the("program"), signal.SIGKILL)
    return running.ends(128 + signal.SIGKILL)


def killed_engine(program: Path, launches: int) -> str:
    """The program is told of a hang (it ends with 1), or is ended where it does not ask."""
    running = Running(program, "steady")
    running.wait_until("begun")
    os.kill(running.the("engine"), signal.SIGKILL)
    return running.ends(1, 3, 128 + signal.SIGABRT)


def interrupted(program: Path, launches: int) -> str:
    running = Running(program, "steady")
    running.wait_until("begun")
    os.killpg(running.process.pid, signal.SIGINT)  # as a terminal does
    return running.ends(128 + signal.SIGINT)


CASES: dict[str, Callable[[Path, int], str]] = {
    "8 threads that submit": threads,
    "a child process": child,
    "a fault": fault,
    "the program is killed": killed_program,
    "the engine process is killed": killed_engine,
    "Ctrl-C": interrupted,
    "flat memory": flat,
}


def main() -> int:
    from eumu.drm.session import missing_packages

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--launches", type=int, default=100_000)
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--own", metavar="DEVICE", help="on eumu's own driver")
    given = parser.parse_args()
    # A shell that starts this in the background has interrupts ignored, which programs inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if given.own:
        DRIVER[:] = ["run", "--device", given.own]
    elif missing := [line for line in missing_packages() if "Level Zero alone" not in line]:
        print("skipped:", *missing, sep="\n")
        return 0
    bad = 0
    with tempfile.TemporaryDirectory() as place:
        program = Path(place, "opencl")
        source = str(HERE / "opencl.c")
        libraries = ["-l:libOpenCL.so.1", "-lpthread"]
        subprocess.run(["cc", "-O1", "-o", str(program), source, *libraries], check=True)
        for name, case in CASES.items():
            if given.only not in name:
                continue
            begun = time.monotonic()
            wrong = case(program, given.launches)
            bad += bool(wrong)
            print(f"{name}: {wrong or 'fine'} ({time.monotonic() - begun:.1f} s)", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
