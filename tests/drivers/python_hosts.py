"""A host program in several Pythons on eumu's OpenCL driver: threads, and a child of `fork`.

    python tests/drivers/python_hosts.py --device pvc PYTHON ...

Each PYTHON has pyopencl; eumu need not be installed in it.  Prints a line for each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

PROGRAM = """\
import os, sys, threading
import numpy as np
import pyopencl as cl

SOURCE = "kernel void axpy(global float *y, global const float *x, float a)" \\
    "{ int i = get_global_id(0); y[i] += a * x[i]; }"

def opened():
    (platform,) = cl.get_platforms()
    assert platform.name == "eumu", platform
    context = cl.Context(platform.get_devices())
    return context, cl.Program(context, SOURCE).build()

def rounds(context, program, a, count):
    queue = cl.CommandQueue(context)
    x = np.arange(1024, dtype=np.float32)
    given = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
    sums = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
    kernel = cl.Kernel(program, "axpy")
    for _ in range(count):
        kernel(queue, x.shape, None, sums, given, np.float32(a))
    found = np.empty_like(x)
    cl.enqueue_copy(queue, found, sums)
    return bool((found == x * (1 + a * count)).all())

context, program = opened()
right = []
threads = [
    threading.Thread(target=lambda a=a: right.append(rounds(context, program, a, 50)))
    for a in range(1, 5)
]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert right == [True] * 4, right
child = os.fork()
if not child:
    try:
        again = opened()
        os._exit(0 if rounds(*again, 2, 10) else 4)
    except BaseException as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(5)
assert os.waitpid(child, 0)[1] == 0
assert rounds(context, program, 3, 10)
print(sys.version.split()[0], "pyopencl", cl.VERSION_TEXT)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description="A host program in several Pythons.")
    parser.add_argument("--device", default="pvc")
    parser.add_argument("python", nargs="*")
    given = parser.parse_args()
    failed = 0
    if not given.python:
        print("skipped: no Python with pyopencl was named")
    for python in given.python:
        command = [sys.executable, "-m", "eumu", "run", "--device", given.device, "--", python]
        done = subprocess.run(
            [*command, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=600
        )
        failed += done.returncode != 0
        said = done.stdout.strip() or "\n".join(done.stderr.splitlines()[-3:])
        print(f"{python}: {'right' if done.returncode == 0 else 'wrong'}; {said}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
