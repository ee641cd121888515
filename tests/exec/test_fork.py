"""A process that forks while another of its threads makes code: parent and child go on."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, threading, time
import numpy as np
import eumu
from eumu.exec.jit.host import target

def launch(name, device):
    kernel = eumu.load(f"examples/{name}.bin")[name]
    array = lambda: device.array(np.ones(64, np.float32))
    kernel.launch(device, 64, 32, [array(), array(), 2.0])

def compile():
    while not ended:
        target.compile_object(text, target.host())

launch("saxpy", device := eumu.Device("pvc"))
ended = []
body = "".join(f"  %v{k + 1} = fadd <16 x float> %v{k}, %v0\\n" for k in range(300))
text = "".join(
    f"define <16 x float> @f{n}(<16 x float> %v0) {{\\n{body}  ret <16 x float> %v300\\n}}\\n"
    for n in range(10)
)
other = threading.Thread(target=compile)
other.start()
for _ in range(3):
    time.sleep(0.02)
    child = os.fork()
    if not child:
        launch("saxpy", device)
        launch("saxpy", eumu.Device("pvc", "jit"))
        target.compile_object("define void @f() {\\n  ret void\\n}\\n", target.host())
        os._exit(7)
    for _ in range(600):
        ended_child, status = os.waitpid(child, os.WNOHANG)
        if ended_child:
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
    print(status == 7 << 8)
ended.append(True)
other.join()
launch("saxpy", device)
"""


def test_a_child_waits_for_no_thread_of_its_parent() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["True"] * 3
