"""`eumu state`: the fields of state objects in a file of bytes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eumu.cli.status import FAILED, FINE, UsageError
from eumu.cli.values import from_zero


def command(options: argparse.Namespace) -> int:
    """Print every object; an object that the hardware would not take fails."""
    from eumu.device.sampler.header import Header
    from eumu.device.state.fields import State, StateError
    from eumu.device.state.media import Convolve, MediaSurfaceState, MorphologyState, Table
    from eumu.device.state.printer import lines
    from eumu.device.state.sampler import BindingTableState, BorderColor, SamplerState
    from eumu.device.state.scaler import Avs
    from eumu.device.state.surface import SurfaceState
    from eumu.device.surfaces.media import MediaSurface
    from eumu.device.surfaces.surface import Surface
    from eumu.errors import Unsupported

    kinds: dict[str, type[State | Table]] = {
        "surface": SurfaceState,
        "sampler": SamplerState,
        "border": BorderColor,
        "binding-table": BindingTableState,
        "header": Header,
        "media-surface": MediaSurfaceState,
        "morphology": MorphologyState,
        "convolve": Convolve,
        "avs": Avs,
    }
    kind = kinds[options.kind]
    data = Path(options.file).read_bytes()
    first, size = from_zero("--offset", options.offset), kind.size()
    count = (len(data) - first) // size
    if options.count is not None:
        count = from_zero("--count", options.count)
    if first < 0 or count < 1 or first + count * size > len(data):
        raise UsageError(
            f"{options.file} has {len(data)} bytes; {kind.TITLE} takes {size} from byte {first} on"
        )
    wrong = False
    for place in range(first, first + count * size, size):
        print(f"{kind.TITLE} at byte {place:#x}")
        try:
            state = kind.decode(data[place : place + size])
            for title, part in state.titled() if isinstance(state, Table) else [("", state)]:
                shown = list(lines(part, everything=options.all))
                for line in [title] * bool(title and shown) + shown:
                    print(f"  {line}")
            if isinstance(state, SurfaceState):
                Surface.of(state)
            if isinstance(state, MediaSurfaceState):
                MediaSurface.of(state)
        except StateError as error:
            print(f"{options.file}: error: {error}", file=sys.stderr)
            wrong = True
        except Unsupported as error:
            print(f"  note: not modelled: {error}")
    return FAILED if wrong else FINE
