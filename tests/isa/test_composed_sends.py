"""Messages whose descriptors are known at run time only: faults, and random descriptors."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu import native
from eumu.errors import Fault, Unsupported
from eumu.exec.grid import Grid, Payload
from eumu.exec.host import Refusal
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.ir.passes.undefined import find_undefined
from eumu.isa.messages import Composed
from eumu.isa.visa.send_routes import LscComposed
from eumu.lower import lower
from eumu.platforms import platform
from eumu.text import parse
from native.native_thread import END, execute
from native.samples import rows
from visa_thread import FlatHost

HEAD = """\
.version 4.1
.kernel "k"
.decl A v_type=G type=ud num_elts=128 align=GRFx2
.decl D v_type=G type=ud num_elts=8 align=GRF
.decl R v_type=G type=ud num_elts=128 align=GRFx2
.decl U v_type=G type=ud num_elts=8 align=GRF
.kernel_attr SimdSize=16
.input D offset=32 size=32
"""
LINE = "raw_sends.12.2.0.2 (M1, 16) D(0,1)<0;1,0> D(0,0)<0;1,0> A.0 %null.0 R.0"
ANY = "raw_sendsc.6.0.8 (M1, 16) D(0,1)<0;1,0> D(0,0)<0;1,0> A.0 %null.0 R.0"
ENGINES = {"interp": Interpreter(), "jit": Jit()}


class _Host(FlatHost):
    def message(self, record: Any, *request: Any) -> Any:
        raise Refusal(f"nothing here answers {type(record).__name__}")


def _grid(line: str, device: str) -> Grid:
    kernel = parse(f"{HEAD}    {line}\n    ret (M1, 1)\n", "k.visaasm").kernels[0]
    function = lower(kernel, platform(device))
    grf = function.grf_bytes
    payload = Payload((0,) * (grf // 4), None, 0, grf, bytes(64))
    function.inputs[:] = [replace(i, payload_offset=grf) for i in function.inputs]
    return Grid(function, (1, 1, 1), (16, 1, 1), payload, {}, 1024, 1024)


def _with(grid: Grid, *words: int) -> Grid:
    data = b"".join(word.to_bytes(4, "little") for word in words).ljust(64, b"\0")
    return replace(grid, payload=replace(grid.payload, cross_thread=data))


def _outcome(grid: Grid, engine: str) -> str:
    """What a run says: nothing, or its fault."""
    try:
        ENGINES[engine].run(grid, _Host(64))
    except Fault as fault:
        return str(fault)
    return ""


@pytest.mark.parametrize(
    ("device", "ex_desc", "desc", "said"),
    [
        ("skl", 0xC, 0x4205EFE, ""),
        ("skl", 0xC, 0x2106EFE, "it has 8 slots, and the instruction 16 lanes"),
        ("skl", 0xC, 0x213EEFE, "Gen9 has no such message"),
        ("skl", 0xC, 0x6106EFE, "its descriptor says 3 registers, 2 are there"),
        ("skl", 0xC, 0x2506EFE, "its answer has 5 registers, there is room for 2"),
        ("skl", 0xC, 0x4005EFE, "its response is shorter than what it answers"),
        ("skl", 0xC, 0x20080FE, "this atomic operation is not modelled"),
        ("skl", 0xC, 0x4205E05, "no surface is bound to index 0x5|uses index 0x5"),
    ],
)
def test_both_engines_say_the_same(device: str, ex_desc: int, desc: int, said: str) -> None:
    grid = _with(_grid(LINE, device), desc, ex_desc)
    interp, jit = (_outcome(grid, engine) for engine in ENGINES)
    assert interp == jit
    if not said:
        assert interp == ""
        return
    assert re.search(said, interp), interp
    assert "k.visaasm:9" in interp and f"descriptor {desc:#010x}, extended {ex_desc:#x}" in interp
    assert "message length" in interp


def test_a_fault_inside_a_message_names_its_lanes() -> None:
    line = "raw_sends.12.2.0.2 (M1, 16) 0xc:ud D(0,0)<0;1,0> A.0 %null.0 R.0"
    shared = _with(_grid(line, "skl"), 0x4205EFE)
    small = replace(shared, slm_bytes=2)
    outcomes = {_outcome(small, engine) for engine in ENGINES}
    assert len(outcomes) == 1
    assert "is outside the 2 bytes of shared local memory" in outcomes.pop()


def test_a_gateway_must_be_known() -> None:
    line = "raw_send (M1, 8) 0x3 1 0 D(0,0)<0;1,0> A.0 %null.0"
    with pytest.raises(Unsupported, match="the gateway whose descriptor is known at run time only"):
        _grid(line, "skl")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_undefined_descriptor_is_found(engine: str) -> None:
    grid = _grid(LINE.replace("D(0,0)", "U(0,0)"), "skl")
    checked = replace(grid, function=find_undefined(grid.function))
    with pytest.raises(Fault) as caught:
        ENGINES[engine].run(_with(checked, 0, 0xC), _Host(64))
    assert "undefined descriptor" in str(caught.value.findings[0]), caught.value.findings


# ---- random descriptors

SAMPLES = [tuple(int(word, 16) for word in line.split()[:2]) for line in rows("descriptors.txt")]
# To shared local memory, sixteen lanes: reads, writes, atomic operations, dwords and bytes.
LOCAL = (
    *((0xC, 0x04205EFE), (0xC, 0x08025EFE), (0xC, 0x0820A7FE), (0xC, 0x04405CFE)),
    *((0xA, 0x042109FE), (0xA, 0x080309FE), (0xC, 0x0420A5FE), (0xA, 0x0219E0FE)),
)
LSC_DESCRIPTORS = (0x2100500, 0x2000504, 0x210050C, 0x210D580, 0x2101580, 0x60100500, 0x200051F)
FORMS = {
    "skl": Composed("skl", 16, (6,), 16),
    "native": Composed("bxt", 16, (15, 15), 31, by_descriptor=True),
    "pvc": LscComposed("pvc", 16, (4, 4), 8),
}


def _random(rng: random.Random, device: str) -> tuple[int, int]:
    """An extended descriptor and a descriptor: random, or known ones with some bits changed."""
    if rng.random() < 0.2:
        return rng.getrandbits(32), rng.getrandbits(32)
    if device == "pvc":
        ex_desc, desc = rng.choice((1, 13, 14, 15)), rng.choice(LSC_DESCRIPTORS)
    else:
        ex_desc, desc = rng.choice(rng.choice((SAMPLES, LOCAL, LOCAL)))
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        desc ^= 1 << rng.randrange(32)
    return ex_desc ^ (rng.random() < 0.2) << rng.randrange(32), desc


@pytest.mark.parametrize("name", FORMS)
def test_random_descriptors_become_functions_or_say_why(name: str) -> None:
    form, rng, found = FORMS[name], random.Random(1), Counter[str]()
    for _ in range(5000):
        ex_desc, desc = _random(rng, name)
        try:
            form.function(ex_desc, desc)
            found["made"] += 1
        except Unsupported as error:
            assert error.what
            found["refused"] += 1
        assert f"{desc:#010x}" in form.describe(ex_desc, desc)
    assert found["made"] > 500 and found["refused"] > 500, found


def _runs(device: str, count: int, seed: int) -> Iterator[tuple[tuple[int, int], Grid]]:
    rng, grid = random.Random(seed), _grid(ANY, device)
    for _ in range(count):
        ex_desc, desc = _random(rng, device)
        yield (ex_desc, desc), _with(grid, desc, ex_desc)


def differences(device: str, count: int, seed: int) -> tuple[list[Any], int]:
    """Descriptors of which the engines do not say the same, and how many ran without a fault."""
    wrong, fine = [], 0
    for pair, grid in _runs(device, count, seed):
        said = [_outcome(grid, engine) for engine in ENGINES]
        fine += not said[0]
        if said[0] != said[1]:
            wrong.append((pair, *said))
    return wrong, fine


@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_random_descriptors_run_alike(device: str) -> None:
    wrong, fine = differences(device, 120, 2)
    assert not wrong
    assert fine > 5


@pytest.mark.weekly
@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_many_random_descriptors_run_alike(device: str) -> None:
    wrong, fine = differences(device, 10_000, 3)
    assert not wrong
    assert fine > 300


@pytest.mark.parametrize("engine", ENGINES)
def test_native_lengths_are_those_of_the_descriptor(engine: str) -> None:
    text = "(W) mov (1|M0) a0.0<1>:ud r20.0<0;1,0>:ud\n send (8|M0) r124 r127 0xC a0.0" + END
    code = native.parse(text, "t.native")
    registers = bytearray(128 * 32)
    for desc, said in (
        (0x4106EFE, "says 2 registers, 1 are there"),
        (0x2506EFE, "has 5 registers"),
    ):
        registers[640:644] = desc.to_bytes(4, "little")
        with pytest.raises(Fault, match=said) as caught:
            execute(code, bytes(registers), ENGINES[engine])
        assert caught.value.code == "message"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_address_inside_a_register_is_a_fault(engine: str) -> None:
    text = "(W) mov (1|M0) a0.2<1>:uw 40:uw\n send (8|M0) r3 r[a0.2] 0xC 0x02106EFE" + END
    with pytest.raises(Fault, match="begin inside a register") as caught:
        execute(native.parse(text, "t.native"), bytes(4096), ENGINES[engine])
    assert caught.value.code == "message"


SUM = """
        sends (8|M0)  null:ud r1 r2 0x4C 0x02026EFE
