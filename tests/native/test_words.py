"""Words decode, print as Intel's assembler prints them, parse and encode to the same bits."""

from __future__ import annotations

import pytest

from eumu import native
from eumu.errors import BuildError
from eumu.isa.gen9 import GEN9
from eumu.native.words import decode_word, encode_word
from native.samples import HERE, KERNELS, native_sections, plain, rows, words

WORDS = words("words.txt")
PAIRS = [tuple(int(part, 16) for part in line.split()) for line in rows("compacted.txt")]
LISTINGS = sorted((HERE / "listings").glob("*.asm"))


@pytest.mark.parametrize(("word", "text"), WORDS, ids=[text for _, text in WORDS])
def test_word_and_text(word: int, text: str) -> None:
    instruction = decode_word(word)
    assert plain(native.print_instruction(instruction)) == [text]
    full = native.uncompact(word) if instruction.compacted else word
    assert encode_word(instruction) == full and instruction.residue == 0
    parsed = native.parse(text)
    assert parsed.instructions == (instruction,)
    assert native.encode(parsed) == word.to_bytes(instruction.size, "little")


@pytest.mark.parametrize(("half", "word"), PAIRS, ids=[f"{half:016x}" for half, _ in PAIRS])
def test_compaction(half: int, word: int) -> None:
    assert native.uncompact(half) == word
    assert native.compact(word) == half
    assert native.compact(word | 1 << 29) == half


def test_what_has_no_compacted_form() -> None:
    word = native.encode(native.parse("add (8|M0) r1.0<1>:d r2.0<8;8,1>:d 4096:d"))
    assert native.compact(int.from_bytes(word, "little")) is None
    with pytest.raises(BuildError, match="has no compacted form"):
        native.parse("mov (8|M0) r1.0<4>:b r2.3<8;4,2>:b {Compacted}")


def test_every_opcode_is_in_the_samples() -> None:
    seen = {decode_word(word).opcode for word, _ in WORDS}
    seen |= {decode_word(int(line.split()[0], 16)).opcode for line in _branch_rows()}
    assert not [
        str(opcode) + (f".{opcode.sub}" if opcode.sub else "") for opcode in set(GEN9) - seen
    ]


def _branch_rows() -> list[str]:
    return [line for line in rows("branches.txt") if not line.startswith("L")]


def test_branches() -> None:
    lines = _branch_rows()
    digits = [line.split()[0] for line in lines]
    data = b"".join(bytes.fromhex(word)[::-1] for word in digits)
    program = native.decode(data)
    expected = [line if line.startswith("L") else line[33:] for line in rows("branches.txt")]
    text = native.print_program(program)
    assert plain(text) == expected
    assert native.encode(native.parse(text)) == data


@pytest.mark.parametrize("path", LISTINGS, ids=[path.stem for path in LISTINGS])
def test_listings(path: object) -> None:
    assert hasattr(path, "stem")
    file, kernel = path.stem.split(".")
    sections = dict(native_sections(KERNELS / "apl" / f"{file}.bin"))
    text = native.print_program(native.decode(sections[f".text.{kernel}"]))
    assert plain(text) == plain(path.read_text())


def test_other_generations_are_refused() -> None:
    with pytest.raises(BuildError, match="gen11"):
        native.decode(b"", "icllp")


def test_everything_wrong_is_reported_at_once() -> None:
    good, bad = (0).to_bytes(16, "little"), (0x0B).to_bytes(16, "little")
    with pytest.raises(BuildError) as caught:
        native.decode(good + bad + good + bad + b"\x01", name="k.bin")
    messages = [str(d) for d in caught.value.diagnostics]
    assert len(messages) == 3
    assert messages[0].startswith("k.bin+0x10:1:1: error: there is no opcode 0x0b")
    assert "the code ends 15 bytes before" in messages[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ad (8|M0) r1.0<1>:d r2.0<8;8,1>:d 1:w", "no instruction 'ad'; did you mean"),
        ("add (7|M0) r1.0<1>:d r2.0<8;8,1>:d 1:w", "execution size 7 is not one of"),
        ("add (8|M2) r1.0<1>:d r2.0<8;8,1>:d 1:w", "channel offset 2"),
        ("add (8|M0) r1.0<1>:d 1:w r2.0<8;8,1>:d", "only the last source may be an immediate"),
        ("add (8|M0) r1.0<1>:d r2.0<8;8,1>:d 1:q", "fits an instruction with one source only"),
        ("add (8|M0) r1.0<3>:d r2.0<8;8,1>:d 1:w", "horizontal stride 3"),
        ("add (8|M0) r1.0<1>:d r2.0<8;8,3>:d 1:w", "'<8;8,3>' is no region"),
        ("add (8|M0) r1.9<1>:d r2.0<8;8,1>:d 1:w", "subregister 9 of :d lies behind"),
        ("add (8|M0) r1.0<1>:v r2.0<8;8,1>:d 1:w", "type :v is not one of"),
        ("add (8|M0) r1.0<1>:d r2.0<8;8,1>:d 70000:w", "70000 does not fit 16 bits"),
        ("add (8|M0) r1.0<1>:d r2.0<8;8,1>:d 1:w {Fast}", "option 'Fast' is not one of"),
        ("add (8|M0) r1.0<1>:d r2.0<8;8,1>:d 1:w 2:w", "expected the end of the line"),
        ("(f0.0) cmp (8|M0) (lt)f0.1 null<1>:d r2.0<8;8,1>:d 1:w", "only flag register"),
        ("cmp (8|M0) (xx)f0.1 null<1>:d r2.0<8;8,1>:d 1:w", "condition 'xx' is not one of"),
        ("and (8|M0) r1.0<1>:d -r2.0<8;8,1>:d 1:w", "'-' cannot stand here"),
        ("mov (8|M0) q1.0<1>:d r2.0<8;8,1>:d", "'q1.0' is no register"),
        ("mov (8|M0) acc12.0<1>:d r2.0<8;8,1>:d", "there is no acc12"),
        ("math.foo (8|M0) r1.0<1>:d r2.0<8;8,1>:d", "is followed by its function"),
        ("mad (8|M0) acc0.0<1>:f r1.0<2;1>:f r1.0<2;1>:f r1.0<1>:f", "general registers only"),
        ("goto (8|M0) L1 there", "label 'there' is not defined"),
        ("L0:\nL0: nop", "label 'L0' is defined twice"),
        ("send (8|M0) r1 r2 0x4C 0x02106E00", "of the extended descriptor have no place"),
        ("send (8|M0) r1 null 0xC 0x02106E00", "sent from general registers"),
        ("mov (8|M0) r1.0<1>:f r[a0.0,512]<1,0>:f", "does not fit its 10 bits"),
    ],
)
def test_faults_of_texts(text: str, message: str) -> None:
    with pytest.raises(BuildError) as caught:
        native.parse(text, "k.asm")
    assert message in str(caught.value) and "k.asm:" in str(caught.value)


def test_the_manuals_names_of_accumulators() -> None:
    text = "mov (8|M0) r10.0<1>:ud acc{}.0<8;8,1>:ud\n"
    text += "math.invm (4|M0) (eo)f0.0 r1.{}:f r2.{}:f r3.{}:f\n"
    for number in range(2, 10):
        manual = text.format(number, f"acc{number}", "noacc", f"acc{number}")
        usual = text.replace("acc{}.0", "mme{}.0", 1)
        usual = usual.format(number - 2, f"mme{number - 2}", "nomme", f"mme{number - 2}")
        assert native.encode(native.parse(manual)) == native.encode(native.parse(usual))
