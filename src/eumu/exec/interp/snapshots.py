"""A machine's batch as a snapshot, and back."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.exec.interp.flow import Flow
from eumu.exec.snapshot import Snapshot, pack, to_json, unpack
from eumu.exec.state import DONE, ThreadState

__all__ = ["capture", "restore"]


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
    """Fill a machine's state; ValueError if it is not that of the same function."""
    state, shared = flow.state, json.loads(snapshot.shared)
    while len(state.frames) < shared["frames"]:
        state.frames.append(np.full_like(state.pc, DONE))
    flow.start()
    flow.next_block[...] = DONE
    unpack(snapshot.threads, _arrays(flow))
    unpack(snapshot.slm, _group_arrays(state))
    flow.saved.load(_copy(text) for text in shared["saved"])
    flow.barriers.named.load(shared["named"])
    flow.wait_for_barriers()


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


def _text(copy: tuple[int, NDArray[np.intp], dict[str, NDArray[Any]]]) -> dict[str, Any]:
    depth, threads, roots = copy
    rows = {
        n: base64.b64encode(np.ascontiguousarray(r).tobytes()).decode() for n, r in roots.items()
    }
    return {"depth": depth, "threads": threads.tolist(), "roots": rows}


def _copy(text: dict[str, Any]) -> tuple[int, NDArray[np.intp], dict[str, NDArray[Any]]]:
    threads = np.array(text["threads"], np.intp)
    roots = {
        name: np.frombuffer(base64.b64decode(rows), np.uint8).reshape(len(threads), -1).copy()
        for name, rows in text["roots"].items()
    }
    return text["depth"], threads, roots