(W)     add (1|M0)    a0.0<1>:ud  r20.0<0;1,0>:ud  0x02106E00:ud
        send (8|M0)   r3 r1 0xC a0.0
(W)     add (1|M0)    r21.0<1>:ud r20.0<0;1,0>:ud  0x02106E00:ud
(W)     mov (1|M0)    a0.0<1>:ud  r20.1<0;1,0>:ud
        send (8|M0)   r11 r1 0xC a0.0
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("added", [0xFE, 0x1FE, 0x1000FE, 0x0FFFFCFE])
def test_a_sum_that_is_no_surface_is_another_message(engine: str, added: int) -> None:
    """What is added to a constant may have other bits than those of a surface."""
    registers = np.arange(1024, dtype=np.uint32)
    registers[8:16] = np.arange(8) * 4
    registers[20 * 8 : 20 * 8 + 2] = added, 0x02106E00 + added
    code = native.parse(SUM + END, "t.native")
    try:
        after = np.frombuffer(execute(code, registers.tobytes(), ENGINES[engine]), np.uint32)
    except Fault as fault:
        said = {
            0x1FE: "all its channels are off",
            0x1000FE: "its response length is 2",
            0x0FFFFCFE: "descriptor 0x12106afe",
        }
        assert said[added] in str(fault)
        return
    assert added == 0xFE
    kept = [after[8 * r : 8 * r + 16] - registers[8 * r : 8 * r + 16] for r in (3, 11)]
    written = after[24:32], after[88:96]
    assert (written[0] == written[1]).all() or not any(k.any() for k in kept)
    assert (written[0] == registers[16:24]).all()


