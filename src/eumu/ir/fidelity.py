"""How near the model of an instruction is to the hardware."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from eumu.records import dataclass
from eumu.types import Type


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How near the model is: `exact`, `ulp` N, `approximate`, or `unsupported` with a reason.

    What is `exact` has every bit as documented.  What is within a bound is at most N units in the
    last place from the exact result; hardware may give another number.  Of what is `approximate`
    the documents leave something open.  With `types` that holds where values of them are made; on
    all others the instruction is exact.
    """

    level: str = "exact"
    detail: str = ""
    types: frozenset[Type] | None = None

    def __str__(self) -> str:
        text = f"{self.level} ({self.detail})" if self.detail else self.level
        if self.types is None:
            return text
        return f"{text} on {', '.join(sorted(map(str, self.types)))}"

    def on(self, types: Iterable[Type]) -> Fidelity:
        """That of an instruction whose operands have these types."""
        return self if self.types is None or not self.types.isdisjoint(types) else EXACT


EXACT: Final = Fidelity()
