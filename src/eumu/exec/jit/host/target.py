"""The host's processor, and LLVM text to machine code."""

from __future__ import annotations

import os
import re
import threading
from contextlib import nullcontext, suppress
from dataclasses import replace
from enum import Enum
from functools import cache
from itertools import takewhile
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm

from eumu.errors import InternalError
from eumu.exec.jit.interface import HostTarget
from eumu.exec.jit.llvm import bit_merges, clamped_numbers, loaded_elements
from eumu.exec.jit.llvm.constants import refuse_wide
from eumu.records import dataclass

LOCK: Final = threading.RLock()  # who calls LLVM holds it
# llvmlite's own, which each of its calls holds, those that free what nobody needs any more, too.
_LLVMLITE: Final = getattr(llvm.ffi.lib, "_lock", None) or nullcontext()
_MOST_PHIS: Final = 90
_MOST_MERGES: Final = 10  # of variables with blocks, for each line
_LABEL: Final = re.compile(r"^[\w.]+:", re.MULTILINE)
_CACHE: Final = 16 << 20  # bytes, where the system does not tell
# A frame of more than a page touches each: none reaches over what guards the end of a stack.
_DEFINE: Final = re.compile(r"^(define .*?)((?: !\w+ !\d+)* \{)$", re.MULTILINE)
_PROBED: Final = r'\1 "probe-stack"="inline-asm"\2'
_PART: Final = 4  # a quarter of the cache is large, as in the C library's memcpy


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor to compile for; `features` in LLVM's form, ``+avx2,-fma``.

    `effort` is that of LLVM's code generator, 0 to 3: at 0 it takes a third, and its code is slow.
    Without `numbering`, which is half of the passes' time, more values are computed again.
    `is_patient` says that nobody waits for the code, as other code runs meanwhile.
    """

    triple: str
    cpu: str
    features: str
    effort: int = 2
    numbering: bool = True
    is_patient: bool = False

    @property
    def identity(self) -> str:
        """Everything of the compiler and the processor that code depends on."""
        versions = f"{llvmlite.__version__} {llvm.llvm_version_info}"
        effort = f"{self.effort}{'' if self.numbering else ' without numbering'}"
        effort += " patient" if self.is_patient else ""
        return f"{self.triple} {self.cpu} {self.features} {effort} {versions}"

    @property
    def is_hasty(self) -> bool:
        """Whether code is made in a third of the time; it is slower then."""
        return not self.numbering

    def hasty(self) -> Processor:
        """The same machine, whose code is quickly made."""
        return replace(self, effort=0, numbering=False)

    def patient(self) -> Processor:
        """The same machine, for whose code nobody waits."""
        return replace(self, is_patient=True)

    def careful(self) -> Processor:
        """The same machine, whose code is not."""
        return Processor(self.triple, self.cpu, self.features)

    def has(self, feature: str) -> bool:
        return f"+{feature}" in self.features.split(",")

    @property
    def vector_bits(self) -> int:
        """The vector width that code is best made for."""
        if self.has("avx512f") and self.has("avx512vl"):
            return 512
        return 256 if self.has("avx") else 128

    @property
    def scatters(self) -> bool:
        """Whether dwords are updated faster by gathering and scattering than one after the other.

        So it was measured where there is FP16; on Zen 4, which has none, it is not so.
        """
        return self.has("avx512fp16") and self.vector_bits == 512

    @property
    def target(self) -> HostTarget:
        arm = self.triple.startswith(("aarch64", "arm64"))
        return HostTarget(
            is_arm=arm,
            half_conversions=arm or self.has("f16c") or self.has("avx512fp16"),
            half_arithmetic=self.has("avx512fp16") and self.vector_bits == 512,
            masked_stores=self.has("avx"),
            gathers=self.vector_bits == 512,
            scatters=self.scatters,
            octet_products=self.has("avx512vnni") and self.has("avx512vl"),
            embedded_rounding=self.vector_bits == 512,
            fenced_bytes=self.vector_bits == 512,
        )


@cache
def host() -> Processor:
    """This machine."""
    initialize()
    features = ",".join(sorted(llvm.get_host_cpu_features().flatten().split(",")))
    return Processor(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


@cache
def initialize() -> None:
    """Once, before anything else is asked of LLVM."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def _machine(processor: Processor) -> Any:
    initialize()
    return llvm.Target.from_triple(processor.triple).create_target_machine(
        cpu=processor.cpu,
        features=processor.features,
        opt=processor.effort,
        reloc="pic",
        codemodel="default",
    )


def large() -> int:
    """Bytes from which on stores into an array may pass by the caches."""
    names = getattr(os, "sysconf_names", {})
    cache_bytes = os.sysconf("SC_LEVEL3_CACHE_SIZE") if "SC_LEVEL3_CACHE_SIZE" in names else 0
    return (cache_bytes if cache_bytes > 0 else _CACHE) // _PART


