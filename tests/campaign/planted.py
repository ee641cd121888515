"""Does a campaign find a wrong engine?  Mistakes planted one at a time in the engines' code.

    python tests/campaign/planted.py [NUMBER ...] [--most 1920] [--log FILE]

Those in the fast engine are the mutants of `tests/mutate_lowerings.py`; those below are in the
lowering of native code and in its messages.  Each is made in a copy of the tree, where
`eumu campaign` runs kinds in turn, with more and more programs, until one differs.  The
last lines say after how many programs and how much time each was found.  Takes an hour or two.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mutate_lowerings

# Kinds of campaigns with their devices.
_KINDS: Final = {
    "native": ("random-visa", "--devices", "skl"),
    "engines": ("random-visa", "--devices", "pvc"),
    "hostile": ("hostile",),
    "source": ("random-opencl", "--devices", "skl"),
}
# Programs of the first round.
_FIRST: Final = {"native": 96, "engines": 96, "hostile": 32, "source": 16}
_GROWTH: Final = 4


@dataclass(frozen=True, slots=True)
class Planted:
    """In a file of `src/eumu`, `old` occurs once and becomes `new`."""

    what: str
    file: str
    old: str
    new: str

    def plant(self, tree: Path) -> None:
        path = tree / "src" / "eumu" / self.file
        text = path.read_text()
        assert text.count(self.old) == 1, f"{self.what}: {self.file} has changed"
        path.write_text(text.replace(self.old, self.new))


NATIVE: Final = (
    Planted(
        "saturation is forgotten",
        "isa/gen9/results.py",
        "result = self.fit(value, dst.type, saturate=dst.saturate)\n        if cond is not None:\n"
        "            self.write_condition(cond, self.holds(",
        "result = self.fit(value, dst.type, saturate=False)\n        if cond is not None:\n"
        "            self.write_condition(cond, self.holds(",
    ),
    Planted(
        "a destination's stride counts bytes",
        "isa/gen9/results.py",
        "stride = (1 if operand.channels is not None else operand.hstride) * type.size",
        "stride = type.size if operand.hstride != 2 else 3 * type.size",
    ),
    Planted(
        "elements of packed immediates do not follow the destination",
        "isa/gen9/sources.py",
        "step = max(1, self.dst_stride // lane_type.size)",
        "step = 1",
    ),
    Planted(
        "the offset of an address is forgotten",
        "isa/gen9/sources.py",
        "            mask,\n            offset=operand.place.offset,",
        "            mask,\n            offset=0,",
    ),
    Planted(
        "modifiers of words wrap",
        "isa/gen9/thread.py",
        "if (negate or absolute) and x.type.is_int and x.type.size < 4:",
        "if (negate or absolute) and x.type.is_int and x.type.size < 2:",
    ),
    Planted(
        "any and all look at groups from the first channel on",
        "isa/gen9/thread.py",
        "first = start // size * size\n",
        "first = start\n",
    ),
    Planted(
        "flags forget the channel offset",
        "isa/gen9/thread.py",
        "start = flag % 2 * 16 + self.exec.offset",
        "start = flag % 2 * 16",
    ),
    Planted(
        "a loop ends when its first channel leaves",
        "isa/gen9/flow.py",
        'leave the loop."""\n    b.go(b.lanes(), jip)',
        'leave the loop."""\n    stay = b.all(b.or_(b.lanes(), b.not_(b.mask)))\n'
        "    b.go(b.splat(stay, b.width), jip)",
    ),
    Planted(
        "a carry of equal numbers",
        "isa/gen9/arith.py",
        'b.cmp("lt", low, x)',
        'b.cmp("le", low, x)',
    ),
    Planted(
        "a borrow of equal numbers",
        "isa/gen9/arith.py",
        'one_where(b, b.cmp("lt", x, y))',
        'one_where(b, b.cmp("le", x, y))',
    ),
    Planted(
        "mach loses the sign of its second source",
        "isa/gen9/arith.py",
        "upper = b.shr(b.convert(src1, Q), b.const(Q, 16, b.width))",
        "upper = b.shr(b.convert(b.convert(src1, UD), Q), b.const(Q, 16, b.width))",
    ),
    Planted(
        "rnde rounds to zero",
        "isa/gen9/arith.py",
        "b.finish(dst, b.round(x, Rounding.RNE), cond, options)",
        "b.finish(dst, b.round(x, Rounding.RTZ), cond, options)",
    ),
    Planted(
        "an accumulator takes 33 bits of a product",
        "isa/gen9/arith.py",
        "b.finish(dst, b.mul(x, y), cond, options, product=True)",
        "b.finish(dst, b.mul(x, y), cond, options)",
    ),
    Planted(
        "fbh takes all sources for unsigned",
        "isa/gen9/logic.py",
        "first_high(b, b.convert(src0, UD), signed=signed)",
        "first_high(b, b.convert(src0, UD), signed=False)",
    ),
    Planted(
        "bfi2 inserts without a shift",
        "isa/gen9/logic.py",
        "b.and_(b.shl(insert, b.ctz(mask)), mask)",
        "b.and_(insert, mask)",
    ),
    Planted(
        "counts of shifts have a bit less",
        "isa/gen9/compute.py",
        "mask = b.const(type, bits - 1, x.width)",
        "mask = b.const(type, bits // 2 - 1, x.width)",
    ),
    Planted(
        "the second part of a message is read from its begin",
        "isa/messages/request.py",
        "start = offset + inside * step - self.first_bytes",
        "start = 0",
    ),
    Planted(
        "stores of some channels go to the first ones",
        "isa/messages/port_elements.py",
        "        start = moved(b, address, first * type.size)\n        b.store(",
        "        start = moved(b, address, 0)\n        b.store(",
    ),
    Planted(
        "cmpxchg exchanges its operands",
        "isa/messages/port_atomics.py",
        '14: ("cmpxchg", UD, UQ, (1, 0))',
        '14: ("cmpxchg", UD, UQ, (0, 1))',
    ),
    Planted(
        "dec returns what it leaves",
        "isa/messages/port_atomics.py",
        '6: ("dec", UD, UQ, ())',
        '6: ("predec", UD, UQ, ())',
    ),
    Planted(
        "blocks that are written count bytes",
        "isa/messages/port_blocks.py",
        "address = _global_offset(b, request, target, _OWORD)\n    return _block_write(",
        "address = _global_offset(b, request, target, 1)\n    return _block_write(",
    ),
)


