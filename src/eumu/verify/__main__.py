"""`python -m eumu.verify FILE`: writes the page of the rules, docs/rules.md."""

import sys
from pathlib import Path

from eumu.verify.manual import rules_page

Path(sys.argv[1]).write_text(rules_page(), "utf-8")
