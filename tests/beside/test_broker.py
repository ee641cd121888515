"""The process that starts engine processes: programs that come and do not keep to the protocol."""

from __future__ import annotations

import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from json import dumps, loads
from pathlib import Path

import pytest

from eumu.beside import session
from eumu.beside.door import FAULTED, note
from eumu.beside.peer import abort
from eumu.cl.options import ClOptions
from eumu.cl.protocol import HELLO, VERSION, RequestCode

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the doors are for Linux")
BASE, SIZE = 0x200000000000, 64 << 20
FILES = 200  # that a broker may have open here
GREETING = HELLO.pack(HELLO.size, RequestCode.HELLO, VERSION, 0, BASE, SIZE)


def _few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


@contextmanager
def broker(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(path))
        listener.listen(512)
        given = asdict(ClOptions(device="skl")) | {"listener": listener.fileno()}
        process = subprocess.Popen(
            [sys.executable, "-m", "eumu.beside.broker", "eumu.cl.door", dumps(given)],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(listener.fileno(),),
            preexec_fn=_few_files,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def come(path: Path) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(60)
    peer.connect(str(path))
    return peer


@contextmanager
def memory(seals: int = 2) -> Iterator[int]:
    """A file for the device's memory; it cannot shrink (F_SEAL_SHRINK)."""
    import fcntl

    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, SIZE)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    try:
        yield fd
    finally:
        os.close(fd)


def is_greeted(path: Path) -> bool:
    """Whether a program that keeps to the protocol is answered."""
    with closing(come(path)) as peer, memory() as fd:
        socket.send_fds(peer, [GREETING], [fd])
        size, status = struct.unpack("<Ii", peer.recv(8))
        return size > 8 and status == 0


def files_of(process: subprocess.Popen[bytes]) -> int:
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def test_many_that_say_nothing(tmp_path: Path) -> None:
    """The eldest must go: the others are answered, and files do not run out."""
    path = tmp_path / "socket"
    with broker(path) as process:
        silent = [come(path) for _ in range(2 * FILES)]
        assert is_greeted(path) and process.poll() is None
        assert files_of(process) < FILES
        for peer in silent:
            peer.close()
        assert is_greeted(path)


def test_wrong_greetings_leave_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    other = HELLO.pack(HELLO.size, RequestCode.HELLO, VERSION + 1, 0, BASE, SIZE)
    with broker(path) as process, memory() as fd, memory(seals=4) as unsealed:
        assert is_greeted(path)
        before = files_of(process)
        for k in range(2 * FILES):
            data, files = ((b"?", [fd]), (other, [fd]), (GREETING, [unsealed]), (GREETING, []))[
                k % 4
            ]
            with closing(come(path)) as peer:
                socket.send_fds(peer, [data], files)
                assert peer.recv(1) == b""  # it is closed, and nothing else is said
        assert process.poll() is None
        end = time.monotonic() + 30
        while files_of(process) > before and time.monotonic() < end:
            time.sleep(0.1)
        assert files_of(process) <= before
        assert is_greeted(path)


def test_more_faults_than_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read when the program has ended: until then nobody may wait for room."""

    class Engines:
        stdin = None

        def __init__(self, command: list[str], **_: object) -> None:
            status = loads(command[-1])["status"]
            assert not os.get_blocking(status)
            for _ in range(70_000):
                note(status, FAULTED)

        def terminate(self) -> None: ...

        def wait(self) -> None: ...

    monkeypatch.setattr(subprocess, "Popen", Engines)
    with session._broker("a door", str(tmp_path / "engine"), ClOptions(), ()) as status:
        assert session._told(status).count(FAULTED) > 1000


def test_a_process_that_is_not_seen_is_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another container's process the system says 0, which is everybody to kill(2)."""
    ended = []
    monkeypatch.setattr(os, "kill", lambda *what: ended.append(what))
    abort(0)
    abort(5)
    assert ended == [(5, signal.SIGABRT)]