def every() -> Iterator[tuple[Planted, tuple[str, ...]]]:
    """Each mistake, and the kinds that look for it in turn."""
    for mutant in mutate_lowerings.MUTANTS:
        file = f"exec/jit/{mutant.file}"
        yield Planted(mutant.what, file, mutant.old, mutant.new), ("engines", "native", "hostile")
    # The finalizer by itself makes no `while`: loops of OpenCL C become such.
    yield from ((planted, ("native", "source")) for planted in NATIVE)


def found(tree: Path, kinds: tuple[str, ...], most: int) -> str:
    """Which campaign differs, after how many programs, and its first difference; or nothing."""
    counts = {kind: _FIRST[kind] for kind in kinds}
    while any(count <= most for count in counts.values()):
        for kind in kinds:
            if counts[kind] <= most and (shown := _campaign(tree, kind, counts[kind])):
                return f"{kind}, {counts[kind]} programs: {shown}"
            counts[kind] *= _GROWTH
    return ""


def _campaign(tree: Path, kind: str, count: int) -> str:
    words = [*_KINDS[kind], "--count", str(count), "--workers", "1", "--limit", "30"]
    store = tree / f"{kind}.sqlite"
    run = subprocess.run(
        [sys.executable, "-m", "eumu", "campaign", *words, "--store", str(store)],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src"), "EUMU_CACHE_DIR": str(tree / "cache")},
        capture_output=True,
        text=True,
    )
    if run.returncode == 1:
        return run.stdout.splitlines()[0][:160]
    assert run.returncode == 0, run.stdout + run.stderr
    return ""


def main() -> int:
    """Returns 1 if a mistake is not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--most", type=int, default=1920, help="programs of a kind, at most")
    parser.add_argument("--log", type=Path, default=Path(os.devnull))
    given = parser.parse_args()
    missed = 0
    for number, (planted, kinds) in enumerate(every()):
        if given.numbers and number not in given.numbers:
            continue
        with tempfile.TemporaryDirectory(prefix="eumu-planted-") as name:
            tree = Path(name)
            mutate_lowerings.copy(tree)
            planted.plant(tree)
            start = time.perf_counter()
            shown = found(tree, kinds, given.most)
            seconds = time.perf_counter() - start
        missed += not shown
        line = f"{number:2} {planted.what}: {seconds:.0f} s: {shown or 'NOT FOUND'}"
        print(line, flush=True)
        with given.log.open("a") as log:
            print(line, file=log)
    print(f"{missed} not found")
    return min(1, missed)


if __name__ == "__main__":
    sys.exit(main())
