"""What this host can do: arithmetic and memory per core, measured with loops of our own."""

from __future__ import annotations

import ctypes
import os
import platform
import time
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

_CHAINS = 12  # independent sums, enough to hide the latency of a multiply-add

# Bytes of two arrays that are read and one of them written, from about L2 to beyond the caches.
FOOTPRINTS = (1 << 20, 1 << 23, 1 << 25, 1 << 28)


def _lanes(features: str) -> int:
    return 16 if "+avx512f" in features else 8 if "+avx" in features else 4


def _sums(lanes: int) -> str:
    """`turns` times one multiply-add in each of the chains."""
    v = f"<{lanes} x float>"
    phis = [f"%s{i} = phi {v} [ %x, %entry ], [ %t{i}, %loop ]" for i in range(_CHAINS)]
    adds = [
        f"%t{i} = call {v} @llvm.fma.v{lanes}f32({v} %s{i}, {v} %y, {v} %x)" for i in range(_CHAINS)
    ]
    totals = ["%u0 = fadd " + v + " %t0, %t1"]
    totals += [f"%u{i} = fadd {v} %u{i - 1}, %t{i + 1}" for i in range(1, _CHAINS - 1)]
    return f"""
declare {v} @llvm.fma.v{lanes}f32({v}, {v}, {v})
define void @sums(ptr %place, i64 %turns) {{
entry:
  %x = load {v}, ptr %place, align 4
  %from = getelementptr i8, ptr %place, i64 64
  %y = load {v}, ptr %from, align 4
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %m, %loop ]
  {chr(10).join(phis)}
  {chr(10).join(adds)}
  %m = add i64 %n, 1
  %more = icmp ult i64 %m, %turns
  br i1 %more, label %loop, label %end
end:
  {chr(10).join(totals)}
  store {v} %u{_CHAINS - 2}, ptr %place, align 4
  ret void
}}
"""


def _stream(lanes: int) -> str:
    """y = y + x over `bytes` bytes of each."""
    v, step = f"<{lanes} x float>", 4 * lanes
    body = []
    for i in range(4):
        body += [
            f"%o{i} = add i64 %n, {i * step}",
            f"%p{i} = getelementptr i8, ptr %x, i64 %o{i}",
            f"%q{i} = getelementptr i8, ptr %y, i64 %o{i}",
            f"%a{i} = load {v}, ptr %p{i}, align 4",
            f"%b{i} = load {v}, ptr %q{i}, align 4",
            f"%c{i} = fadd {v} %a{i}, %b{i}",
            f"store {v} %c{i}, ptr %q{i}, align 4",
        ]
    return f"""
define void @stream(ptr %x, ptr %y, i64 %bytes) {{
entry:
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %m, %loop ]
  {chr(10).join(body)}
  %m = add i64 %n, {4 * step}
  %more = icmp ult i64 %m, %bytes
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


class Loops:
    """The two loops as machine code."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features().flatten()
        self.lanes = _lanes(features)
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=features, opt=2
        )
        module = llvm.parse_assembly(_sums(self.lanes) + _stream(self.lanes))
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        self.sums = self._function("sums", pointer, size)
        self.stream = self._function("stream", pointer, pointer, size)

    def _function(self, name: str, *types: Any) -> Any:
        return ctypes.CFUNCTYPE(None, *types)(self._engine.get_function_address(name))

    def flops(self) -> float:
        """Most float operations a second of one core."""
        place, turns = np.full(64, 0.5, np.float32), 1 << 21
        seconds = _least(lambda: self.sums(place.ctypes.data, turns))
        return 2 * self.lanes * _CHAINS * turns / seconds

    def bandwidth(self, footprint: int) -> float:
        """Bytes a second that one core moves, counting two reads and a write."""
        size = footprint // 2
        x, y = (np.ones(size // 4, np.float32) for _ in range(2))
        repeats = max(1, (1 << 26) // size)

        def run() -> None:
            for _ in range(repeats):
                self.stream(x.ctypes.data, y.ctypes.data, size)

        return 3 * size * repeats / _least(run)


def _least(run: Any) -> float:
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def measure() -> dict[str, Any]:
    """Facts of the host; rates are of one core."""
    loops = Loops()
    return {
        "cpu": _cpu_name(),
        "llvm_cpu": llvm.get_host_cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1,
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "flops": loops.flops(),
        "bandwidth": {str(size): loops.bandwidth(size) for size in FOOTPRINTS},
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def bound(host: dict[str, Any], flops: float, bytes: float) -> tuple[float, str]:
    """The least CPU seconds by arithmetic and by memory, and which of them it is."""
    footprint = min(map(int, host["bandwidth"]), key=lambda size: abs(size - bytes))
    by_memory = bytes / host["bandwidth"][str(footprint)]
    by_arithmetic = flops / host["flops"]
    if by_memory >= by_arithmetic:
        return by_memory, "memory"
    return by_arithmetic, "arithmetic"


if __name__ == "__main__":
    print(measure())
