"""What the benchmark runs."""

from __future__ import annotations

from foundation import FOUNDATION
from suites import SUITES

ITEMS = (*FOUNDATION, *SUITES)
