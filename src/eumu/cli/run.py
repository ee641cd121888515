"""`eumu run`: run one kernel, show its arrays, save what is asked for."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final

from numpy.typing import NDArray

import eumu
from eumu.cli.options import compiler_options
from eumu.cli.status import FINE, UsageError
from eumu.cli.telling import Teller, time_limit
from eumu.cli.terminal import Paint, Progress
from eumu.cli.values import arguments, from_zero, pairs, size, whole
from eumu.findings import plain
from eumu.runtime.image_needs import Pictured

_SHOWN: Final = 256  # work items of the group that --dump shows code for, if nothing says how many


def command(options: argparse.Namespace) -> int:
    """Run the kernel that the options describe."""
    teller = Teller.of(options)
    try:
        program = _load(options, options.libraries)
    except eumu.BuildError as error:
        if teller.is_text:
            raise
        return teller.refused(error)
    kernel = _kernel(program, options.kernel)
    if options.global_size is None and options.dump is None:
        raise UsageError("--global X[,Y,Z] is needed: how many work items there are")
    progress = Progress(f"running {kernel.name}")
    printed: list[str] = []
    device = eumu.Device(
        options.device or program.platform or "pvc",
        options.engine,
        check=options.check or False,
        sink=progress.write if teller.is_text else printed.append,
        progress=progress.report if progress.is_shown else None,
        part=options.part,
        pools=None if options.pools is None else whole("--pools", options.pools),
        memory_bytes=_memory(options.memory),
    )
    values = arguments(device, kernel, options.args, needs_all=options.dump is None)
    saves = pairs("--save", options.save)
    for name in saves:
        if not isinstance(values.get(name), (eumu.Array, Pictured)):
            raise UsageError(f"--save {name}: the kernel has no array or image argument {name!r}")
    shown = (eumu.Array, Pictured)
    before = {n: v.numpy() for n, v in values.items() if isinstance(v, shown)}
    facts = {"device": str(device.platform), "engine": device.engine, "level": options.level}
    if options.dump is not None:
        sys.stdout.write(_listing(device, kernel, values, options))
        return FINE
    try:
        with (
            _watched(device, options, kernel.program.made_by),
            time_limit(options.timeout, kernel.name),
        ):
            report = _launch(device, kernel, values, options, progress)
    except eumu.Fault as fault:
        facts["printf"] = "".join(printed)
        findings = (*fault.findings, fault.finding)
        return teller.tell(kernel.name, findings, facts, faulted=True)
    for name, path in saves.items():
        from eumu.cli import images

        if isinstance(values[name], eumu.Array):
            images.save_array(path, values[name].numpy())
        else:
            images.save(path, values[name])
    if not options.quiet and teller.is_text:
        _show(report, device, values, before)
    facts |= {"engine": report.engine, "printf": "".join(printed)}
    return teller.tell(kernel.name, report.findings, facts)


def _memory(text: str | None) -> int | None:
    """--memory in bytes."""
    return None if text is None else from_zero("--memory", text) << 20


def _watched(
    device: eumu.Device, options: argparse.Namespace, made_by: str
) -> AbstractContextManager[None]:
    """What --timeline, --report and --l3 need around a launch."""
    if options.timeline is None and options.report is None and options.l3 is None:
        return nullcontext()
    from eumu.cli.pictures import watched

    return watched(device, options, made_by)


def _load(options: argparse.Namespace, libraries: Sequence[str] = ()) -> eumu.Program:
    device = options.device
    if device is None and options.program.endswith((".cl", ".spv")):
        device = "pvc"
    program = eumu.load(
        options.program,
        device=device,
        options=compiler_options(options, options.build_options),
        libraries=libraries,
        check=getattr(options, "check", None),
    )
    for warning in program.warnings:
        print(warning, file=sys.stderr)
    return program


def _kernel(program: eumu.Program, name: str | None) -> eumu.Kernel:
    if name is not None:
        return program[name]
    if len(program) != 1:
        raise UsageError(f"{program.name} has several kernels; --kernel {' | '.join(program)}")
    return program.kernels[0]


def _launch(
    device: eumu.Device,
    kernel: eumu.Kernel,
    values: dict[str, Any],
    options: argparse.Namespace,
    progress: Progress,
) -> eumu.Report:
    local = options.local_size
    with progress, warnings.catch_warnings():
        warnings.showwarning = partial(_notice, progress)
        return kernel.launch(
            device,
            size("--global", options.global_size),
            None if local is None else size("--local", local),
            values,
            global_offset=size("--offset", options.offset),
            fuel=None if options.fuel is None else whole("--fuel", options.fuel),
            seed=whole("--seed", options.seed),
            via=options.via,
            level=options.level,
        )


def _listing(
    device: eumu.Device, kernel: eumu.Kernel, values: dict[str, Any], options: argparse.Namespace
) -> str:
    """What --dump shows; sizes and arguments that are not given are made up."""
    from eumu.compare.made_up import made_up

    local = None if options.local_size is None else size("--local", options.local_size)
    whole = local or kernel.required_local_size or (_SHOWN,)
    if options.global_size is not None:
        whole = size("--global", options.global_size)
    values = made_up(device, kernel) | values
    return kernel.listing(device, options.dump, whole, local, values, level=options.level)


def _notice(progress: Progress, message: Warning | str, *_: object) -> None:
    progress.note(f"eumu: note: {message}")


def _show(
    report: eumu.Report, device: eumu.Device, values: dict[str, Any], before: dict[str, Any]
) -> None:
    paint = Paint.for_stream(sys.stdout)
    print(
        f"{paint.bold(plain(report.kernel))} on {device.platform} ({report.engine}):"
        f" {report.groups} groups, {report.threads} threads,"
        f" {report.instructions} instructions in {report.seconds:.3g} s"
    )
    width = max((len(n) for n in before), default=0)
    for name, old in before.items():
        new = values[name].numpy()
        shape = "x".join(map(str, new.shape))
        line = f"  {name:<{width}}  {new.dtype}[{shape}]  {_preview(new)}"
        print(paint.dim(line + "  (unchanged)") if _same(old, new) else line)


def _same(old: NDArray[Any], new: NDArray[Any]) -> bool:
    return old.tobytes() == new.tobytes()


def _preview(array: NDArray[Any]) -> str:
    """The first elements and the last."""
    flat = array.reshape(-1)
    words = [f"{x:.6g}" if array.dtype.kind == "f" else str(x) for x in flat[:4]]
    if flat.size > 5:
        words.append("…")
    words += [f"{x:.6g}" if array.dtype.kind == "f" else str(x) for x in flat[4:][-1:]]
    return " ".join(words)
