"""Things that take long, one for each place where Ctrl-C must be heard."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np

import eumu

_HEAD = """.version 4.1
.kernel "long"
.decl X v_type=G type=ud num_elts=16 align=GRF
.decl Y v_type=G type=ud num_elts=16 align=GRF
.decl A v_type=G type=uq num_elts=16 align=GRF
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl P1 v_type=P num_elts=16
.input OUT offset=64 size=8
.kernel_attr SimdSize=16
.kernel_attr PerThreadInputSize=0
    mov (M1, 16) X(0,0)<1> 0x0:ud
"""
_AGAIN = """    add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 0x1:ud
    cmp.ne (M1, 16) P1 X(0,0)<1;1,0> 0xffffffff:ud
    (P1) goto (M1, 16) again
    ret (M1, 1)
"""
_ADDRESSES = """    mov (M1, 16) A(0,0)<1> OUT(0,0)<0;1,0>
"""
_MOST = 1 << 31
_CALLS = 40  # a tree of as many levels


def _tree() -> str:
    functions = "".join(f"f{i}:\n" + f"    call (M1, 16) f{i + 1}\n" * 2 for i in range(_CALLS))
    functions = functions.replace("\nf", "\n    ret (M1, 16)\nf")
    leaf = "    add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 0x1:ud\n    ret (M1, 16)\n"
    start = "    call (M1, 16) f0\n    ret (M1, 1)\n"
    return start + functions + f"    ret (M1, 16)\nf{_CALLS}:\n" + leaf


def _crossing(count: int) -> str:
    """Jumps of some lanes to anywhere, again and again: one place looks for the next block."""
    jumps = "".join(
        f"L{n}:\n    cmp.eq (M1, 16) P1 X(0,0)<1;1,0> {n + 1:#x}:ud\n"
        f"    (P1) goto (M1, 16) L{(7 * n + 1) % count}\n"
        "    add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 0x1:ud\n"
        for n in range(count)
    )
    return jumps + "    goto (M1, 16) L0\n    ret (M1, 1)\n"


# What a kernel does, and how many work items do it.
KERNELS: dict[str, tuple[str, int]] = {
    "loop": ("again:\n" + _AGAIN, 16),
    "loop on all workers": ("again:\n" + _AGAIN, 4096),
    "loop of loads": (
        _ADDRESSES + "again:\n    lsc_load.ugm (M1, 16)  Y:d32  flat[A]:a64\n" + _AGAIN,
        4096,
    ),
    "loop of atomics": (
        _ADDRESSES
        + "again:\n    lsc_atomic_iadd.ugm (M1, 16)  %null:d32  flat[A]:a64  X  %null\n"
        + _AGAIN,
        4096,
    ),
    "groups that wait": (
        _ADDRESSES + "again:\n    lsc_load.ugm (M1, 16)  Y:d32  flat[A]:a64\n"
        "    cmp.ne (M1, 16) P1 Y(0,0)<1;1,0> 0x12345:ud\n"
        "    (P1) goto (M1, 16) again\n    ret (M1, 1)\n",
        4096,
    ),
    "loop with a barrier": ("again:\n    barrier\n" + _AGAIN, 4096),
    "calls without a loop": (_tree(), 64),
    "jumps that cross": (_crossing(40), 64),
    "groups without end": ("    ret (M1, 1)\n", _MOST),
    "groups that store": (
        _ADDRESSES + "    lsc_store.ugm (M1, 16)  flat[A]:a64  X:d32\n    ret (M1, 1)\n",
        _MOST,
    ),
}
_IMAGE = """kernel void k(read_only image2d_t i, global float4* o) {
  float4 s = 0; sampler_t c = CLK_FILTER_LINEAR | CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT;
  for (int k = 0; k < 100000000; k++)
    s += read_imagef(i, c, (float2)(k * 0.01f, get_global_id(0) * s.x));
  o[get_global_id(0)] = s; }"""


class Long:
    """A device, and actions on it that take longer than anybody waits."""

    def __init__(self, engine: str) -> None:
        self.device = eumu.Device("pvc", engine=engine, memory_bytes=3 << 30)
        self.out = self.device.array(np.zeros(1024, np.uint32))
        self.big = self.device.array(2 << 30, np.uint8) if engine == "jit" else None
        self.actions: dict[str, Callable[[], object]] = {}
        for name, (body, size) in KERNELS.items():
            program = eumu.load(text_of(body), device="pvc")
            self.actions[name] = self._launch(next(iter(program.values())), size)
        if engine == "jit":
            self._add_compilation()
            self._add_image()
            self.actions["copies"] = self._copy

    def _launch(self, kernel: Any, size: int) -> Callable[[], object]:
        local = 256 if size >= 256 else 16
        sizes = (size, 64) if size == _MOST else size
        return lambda: kernel.launch(self.device, sizes, local, [self.out], fuel=1 << 60)

    def _add_compilation(self) -> None:
        body = "".join(
            f"    mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>\n"
            f"    add (M1, 16) Y(0,0)<1> X(0,0)<1;1,0> {k:#x}:ud\n"
            for k in range(3000)
        )
        turn = iter(range(1 << 30))

        def compile() -> object:
            other = f"    mov (M1, 16) Y(0,0)<1> {next(turn):#x}:ud\n"
            program = eumu.load(text_of(other + body + "    ret (M1, 1)\n"), device="pvc")
            return next(iter(program.values())).launch(self.device, 16, 16, [self.out])

        self.actions["compilation"] = compile

    def _add_image(self) -> None:
        if shutil.which("ocloc") is None:
            return
        device = eumu.Device("skl")
        kernel = eumu.build(_IMAGE, "skl")["k"]
        image = device.image(np.ones((16, 16, 4), np.uint8))
        out = device.array((256, 4), np.float32)
        self.actions["image"] = lambda: kernel.launch(device, 256, 16, [image, out], fuel=1 << 60)

    def _copy(self) -> None:
        assert self.big is not None
        while True:
            self.big.fill(1)
            self.big.write(self.big.numpy())

    def check(self) -> None:
        """The device can be used."""
        array = self.device.array(np.arange(1000, dtype=np.int32))
        assert (array.numpy() == np.arange(1000)).all()
        store = eumu.load(text_of(KERNELS["groups that store"][0]), device="pvc")
        report = next(iter(store.values())).launch(self.device, 4096, 256, [self.out])
        assert (report.groups, report.threads) == (16, 256)


def text_of(body: str) -> bytes:
    """The text of a kernel `long` with X, Y, A and P1, whose argument OUT is an array."""
    return (_HEAD + body).encode()
