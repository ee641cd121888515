"""How long compiling takes: ``python bench/compiling.py [--sizes 250,1000] [--kinds loop,calls]``.

Kernels of five kinds and of growing size are launched once on the fast engine, with nothing on
disk. A table shows the CPU time of this process and of those that it starts, in seconds: reading
and lowering included, running is next to nothing. `interp` behind a figure says that the compiler
gave up, and the interpreter ran the kernel.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

import eumu

SIZES: Final = (250, 500, 1000, 2000, 5000, 10_000, 20_000)
_HEAD: Final = """.version 3.6
.kernel "k"
.decl A v_type=G type=uq num_elts=1 align=qword
.decl X v_type=G type=ud num_elts=16 align=GRF
.decl Y v_type=G type=ud num_elts=64 align=GRF
.decl AT v_type=G type=uq num_elts=16 align=GRF
.decl P1 v_type=P num_elts=16
.decl I v_type=A num_elts=1
{declarations}.input A offset=64 size=8
.kernel_attr SimdSize=16
.kernel_attr PerThreadInputSize=0
    mov (M1, 8) X(0,0)<1> 0x76543210:uv
    add (M1, 8) X(0,8)<1> X(0,0)<1;1,0> 0x8:ud
    mul (M1, 16) AT(0,0)<1> X(0,0)<1;1,0> 0x4:ud
    add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> A(0,0)<0;1,0>
    lsc_load.ugm (M1, 16) X:d32 flat[AT]:a64
"""
_TAIL: Final = "    lsc_store.ugm (M1, 16) flat[AT]:a64 X:d32\n    ret (M1, 1)\n"


def _steps(count: int) -> Iterator[str]:
    """Arithmetic on X, each value in a variable of its own; X never becomes a known number."""
    for n in range(count // 2):
        yield f"    mul (M1, 16) T{n + 1000}(0,0)<1> X(0,0)<1;1,0> {0x9E3779B1 + 2 * n:#x}:ud\n"
        yield f"    xor (M1, 16) X(0,0)<1> T{n + 1000}(0,0)<1;1,0> {0x85EBCA6B + n:#x}:ud\n"


def _temporaries(count: int) -> str:
    return "".join(
        f".decl T{n + 1000} v_type=G type=ud num_elts=16 align=GRF\n" for n in range(count // 2)
    )


def straight(count: int) -> str:
    """One block."""
    return _HEAD.format(declarations=_temporaries(count)) + "".join(_steps(count)) + _TAIL


def loop(count: int) -> str:
    """One block that some lanes may run again."""
    again = "    cmp.eq (M1, 16) P1 X(0,0)<1;1,0> 0x12345678:ud\n    (P1) goto (M1, 16) again\n"
    head = _HEAD.format(declarations=_temporaries(count))
    return head + "again:\n" + "".join(_steps(count - 2)) + again + _TAIL


def branches(count: int) -> str:
    """Jumps of some lanes to a place soon behind, some of them across others."""
    return _jumps(count // 3, lambda n, total: min(total, n + 1 + 7919 * n % 5))


def crossing(count: int) -> str:
    """Jumps of some lanes to anywhere behind: nearly all of them cross."""
    return _jumps(count // 3, lambda n, total: n + 1 + 7919 * n % (total - n))


def _jumps(total: int, target: Callable[[int, int], int]) -> str:
    lines = [
        f"L{n}:\n    cmp.eq (M1, 16) P1 X(0,0)<1;1,0> {3 * n + 1:#x}:ud\n"
        f"    (P1) goto (M1, 16) L{target(n, total)}\n"
        "    add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 0x1:ud\n"
        for n in range(total)
    ]
    return _HEAD.format(declarations="") + "".join(lines) + f"L{total}:\n" + _TAIL


def calls(count: int) -> str:
    """Subroutines of ten instructions, each called once by each of two callers."""
    bodies, callers = [], []
    for n in range(count // 12):
        work = "".join(
            f"    {name} (M1, 16) X(0,0)<1> X(0,0)<1;1,0> {n * 16 + 2 * k + 1:#x}:ud\n"
            for k, name in enumerate(("mul", "xor") * 4 + ("mul",))
        )
        bodies.append(f"S{n}:\n{work}    ret (M1, 16)\n")
        callers += [f"    call (M1, 16) S{n}\n"] * 2
    return _HEAD.format(declarations="") + "".join(callers) + _TAIL + "".join(bodies)


def arrays(count: int) -> str:
    """An array in registers, with an index that is not known."""
    lines = []
    for n in range(count // 4):
        lines += [
            "    addr_add (M1, 1) I(0)<1> &Y[0] Y(0,0)<0;1,0>\n",
            "    add (M1, 16) X(0,0)<1> r[I(0),0]<1;1,0>:ud X(0,0)<1;1,0>\n",
            "    mov (M1, 16) r[I(0),64]<1>:ud X(0,0)<1;1,0>\n",
            f"    and (M1, 1) Y(0,0)<1> X(0,{n % 16})<0;1,0> 0x7c:ud\n",
        ]
    head = _HEAD.format(declarations="") + "    mov (M1, 16) Y(0,0)<1> 0x0:ud\n"
    return head + "".join(lines) + _TAIL


KINDS: Final[dict[str, Callable[[int], str]]] = {
    "straight": straight,
    "loop": loop,
    "branches": branches,
    "crossing": crossing,
    "calls": calls,
    "arrays": arrays,
}


def cpu() -> float:
    """CPU seconds of this process and of those it waited for."""
    used = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def measure(source: str) -> tuple[float, str]:
    """Seconds until a kernel has run once, and the engine that ran it."""
    device = eumu.Device("pvc", engine="jit")
    out = device.array(16, np.uint32)
    start = cpu()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        kernel = eumu.load(source.encode(), device="pvc")["k"]
        engine = kernel.launch(device, 16, 16, [out]).engine
    return cpu() - start, engine


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="instructions")
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    os.environ["EUMU_CACHE"] = "off"
    measure(straight(100))  # loads what all need
    print("| instructions |", " | ".join(kinds), "|")
    print("|---|" + "---|" * len(kinds))
    for size in map(int, options.sizes.split(",")):
        print(f"| {size} |", end="", flush=True)
        for kind in kinds:
            seconds, engine = measure(KINDS[kind](size))
            print(f" {seconds:.2f}{'' if engine == 'jit' else f' {engine}'} |", end="", flush=True)
        print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
