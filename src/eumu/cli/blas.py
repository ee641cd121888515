"""NumPy without threads for linear algebra, which eumu's own processes do next to none of.

Its BLAS starts a thread for each other core when it is loaded, in half of the processor time that
importing all of NumPy takes.  A program that imports eumu keeps what it has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_THREADS: Final = "OPENBLAS_NUM_THREADS"


@contextmanager
def one_thread() -> Iterator[None]:
    """For what is imported inside; whoever sets a number of threads gets it.

    Processes that are started later have the environment of the user.
    """
    if _THREADS in os.environ:
        yield
        return
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[_THREADS]
