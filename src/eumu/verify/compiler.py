"""Documented rules that Intel's own compiler breaks: they are notes, never errors.

Its front end does not check them, and the hardware that it compiles for does without them.  Each
line says what the compiler (IGC 1.0.12504) does, or the older one for CM, whose object files are in
public repositories.
"""

from __future__ import annotations

from typing import Final

BROKEN_BY_THE_COMPILER: Final[dict[str, str]] = {
    "region-span": "64-bit and SIMD32 regions of up to four registers; it splits them itself.",
    "scalar-mask": "Every kernel ends with `ret (M1, 1)`.",
    "types-emitted": "Shifts, bit reversal, products of bytes, first bits and copies of predicates"
    " on whatever type is at hand; sums of 64 bits where the finalizer must emulate them; the CM"
    " compiler's `movs` of :d; functions of :bf by IGC 2.x.",
    "payload-type-emitted": "Coordinates of images of type :d; blocks of bytes that go as dwords;"
    " by IGC 2.x levels of detail of type :f.",
    "sampler-parameter-emitted": "Coordinates of type :d for images that are read.",
    "region-bounds-emitted": "A function's copy of r0 on pvc is declared with eight dwords.",
    "operand-reach-emitted": "`intel_sub_group_block_write` of less than an oword.",
    "exec-size-emitted": "`madw` of 16 lanes where registers have 32 bytes;"
    " the CM compiler's `typed_atomic` of one lane.",
    "atomic-type-emitted": "`svm_atomic` on :d for unsigned operations, on :ud for floats.",
    "pause-counter-emitted": "`__builtin_IB_eu_thread_pause` writes %tsc on Gen8, Gen9 and since"
    " Xe2, too.",
    "setp-mask": "The CM compiler sets predicates of scalars under the execution mask.",
    "operand-class-emitted": "IGC 2.x clears address variables with `mov`.",
    "saturation-emitted": "The CM compiler writes `asr.sat`.",
    "predicate-size-emitted": "IGC 1.x declares 16 bits of an undefined condition in SIMD32 code.",
    "modifier-emitted": "`rotate` of a negated or absolute number, or by one.",
    "alias-predefined": "An alias of %hw_id where private memory is found by the thread's number.",
    "lsc-slm-caching": "IGC 2.x stores local memory with `.wb.wb` on DG2.",
}
