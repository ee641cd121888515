"""With `--parity` the verifier says what Intel's front end says."""

from __future__ import annotations

from collections import Counter

import pytest

from eumu.errors import Severity
from eumu.platforms import Platform, platform
from eumu.verify import check_text
from verifier.checkfile import CheckFile
from verifier.test_rules import FILES
from verifier.verdicts import Verdict, asked, instructions, kernels

KNOWN = [*instructions(), *kernels()]
# Where the tool itself crashes: calls of functions that no kernel is linked to, jumps into them,
# an input in the last register.
CRASHING = {
    *("call-registers", "call-registers.ok", "end", "input-bounds.ok", "label-kind.ok"),
    *("label-part", "label-part.ok"),
}


def ours(text: str, device: Platform) -> str:
    found = check_text(text, "k.visaasm", device, parity=True)
    return "rejects" if any(d.severity is Severity.ERROR for d in found) else "accepts"


def test_the_tables_are_whole() -> None:
    counted = Counter(known.verdict for known in KNOWN)
    assert counted == {"accepts": 1521, "rejects": 505, "crashes": 31}


def test_every_verdict_is_the_same() -> None:
    """All that Intel's tool has a verdict on; it has none where it crashes."""
    wrong = [
        f"{known.platform} {known.verdict}: {known.shown}"
        for known in KNOWN
        if known.verdict not in ("crashes", ours(known.text, platform(known.platform)))
    ]
    assert not wrong, "\n".join(wrong)


def test_a_wrong_verdict_is_noticed() -> None:
    """The comparison is no tautology: strict rules reject some of what the front end accepts."""
    strict = [
        known
        for known in KNOWN[::20]
        if known.verdict == "accepts"
        and any(
            d.severity is Severity.ERROR
            for d in check_text(known.text, "k.visaasm", platform(known.platform))
        )
    ]
    assert strict


@pytest.mark.parametrize("known", KNOWN[::50], ids=lambda known: f"{known.platform}")
def test_the_tool_still_says_so(known: Verdict, genx_ir: str) -> None:
    assert asked(genx_ir, known.text, known.platform) == known.verdict, known.shown


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path.stem)
def test_check_files(file: CheckFile, genx_ir: str) -> None:
    """What each rule's files are to the front end: also that a documents' rule is not its own."""
    device = file.devices[-1]
    theirs = asked(genx_ir, file.text, device.visa)
    if file.path.stem in CRASHING:
        assert theirs == "crashes"
    else:
        assert theirs == ours(file.text, device)
