"""Every vector instruction of the registry, by pairs of choices, on both engines and by an oracle.

The engines must agree bit by bit, lanes that write nothing included; where `oracle/meanings.py`
says what a lane computes, both must give that.  The text is read, printed, written to an object
file and read again.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from eumu import binary
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.host.target import host
from eumu.fuzz.vocabulary import every_vector, is_executed, is_vector, name
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.platforms import platform
from eumu.text import parse, print_module
from eumu.types import BOOL, Type, integer
from oracle.exact import FORMATS
from oracle.meanings import Context, modified, result
from oracle.pairwise import ACTIVE, FILL, FLAG_BEFORE, Case, Source, cases, kernel, lines
from visa_thread import execute, variables

BATCH = 48  # instructions of a kernel
# Exact, and checked elsewhere: `tests/isa/test_formats.py`, run files.  What is not exact has no
# lane by lane oracle here either: `tests/isa/test_mathlib.py`, `tests/runs/shaders.visa`.
WITHOUT_ORACLE = {"fcvt", "sad2", "sad2add", "setp"}
Outputs = dict[str, bytes]
EVERY = [pytest.param(o, d, id=f"{name(o)}-{d}") for o, d in every_vector()]


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")


def run(numbered: list[tuple[int, Case]], device: str, engine: Engine) -> Outputs:
    """What every destination holds at the end."""
    main = parse(kernel(numbered), "pairwise").kernels[0]
    known = variables(main)
    before = {n: bytes([FILL]) * v.size for n, v in known.items() if n[0] in "DC"}
    for number, case in numbered:
        for k, source in enumerate(case.sources):
            if source.kind != "i":
                variable = known[f"S{k}_{number}"]
                lanes = source.lanes * (variable.count // len(source.lanes) + 1)
                size = source.type.size
                data = b"".join(x.to_bytes(size, "little") for x in lanes[: variable.count])
                before[variable.name] = data
    results = [n for n in known if n[0] in "DCB"]
    return execute(main, before, results, device, engine, ACTIVE)


# Where a negated unsigned dword has 33 bits: Intel's finalizer makes one of a 64-bit number.
_WIDE = frozenset({"add", "asr", "cmp", "max", "min", "mov", "sel", "shl", "shr"})


def _written(type: Type, source: Source) -> Type:
    """The type of a source for the instruction; constants of bytes are words."""
    if source.kind != "i" or not type.is_int:
        return type
    return integer(max(16, type.bits), signed=type.is_signed)


def context(case: Case, k: int) -> tuple[Context, tuple[int, ...]]:
    """What the oracle needs to know of a lane, and its sources."""
    wide = case.opcode.mnemonic in _WIDE
    pairs = [modified(*case.lane(s, k), s.modifier, wide=wide) for s in case.sources]
    chosen = case.guarded()[k]
    types, numbers = zip(*pairs, strict=True)
    return (
        Context(
            *(case.signature.dst, types, case.saturate, case.relation, case.table, k, chosen),
            written=tuple(_written(case.lane(s, k)[0], s) for s in case.sources),
            minus=any("-" in s.modifier for s in case.sources),
        ),
        numbers,
    )


def expected(case: Case, number: int, grf: int) -> dict[str, dict[int, int]] | None:
    """Per destination the bits of each element, those that are not written aside."""
    wanted: dict[str, dict[int, int]] = {}
    stride = 2 if case.place == "2" else 1
    for k, on in enumerate(case.enabled()):
        found = result(name(case.opcode), *context(case, k))
        if found is None:
            return None
        if not on:
            continue
        wanted.setdefault(f"D{number}", {})[k * stride] = found[0]
        if len(found) > 1 and case.opcode.mnemonic == "madw":
            above = -(-4 * case.size // grf) * grf // 4
            wanted[f"D{number}"][above + k] = found[1]
        elif len(found) > 1:
            wanted.setdefault(f"C{number}", {})[k] = found[1]
    return wanted


def check(case: Case, number: int, got: Outputs, device: str) -> str:
    """The first lane that is not what the oracle says, in words."""
    wanted = expected(case, number, platform(device).grf_bytes)
    if wanted is None:
        vague = case.opcode.fidelity.level != "exact"
        return "" if vague or name(case.opcode) in WITHOUT_ORACLE else "no oracle"
    if case.signature.dst is BOOL:
        return _check_flag(case, wanted.get(f"D{number}", {}), got[f"B{number}"])
    type = case.signature.dst
    for variable in (f"D{number}", f"C{number}"):
        data = got.get(variable, b"")
        fill = int.from_bytes(bytes([FILL]) * type.size, "little")
        for k in range(len(data) // type.size):
            bits = int.from_bytes(data[k * type.size : (k + 1) * type.size], "little")
            want = wanted.get(variable, {}).get(k, fill)
            if bits != want and not _both_nan(type.name, bits, want):
                return f"{variable}[{k}] is {bits:#x}, expected {want:#x}"
    return ""


def _check_flag(case: Case, wanted: dict[int, int], data: bytes) -> str:
    bits = int.from_bytes(data, "little")
    want = FLAG_BEFORE
    for k, bit in wanted.items():
        place = 1 << (case.first + k)
        want = want | place if bit else want & ~place
    return "" if bits == want else f"the predicate is {bits:#x}, expected {want:#x}"


def _both_nan(type: str, x: int, y: int) -> bool:
    return type in FORMATS and FORMATS[type].is_nan(x) and FORMATS[type].is_nan(y)


def _same(case: Case, number: int, x: Outputs, y: Outputs) -> bool:
    """Equal bytes, NaNs aside."""
    type = case.signature.dst
    for variable in (f"D{number}", f"C{number}", f"B{number}"):
        a, b = x.get(variable, b""), y.get(variable, b"")
        if a != b and (type.name not in FORMATS or variable[0] != "D"):
            return False
        for k in range(0, len(a), max(1, type.size)):
            p, q = (int.from_bytes(v[k : k + type.size], "little") for v in (a, b))
            if p != q and not _both_nan(type.name, p, q):
                return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("opcode", "device"), EVERY)
def test_by_pairs(opcode: Opcode, device: str) -> None:
    jit = Jit(workers=1, processor=replace(host(), effort=0))
    made = list(enumerate(cases(opcode, device)))
    for start in range(0, len(made), BATCH):
        numbered = made[start : start + BATCH]
        want, got = (run(numbered, device, engine) for engine in (Interpreter(), jit))
        for number, case in numbered:
            line = list(lines(case, number))[-1]
            wrong = check(case, number, want, device)
            assert not wrong, f"{line}: {wrong} (expected by tests/oracle/meanings.py)\n{case}"
            assert _same(case, number, want, got), f"{line}: the engines differ\n{case}"


@pytest.mark.parametrize(("opcode", "device"), EVERY)
def test_text_and_object_file(opcode: Opcode, device: str) -> None:
    grf = platform(device).grf_bytes
    made = cases(opcode, device)[:BATCH]
    if not _has_place_for_a_guard(opcode):
        made = [replace(case, guard="") for case in made]
    module = parse(kernel(list(enumerate(made))), "pairwise", grf)
    printed = print_module(module)
    assert print_module(parse(printed, "again", grf)) == printed
    again = binary.read(binary.write(module, grf), "object", grf)
    assert _instructions(print_module(again)) == _instructions(printed)


def _has_place_for_a_guard(opcode: Opcode) -> bool:
    """The object file has none in `min` and `max`, whose text may have one."""
    assert opcode.slots is not None
    return any(s.field is not None and s.field.name in ("pred", "cond") for s in opcode.slots)


def _instructions(text: str) -> list[str]:
    """The lines of instructions, without the names that an object file does not keep."""
    return [line.split()[0] for line in text.splitlines() if line.startswith("    ")]


def test_every_pair_of_choices_is_met() -> None:
    """Of an instruction with everything: what one case may have beside what another has."""
    (add,) = VISA.find("add")
    found = cases(add, "pvc")
    choices = [c.choices() for c in found]
    forms = {v for c in choices for k, v in c if k == "guard"}
    assert len(forms) == 7
    modifiers = {v for c in choices for k, v in c if k == "src0 modifier"}
    assert modifiers == {"", "-", "abs", "-abs"}
    for form in forms:
        for modifier in modifiers:
            for saturated in ("True", "False"):
                wanted = {("guard", form), ("src0 modifier", modifier)}
                assert any(wanted <= c for c in choices), wanted
                wanted = {("guard", form), ("sat", saturated)}
                assert any(wanted <= c for c in choices), wanted
    assert {v for c in choices for k, v in c if k == "mask"} >= {"M1", "M1_NM", "M5", "M5_NM"}


def test_every_executed_vector_instruction_is_here() -> None:
    here = {name(opcode) for opcode, _ in every_vector()}
    missing = {name(o) for o in VISA if is_vector(o) and is_executed(o)} - here
    assert not missing, f"no platform has {sorted(missing)}"


def test_a_wrong_lane_is_noticed() -> None:
    """The oracle of another instruction finds fault with what `add` gives."""
    (add,) = VISA.find("add")
    (number, case) = next(
        (k, c) for k, c in enumerate(cases(add, "pvc")) if any(c.enabled()) and c.size > 8
    )
    got = run([(number, case)], "pvc", Interpreter())
    assert not check(case, number, got, "pvc")
    (avg,) = VISA.find("avg")
    other = replace(case, signature=replace(case.signature, opcode=avg))
    assert check(other, number, got, "pvc")
