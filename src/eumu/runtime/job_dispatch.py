"""What a job asks of the part that its threads run on: subslices, and barriers."""

from __future__ import annotations

from collections.abc import Iterator

from eumu.device.chip import Part
from eumu.device.commands import CommandError, MediaJob, WalkerJob
from eumu.device.commands.gpgpu import SliceDisable
from eumu.device.dispatch import Needs
from eumu.errors import Diagnostic, Severity
from eumu.exec.grid import Grid
from eumu.isa.messages.gateway import GATEWAY


def barrier_findings(job: WalkerJob | MediaJob, grid: Grid) -> Iterator[Diagnostic]:
    """Barriers of the code that the interface descriptor does not allow."""
    descriptor = job.descriptor
    if Needs.of(grid).has_barrier and not (
        descriptor.barrier_enable or descriptor.global_barrier_enable
    ):
        yield _warning(
            grid,
            "barrier-not-enabled",
            "it has barriers, and the interface descriptor sets neither Barrier Enable nor Global"
            " Barrier Enable: its threads have no barrier",
        )
    spans = descriptor.global_barrier_enable or grid.pool_map is not None
    if spans and GATEWAY in grid.function.roots:
        yield _warning(
            grid,
            "barrier-count",
            "its barrier messages may give a count, which barriers that span subslices must not"
            " have (Barrier Count Enable)",
        )


def _warning(grid: Grid, code: str, text: str) -> Diagnostic:
    message = f"{grid.function.name}: {text}"
    return Diagnostic(code, message, None, Severity.WARNING, spec="Message Payload")


def usable_part(part: Part, job: WalkerJob | MediaJob) -> Part:
    """The subslices that a job may use; CommandError where it asks for one that is not there."""
    if isinstance(job, MediaJob) and job.destination is not None:
        slice, subslice = job.destination
        if slice:
            raise CommandError(
                f"{job.command}: Slice Destination Select is {slice}; {part.name} has slice 0",
                "Slice Destination Select",
            )
        if job.slices is SliceDisable.ONLY_SLICE_0_SUBSLICE_0_ENABLED and subslice:
            raise CommandError(
                f"{job.command}: Subslice Destination Select is {int(subslice)}, and Slice Disable"
                f" of MEDIA_VFE_STATE is {job.slices.name}",
                "Subslice Destination Select",
            )
        if subslice not in part.enabled:
            raise CommandError(
                f"{job.command}: Subslice Destination Select is {int(subslice)}; {part.name} has"
                f" {', '.join(map(str, part.enabled))}",
                "Subslice Destination Select",
            )
        return part.without(*(s for s in part.enabled if s != subslice))
    if job.slices is SliceDisable.ONLY_SLICE_0_SUBSLICE_0_ENABLED:
        return part.without(*part.enabled[1:])
    return part  # one slice is all that a part here has
