"""A difference between builds as a report to the compiler's authors: the kernel in few lines, how
it is launched, what each form gives, and the first wrong instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import eumu
from eumu.compare.blame import Blame, blame, tell
from eumu.compare.search import Difference, Divergence, Ending, Printed
from eumu.compare.sides import FormOutcome, Launch, Side
from eumu.errors import BuildError, Unsupported
from eumu.records import dataclass

_LINES: Final = 3  # of what a form prints


@dataclass(frozen=True, slots=True)
class BugReport:
    """What a report says.  `launch` is the launch in words, `forms` what each form gives."""

    source: str
    device: str
    launch: str
    found: Blame | Difference
    forms: Sequence[tuple[Side, str]]
    switches: Sequence[str] = ()

    def markdown(self) -> str:
        """The report, in Markdown."""
        return "\n\n".join((*self._kernel(), *self._forms(), *self._cause())) + "\n"

    @property
    def _difference(self) -> Difference:
        return self.found.divergence if isinstance(self.found, Blame) else self.found

    def _kernel(self) -> Iterator[str]:
        yield f"# Builds for {self.device} give different results"
        yield f"```c\n{self.source.rstrip()}\n```"
        yield f"Launched with {self.launch}, on eumu {eumu.__version__}, which emulates the device."

    def _forms(self) -> Iterator[str]:
        yield "## What each build gives"
        rows = [f"| {side.build} | {side.level} | {gives} |" for side, gives in self.forms]
        head = f"| compiler and options | level | {_what(self._difference)} |"
        yield "\n".join([head, "|---|---|---|", *rows])

    def _cause(self) -> Iterator[str]:
        yield "## Where they part"
        yield f"```\n{tell(self.found)}\n```"
        if self.switches:
            yield f"With {' or '.join(f'`{s}`' for s in self.switches)} there is no difference."


def first_difference_of(
    forms: Iterable[Side], launch: Launch, rtol: float
) -> Blame | Difference | None:
    """Of the first form and the first that differs, followed back; None if none differs."""
    first, *others = forms
    for other in others:
        try:
            found = blame(first, other, launch, rtol=rtol)
        except (BuildError, Unsupported):
            continue  # it has no result that could differ
        if found is not None:
            return found
    return None


def behaviour(
    forms: Iterable[Side], launch: Launch, found: Difference
) -> Iterator[tuple[Side, str]]:
    """What each form gives where two of them differ."""
    for side in forms:
        try:
            yield side, _gives(side.run(launch), found)
        except (BuildError, Unsupported) as error:
            yield side, f"not run: {str(error).splitlines()[0]}"


def _what(found: Difference) -> str:
    match found:
        case Divergence():
            return f"`{found.array}[{found.index}]`"
        case Ending():
            return "how it ends"
        case Printed():
            return "what it prints first"


def _gives(run: FormOutcome, found: Difference) -> str:
    if run.fault is not None:
        return f"fault: {str(run.fault).splitlines()[0]}"
    match found:
        case Divergence():
            return str(run.memory[found.array].reshape(-1)[found.index])
        case Ending():
            return "it ends"
        case Printed():
            return " / ".join(run.printed[:_LINES]) or "nothing"


def parts_alike(whole: Difference, smaller: Blame | Difference | None) -> bool:
    """Whether a smaller source differs as the whole one does: in the same array, or way to end."""
    found = smaller.divergence if isinstance(smaller, Blame) else smaller
    if not isinstance(found, Divergence) or not isinstance(whole, Divergence):
        return type(found) is type(whole)
    return found.array == whole.array
