"""Functions in processes of their own."""

from __future__ import annotations

import os

from random_kernels.isolated import DIED, call


def test_a_process_of_a_process_answers() -> None:
    """Its limit of processor time may ask for more than the first one has."""
    assert call(lambda _: call(lambda _: "inner", None, 500.0), None, 5.0) == "inner"


def test_one_that_dies_is_a_result() -> None:
    def die(_: None) -> str:
        os._exit(3)

    assert call(die, None, 5.0).startswith(DIED)
    assert call(lambda _: "outer " + call(die, None, 5.0), None, 5.0).startswith("outer " + DIED)
