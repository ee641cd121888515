"""Lines that eumu refuses, with a reason, and Intel's front end takes for something else."""

from __future__ import annotations

import pytest

from eumu.errors import Severity
from eumu.platforms import platform
from eumu.verify import check_text
from text.corpus import program
from text.oracle import rejected

LINES = {
    "parameters": "load_lz.R (M1, 8)  0x0:uw T6 BIG.0 UD.0 UD.0 UD.0 UD.0",
    "lanes": "load.RGBA (32) T6 UD.0 UD.32 UD.64 BIG.0",
    "option": "rt_write_3d.<FOO> (M1, 8) T6 %null.0 F.0 F.0 F.0 F.0",
    "registers": "rt_write_3d (M1, 8) T6 %null.0 F.0 F.0 F.0 F.0 F.0",
}
# Like these, but the front end refuses them too.
NOT_EVEN = {
    "lanes": "load.RGBA (4) T6 UD.0 UD.32 UD.64 BIG.0",
    "registers": "rt_write_3d (M1, 8) T6 %null.0 F.0 F.0 F.0",
}


def errors(line: str, *, parity: bool) -> list[str]:
    found = check_text(program(line), "k.visaasm", platform("skl"), parity=parity)
    return [d.code for d in found if d.severity is Severity.ERROR]


@pytest.mark.parametrize("code", LINES)
def test_an_error_but_in_parity_mode(code: str, genx_ir: str) -> None:
    source = program(LINES[code])
    assert code in errors(LINES[code], parity=False)
    assert not errors(LINES[code], parity=True)
    assert not rejected(genx_ir, source, "SKL")


@pytest.mark.parametrize("code", NOT_EVEN)
def test_an_error_in_both(code: str, genx_ir: str) -> None:
    assert errors(NOT_EVEN[code], parity=True)
    assert rejected(genx_ir, program(NOT_EVEN[code]), "SKL")
