"""Sub-groups: reductions, scans, votes, shuffles and blocks, with their NumPy twins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.runtime.parameters import element_type
from opencl_c.table import Piece, Row, Table, Twin

_KHR = (
    "subgroups", "subgroup_extended_types", "subgroup_ballot", "subgroup_non_uniform_vote",
    "subgroup_non_uniform_arithmetic", "subgroup_shuffle", "subgroup_shuffle_relative",
    "subgroup_clustered_reduce",
)  # fmt: skip
EXTENSIONS = (
    *(f"cl_khr_{name}" for name in _KHR),
    *(f"cl_intel_subgroups{kind}" for kind in ("", "_short", "_char", "_long")),
)
SIZES = (8, 16, 32)
TYPES = (
    "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double",
)  # fmt: skip
# What Intel's runtime for CPUs gives where work items of a branch call alone.
_SCAN = "if (l % 2 == 1) r = sub_group_non_uniform_scan_exclusive_{}(a);"
MISTAKES = {
    ("non_uniform_float_16", _SCAN.format("add")): "the first work item has -1; it should be 0",
    ("non_uniform_short_8", _SCAN.format("max")): "some have a number that is not theirs",
}
_GROUPS = 4
_LARGEST_BLOCK = 8


def _dtype(type_name: str) -> np.dtype[Any]:
    known = element_type(type_name)
    assert known is not None
    return known[0]


def _inputs(type_name: str, count: int, largest: int = 12) -> NDArray[Any]:
    """Integers of any size; floats whose sums are exact, without zeros that have signs."""
    dtype = _dtype(type_name)
    random = np.random.default_rng(count)
    if dtype.kind == "f":
        return (random.integers(1, largest, count) * random.choice([-1, 1], count)).astype(dtype)
    return random.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)


def _all(function: Callable[[NDArray[Any]], Any]) -> Twin:
    """One value for every work item of the sub-group."""

    def twin(p: Piece) -> Any:
        return np.full(len(p.a), function(p.a), p.a.dtype)

    return twin


def _sum(values: NDArray[Any]) -> Any:
    return values.sum(dtype=values.dtype)


def _identity(dtype: np.dtype[Any], name: str) -> Any:
    if name == "add":
        return dtype.type(0)
    if name == "mul":
        return dtype.type(1)
    if name in ("and", "or", "xor"):
        return dtype.type(0) if name != "and" else ~dtype.type(0)
    if dtype.kind == "f":
        return dtype.type(np.inf if name == "min" else -np.inf)
    info = np.iinfo(dtype)
    return dtype.type(info.max if name == "min" else info.min)


_UFUNCS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "mul": np.multiply,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def _folded(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """The inclusive scan."""
    out = np.empty_like(values)
    total = _identity(values.dtype, name)
    with np.errstate(over="ignore"):
        for k, value in enumerate(values):
            out[k] = total = values.dtype.type(_UFUNCS[name](total, value))
    return out


def _reduce(name: str) -> Twin:
    return lambda p: np.full(len(p.a), _folded(name, p.a)[-1])


def _inclusive(name: str) -> Twin:
    return lambda p: _folded(name, p.a)


def _exclusive(name: str) -> Twin:
    def twin(p: Piece) -> Any:
        first = np.array([_identity(p.a.dtype, name)], p.a.dtype)
        return np.concatenate([first, _folded(name, p.a)[:-1]])

    return twin


def _among(chosen: Callable[[Piece], Any], twin: Twin) -> Twin:
    """What a twin says of the work items that are chosen, when only these call."""

    def of(p: Piece) -> Any:
        who = chosen(p)
        out = np.zeros(len(p.a), p.a.dtype)
        if who.any():
            out[who] = twin(Piece((p.a[who],), p.whole, p.first, p.size, p.local))
        return out

    return of


def _clusters(name: str, size: int) -> Twin:
    def twin(p: Piece) -> Any:
        parts = [p.a[k : k + size] for k in range(0, len(p.a), size)]
        return np.concatenate([np.full(len(x), _folded(name, x)[-1]) for x in parts])

    return twin


def _there(p: Piece, lanes: NDArray[Any]) -> Any:
    return (lanes >= 0) & (lanes < len(p.a))


def _taken(p: Piece, lanes: NDArray[Any]) -> Any:
    return p.a[np.clip(lanes, 0, len(p.a) - 1)]


def _arithmetic(type_name: str) -> list[Row]:
    rows = []
    for name in ("add", "min", "max"):
        rows += [
            Row(f"sub_group_reduce_{name}(a)", _reduce(name)),
            Row(f"sub_group_scan_inclusive_{name}(a)", _inclusive(name)),
            Row(f"sub_group_scan_exclusive_{name}(a)", _exclusive(name)),
        ]
    rows.append(Row("sub_group_broadcast(a, 3)", _all(lambda a: a[3])))
    return rows


def _odd(p: Piece) -> Any:
    return p.lane % 2 == 1


def _some(p: Piece) -> Any:
    """Work items that differ from one sub-group to the next."""
    return (p.lane + p.first) % 3 == 0


def _non_uniform(type_name: str) -> list[Row]:
    names = ["add", "min", "max", "mul"]
    if _dtype(type_name).kind != "f":
        names += ["and", "or", "xor"]
    rows = []
    for name in names:
        for form, twin in (
            ("reduce", _reduce(name)),
            ("scan_inclusive", _inclusive(name)),
            ("scan_exclusive", _exclusive(name)),
        ):
            call = f"sub_group_non_uniform_{form}_{name}(a)"
            rows.append(Row(f"if (l % 2 == 1) r = {call};", _among(_odd, twin)))
        call = f"sub_group_non_uniform_reduce_{name}(a)"
        rows.append(Row(f"if (i % 3 == 0) r = {call};", _among(_some, _reduce(name))))
    rows += [
        Row(f"sub_group_clustered_reduce_{name}(a, {size})", _clusters(name, size))
        for name, size in zip(names, (2, 4, 8, 4, 2, 8, 4), strict=False)
    ]
    return rows


def _shuffles(type_name: str) -> list[Row]:
    def up(p: Piece) -> Any:
        return p.lane - 3

    def down(p: Piece) -> Any:
        return p.lane + 2

    def other(p: Piece) -> Any:
        return p.lane ^ 5

    def any_lane(p: Piece) -> Any:
        return (p.lane * 3 + 1) % len(p.a)

    def either(p: Piece, lanes: NDArray[Any]) -> Any:
        """Of a, then b, one after the other."""
        return np.concatenate([p.a, p.b])[np.clip(lanes, 0, 2 * len(p.a) - 1)]

    def full(p: Piece) -> Any:
        return np.full(len(p.a), len(p.a) == p.size)

    several = "uint m = get_sub_group_size(); r = "
    rows = [
        Row(
            "sub_group_shuffle_up(a, 3)",
            lambda p: _taken(p, up(p)),
            defined=lambda p: _there(p, up(p)),
        ),
        Row(
            "sub_group_shuffle_down(a, 2)",
            lambda p: _taken(p, down(p)),
            defined=lambda p: _there(p, down(p)),
        ),
        Row(
            "sub_group_shuffle_xor(a, 5)",
            lambda p: _taken(p, other(p)),
            defined=lambda p: _there(p, other(p)),
        ),
        Row(f"{several}sub_group_shuffle(a, (l * 3 + 1) % m);", lambda p: _taken(p, any_lane(p))),
        Row(
            "r = 0; if (l % 2 == 1) r = sub_group_shuffle(a, l ^ 2);",
            lambda p: np.where(_odd(p), _taken(p, p.lane ^ 2), 0).astype(p.a.dtype),
            defined=lambda p: _there(p, p.lane ^ 2),
        ),
        Row(
            "r = 0; if (l > 1) r = sub_group_non_uniform_broadcast(a, 4);",
            lambda p: np.where(p.lane > 1, p.a[4], 0).astype(p.a.dtype),
        ),
        Row(
            "r = 0; if (l > 2) r = sub_group_broadcast_first(a);",
            lambda p: np.where(p.lane > 2, p.a[3], 0).astype(p.a.dtype),
        ),
    ]
    if type_name not in ("char", "uchar"):
        rows += [
            Row(
                f"{several}intel_sub_group_shuffle(a, (l * 3 + 1) % m);",
                lambda p: _taken(p, any_lane(p)),
            ),
            Row(
                "intel_sub_group_shuffle_xor(a, 5)",
                lambda p: _taken(p, other(p)),
                defined=lambda p: _there(p, other(p)),
            ),
            Row(
                "intel_sub_group_shuffle_down(a, b, 3)",
                lambda p: either(p, p.lane + 3),
                defined=full,
            ),
            Row(
                "intel_sub_group_shuffle_up(a, b, 3)",
                lambda p: either(
                    Piece((p.inputs[0], p.inputs[1]), p.whole, p.first, p.size, p.local),
                    p.lane - 3 + len(p.a),
                ),
                defined=full,
            ),
        ]
    return rows


_SUFFIX = {
    "char": "uc", "uchar": "uc", "short": "us", "ushort": "us", "half": "us", "int": "", "uint": "",
    "float": "", "long": "ul", "ulong": "ul", "double": "ul",
}  # fmt: skip
_BLOCK_TYPE = {"uc": "uchar", "us": "ushort", "": "uint", "ul": "ulong"}


def _blocks(type_name: str) -> list[Row]:
    """Reads of 1 to 8 elements a work item, and writes that put them back in another order."""
    suffix = _SUFFIX[type_name]
    cell = _BLOCK_TYPE[suffix]
    underscore = f"_{suffix}" if suffix else ""
    place = f"(global const {cell} *)(a_ + i - l)"
    rows = [
        Row(
            f"as_{type_name}(intel_sub_group_block_read{underscore}({place}))",
            lambda p: p.a,
            defined=lambda p: np.full(len(p.a), len(p.a) == p.size),
        )
    ]
    for many in (2, 4, 8):
        read = f"intel_sub_group_block_read{underscore}{many}({place})"
        for element in {1, many - 1}:
            rows.append(
                Row(
                    f"{cell}{many} v = {read}; r = as_{type_name}(v.s{element});",
                    lambda p, k=element: p.whole[0][p.first + k * p.size + p.lane],
                )
            )
    rows.append(
        Row(
            f"intel_sub_group_block_write{underscore}((global {cell} *)(to + i - l), "
            f"as_{cell}(b));",
            lambda p: p.b,
            stores=True,
        )
    )
    for many in (2, 4, 8):
        value = ", ".join(f"as_{cell}({'ab'[k % 2]})" for k in range(many))
        write = f"intel_sub_group_block_write{underscore}{many}"
        rows.append(
            Row(
                f"uint s = (i - l) / {{S}} % {many}; if (s == 0) "
                f"{write}((global {cell} *)(to + i - l), ({cell}{many})({value}));",
                lambda p, n=many: _written(p, n),
                stores=True,
            )
        )
    return rows


def _written(p: Piece, many: int) -> Any:
    """What a block write of the first of `many` sub-groups left for this one."""
    number = p.first // p.size % many
    start = p.first - number * p.size
    return p.whole[number % 2][start + p.lane]


def _facts(p: Piece) -> dict[str, Any]:
    return {"size": len(p.a), "number": p.first % p.local // p.size}


_COUNT_ROWS = (
    Row("get_sub_group_size()", lambda p: np.full(len(p.a), len(p.a))),
    Row("get_max_sub_group_size()", lambda p: np.full(len(p.a), p.size)),
    Row("get_num_sub_groups()", lambda p: np.full(len(p.a), -(-p.local // p.size))),
    Row("get_enqueued_num_sub_groups()", lambda p: np.full(len(p.a), -(-p.local // p.size))),
    Row("get_sub_group_id()", lambda p: np.full(len(p.a), p.first % p.local // p.size)),
    Row("get_sub_group_local_id()", lambda p: p.lane),
)


def _mask(bits: NDArray[Any]) -> int:
    return int(sum(1 << int(k) for k in np.flatnonzero(bits)))


def _same(value: Callable[[Piece], Any]) -> Twin:
    return lambda p: np.full(len(p.a), value(p))


def _votes() -> list[Row]:
    def positive(p: Piece) -> Any:
        return p.a > 0

    ballot = "uint4 v = sub_group_ballot(a > 0); "
    return [
        Row("sub_group_any(a > 0)", _same(lambda p: int(positive(p).any()))),
        Row("sub_group_all(a > 0)", _same(lambda p: int(positive(p).all()))),
        Row("sub_group_any(a == b)", _same(lambda p: int((p.a == p.b).any()))),
        Row("sub_group_all(a != b)", _same(lambda p: int((p.a != p.b).all()))),
        Row("sub_group_any(i > 70) != 0", _same(lambda p: int((p.first + p.lane > 70).any()))),
        Row("sub_group_all(i > 70) != 0", _same(lambda p: int((p.first + p.lane > 70).all()))),
        Row(f"{ballot}r = v.x;", _same(lambda p: np.uint32(_mask(positive(p))).view(np.int32))),
        Row(f"{ballot}r = v.y | v.z | v.w;", _same(lambda p: 0)),
        Row(f"{ballot}r = sub_group_inverse_ballot(v) != 0;", lambda p: positive(p).astype(int)),
        Row(
            f"{ballot}r = sub_group_ballot_bit_extract(v, l ^ 1) != 0;",
            lambda p: _taken(Piece((positive(p),), p.whole, 0, p.size, p.local), p.lane ^ 1),
            defined=lambda p: _there(p, p.lane ^ 1),
        ),
        Row(
            f"{ballot}r = sub_group_ballot_bit_count(v);",
            _same(lambda p: int(positive(p).sum())),
        ),
        Row(
            f"{ballot}r = sub_group_ballot_inclusive_scan(v);",
            lambda p: np.cumsum(positive(p)),
        ),
        Row(
            f"{ballot}r = sub_group_ballot_exclusive_scan(v);",
            lambda p: np.cumsum(positive(p)) - positive(p),
        ),
        Row(
            f"{ballot}if (v.x) r = sub_group_ballot_find_lsb(v);",
            _same(lambda p: int(np.flatnonzero(positive(p))[0]) if positive(p).any() else 0),
        ),
        Row(
            f"{ballot}if (v.x) r = sub_group_ballot_find_msb(v);",
            _same(lambda p: int(np.flatnonzero(positive(p))[-1]) if positive(p).any() else 0),
        ),
        Row("get_sub_group_eq_mask().x", lambda p: _bit_rows(p, lambda j, k: j == k)),
        # The compiler sets the bits above the sub-group, too.
        Row(f"get_sub_group_ge_mask().x & {_LANES}", lambda p: _bit_rows(p, lambda j, k: j >= k)),
        Row(f"get_sub_group_gt_mask().x & {_LANES}", lambda p: _bit_rows(p, lambda j, k: j > k)),
        Row("get_sub_group_le_mask().x", lambda p: _bit_rows(p, lambda j, k: j <= k)),
        Row("get_sub_group_lt_mask().x", lambda p: _bit_rows(p, lambda j, k: j < k)),
        Row("sub_group_elect() != 0", lambda p: (p.lane == 0).astype(int)),
        Row("if (l > 2) r = sub_group_elect() != 0;", lambda p: (p.lane == 3).astype(int)),
        Row("sub_group_non_uniform_all_equal(i / 16) != 0",
            _same(lambda p: int(len(set((p.first + p.lane) // 16)) == 1))),
        Row("if (l & 1) r = sub_group_non_uniform_any(a > 0) != 0;",
            lambda p: _odd(p) * int(positive(p)[_odd(p)].any())),
        Row("if (l & 1) r = sub_group_non_uniform_all(a > 0) != 0;",
            lambda p: _odd(p) * int(positive(p)[_odd(p)].all())),
        Row("if (l & 1) { uint4 v = sub_group_ballot(a > 0); r = v.x; }",
            lambda p: _odd(p) * np.uint32(_mask(positive(p) & _odd(p))).view(np.int32)),
    ]  # fmt: skip


_LANES = "(0xffffffffu >> (32 - get_max_sub_group_size()))"


def _bit_rows(p: Piece, holds: Callable[[int, int], bool]) -> Any:
    """For each lane k, the bits j of the sub-group for which it holds."""
    masks = [sum(1 << j for j in range(p.size) if holds(j, int(k))) for k in p.lane]
    return np.array(masks, np.uint32).view(np.int32)


def _table(name: str, type_name: str, rows: list[Row], size: int, **more: Any) -> Table:
    local = more.pop("local", 2 * size)
    count = _GROUPS * 2 * local
    spare = more.pop("spare", 0)
    result = more.pop("result", type_name)
    largest = more.pop("largest", 12)
    inputs = tuple(_inputs(type_name, count + spare + k, largest)[k:] for k in range(2))
    called = f"{name}_{type_name}_{size}" + (f"_of_{local}" if local % size else "")
    made = tuple(
        replace(r, text=r.text.replace("{S}", str(size)), theirs=MISTAKES.get((called, r.text), ""))
        for r in rows
    )
    without = ("pvc",) if size == 8 else ("skl",) if name == "blocks" and size == 32 else ()
    params = (type_name, type_name)
    return Table(called, params, result, made, inputs, size, local, spare, without)


def tables(size: int) -> list[Table]:
    """Everything for a sub-group size; groups of no whole number of sub-groups at the end."""
    found = []
    for t in TYPES:
        found.append(_table("arithmetic", t, _arithmetic(t), size))
        found.append(_table("shuffles", t, _shuffles(t), size))
        found.append(_table("blocks", t, _blocks(t), size, spare=_LARGEST_BLOCK * size))
        found.append(_table("non_uniform", t, _non_uniform(t), size, largest=3))
    found.append(_table("votes", "int", _votes(), size))
    found.append(_table("counts", "int", list(_COUNT_ROWS), size))
    return [*found, *partial(size)]


def partial(size: int) -> list[Table]:
    """Groups whose last sub-group is smaller."""
    local = 2 * size + 5
    found = [_table("votes", "int", _votes(), size, local=local)]
    found.append(_table("counts", "int", list(_COUNT_ROWS), size, local=local))
    for t in ("int", "half"):
        found.append(_table("arithmetic", t, _arithmetic(t), size, local=local))
        found.append(_table("shuffles", t, _shuffles(t), size, local=local))
        found.append(_table("non_uniform", t, _non_uniform(t), size, local=local, largest=3))
    return found
