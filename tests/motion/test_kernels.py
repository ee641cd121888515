"""Motion estimation of OpenCL C, as Intel's compiler emits it, against brute force."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.state.fields import StateError
from motion import oracle
from motion.motion_programs import elf
from native_launches import natively

MACHINES = (("interp", "visa"), ("jit", "visa"), ("interp", "native"))
NOTHING = 0x7F
SAD, HAAR = 0, 2


@pytest.fixture(scope="module", params=MACHINES, ids="-".join)
def device(request: pytest.FixtureRequest) -> Iterator[eumu.Device]:
    engine, level = request.param
    with natively() if level == "native" else nullcontext():
        yield eumu.Device("skl", engine=engine)


@cache
def program() -> eumu.Program:
    return eumu.load(elf("skl"))


def smooth(seed: int, shape: tuple[int, int] = (64, 80)) -> np.ndarray[Any, Any]:
    """A picture in which near places look alike."""
    rng = np.random.default_rng(seed)
    rough = rng.integers(0, 256, (shape[0] + 8, shape[1] + 8)).astype(np.int64)
    total = sum(np.roll(rough, (i, j), (0, 1)) for i in range(-2, 3) for j in range(-2, 3))
    spread = (total / 25 - 128) * 3 + 128
    return np.clip(spread, 0, 255)[: shape[0], : shape[1]].astype(np.uint8)


def moved(picture: np.ndarray[Any, Any], x: int, y: int, noise: int = 0) -> np.ndarray[Any, Any]:
    """A picture whose blocks come from (x, y) further in the other one."""
    rng = np.random.default_rng(9)
    found = np.roll(picture, (-y, -x), (0, 1)).astype(np.int64)
    found += rng.integers(-noise, noise + 1, picture.shape)
    return np.clip(found, 0, 255).astype(np.uint8)


class Result:
    """What a kernel wrote for one macroblock."""

    def __init__(self, words: np.ndarray[Any, Any]) -> None:
        self.words = words
        self.distortion, self.major, self.minors, self.directions = (int(w) for w in words[48:52])
        self.count, self.ids, self.border, self.border_back = (int(w) for w in words[52:56])
        self.truncated, self.early = int(words[56]), int(words[57])

    def mv(self, item: int, direction: int = 0) -> tuple[int, int]:
        x, y = np.array([self.words[16 * direction + item]], np.uint32).view(np.int16)
        return int(x), int(y)

    def of(self, item: int) -> int:
        return int(self.words[32 + item])


def launch(
    device: eumu.Device,
    name: str,
    pictures: list[Any],
    *args: Any,
    groups: tuple[int, int] = (1, 1),
) -> list[Result]:
    images = [device.image(np.ascontiguousarray(p), format="R8_UNORM") for p in pictures]
    out = device.array(8192, np.uint32)
    kernel = program()[name]
    size = (16 * groups[0], groups[1])
    kernel.launch(device, size, (16, 1), args=[*images, out, *args])
    return [Result(out.numpy()[64 * k : 64 * k + 64]) for k in range(groups[0] * groups[1])]


def search(
    device: eumu.Device, source: Any, reference: Any, name: str = "exhaustive", **given: Any
) -> list[Result]:
    groups = given.pop("groups", (1, 1))
    known = {"offset": (0, 0), "mask": 0, "sad": SAD, "most": 32, "early": 0} | given
    offset = np.array(known["offset"], np.int16)
    rest = [np.uint8(known[k]) for k in ("mask", "sad", "most", "early")]
    return launch(device, name, [source, reference], offset, *rest, groups=groups)


# ---- whole pixels


@pytest.mark.parametrize("move", [(3, -5), (-16, 11), (15, -12), (0, 0)])
def test_a_moved_picture_has_one_vector(device: eumu.Device, move: tuple[int, int]) -> None:
    reference = smooth(1, (96, 112))
    source = moved(reference, *move)
    found = search(device, source, reference, groups=(5, 4))
    for y, x in ((2, 2), (2, 3), (3, 4)):
        result = found[5 * y + x]
        assert (result.distortion, result.major, result.count) == (0, 0, 1)
        assert result.mv(0) == (4 * move[0], 4 * move[1])


def expected(
    spec: oracle.Search, reference: Any, window: oracle.Rect, flat: int = 0
) -> tuple[int, int]:
    """The least distortion of all partitions, and of those with few enough vectors."""

    def best(rects: list[oracle.Rect]) -> int:
        return sum(spec.least(reference, window, r, flat) for r in rects)

    every = list(spec.totals(best))
    return min(t[0] for t in every), min(t[0] for t in every if t[1] <= spec.limit)


def check(spec: oracle.Search, reference: Any, window: oracle.Rect, result: Result) -> None:
    """Every vector is a best one, and so is the partition."""
    shapes = oracle.codes(spec.shapes, 5)
    total = shapes[4] if result.major == 0 else shapes[0] if result.major < 3 else 0
    for item, rect in oracle.items(result.major, result.minors):
        mv = result.mv(item)
        assert mv[0] % 4 == mv[1] % 4 == 0
        assert window[0] <= mv[0] // 4 < window[0] + window[2]
        assert window[1] <= mv[1] // 4 < window[1] + window[3]
        least = spec.least(reference, window, rect)
        assert (result.of(item), spec.cost(reference, rect, mv)) == (least, least)
        total += least
    if result.major == 3:
        total += sum(shapes[(1, 2, 2, 3)[result.minors >> 2 * k & 3]] for k in range(4))
    free, limited = expected(spec, reference, window)
    assert result.distortion == total == limited
    assert result.truncated == (limited > free)
    assert result.count <= spec.limit


@pytest.mark.parametrize(
    ("name", "window", "given"),
    [
        ("small", (-6, -6, 12, 12), {}),
        ("small", (-6, -6, 12, 12), {"sad": HAAR}),
        ("small", (-11, 2, 12, 12), {"offset": (-5, 8), "mask": 0x30}),
        ("small", (-6, -6, 12, 12), {"mask": 0x77}),
        ("small", (-6, -6, 12, 12), {"mask": 0x1F}),
        ("small", (-6, -6, 12, 12), {"most": 5}),
        ("small", (-6, -6, 12, 12), {"most": 1}),
        ("exhaustive", (-16, -12, 32, 24), {"mask": 0x7C}),
        ("diamond", (-16, -12, 32, 24), {"mask": 0x7E}),
    ],
)
def test_the_best_of_a_window(
    device: eumu.Device, name: str, window: oracle.Rect, given: dict[str, Any]
) -> None:
    """The source macroblock is the corner of the picture: windows go beyond its edges."""
    reference, source = smooth(2), moved(smooth(2), 2, 1, noise=40)
    (result,) = search(device, source, reference, name, **given)
    measure = oracle.haar if given.get("sad") == HAAR else oracle.sad
    spec = oracle.Search(source, 0, 0, given.get("mask", 0), measure=measure)
    spec.limit = given.get("most", 32)
    check(spec, reference, window, result)


def test_of_equals_the_first_on_the_path(device: eumu.Device) -> None:
    flat = np.full((64, 64), 77, np.uint8)
    (result,) = search(device, flat, flat)
    assert (result.mv(0), result.distortion, result.major) == ((0, 0), 0, 0)
    (result,) = search(device, flat, flat, offset=(7, -3))
    assert result.mv(0) == (28, -12)


def test_borders_of_the_window(device: eumu.Device) -> None:
    reference = smooth(3, (96, 112))
    for move, border in (((-16, 0), 1), ((15, 0), 2), ((0, -12), 4), ((15, 11), 10), ((1, 1), 0)):
        results = search(device, moved(reference, *move), reference, groups=(3, 3))
        assert (results[8].border, results[8].border_back) == (border, 0)


def test_a_partial_macroblock_repeats_the_edge(device: eumu.Device) -> None:
    reference = smooth(4, (24, 24))
    results = search(device, reference, reference, groups=(2, 2))
    assert [r.distortion for r in results] == [0] * 4
    assert results[3].mv(0) == (0, 0)


def test_an_early_end(device: eumu.Device) -> None:
    """The second search unit has a good match, a later one a perfect one."""
    reference = smooth(5, (96, 96))
    source = moved(reference, 9, 9)
    source[32:48, 32:48] = reference[32:48, 32:48]
    source[40, 40] ^= 8
    calm = search(device, source, reference, groups=(3, 3), early=0x11)[8]
    assert (calm.early, calm.distortion, calm.mv(0)) == (0, 8, (0, 0)) or calm.distortion == 8
    hasty = search(device, source, reference, groups=(3, 3), early=0x41, mask=0x7E)[8]
    assert (hasty.early, hasty.distortion, hasty.mv(0)) == (1, 8, (0, 0))


@pytest.mark.parametrize(("name", "precision"), [("costs_qpel", 0), ("costs_pel", 2)])
def test_vectors_and_shapes_cost(device: eumu.Device, name: str, precision: int) -> None:
    reference, source = smooth(6), moved(smooth(6), -2, 3, noise=40)
    centers = [(4, -8), (0, 3), (-150, 9), (18, -21)]
    table, shapes = 0x6B6A685E5D4E4B2B, 0x2F593D3F3C
    packed = np.array(centers, np.int16).view(np.uint32).reshape(-1)
    words = np.array([table & 0xFFFFFFFF, table >> 32], np.uint32)
    (result,) = launch(
        device, name, [source, reference], device.array(packed), words, np.uint64(shapes)
    )
    spec = oracle.Search(source, 0, 0, 0, table, precision, centers, shapes)
    check(spec, reference, (-6, -6, 12, 12), result)


@pytest.mark.parametrize(("penalty", "mix"), [(0, 1), (0x17, 1), (0x17, 0)])
def test_two_references(device: eumu.Device, penalty: int, mix: int) -> None:
    forward, backward = smooth(7), smooth(8)
    source = moved(forward, 2, -3, noise=30)
    source[:, 8:] = moved(backward, -4, 1, noise=30)[:, 8:]
    (result,) = launch(
        device, "two_references", [source, forward, backward], np.uint8(penalty), np.uint8(mix)
    )
    spec = oracle.Search(source, 0, 0)
    pictures = forward, backward
    windows, flats = ((-7, -10, 16, 16), (-11, -6, 16, 16)), (0, oracle.u4u4(penalty))

    def cost(rects: list[oracle.Rect], d: int) -> int:
        return sum(spec.least(pictures[d], windows[d], r, flats[d]) for r in rects)

    if mix:
        least = min(t[0] for t in spec.totals(lambda rects: min(cost(rects, d) for d in (0, 1))))
    else:
        ways = [min(t[0] for t in spec.totals(lambda r, d=d: cost(r, d))) for d in (0, 1)]
        least = min(ways)
        assert result.directions in (0, 1, 5, 0x55)
    assert result.distortion == least
    for item, rect in oracle.items(result.major, result.minors):
        for d in (0, 1):
            found = spec.cost(pictures[d], rect, result.mv(item, d), flats[d])
            assert found == spec.least(pictures[d], windows[d], rect, flats[d])
        part = item // 4 if result.major == 3 else item // 8
        d = result.directions >> 2 * part & 3
        assert result.of(item) == spec.least(pictures[d], windows[d], rect, flats[d])


@pytest.mark.parametrize("penalty", [0, 0x19])
def test_streams_search_two_pictures(device: eumu.Device, penalty: int) -> None:
    first, second = smooth(10), smooth(11)
    source = moved(first, 1, 2, noise=25)
    source[8:] = moved(second, -3, 0, noise=25)[8:]
    images = [device.image(p, format="R8_UNORM") for p in (source, first, first, second, second)]
    out = device.array(8192, np.uint32)
    program()["streams"].launch(device, 16, 16, args=[*images, out, np.uint8(penalty)])
    words = out.numpy()
    result, window = Result(words[:64]), (-6, -6, 12, 12)
    spec = oracle.Search(source, 0, 0, 0x70)
    pictures, flats = (first, second), (0, oracle.u4u4(penalty))

    def least(rect: oracle.Rect, n: int) -> int:
        return spec.least(pictures[n], window, rect, flats[n])

    def best(rects: list[oracle.Rect]) -> int:
        return sum(min(least(r, 0), least(r, 1)) for r in rects)

    assert result.distortion == min(t[0] for t in spec.totals(best))
    for k, rect in enumerate(oracle.MAJOR[3]):
        n = int(words[4096 + 32 + k])
        assert n == (least(rect, 1) < least(rect, 0))
        assert int(words[4096 + 16 + k]) == least(rect, n)
        mv = np.array([words[4096 + k]], np.uint32).view(np.int16)
        assert spec.cost(pictures[n], rect, (int(mv[0]), int(mv[1])), flats[n]) == least(rect, n)
    assert [int(w) for w in words[4096 + 48 : 4096 + 50]] == [least(r, 0) for r in oracle.MAJOR[2]]


@pytest.mark.parametrize("which", range(4))
def test_fields(device: eumu.Device, which: int) -> None:
    """Rows of a field are those of a picture of half the height."""
    source, reference = smooth(12), smooth(13)
    reference[which >> 1 :: 2] = moved(source[which & 1 :: 2], -3, 2)
    results = launch(device, "fields", [source, reference], np.uint8(which), groups=(3, 2))
    assert results[4].distortion == 0
    assert results[4].mv(0) == (12, -8)


# ---- parts of pixels


def refined(
    source: Any, reference: Any, rect: oracle.Rect, start: tuple[int, int], steps: tuple[int, ...],
    table: int = 0, measure: Any = oracle.sad, *, bilinear: bool = False,
) -> tuple[int, tuple[int, int]]:  # fmt: skip
    """The best of eight places around, at each step."""
    here = oracle.block(source, rect[0], rect[1], rect[2], rect[3])

    def cost(mv: tuple[int, int]) -> int:
        there = oracle.moved(reference, rect, mv, bilinear=bilinear)
        return measure(here, there) + oracle.vector_cost(mv, (0, 0), table, 0)

    best = cost(start), start
    for step in steps:
        x, y = best[1]
        around = [(x + i * step, y + j * step) for j in (-1, 0, 1) for i in (-1, 0, 1)]
        found = min((cost(mv), k) for k, mv in enumerate(around) if mv != (x, y))
        if found[0] < best[0]:
            best = found[0], around[found[1]]
    return best


@pytest.mark.parametrize(
    ("major", "minors", "resolution", "sad", "bilinear", "table"),
    [
        (0, 0, 1, SAD, 0, 0),
        (0, 0, 3, SAD, 0, 0),
        (1, 0, 3, SAD, 1, 0),
        (2, 0, 3, HAAR, 0, 0),
        (3, 0b11_10_01_00, 3, SAD, 0, 0x3B3A382E2D2E2B1B),
    ],
)
def test_fractions(
    device: eumu.Device,
    major: int,
    minors: int,
    resolution: int,
    sad: int,
    bilinear: int,
    table: int,
) -> None:
    reference = smooth(14)
    wide = (reference.astype(np.int64) + np.roll(reference, (-1, -1), (0, 1)) + 1) // 2
    source = moved(wide.astype(np.uint8), 2, 1, noise=6)
    vectors = np.zeros(16, np.uint64)
    starts = {}
    for k, (item, _) in enumerate(oracle.items(major, minors)):
        starts[item] = start = (8 + 4 * (k % 2), 4)
        for i in range(item, 16):  # up to the place of the next block
            vectors[i] = (start[1] & 0xFFFF) << 16 | start[0] & 0xFFFF
    words = np.array([table & 0xFFFFFFFF, table >> 32], np.uint32)
    args = [np.uint8(v) for v in (major, minors, resolution, sad, bilinear)]
    (result,) = launch(
        device, "fractions", [source, reference], device.array(vectors), *args, words
    )
    steps = (2,) if resolution == 1 else (2, 1)
    measure = oracle.haar if sad == HAAR else oracle.sad
    total = 0
    for item, rect in oracle.items(major, minors):
        found = refined(
            source, reference, rect, starts[item], steps, table, measure,
            bilinear=bool(bilinear),
        )  # fmt: skip
        assert (result.of(item), result.mv(item)) == found
        total += found[0]
    assert result.distortion == total


@pytest.mark.parametrize(("weight", "mix"), [(16, 1), (32, 1), (43, 1), (32, 0)])
def test_both_references(device: eumu.Device, weight: int, mix: int) -> None:
    forward, backward = smooth(15), smooth(16)
    blend = (forward.astype(np.int64) + backward + 1) // 2
    source = moved(blend.astype(np.uint8), 0, 0, noise=4)
    source[8:, :] = forward[8:, :]
    vectors = device.array(np.zeros(16, np.uint64))
    args = [np.uint8(v) for v in (1, 0, 0, weight, mix)]
    (result,) = launch(device, "both_ways", [source, forward, backward], vectors, *args)
    costs = []
    for rect in oracle.MAJOR[1]:
        here = oracle.block(source, *rect)
        a, b = oracle.block(forward, *rect), oracle.block(backward, *rect)
        costs.append((oracle.sad(here, a), oracle.sad(here, oracle.mean(a, b, weight))))
    better = [both < one for one, both in costs]
    if not mix:
        better = [sum(c[1] for c in costs) < sum(c[0] for c in costs)] * 2
    wanted = [c[is_better] for c, is_better in zip(costs, better, strict=True)]
    assert [result.of(0), result.of(8), result.distortion] == [*wanted, sum(wanted)]
    assert result.directions == sum(2 * b << 2 * k for k, b in enumerate(better))


# ---- skip check


@pytest.mark.parametrize(
    ("ways", "sad", "shapes"),
    [(0b01, SAD, 0), (0b10, HAAR, 0), (0b11, SAD, 0x3500003C25), (0b11011001, SAD, 0x3500003C25)],
)
def test_skip_check(device: eumu.Device, ways: int, sad: int, shapes: int) -> None:
    forward, backward = smooth(17), smooth(18)
    source = moved(forward, 1, 0, noise=20)
    rng = np.random.default_rng(19)
    motion = rng.integers(-20, 20, (16, 2, 2)).astype(np.int16)
    is_four = ways > 3
    thresholds = 0x0C_0B_0A_09_08_07_0040
    args = [
        np.uint32(0x4000 if is_four else 0), np.uint32(ways), np.uint64(thresholds),
        np.uint8(sad), np.uint8(0), np.uint64(shapes),
    ]  # fmt: skip
    packed = device.array(motion.reshape(16, 4).view(np.uint64).reshape(16))
    (result,) = launch(device, "skip", [source, forward, backward], packed, *args)
    measure = oracle.haar if sad == HAAR else oracle.sad
    cost = oracle.codes(shapes, 5)
    predicted = np.zeros((16, 16), np.int64)
    distortions = []
    for k, rect in enumerate(oracle.MAJOR[3 if is_four else 0]):
        parts = [
            oracle.moved(p, rect, (int(motion[k, d, 0]), int(motion[k, d, 1])))
            for d, p in enumerate((forward, backward))
            if ways >> (2 * k + d) & 1
        ]
        there = parts[0] if len(parts) == 1 else oracle.mean(*parts, 21)
        x, y, width, height = rect
        predicted[y : y + height, x : x + width] = there
        here = oracle.block(source, *rect)
        distortions.append(measure(here, there))
        assert result.of(4 * k) == distortions[-1] + cost[1 if is_four else 4]
    assert int(result.words[48]) == sum(distortions)
    limits = [thresholds & 0xFFFF, *(thresholds >> 16 + 8 * k & 255 for k in range(6))]
    for q, (x, y, _, _) in enumerate(oracle.MAJOR[3]):
        over = []
        for j, i in ((0, 0), (0, 4), (4, 0), (4, 4)):
            here = oracle.block(source, x + i, y + j, 4, 4)
            there = predicted[y + j : y + j + 4, x + i : x + i + 4]
            found = oracle.coefficients(here, there)
            over += [abs(found[v][u]) - limits[u + v] for v in range(4) for u in range(4)]
        assert int(result.words[49]) >> 8 * q & 255 == sum(o > 0 for o in over)
        sums = int(result.words[50]) | int(result.words[51]) << 32
        assert sums >> 16 * q & 0xFFFF == sum(o for o in over if o > 0)


def test_the_worst_block_of_a_skip_check(device: eumu.Device) -> None:
    picture = smooth(20)
    source = picture.copy()
    source[5, 9], source[13:15, 2] = source[5, 9] ^ 64, source[13:15, 2] ^ 16
    args = [np.uint32(0), np.uint32(1), np.uint64(0), np.uint8(0), np.uint8(1), np.uint64(0)]
    vectors = device.array(np.zeros(16, np.uint64))
    (result,) = launch(device, "skip", [source, picture, picture], vectors, *args)
    assert int(result.words[48]) == 64
    assert result.of(0) == 64 + 32


# ---- what is refused


def test_pictures_have_one_byte_a_pixel(device: eumu.Device) -> None:
    picture = device.image(np.zeros((32, 32, 4), np.uint8), format="RGBA8_UNORM")
    out = device.array(64, np.uint32)
    args = [picture, picture, out, np.zeros(2, np.int16), *(np.uint8(v) for v in (0, 0, 32, 0))]
    with pytest.raises(eumu.Fault, match="R8G8B8A8_UNORM; motion estimation takes R8_UNORM"):
        program()["small"].launch(device, 16, 16, args=args)


def test_what_is_described_nowhere_is_said(device: eumu.Device) -> None:
    picture = np.zeros((32, 32), np.uint8)
    with pytest.raises(eumu.Unsupported, match="InterSAD 1"):
        search(device, picture, picture, sad=1)
    with pytest.raises((eumu.Fault, StateError), match="Sub Mb Part Mask"):
        search(device, picture, picture, mask=NOTHING)
