"""The documentation of the rules, from their table.

`python -m eumu.verify docs/rules.md` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from eumu.isa.limits import By
from eumu.verify.compiler import BROKEN_BY_THE_COMPILER
from eumu.verify.rules import RULES, Rule

_HEAD: Final = """\
# Rules of `eumu check`

This page lists every rule and lint of `eumu check` with its reason. `python -m eumu.verify` writes
it. The column "page" is the page of the specification; most rules are on the page of the
instruction that they check. The column "whose" says who has the rule:

* `both`: Intel's documents and Intel's front end;
* `documents`: only the documents; the front end accepts what they forbid;
* `front end`: only the front end;
* `eumu`: no document; eumu warns of likely mistakes.
"""
_SECTIONS: Final[tuple[tuple[str, str, Callable[[Rule], bool]], ...]] = (
    (
        "Rules of the specification",
        "",
        lambda rule: rule.by in (By.BOTH, By.DOCUMENTS) and rule.code not in BROKEN_BY_THE_COMPILER,
    ),
    (
        "Rules that Intel's own compiler breaks",
        "eumu reports them as notes, with `--notes` only.",
        lambda rule: rule.code in BROKEN_BY_THE_COMPILER,
    ),
    (
        "Lints beyond the specification",
        "eumu applies them to kernels without errors.",
        lambda rule: rule.by is None,
    ),
    (
        "Rules of Intel's front end alone",
        "eumu applies them with `--parity` only.",
        lambda rule: rule.by is By.FRONT_END,
    ),
)


def rules_page() -> str:
    """The page, in Markdown: every rule in one table."""
    parts = [_HEAD]
    for title, sentence, wanted in _SECTIONS:
        rules = sorted((r for r in RULES.values() if wanted(r)), key=lambda r: r.code)
        text = [f"## {title}"] + ([sentence, ""] if sentence else []) + list(_table(rules))
        parts.append("\n".join(text) + "\n")
    return "\n".join(parts)


def _table(rules: Sequence[Rule]) -> Iterator[str]:
    broken = all(rule.code in BROKEN_BY_THE_COMPILER for rule in rules)
    last = "what the compiler does" if broken else "whose"
    yield f"| code | severity | why | page | {last} |"
    yield "|---|---|---|---|---|"
    for rule in rules:
        whose = rule.by.value if rule.by else "eumu"
        end = BROKEN_BY_THE_COMPILER[rule.code] if broken else whose
        page = rule.page or "the instruction's"
        cells = (f"`{rule.code}`", rule.severity.value, rule.why, page, end)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
