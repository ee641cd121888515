"""A machine's batch as a snapshot, and back."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.errors import LaunchError
from eumu.exec.interp.waiting import MOST_FRAMES, Flow
from eumu.exec.named import PAIRS
from eumu.exec.snapshot import Snapshot, pack, to_json, unpack
from eumu.exec.state import BLOCKED, DONE, ThreadState

# What a call has put aside: the depth of its frame, threads, their rows of each root.
_Kept = tuple[int, NDArray[np.intp], dict[str, NDArray[Any]]]


def capture(flow: Flow, first: int, groups: int, instructions: int) -> Snapshot:
    """What groups `first` … hold now, between two blocks."""
    state = flow.state
    threads = groups * state.threads_per_group
    shared = {
        "frames": len(state.frames),
        "saved": [_text(copy) for copy in flow.saved.export()],
        "named": flow.barriers.named.export(),
    }
    own = {name: array[:threads] for name, array in _arrays(flow).items()}
    slm = {name: array[:groups] for name, array in _group_arrays(state).items()}
    return Snapshot(first, groups, instructions, pack(own), pack(slm), to_json(shared))


def restore(flow: Flow, snapshot: Snapshot) -> None:
    """Fill a machine's state; LaunchError if it is not that of the same function.

    The bytes come from memory that anybody may have written, so no number is believed.
    """
    try:
        _restore(flow, snapshot)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise LaunchError(f"the saved context is damaged: {error}") from None
    except (OverflowError, RecursionError) as error:
        raise LaunchError(f"the saved context is damaged: {error}") from None


def _restore(flow: Flow, snapshot: Snapshot) -> None:
    state, shared = flow.state, json.loads(snapshot.shared)
    frames = shared["frames"]
    if type(frames) is not int or not 0 <= frames <= MOST_FRAMES:
        raise ValueError("its number of frames")
    while len(state.frames) < frames:
        state.frames.append(np.full_like(state.pc, DONE))
    flow.start()
    flow.next_block[...] = DONE
    unpack(snapshot.threads, _arrays(flow))
    unpack(snapshot.slm, _group_arrays(state))
    _check(flow)
    flow.saved.load(_copies(state, frames, shared["saved"]))
    flow.barriers.named.load(_named(shared["named"]))
    flow.wait_for_barriers()


def _check(flow: Flow) -> None:
    """Blocks, frames, instructions and counts are such as the function has."""
    state, barriers, function = flow.state, flow.barriers, flow.site.function
    blocks, insts = len(function.blocks), max(len(function.texts), len(function.spans), 1)
    for block in (state.pc, *state.frames):
        _within(block[block != DONE], 0, blocks, "a waiting block")
    running = flow.next_block < BLOCKED
    _within(flow.next_block[running], 0, blocks, "the next block of a thread")
    _within(state.depth, 0, len(state.frames) + 1, "the depth of a frame")
    for counts in (state.used, barriers.arrived, barriers.passed):
        _within(counts, 0, 1 << 62, "a count")
    blocked = flow.next_block == BLOCKED
    _within(barriers.resume[blocked], 0, blocks, "the block behind a barrier")
    _within(barriers.place[blocked], 0, insts, "the place of a barrier")
    _within(flow.loop, -1, insts, "the place of a loop")
    _within(barriers.name, -1, PAIRS + 1, "a named barrier")


def _within(values: NDArray[Any], low: int, high: int, what: str) -> None:
    if values.size and not (values.min() >= low and values.max() < high):
        raise ValueError(f"{what} is {values.min()} to {values.max()}")


def _copies(state: ThreadState, frames: int, texts: Any) -> list[_Kept]:
    """What calls have put aside: roots of this function, rows of their size."""
    copies = [_copy(text) for text in texts]
    for depth, threads, roots in copies:
        if type(depth) is not int or not 0 <= depth <= frames:
            raise ValueError("the depth of what a call put aside")
        _within(threads, 0, state.threads, "a thread of what a call put aside")
        for name, rows in roots.items():
            if rows.shape != (len(threads), state.roots[name][:1].nbytes):
                raise ValueError(f"the size of root {name}")
    return copies


def _named(value: Any) -> Any:
    """The named barriers: numbers of groups, barriers and threads, and counts."""
    rows = [row[:4] for row in value["open"]] + list(value["notices"])
    come = [list(who) for row in value["open"] for who in row[4:]]
    if any(len(row) != 6 for row in value["open"]) or any(len(r) != 2 for r in value["notices"]):
        raise ValueError("a named barrier")
    if any(type(n) is not int or not 0 <= n < 1 << 31 for row in (*rows, *come) for n in row):
        raise ValueError("a number of a named barrier")
    return value


def _arrays(flow: Flow) -> dict[str, NDArray[Any]]:
    """What belongs to one thread, one row each."""
    state, barriers = flow.state, flow.barriers
    return {
        **{f"root {name}": array for name, array in state.roots.items()},
        **{f"frame {k:04}": frame for k, frame in enumerate(state.frames)},
        **{"pc": state.pc, "depth": state.depth, "used": state.used},
        **{"scratch": state.scratch, "scratch written": state.scratch_written},
        **{"next block": flow.next_block, "loop": flow.loop},
        **{"arrived": barriers.arrived, "passed": barriers.passed, "place": barriers.place},
        **{"sync": barriers.sync, "resume": barriers.resume, "name": barriers.name},
    }


def _group_arrays(state: ThreadState) -> dict[str, NDArray[Any]]:
    return {"slm": state.slm, "slm written": state.slm_written}


def _text(copy: _Kept) -> dict[str, Any]:
    depth, threads, roots = copy
    rows = {
        n: base64.b64encode(np.ascontiguousarray(r).tobytes()).decode() for n, r in roots.items()
    }
    return {"depth": depth, "threads": threads.tolist(), "roots": rows}


def _copy(text: dict[str, Any]) -> _Kept:
    threads = np.array(text["threads"], np.intp)
    roots = {
        name: np.frombuffer(base64.b64decode(rows), np.uint8).reshape(len(threads), -1).copy()
        for name, rows in text["roots"].items()
    }
    return text["depth"], threads.reshape(-1), roots