def attributes(processor: Processor) -> str:
    """Function attributes: #0 of the thread function, #1 of what its callers lose no register to.

    LLVM clears the upper halves of vector registers where a function returns that has used them,
    also where its calling convention is to keep them.
    """
    width = processor.vector_bits
    names = ["nounwind", '"no-trapping-math"="true"']
    if width > 256:  # without both, LLVM halves 512-bit vectors
        names += [f'"prefer-vector-width"="{width}"', f'"min-legal-vector-width"="{width}"']
    features = processor.features
    if not processor.target.is_arm:
        features = f"{features},-vzeroupper".lstrip(",")
    keeps = f'nounwind "target-features"="{features}"'
    return f"attributes #0 = {{ {' '.join(names)} }}\nattributes #1 = {{ {keeps} }}\n"


class Effort(Enum):
    """What a module is worth."""

    FULL = "full"
    LONG = "long"  # nothing whose time grows faster than the module
    QUICK = "quick"  # slower code, made in a fifth of the time


def optimised(text: str, processor: Processor, effort: Effort = Effort.FULL) -> Any:
    """The LLVM module of a text, after the pass pipeline."""
    machine = _machine(processor)
    refuse_wide(text)
    if effort is Effort.QUICK:
        text = clamped_numbers.frozen(loaded_elements.frozen(text))
    try:
        module = llvm.parse_assembly(_DEFINE.sub(_PROBED, text) + attributes(processor))
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"the fast engine made invalid LLVM: {error}") from error
    module.triple = processor.triple
    module.data_layout = str(machine.target_data)
    in_memory = effort is Effort.QUICK and _merges_much(text)
    _optimise(module, machine, effort, in_memory=in_memory)
    if not processor.has("avx512f"):
        return module
    before = str(module)
    whole = loaded_elements.parts_frozen(before)
    changed = bit_merges.fenced(whole) or whole
    return module if changed == before else llvm.parse_assembly(changed)


def _merges_much(text: str) -> bool:
    """Whether there are many variables and many blocks: quickly made code copies each variable
    that is a value at the end of each block, and so a kernel of 27 000 lines took 4 MB."""
    merges = text.count(" = alloca ") * len(_LABEL.findall(text))
    return merges > _MOST_MERGES * text.count("\n")


def _optimise(module: Any, machine: Any, effort: Effort, *, in_memory: bool) -> None:
    """Half the time of LLVM's -O1, which does not make faster code of these modules.

    Of a quick one no values are numbered, and no instructions are combined: both take most of the
    time.  Variables that are `in_memory` stay there.  New GVN looks at a value again when another
    phi node turns out to be no copy, and ends the process at the hundredth time; functions with as
    many of them get what -O1 has, but long ones get nothing.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(machine, options)
    whole = llvm.create_new_module_pass_manager()
    whole.add_always_inliner_pass()
    whole.run(module, builder)
    first = llvm.create_new_function_pass_manager()
    if not in_memory:
        first.add_sroa_pass()
    if effort is not Effort.QUICK:
        first.add_instruction_combine_pass()
    first.add_simplify_cfg_pass()
    numbering = llvm.create_new_function_pass_manager()
    numbering.add_new_gvn_pass()
    last = llvm.create_new_function_pass_manager()
    if effort is not Effort.QUICK:
        last.add_dead_store_elimination_pass()
        last.add_instruction_combine_pass()
        last.add_aggressive_dce_pass()
        last.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            first.run(function, builder)
            if effort is not Effort.QUICK and _phis(function) <= _MOST_PHIS:
                numbering.run(function, builder)
            elif effort is Effort.FULL:
                builder.getFunctionPassManager().run(function, builder)
            last.run(function, builder)


def _phis(function: Any) -> int:
    """How many phi nodes a function has; they come first in their blocks."""
    return sum(
        1
        for block in function.blocks
        for _ in takewhile(lambda i: i.opcode == "phi", block.instructions)
    )


def _hold() -> None:
    """Wait for what LLVM does: a child of a fork has no thread that would end it."""
    LOCK.acquire()
    _LLVMLITE.__enter__()


def _let_go() -> None:
    with suppress(RuntimeError):  # Ctrl-C came while it was waited for
        _LLVMLITE.__exit__(None, None, None)
        LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)


def compile_object(text: str, processor: Processor, effort: Effort = Effort.FULL) -> bytes:
    """Machine code of a module, as an object file."""
    with LOCK:
        if not processor.numbering:
            effort = Effort.QUICK
        if effort is Effort.QUICK:
            processor = replace(processor, effort=0)
        module = optimised(text, processor, effort)
        code: bytes = _machine(processor).emit_object(module)
        return code


def assembly(text: str, processor: Processor) -> str:
    """Machine code in readable form, for looking at."""
    with LOCK:
        code: str = _machine(processor).emit_assembly(optimised(text, processor))
        return code
