"""Hostile kernels, a few of them; ``python tests/hostile/run.py`` makes many launches."""

from __future__ import annotations

from hostile.run import run


def test_engines_agree_and_nothing_beside_arrays_is_written() -> None:
    done, findings = run(0, 8)
    assert not findings
    assert done == 400
