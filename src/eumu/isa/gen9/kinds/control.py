"""Kinds of what controls an instruction: execution size, predicate, condition, options."""

from __future__ import annotations

import re
from typing import Any, Final

from eumu.errors import InternalError
from eumu.isa.gen9 import bits
from eumu.isa.gen9.bits import Undecodable
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.kinds.base import InstructionSite, Line, NativeKind, code
from eumu.isa.gen9.operands import Condition, Execution, FlagMask, InstructionOptions
from eumu.isa.kinds.cursor import Cursor
from eumu.types import DF

_MODES: Final = (
    *("", "anyv", "allv", "any2h", "all2h", "any4h", "all4h"),
    *("any8h", "all8h", "any16h", "all16h", "any32h", "all32h"),
)
_MODES_16: Final = ("", "x", "y", "z", "w", "any4h", "all4h")
_CODE_OF_MODE: Final = {m: k for modes in (_MODES_16, _MODES) for k, m in enumerate(modes, 1)}
SIZES: Final = (1, 2, 4, 8, 16, 32)

_PREDICATE: Final = re.compile(r"\((W)?(&)?(?:(~)?f([01])\.([01])(?:\.(\w+))?)?\)")
_SIZE: Final = re.compile(r"\((\d+)(?:\|M(\d+))?\)")


def flag_name(flag: int) -> str:
    """`f1.0` for flag 2."""
    return f"f{flag >> 1}.{flag & 1}"


