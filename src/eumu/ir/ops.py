"""Every operation of the IR, one row each: the contract between lowering and engines.

Notation of a signature: `x` a value, `m` a mask, the result after the arrow.  All lane operands of
an operation have the same width unless a row says otherwise; there is no implicit conversion.

Integer arithmetic wraps.  Float operations round as their `rounding` attribute says (a
:class:`Rounding`; `CR0` until the pass `modes` has folded it) and keep denormals: flushing is the
explicit operation `flush`.  A NaN result has no specified payload, but `neg`, `abs` and moves keep
every bit.  Lanes whose mask bit is clear keep their old bytes in every `write`, and never touch
memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eumu.ir.function import Function


class Rounding(Enum):
    """How a float operation rounds; the first four in the encoding of cr0 bits 5:4."""

    RNE = 0  # to nearest even
    RU = 1  # toward +infinity
    RD = 2  # toward -infinity
    RTZ = 3  # toward zero
    CR0 = "cr0"  # what %cr0 says at this point
    KEPT = "kept"  # what it said before, if a register keeps that; else as CR0


class Space(Enum):
    """An address space of `load`, `store` and `atomic`."""

    FLAT = "flat"  # uq device virtual addresses
    SLM = "slm"  # ud byte offsets in the thread group's shared local memory
    SCRATCH = "scratch"  # ud byte offsets in the thread's own scratch space
    SURFACE = "surface"  # ud byte offsets in the buffer surface that an index names
    # Which bits of SLM and SCRATCH were written: spaces of the same size that start as zeros.
    SLM_WRITTEN = "slm_written"
    SCRATCH_WRITTEN = "scratch_written"


# Spaces whose contents nothing defines when a group starts, and the spaces that say what is.
WRITTEN_SPACES = {Space.SLM: Space.SLM_WRITTEN, Space.SCRATCH: Space.SCRATCH_WRITTEN}


class Form(Protocol):
    """How the messages of a `send` look; frozen data whose text says all of it.

    `stretches` are the bytes of each stretch of registers that is sent, `answer` those of the
    registers of the answer, 0 for none.
    """

    @property
    def stretches(self) -> tuple[int, ...]: ...

    @property
    def answer(self) -> int: ...

    def function(self, ex_desc: int, desc: int) -> Function:
        """One block with the GRF roots `src0`, `src1` and `dst` and the flag root `mask`.

        Raises `Unsupported` for a message that is not modelled or does not fit.
        """
        ...

    def describe(self, ex_desc: int, desc: int) -> str:
        """Both descriptors, decoded, in words."""
        ...


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One row: argument classes, required attributes, and the meaning in a line."""

    signature: str
    attrs: tuple[str, ...] = ()
    doc: str = ""
    effect: bool = False  # must be kept although no result is used

    def __str__(self) -> str:
        return f"{self.signature}: {self.doc}"


