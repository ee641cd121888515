"""The manual pages: every instruction has an example that the parser reads."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial

import pytest

from eumu import text
from eumu.cli import main
from eumu.errors import EumuError, Fault, Unsupported
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.fuzz.vocabulary import is_executed, is_vector, name, signatures
from eumu.isa.gen9 import GEN9
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.manual import DIRECTIVES, example, forms
from eumu.native.rules import RULES, Rule
from eumu.platforms import PLATFORMS
from image_thread import DeviceHost
from manual_examples import kernel, running
from native.samples import iga64
from visa_thread import Buffer, execute, variables

ALL = pytest.mark.parametrize("opcode", list(VISA), ids=lambda o: f"{o.number:#04x}-{o.sub}-{o}")


@ALL
def test_the_example_is_read(opcode: Opcode) -> None:
    module = text.parse(kernel(opcode, example(opcode)), "example")
    (found, *_) = module.kernels[0].instructions
    assert found.opcode is opcode


@ALL
def test_every_form_of_an_operand_is_read(opcode: Opcode) -> None:
    line = example(opcode)
    for field in opcode.fields:
        usual, *others = (sample for _, sample in forms(opcode, field))
        for form in others:
            before, place, after = line.rpartition(f" {usual}")
            assert place
            text.parse(kernel(opcode, f"{before} {form}{after}"), "example")


def _platforms(opcode: Opcode) -> list[str]:
    """Those that have the instruction, the latest first."""
    found = [p for p in PLATFORMS if opcode.platforms is None or p in opcode.platforms]
    return [p for p in reversed(found) if not is_vector(opcode) or signatures(opcode, p)]


def _run(opcode: Opcode, here: str, engine: Engine) -> None:
    """Variables are zeros, or addresses where an access to 0 is a fault; surface 0 is a buffer."""
    main_kernel, *functions = running(opcode, here)
    buffer = Buffer("MEMORY", 8192, surface=0)
    host = partial(DeviceHost, here, pictures=(), filters=(), before={})
    address = host(64, [buffer]).places["MEMORY"].to_bytes(8, "little")
    sizes = {n: v.size for n, v in variables(main_kernel).items() if v.size > 64}
    run = partial(execute, functions=functions, buffers=[buffer], memory=host)
    try:
        run(main_kernel, {}, [], here, engine)
    except Fault as first:
        before = {n: address * (size // 8) for n, size in sizes.items()}
        try:
            run(main_kernel, before, [], here, engine)
        except Unsupported:  # addresses are not what a message takes
            raise first from None


@pytest.mark.slow
@pytest.mark.parametrize("engine", [Interpreter, Jit])
def test_examples_run(engine: Callable[[], Engine]) -> None:
    """All of them, at the latest platform that can; there are no images and no other threads."""
    wrong, faults, executed = [], 0, [o for o in VISA if is_executed(o)]
    machine = engine()
    for opcode in executed:
        complaint = ""
        for here in _platforms(opcode):
            try:
                _run(opcode, here, machine)
                complaint = ""
            except Fault as fault:
                faults += not is_vector(opcode)
                complaint = fault.reason if is_vector(opcode) else ""
            except EumuError as error:
                complaint = f"{type(error).__name__}: {error}".partition("\n")[0]
            if not complaint:
                break
        if complaint:
            wrong.append(f"{name(opcode)}: {complaint}")
    print(f"{len(executed)} examples, {faults} of them end at what is not there")
    assert not wrong, "\n".join(wrong)


def test_every_kind_says_what_may_be_written() -> None:
    for opcode in VISA:
        for field in opcode.fields:
            for words, _ in forms(opcode, field):
                assert words, f"{type(field.kind).__name__} of {opcode}.{field.name} has no manual"
                assert ":class:" not in words


def page(capsys: pytest.CaptureFixture[str], name: str) -> list[str]:
    assert main(["explain", name]) == 0
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def test_a_page_of_arithmetic(capsys: pytest.CaptureFixture[str]) -> None:
    lines = page(capsys, "add")
    assert "example      add (M1, 16) dst(0,0)<1> src0(0,0)<1;1,0> src1(0,0)<1;1,0>" in lines
    assert (
        "src0         elements of a variable src0(0,0)<1;1,0>, those at an address"
        " r[A0(0),0]<1;1,0>:d or a constant 2:d"
    ) in lines
    assert "types        ub b uw w ud d ← ub b uw w ud d v uv" in lines
    assert "platforms    all" in lines


def test_platforms_are_a_stretch_of_time(capsys: pytest.CaptureFixture[str]) -> None:
    later = "dg2, mtl, arl, pvc, bmg, lnl, ptl, nvl, nvlp, cri"
    assert f"platforms    dg2 and later ({later})" in page(capsys, "lsc_load")
    assert "platforms    up to bxt (bdw, skl, bxt)" in page(capsys, "lrp")
    assert "platforms    xehp, dg2, arl, pvc, bmg, lnl, ptl, nvl, nvlp, cri" in page(
        capsys, "qw_gather"
    )


def test_operands_have_the_classes_of_the_instruction(capsys: pytest.CaptureFixture[str]) -> None:
    lines = page(capsys, "setp")
    assert "dst          a predicate variable" in lines
    assert "example      setp (M1, 16) P1 src0(0,0)<1;1,0>" in lines
    assert "rel          one of eq, ne, gt, ge, lt, le" in page(capsys, "cmp")


@pytest.mark.parametrize("word", sorted({o.page for o in VISA if o.page}))
def test_pages_are_explained(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 0
    shown = capsys.readouterr().out
    assert all(o.mnemonic in shown for o in VISA.on_page(word))


def test_pages_of_a_family_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "SVM"]) == 0
    shown = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert {o.mnemonic for o in VISA if o.page.startswith("SVM_")} <= shown


@pytest.mark.parametrize("word", ["FCCALL", "sample_po"])
def test_what_is_not_modelled_is_explained(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 0
    assert VISA.unmodelled[word.lower()] in capsys.readouterr().out


@pytest.mark.parametrize("word", DIRECTIVES)
def test_directives_are_explained(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word.lower()]) == 0
    meaning, written = DIRECTIVES[word]
    shown = capsys.readouterr().out
    assert meaning in shown and all(line in shown for line in written.splitlines())


def test_examples_of_directives_are_read() -> None:
    order = [".version", ".kernel", ".kernel_attr", ".decl", ".input", "FILE", "LOC", "LABEL"]
    lines = [DIRECTIVES[word][1] for word in [*order, "SUBROUTINE"]]
    text.parse("\n".join([*lines, "    ret (M1, 1)", ""]), "k.visaasm")


@pytest.mark.parametrize("opcode", list(GEN9), ids=lambda o: f"{o}{o.literal_after_mnemonic()}")
def test_native_instructions_are_explained(
    opcode: Opcode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert opcode.page, "its title in the manual's volume of instructions"
    name = f"{opcode}{opcode.literal_after_mnemonic()}"
    assert main(["explain", "--level", "native", name]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert f"page         {GEN9.document} {opcode.page}" in lines


def test_titles_are_those_that_the_assembler_lists() -> None:
    command = [iga64(), "-p=9", "-Xlist-ops"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    titles = dict(line.split(maxsplit=1) for line in listed.splitlines()[1:] if line.strip())
    assert {str(o): o.page for o in GEN9} == {name: t.strip() for name, t in titles.items()}


@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda r: r.id)
def test_native_rules_are_explained(rule: Rule, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--level", "native", rule.id]) == 0
    shown = capsys.readouterr().out
    assert rule.title in shown and rule.page in shown


def test_a_native_name_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--level", "native", "2.77"]) == 1
    assert "near it: 2.7" in capsys.readouterr().err
