"""Which builds of a source have no undefined behaviour: what becomes shorter must not get any."""

from __future__ import annotations

from collections.abc import Iterable

import eumu
from eumu.compare.sides import TEXT_PLATFORM, Launch, Side


def clean_builds(forms: Iterable[Side], launch: Launch) -> frozenset[str]:
    """The builds in whose vISA all checks find nothing: no race, no value that nothing set.

    Each may hide what another one shows: the compiler leaves out what is undefined.
    """
    one_each = {side.build: side for side in forms}
    return frozenset(build for build, side in one_each.items() if _is_clean(side, launch))


def _is_clean(side: Side, launch: Launch) -> bool:
    target = side.program.platform or TEXT_PLATFORM
    device = eumu.Device(target, check="all", sink=lambda text: None)
    kernel = side.program[launch.kernel]
    values = launch.values(device, kernel)
    sizes = launch.global_size, launch.local_size
    try:
        return not kernel.launch(device, *sizes, values, fuel=launch.fuel).findings
    except eumu.EumuError:  # it cannot be built, or run
        return False
