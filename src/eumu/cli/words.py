"""The words of a command line, before they are parsed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from eumu.cli.options import CHECK

BUILD_OPTIONS: Final = "--build-options"
OTHER_OPTIONS: Final = "--other-options"
_GPU_VALUES: Final = frozenset(
    {"--device", "--engine", "--log", "--dump", "--report", "--findings", "--format"}
)


def joined(words: Sequence[str]) -> Iterator[str]:
    """The words, with a value that begins with a dash joined to the option that takes it."""
    if words and words[0] in ("run", "gpu", "replay"):
        own = _own_words(words) if words[0] == "gpu" else len(words)
        bare = (k for k, word in enumerate(words[:own]) if word == CHECK)
        words = list(words)
        for k in bare:
            words[k] = f"{CHECK}=cheap"
    rest = iter(words)
    for word in rest:
        value = next(rest, None) if word in (BUILD_OPTIONS, OTHER_OPTIONS) else None
        yield word if value is None else f"{word}={value}"


def _own_words(words: Sequence[str]) -> int:
    """How many words of `eumu gpu` come before those of the program."""
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        at += 1 + (words[at] in _GPU_VALUES)
    return min(at, len(words))
