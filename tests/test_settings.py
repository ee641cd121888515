"""Environment variables: one table, typed errors, and a page that lists them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.errors import SettingError
from eumu.exec.checks import CHECKS
from eumu.exec.jit import Jit
from eumu.settings import (
    CACHE,
    CACHE_MB,
    CHECK_NAMES,
    IGA64,
    OCLOC,
    PRINTF_MB,
    SCRATCH_MB,
    SETTINGS,
    WORKERS,
    Setting,
)

ROOT = Path(__file__).resolve().parents[1]
WRONG = ("x", "-5", "1e23", "1.5", "9" * 5000, "\x01", "maybe")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
@pytest.mark.parametrize("text", WRONG)
def test_wrong_values_are_named(
    setting: Setting[object], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(setting.name, text)
    if setting.kind in ("a folder", "a path"):
        assert setting.get() == Path(text)
        return
    if setting.kind == "the name of a device" and text.isprintable() and len(text) < 65:
        assert setting.get() == text  # whoever uses it says that there is no such device
        return
    if setting in (OCLOC, IGA64):  # that it is no program is seen where it is to be started
        assert setting.get() == (text,)
        return
    with pytest.raises(SettingError, match=setting.name) as raised:
        setting.get()
    assert setting.kind in str(raised.value)
    assert len(str(raised.value)) < 400


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", " Off ")
    monkeypatch.setenv("EUMU_CACHE_MB", "0")
    monkeypatch.setenv("EUMU_WORKERS", "")
    monkeypatch.setenv("EUMU_OCLOC", ": /a/ocloc :ocloc:")
    assert OCLOC.get() == ("/a/ocloc", "ocloc")
    assert (CACHE.get(), CACHE_MB.get(), WORKERS.get()) == (False, 0, None)
    monkeypatch.setenv("EUMU_WORKERS", "3")
    assert Jit().workers == 3
    monkeypatch.setenv("EUMU_WORKERS", "0")
    with pytest.raises(SettingError):
        Jit()


def test_the_page_lists_them() -> None:
    page = (ROOT / "docs" / "running.md").read_text()
    rows = re.findall(r"^\| `(EUMU_\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", page, re.M)
    assert rows == [(s.name, s.kind, s.default_text, s.meaning) for s in SETTINGS]


def test_nobody_else_reads_them() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        if path.name != "settings.py":
            assert not re.search(r"environ[^\n]*EUMU_", path.read_text()), path


_KERNEL = b""".version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.input OUT offset=64 size=8
.kernel_attr SimdSize=16
.kernel_attr PerThreadInputSize=0
    ret (M1, 1)
"""


@pytest.mark.parametrize("engine", eumu.runtime.device.ENGINES)
def test_scratch_space_has_a_limit(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device = eumu.Device("pvc", engine=engine)
    kernel = eumu.load(_KERNEL, device="pvc")["k"]
    kernel._memory_needs = lambda *_: (0, 1 << 20)
    monkeypatch.setenv(SCRATCH_MB.name, "3")
    out = device.array(16, np.uint32)
    with pytest.raises(eumu.LaunchError, match=r"1048576 bytes of scratch .*EUMU_SCRATCH_MB=3"):
        kernel.launch(device, 64, 64, [out])
    assert kernel.launch(device, 160, 32, [out]).groups == 5


@pytest.mark.parametrize("engine", eumu.runtime.device.ENGINES)
def test_numbers_of_a_launch(engine: str) -> None:
    device = eumu.Device("pvc", engine=engine)
    kernel, out = eumu.load(_KERNEL, device="pvc")["k"], device.array(16, np.uint32)
    wrong: list[Any] = [0, 1 << 64, 1.5, "7", 10**5000]
    for fuel in wrong:
        with pytest.raises(eumu.LaunchError, match="fuel is"):
            kernel.launch(device, 16, 16, [out], fuel=fuel)
    for seed in (-5, 1 << 64, 10**5000):
        with pytest.raises(eumu.LaunchError, match="seed is"):
            kernel.launch(device, 16, 16, [out], seed=seed)


def test_printed_text_has_a_limit() -> None:
    from eumu.runtime.printf import decode

    def text_of(template: bytes, *numbers: int, most: int = 1000) -> str:
        data = b"".join(b"\3\0\0\0" + n.to_bytes(4, "little") for n in numbers)
        record = (8).to_bytes(8, "little") + data
        return decode((4 + len(record)).to_bytes(4, "little") + record, lambda a: template, most)

    for wide in (b"%2000000000d", b"%.2000000000d", b"%-9999999999999999999d", b"%0123456789d"):
        text = text_of(wide, 7)
        assert len(text) < 1200 and PRINTF_MB.name in text, wide
    many = text_of(b"%2000000000d" * 1000, *range(1000), most=1 << 20)  # 1 GB if each were as wide
    assert len(many) < 1200 + (1 << 20) and PRINTF_MB.name in many
    vector = (16).to_bytes(4, "little") + bytes(64)
    data = bytes(8) + b"\x0b\0\0\0" + vector
    assert decode((4 + len(data)).to_bytes(4, "little") + data, lambda a: b"%v16d", 31) == (
        ",".join("0" * 16)
    )
    assert text_of("é%d".encode(), 7, most=2) == "é7"
    assert text_of(b"%999d|", 7) == "7".rjust(999) + "|"
    assert PRINTF_MB.name in text_of(b"%999d|x", 7)
    assert text_of(b"%05d %.3d", 7, 8) == "00007 008"


def test_names_of_checks_are_those_that_there_are() -> None:
    assert {*CHECKS, "cheap", "all"} == CHECK_NAMES