OPS: dict[str, OpSpec] = {
    # -- constants and lane shape
    "const": OpSpec("-> x", ("lanes",), "lanes: tuple of bit patterns, or one for every lane"),
    "splat": OpSpec("x1 -> x", (), "one lane repeated"),
    "shuffle": OpSpec("x -> x'", ("lanes",), "result lane k is lane lanes[k]"),
    "concat": OpSpec("x.. -> x'", (), "lanes of all arguments one after the other"),
    "bitcast": OpSpec("x -> x'", (), "the same bytes as another type; width scales with the size"),
    # -- state
    "read": OpSpec("-> x", ("root", "region"), "elements of a root (not of a flag)"),
    "write": OpSpec("x m ->", ("root", "region"), "elements of a root", effect=True),
    "partner": OpSpec(
        "-> x",
        ("root", "region"),
        "elements of a root of the other thread of the pair: 2k and 2k+1 of a group are one",
    ),
    "read_flag": OpSpec("-> m", ("root", "offset"), "flag bits from bit `offset`"),
    "write_flag": OpSpec("m m ->", ("root", "offset"), "second mask says which bits", effect=True),
    "read_indirect": OpSpec(
        "ud [m] -> x",
        ("offset", "vstride", "row", "hstride"),
        "one register-space address per `row` elements, or one for all (then rows are `vstride`"
        " apart); strides in bytes; elements whose mask bit is clear read as 0, as do those that"
        " are not inside one GRF root, which are undefined",
    ),
    "write_indirect": OpSpec(
        "ud x m ->",
        ("offset", "hstride"),
        "one address; an element in the mask that is not inside one GRF root is a fault",
        effect=True,
    ),
    "root_address": OpSpec("-> ud1", ("root", "offset"), "register-space address of a GRF root"),
    "exec_mask": OpSpec("-> m", ("offset",), "lanes of this thread now executing, from `offset`"),
    "symbol": OpSpec("-> uq1", ("name",), "run-time address of a function or data symbol"),
    "special": OpSpec(
        "-> x",
        ("name",),
        "run-time fact: timestamp (instructions run), thread_id (in the group), group_threads,"
        " hardware_thread (no two threads that run at once share one), fftid (the same, below 512),"
        " eu_id, subslice_id, slice_id",
    ),
    # -- integer and bits (and, or, xor, not, select work on masks too)
    "add": OpSpec("x x -> x", ("rounding",), "sum"),
    "sub": OpSpec("x x -> x", ("rounding",), "difference"),
    "mul": OpSpec("x x -> x", ("rounding",), "product; integers keep the low half"),
    "mul_high": OpSpec("x x -> x", (), "high half of the integer product"),
    "div": OpSpec("x x -> x", ("rounding",), "quotient; ints truncate, x/0: all ones, MIN/-1: MIN"),
    "rem": OpSpec("x x -> x", (), "integer remainder, sign of the dividend; x%0 is x, MIN%-1: 0"),
    "and": OpSpec("x x -> x"),
    "or": OpSpec("x x -> x"),
    "xor": OpSpec("x x -> x"),
    "not": OpSpec("x -> x"),
    "shl": OpSpec("x x -> x", (), "count taken modulo the width in bits"),
    "shr": OpSpec("x x -> x", (), "shift right: arithmetic on signed types, logical on unsigned"),
    "rotl": OpSpec("x x -> x", (), "rotate left, count modulo the width in bits"),
    "popcount": OpSpec("x -> x"),
    "clz": OpSpec("x -> x", (), "leading zeros; the width in bits for 0"),
    "ctz": OpSpec("x -> x", (), "trailing zeros; the width in bits for 0"),
    "bitreverse": OpSpec("x -> x"),
    # -- integer or float
    "neg": OpSpec("x -> x", (), "integers wrap; floats flip the sign bit, NaN included"),
    "abs": OpSpec("x -> x", (), "integers wrap; floats clear the sign bit"),
    "min": OpSpec("x x -> x", (), "x < y or y is NaN: x, else y"),
    "max": OpSpec("x x -> x", (), "x >= y or y is NaN: x, else y"),
    "cmp": OpSpec("x x -> m", ("rel",), "eq ne lt le gt ge; with a NaN only ne holds"),
    "select": OpSpec("m x x -> x", (), "mask ? first : second"),
    "convert": OpSpec(
        "x -> x'",
        ("saturate", "rounding"),
        "int to int truncates or (saturate) clamps; float to int rounds toward zero, clamps, NaN is"
        " 0; int to float and float to float round",
    ),
    # -- float
    "fma": OpSpec("x x x -> x", ("rounding",), "x*y+z with one rounding"),
    "sqrt": OpSpec("x -> x", ("rounding",), "correctly rounded"),
    "round": OpSpec("x -> x", ("rounding",), "to an integral value; keeps the sign of zero"),
    "flush": OpSpec("x -> x", (), "a denormal becomes zero of its sign"),
    "dot": OpSpec(
        "x b a -> x",
        ("rows", "group"),
        "sums of products of small elements, `group` (g) at a time.  x has M=rows times N lanes, b"
        " D*N*g elements, a M*D*g or (a group for each column) M*D*N*g; row r, column i of the"
        " result is x[r,i] + sum over d, then j, ascending, of b[d,i,j] * a[r,d,(i,)j].  Integers"
        " (x ud or d, the others ub or b, each by its own sign) wrap; floats (x f, the others hf,"
        " bf or f) are a chain of fused multiply-adds, rounded to nearest even, denormals kept",
    ),
    # -- masks
    "any": OpSpec("m -> m1", (), "some lane is set"),
    "all": OpSpec("m -> m1", (), "every lane is set"),
    "mask_bits": OpSpec("m -> ud1", (), "lane k becomes bit k; at most 32 lanes"),
    "bits_mask": OpSpec("ud1 -> m", (), "bit k becomes lane k"),
    # -- memory; the last argument of a SURFACE access is the surface index (ud1)
    "load": OpSpec(
        "a m [s] -> x..",
        ("space", "type", "count"),
        "lane n: `count` consecutive elements from address a[n], result v has element v;"
        " lanes whose mask bit is clear read as 0",
        effect=True,
    ),
    "store": OpSpec(
        "a m x.. [s] ->",
        ("space", "count"),
        "lane n: argument v goes to element v at a[n]; lanes in ascending order",
        effect=True,
    ),
    "load_block": OpSpec(
        "a1 m1 [s] -> x", ("space",), "consecutive elements; 0 if the mask is off", effect=True
    ),
    "store_block": OpSpec("a1 m1 x [s] ->", ("space",), "consecutive elements", effect=True),
    "atomic": OpSpec(
        "a m [x [y]] [s] -> x",
        ("space", "type", "operation"),
        "per lane in ascending order, returns the old value (predec: the new one): add sub inc dec"
        " predec and or xor xchg load; min max as the operations above, cmpxchg (x new, y compare)"
        " compares as `cmp eq`; float add rounds to nearest even; lanes off return 0",
        effect=True,
    ),
    "fence": OpSpec(
        "->", ("scope",), "orders memory of the thread; both engines are in order", True
    ),
    "report": OpSpec(
        "m ->",
        ("what", "offset"),
        "in the lanes of the mask, `what` is undefined: recorded as a finding of the instruction,"
        " and the run goes on; mask lane k is lane offset+k of the thread",
        effect=True,
    ),
    "require": OpSpec(
        "m1 ->", ("reason",), "a fault of the thread unless the lane is set", effect=True
    ),
    "message": OpSpec(
        "m x.. -> x..",
        ("record",),
        "a request that the host answers (eumu.exec.host); `record` is frozen data whose text says"
        " all of it",
        effect=True,
    ),
    "send": OpSpec(
        "ud1 ud1 m1 m ud* [ud*] [ud*] -> [ud*]",
        ("form",),
        "what the message with an extended descriptor and a descriptor does, in the lanes of m: its"
        " registers in one or two stretches, then those of the answer as they were; the result is"
        " those of the answer.  Nothing is sent if m1 is off.  `form` (see :class:`Form`)"
        " makes a function of two descriptors",
        effect=True,
    ),
}

