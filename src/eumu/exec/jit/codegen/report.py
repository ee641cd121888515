"""The operation `report`: a test, and a cold call that notes what it saw in the site's words."""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.codegen.access import cold_is_right, cold_vector
from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering
from eumu.exec.jit.codegen.registers import bits_of_mask
from eumu.exec.jit.interface import REPORT
from eumu.exec.jit.llvm.emit import lane_type, scalar_type
from eumu.exec.jit.llvm.functions import FunctionBuilder
from eumu.exec.jit.llvm.layout import Context, ReportWord
from eumu.ir import Value
from eumu.ir.operations.messages import Report


def _note() -> str:
    """Keep the first report of the first thread in launch order, as the interpreter does."""
    parameters = "ptr %ctx, ptr %site, i64 %lanes, i64 %address, i64 %surface"
    f = FunctionBuilder(f"internal void @{REPORT}({parameters}) noinline cold")
    words = {word: f.word("%site", word) for word in ReportWord}
    group, thread = (f.context(word).get() for word in (Context.GROUP, Context.THREAD))
    known_group, known_thread = (words[w].get() for w in (ReportWord.GROUP, ReportWord.THREAD))
    is_first = f.equal(words[ReportWord.COUNT].get(), 0)
    words[ReportWord.COUNT].add(1)
    is_earlier = group < known_group
    is_earlier |= f.equal(group, known_group) & (thread < known_thread)
    with f.when(is_first | is_earlier):
        words[ReportWord.GROUP].set(group)
        words[ReportWord.THREAD].set(thread)
        for word in (ReportWord.LANES, ReportWord.ADDRESS, ReportWord.SURFACE):
            words[word].set(f.number(f"%{word.name.lower()}"))
    f.do("ret void")
    return f.text()


_NOTE: Final = _note()


@LOWERINGS.on(Report)
def _report(k: KernelLowering, op: Report) -> None:
    e, (m, *at) = k.e, op.args
    e.support.setdefault(REPORT, _NOTE)
    bits = bits_of_mask(e, k.vector(m), m.width, 64)
    for value in at:
        if not cold_is_right(k.lanes(value), k.lanes(m)):
            k.vector(value)  # here, as the cold path follows
    some, bad, on = e.op(f"icmp ne i64 {bits}, 0"), e.name("bad"), e.name("on")
    e.do(f"br i1 {some}, label %{bad}, label %{on}, !prof !0")
    e.label(bad)
    site = k.site_pointer(k.site(op.inst, REPORT))
    address, surface = [*(_first(k, value, m, bits) for value in at), "0", "0"][:2]
    e.do(f"call void @{REPORT}(ptr %ctx, ptr {site}, i64 {bits}, i64 {address}, i64 {surface})")
    e.do(f"br label %{on}")
    e.label(on)


def _first(k: KernelLowering, value: Value, m: Value, bits: str) -> str:
    """The lane of a value that is the first one of the bits, as i64."""
    e, scalar = k.e, scalar_type(value.type)
    one = cold_vector(k.lanes(value), k.lanes(m))
    if value.width > 1:
        e.declarations["llvm.cttz.i64"] = "declare i64 @llvm.cttz.i64(i64, i1)"
        lane = e.op(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)")
        one = e.op(f"extractelement {lane_type(value.type, value.width)} {one}, i64 {lane}")
    return one if scalar == "i64" else e.op(f"zext {scalar} {one} to i64")
