"""Sampled images against other implementations of OpenCL, on a grid of everything they have.

Nearest is exact, linear within weights of eight bits: an error of 1/512 of the range of the
texels for each dimension, and the rounding of the coordinate as much again.  Others multiply
normalized numbers by a reciprocal, which is a unit in the last place off: what is compared then is
the number in the texel that a result comes from.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import eumu
from images.image_programs import elf
from images.opencl_oracle import ask

pytestmark = pytest.mark.slow

# eumu's name: channel order, channel type, element, channels.
FORMATS = {
    "RGBA8_UNORM": ("RGBA", "UNORM_INT8", "u1", 4),
    "RGBA8_SNORM": ("RGBA", "SNORM_INT8", "i1", 4),
    "BGRA8_UNORM": ("BGRA", "UNORM_INT8", "u1", 4),
    "RGBA16_UNORM": ("RGBA", "UNORM_INT16", "u2", 4),
    "RGBA16_SNORM": ("RGBA", "SNORM_INT16", "i2", 4),
    "RGBA16_FLOAT": ("RGBA", "HALF_FLOAT", "f2", 4),
    "RGBA32_FLOAT": ("RGBA", "FLOAT", "f4", 4),
    "R32_FLOAT": ("R", "FLOAT", "f4", 1),
    "R16_UNORM": ("R", "UNORM_INT16", "u2", 1),
    "R8_UNORM": ("R", "UNORM_INT8", "u1", 1),
    "RG8_UNORM": ("RG", "UNORM_INT8", "u1", 2),
    "RG16_UNORM": ("RG", "UNORM_INT16", "u2", 2),
    "A8_UNORM": ("A", "UNORM_INT8", "u1", 1),
    "RGBA8_UINT": ("RGBA", "UNSIGNED_INT8", "u1", 4),
    "RGBA16_UINT": ("RGBA", "UNSIGNED_INT16", "u2", 4),
    "RGBA32_UINT": ("RGBA", "UNSIGNED_INT32", "u4", 4),
    "RGBA8_SINT": ("RGBA", "SIGNED_INT8", "i1", 4),
    "RGBA16_SINT": ("RGBA", "SIGNED_INT16", "i2", 4),
    "RGBA32_SINT": ("RGBA", "SIGNED_INT32", "i4", 4),
    "R32_UINT": ("R", "UNSIGNED_INT32", "u4", 1),
}
ADDRESSES = {
    "none": "NONE",
    "clamp_to_edge": "CLAMP_TO_EDGE",
    "clamp_to_border": "CLAMP",
    "repeat": "REPEAT",
    "mirrored_repeat": "MIRRORED_REPEAT",
}
SIZES = ((7, 5), (1, 1), (16, 33))
POINTS = 96
# Images of other dimensions: kernel, shape, whether the first axis are layers.
OTHERS = (
    ("f1", (13,), False),
    ("f3", (3, 5, 7), False),
    ("f2a", (3, 6, 5), True),
)


def pixels(rng: np.random.Generator, shape: tuple[int, ...], format: str) -> np.ndarray[Any, Any]:
    _, _, dtype, channels = FORMATS[format]
    full = (*shape, channels) if channels > 1 else shape
    if dtype[0] == "f":
        return rng.uniform(-2, 2, full).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, full, endpoint=True, dtype=dtype)


def points(rng: np.random.Generator, case: dict[str, Any], dimensions: int) -> np.ndarray[Any, Any]:
    """Coordinates far outside, on edges and on centres; inside only where nothing wraps them."""
    sizes = np.array([*reversed(case["shape"]), 1, 1, 1][:4], np.float32)
    if case["address"] == "NONE":
        found = rng.uniform(0.02, 0.98, (POINTS, 4))
        if case["filter"] == "LINEAR":
            edge = 0.5 / sizes
            found = edge + found * (1 - 2 * edge)
    else:
        found = rng.uniform(-1.5, 2.5, (POINTS, 4))
        special = (0, 1, 0.5, -0.0, 2, -1, 1 / 3, 0.99999994, 1e-8, -1e-8, 1e6, -1e6)
        found[: len(special)] = np.array(special)[:, None]
    scale = np.ones(4) if case["normalized"] else sizes
    found = found * scale
    if case["layers"]:  # the last coordinate counts layers
        found[:, dimensions - 1] = rng.uniform(-1, case["shape"][0] + 1, POINTS)
    return found.astype(np.float32)


def grid(format: str) -> Iterator[dict[str, Any]]:
    """Every case of a format."""
    order, type, dtype, _ = FORMATS[format]
    is_integer = format.endswith("INT")
    kernel = {"u": "u2", "i": "i2"}[dtype[0]] if is_integer else "f2"
    shapes = [(kernel, SIZES[0], False)]
    if format in ("RGBA8_UNORM", "RGBA32_FLOAT", "RGBA16_FLOAT", "RGBA8_SNORM"):
        shapes = [*((kernel, size, False) for size in SIZES), *OTHERS]
    filters = ("NEAREST",) if is_integer else ("NEAREST", "LINEAR")
    rng = np.random.default_rng(len(format) + ord(format[-1]))
    for (name, shape, layers), (address, code), filter, normalized in itertools.product(
        shapes, ADDRESSES.items(), filters, (True, False)
    ):
        if not normalized and address in ("repeat", "mirrored_repeat"):
            continue
        if address == "none" and filter == "LINEAR" and 1 in shape:
            continue  # every coordinate but one is undefined
        case = {
            "kernel": name,
            "shape": shape,
            "layers": layers,
            "order": order,
            "type": type,
            "address": code,
            "filter": filter,
            "normalized": normalized,
            "data": np.ascontiguousarray(pixels(rng, shape, format)),
            "result": {"u": "u4", "i": "i4"}[dtype[0]] if is_integer else "f4",
        }
        case["points"] = points(rng, case, len(shape))
        yield case


@cache
def machine(engine: str) -> tuple[eumu.Device, eumu.Program]:
    return eumu.Device("skl", engine=engine), eumu.load(elf("sampled", "skl"))


@cache
def all_answers(oracle: str) -> dict[str, list[Any]] | str:
    """What an implementation makes of every case; starting its process takes longest."""
    cases = {format: list(grid(format)) for format in FORMATS}
    found = ask(oracle, [case for some in cases.values() for case in some])
    if isinstance(found, str):
        return found
    rest = iter(found)
    return {format: list(itertools.islice(rest, len(some))) for format, some in cases.items()}


def run(engine: str, format: str, case: dict[str, Any]) -> np.ndarray[Any, Any]:
    device, program = machine(engine)
    layers = case["shape"][0] if case["layers"] else None
    image = device.image(case["data"], format=format, layers=layers)
    address = next(a for a, code in ADDRESSES.items() if code == case["address"])
    sampler = device.sampler(
        normalized=case["normalized"], address=address, filter=case["filter"].lower()
    )
    out = device.array((POINTS, 4), case["result"])
    args = [image, sampler, device.array(case["points"]), out]
    program[case["kernel"]].launch(device, POINTS, args=args)
    return out.numpy()


def range_of(case: dict[str, Any]) -> float:
    """The distance of the least texel from the greatest, border included."""
    data = case["data"].astype(np.float64)
    if case["data"].dtype.kind != "f":
        data /= np.iinfo(case["data"].dtype).max
    return float(max(data.max(), 0) - min(data.min(), 0))


def codes(format: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers as they are stored in a normalized format."""
    if not format.endswith("NORM"):
        return values
    top = np.iinfo(FORMATS[format][2]).max
    exact = values.astype(np.float64) * top
    assert np.abs(exact - np.rint(exact)).max() < 0.02
    return np.rint(exact)


