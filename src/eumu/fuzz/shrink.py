"""Makes a failing bundle small: fewer kernels, then fewer statements in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from eumu.fuzz.machine import Bundle


def shrink(bundle: Bundle, fails: Callable[[Bundle], bool], tries: int = 600) -> Bundle:
    """The smallest bundle found that still fails; `fails` is asked at most `tries` times."""
    left = tries
    going = True
    while going and left > 0:
        going = False
        for smaller in _smaller(bundle):
            if left == 0:
                break
            left -= 1
            if fails(smaller):
                bundle, going = smaller, True
                break
    return bundle


def _smaller(bundle: Bundle) -> Iterator[Bundle]:
    sections = bundle.sections
    if len(sections) > 1:
        for section in sections:
            yield replace(bundle, sections=(section,), outputs=[])
        for k in range(len(sections)):
            yield replace(bundle, sections=(*sections[:k], *sections[k + 1 :]), outputs=[])
    for k, section in enumerate(sections):
        for less in section.smaller():
            yield replace(bundle, sections=(*sections[:k], less, *sections[k + 1 :]), outputs=[])
