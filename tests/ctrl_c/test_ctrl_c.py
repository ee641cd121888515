"""Ctrl-C ends whatever runs, and so does what a callback raises; the device can be used then.

`run.py` does the same a thousand times.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import eumu
from ctrl_c.long import KERNELS, Long, text_of
from ctrl_c.run import answer_time
from eumu.exec.jit.host.autotuner import Trial
from eumu.exec.jit.host.workers import Pool
from interruptions import at_every_line

SOON = 30.0  # seconds, on a busy machine too; run.py measures
ENGINES = ["jit", "interp"]


@pytest.fixture(scope="module", params=ENGINES)
def long(request: pytest.FixtureRequest) -> Iterator[Long]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EUMU_WORKERS", "2")
        yield Long(request.param)


def test_ctrl_c_at_random_moments(long: Long) -> None:
    choose = random.Random(1)
    for name, action in long.actions.items():
        for _ in range(2):
            assert answer_time(action, choose.uniform(0.001, 0.2)) < SOON, name
            long.check()


def test_an_interrupt_that_python_loses_comes_again() -> None:
    """Nothing is said of it: this test has no warning."""
    lost = threading.Event()

    def callback(_: object) -> None:
        lost.set()
        time.sleep(10)

    def action() -> None:
        referred = {1}
        reference = weakref.ref(referred, callback)
        del referred
        time.sleep(SOON)
        assert reference() is None

    assert 0.9 < answer_time(action, 0.05) < SOON and lost.is_set()


def test_no_worker_runs_when_it_comes_out(long: Long) -> None:
    """What a worker uses may be freed then."""
    with pytest.raises(AssertionError, match="by itself"):
        answer_time(lambda: None, 10)
    for name in ("loop on all workers", "loop of atomics", "loop with a barrier"):
        answer_time(long.actions[name], 0.05)
        before = long.out.numpy()
        time.sleep(0.05)
        assert (long.out.numpy() == before).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_calls_cost_fuel(engine: str) -> None:
    device = eumu.Device("pvc", engine=engine)
    program = eumu.load(text_of(KERNELS["calls without a loop"][0]), device="pvc")
    out = device.array(16, np.uint32)
    with pytest.raises(eumu.Fault, match="more than fuel=5000 instructions"):
        program["long"].launch(device, 16, args=[out], fuel=5000)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_progress_raises_ends_the_launch(engine: str) -> None:
    class Enough(BaseException):
        pass

    def progress(done: int, groups: int) -> None:
        raise Enough

    device = eumu.Device("pvc", engine=engine, progress=progress)
    body, size = KERNELS["groups that store" if engine == "interp" else "loop on all workers"]
    kernel = eumu.load(text_of(body), device="pvc")["long"]
    out = device.array(1024, np.uint32)
    with pytest.raises(Enough):
        kernel.launch(device, size, 256, [out], fuel=1 << 60)
    device.memory.progress = None
    short = eumu.load(text_of("    ret (M1, 1)\n"), device="pvc")["long"]
    assert short.launch(device, 4096, 256, [out]).groups == 16


def test_progress_launches_nothing() -> None:
    """It would wait for the launch that waits for it."""
    said: list[BaseException] = []

    def progress(done: int, groups: int) -> None:
        try:
            kernel.launch(device, 16, 16, [out])
        except eumu.LaunchError as error:
            said.append(error)

    device = eumu.Device("pvc", engine="jit", progress=progress)
    out = device.array(1024, np.uint32)
    kernel = eumu.load(text_of("    ret (M1, 1)\n"), device="pvc")["long"]
    kernel.launch(device, 4096, 256, [out])
    assert "inside `progress`" in str(said[0])


# ---- the parts


def test_a_pool_that_is_interrupted_anywhere() -> None:
    pool, running, left = Pool(3), [0], threading.Event()
    lock = threading.Lock()

    def work(number: int) -> None:
        with lock:
            running[0] += 1
        left.wait(0.001)
        with lock:
            running[0] -= 1

    def check() -> None:
        assert running == [0]
        left.clear()
        done: list[int] = []
        pool.run(done.append, 1, left.set)
        assert done == [0]

    assert at_every_line(lambda: pool.run(work, 3, left.set), check, ("jit/host/workers",)) > 20


def test_a_pool_tells_the_others_to_leave() -> None:
    pool, left, begun = Pool(2), threading.Event(), threading.Event()

    def work(number: int) -> None:
        if number:
            begun.set()
            assert left.wait(60)
        else:
            assert begun.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.run(work, 2, left.set)


def test_a_short_launch_does_not_wait_for_a_long_one_of_another() -> None:
    """A call that nobody has begun is dropped."""
    pool, go = Pool(2), threading.Event()

    def wait(number: int) -> None:
        if number:
            go.wait(60)

    other = threading.Thread(target=pool.run, args=(wait, 2, lambda: None))
    other.start()
    done: list[int] = []
    pool.run(done.append, 2, lambda: None)
    assert done == [0]
    go.set()
    other.join()


def test_a_search_that_is_interrupted_keeps_what_it_had() -> None:
    trial = Trial(4, (1, 2))
    setup = trial.setup
    assert trial._search is not None
    with pytest.raises(KeyboardInterrupt):
        trial._search.throw(KeyboardInterrupt)
    for _ in range(8):
        trial.took(trial.setup, 0.001)
    assert trial.setup == setup


def test_a_process_that_is_interrupted_while_it_compiles_ends() -> None:
    """LLVM is not torn down under the thread that compiles."""
    code = (
        "import signal; from ctrl_c.long import Long; long = Long('jit')\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)\n"
        "while True:\n    long.actions['compilation']()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path), "EUMU_CACHE": "off", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert "KeyboardInterrupt" in ended.stderr
    assert ended.returncode == -2, ended.stderr
