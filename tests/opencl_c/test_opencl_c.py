"""Half precision and sub-groups in OpenCL C, against NumPy and Intel's runtime for CPUs.

Each table runs in one form here; `python tests/opencl_c/run.py` runs all of them in every form.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from opencl_c.conversion_tables import to_half
from opencl_c.programs import quick
from opencl_c.suite import Form, Suite
from opencl_c.table import Piece, Row, Table, differences

pytestmark = pytest.mark.slow
SUITES = quick()
suites = pytest.mark.parametrize("name", SUITES)


def _some(suite: Suite) -> Iterator[tuple[Table, Form]]:
    for number, table in enumerate(suite.tables):
        forms = suite.forms(table)
        yield table, forms[number * 5 % len(forms)]


@suites
def test_twins(name: str, ocloc: str) -> None:
    suite = SUITES[name]
    assert not [x for table, form in _some(suite) for x in suite.against_twins(table, form)]


@suites
def test_intels_runtime_for_cpus(name: str, ocloc: str) -> None:
    suite = SUITES[name]
    wrong = []
    for table, form in _some(suite):
        theirs = suite.theirs(table)
        if isinstance(theirs, str):
            pytest.skip(theirs)
        wrong += suite.against_theirs(table, form, theirs) + suite.no_mistakes(table, theirs)
    assert not wrong


def test_a_table_finds_differences() -> None:
    values = np.array([1.0, 2.0, -0.0, np.nan], np.float16)
    table = Table("t", ("half",), "half", (Row("a"),), (values,), local=1)
    near = np.nextafter(values, np.float16(9))
    for row, got, wanted in (
        (Row("a"), values, ""),
        (Row("a"), -values, "item 0"),
        (Row("a"), np.abs(values), "item 2"),
        (Row("a", zeros=True), np.abs(values), ""),
        (Row("a"), near, "item 0"),
        (Row("a", ulps=1), np.where(values == 0, values, near), ""),
        (Row("a", ulps=9), np.where(np.isnan(values), 1, values).astype(np.float16), "item 3"),
        (Row("a", defined=lambda p: p.a == 2), np.abs(near) * 0 + 2, ""),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = differences(table, row, got, values)
        assert wanted in found and bool(found) == bool(wanted), (row, got)


def test_the_twin_of_roundings() -> None:
    values = np.array([1 + 2**-11, -1 - 2**-11, 65519.0, 2**-26, -(2.0**-26), 1.5])
    wanted = {
        "_rte": [1.0, -1.0, 65504.0, 0.0, -0.0, 1.5],
        "_rtz": [1.0, -1.0, 65504.0, 0.0, -0.0, 1.5],
        "_rtp": [1 + 2**-10, -1.0, np.inf, 2**-24, -0.0, 1.5],
        "_rtn": [1.0, -1 - 2**-10, 65504.0, 0.0, -(2**-24), 1.5],
    }
    for mode, expected in wanted.items():
        assert to_half(values, mode).tolist() == expected, mode


def test_a_piece_counts_lanes() -> None:
    values = np.arange(5)
    assert Piece((values,), (values,), 0, 8, 5).lane.tolist() == [0, 1, 2, 3, 4]
