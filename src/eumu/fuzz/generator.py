"""Makes random kernels: straight-line code, control flow of every kind, calls, memory."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from eumu.fuzz import stack
from eumu.fuzz.families import of_kind
from eumu.fuzz.messages import Messages
from eumu.fuzz.operands import COPIES, Operands
from eumu.fuzz.statements import Block, Node, Section
from eumu.fuzz.teams import Teams
from eumu.fuzz.updating import Updates
from eumu.fuzz.vocabulary import (
    Signature,
    exec_sizes,
    masks,
    name,
    operands,
    predicates,
    saturates,
    signatures,
    sources,
    text,
    vectors,
)
from eumu.isa.spec import Opcode
from eumu.platforms import platform
from eumu.types import BOOL, UW

# Functions that are many operations each: they come up less often.
_LONG = {"sin", "cos", "pow", "exp", "log", "rsqrt", "srnd"}
SIMD = (8, 16, 32)
DEPTH = 3  # of nested control flow
LEVELS = 2  # of nested loops


class Generator:
    """Makes one section; the same seed, device and SIMD size make the same."""

    ADDRESSES: ClassVar[str] = ""  # of arrays in registers; each has its own if there are none

    def __init__(self, seed: int, device: str, simd: int, mark: str = "S") -> None:
        self.seed, self.device, self.simd, self.mark = seed, device, simd, mark
        self.random = Random(f"{seed} {device} {simd}")
        self.operands = Operands(self.random, device, simd)
        self.messages = Messages(self.random, device, simd)
        self.teams = Teams(self.random, device, simd)
        self.updates = Updates(self.random, device, simd, seed, self.ADDRESSES)
        self.grf = platform(device).grf_bytes
        self.calls: list[str] = []  # subroutines that may be called
        self.functions: list[str] = []  # functions that may be called
        self.inside = ""  # the function that is written
        self.plain = False  # no calls: the rounding mode is not what it was
        self._labels = 0
        self._counters = 0  # the first loop counter: subroutines have their own

    def section(self) -> Section:
        functions = self._functions()
        names = [f"{self.mark}_sub{k}" for k in range(self.random.choice((0, 0, 1, 2)))]
        subroutines = []
        for k in reversed(range(len(names))):
            self.calls, self._counters = names[k + 1 :], LEVELS * (k + 1)
            subroutines.append((names[k], self._subroutine()))
        self.calls, self._counters = names, 0
        body = self.block(self.random.randint(3, 8), 0)
        return Section(self.seed, body, tuple(subroutines), tuple(functions))

    def _functions(self) -> list[tuple[str, Block]]:
        """Functions, each of which may call the later ones and itself."""
        names = [f"{self.mark}_fun{k}" for k in range(self.random.choice((0,) * 12 + (1, 2)))]
        made = []
        for k in reversed(range(len(names))):
            self.functions, self.inside = names[k + 1 :], names[k]
            body = self.block(self.random.randint(1, 3), DEPTH - 1)
            if self.random.random() < 0.3:
                guard = f"({self.operands.predicate()})"
                body += (Node("fret", (f"{guard} fret (M1, {self.simd})",)),)
            if self.random.random() < 0.6:
                body += (stack.recursion(names[k], self.simd, self.grf),)
            made.append((names[k], body + self.block(1, DEPTH)))
        self.functions, self.inside = names, ""
        return made

    def _subroutine(self) -> Block:
        body = self.block(self.random.randint(1, 3), DEPTH - 1)
        if self.random.random() < 0.3:
            guard = f"({self.operands.predicate()})"
            body += (Node("ret", (f"{guard} ret (M1, {self.simd})",)),)
            body += self.block(2, DEPTH)
        return body

    def label(self) -> str:
        self._labels += 1
        return f"{self.mark}_{self._labels}"

    def block(self, count: int, depth: int, loops: int = 0) -> Block:
        return tuple(self.node(depth, loops) for _ in range(count))

    def node(self, depth: int, loops: int) -> Node:
        chance = self.random.random()
        if depth < DEPTH and chance < 0.22:
            made: Node = getattr(self, f"_{self._family('flow')}")(depth, loops)
            return made
        if chance < 0.36 and not self.inside:
            what = self._family("message")
            return Node(what, tuple(getattr(self.messages, what)()))
        if chance < 0.44:
            return self._small()
        if chance < 0.52 and (self.calls or self.functions) and not self.plain:
            return self._call()
        if chance < 0.56 and depth == 0 and not self.plain:
            return self._meeting()
        if chance < 0.59 and not self.inside:
            what = self._family("update")
            return Node(what, tuple(getattr(self.updates, what)()))
        return self.vector()

    def _family(self, kind: str) -> str:
        return self.random.choices(*of_kind(kind, self.device))[0]

    def _small(self) -> Node:
        what = self._family("small")
        too_narrow = what == "dpas" and 4 * self.simd < self.grf
        if too_narrow or (self.inside and what in ("dpas", "state", "hint")):
            return self.vector()
        made: Node = self.teams.dpas() if what == "dpas" else getattr(self, f"_{what}")()
        return made

    def _meeting(self) -> Node:
        what = self._family("meeting")
        operands = () if what == "dpasw" else (self.vector(),)
        made: Node = getattr(self.teams, what)(*operands)
        return made

    # ---- one vector instruction

    def vector(self, opcode: Opcode | None = None) -> Node:
        random = self.random
        while opcode is None:
            chosen = random.choice(vectors(self.device))
            if chosen.mnemonic == "setp":
                continue  # it has a statement of its own
            if chosen.mnemonic not in _LONG or random.random() < 0.15:
                opcode = chosen
        signature = random.choice(self._signatures(opcode))
        sizes = exec_sizes(signature, self.device, self.simd)
        if opcode.mnemonic == "mov" and BOOL in signature.sources:
            sizes = [1]
        lanes = random.choice(sizes[-2:] * 3 + sizes)
        self.operands.before = []
        words = self._words(signature, lanes)
        # What copies or combines predicates has none itself.
        bare = BOOL in signature.types and opcode.mnemonic != "cmp"
        guard = "" if bare else self._guard(opcode)
        saturate = saturates(opcode, signature.dst) and random.random() < 0.25
        mask = random.choice(masks(lanes, self.simd))
        line = text(opcode, f"({mask}, {lanes})", guard, words, saturate=saturate)
        return Node(name(opcode), (*self.operands.before, line))

    def _signatures(self, opcode: Opcode) -> list[Signature]:
        """What a predicate is moved to must hold a bit of each lane."""
        choices = signatures(opcode, self.device)
        if opcode.mnemonic != "mov":
            return list(choices)
        return [s for s in choices if BOOL not in s.sources or s.dst.bits >= self.simd]

    def _guard(self, opcode: Opcode) -> str:
        forms = predicates(opcode)
        form = self.random.choice(forms) if self.random.random() < 0.4 else forms[0]
        return form.replace("P", self.operands.predicate())

    def _words(self, signature: Signature, lanes: int) -> dict[str, str]:
        opcode, words = signature.opcode, {}
        for field, type in zip(operands(opcode), signature.types, strict=True):
            is_source = field in sources(opcode)
            write = self.operands.source if is_source else self.operands.destination
            words[field.name] = write(signature, field, type, lanes)
        for field in opcode.fields:
            if field.name == "rel":
                words["rel"] = self.random.choice(("eq", "ne", "lt", "le", "gt", "ge"))
            elif field.name == "table":
                words["table"] = f"x{self.random.randrange(256):02x}"
        return words

    # ---- predicates, addresses, state

    def _setp(self) -> Node:
        """From the bits of a scalar, or from the lowest bit of each element."""
        p, x = self.operands.predicate(), f"UD{self.random.randrange(COPIES)}"
        if self.random.random() < 0.3:
            lanes = min(8, self.simd)
            return Node("setp", (f"setp (M1{self._nomask()}, {lanes}) {p} {x}(0,0)<1;1,0>",))
        source = self.random.choice((f"{self.random.getrandbits(32):#x}:ud", f"{x}(0,1)<0;1,0>"))
        return Node("setp", (f"setp (M1_NM, {self.simd}) {p} {source}",))

    def _nomask(self) -> str:
        return self.random.choice(("", "_NM"))

    def _addresses(self) -> Node:
        """Addresses of lanes stay as they are where a lane is off."""
        x = f"UD{self.random.randrange(COPIES)}"
        lanes = min(8, self.simd)
        step = self.random.choice((0, 4, 8))
        guard = f"add (M1{self._nomask()}, {lanes})"
        return Node(
            "addresses",
            (
                f"mov (M1_NM, {lanes}) IDX(0,0)<1> 0x76543210:uv",
                f"addr_add (M1_NM, {lanes}) A1(0)<{lanes}> &{x} IDX(0,0)<1;1,0>",
                f"addr_add (M1{self._nomask()}, {lanes}) A1(0)<{lanes}> A1(0)<{lanes}> {step}:uw",
                f"{guard} r[A1(0),{self.random.choice((0, 1, 4))}]<1>:ud"
                f" r[A1(0),0]<1,0>:ud UD0(0,0)<1;1,0>",
            ),
        )

    def _hint(self) -> Node:
        words = ["fence_sw", "yield", "fence_global", "lifetime.start IDX", "fence_local"]
        if self.messages.has_lsc:
            words.append("lsc_fence.ugm.none.group")
        return Node("hint", (self.random.choice(words),))

    def _state(self) -> Node:
        """The bits of a predicate as a number, and a surface's index there and back."""
        p = self.operands.predicate()
        return Node(
            "state",
            self.random.choice(
                (
                    (f"mov (M1_NM, 1) UD1(0,{self.random.randrange(4)})<1> {p}",),
                    ("movs (M1_NM, 1) UD0(0,3)<1> T6(0)", "movs (M1_NM, 1) T6(0) UD0(0,3)<0;1,0>"),
                )
            ),
        )

    # ---- control flow

    def _condition(self) -> str:
        p = self.operands.predicate()
        return self.random.choice((f"({p})", f"({p})", f"(!{p})", f"({p}.any)", f"(!{p}.all)"))

    def _compare(self) -> str:
        """A line that sets a predicate by comparing, so that branches differ."""
        x, y = (f"UD{self.random.randrange(COPIES)}(0,0)<1;1,0>" for _ in range(2))
        lanes = min(8, self.simd)
        relation = self.random.choice(("lt", "gt", "ne"))
        return f"cmp.{relation} (M1, {lanes}) {self.operands.predicate()} {x} {y}"

    def _if(self, depth: int, loops: int) -> Node:
        end = self.label()
        body = self.block(self.random.randint(1, 3), depth + 1, loops)
        go = f"{self._condition()} goto (M1, {self.simd}) {end}"
        return Node("if", (self._compare(), go, body, f"{end}:"))

    def _if_else(self, depth: int, loops: int) -> Node:
        other, end = self.label(), self.label()
        first, second = (self.block(self.random.randint(1, 2), depth + 1, loops) for _ in range(2))
        go = f"{self._condition()} goto (M1, {self.simd}) {other}"
        parts = (go, first, f"goto (M1, {self.simd}) {end}", f"{other}:", second, f"{end}:")
        return Node("if_else", parts)

    def _cross(self, depth: int, loops: int) -> Node:
        """Pieces, each of which may go to any later one."""
        labels = [self.label() for _ in range(self.random.randint(2, 4))]
        parts: list[str | Block] = []
        for k, label in enumerate(labels):
            target = self.random.choice(labels[k:])
            parts.append(self.block(self.random.randint(0, 2), depth + 1, loops))
            size = self.random.choice((self.simd, self.simd, 8 if self.simd > 8 else self.simd))
            parts += [f"{self._condition()} goto (M1, {size}) {target}", f"{label}:"]
        return Node("cross", tuple(parts))

    def _jump(self, depth: int, loops: int) -> Node:
        """Every active lane goes, or none."""
        end = self.label()
        word = self.random.choice(("jmp", "goto"))
        body = self.block(self.random.randint(1, 2), depth + 1, loops)
        go = f"{self._condition()} {word} (M1, 1) {end}"
        return Node("jump", (go, body, f"{end}:"))

    def _switch(self, depth: int, loops: int) -> Node:
        labels = [self.label() for _ in range(self.random.randint(1, 3))]
        end = self.label()
        parts: list[str | Block] = [
            f"and (M1_NM, 1) CASE(0,0)<1> UD{self.random.randrange(COPIES)}(0,0)<0;1,0> 0x3:ud",
            f"switchjmp (M1_NM, 1) CASE(0,0)<0;1,0> ({', '.join(labels)})",
        ]
        for label in labels:
            parts.append(self.block(1, depth + 1, loops))
            parts += [f"goto (M1, {self.simd}) {end}", f"{label}:"]
        parts += [self.block(1, depth + 1, loops), f"{end}:"]
        return Node("switch", tuple(parts))

    def _loop(self, depth: int, loops: int) -> Node:
        """All lanes run it equally often."""
        if loops >= LEVELS:
            return self._if(depth, loops)
        top, n = self.label(), f"N{self._counters + loops}(0,0)"
        body = self.block(self.random.randint(1, 3), depth + 1, loops + 1)
        size = self.random.choice((1, self.simd))
        return Node(
            "loop",
            (
                f"mov (M1_NM, 1) {n}<1> {self.random.randint(1, 3)}:ud",
                f"{top}:",
                body,
                f"add (M1_NM, 1) {n}<1> {n}<0;1,0> -1:d",
                f"cmp.gt (M1_NM, {size}) PL {n}<0;1,0> 0:d",
                f"(PL) goto (M1, {size}) {top}",
            ),
        )

    def _lanes_loop(self, depth: int, loops: int) -> Node:
        """Each lane runs it as often as its own number says, and a lane may leave in the middle."""
        if loops >= LEVELS:
            return self._cross(depth, loops)
        top, end, n = self.label(), self.label(), f"L{self._counters + loops}(0,0)"
        first, second = (
            self.block(self.random.randint(1, 2), depth + 1, loops + 1) for _ in range(2)
        )
        simd, half = self.simd, min(8, self.simd)
        lines: list[str | Block] = []
        for start in range(0, simd, half):
            x = f"UW{self.random.randrange(COPIES)}{self.operands.place(UW, start)}<1;1,0>"
            place = self.operands.place(UW, start)
            lines.append(f"and (M1_NM, {half}) {n.partition('(')[0]}{place}<1> {x} 3:uw")
        leave = f"{self._condition()} goto (M1, {simd}) {end}"
        lines += [
            f"{top}:",
            first,
            leave,
            second,
            f"add (M1, {simd}) {n}<1> {n}<1;1,0> -1:w",
            f"cmp.gt (M1, {simd}) PL {n}<1;1,0> 0:w",
            f"(PL) goto (M1, {simd}) {top}",
            f"{end}:",
        ]
        return Node("lanes_loop", tuple(lines))

    def _mode(self, depth: int, loops: int) -> Node:
        """A stretch in another rounding mode."""
        if self.plain or self.inside:
            return self._if(depth, loops)
        bits = self.random.choice((0x10, 0x20, 0x30))
        switch = f"xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {bits:#x}:ud"
        self.plain = True
        body = self.block(self.random.randint(1, 3), DEPTH, loops)
        self.plain = False
        return Node("mode", (switch, body, switch))

    def _call(self) -> Node:
        what = self._family("call")
        guard = f"{self._condition()} " if self.random.random() < 0.5 else ""
        if self.calls and (what == "call" or not self.functions):
            label = self.random.choice(self.calls)
            return Node("call", (f"{guard}call (M1, {self.simd}) {label}",))
        if not self.functions:
            return self.vector()
        what = "fcall" if what == "call" else what
        name, x = self.random.choice(self.functions), f"UD{self.random.randrange(COPIES)}"
        where = "WHERE" if what == "ifcall" else ""
        lines = [*stack.passing(x, self.grf)]
        if where:
            lines.append(f'faddr "{name}" WHERE(0,0)<1>')
        lines.append(stack.calling(name, self.simd, self.grf, guard, where))
        lanes = min(8, self.simd)
        lines.append(f"xor (M1, {lanes}) {x}(0,0)<1> {x}(0,0)<1;1,0> RET(0,0)<1;1,0>")
        return Node(what, tuple(lines))
