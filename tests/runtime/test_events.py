"""Threads that wait for each other by events, as the CM compiler's software scoreboard does."""

from __future__ import annotations

import numpy as np
import pytest

import eumu

ENGINES = pytest.mark.parametrize("engine", ["interp", "jit"])
SIGNAL, MONITOR, FORGET, WAIT = 0x2080001, 0x2080002, 0x2080003, 0x2180006

HEAD = """.version 3.6
.kernel "events"
.decl X v_type=G type=ud num_elts=1 align=dword
.decl NEXT v_type=G type=d num_elts=1 align=dword
.decl STEP v_type=G type=d num_elts=1 align=dword
.decl TIME v_type=G type=ud num_elts=1 align=dword
.decl EVENT v_type=G type=ud num_elts=8 align=GRF
.decl OTHER v_type=G type=ud num_elts=8 align=GRF
.decl ANSWER v_type=G type=ud num_elts=8 align=GRF
.decl DATA v_type=G type=ud num_elts=8 align=GRF
.decl FLAG v_type=G type=ud num_elts=8 align=GRF
.decl P1 v_type=P num_elts=1
.decl T6 v_type=T num_elts=1
.decl T7 v_type=T num_elts=1
.input T6 offset=32 size=4
.input T7 offset=36 size=4
.input STEP offset=40 size=4
.input TIME offset=44 size=4
.kernel_attr Target="cm"
    mov (M1, 1) X(0,0)<1> %thread_x(0,0)<0;1,0>
    mov (M1, 8) EVENT(0,0)<1> 0x0:ud
    mov (M1, 8) OTHER(0,0)<1> 0x0:ud
    mov (M1, 8) ANSWER(0,0)<1> 0x0:ud
    add (M1, 1) NEXT(0,0)<1> X(0,0)<0;1,0> STEP(0,0)<0;1,0>
"""

# Row x of T7 says whether thread x may begin; it adds its own row of T6 to that of the next thread.
CHAIN = f"""{HEAD}
    mov (M1, 1) EVENT(0,0)<1> X(0,0)<0;1,0>
    raw_send (M1, 16) 0x3 1 0 {MONITOR:#x}:ud EVENT.0 %null.0
    oword_ld (1) T7 X(0,0)<0;1,0> FLAG.0
    mov (M1, 1) OTHER(0,0)<1> TIME(0,0)<0;1,0>
again:
    cmp.ne (M1, 1) P1 FLAG(0,0)<0;1,0> 0x0:ud
    (P1) jmp (M1, 1) go
    raw_send (M1, 16) 0x3 1 1 {WAIT:#x}:ud OTHER.0 ANSWER.0
    oword_ld (1) T7 X(0,0)<0;1,0> FLAG.0
    jmp (M1, 1) again
go:
    raw_send (M1, 16) 0x3 1 0 {FORGET:#x}:ud OTHER.0 %null.0
    oword_ld (1) T6 X(0,0)<0;1,0> DATA.0
    oword_ld (1) T6 NEXT(0,0)<0;1,0> DATA.16
    add (M1, 4) DATA(0,4)<1> DATA(0,4)<1;1,0> DATA(0,0)<1;1,0>
    mov (M1, 4) DATA(0,0)<1> DATA(0,4)<1;1,0>
    oword_st (1) T6 NEXT(0,0)<0;1,0> DATA.0
    mov (M1, 4) FLAG(0,0)<1> 0x1:ud
    oword_st (1) T7 NEXT(0,0)<0;1,0> FLAG.0
    mov (M1, 1) EVENT(0,0)<1> NEXT(0,0)<0;1,0>
    raw_send (M1, 16) 0x3 1 0 {SIGNAL:#x}:ud EVENT.0 %null.0
    ret (M1, 1)
"""

