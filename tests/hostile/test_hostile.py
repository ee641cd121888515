"""Hostile kernels, a few of them; ``python tests/hostile/run.py`` makes many launches."""

from __future__ import annotations

from hostile.run import run


def test_engines_agree_and_nothing_beside_arrays_is_written() -> None:
    """Kernel 15 has lanes that are 2**64 apart from the first byte to the last."""
    done, findings = run(0, 16)
    assert not findings
    assert done == 800


def test_what_others_have_stored_cannot_be_read() -> None:
    """Launch 34 of this kernel aims at the results, though nobody meant it to: who reads them sees
    what ran before, which is not the same on both engines."""
    done, findings = run(10001179, 1)
    assert not findings
    assert done == 50


def test_results_are_far_from_where_kernels_aim() -> None:
    """They aim at the begins and ends of arrays and of all memory, some thousand bytes beside."""
    done, findings = run(119, 1)
    assert not findings
    assert done == 50
