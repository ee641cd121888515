"""How a run went, as one object for scripts: what the page says without its pictures."""

from __future__ import annotations

from typing import Any, Final

import eumu
from eumu.device.dispatch import Schedule
from eumu.device.profile import Profile
from eumu.reports import fidelity

SCHEMA: Final = "eumu-report-1"


def facts(profile: Profile, schedule: Schedule, made_by: str = "") -> dict[str, Any]:
    """What can be written as JSON; the same run gives the same."""
    traffic = sorted(profile.traffic.items())
    return {
        "schema": SCHEMA,
        "version": eumu.__version__,
        "kernel": profile.grid.function.name if profile.grid else "",
        "part": schedule.part.name,
        "made_by": made_by,
        "instructions": int(profile.used.sum()),
        "threads": len(profile.used),
        "groups": profile.grid.groups if profile.grid else 0,
        "lane_utilisation": profile.lane_utilisation,
        "busy": schedule.busy,
        "mix": dict(profile.mix.most_common()),
        "traffic": [
            {
                "space": space,
                "kind": kind,
                "messages": t.messages,
                "lanes": t.lanes,
                "bytes": t.bytes,
            }
            for (space, kind), t in traffic
        ],
        "fidelity": fidelity.record(profile.fidelity),
    }
