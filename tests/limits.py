"""The processor's time that a test allows, whatever else its process does."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail if the block takes this thread more than `seconds` of a processor.

    Other threads do not count: they may still compile what an earlier test launched. Nor does
    garbage that was there before: after ten thousand tests, a look through it takes seconds.
    """
    gc.freeze()
    start = time.thread_time()
    try:
        yield
    finally:
        taken = time.thread_time() - start
        gc.unfreeze()
        assert taken < seconds, f"{taken:.1f} s of a processor"
