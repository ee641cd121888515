"""The search for the first store that two forms disagree about."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.compare.nans import both_nan
from eumu.compare.record import Store, instructions
from eumu.compare.sides import FormOutcome, Launch, Side
from eumu.errors import Fault
from eumu.records import dataclass

AROUND = 8  # instructions that a trace has on each side of the store

# What was stored to a byte of an array, in order.
History = dict[tuple[str, int], list[tuple[int, Store]]]


@dataclass(frozen=True, slots=True)
class Trace:
    """Instructions that a thread ran around a store: (instruction, is it the store)."""

    side: Side
    store: Store
    lines: tuple[tuple[str, bool], ...]
    place: str


@dataclass(frozen=True, slots=True)
class Divergence:
    """Element `index` of `array` is `left` in one form and `right` in the other.

    A trace is None where that form stored nothing there.
    """

    array: str
    index: int
    left: Any
    right: Any
    sides: tuple[Side, Side]
    traces: tuple[Trace | None, Trace | None]
    count: int  # elements that differ in the end


@dataclass(frozen=True, slots=True)
class Ending:
    """One form faults, the other does not."""

    sides: tuple[Side, Side]
    faults: tuple[Fault | None, Fault | None]


@dataclass(frozen=True, slots=True)
class Printed:
    """Lines that one form prints and the other does not, of each form."""

    sides: tuple[Side, Side]
    lines: tuple[list[str], list[str]]


Difference = Divergence | Ending | Printed


def compare(left: Side, right: Side, launch: Launch, *, rtol: float = 0.0) -> Difference | None:
    """Run both forms; where they first disagree, or None.

    With `rtol` floats may differ by so much of their magnitude: builds may contract or reorder.
    Raises `Fault` if both forms fault.
    """
    runs = left.run(launch), right.run(launch)
    faults = runs[0].fault, runs[1].fault
    if faults[0] is not None and faults[1] is not None:
        raise faults[0]
    if any(faults):
        return Ending((left, right), faults)
    return _divergence(runs, launch, rtol) or _printed(runs)


def _printed(runs: tuple[FormOutcome, FormOutcome]) -> Printed | None:
    counts = Counter(runs[0].printed), Counter(runs[1].printed)
    if counts[0] == counts[1]:
        return None
    left, right = counts[0] - counts[1], counts[1] - counts[0]
    both = runs[0].side, runs[1].side
    return Printed(both, (sorted(left.elements()), sorted(right.elements())))


def _divergence(
    runs: tuple[FormOutcome, FormOutcome], launch: Launch, rtol: float
) -> Divergence | None:
    """The first store that has another value in the one run than in the other."""
    left, right = runs[0].side, runs[1].side
    wrong = differing(runs[0], runs[1], rtol)
    if not wrong:
        return None
    histories = _histories(runs[0], wrong), _histories(runs[1], wrong)
    first = _first(*histories)
    stores: tuple[Store | None, Store | None]
    if first is None:  # the values were there before, or atomics met in another order
        array, byte = next(iter(sorted(wrong)))
        stores = _last(histories[0], (array, byte)), _last(histories[1], (array, byte))
    else:
        (array, byte), stores = first
    index = byte // runs[0].memory[array].itemsize
    elements = {(name, place // runs[0].memory[name].itemsize) for name, place in wrong}
    traces = [
        None if store is None else _trace(side, launch, store)
        for side, store in zip((left, right), stores, strict=True)
    ]
    values = [run.memory[array].reshape(-1)[index] for run in runs]
    both = (traces[0], traces[1])
    return Divergence(array, index, values[0], values[1], (left, right), both, len(elements))


def differing(left: FormOutcome, right: FormOutcome, rtol: float) -> set[tuple[str, int]]:
    """Bytes of arrays that are not the same in the end."""
    places: set[tuple[str, int]] = set()
    for name, x in left.memory.items():
        y = right.memory.get(name)
        if y is None or (y.dtype, y.shape) != (x.dtype, x.shape):
            continue  # variables of another build
        x, y = x.reshape(-1), y.reshape(-1)
        meant = _meant(x.dtype) & ~both_nan(x, y)
        wrong = _unequal(x, y, meant, rtol)
        for element in np.flatnonzero(wrong).tolist():
            start = element * x.itemsize
            a = x[element : element + 1].view(np.uint8)
            b = y[element : element + 1].view(np.uint8)
            places |= {(name, start + int(k)) for k in np.flatnonzero((a != b) & meant[element])}
    return places


def _meant(dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Which bytes of an element have a meaning: not the padding of structures."""
    if dtype.fields is None:
        return np.ones(dtype.itemsize, bool)
    meant = np.zeros(dtype.itemsize, bool)
    for inner, offset, *_ in dtype.fields.values():
        meant[offset : offset + inner.itemsize] |= _meant(inner)
    return meant


