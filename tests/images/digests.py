"""Digests of what images answer: more than a million random states x lanes, both engines.

    python tests/images/digests.py           # compare with digests.txt
    python tests/images/digests.py --write   # freeze what is true now
    python tests/images/digests.py --only gather4

A class is a kind of message; its line has the lanes that were asked, and a hash of the answers of
the model and of compiled code, refusals and memory included.  NaN counts as NaN.  Numbers may
depend on the machine's mathematical library: freeze and compare on the same one.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from eumu.device.state.codes import SurfaceFormat  # noqa: E402
from eumu.device.state.sampler import (  # noqa: E402
    AnisotropyRatio,
    Filter,
    KeyMode,
    SamplerState,
)
from eumu.device.state.surface import SurfaceState  # noqa: E402
from eumu.device.surfaces.formats import Encoding, texel_format  # noqa: E402
from eumu.errors import Unsupported  # noqa: E402
from eumu.exec.host import Places, Refusal  # noqa: E402
from eumu.messages import (  # noqa: E402
    PARAMETERS,
    BlockRead,
    BlockWrite,
    SamplerMessage,
    TypedAtomic,
    TypedRead,
    TypedWrite,
)
from images import test_compiled as cases  # noqa: E402
from images.both_answers import Machine, fitted, header, results  # noqa: E402

FROZEN = HERE / "digests.txt"
THREADS, LANES = 64, 16
KINDS = (cases.S1D, cases.S2D, cases.S2D, cases.S3D, cases.CUBE)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0, -0.0, 1, 0.5, -1e-9, 3e38, -3e38, 1e-40, -1e-45], np.float32
)
NUMBERS = {"R32_UINT": "unsigned", "R16_SINT": "signed", "R32_FLOAT": "float"}  # of atomics
Rng = np.random.Generator


@dataclass
class Asked:
    """A message of many threads under one pair of states."""

    record: Any
    arguments: list[Any]  # [threads, lanes], behind surface, sampler and header
    state: SurfaceState
    sampler: SamplerState
    border: Any
    header: Any = None


class Digest:
    """The hashes of a class."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.model, self.compiled = hashlib.sha256(), hashlib.sha256()
        self.lanes = self.answered = self.by_code = 0

    def line(self, name: str) -> str:
        model, code = self.model.hexdigest()[:24], self.compiled.hexdigest()[:24]
        counts = f"{self.lanes} {self.answered} {self.by_code}"
        return f"{name} {counts} {model} {code}"

    def ask(self, asked: Asked, mask: Any) -> None:
        """Both answers, into the hashes."""
        machine, record = self.machine, asked.record
        functions = machine.functions(asked.state, asked.sampler, asked.border)
        rows = len(mask)
        given = [np.full((rows, 1), machine.bench.bti, np.uint32)]
        if isinstance(record, SamplerMessage):
            if record.uses_sampler:
                given.append(np.full((rows, 1), 3, np.uint32))
            if record.has_header:
                given.append(np.repeat(asked.header, rows, 0))
        given += asked.arguments
        self.lanes += mask.size
        is_float = not texel_format(asked.state.surface_format).is_integer
        is_float = is_float and getattr(record, "operation", "") != "resinfo"
        before = machine.bytes.copy()
        try:
            found = functions.message(record, np.arange(rows), mask, given)
            self.answered += mask.size
            for x in found:
                self.model.update(_bytes(x, is_float))
        except (Refusal, Unsupported) as error:
            self.model.update(str(error).encode())
        self.model.update(machine.bytes)
        machine.bytes[:] = before
        self._ask_code(functions, record, given, mask, is_float)
        machine.bytes[:] = before

    def _ask_code(
        self, functions: Any, record: Any, given: list[Any], mask: Any, is_float: bool
    ) -> None:
        arrays = [[m[None].view(np.uint8), *(g[n : n + 1] for g in given)]
                  for n, m in enumerate(mask)]  # fmt: skip
        empty = results(record, mask.shape[1])
        starts = np.cumsum([0, *(-(-x.nbytes // 8) * 8 for x in [*arrays[0], *empty])]).tolist()
        count = 1 + len(given)
        places = Places(tuple(starts[:count]), tuple(starts[count:-1]))
        made = functions.inline_cache(record, [g[:1] for g in given], places)
        self.compiled.update(b"code" if made else b"none")
        if made is None:
            return
        run = _RUN(ctypes.c_uint64.from_address(made.record).value)
        for row in arrays:
            data = np.full(starts[-1] + 64, 0xA5, np.uint8)
            for x, start in zip(row, starts, strict=False):
                data[start : start + x.nbytes] = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
            code = run(made.record, data.ctypes.data)
            self.compiled.update(bytes([code]))
            if code == 0:
                self.by_code += mask.shape[1]
                for x, start in zip(empty, starts[count:-1], strict=True):
                    part = data[start : start + x.nbytes].view(x.dtype)
                    self.compiled.update(_bytes(part, is_float))
        self.compiled.update(self.machine.bytes)


def _bytes(x: Any, is_float: bool) -> bytes:
    x = np.ascontiguousarray(x)
    if is_float and x.itemsize in (2, 4):
        kind: Any = np.float16 if x.itemsize == 2 else np.float32
        bits = x.view(np.uint16 if x.itemsize == 2 else np.uint32).copy()
        bits[np.isnan(bits.view(kind))] = 0x7FFF
        x = bits
    return x.tobytes()


def _floats(rng: Rng, name: str, state: SurfaceState, unit: bool) -> Any:
    x = cases.coordinates(rng, name, THREADS * LANES, state, unit).reshape(THREADS, LANES)
    odd = rng.random(x.shape) < 0.04
    x[odd] = rng.choice(_SPECIAL, int(odd.sum()))
    wild = rng.random(x.shape) < 0.02  # any bits
    x[wild] = rng.integers(0, 1 << 32, int(wild.sum()), dtype=np.uint32).view(np.float32)
    return x


def _mask(rng: Rng, lanes: int = LANES) -> Any:
    found = rng.random((THREADS, lanes)) < (1.0 if rng.integers(2) else 0.6)
    found[:, 0] = True
    return found


def _sampler(rng: Rng, machine: Machine, state: SurfaceState, operation: str) -> SamplerState:
    setting = cases.sampler(rng, machine.border_pointer())
    format = texel_format(state.surface_format)
    if format.is_integer and not operation.startswith("gather4"):
        setting = replace(setting, mag_mode_filter=Filter.NEAREST, min_mode_filter=Filter.NEAREST)
    return setting


def _sample(rng: Rng, machine: Machine, operation: str, kinds: Any, formats: Any) -> Asked:
    state = cases.surface(rng, machine.base, kinds, formats)
    assert state is not None
    setting = _sampler(rng, machine, state, operation)
    unit = not setting.non_normalized_coordinate_enable
    told: dict[str, Any] = {}
    has_header = bool(rng.integers(2))
    if has_header:
        told["sampler_state_pointer"] = machine.bench.tables.pointers.sampler_table
        if operation.startswith("gather4"):
            channel = 0 if operation.endswith("_c") else int(rng.integers(4))
            told["gather4_source_channel_select"] = channel
        if state.surface_type in (cases.S1D, cases.S2D, cases.S3D) and unit and rng.integers(2):
            told |= {n: int(rng.integers(-8, 8)) for n in ("u_offset", "v_offset", "r_offset")}
    names = PARAMETERS[operation]
    bits = cases.pick(rng, (32, 32, 32, 16))
    record = SamplerMessage(operation, LANES, len(names), has_header, 4, bits)
    given = [_floats(rng, n, state, unit) for n in names]
    for n, name in enumerate(names):
        if name.startswith("off"):
            given[n] = rng.integers(0, 64, (THREADS, LANES), dtype=np.uint32)
    border = cases.border(rng, state.surface_format)
    return Asked(record, given, state, setting, border, header(**told) if told else None)


def samples(operation: str, count: int) -> Callable[[Rng, Digest], None]:
    """Samples and gathers under any states."""

    def run(rng: Rng, digest: Digest) -> None:
        for _ in range(count):
            asked = _sample(rng, digest.machine, operation, KINDS, cases.FORMATS)
            digest.ask(asked, _mask(rng))

    return run


def anisotropic(rng: Rng, digest: Digest) -> None:
    floats = [f for f in cases.FORMATS if not texel_format(f).is_integer]
    for _ in range(24):
        operation = cases.pick(rng, ("sample", "sample_b", "sample_d"))
        asked = _sample(rng, digest.machine, operation, KINDS, floats)
        ratio = cases.pick(rng, list(AnisotropyRatio))
        filters = cases.pick(rng, ((2, 2), (2, 1), (0, 2)))
        asked.sampler = replace(
            asked.sampler,
            mag_mode_filter=Filter(filters[0]),
            min_mode_filter=Filter(filters[1]),
            maximum_anisotropy=ratio,
        )
        digest.ask(asked, _mask(rng))


def keyed(rng: Rng, digest: Digest) -> None:
    octets = [SurfaceFormat[n] for n in ("R8G8B8A8_UNORM", "R8_UNORM", "YCRCB_NORMAL")]
    for _ in range(12):
        asked = _sample(rng, digest.machine, "sample_l", (cases.S2D,), octets)
        asked.sampler = replace(
            asked.sampler, chromakey_enable=True, chromakey_mode=KeyMode.REPLACE_BLACK
        )
        digest.ask(asked, _mask(rng))


def blocks_of_texels(rng: Rng, digest: Digest) -> None:
    """Compressed formats, which only the model reads."""
    for code in SurfaceFormat:
        if texel_format(code).encoding is Encoding.BC:
            asked = _sample(rng, digest.machine, "sample_l", (cases.S2D, cases.CUBE), (code,))
            digest.ask(asked, _mask(rng))


def _integers(rng: Rng, name: str, state: SurfaceState, lanes: int = LANES) -> Any:
    sizes = {"u": state.width, "v": state.height, "r": state.depth, "lod": state.mip_count_lod}
    x = rng.integers(-2, sizes.get(name, 0) + 3, (THREADS, lanes))
    odd = rng.random(x.shape) < 0.04
    x[odd] = rng.choice([-(1 << 31), (1 << 31) - 1, 0, 1 << 20], int(odd.sum()))
    return x.astype(np.int32)


def _load(rng: Rng, state: SurfaceState) -> Asked:
    operation = cases.pick(rng, ("ld", "ld_lz"))
    names = PARAMETERS[operation]
    given = [_integers(rng, n, state) for n in names]
    has_header = state.surface_type is not cases.CUBE and bool(rng.integers(2))
    has_header = has_header and state.surface_type is not cases.BUFFER
    told = {n: int(rng.integers(-8, 8)) for n in ("u_offset", "v_offset", "r_offset")}
    bits = cases.pick(rng, (32, 16))
    record = SamplerMessage(operation, LANES, len(names), has_header, 4, bits)
    return Asked(record, given, state, SamplerState(), np.zeros(4, np.float32), header(**told))


def loads(rng: Rng, digest: Digest) -> None:
    for _ in range(60):
        state = cases.surface(rng, digest.machine.base, (*KINDS, cases.BUFFER))
        assert state is not None
        asked = _load(rng, state)
        digest.ask(asked, _mask(rng))
        lod = [_integers(rng, "lod", state)]
        sizes = SamplerMessage("resinfo", LANES, 1, False, 4)
        digest.ask(replace(asked, record=sizes, arguments=lod), _mask(rng))


def _values(rng: Rng, lanes: int, numbers: str) -> list[Any]:
    shape = (THREADS, lanes)
    match numbers:
        case "bits":
            return [rng.integers(0, 1 << 32, shape, dtype=np.uint32) for _ in range(4)]
        case "tiny":
            found = [rng.uniform(-1.3, 1.3, shape) * 2.0**-14 for _ in range(4)]
        case "halves":
            found = [np.rint(rng.uniform(-1.3, 1.3, shape) * 510) / 510 for _ in range(4)]
        case _:
            found = [rng.uniform(-1.3, 1.3, shape) for _ in range(4)]
    for x in found:
        odd = rng.random(shape) < 0.06
        x[odd] = rng.choice(_SPECIAL, int(odd.sum()))
    return [x.astype(np.float32).view(np.uint32) for x in found]


def _typed(rng: Rng, digest: Digest, state: SurfaceState, numbers: str, lanes: int) -> None:
    names = cases.pick(rng, (("u", "v", "r", "lod"), ("u", "v", "r"), ("u", "v"), ("u",)))
    zero = np.zeros(4, np.float32)
    read = TypedRead(cases.pick(rng, ((0, 1, 2, 3), (0, 3), (2,))), names)
    at = [_integers(rng, n, state, lanes).view(np.uint32) for n in names]
    digest.ask(Asked(read, at, state, SamplerState(), zero), _mask(rng, lanes))
    write = TypedWrite(cases.pick(rng, ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1))), names)
    given = at + _values(rng, lanes, numbers)[: len(write.channels)]
    digest.ask(Asked(write, given, state, SamplerState(), zero), _mask(rng, lanes))


def typed(rng: Rng, digest: Digest) -> None:
    for _ in range(40):
        state = cases.surface(rng, digest.machine.base, (*KINDS, cases.BUFFER), cases.PLAIN)
        assert state is not None
        _typed(rng, digest, state, "bits", cases.pick(rng, (1, 2, 8, 16)))


def formats(rng: Rng, digest: Digest) -> None:
    """Every format: sampled, loaded, read and written with all kinds of numbers."""
    for code in cases.FORMATS:
        asked = _sample(rng, digest.machine, "sample_lz", (cases.S2D,), (code,))
        digest.ask(asked, _mask(rng))
        digest.ask(_load(rng, asked.state), _mask(rng))
        if code in cases.PLAIN:
            for numbers in ("bits", "near", "halves", "tiny"):
                _typed(rng, digest, asked.state, numbers, LANES)


def atomics(rng: Rng, digest: Digest) -> None:
    zero = np.zeros(4, np.float32)
    for operation in (*cases.ATOMICS, "cmpxchg"):
        for name, kind in NUMBERS.items():
            if kind == "float" and operation in ("and", "or", "xor"):
                continue
            kinds = (cases.S2D, cases.S3D, cases.BUFFER, cases.S1D)
            state = cases.surface(rng, digest.machine.base, kinds, (SurfaceFormat[name],))
            assert state is not None
            count = cases.OPERANDS.get(operation, 1)
            record = TypedAtomic(operation, ("u", "v", "r"), count, kind, int(name[1:3]))
            at = [_integers(rng, n, state, 8).view(np.uint32) for n in "uvr"]
            numbers = "near" if kind == "float" else "bits"
            given = at + _values(rng, 8, numbers)[:count]
            digest.ask(Asked(record, given, state, SamplerState(), zero), _mask(rng, 8))


def rectangles(rng: Rng, digest: Digest) -> None:
    zero = np.zeros(4, np.float32)
    for n in range(36):
        state = cases.surface(rng, digest.machine.base, (cases.S2D,))
        assert state is not None
        tiles = (0, 2, 3)[n % 3]
        state = fitted(replace(state, tile_mode=tiles), 0)
        width, height = int(cases.pick(rng, (4, 8, 12, 32, 64))), int(rng.integers(1, 9))
        pitch = 1 << (width - 1).bit_length()
        format = texel_format(state.surface_format)
        plane = int(rng.integers(2)) if format.encoding is Encoding.PLANAR else 0
        across = (state.width + 1) * format.bytes
        x = rng.integers(-20, across + 20, (THREADS, 1)) // 4 * 4
        y = rng.integers(-4, state.height + 5, (THREADS, 1))
        at = [v.astype(np.int32).view(np.uint32) for v in (x, y)]
        ones = np.ones((THREADS, 1), bool)
        read = BlockRead(width, height, pitch, plane, "", bool(rng.integers(4)))
        digest.ask(Asked(read, at, state, SamplerState(), zero), ones)
        rows = rng.integers(0, 256, (THREADS, height * pitch), dtype=np.uint8)
        write = BlockWrite(width, height, pitch, plane)
        digest.ask(Asked(write, [*at, rows], state, SamplerState(), zero), ones)


CLASSES: dict[str, Callable[[Rng, Digest], None]] = {
    **{
        name: samples(name, 40)
        for name in (
            *("sample", "sample_b", "sample_l", "sample_lz", "sample_d", "lod"),
            *("sample_c", "sample_b_c", "sample_l_c", "sample_c_lz", "sample_d_c"),
            *("gather4", "gather4_c", "gather4_po", "gather4_po_c"),
        )
    },
    "anisotropic": anisotropic,
    "chroma_keys": keyed,
    "bc": blocks_of_texels,
    "loads": loads,
    "typed": typed,
    "formats": formats,
    "atomics": atomics,
    "blocks": rectangles,
}


def lines(only: str = "") -> Iterator[str]:
    """A line for each class, as they become known."""
    machine = Machine()
    for name, run in CLASSES.items():
        if only in ("", name):
            rng = np.random.default_rng(zlib.crc32(name.encode()))
            size = len(machine.bytes)
            machine.bytes[:] = rng.integers(0, 256, size, dtype=np.uint8)
            digest = Digest(machine)
            run(rng, digest)
            yield digest.line(name)


def main() -> int:
    parser = argparse.ArgumentParser(description="Digests of what images answer.")
    parser.add_argument("--write", action="store_true", help="freeze what is true now")
    parser.add_argument("--only", default="", metavar="CLASS")
    given = parser.parse_args()
    frozen = FROZEN.read_text().splitlines() if FROZEN.exists() else []
    known = {line.split()[0]: line for line in frozen}
    found, wrong = [], 0
    for line in lines(given.only):
        name = line.split()[0]
        same = known.get(name) == line
        wrong += not same
        print("same" if same else "OTHER", line, flush=True)
        found.append(line)
    if given.write:
        FROZEN.write_text("\n".join(found) + "\n")
        return 0
    total = sum(int(line.split()[1]) for line in found)
    print(f"{total} lanes, {wrong} classes differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