class ExecKind(NativeKind):
    """`(W&~f0.0)` before the mnemonic and `(16|M16)` after it; a `hidden` size is always 1."""

    parts = ("pred",)

    def __init__(self, *, hidden: bool = False, fixed: int = 0) -> None:
        self.hidden, self.fixed = hidden, fixed

    def decode(self, word: int, site: InstructionSite) -> Execution:
        size = self.size(word)
        offset = bits.CHANNEL_OFFSET.get(word) * 4
        return Execution(size, offset, bool(bits.MASK_CONTROL.get(word)), self._flag_mask(word))

    def size(self, word: int) -> int:
        return code(SIZES, bits.EXEC_SIZE, word)

    def _flag_mask(self, word: int) -> FlagMask | None:
        number = bits.PREDICATE_CONTROL.get(word)
        if number == 0:
            return None
        modes = _MODES_16 if bits.ACCESS_MODE.get(word) else _MODES
        if number > len(modes):
            raise Undecodable(f"predicate control has the reserved code {number}")
        invert = bool(bits.PREDICATE_INVERSE.get(word))
        return FlagMask(bits.FLAG.get(word), modes[number - 1], invert)

    def encode(self, operand: Execution, site: InstructionSite) -> int:
        word = self.fixed | bits.EXEC_SIZE.put(operand.size.bit_length() - 1)
        word |= bits.CHANNEL_OFFSET.put(operand.offset // 4)
        word |= bits.MASK_CONTROL.put(operand.nomask)
        if operand.predicate is not None:
            word |= bits.PREDICATE_CONTROL.put(_CODE_OF_MODE[operand.predicate.mode])
            word |= bits.PREDICATE_INVERSE.put(operand.predicate.invert)
            word |= bits.FLAG.put(operand.predicate.flag)
        return word

    def print(self, operand: Execution) -> str:
        return "" if self.hidden else f"({operand.size}|M{operand.offset})"

    def print_part(self, part: str, operand: Execution) -> str:
        inner = ["W"] if operand.nomask else []
        mask = operand.predicate
        if mask is not None:
            mode = f".{mask.mode}" if mask.mode else ""
            inner.append("~" * mask.invert + flag_name(mask.flag) + mode)
        return f"({'&'.join(inner)})" if inner else ""

    def parse_part(self, part: str, cursor: Cursor) -> tuple[bool, FlagMask | None]:
        if not cursor.ahead("("):
            return False, None
        match = cursor.need(_PREDICATE, "a predicate such as (W), (f0.0) or (W&~f1.0.any8h)")
        nomask, both, invert, register, sub, mode = match.groups()
        if (both is not None) != (nomask is not None and register is not None):
            cursor.fail(f"'{match.group()}' is no predicate", start=match.start())
        if register is None:
            return bool(nomask), None
        if (mode or "") not in _CODE_OF_MODE:
            names = ", ".join(m for m in _CODE_OF_MODE if m)
            cursor.fail(f"predicate mode '{mode}' is not one of {names}", start=match.start(6))
        return bool(nomask), FlagMask(int(register) * 2 + int(sub), mode or "", bool(invert))

    def parse(self, cursor: Cursor, names: Any) -> Execution:
        line: Line = names
        nomask, predicate = line.parts["exec.pred"]
        match = cursor.match(_SIZE)
        if match is None:
            if not self.hidden:
                cursor.fail("expected an execution size such as (8|M0)")
            return Execution(1, 0, nomask, predicate)
        size, offset = int(match[1]), int(match[2] or 0)
        if size not in SIZES:
            cursor.fail(
                f"execution size {size} is not one of 1, 2, 4, 8, 16, 32", start=match.start()
            )
        if offset % 4 or offset > 28:
            cursor.fail(f"channel offset {offset} is not one of 0, 4, … 28", start=match.start())
        return Execution(size, offset, nomask, predicate)

    def bind(self, operand: Execution, builder: Gen9Builder) -> Execution:
        builder.execute(operand)
        return operand


class TernaryExecKind(ExecKind):
    """The execution size of an instruction with three sources, which is Align16.

    A scalar one runs four channels (DF two) and enables one (two) of them; see
    `TernaryDestination.scalar`.
    """

    def __init__(self, *, predicated: bool = True, macro: bool = False) -> None:
        """In a `macro` the channel enables say something else, and nothing is scalar."""
        super().__init__(fixed=bits.ACCESS_MODE.put(1))
        self.predicated, self.macro = predicated, macro

    def _flag_mask(self, word: int) -> FlagMask | None:
        return super()._flag_mask(word) if self.predicated else None

    def size(self, word: int) -> int:
        if not bits.ACCESS_MODE.get(word):
            raise Undecodable("an instruction with three sources has access mode Align16 on Gen9")
        return 1 if not self.macro and scalar_channels(word) else super().size(word)


def scalar_channels(word: int) -> int:
    """The enabled channels of an instruction with three sources if it is scalar, else 0."""
    channels, size = bits.TERNARY_CHANNELS.get(word), bits.EXEC_SIZE.get(word)
    wide = bits.TERNARY_DST_TYPE.get(word) == bits.TERNARY_TYPES.index(DF)
    fits = bits.TERNARY_DST_DWORD.get(word) % 4 == 0
    if (size == 1 and channels in (3, 12)) if wide else (size == 2 and channels in (1, 2, 4, 8)):
        return channels if fits else 0
    return 0


class ConditionKind(NativeKind):
    """`(lt)f0.0`, or nothing."""

    names = ("", "eq", "ne", "gt", "ge", "lt", "le", "", "ov", "un")
    _synonyms: Final = {"z": "eq", "nz": "ne", "g": "gt", "l": "lt", "o": "ov", "u": "un"}
    _pattern: Final = re.compile(r"\((\w+)\)f([01])\.([01])")

    def decode(self, word: int, site: InstructionSite) -> Condition | None:
        number = bits.CONDITION.get(word)
        if number == 0:
            return None
        if number >= len(self.names) or not self.names[number]:
            raise Undecodable(f"condition modifier has the reserved code {number}")
        return Condition(self.names[number], bits.FLAG.get(word))

    def encode(self, operand: Condition | None, site: InstructionSite) -> int:
        if operand is None:
            return 0
        return bits.CONDITION.put(self.names.index(operand.name)) | bits.FLAG.put(operand.flag)

    def print(self, operand: Condition | None) -> str:
        return "" if operand is None else f"({operand.name}){flag_name(operand.flag)}"

    def parse(self, cursor: Cursor, names: Any) -> Condition | None:
        match = cursor.match(self._pattern)
        if match is None:
            return None
        name = self._synonyms.get(match[1], match[1])
        if name not in self.names:
            allowed = ", ".join(n for n in self.names if n)
            cursor.fail(f"condition '{match[1]}' is not one of {allowed}", start=match.start())
        flag = int(match[2]) * 2 + int(match[3])
        predicate = names.known["exec"].predicate
        if predicate is not None and predicate.flag != flag:
            message = "predicate and condition modifier share the word's only flag register"
            cursor.fail(message, start=match.start())
        return Condition(name, flag)


class EarlyOutKind(ConditionKind):
    """`(eo)f0.0`: where the macro needs no more steps the flag is set; always there."""

    def decode(self, word: int, site: InstructionSite) -> Condition:
        return Condition("eo", bits.FLAG.get(word))

    def encode(self, operand: Condition | None, site: InstructionSite) -> int:
        if operand is None:
            raise InternalError("a macro without its flag")
        return bits.FLAG.put(operand.flag)

    def parse(self, cursor: Cursor, names: Any) -> Condition:
        match = cursor.need(self._pattern, "(eo) and a flag register")
        if match[1] != "eo":
            cursor.fail(f"'{match[1]}' is not 'eo'", start=match.start())
        return Condition("eo", int(match[2]) * 2 + int(match[3]))


class BranchControlKind(NativeKind):
    """`.b` after a mnemonic: BranchCtrl."""

    def decode(self, word: int, site: InstructionSite) -> bool:
        return bool(bits.BIT_28.get(word))

    def encode(self, operand: bool, site: InstructionSite) -> int:
        return bits.BIT_28.put(operand)

    def print(self, operand: bool) -> str:
        return ".b" if operand else ""

    def parse(self, cursor: Cursor, names: Any) -> bool:
        return cursor.adjacent(re.compile(r"\.b\b")) is not None


class OptionsKind(NativeKind):
    """`{NoDDClr, Switch}`; `bit_28` is what that bit is called here, and a message has no
    dependency control.

    `Compacted` in the braces is no option of the word but a form of it, which the reader of the
    text takes.
    """

    _threads: Final = ("", "Atomic", "Switch")

    def __init__(self, bit_28: str = "", *, message: bool = False, align16: bool = False) -> None:
        """With `align16` the mode can be chosen, and is shown; a `message` may end the thread."""
        self.bit_28, self.message, self.align16 = bit_28, message, align16

    def decode(self, word: int, site: InstructionSite) -> InstructionOptions:
        return InstructionOptions(
            no_dd_clr=not self.message and bool(bits.NO_DD_CLR.get(word)),
            no_dd_chk=not self.message and bool(bits.NO_DD_CHK.get(word)),
            thread=code(self._threads, bits.THREAD_CONTROL, word),
            bit_28=bool(self.bit_28 and bits.BIT_28.get(word)),
            breakpoint=bool(bits.DEBUG.get(word)),
            align16=bool(self.align16 and bits.ACCESS_MODE.get(word)),
            eot=self.message and bool(bits.EOT.get(word)),
        )

    def encode(self, operand: InstructionOptions, site: InstructionSite) -> int:
        word = bits.NO_DD_CLR.put(operand.no_dd_clr) | bits.NO_DD_CHK.put(operand.no_dd_chk)
        word |= bits.THREAD_CONTROL.put(self._threads.index(operand.thread))
        word |= bits.BIT_28.put(operand.bit_28) | bits.DEBUG.put(operand.breakpoint)
        return word | bits.ACCESS_MODE.put(operand.align16) | bits.EOT.put(operand.eot)

    def braced(self, operand: InstructionOptions) -> list[str]:
        """What stands in the braces, in no order."""
        named = {
            "NoDDClr": operand.no_dd_clr,
            "NoDDChk": operand.no_dd_chk,
            self.bit_28: operand.bit_28,
            "Breakpoint": operand.breakpoint,
            "Align16": operand.align16,
            "EOT": operand.eot,
        }
        return [
            *(word for word, is_set in named.items() if is_set),
            *filter(None, [operand.thread]),
        ]

    def print(self, operand: InstructionOptions) -> str:
        return braces(self.braced(operand))

    def parse(self, cursor: Cursor, names: Any) -> InstructionOptions:
        if not cursor.take("{"):
            return InstructionOptions()
        options: set[str] = set()
        while not cursor.take("}"):
            start = cursor.skip()
            word = cursor.need(re.compile(r"\w+"), "an option such as Switch").group()
            if word not in self._allowed():
                allowed = ", ".join(sorted(self._allowed()))
                cursor.fail(f"option '{word}' is not one of {allowed}", start=start)
            options.add(word)
            cursor.take(",")
        return InstructionOptions(
            no_dd_clr="NoDDClr" in options,
            no_dd_chk="NoDDChk" in options,
            thread=next((t for t in self._threads[1:] if t in options), ""),
            bit_28=bool(self.bit_28) and self.bit_28 in options,
            breakpoint="Breakpoint" in options,
            align16="Align16" in options,
            eot="EOT" in options,
        )

    def _allowed(self) -> set[str]:
        words = {"Breakpoint", "Compacted", *self._threads, self.bit_28}
        words |= {"EOT"} if self.message else {"NoDDClr", "NoDDChk"}
        return (words | ({"Align16"} if self.align16 else set())) - {""}


def braces(words: list[str]) -> str:
    """`{A,B}` in alphabetical order, nothing for no words."""
    return f"{{{','.join(sorted(words))}}}" if words else ""