def _unequal(
    x: NDArray[Any], y: NDArray[Any], meant: NDArray[np.bool_], rtol: float
) -> NDArray[np.bool_]:
    """Elements of which a byte that is `meant` differs."""
    a, b = (v.view(np.uint8).reshape(-1, x.itemsize) for v in (x, y))
    different = np.any((a != b) & meant, axis=1)
    if rtol and x.dtype.kind == "f":
        with np.errstate(all="ignore"):
            near = np.isclose(x, y, rtol=rtol, atol=0.0, equal_nan=True)
        different &= ~near
    return np.asarray(different)


def _histories(run: FormOutcome, wanted: set[tuple[str, int]]) -> History:
    """Every value that was stored to the wanted bytes."""
    histories: History = defaultdict(list)
    spans = [
        (place, place + run.memory[name].nbytes, name)
        for name, place in run.places.items()
        if any(name == array for array, _ in wanted)
    ]
    for store in run.record.stores:
        for start, end, name in spans:
            if start <= store.address < end:
                for k, value in enumerate(store.data):
                    key = (name, store.address + k - start)
                    if key in wanted:
                        histories[key].append((value, store))
    return histories


def _first(
    left: History, right: History
) -> tuple[tuple[str, int], tuple[Store | None, Store | None]] | None:
    """The earliest store, by the order of the right form, that has another value in the left."""
    best: tuple[int, tuple[str, int], tuple[Store | None, Store | None]] | None = None
    for key in left.keys() | right.keys():
        a, b = left.get(key, []), right.get(key, [])
        for k in range(max(len(a), len(b))):
            x = a[k] if k < len(a) else None
            y = b[k] if k < len(b) else None
            if x is not None and y is not None and x[0] == y[0]:
                continue
            stores = (x[1] if x else None), (y[1] if y else None)
            number = (y or x or (0, None))[1].number  # type: ignore[union-attr]
            if best is None or (number, key) < best[:2]:
                best = number, key, stores
            break
    return best and best[1:]


def _last(history: History, key: tuple[str, int]) -> Store | None:
    return history[key][-1][1] if history.get(key) else None


def _trace(side: Side, launch: Launch, store: Store) -> Trace:
    """Run the form once more, and follow the thread of the store."""
    record = side.run(launch, store.thread).record
    function = record.function
    assert function is not None
    ran = list(instructions(function, record.way))
    # Of the times that its instruction ran, the last before which the store had not been seen.
    times = [k for k, (i, before) in enumerate(ran) if i == store.inst and before <= store.number]
    at = times[-1] if times else len(ran) - 1
    part = range(max(0, at - AROUND), min(len(ran), at + AROUND // 2 + 1))
    span = function.spans[store.inst]
    lines = tuple((text_of(function, ran[k][0]), k == at) for k in part)
    return Trace(side, store, lines, str(span) if span else "")


def text_of(function: Any, inst: int) -> str:
    """An instruction as its program has it."""
    span = function.spans[inst]
    if span is None:
        return str(function.texts[inst])
    return " ".join(span.source.line(span.line).split("//")[0].split())
