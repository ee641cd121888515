"""Which engine the threads of these tests run on."""

from __future__ import annotations

import pytest

from isa.memory import machine


@pytest.fixture(params=["interp", pytest.param("jit", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on the interpreter, and (slow) on the fast engine."""
    name: str = request.param
    monkeypatch.setattr(machine, "engine", name)
    return name