def comparable(
    oracle: str, case: dict[str, Any], want: np.ndarray[Any, Any], got: Any
) -> tuple[np.ndarray[Any, Any], Any]:
    """Without what PoCL does otherwise than the specification.

    The alpha of formats without alpha is 0 on its border and in integers, and it scales the layer
    of normalized coordinates.
    """
    if oracle != "pocl":
        return want, got
    if case["layers"] and case["normalized"]:
        return want[:0], got[:0]
    if case["order"] in ("R", "RG") and (case["address"] == "CLAMP" or want.dtype != np.float32):
        return want[:, :2], got[:, :2]
    return want, got


@pytest.mark.parametrize("oracle", ["pocl", "intel"])
@pytest.mark.parametrize("format", FORMATS)
def test_grid(format: str, oracle: str) -> None:
    cases = list(grid(format))
    everything = all_answers(oracle)
    if isinstance(everything, str):
        pytest.skip(everything)
    answers = everything[format]
    if all(isinstance(answer, str) for answer in answers):
        pytest.skip(f"{oracle} has no images of {format}")
    wrong = []
    for case, want in zip(cases, answers, strict=True):
        if isinstance(want, str):
            continue
        want, got = comparable(oracle, case, want, run("interp", format, case))
        if not len(want):
            continue
        named = {k: case[k] for k in ("kernel", "shape", "address", "filter", "normalized")}
        if case["filter"] == "NEAREST":
            far = codes(format, want) != codes(format, got)
            if far.any():
                k = int(np.flatnonzero(far.any(axis=1))[0])
                wrong.append(f"{named} at {case['points'][k]}: {want[k]}, eumu {got[k]}")
            continue
        bound = range_of(case) * len(case["shape"]) / 256 + 1e-6
        error = float(np.abs(want - got).max())
        if not error <= bound:
            k = int(np.abs(want - got).max(axis=1).argmax())
            wrong.append(f"{named} at {case['points'][k]}: {want[k]}, eumu {got[k]}, {error}")
    assert not wrong, f"{len(wrong)} of {len(cases)}: " + "\n".join(wrong[:8])


@pytest.mark.parametrize("format", FORMATS)
def test_engines_agree(format: str) -> None:
    for case in list(grid(format))[::9]:
        want, got = run("interp", format, case), run("jit", format, case)
        assert want.tobytes() == got.tobytes()


def test_coordinates_that_are_no_numbers() -> None:
    """NaN is 0, infinities are the edges; nothing outside the image is touched."""
    data = np.arange(48, dtype=np.float32).reshape(3, 4, 4)
    device, program = machine("interp")
    image = device.image(data, format="RGBA32_FLOAT")
    inf, nan = np.inf, np.nan
    where = [[nan, nan], [inf, inf], [-inf, -inf], [nan, inf], [3e38, -3e38]]
    given = np.zeros((5, 4), np.float32)
    given[:, :2] = where
    out = device.array((5, 4), np.float32)
    sampler = device.sampler(address="clamp_to_edge")
    program["f2"].launch(device, 5, args=[image, sampler, device.array(given), out])
    want = [data[0, 0], data[2, 3], data[0, 0], data[2, 0], data[0, 3]]
    assert (out.numpy() == np.array(want)).all()
    for address, filter in itertools.product(ADDRESSES, ("nearest", "linear")):
        sampler = device.sampler(address=address, filter=filter)
        program["f2"].launch(device, 5, args=[image, sampler, device.array(given), out])
        assert out.numpy().max() <= 47 and out.numpy().min() >= 0
