"""What a campaign sends to workers, and what comes back: plain data in both directions."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any, Final

import eumu
from eumu.records import dataclass

# Classes of results that are no differences.
SAME: Final = "the same"
FAULT: Final = "the same fault"
REFUSED: Final = "refused"
UNSUPPORTED: Final = "unsupported"
# Classes that are: the program in question shows something that it should not.
DIFFERS: Final = "differs"
DIED: Final = "its process died"
LATE: Final = "time limit"
_FINE: Final = (SAME, FAULT, REFUSED, UNSUPPORTED)
_TOGETHER: Final = 8  # programs of a task that may all take as long as one may


@dataclass(frozen=True, slots=True)
class Task:
    """Programs that one process runs, one after the other.

    Random programs have a seed each, from `first` on.  Of a file, `content` is what it holds, in
    base 64: workers need not see the folder.  `limit` is the processor time of one program, in
    seconds; `version` is eumu's, which a worker must have as well.
    """

    kind: str
    device: str
    first: int = 0
    count: int = 1
    path: str = ""
    content: str = ""
    digest: str = ""  # of the content
    options: str = ""
    limit: float = 60.0
    version: str = eumu.__version__

    @property
    def name(self) -> str:
        """What tells it from other tasks of any campaign."""
        if self.kind != "files":
            return f"{self.kind}/{self.device}/{self.first}+{self.count}"
        options = f" {self.options}" if self.options else ""
        return f"files/{self.device}/{self.path}@{self.digest}{options}"

    @property
    def programs(self) -> list[str]:
        """Names of the programs, as far as they are known before it runs."""
        if self.kind == "files":
            return [self.name]
        return [f"{self.kind}/{self.device}/{self.first + k}" for k in range(self.count)]

    @property
    def seconds(self) -> float:
        """Processor time of the whole: few programs come near their limit."""
        return self.limit * min(self.count, _TOGETHER)

    def divided(self) -> list[Task]:
        """Both halves of the programs."""
        half = self.count // 2
        return [
            replace(self, count=half),
            replace(self, first=self.first + half, count=self.count - half),
        ]

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> Task:
        fields: dict[str, Any] = json.loads(text)
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Result:
    """What one program showed: its class, the sort within it, and what exactly.

    There is no time in it and no machine: the same program gives the same result everywhere.
    """

    program: str
    kind: str  # SAME, DIFFERS …
    sort: str = ""  # where it differs, or why it cannot run
    what: str = ""
    builds: int = 0  # of the program, each by another compiler or with other options, if counted

    @property
    def is_fine(self) -> bool:
        return self.kind in _FINE

    @property
    def title(self) -> str:
        """Class and sort in words, by which results are counted."""
        return f"{self.kind}: {self.sort}" if self.sort else self.kind


def failed(task: Task, kind: str, what: str) -> list[Result]:
    """The results of a task of which there is none."""
    return [Result(name, kind, "", what) for name in task.programs]
