"""Half precision and sub-groups in every form: ``python tests/opencl_c/run.py [--only WORD]``.

Tables of OpenCL C expressions run on eumu (skl as vISA and natively, pvc; both engines) and are
compared with NumPy, and with Intel's runtime for CPUs where it is installed.  `--forms` names some
forms, as in ``skl/native/jit,pvc/visa/interp``.  The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from opencl_c.programs import everything
from opencl_c.suite import FORMS, Form, Suite
from opencl_c.table import Table


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="suites with this in their name")
    parser.add_argument("--tables", default="", help="tables with this in their name")
    parser.add_argument("--forms", default=",".join("/".join(f) for f in FORMS))
    options = parser.parse_args()
    wanted = {tuple(text.split("/")) for text in options.forms.split(",")}
    counts: Counter[str] = Counter()
    for name, suite in everything().items():
        if options.only in name:
            suite.tables = [t for t in suite.tables if options.tables in t.name]
            for table in suite.tables:
                forms = [f for f in suite.forms(table) if f in wanted]
                _one(suite, table, forms, counts)
            print(f"{name}: {len(suite.tables)} tables", flush=True)
    print(*(f"{n} {what}" for what, n in counts.items()), sep="\n")
    return 1 if counts["differences"] else 0


def _one(suite: Suite, table: Table, forms: list[Form], counts: Counter[str]) -> None:
    theirs = suite.theirs(table)
    wrong = []
    if isinstance(theirs, str):
        print(f"{table.name}: not compared with Intel's runtime for CPUs: {theirs.strip()}")
    else:
        wrong += suite.no_mistakes(table, theirs)
    for form in forms:
        wrong += suite.against_twins(table, form)
        counts["rows compared with NumPy"] += sum(r.twin is not None for r in table.rows)
        if not isinstance(theirs, str):
            wrong += suite.against_theirs(table, form, theirs)
            counts["rows compared with Intel's runtime"] += sum(not r.theirs for r in table.rows)
    counts["differences"] += len(wrong)
    for text in wrong:
        print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
