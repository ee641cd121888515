"""Random loops that step through memory, on both engines; more by ``run.py --walks``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eumu import verify
from eumu.errors import Severity
from eumu.exec.jit.codegen import ahead
from eumu.exec.jit.host.target import host
from eumu.fuzz.machine import differences
from eumu.fuzz.walking import Walks
from eumu.platforms import platform
from random_kernels.run import WALKS, bundle

LITTLE = replace(host(), effort=0)  # of LLVM's code generator


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")


@pytest.fixture
def read_ahead(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each walk that is found, whether it reads ahead."""
    found: list[bool] = []
    turns = ahead._turns

    def counted(walk: object) -> int:
        many = turns(walk)  # type: ignore[arg-type]
        found.append(many > 0)
        return many

    monkeypatch.setattr(ahead, "_turns", counted)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("number", range(WALKS, WALKS + 6))
def test_engines_agree(number: int, read_ahead: list[bool]) -> None:
    """Two devices, sub-groups of 8 to 32; some walks read ahead, others must not."""
    found = differences(bundle(number), LITTLE)
    assert not found, f"{found[:3]}; python tests/random_kernels/run.py --only {number}"
    assert read_ahead.count(True) >= 3 and False in read_ahead


@pytest.mark.parametrize("number", range(WALKS, WALKS + 6))
def test_walks_are_valid(number: int) -> None:
    made = bundle(number)
    found = verify.check_text(made.text(), "random", platform(made.device))
    wrong = [str(d) for d in found if d.severity is Severity.ERROR]
    assert not wrong, "\n".join(wrong[:3])
    again = Walks.read(made.file())
    assert again.text() == made.text() and again.initial() == made.initial()
