"""Compiled kernels on disk: found again, bounded, and never trusted when damaged."""

from __future__ import annotations

import os
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from eumu.exec.grid import Grid
from eumu.exec.jit import Jit
from eumu.exec.jit.host import cache, compiler
from eumu.exec.jit.host.target import Processor, host
from eumu.exec.jit.interface import Module
from exec.jit_programs import Memory, Program


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("EUMU_CACHE", raising=False)
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path))
    return tmp_path


def grid(seed: int = 1) -> Grid:
    return Program(Random(seed), branches=False).grid(tail=False)


def run(grid: Grid) -> bytes:
    memory = Memory(1)
    Jit(workers=1).run(grid, memory)
    return memory.arena.tobytes()


def forbid_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str, processor: Processor) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr(compiler, "compile_text", refuse)


def test_second_engine_loads_what_the_first_compiled(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = run(grid())
    assert len(list(place.glob("*.kernel"))) == 1
    forbid_compiling(monkeypatch)
    assert run(grid()) == wanted


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_damaged_file_is_compiled_again(place: Path, damage: str) -> None:
    wanted = run(grid())
    (path,) = place.glob("*.kernel")
    data = bytearray(path.read_bytes())
    if damage == "truncated":
        data = data[: len(data) // 2]
    elif damage == "flipped":
        data[len(data) // 2] ^= 1
    else:
        data = bytearray()
    path.write_bytes(data)
    assert cache.read(path) is None
    assert run(grid()) == wanted
    assert cache.read(path) is not None, "a good file is there again"


def test_payloads_of_one_size_with_more_or_less_data(place: Path) -> None:
    """Local ids behind both: a worker of the first cannot be one of the second."""
    first, jit = grid(), Jit(workers=1)
    ids_last = replace(first.payload, local_id_offset=4096)
    more = replace(ids_last, cross_thread=ids_last.cross_thread + bytes(64))
    assert ids_last.size == more.size
    for payload in (ids_last, more, ids_last):
        memory, alone = Memory(1), Memory(1)
        jit.run(replace(first, payload=payload), memory)
        Jit(workers=1).run(replace(first, payload=payload), alone)
        assert memory.arena.tobytes() == alone.arena.tobytes()


def test_code_of_other_sources_is_not_used() -> None:
    """Whatever the engine imports from the files beside it is among them."""
    text = "".join(path.read_text() for path in cache.sources())
    names = set(re.findall(r"^ *from eumu\.exec\.(\w+) import", text, re.M)) - {"jit", "interp"}
    assert names >= {"named", "state", "grid"}
    assert names <= {path.stem for path in cache.sources()}


def test_off(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")
    run(grid())
    assert list(place.iterdir()) == []


def test_directory_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.delenv("EUMU_CACHE", raising=False)
    monkeypatch.setenv("EUMU_CACHE_DIR", str(file / "below"))
    run(grid())
    assert file.read_text() == "in the way"


def test_least_recently_used_goes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(grid(1))
    (first,) = place.glob("*.kernel")
    monkeypatch.setenv("EUMU_CACHE_MB", "0")
    run(grid(2))
    assert not first.exists()


def test_the_limit_holds_and_the_folder_is_seldom_looked_at(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    prune = cache._prune
    monkeypatch.setattr(cache, "_prune", lambda *given: looks.append(given) or prune(*given))
    monkeypatch.setenv("EUMU_CACHE_MB", "1")
    module = Module("", (), (), 0, False, (), 0, False, True)
    for k in range(400):
        cache.write(place / f"{k}.kernel", module, (bytes(5000),))  # two blocks
        os.utime(place / f"{k}.kernel", (k, k))
    kept = sorted(int(path.stem) for path in place.glob("*.kernel"))
    assert kept == list(range(400 - len(kept), 400)) and 7 / 8 * 128 <= len(kept) <= 128
    assert len(looks) < 30
    (place / "tally").unlink()
    cache.write(place / "400.kernel", module, (bytes(5000),))
    assert (place / "tally").stat().st_size == 2 * len(list(place.glob("*.kernel")))


def test_key_depends_on_code_specialisation_and_processor() -> None:
    from eumu.exec.jit.host.specials import specialise

    one, two = grid(1), grid(2)
    base = cache.key_of(one.function, specialise(one), host())
    other = Processor(host().triple, "x86-64", "")
    assert base == cache.key_of(grid(1).function, specialise(grid(1)), host())
    assert base != cache.key_of(two.function, specialise(two), host())
    assert base != cache.key_of(one.function, specialise(one), other)


def test_the_same_code_by_another_name_is_found(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver's own kernels have no names but the addresses where a process has them."""
    first, other = grid(), grid()
    wanted = run(first)
    other.function.name = "code_5ff54298b000"
    assert first.function.name != other.function.name
    forbid_compiling(monkeypatch)
    assert run(other) == wanted


def test_threads_may_keep_texts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """boost::compute's radix sort ended in "OrderedDict mutated during iteration"."""
    from eumu.exec.jit.driver import module
    from eumu.exec.jit.host.specials import specialise

    made = Module("", (), (), 0, False, (), 0, False, True)
    monkeypatch.setattr(module, "build", lambda *_: made)
    function, special, failed = grid().function, specialise(grid()), []

    def work() -> None:
        try:
            for _ in range(3000):
                other = replace(function, name="another")
                assert cache._module(other, special, host().hasty()) is made
        except BaseException as error:
            failed.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        cache._MODULES.clear()
    assert not failed