GROUPS = """\
.version 4.1
.kernel "groups"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl LANE v_type=G type=ud num_elts=16 align=GRF
.decl A v_type=G type=ud num_elts=16 align=GRF
.decl D v_type=G type=ud num_elts=8 align=GRF
.decl R v_type=G type=ud num_elts=32 align=GRF
.decl P v_type=G type=uq num_elts=1 align=qword
.input OUT offset=32 size=8
.kernel_attr SimdSize=16
    mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv
    add (M1_NM, 8) LANE(1,0)<1> LANE(0,0)<1;1,0> 0x8:ud
    shl (M1_NM, 16) A(0,0)<1> LANE(0,0)<1;1,0> 0x2:ud
    scatter_scaled.4 (M1_NM, 16) %slm 0x0:ud A.0 LANE.0
    mov (M1_NM, 16) R(0,0)<1> 0x7:ud
    mov (M1_NM, 16) R(2,0)<1> 0x7:ud
    and (M1_NM, 1) D(0,0)<1> %group_id_x(0,0)<0;1,0> 0x1:ud
    mul (M1_NM, 1) D(0,0)<1> D(0,0)<0;1,0> 0x1ffe00:ud
    add (M1_NM, 1) D(0,1)<1> D(0,0)<0;1,0> 0x4205efe:ud
    raw_sends.12.2.0.4 (M1, 16) 0xc:ud D(0,1)<0;1,0> A.0 %null.0 R.0
    shl (M1_NM, 1) D(0,2)<1> %group_id_x(0,0)<0;1,0> 0x7:ud
    mov (M1_NM, 1) P(0,0)<1> D(0,2)<0;1,0>
    add (M1_NM, 1) P(0,0)<1> P(0,0)<0;1,0> OUT(0,0)<0;1,0>
    svm_block_st (8) P(0,0)<0;1,0> R.0
    ret (M1, 1)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_send_different_messages(engine: str, tmp_path: Path) -> None:
    """Even groups read a dword for each lane, odd ones two."""
    device, file = eumu.Device("skl", engine=engine), tmp_path / "groups.visaasm"
    file.write_text(GROUPS)
    out = device.array((50, 2, 16), np.uint32)
    eumu.load(file, device="skl")["groups"].launch(device, 50 * 16, 16, args=[out])
    lanes = np.arange(16)
    even, odd = np.array([lanes, lanes * 0 + 7]), np.array([lanes, np.append(lanes[1:], 0)])
    assert (out.numpy() == np.where(np.arange(50)[:, None, None] % 2, odd, even)).all()


@pytest.mark.parametrize("name", ["gen9_surfaces", "gen9"])
def test_surfaces_at_run_time_are_ordinary_operations(name: str) -> None:
    path = Path(__file__).parents[1] / "runs" / "sends" / f"{name}.visa"
    function = lower(parse(path.read_text(), path.name).kernels[0], platform("skl"))
    names = Counter(op.name for block in function.blocks for op in block.ops)
    assert names["load"] and not names["require"]
    # A sum with something unknown may be another message, or an index no entry of the table.
    assert names["send"] == (4 if name == "gen9_surfaces" else 0)


def test_what_seemed_a_surface_is_not_atomic_beside_other_groups() -> None:
    line = (
        "add (M1_NM, 1) D(0,4)<1> D(0,0)<0;1,0> 0x2106e00:ud\n"
        "    raw_sends.12.4.0.2 (M1, 8) 0xc:ud D(0,4)<0;1,0> A.0 %null.0 R.0"
    )
    grid = replace(_grid(line, "skl"), group_count=(50, 1, 1))
    read, atomic = 0x2106EFE, 0x614A7FF  # the second one adds to dwords at 64-bit addresses
    Jit(workers=2).run(_with(grid, read - 0x2106E00), _Host(64))
    with pytest.raises(Unsupported, match=r"k.visaasm:10.*EUMU_WORKERS=1"):
        Jit(workers=2).run(_with(grid, atomic - 0x2106E00), _Host(64))
    with pytest.raises(Fault, match="atomic operation of 4 bytes at 0x0"):
        Jit(workers=1).run(_with(grid, atomic - 0x2106E00), _Host(64))


def test_one_worker_where_messages_are_composed() -> None:
    whole, added = (
        _grid(LINE, "skl"),
        _grid(
            "add (M1_NM, 1) D(0,4)<1> D(0,0)<0;1,0> 0x2106e00:ud\n"
            "    raw_send (M1, 8) 0xc 1 1 D(0,4)<0;1,0> A.0 R.0",
            "skl",
        ),
    )
    assert [Jit().compile(grid).composes for grid in (whole, added)] == [True, False]
