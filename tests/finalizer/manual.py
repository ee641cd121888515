"""The manual's examples as complete texts: their variables come from memory, and end there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from eumu.compare.differential import Pair, grid
from eumu.compare.harness import Harness, wrap
from eumu.errors import BuildError, Fault, Unsupported
from eumu.exec.grid import BufferSurface
from eumu.exec.host import Engine
from eumu.fuzz.vocabulary import is_executed, is_vector, name
from eumu.isa.kinds.variables import SurfaceVariable, Variable
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.manual import example
from eumu.text import parse
from eumu.types import TYPES, Kind, Type
from finalizer.witness import SCRATCH_BYTES, differences, put
from image_thread import DeviceHost, Filter, Picture
from manual_examples import kernel, types
from visa_thread import LOCAL_BYTES, Buffer, FlatHost

DEVICE: Final = "skl"
SIMD: Final = 16
MEMORY: Final = 8192  # bytes of the surface and array that there is
_ELEMENTS: Final = 64  # of a variable: four of them have room in the registers
_REGISTERS: Final = 256  # dwords, where whole registers are meant
_ADDRESSES: Final = frozenset({"address", "addresses", "base"})
# Instructions of images and of the media sampler.
_IMAGES: Final = re.compile(
    r"media_|sample|load|avs|va\b|va_|gather4_typed|scatter4_typed|typed_atomic|vme_|lod|resinfo|rt_w"
)
_MEDIA: Final = re.compile(r"avs|va\b|va_|vme_")
_INTEGERS: Final = re.compile(r"typed_atomic|media_")
# What the media sampler computes, by a word of the instruction: its sampler and its image.
_FILTERS: Final[tuple[tuple[str, dict[str, Any], str], ...]] = (
    ("avs", {"phases": "0,0,0,0.5,0.5,0,0,0"}, "Y8_UNORM"),
    ("vme", {"phases": "0,0,0,0.5,0.5,0,0,0"}, "Y8_UNORM"),
    ("1D", {"line": "0.5,1,-0.25"}, "Y8_UNORM_VA"),
    ("onv", {"convolve": "0,0,0;1,2,3", "scale_down": 1}, "Y8_UNORM_VA"),
    ("CONV", {"convolve": "0,0,0;1,2,3", "scale_down": 1}, "Y8_UNORM_VA"),
    ("(?i)erode|dilate", {"places": "0,0,0;1,1,1"}, "Y1_UNORM"),
    ("", {"places": "0,0,0;1,1,1"}, "Y8_UNORM_VA"),
)
EXAMPLES: Final = {
    name(o): o
    for o in VISA
    if is_executed(o) and (o.platforms is None or DEVICE in o.platforms) and o.page
}


@dataclass(frozen=True)
class Example:
    """An example and what its variables hold at first."""

    opcode: Opcode
    harness: Harness
    types: dict[str, tuple[Type, int]]

    @cached_property
    def line(self) -> str:
        return example_of(self.opcode)

    def before(self, address: int) -> dict[str, bytes]:
        """Small numbers of vector instructions; where memory is, or how far into it, of others."""
        found = {}
        for variable, (type, count) in self.types.items():
            if is_vector(self.opcode):
                lanes = np.arange(1, count + 1) % 13 - (0 if not type.is_signed else 5)
                data = lanes.astype(_NUMPY[type.name]).tobytes()
            elif self.line.startswith("vme"):
                data = bytes(type.size * count)
            elif variable in _ADDRESSES:
                data = (address + 8 * np.arange(count, dtype=np.uint64)).tobytes()
            else:
                data = (4 * np.arange(count)).astype(_NUMPY[type.name]).tobytes()
            found[variable] = data
        return found


_NUMPY: Final = {
    t.name: f"{'f' if t.kind is Kind.FLOAT else 'i' if t.is_signed else 'u'}{t.size}"
    for t in TYPES.values()
    if t.size in (1, 2, 4, 8) and t.kind is not Kind.PACKED
}


def example_of(opcode: Opcode) -> str:
    """The example, with as many lanes as the instruction has here."""
    lanes = max(n for n in opcode.limits.sizes_on(DEVICE) if n <= SIMD)
    return example(opcode).replace("(M1, 16)", f"(M1, {lanes})")


def made(opcode: Opcode) -> Example:
    """The example of an instruction, with the variables and surfaces that it names."""
    written = example_of(opcode)
    lines = kernel(opcode, written).splitlines()
    words = set(re.findall(r"\w+", written))
    found = types(opcode, DEVICE)
    text, body = [], []
    for line in lines:
        if line.startswith(".decl") and "v_type=G" in line:
            variable = line.split()[1]
            if variable not in words:
                continue
            usual = "uq" if variable in _ADDRESSES else "ud"
            type = found.get(variable, found.get(variable.removesuffix("0"), usual))
            raw = re.search(rf"\b{variable}\.\d", written) and variable not in _ADDRESSES
            count = _REGISTERS if raw else _ELEMENTS
            line = f".decl {variable} v_type=G type={type} num_elts={count} align=GRF"
        text.append(line)
    start = next(k for k, line in enumerate(text) if not line.startswith("."))
    declared = "\n".join([*text[:start], "ret (M1, 1)", ""])
    (empty,) = parse(declared, "example").kernels
    for declaration in empty.declarations:
        if isinstance(declaration, SurfaceVariable) and declaration.name in words:
            number = 1 if declaration.name == "target" else 0
            body.append(f"movs (M1_NM, 1) {declaration.name}(0) {number:#x}:ud")
    if "A0" in words:
        general = next(d.name for d in empty.declarations if isinstance(d, Variable))
        body.append(f"addr_add (M1_NM, 1) A0(0)<1> &{general} 0x0:uw")
    if "P1" in words:
        body.append(f"setp (M1_NM, {SIMD}) P1 0x5a3c:ud")
    head = [*text[:start], f".kernel_attr SimdSize={SIMD}"]
    variables = {d.name: d for d in empty.declarations if isinstance(d, Variable)}
    whole = "\n".join([*head, *body, *text[start:], ""])
    places = {n: (v.type, v.count) for n, v in variables.items()}
    return Example(opcode, wrap(whole, list(places), 1), places)


def outcome(one: Example, pair: Pair, level: str, engine: Engine) -> dict[str, bytes] | str:
    """What variables and memory hold at the end, or the kind of error that ends it."""
    harness, buffer = one.harness, Buffer("memory", MEMORY)
    surfaces = {}
    data = bytes(k * 7 & 0x7F for k in range(MEMORY))
    host = (
        _with_image(one, buffer, data)
        if _IMAGES.match(one.line)
        else FlatHost(harness.size, [buffer])
    )
    address = host.places["memory"]
    host.fill(buffer, data)
    put(host, harness.image(one.before(address)))
    if isinstance(host, FlatHost):
        surfaces = {0: BufferSurface(address, MEMORY, strict=False)}
    try:
        launch = grid(
            pair.function(level),
            host.base,
            surfaces=surfaces,
            slm_bytes=LOCAL_BYTES,
            scratch_bytes=SCRATCH_BYTES,
        )
        host.run(launch, engine)
    except (BuildError, Fault, Unsupported) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    found = harness.results(bytes(host.results[: harness.size]))
    return found | {"memory": host.bytes_of(buffer)} | _pictures(host)


def _with_image(one: Example, buffer: Buffer, data: bytes) -> DeviceHost:
    """A device with one image, surface 0, and one sampler."""
    pictures, filters = [], [Filter(0)]
    if _MEDIA.match(one.line):
        wanted, kind = next(found for word, *found in _FILTERS if re.search(word, one.line))
        pictures = [
            Picture("picture", 0, (64, 64), {"media": 1, "format": kind}),
            Picture("target", 1, (64, 64), {"format": "R8_UINT"}),
        ]
        filters = [Filter(0, wanted)]
    elif one.line.startswith("sample_unorm"):
        pictures = [Picture("picture", 0, (16, 64, 4), {"format": "RGBA8_UNORM"})]
    else:
        kind = "R32_UINT" if _INTEGERS.match(one.line) else "R32_FLOAT"
        pictures = [Picture("picture", 0, (16, 64), {"format": kind})]
    before = {} if "Y1" in str(pictures[0]) else {"picture": data[: 64 * 64]}
    return DeviceHost(DEVICE, one.harness.size, [buffer], pictures, filters, before)


def _pictures(host: FlatHost | DeviceHost) -> dict[str, bytes]:
    return host.pictures() if isinstance(host, DeviceHost) else {}


@dataclass(frozen=True)
class Verdict:
    """What runs show: how native code differs from the example, and how the example ends."""

    differences: list[str]
    ends: str


def compared(one: Example, pair: Pair, engines: dict[str, Engine]) -> Verdict:
    """Native code on each engine against the example on the first."""
    bytes_of = {"memory": MEMORY, "picture": 0, "target": 0}
    known = one.types | {n: (TYPES["ub"], size) for n, size in bytes_of.items()}
    want = outcome(one, pair, "visa", next(iter(engines.values())))
    found = []
    for where, engine in engines.items():
        got = outcome(one, pair, "native", engine)
        if isinstance(want, str) or isinstance(got, str):
            if isinstance(want, str) != isinstance(got, str):
                found.append(f"{where}: {want if isinstance(want, str) else got}"[:150])
        else:
            found += [f"{where}: {d}" for d in differences(known, want, got)]
    return Verdict(found, want if isinstance(want, str) else "")
