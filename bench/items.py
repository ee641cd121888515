"""What the benchmark runs."""

from __future__ import annotations

from foundation import FOUNDATION
from suites import SUITES
from workloads import WORKLOADS

ITEMS = (*FOUNDATION, *SUITES, *WORKLOADS)
