"""The pages of the newest vISA documents, and what there is of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eumu.fuzz.vocabulary import is_executed, name
from eumu.isa.visa import VISA

TAG = "v2.40.13"  # of the graphics compiler
# The names of its files in documentation/visa/instructions.
PAGES = Path(__file__).with_suffix(".txt").read_text().split()

# Pages without a row of that name, and where they are instead.
ELSEWHERE = {
    "FILE": "a directive: read, printed, encoded; messages name the source by it",
    "LABEL": "a directive: read, printed, encoded",
    "LOC": "a directive: read, printed, encoded; messages name the source by it",
    "OWORD_LD_UNALIGNED": "`oword_ld_unaligned`, in the row of OWORD_LD",
    "SUBROUTINE": "a directive: read, printed, encoded",
    "SVM": "the page that lists those of svm_*",
}
# Which page would have an instruction that is refused; the others are on none.
_PAGES_OF = (
    *(("sample4", "3D_SAMPLE4"), ("sample_", "3D_SAMPLE"), ("load_l", "3D_LOAD")),
    *(("lsc_atomic_bf", "LSC_UNTYPED"), ("lsc_apndctr", "LSC_UNTYPED"), ("lsc_", "LSC_TYPED")),
    ("fccall", "FCCALL"),
)


def _page_of(word: str) -> str:
    return next((page for start, page in _PAGES_OF if word.startswith(start)), "")


def rows() -> Iterator[str]:
    """A line for each page: what is executed, and what is refused and why."""
    for page in [*PAGES, ""]:
        opcodes = [o for o in VISA if o.page == page]
        done = [f"`{name(o)}`" for o in opcodes if is_executed(o)]
        refused = {name(o): o.fidelity.detail for o in opcodes if not is_executed(o)}
        refused |= {w: why for w, why in VISA.unmodelled.items() if _page_of(w) == page}
        reasons: dict[str, list[str]] = {}
        for word, why in refused.items():
            reasons.setdefault(why, []).append(f"`{word}`")
        executes = ", ".join(done) or ELSEWHERE.get(page, "–")
        said = "; ".join(f"{', '.join(words)}: {why}" for why, words in reasons.items()) or "–"
        yield f"| {page or 'on no page'} | {executes} | {said} |"
