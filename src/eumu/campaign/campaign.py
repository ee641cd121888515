"""A campaign: which tasks there are, which are left, and what all of them have shown."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from eumu.campaign.cluster import Perform, answers
from eumu.campaign.store import Store
from eumu.campaign.tasks import Result, Task
from eumu.campaign.worker import perform
from eumu.records import dataclass

if TYPE_CHECKING:
    from distributed import Client

Report = Callable[[int, int], object]  # programs or tasks done, all of them


@dataclass
class Summary:
    """What the tasks of a campaign have shown, those of earlier calls included."""

    results: list[Result] = field(default_factory=list)
    ran: int = 0  # programs of this call
    seconds: float = 0.0  # of this call, on the clock
    spent: float = 0.0  # of processors, as far as known
    explained: Mapping[str, str] = field(default_factory=dict)

    @property
    def differing(self) -> list[Result]:
        """Results that are differences, and that nobody has explained."""
        return [r for r in self.results if not r.is_fine and r.program not in self.explained]

    def line(self) -> str:
        """The counts and the rate in one line."""
        fine = Counter(r.kind for r in self.results if r.is_fine)
        wrong = Counter(r.title for r in self.differing)
        explained = sum(not r.is_fine and r.program in self.explained for r in self.results)
        words = [f"{n} {kind}" for kind, n in fine.most_common()]
        words += [f"{explained} explained"] if explained else []
        words += [f"{n} {title}" for title, n in wrong.most_common()] or ["0 differ"]
        builds = sum(r.builds for r in self.results)
        size = f"{len(self.results)} programs" + (f" in {builds} builds" if builds else "")
        return f"{size}: {', '.join(words)}; {self._rate()}"

    def _rate(self) -> str:
        if not self.ran:
            return "nothing was left to run"
        rate = f"{self.ran} in {self.seconds:.0f} s, {self.ran / self.seconds * 3600:.0f} an hour"
        if self.spent:
            rate += f", {self.ran / self.spent * 3600:.0f} an hour and core"
        return rate


def left(tasks: Iterable[Task], store: Store) -> Iterator[Task]:
    """Tasks that the store has no results of."""
    done = store.done()
    return (task for task in tasks if task.name not in done)


def run(
    tasks: Sequence[Task],
    store: Store,
    summary: Summary,
    connect: Callable[[], AbstractContextManager[Client]],
    *,
    report: Report | None = None,
    work: Perform = perform,
) -> None:
    """Run what is left of the tasks, and fill the summary in, also where it is interrupted.

    `connect` is asked for a client if there is anything to run, as `cluster.connected` makes one.
    """
    todo = list(left(tasks, store))
    start = time.monotonic()
    done = len(tasks) - len(todo)
    try:
        if todo:
            with connect() as client:
                start = time.monotonic()
                for task, answer in answers(client, todo, work):
                    store.add(task, answer.results)
                    done += 1
                    summary.ran += len(answer.results)
                    summary.spent += answer.seconds
                    if report is not None:
                        report(done, len(tasks))
                    summary.seconds = max(time.monotonic() - start, 1e-3)
    finally:
        names = {task.name for task in tasks}
        summary.results = store.of_tasks(names)


def explanations(path: Path | None) -> dict[str, str]:
    """Programs whose differences are explained: a line each, the name and the reason."""
    if path is None:
        return {}
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    parts = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return {program.strip(): reason.strip() for program, _, reason in parts}
