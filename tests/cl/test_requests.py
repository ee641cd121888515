"""What a program sends is checked: wrong requests end in a typed error or a status."""

from __future__ import annotations

import os
import random
import socket
import struct
import sys
from functools import cache
from pathlib import Path

import pytest

from eumu.beside.door import ProtocolError
from eumu.cl.engine import _Service
from eumu.cl.mapping import map_file
from eumu.cl.meeting import meet
from eumu.cl.memory import SharedMemory
from eumu.cl.options import ClOptions, recorded
from eumu.cl.protocol import HELLO, VERSION, RequestCode, Status, packed, requests
from eumu.exec.tiered import Tiered

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux")
KERNELS = Path(__file__).parents[1] / "kernels" / "bin" / "skl"
BASE, SIZE = 0x200000000000, 64 << 20
INTERESTING = (0, 1, 2, 3, 8, 255, 1 << 16, 1 << 31, (1 << 32) - 1)


@cache
def _map() -> None:
    """Once in a process, which may come back to this file after others."""
    fd = os.memfd_create("test")
    os.ftruncate(fd, SIZE)
    map_file(fd, BASE, SIZE)
    os.close(fd)


@pytest.fixture(scope="module")
def service() -> _Service:
    _map()
    return _Service(SharedMemory(BASE, SIZE), os.getpid(), ClOptions(device="skl"))


