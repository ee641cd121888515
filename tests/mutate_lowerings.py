"""Does the fast part of the suite notice a wrong lowering of the fast engine?

    python tests/mutate_lowerings.py [NUMBER ...]

changes one place of `src/eumu/exec/jit` at a time in a temporary copy of the tree, runs the tests
below until one fails, and lists the mutants that survive.  Takes minutes, so it is run by hand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# In this order: what is quickest first.
COMMANDS = (
    ("tests/test_runs.py", "-k", "jit"),
    ("tests/test_kernels.py", "-k", "pvc-jit"),
    ("tests/exec/test_jit_differential.py",),
    ("tests/exec/test_bounds.py", "-k", "jit"),
    ("tests/test_faults.py", "-k", "jit"),
    ("tests/oracle", "-k", "jit or by_pairs"),
)
# A failing example is enough: it need not become small.
PLUGIN = """
from hypothesis import Phase, settings
settings.register_profile("quick", phases=(Phase.explicit, Phase.generate))
settings.load_profile("quick")
"""


@dataclass(frozen=True, slots=True)
class Mutant:
    """`old` occurs once in the file and becomes `new`; tests called `soon` run first, those of a
    file `tests` alone."""

    what: str
    soon: str
    file: str
    old: str
    new: str
    tests: str = ""


MUTANTS = (
    Mutant(
        "add subtracts",
        "test_run and add",
        "codegen/integers.py",
        'return _simple("add", e, op, width, x, y)',
        'return _simple("sub", e, op, width, x, y)',
    ),
    Mutant(
        "the lowest bit is counted from the top",
        "test_run and bits",
        "codegen/integers.py",
        'return e.intrinsic("cttz", int_type(op.result.type, width), x, extra="i1 false")',
        'return e.intrinsic("ctlz", int_type(op.result.type, width), x, extra="i1 false")',
    ),
    Mutant(
        "division by zero gives 1",
        "test_division",
        "codegen/integers.py",
        'return e.op(f"select {mask} {zero}, {vector} {ones}, {vector} {quotient}")',
        "return quotient",
    ),
    Mutant(
        "the remainder is of unsigned numbers",
        "test_division",
        "codegen/integers.py",
        'name = "srem" if type.is_signed else "urem"',
        'name = "urem"',
    ),
    Mutant(
        "shifts right without the sign",
        "test_shifts",
        "codegen/integers.py",
        'name = "ashr" if op.result.type.is_signed else "lshr"',
        'name = "lshr"',
    ),
    Mutant(
        "shift counts are masked with one bit too few",
        "test_shifts",
        "codegen/integers.py",
        "constant(type, width, type.bits - 1)",
        "constant(type, width, type.bits // 2 - 1)",
    ),
    Mutant(
        "comparisons are unsigned",
        "test_comparison_of",
        "codegen/integers.py",
        '"s" if type.is_signed else "u"\n    return e.op(f"icmp',
        '"u"\n    return e.op(f"icmp',
    ),
    Mutant(
        "the minimum is of signed numbers",
        "test_binary and min",
        "codegen/integers.py",
        'e.intrinsic("smin" if type.is_signed else "umin"',
        'e.intrinsic("smin"',
    ),
    Mutant(
        "saturation forgets the lower end",
        "test_mov or test_saturation",
        "codegen/integers.py",
        "if target.minimum > source.minimum:",
        "if False:",
    ),
    Mutant(
        "conversions extend with zeros",
        "test_mov",
        "codegen/integers.py",
        "{'sext' if source.is_signed else 'zext'} {a} {x} to {b}\")\n\n\ndef _clamp",
        'zext {a} {x} to {b}")\n\n\ndef _clamp',
    ),
    Mutant(
        "float maximum picks the smaller",
        "test_min_and_max",
        "codegen/floats.py",
        'return _extremum("oge", e',
        'return _extremum("olt", e',
    ),
    Mutant(
        "float minimum returns the NaN",
        "test_min_and_max",
        "codegen/floats.py",
        'nan = e.op(f"fcmp uno {compared} {b}, {b}")',
        'nan = e.op(f"fcmp uno {compared} {a}, {a}")',
    ),
    Mutant(
        "flushing loses the sign of zero",
        "test_denormals",
        "codegen/floats.py",
        "return e.bitcast(w.select(tiny, sign, bits), w.type, vector)",
        "return e.bitcast(w.select(tiny, 0, bits), w.type, vector)",
    ),
    Mutant(
        "not equal is ordered",
        "test_comparison",
        "codegen/floats.py",
        '{"ne": "une"}',
        '{"ne": "one"}',
    ),
    Mutant(
        "rounding up rounds down",
        "test_floats and test_add",
        "codegen/floats.py",
        "Rounding.RU: 2, Rounding.RD: 3",
        "Rounding.RU: 3, Rounding.RD: 2",
    ),
    Mutant(
        "ties of half go away from zero",
        "test_float_to_float or test_integer_to_float",
        "codegen/narrow.py",
        'tie = w.both("and", w.cmp("eq", rest, half), odd)',
        'tie = w.cmp("eq", rest, half)',
    ),
    Mutant(
        "the bounds check lets one byte more through",
        "bounds or faults",
        "codegen/support.py",
        "f.equal(end, 0) | (end - a < n)",
        "f.equal(end, 0) | (end - a + 1 < n)",
    ),
    Mutant(
        "shared local memory ends some bytes later",
        "bounds or local",
        "codegen/support.py",
        "with f.when(~_fits(f, size, a, n)):",
        "with f.when(~_fits(f, size, a, f.number('1'))):",
    ),
    Mutant(
        "the lanes that go the other way do not wait",
        "test_kernel and switch",
        "driver/blocks.py",
        "        self.wait(high, leave)\n",
        "        self.wait(high, inside)\n",
    ),
    Mutant(
        "stores ignore the execution mask",
        "test_kernel and part",
        "codegen/stores.py",
        """every = e.op(f"icmp eq i{width} {word}, {'true' if width == 1 else '-1'}")""",
        'every = "true"',
    ),
    Mutant(
        "an atomic decrement returns the new value",
        "atomic",
        "codegen/atomics.py",
        'return new, new if operation == "predec" else old',
        "return new, new",
    ),
    Mutant(
        "a compare-and-exchange exchanges the wrong operand",
        "atomic",
        "codegen/atomics.py",
        "wanted = body.bitcast(operands[0], scalar, bits)",
        "wanted = body.bitcast(operands[1], scalar, bits)",
    ),
    Mutant(
        "updates of lanes that meet are made one by one",
        "",
        "codegen/updates.py",
        'fine=k.e.op(f"and i1 {every}, {apart}")',
        "fine=every",
        "tests/exec/test_updates.py",
    ),
    Mutant(
        "updates in registers may leave their variable",
        "",
        "codegen/updates.py",
        "both = e.op(f\"and {vector_of('i1', count)} {same}, {inside}\")",
        "both = same",
        "tests/exec/test_updates.py",
    ),
    Mutant(
        "updates go where they came from, whatever the store says",
        "",
        "codegen/updates.py",
        'fine = e.op(f"and i1 {at.inside}, {_all(k, same, count)}")',
        "fine = at.inside",
        "tests/exec/test_updates.py",
    ),
    Mutant(
        "what is ahead may be outside",
        "",
        "codegen/ahead.py",
        "return e.op(f\"and i1 {every}, {e.op(f'icmp eq i32 {turn}, {x.turns}')}\")",
        'return e.op(f"icmp eq i32 {turn}, {x.turns}")',
        "tests/exec/test_ahead.py",
    ),
    Mutant(
        "a loop goes on with what the last one read ahead",
        "",
        "codegen/ahead.py",
        'k.e.do(f"store i32 {x.turns + _BEFORE}, ptr {x.turn}")',
        "pass",
        "tests/exec/test_ahead.py",
    ),
    Mutant(
        "rows of lanes that are off are read",
        "",
        "codegen/rows.py",
        "    if mask is None:\n        return pointers\n",
        "    return pointers\n",
        "tests/exec/test_rows.py",
    ),
    Mutant(
        "rows at known distances are all the first one",
        "",
        "codegen/rows.py",
        "ptr {origin}, i64 {offset}",
        "ptr {origin}, i64 {offsets[0]}",
        "tests/exec/test_rows.py",
    ),
    Mutant(
        "of a pair the second half comes first",
        "",
        "codegen/irregular.py",
        "order = [lane + v * width for lane in range(width) for v in (0, 1)]",
        "order = [lane + v * width for lane in range(width) for v in (1, 0)]",
        "tests/exec/test_rows.py",
    ),
    Mutant(
        "of pairs that are gathered the second halves are the next lane's",
        "",
        "codegen/irregular.py",
        "[2 * lane + v for lane in range(width)]",
        "[2 * lane + 2 * v for lane in range(width)]",
        "tests/exec/test_rows.py",
    ),
    Mutant(
        "of a pair in local memory the first half only is looked at",
        "",
        "codegen/irregular.py",
        "str(max(0, size - access.size + 1))",
        "str(max(0, size - min(4, access.size) + 1))",
        "tests/exec/test_rows.py",
    ),
)


def copy(place: Path) -> None:
    """The parts of the tree that the tests need."""
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in ("src", "tests", "examples"):
        shutil.copytree(ROOT / name, place / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", place)
    (place / "src" / "without_shrinking.py").write_text(PLUGIN)


def noticed(tree: Path, soon: str = "", tests: str = "") -> str:
    """The command whose tests fail, or an empty string."""
    cache = tree / "cache"
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "EUMU_CACHE_DIR": str(cache)}
    shutil.rmtree(cache, ignore_errors=True)
    places = dict.fromkeys(command[0] for command in COMMANDS)
    first = (*places, "-k", f"jit and ({soon})") if soon else (tests or COMMANDS[0][0],)
    for command in (first, *COMMANDS):
        line = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *command]
        line += ["-p", "without_shrinking", "-m", "not slow"]
        run = subprocess.run(line, cwd=tree, env=environment, capture_output=True, text=True)
        if run.returncode not in (0, 5):  # 5: no test of that name
            failed = [t for t in run.stdout.splitlines() if t.startswith(("FAILED", "ERROR"))]
            return (failed or run.stdout.splitlines()[-1:] or ["it does not start"])[0]
    return ""


def main(numbers: list[int]) -> int:
    """Returns the number of survivors."""
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="eumu-mutants-") as name:
        tree = Path(name)
        copy(tree)
        start = time.perf_counter()
        if not numbers and (complaint := noticed(tree)):
            print(f"the tests fail without a mutation: {complaint}")
            return 1
        print(f"without a mutation: fine, {time.perf_counter() - start:.0f} s", flush=True)
        for number, mutant in enumerate(MUTANTS):
            if numbers and number not in numbers:
                continue
            path = tree / "src" / "eumu" / "exec" / "jit" / mutant.file
            text = path.read_text()
            if text.count(mutant.old) != 1:
                print(f"{number:2} {mutant.what}: OUT OF DATE, {mutant.file} has changed")
                survivors += 1
                continue
            path.write_text(text.replace(mutant.old, mutant.new))
            found = noticed(tree, mutant.soon, mutant.tests)
            path.write_text(text)
            survivors += not found
            print(f"{number:2} {mutant.what}: {found or 'SURVIVES'}", flush=True)
    print(f"{survivors} of {len(numbers) or len(MUTANTS)} survive")
    return survivors


if __name__ == "__main__":
    sys.exit(min(1, main([int(word) for word in sys.argv[1:]])))
