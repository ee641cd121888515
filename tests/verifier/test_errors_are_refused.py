"""What the verifier calls an error is refused when it is lowered, or runs as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import eumu
from eumu.errors import Diagnostic, Severity
from eumu.platforms import Platform
from verifier.checkfile import CheckFile, findings, read

FILES = [read(path) for path in sorted(Path(__file__).parent.glob("*.visa"))]
CASES = [(f, d) for f in FILES if f.expected and not f.parity for d in f.devices]

# Rules of places, sizes and platforms: the meaning of what is written does not depend on them.
PLACES = {
    *("address-of-predefined", "alias-alignment", "alias-bounds", "alias-offset"),
    *("attribute-twice", "block2d-count", "block2d-order", "column", "declaration-count"),
    *("elements", "exec-simd", "exec-size", "indirect-offset", "input-alias", "input-alignment"),
    *("input-bounds", "input-header", "input-order", "input-overlap", "input-size"),
    *("input-straddles", "label-kind", "label-part", "lsc-address-size", "lsc-atomic-data"),
    *("lsc-atomic-float", "lsc-caching", "lsc-channels", "lsc-fence", "lsc-pitch"),
    *("lsc-registers", "lsc-ugml", "lsc-vector", "mask-alignment"),
    *("matrix-alignment", "matrix-depth", "matrix-platform", "media-block", "name-length"),
    *("operand-alignment", "oword-count", "pause-counter", "platform", "raw-alignment"),
    *("region-width", "sampler-null-mask", "send-length", "surface-slm"),
}
# Why these run, and as what.
RUNS = {
    "atomic-type": "the operation says how it takes the bits",
    "atomic-width": "16 bits are changed, as from Tiger Lake on",
    "block2d-no-data": "%null has zeros",
    "end": "channels that do not return go on",
    "function-end": "the end of a kernel",
    "lsc-coordinate": "a coordinate that is left out is 0",
    "matrix-operand": "%null has zeros",
    "matrix-types": "the precision says how the bits are taken",
    "operand-class": "an address variable holds words",
    "payload-type": "the message says how it takes the bits",
    "predicate-copy": "the predicate's bits as a number, in each lane that runs",
    "predicate-logic": "bits of lanes that the predicate leaves out stay",
    "predicate-needed": "without a predicate every lane takes src0",
    "read-only": "the variable is written",
    "render-target": "the surface that it names",
    "render-type": "the message says how it takes the bits",
    "sampler-parameter": "the message says how it takes the bits",
    "saturation": "the result is clamped to the range of its type",
    "send-descriptor": "the descriptor says what is sent",
    "send-payload": "what lies behind the variable is sent",
    "state-class": "a state is a number",
    "state-copy": "a state is a number",
    "texel-offset": "the bits of an offset of another type",
    "types": "integers of any size are computed, and the result is converted",
    "vme-size": "what lies behind the variable is sent",
}


def _alone(file: CheckFile, error: Diagnostic, wrong: set[int]) -> str:
    """The text with one of its wrong instructions; declarations stay."""
    assert error.span is not None
    lines = file.text.split("\n")
    for number in wrong - {error.span.line}:
        if not lines[number - 1].startswith("."):
            lines[number - 1] = ""
    return "\n".join(lines)


def _accepted(file: CheckFile, device: Platform) -> Iterator[str]:
    """Codes of errors that are lowered all the same."""
    found = findings(file, device)
    errors = [d for d in found if d.severity is Severity.ERROR and d.span is not None]
    wrong = {d.span.line for d in errors if d.span is not None}
    for error in errors:
        try:
            program = eumu.load(_alone(file, error, wrong).encode(), device=device.name)
            for kernel in program.kernels:
                kernel.function(device)
        except (eumu.BuildError, eumu.Unsupported, eumu.FormatError):
            continue
        yield error.code


@pytest.mark.parametrize(
    ("file", "device"), CASES, ids=[f"{f.path.stem}-{d.name}" for f, d in CASES]
)
def test_it_is_refused_or_runs_as_written(file: CheckFile, device: Platform) -> None:
    assert set(_accepted(file, device)) <= PLACES | set(RUNS)


def test_what_nothing_could_mean_is_refused() -> None:
    for line in (
        "and (M1, 8) X(0,0)<1> X(0,0)<1;1,0> (-)X(0,0)<1;1,0>",
        "add (M1, 8) X(0,0)<1> (~)X(0,0)<1;1,0> 0x1:d",
        "bfe (M1, 8) X(0,0)<1> X(0,0)<1;1,0> (-)X(0,0)<1;1,0> X(0,0)<1;1,0>",
        "add (M1, 8) X(0,0)<1> P1 0x1:d",
        "dword_atomic.inc (M1, 8) T6 X.0 X.0 %null.0 X.0",
    ):
        source = f""".version 4.1
.kernel "k"
.decl X v_type=G type=d num_elts=16 align=GRF
.decl P1 v_type=P num_elts=16
.decl T6 v_type=T num_elts=1
main:
    {line}
    ret (M1, 1)
"""
        program = eumu.load(source.encode(), device="skl")
        with pytest.raises(eumu.BuildError, match=r"modifier|%null|predicate"):
            program["k"].function(eumu.Device("skl").platform)