# Atomic operations and how many data arguments each has.
ATOMICS: dict[str, int] = {
    **dict.fromkeys(("add", "sub", "and", "or", "xor", "xchg", "min", "max"), 1),
    **dict.fromkeys(("inc", "dec", "predec", "load"), 0),
    "cmpxchg": 2,
}

TERMINATORS: dict[str, str] = {
    "jump": "targets (next,): every active lane goes there",
    "branch": "args (m1,) targets (then, else): all active lanes go one way",
    "diverge": "args (m,) targets (then, else), attrs offset: active lanes split; m covers lanes"
    " offset.., active lanes outside it go to else",
    "switch": "args (ud1,) targets (case.., default): all active lanes go one way",
    "call": "args (m,) targets (callee, next), attrs offset, saves: active lanes in m enter a new"
    " frame; every other lane waits at next (if active) or where it is; all go on when the frame is"
    " empty.  The roots in `saves` are put aside when the frame is entered (their values stay) and"
    " put back when it is empty: a callee that may be active already keeps its variables there",
    "call_indirect": "args (m, uq1) targets (callee.., next), attrs offset, addresses, saves: as"
    " call, of the callee whose address is the argument's low 32 bits; a fault if none has it",
    "ret": "args (m,) targets (next,), attrs offset: active lanes in m leave the frame (or end, in"
    " the outermost one); the others go to next",
    "barrier": "targets (next,), attrs kind (sync, signal, wait, pair): the group meets here; a"
    " thread comes with all its lanes that have not ended, else it is a fault, and so is an ended"
    " thread that others wait for, or a sync met at another sync barrier.  With args it is a named"
    " barrier: a signal has (id, role, producers, consumers), ud1 each, role 0 both, 1 producer, 2"
    " consumer; a wait has (id,).  At a barrier of kind pair the two threads of a pair meet, see"
    " `partner`.  A named one opens when so many of both have signalled, and every consumer"
    " of them may pass one wait; counts that differ between threads are a fault",
    "trap": "attrs reason: an explicit fault",
}
