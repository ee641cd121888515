"""Who is wrong, where the forms of one program do not all leave the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping

from eumu.records import dataclass

Value = bytes | str  # what a run leaves, or how it ended


@dataclass(frozen=True, slots=True, order=True)
class Form:
    """How a program was run: by another implementation of OpenCL, or as a build on eumu.

    `variant`: it was the program without its dead branches, which must do the same.
    """

    compiler: str  # a release of ocloc, or an implementation
    options: str = ""
    variant: bool = False
    level: str = ""  # none of an implementation
    engine: str = ""

    @property
    def build(self) -> str:
        words = (self.compiler, self.options, "without dead branches" if self.variant else "")
        return " ".join(word for word in words if word)

    @property
    def is_build(self) -> bool:
        return bool(self.level)

    def __str__(self) -> str:
        return " ".join(word for word in (self.build, self.level, self.engine) if word)


def right(seen: Mapping[Form, Value], doubted: Container[Value] = ()) -> Value | None:
    """What most parties say; None where two things have as many.

    A party is an implementation, or a release at one set of options: what it says on several
    levels and engines counts once.  What is doubted has no vote, unless all is.
    """
    parties: dict[Value, set[tuple[str, str]]] = defaultdict(set)
    trusted = {form: value for form, value in seen.items() if value not in doubted}
    for form, value in (trusted or seen).items():
        parties[value].add((form.compiler, form.options))
    ranks = sorted(parties, key=lambda value: -len(parties[value]))
    if len(ranks) > 1 and len(parties[ranks[0]]) == len(parties[ranks[1]]):
        return _by_implementations(seen, ranks[0], ranks[1])
    return ranks[0]


def _by_implementations(seen: Mapping[Form, Value], a: Value, b: Value) -> Value | None:
    """The one of two that an implementation of OpenCL of someone else says, if the other is not."""
    said = {value for form, value in seen.items() if not form.is_build and value in (a, b)}
    return said.pop() if len(said) == 1 else None


def culprits(seen: Mapping[Form, Value], doubted: Container[Value] = ()) -> list[str]:
    """Who says something else than most, in words; nothing if all say the same."""
    if len(set(seen.values())) < 2:
        return []
    value = right(seen, doubted)
    if value is None:
        return ["undecided"]
    return sorted(set(_blamed(seen, value)))


def _blamed(seen: Mapping[Form, Value], value: Value) -> Iterator[str]:
    builds: dict[str, dict[Form, bool]] = defaultdict(dict)
    for form, shown in seen.items():
        builds[form.build][form] = shown == value
    for build, forms in builds.items():
        wrong = {form for form, is_right in forms.items() if not is_right}
        if not wrong:
            continue
        if len(wrong) == len(forms):
            yield build if next(iter(wrong)).is_build else f"implementation {build}"
        else:
            yield from _within(forms, wrong)


def _within(forms: Mapping[Form, bool], wrong: set[Form]) -> Iterator[str]:
    """Which side is wrong of a build that is right in another form."""
    for kind, words in (("level", "{} level of {}"), ("engine", "engine {} on {}")):
        for name in sorted({getattr(form, kind) for form in wrong}):
            of_name = {form for form in forms if getattr(form, kind) == name}
            if of_name <= wrong and wrong <= of_name:
                form = next(iter(wrong))
                other = form.compiler if kind == "level" else _levels(wrong)
                yield words.format(name, other)
                return
    yield "; ".join(f"{form.level} on {form.engine}" for form in sorted(wrong))


def _levels(forms: set[Form]) -> str:
    return " and ".join(sorted({form.level for form in forms}))
