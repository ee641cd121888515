"""The kinds of campaigns: what runs the programs of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from eumu.campaign import files, hostile, random_opencl, random_visa
from eumu.campaign.tasks import Result, Task

Run = Callable[[Task], Iterator[Result]]
RUN: Final[dict[str, Run]] = {
    "random-visa": random_visa.run,
    "random-opencl": random_opencl.run,
    "hostile": hostile.run,
    "files": files.run,
}
