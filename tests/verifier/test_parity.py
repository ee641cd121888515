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
    *("label-part", "label-part.ok", "matrix-operand"),
}
# It never ends on factors of one bit.
ASKED = [file for file in FILES if file.path.stem != "matrix-precision"]
# The tool's PVC is the first stepping, which has no stochastic rounding; eumu's pvc is the one that
# was sold, its PVCXT.
FIRST_STEPPING = "srnd "


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
        and not (known.platform == "PVC" and known.shown.startswith(FIRST_STEPPING))
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


def test_the_stepping_that_was_sold(genx_ir: str) -> None:
    (known,) = (k for k in KNOWN if k.platform == "PVC" and k.shown.startswith(FIRST_STEPPING))
    assert known.verdict == "rejects"
    assert asked(genx_ir, known.text, "PVCXT") == ours(known.text, platform("pvc")) == "accepts"


@pytest.mark.parametrize("file", ASKED, ids=lambda file: file.path.stem)
def test_check_files(file: CheckFile, genx_ir: str) -> None:
    """What each rule's files are to the front end: also that a documents' rule is not its own."""
    device = file.devices[-1]
    theirs = asked(genx_ir, file.text, device.visa)
    if file.path.stem in CRASHING:
        assert theirs == "crashes"
    else:
        assert theirs == ours(file.text, device)
