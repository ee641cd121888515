"""The operation `report`: a test, and a cold call that notes what it saw in the site's words."""

from __future__ import annotations

from eumu.exec.jit.codegen.access import cold_is_right, cold_vector
from eumu.exec.jit.codegen.kernel import LOWERINGS, Kernel
from eumu.exec.jit.codegen.registers import bits_of_mask
from eumu.exec.jit.interface import REPORT
from eumu.exec.jit.llvm.emit import lane_type, scalar_type
from eumu.exec.jit.llvm.layout import Context, ReportWord
from eumu.ir import Value
from eumu.ir.operations.messages import Report

# The first thread in launch order stays; of its reports the first, as the interpreter has it.
_NOTE = f"""
define internal void @{REPORT}(ptr %ctx, ptr %site, i64 %lanes, i64 %address, i64 %surface)
    noinline cold {{
  %count = load i64, ptr %site
  %more = add i64 %count, 1
  store i64 %more, ptr %site
  %group.p = getelementptr i64, ptr %ctx, i64 {int(Context.GROUP)}
  %group = load i64, ptr %group.p
  %thread.p = getelementptr i64, ptr %ctx, i64 {int(Context.THREAD)}
  %thread = load i64, ptr %thread.p
  %old.group.p = getelementptr i64, ptr %site, i64 {int(ReportWord.GROUP)}
  %old.group = load i64, ptr %old.group.p
  %old.thread.p = getelementptr i64, ptr %site, i64 {int(ReportWord.THREAD)}
  %old.thread = load i64, ptr %old.thread.p
  %fresh = icmp eq i64 %count, 0
  %same = icmp eq i64 %group, %old.group
  %before = icmp ult i64 %thread, %old.thread
  %earlier.thread = and i1 %same, %before
  %earlier.group = icmp ult i64 %group, %old.group
  %earlier = or i1 %earlier.thread, %earlier.group
  %first = or i1 %fresh, %earlier
  br i1 %first, label %note, label %end
note:
  store i64 %group, ptr %old.group.p
  store i64 %thread, ptr %old.thread.p
  %lanes.p = getelementptr i64, ptr %site, i64 {int(ReportWord.LANES)}
  store i64 %lanes, ptr %lanes.p
  %address.p = getelementptr i64, ptr %site, i64 {int(ReportWord.ADDRESS)}
  store i64 %address, ptr %address.p
  %surface.p = getelementptr i64, ptr %site, i64 {int(ReportWord.SURFACE)}
  store i64 %surface, ptr %surface.p
  br label %end
end:
  ret void
}}
"""


@LOWERINGS.on(Report)
def _report(k: Kernel, op: Report) -> None:
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


def _first(k: Kernel, value: Value, m: Value, bits: str) -> str:
    """The lane of a value that is the first one of the bits, as i64."""
    e, scalar = k.e, scalar_type(value.type)
    one = cold_vector(k.lanes(value), k.lanes(m))
    if value.width > 1:
        e.declarations["llvm.cttz.i64"] = "declare i64 @llvm.cttz.i64(i64, i1)"
        lane = e.op(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)")
        one = e.op(f"extractelement {lane_type(value.type, value.width)} {one}, i64 {lane}")
    return one if scalar == "i64" else e.op(f"zext {scalar} {one} to i64")