@pytest.mark.parametrize("request_", list(RequestCode)[1:], ids=lambda r: r.name)
def test_random_requests(
    service: _Service, request_: RequestCode, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(200):
        rng = random.Random(seed)
        words = [rng.choice((*INTERESTING, BASE & 0xFFFFFFFF)) for _ in range(rng.randrange(24))]
        data = packed(*words) + rng.randbytes(rng.choice((0, 0, 1, 7)))
        try:
            status, answer = service.answer(request_, data)
        except ProtocolError:
            continue
        assert isinstance(status, int) and isinstance(answer, bytes)
    assert "internal error" not in capsys.readouterr().err


def test_what_is_recorded_has_a_limit(
    service: _Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program may go on behind a fault, as often as it likes."""
    from eumu.cl import engine

    monkeypatch.setattr(engine, "_KEPT", 3)
    with (tmp_path / "records").open("w+b") as file:
        options = ClOptions(device="skl", records=file.fileno(), tells=False)
        monkeypatch.setattr(service, "_options", options)
        monkeypatch.setattr(service, "_recorded", 0)
        for _ in range(9):
            service.answer(RequestCode.FREE, packed(1, 0))
        assert len(list(recorded(file.fileno()))) == 3


@pytest.mark.parametrize("checks", [False, True])
def test_first_launches_do_not_wait_for_the_best_code(checks: bool) -> None:
    """A checked run is of one engine, as its findings are."""
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    memory = SharedMemory(BASE, SIZE)
    service = _Service(memory, os.getpid(), ClOptions(device="skl", check=checks))
    elf = (KERNELS / "saxpy.bin").read_bytes()
    assert service.answer(RequestCode.BUILD, packed(0, 2, "", 1, packed("", elf)))[0] == 0
    engine = service.device._get("jit")
    assert isinstance(engine, Tiered) is not checks


def test_launches_with_random_arguments(
    service: _Service, capsys: pytest.CaptureFixture[str]
) -> None:
    """Addresses and sizes that aim beside memory are faults or errors of the launch."""
    elf = (KERNELS / "saxpy.bin").read_bytes()
    build = packed(0, 2, "", 1, packed("", elf))
    status, answer = service.answer(RequestCode.BUILD, build)
    log, binary = struct.unpack_from("<I", answer)[0], len(elf)
    assert status == 0
    number = struct.unpack_from("<3I", answer, 8 + log + binary)[2]
    _, made = service.answer(RequestCode.ALLOCATE, struct.pack("<QQQIQ", 4096, 128, 0, 0, 1))
    (address,) = struct.unpack("<Q", made)
    statuses = set()
    for seed in range(150):
        rng = random.Random(seed)
        ends = (0, address, address + 4096, address - 4, BASE, BASE + SIZE, 1 << 47, (1 << 64) - 1)
        x, y = ((address, 4096) if rng.random() < 0.3 else _pointer(rng, ends) for _ in range(2))
        sizes = rng.choice((16, 64, 256)), 1, 1, rng.choice((1, 16, 3, 1 << 40)), 1, 1
        head = struct.pack("<4I9Q", number, 0, 1, rng.randrange(2), *sizes, 0, 0, 0)
        body = struct.pack("<IQQIQQ", 1, *x, 1, *y) + packed(0, struct.pack("<f", 2.0))
        statuses.add(service.answer(RequestCode.LAUNCH, head + body)[0])
    assert statuses == {0, -5}
    assert "internal error" not in capsys.readouterr().err


def test_local_memory_of_any_size_is_an_error_of_the_launch(
    service: _Service, capsys: pytest.CaptureFixture[str]
) -> None:
    elf = (KERNELS / "local_pointers.bin").read_bytes()
    status, answer = service.answer(RequestCode.BUILD, packed(0, 2, "", 1, packed("", elf)))
    log = struct.unpack_from("<I", answer)[0]
    number = struct.unpack_from("<3I", answer, 8 + log + len(elf))[2]
    kernel = service._programs[number].kernels[0]
    locals_ = [p for p in kernel.args if p.passing.name == "LOCAL"]
    assert status == 0 and len(locals_) > 1  # the second begins behind the first
    for size in (1 << 20, 1 << 32, 1 << 63, (1 << 64) - 1):
        body = b"".join(
            struct.pack("<IQ", 2, size)
            if p.passing.name == "LOCAL"
            else struct.pack("<IQQ", 1, 0, 0)
            if p.passing.name == "BUFFER"
            else packed(0, bytes(p.size))
            for p in kernel.args
        )
        head = struct.pack("<4I9Q", number, 0, 1, 1, 16, 1, 1, 16, 1, 1, 0, 0, 0)
        assert service.answer(RequestCode.LAUNCH, head + body)[0] == -5
        said = capsys.readouterr().err
        assert "bytes of local memory" in said and "internal error" not in said


def _pointer(rng: random.Random, ends: tuple[int, ...]) -> tuple[int, int]:
    return rng.choice(ends), rng.choice((0, 1, 64, 4096, 1 << 32, (1 << 64) - 1))


def test_a_greeting_is_checked() -> None:
    for base, size, length in ((BASE + 1, SIZE, SIZE), (1 << 47, SIZE, SIZE), (BASE, SIZE, 4096)):
        fd = os.memfd_create("test")
        os.ftruncate(fd, length)
        with pytest.raises(ProtocolError):
            map_file(fd, base, size)
        os.close(fd)
    ours, theirs = socket.socketpair()
    fd = os.memfd_create("test")  # not sealed
    socket.send_fds(
        theirs, [HELLO.pack(HELLO.size, RequestCode.HELLO, VERSION, 0, BASE, SIZE)], [fd]
    )
    with pytest.raises(ProtocolError, match="not sealed"):
        meet(ours, ClOptions())
    theirs.send(HELLO.pack(HELLO.size, RequestCode.HELLO, VERSION, 0, BASE, SIZE))
    with pytest.raises(ProtocolError, match="no greeting"):
        meet(ours, ClOptions())
    for peer in (ours, theirs):
        peer.close()
    os.close(fd)


@pytest.mark.parametrize("head", [(4, 2), (1 << 31, 2), (8, 99)], ids=["short", "long", "unknown"])
def test_a_head_is_checked(head: tuple[int, int]) -> None:
    ours, theirs = socket.socketpair()
    theirs.send(struct.pack("<II", *head))
    with pytest.raises(ProtocolError):
        list(requests(ours))
    ours.close(), theirs.close()


@pytest.mark.parametrize(
    ("options", "header", "said"),
    [
        ("-DN=1\0", "a.h", b"NUL"),
        ("", "a\0.h", b"NUL"),
        ("", "", b"no name"),
        ("", "a" * 300, b"cannot be written"),
        ("", "../a.h", b"outside"),
        ("", "/a.h", b"outside"),
    ],
)
def test_names_that_no_file_has(
    service: _Service, options: str, header: str, said: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of options and of headers: the log says so, and nothing is written elsewhere."""
    source, text = packed("", b"kernel void k() {}"), packed(header, b"#define N 1\n")
    status, answer = service.answer(RequestCode.BUILD, packed(1, 0, options, 2, source + text))
    assert status in (Status.INVALID_BUILD_OPTIONS, Status.COMPILE_PROGRAM_FAILURE)
    assert said in answer and "internal error" not in capsys.readouterr().err
