"""Native Gen9 code against the vISA of the same kernels, both on the fast engine.

    python bench/levels.py [ITEM ...] [--into bench/results.json bench/RESULTS.md]

prints the CPU time of each level and their ratio.  Items are those of the contest that the compiler
has made for Apollo Lake.  With --into the figures go into the results of a whole run, too.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from native_levels import lines, measure
from run import text_of


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("items", nargs="*")
    parser.add_argument("--into", type=Path, nargs=2, metavar=("JSON", "MARKDOWN"))
    options = parser.parse_args()
    found = measure(options.items)
    print("\n".join(lines(found)))
    if options.into:
        results, markdown = options.into
        run = json.loads(results.read_text())
        run["figures"]["levels"] = found
        results.write_text(json.dumps(run, indent=1) + "\n")
        markdown.write_text(text_of(run))
    return sum(bool(row["wrong"]) for row in found["rows"])


if __name__ == "__main__":
    sys.exit(main())