# Three waits: with nothing to wait for, after the thread's own signal, and until the time is over.
ANSWERS = f"""{HEAD}
    raw_send (M1, 16) 0x3 1 1 {WAIT:#x}:ud OTHER.0 ANSWER.0
    mov (M1, 1) DATA(0,0)<1> ANSWER(0,0)<0;1,0>
    or (M1, 1) EVENT(0,0)<1> X(0,0)<0;1,0> 0x500:ud
    raw_send (M1, 16) 0x3 1 0 {MONITOR:#x}:ud EVENT.0 %null.0
    or (M1, 1) EVENT(0,0)<1> EVENT(0,0)<0;1,0> 0xff000000:ud
    raw_send (M1, 16) 0x3 1 0 {SIGNAL:#x}:ud EVENT.0 %null.0
    raw_send (M1, 16) 0x3 1 1 {WAIT:#x}:ud OTHER.0 ANSWER.0
    mov (M1, 1) DATA(0,1)<1> ANSWER(0,0)<0;1,0>
    mov (M1, 1) OTHER(0,0)<1> TIME(0,0)<0;1,0>
    raw_send (M1, 16) 0x3 1 1 {WAIT:#x}:ud OTHER.0 ANSWER.0
    mov (M1, 1) DATA(0,2)<1> ANSWER(0,0)<0;1,0>
    mov (M1, 1) DATA(0,3)<1> ANSWER(0,7)<0;1,0>
    oword_st (1) T6 X(0,0)<0;1,0> DATA.0
    ret (M1, 1)
"""


@pytest.mark.parametrize("time", [0, 9])
@ENGINES
@pytest.mark.parametrize("device", ["icllp", "tgllp"])
def test_a_chain_of_threads(device: str, engine: str, time: int) -> None:
    dev = eumu.Device(device, engine=engine)
    rows = np.random.default_rng(1).integers(0, 1000, (12, 4), np.uint32)
    data, flags = dev.array(rows), dev.array((12, 4), np.uint32)
    flags.write(np.eye(12, 4, dtype=np.uint32)[:, :1] * np.ones(4, np.uint32))
    kernel = eumu.load(CHAIN.encode(), device=device)["events"]
    report = kernel.launch(dev, 11, args=[data, flags, 1, time])
    assert report.engine == engine
    assert np.array_equal(data.numpy(), rows.cumsum(0, np.uint32)) and flags.numpy().all()


def test_a_chain_against_the_order_in_which_threads_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that run at once may wait for later ones; the fast engine begins one after another."""
    monkeypatch.setattr("eumu.device.events._PATIENCE", 1 << 10)
    rows = np.arange(48, dtype=np.uint32).reshape(12, 4)
    for engine in ("interp", "jit"):
        dev = eumu.Device("tgllp", engine=engine)
        data, flags = dev.array(rows[::-1].copy()), dev.array((12, 4), np.uint32)
        start = np.zeros((12, 4), np.uint32)
        start[11] = 1
        flags.write(start)
        kernel = eumu.load(CHAIN.encode(), device="tgllp")["events"]
        if engine == "jit":
            with pytest.raises(
                eumu.Fault, match="event 0x0, which no thread signals that has beg"
            ) as caught:
                kernel.launch(dev, 12, args=[data, flags, -1, 0])
            assert caught.value.code == "deadlock"
            continue
        with pytest.raises(eumu.Fault, match="outside"):  # thread 0 has no next one
            kernel.launch(dev, 12, args=[data, flags, -1, 0])
        assert np.array_equal(data.numpy()[::-1], rows.cumsum(0))


@ENGINES
def test_what_a_wait_answers(engine: str) -> None:
    dev = eumu.Device("tgllp", engine=engine)
    out = dev.array((3, 4), np.uint32)
    kernel = eumu.load(ANSWERS.encode(), device="tgllp")["events"]
    kernel.launch(dev, 3, args=[out, out, 0, 5])
    assert (out.numpy() == [0, 1, 0, 0]).all()


def test_gen9_has_no_events() -> None:
    dev = eumu.Device("skl")
    out = dev.array((3, 4), np.uint32)
    with pytest.raises(eumu.Unsupported, match="gateway"):
        eumu.load(CHAIN.encode(), device="skl")["events"].launch(dev, 1, args=[out, out, 0, 0])


def test_a_stopped_launch_forgets_its_events() -> None:
    dev = eumu.Device("tgllp", engine="interp")
    data, flags = dev.array((2, 4), np.uint32), dev.array((2, 4), np.uint32)
    kernel = eumu.load(CHAIN.encode(), device="tgllp")["events"]
    dev.preempt(after=40)
    assert kernel.launch(dev, 1, args=[data, flags, 1, 0]).preempted
    with pytest.raises(eumu.Fault, match="events are not kept"):
        dev.resume()
