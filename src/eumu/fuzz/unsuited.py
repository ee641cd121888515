"""Statements that random kernels leave out: those of which it is known what the finalizer makes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from eumu.fuzz.known import (
    ALIGN16,
    FEW_HALVES,
    HALVES_AT_AN_ADDRESS,
    MATH,
    ONE_SELECTED,
    PACKED,
    PAIRWISE,
    ROUNDED_TWICE,
    SHIFTED,
    SIGNED,
)
from eumu.fuzz.regions import lanes, sources, straddles

_PLACE: Final = (
    "messages to surfaces of less than eight lanes are made for eight, which M2, M4, M6 and M8"
    " do not suit: they become M1, and lose NoMask"
)
_COPIED: Final = (
    "constants and elements at addresses are copied under the execution mask, but lanes also use"
    " those of their neighbours"
)
_FIRST_ADDRESS: Final = "each part of what crosses a register begins with the first address"
_OWN_TYPE: Final = "it is copied in its own type first, with its modifier, which wraps there"
_ROWS: Final = "the macros read whole registers: of other regions, the register in which they begin"
_COMPACTED: Final = (
    "an instruction of four lanes becomes a compacted word, which has no place for M2, M4, M6, M8"
)
_PAYLOADS: Final = "data is copied by such words (_COMPACTED), whatever predicate the message has"
_ONE_CARRY: Final = (
    "it is made for one lane, and the carries of the others are what the accumulator held"
)
_FOLDED: Final = (
    "a shift of one constant by another is done at once, by the rest of the count's division by 32,"
    " which keeps a minus, and a short number gets its sign in 32 bits first"
)
_BYTE: Final = "the byte becomes a word with its sign, which shr, for unsigned numbers, then sees"
_SHORT: Final = "a constant that fits into a word becomes one"
_HALVES: Final = "bytes are made in two halves, and the first overwrites what the second reads"
_PARTS: Final = "eight lanes are written before the others are read"
_SPREAD: Final = (
    "under dwords the vector is spread, so that an element lies where its channel does, but it is"
    " then read as words that follow each other, as the words of the rows are"
)
_NOT_SPREAD: Final = (
    "what is compared for flags alone has a destination of dwords: for four lanes the vector is"
    " spread to fit it, for more it is not"
)
_WIDENED: Final = (
    "elements at addresses of rows are copied to dwords with a sign, and so is the division"
)
_AGAIN: Final = "a row that repeats and crosses a register becomes one row that goes on"
_CHANNELS: Final = (
    "three sources have Align16 words, whose third and fourth channel read there, not at the start"
    " of a copied row"
)
# A region whose elements do not follow each other, nor are all the same.
_APART: Final = r"\d?\(\d+,\d+\)<(?!1;1,0>|0;1,0>|(\d+);\1,1>)\d+;"
# A region that begins inside a register, and is no scalar.
_INSIDE: Final = r"\(\d+,[1-9]\d*\)<(?!0;1,0>)\d+;"
_CONSTANT: Final = r"0x[0-9a-f]+:\w+"
_HALF: Final = r"(\(.*?\))?(HF\d\S+|\S+:hf)"
_REGION: Final = r"(\(.*?\))?[A-Z]+\d\(\S+"
_UNSIGNED_ROWS: Final = r"(\(.*?\))?r\[.*<\d,\d>:u[bwd]\b"  # elements at addresses of rows
_SIGNED_ROW: Final = r"r\[\S*<\d,\d>:"
# Words without a sign: a variable, some at an address, a constant that is one or becomes one.
_UNSIGNED_WORDS: Final = r"((\(abs\))?(UW\d\(|r\[\S*:uw\b)\S*|0x[0-9a-f]+:u[bw]|0x[0-9a-f]{1,4}:ud)"
_UNSIGNED_BYTES: Final = r"(\(abs\))?(UB\d\(|r\[\S*:ub\b)\S*"
# A source that is a word without a sign, or a constant that becomes one.
_UNSIGNED_WORD: Final = r"(\bUW\d|:uw\b|\b0x[0-9a-f]+:ub\b|\b0x[89a-f][0-9a-f]{3}:d\b)"
_FUNCTIONS: Final = "|".join(sorted(MATH))


def _same_element(widths: str) -> str:
    """A source all of whose lanes have one element; so have rows as wide as the instruction."""
    return rf"(\S+<(0;1|\d+;({widths})),0>(:\w+)?|0x[0-9a-f]+:u?[bwd])"


# Statements that random kernels leave out: what a line looks like -> why.
_GUARD: Final = r"(\(.*?\) )?"
# The destination again, as another region than the one that is written.
_REREAD: Final = r"\b(?P=dst)\((?!(?P=at)\)<(?P=by);1,0>)"
_SHIFTED: Final = rf"{_GUARD}(asr|shl|shr)(\.sat)? \(.*?\) \S+ 0x[0-9a-f]+:u?q "
STATEMENTS: Final = {
    r"\(!?P\d\) goto \(M1, 1\)": (
        "past a label where lanes wait it becomes one of all lanes, each of which has its own bit"
    ),
    rf"{_GUARD}(invm|rsqtm)[ .]": "its reader refuses them",
    rf"{_GUARD}(div|mod)\.sat ": "its check refuses them",
    rf"{_GUARD}(div|mod) .*\(-(abs)?\)r\[.*:u?[bwd]\b": (
        "it is copied with its minus, of which the type of the division does not know then"
    ),
    r"mov(\.sat)? \(M\d, 1\) \S+ P\d$": (
        "the reader of texts gives a predicate's move no mask, M1_NM"
    ),
    r"mov\.sat \(.*?\) ([BWD]\d|r\[\S*:[bwd]\b)\S* P\d$": "a predicate's move does not saturate",
    r"\(.*?\) (addc|subb) ": PAIRWISE["addc"],
    rf"(addc|subb) \(M\d(_NM)?, 2\).*( {_same_element('2|4|8|16')}){{2}}$": _ONE_CARRY,
    rf"(addc|subb) \(M\d(_NM)?, 4\).*( {_same_element('4|8|16')}){{2}}$": _ONE_CARRY,
    rf"(addc|subb) \(M\d(_NM)?, (8|16)\).*( {_same_element('8|16')}){{2}}$": _ONE_CARRY,
    r"(addc|subb) \(M[2-8], ": "the carry is copied under the mask of the first lanes, M1",
    r"\(.*?\) (min|max)[ .]": PAIRWISE["max"],
    rf"{_GUARD}sad2add[ .]": PAIRWISE["sad2add"],
    rf"{_GUARD}madw[ .]": PAIRWISE["madw"],
    r"\(.*?\.(any|all)\) (bfe|bfi|lrp|mad)[ .]": ALIGN16,
    rf"{_GUARD}bfe \(.*?\) \S+ 0x[89a-f][0-9a-f]{{3}}:d ": (
        f"{_SHORT}: without a sign, and all sources get the first one's type"
    ),
    rf"{_GUARD}bfe (?=.*\bU?D.*\b(D|UD).*)(?=.*(\bUD|:ud))(?=.*(\bD|:d\b))": PAIRWISE["bfe"],
    rf"{_GUARD}(gather|scatter)(4?_scaled)?\.\w+ \(M[2468](_NM)?, [124]\)": _PLACE,
    rf"{_GUARD}dword_atomic\.\w+ \(M[2468](_NM)?, [124]\)": _PLACE,
    rf"{_GUARD}svm_atomic\.f(add|sub) ": "Gen9 has no such atomic operation",
    rf"{_GUARD}dword_atomic\.f(add|sub) ": "Gen9 has no such atomic operation",
    rf"{_GUARD}dp[234h](\.sat)? \(M\d, .*:(vf|f)\b": _COPIED,
    rf"{_GUARD}sad2(\.sat)? \(M\d, .* r\[": _COPIED,
    rf"{_GUARD}sad2(\.sat)? \(.*?\) r\[": (
        "it writes every other lane; the others, which are undefined, are lost in a spilled result"
    ),
    rf"{_GUARD}(divm|sqrtm)(\.sat)? .*{_APART}": _ROWS,
    rf"{_GUARD}(inv|sqrt|div)(\.sat)? .*\bDF{_APART}": _ROWS,
    rf"{_GUARD}(divm|sqrtm)(\.sat)? .*{_INSIDE}": _ROWS,
    rf"{_GUARD}(inv|sqrt|div)(\.sat)? .*\bDF\d{_INSIDE}": _ROWS,
    r".*\br\[A2\(.*\br\[A1\(": (
        "the variables A1 and A2 have 17 words, of 16 that there are: A1 overwrites A2"
    ),
    rf"{_GUARD}mov \(.*?\) (U?B|r\[\S*:u?b\b).* .*(\bDF\d|:df)": (
        "a double becomes a byte by way of a word, which it is not clamped to"
    ),
    rf"{_GUARD}shl(\.sat)? \(.*?\) \S+ 0x[0-9a-f]+:uv ": SIGNED,
    rf"{_GUARD}mad\.sat \(.*?\) \S+ (?=.*:uv\b)(?=.*(\bU[DQ]\d|:u[dq]\b))": (
        "an immediate vector makes it a product, which wraps, and a sum"
    ),
    rf"{_GUARD}(div|mod) .*:u?v\b": "an immediate vector becomes one of nibbles without signs",
    _SHIFTED: SHIFTED,
    rf"{_GUARD}({_FUNCTIONS})(\.sat)? \(M\d(_NM)?, [124]\).*(\bHF|:hf)": FEW_HALVES,
    rf"{_GUARD}({_FUNCTIONS})(\.sat)? .*(\bHF|:hf).*{_APART}": FEW_HALVES,
    rf"{_GUARD}({_FUNCTIONS})(\.sat)? \(.*?\) r\[\S*:hf .*\bHF\d": FEW_HALVES,
    rf"{_GUARD}({_FUNCTIONS})(\.sat)? \(.*?\) r\[\S*:f .*\bHF\d\(\d+,[1-9]": FEW_HALVES,
    rf"{_GUARD}({_FUNCTIONS}|pow|div|mod)(\.sat)? \(M[2468], 4\)": _COMPACTED,
    rf"\(.*?\) ({_FUNCTIONS}|pow|div|mod)(\.sat)? \(M[2468]_NM, 4\)": _COMPACTED,
    r"\w+(\.\w+)* \(M[2468], 4\)": _COMPACTED,
    r"\(.*?\) bfi(\.sat)? \(M[2468], 4\)": _COMPACTED,
    r"\(.*?\) (?!mov|mad|sel)\w+(\.\w+)* \(M[2468], 4\) r\[\S*:f\b": (
        f"its result gets to an address by way of a register, without the predicate: {_COMPACTED}"
    ),
    r"\(.*?\) svm_\w+(\.\w+)* \(M[2468], 4\)": _PAYLOADS,
    rf"{_GUARD}(div|mod) .* (?P<same>\w+\(\d+,\d+\))<(?P<rows>\S+)> (?P=same)<(?!(?P=rows)>)": (
        "of two regions that begin with the same element, one is copied for both"
    ),
    rf"{_GUARD}shr(\.sat)? .* 0x0:": "a shift by nothing becomes a move, which extends signs",
    rf"{_GUARD}(?!sel|min|max)\w+(\.\w+)* \(M\d(_NM)?, (16|32)\)"
    r" (?=.*(\bHF\d|:hf\b))(?=.*(\bF\d|:v?f\b))"
    rf"(?P<dst>H?F\d)\((?P<at>\d+,\d+)\)<(?P<by>\d)>.*{_REREAD}": (
        f"floats beside halves: {_PARTS}"
    ),
    rf"{_GUARD}(div|mod) \(M\d(_NM)?, (16|32)\) (?!UW\d\(\S+<1>|UB\d\(\S+<[12]>)"
    rf"(?P<dst>U[BWD]\d)\((?P<at>\d+,\d+)\)<(?P<by>\d)>.*\((-|-abs)\){_REREAD}": _OWN_TYPE,
    rf"{_GUARD}(div|mod) \(M\d(_NM)?, (16|32)\) r\[.*\((-|-abs|abs)\)U?[BWD]\d": _OWN_TYPE,
    rf"{_GUARD}(div|mod) \(.*?\) \S+ {_UNSIGNED_WORDS} {_SIGNED_ROW}[bw]\b": _WIDENED,
    rf"{_GUARD}(div|mod) \(.*?\) \S+ {_UNSIGNED_BYTES} {_SIGNED_ROW}b\b": _WIDENED,
    r".*\(M\d(_NM)?, (16|32)\) (?P<dst>U?B\d)\(.*(?P=dst)\(": _HALVES,
    r".*\(M\d(_NM)?, \d+\) (?P<dst>U?B\d)\(.*(?P=dst)\(\d+,\d+\)<(?!1;1,0>)": _HALVES,
    rf"{_GUARD}(div|mod) (?=.*\b0x[89a-f][0-9a-f]{{3}}:d\b)(?=.*(\b[BW]\d|:[bw]\b))": (
        "a constant that fits into a word without a sign becomes one, and so does the division"
    ),
    rf"{_GUARD}(div|mod) (?!.*\(-)(?=.*\b0x[0-9a-f]{{1,4}}:ud\b)(?=.*(\bD\d|:d\b))": (
        f"{_SHORT}: without a sign, so that the source that has one says how to divide"
    ),
    rf"{_GUARD}(div|mod) (?!.*\(-)(?=.*\b0xffff[89a-f][0-9a-f]{{3}}:d\b)(?=.*{_UNSIGNED_WORD})": (
        f"{_SHORT}: with a sign, which a word without one beside it takes from the division"
    ),
    rf"{_GUARD}div(\.sat)? \(.*?\) \S+ {_HALF} (?!{_HALF})": (
        "a first source of half precision makes the result one, which is rounded before it grows"
    ),
    rf"{_GUARD}(asr|shr)(\.sat)? \(.*?\) \S+ 0x[0-9a-f]+:u?[bwd] 0x[0-9a-f]+:u?[bwd]$": _FOLDED,
    rf"{_GUARD}shl \(.*?\) (U?Q\d|r\[\S*:u?q\b)\S* 0x[0-9a-f]+:u?[bwd]"
    r" 0x([2-9a-f][0-9a-f]|[0-9a-f]{3,}):u?[bwd]$": _FOLDED,
    rf"{_GUARD}shr(\.sat)? \(.*?\) \S+ 0x[0-9a-f]+:b ": _BYTE,
    rf"{_GUARD}shr(\.sat)? \(.*?\) \S+ 0xffff[89a-f][0-9a-f]{{3}}:d ": (
        f"{_SHORT}: with a sign, whose other bits shr, for unsigned numbers, then has not"
    ),
    rf"{_GUARD}(gather|scatter)(_scaled)?\.\w+ \(M1(_NM)?, 32\)": (
        "a message of 16 lanes is sent with an execution size of 32, which it has not"
    ),
    rf"{_GUARD}mad(\.sat)? .*:vf\b": ROUNDED_TWICE,
    r"(?!mov)\w+(\.\w+)? \(M\d_NM, \d+\) r\[.*?:f .*(\bHF|:hf)": HALVES_AT_AN_ADDRESS,
    rf"{_GUARD}mulh .*:u?v\b": PAIRWISE["mulh"],
    rf"{_GUARD}mulh (?=.* D\d|.*\)D\d|.*:d\b).*0x[0-9a-f]+:ud\b": (
        "a constant without a sign becomes one with a sign beside a source that has one"
    ),
    rf"{_GUARD}mulh (?=.*\bUD\d|.*:ud\b).*0x[89a-f][0-9a-f]{{7}}:d\b": (
        "a constant with a sign becomes one without in the second step, beside a source of its sort"
    ),
    rf"{_GUARD}mulh \(M\d(_NM)?, (16|32)\) .*\b0xffff[89a-f][0-9a-f]{{3}}:d\b": (
        "a constant that fits into a word is multiplied as one with a sign in the first step of two"
    ),
    rf"{_GUARD}mulh \(M\d(_NM)?, (16|32)\) (?P<high>U?D\d)\(.*(?P=high)\(": _PARTS,
    rf"{_GUARD}mulh \(M\d(_NM)?, (16|32)\) .* (\(.*?\))?r\[": _PARTS,
    rf"{_GUARD}(mulh|addc|subb) \(M\d(_NM)?, (16|32)\) r\[": _PARTS,
    rf"{_GUARD}mov \(M\d_NM, \d+\) U?B\d\(\d+,\d+\)<1> 0x[0-9a-f]+:vf": (
        "an immediate vector of floats becomes bytes that all are its lowest one"
    ),
    r"\(!?P\d\) sel(\.sat)? \(M[2-8](_NM)?, 1\)": ONE_SELECTED,
    rf"(\(.*?\) sel|min|max|{_GUARD}(div|mod))[. ].* ({_REGION}|{_CONSTANT}) {_UNSIGNED_ROWS}": (
        "elements at addresses of rows are copied as those of the first source, with a sign"
    ),
    rf"\(.*?\) sel\.sat .* ({_REGION}|{_CONSTANT}) (\(.*?\))?r\[.*<\d,\d>:uq": (
        "the same of 64 bits, whose copy is not saturated, but the result is as if it had a sign"
    ),
    r"\(.*?\) sel\.sat \(.*?\) (?P<dst>(HF|F|DF)\d)\((?P<at>\d+,\d+)\).* (?P=dst)\((?P=at)\)<": (
        "where one source is what is overwritten, the other is moved, and it alone is clamped"
    ),
    rf"{_GUARD}(min|max)(\.sat)? \(.*?\) \S+ ({_REGION}|{_CONSTANT}) (\(.*?\))?r\[.*<\d,\d>:uq": (
        "elements of 64 bits at addresses of rows are copied with a sign, whatever is beside them"
    ),
    r"mov \(M\d_NM, (2|4|8|16|32)\) U?B\d\(\d+,\d*[02468]\)<1> 0x[0-9a-f]+:hf": (
        "bytes of one half are made in pairs, as words, of the half's low byte as it is"
    ),
    rf"{_GUARD}(divm|sqrtm)(\.sat)? \(M\d_NM, [124]\)": (
        "its sources are copied under the mask that the function does without"
    ),
    rf"{_GUARD}(divm|sqrtm)(\.sat)? \(M[2468], [124]\) (F\d|r\[\S*:f\b)": (
        "it goes by the first lanes of a group of eight, and only its result by those that it has"
    ),
    rf"{_GUARD}\w+(\.\w+)? .*\((-|-?abs)\)r\[A1.*<\d,\d>:u?[bwdq]\b": _OWN_TYPE,
    rf"{_GUARD}\w+(\.\w+)* \(M\d(_NM)?, 4\) (?=.*:u?v\b)(?=.*r\[A1.*<2,1>:u?w\b)": _SPREAD,
    r"cmp\.\w+ \(M\d(_NM)?, (16|32)\) P\d .*:u?v\b": _NOT_SPREAD,
    rf"{_GUARD}pow[ .].*(\bHF|:hf)": PAIRWISE["pow"],
    rf"{_GUARD}({_FUNCTIONS}|divm|sqrtm)[ .].*:(u?v|vf)\b": PACKED,
}

_REPEATS: Final = re.compile(r"\b(dp[234h]|line|sad2)\b|\) (U?Q|DF)\d\(")
_FOURS: Final = re.compile(r"\b(dp[234h]|line)\b")
_THREES: Final = re.compile(r"\b(bfe|bfi|lrp)\b")
_GOTO: Final = re.compile(r"(?:\(.*?\) )?goto \(.*?\) (\w+)$")
_COMPILED: Final = [(re.compile(form), why) for form, why in STATEMENTS.items()]


def unsuited(line: str) -> str:
    """Why random kernels leave out a statement; empty where they do not."""
    reasons = (why for form, why in _COMPILED if form.match(line))
    return next(reasons, "") or _divided(line)


def folded(lines: Sequence[str]) -> bool:
    """Whether a branch may become the predicate of an instruction of three sources, which loses
    its .any or .all there (`known.ALIGN16`)."""
    branches = any(re.match(r"\(.*\.(any|all)\) goto ", line) for line in lines)
    return branches and any(re.match(r"(bfe|bfi|lrp|mad)[ .]", line) for line in lines)


def skips_nothing(lines: Sequence[str]) -> bool:
    """Whether a branch goes over nothing but branches to where it goes itself.  The finalizer
    removes those; then both ways lead to one block, which gets the branch's predicate as if it were
    the body of an if."""
    places: dict[str, int] = {}
    kept: list[str] = []
    for line in lines:
        if line.endswith(":"):
            places[line[:-1]] = len(kept)
        else:
            kept.append(line)
    targets = [places.get(match[1], -1) if (match := _GOTO.match(line)) else -1 for line in kept]
    for here, target in enumerate(targets):
        between = targets[here + 1 : target]
        if target > here + 1 and all(other == target for other in between):
            return True
    return False


def sets_predicate(line: str, simd: int) -> bool:
    """Whether it sets all lanes of a predicate that is not lost at once, each if it is enabled."""
    return bool(re.match(rf"\w+(\.\w+)* \(M1, {simd}\) P\d ", line))


def _divided(line: str) -> str:
    """What the finalizer makes wrong of a row that crosses a register, if anything."""
    size = lanes(line)
    rows = re.search(r"\br\[A1\(.*<\d,\d>", line)
    if rows and (straddles(line) or any(source.straddles(size) for source in sources(line))):
        return _FIRST_ADDRESS
    across = [source for source in sources(line) if source.crosses(size)]
    if not across:
        return ""
    if not re.search(r"\(M\d_NM, ", line):
        return "a row that crosses a register is copied in parts that all have the first one's mask"
    if re.search(r"\b(addc|subb) ", line):
        return (
            "of a row that crosses a register, the last part's carries are left in the accumulator"
        )
    if rows:
        return _FIRST_ADDRESS
    again = [source for source in across if source.overlaps]
    if any(source.type.size == 8 for source in again) or (again and _REPEATS.search(line)):
        return _AGAIN
    if _THREES.search(line) and any(source.breaks(size) for source in across):
        return _CHANNELS
    # Where there are flags it copies the first one rightly, and the next one so.
    flags = line.startswith(("(", "cmp."))
    copied = across if _FOURS.search(line) else across[1:] if flags else []
    if any(source.breaks(size) for source in copied):
        return _AGAIN
    if any(source.modifier and not source.type.is_float for source in across):
        return f"a row that crosses a register: {_OWN_TYPE}"
    return ""
